/*
 * edubba_tables.h -- tables, and where they are: schemas, tablets, servers, what those know of themselves.
 *
 * Comes with edubba.h.  THREADS, ERRORS, MEMORY as there.
 */
#ifndef EDUBBA_TABLES_H
#define EDUBBA_TABLES_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- tables ----------------------------------------------------------------------------------- */

enum edubba_aggregate {
    EDUBBA_PLAIN = 0,
    EDUBBA_INTSUM = 1,
    EDUBBA_INTMIN = 2,
    EDUBBA_INTMAX = 3,
    EDUBBA_INTHLL = 4,
    EDUBBA_BYTESHLL = 5,
};

enum edubba_gc_kind {
    EDUBBA_GC_NONE = 0,
    EDUBBA_GC_VERSIONS = 1,
    EDUBBA_GC_AGE = 2,
    EDUBBA_GC_UNION = 3,
    EDUBBA_GC_INTERSECTION = 4,
};

struct edubba_gc_rule {
    enum edubba_gc_kind kind;
    uint32_t versions;
    int64_t age_us;
    const struct edubba_gc_rule *children;
    size_t child_count;
};

struct edubba_family {
    const char *name;
    enum edubba_aggregate aggregate;
    struct edubba_gc_rule gc;
};

struct edubba_schema {
    const char *name;
    bool micros; /* timestamps to the microsecond; default: to the millisecond */
    bool deletion_protection;
    const struct edubba_family *families;
    size_t family_count;
    uint32_t tablet_count; /* told by the servers, not looked at by create */
    uint32_t replicas;     /* of each tablet, 1 to 6; to create: 0 = as the masters are set to */
    uint32_t min_in_sync;  /* with fewer of them writes are refused; 0 the same */
    bool pinned;           /* nothing is split, merged or moved because of load */
};

/* "maxage=10d or maxversions=1" <-> rule, as cbt has it; edubba_gc_rule_free(rule), edubba_free(text). */
enum edubba_code edubba_gc_rule_parse(const char *text,
                                      struct edubba_gc_rule **rule,
                                      struct edubba_error *error);
void edubba_gc_rule_free(struct edubba_gc_rule *rule);
char *edubba_gc_rule_format(const struct edubba_gc_rule *rule);
void edubba_free(void *pointer);

/* splits: first rows of tablets, up to 1 000.  Returns when all its tablets serve.  While there are not
 * servers enough for its copies it is tried again.
 * Errors: EDUBBA_ALREADY_EXISTS, EDUBBA_INVALID_ARGUMENT (a name, a rule, a split), EDUBBA_RESOURCE_EXHAUSTED
 * (the cluster's limits of tables and tablets), EDUBBA_UNAVAILABLE (it may or may not have been made),
 * EDUBBA_DEADLINE_EXCEEDED (its text says whether it is there, and what is missing), EDUBBA_ABORTED (it
 * was deleted meanwhile). */
enum edubba_code edubba_create_table(struct edubba_client *client,
                                     const struct edubba_schema *schema,
                                     const struct edubba_bytes *splits,
                                     size_t split_count,
                                     struct edubba_error *error);
/* Errors: EDUBBA_NOT_FOUND, EDUBBA_FAILED_PRECONDITION (it has deletion protection), EDUBBA_UNAVAILABLE
 * (it may or may not have been deleted), EDUBBA_DEADLINE_EXCEEDED (its text says how far it is). */
enum edubba_code edubba_delete_table(struct edubba_client *client,
                                     const char *name,
                                     struct edubba_error *error);

/* *schema: edubba_schema_free() it.
 * Errors of this and of what lists, below: EDUBBA_NOT_FOUND (no such table), EDUBBA_UNAVAILABLE,
 * EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_get_table(struct edubba_client *client,
                                  const char *name,
                                  struct edubba_schema **schema,
                                  struct edubba_error *error);
void edubba_schema_free(struct edubba_schema *schema);

/* Names ascending, NULL-terminated; edubba_free() it. */
enum edubba_code edubba_list_tables(struct edubba_client *client,
                                    char ***names,
                                    struct edubba_error *error);

enum edubba_alteration_kind {
    EDUBBA_CREATE_FAMILY = 1,
    EDUBBA_SET_GC_RULE = 2,
    EDUBBA_DROP_FAMILY = 3,
    EDUBBA_SET_PROTECTION = 4,
    EDUBBA_SET_REPLICATION = 5, /* replicas, min_in_sync; 0 = as it is */
    EDUBBA_SET_PINNED = 6,
};

struct edubba_alteration {
    enum edubba_alteration_kind kind;
    struct edubba_family family;
    bool flag;         /* EDUBBA_SET_PROTECTION, EDUBBA_SET_PINNED */
    uint32_t replicas; /* EDUBBA_SET_REPLICATION: copies are made, or given up, after the answer */
    uint32_t min_in_sync;
};

/* All or none, in order.  Returns when all servers that live know it.
 * Errors: EDUBBA_NOT_FOUND (the table, a family), EDUBBA_ALREADY_EXISTS (a family),
 * EDUBBA_INVALID_ARGUMENT, EDUBBA_FAILED_PRECONDITION (a family of a table that has deletion protection;
 * more replicas than there are servers for), EDUBBA_UNAVAILABLE (it may or may not have been done),
 * EDUBBA_DEADLINE_EXCEEDED (its text says how far it is). */
enum edubba_code edubba_alter_table(struct edubba_client *client,
                                    const char *name,
                                    const struct edubba_alteration *alterations,
                                    size_t count,
                                    struct edubba_error *error);

/* Erase all rows in [start, end); an end that is empty = to the last row, a start that is = from the first.
 * Fast: nothing is read.  A tablet at a time: where it fails those that were reached are without these rows already, and
 * it may be called again.  Errors: EDUBBA_INVALID_ARGUMENT also where both are empty: bounds that were made of a prefix
 * that happened to be empty are so, and this would take every row. */
enum edubba_code edubba_drop_row_range(struct edubba_table *table,
                                       struct edubba_bytes start,
                                       struct edubba_bytes end,
                                       struct edubba_error *error);
/* The same for all rows that there are. */
enum edubba_code edubba_drop_all_rows(struct edubba_table *table, struct edubba_error *error);
/* The same for all rows that begin with prefix, which must not be empty. */
enum edubba_code edubba_drop_prefix(struct edubba_table *table,
                                    struct edubba_bytes prefix,
                                    struct edubba_error *error);

/* --- where things are ------------------------------------------------------------------------- */

struct edubba_sample {
    struct edubba_bytes row;
    uint64_t offset_bytes;
};

/* Keys that cut the table into about equal parts (the ends of its tablets, and inside about one in 16
 * MiB) with the bytes before them, ascending; the last is empty: the table's end.  edubba_free() it. */
enum edubba_code edubba_sample_row_keys(struct edubba_table *table,
                                        struct edubba_sample **samples,
                                        size_t *count,
                                        struct edubba_error *error);

struct edubba_tablet {
    uint64_t number;
    struct edubba_bytes start;
    struct edubba_bytes end; /* empty = to the last row */
    uint64_t server;
    const char *address; /* "" = not served now */
    /* "serving", "creating", "splitting", "unavailable"; "not_led": for long nobody has led it, though
     * there are copies */
    const char *state;
};

/* edubba_free() it. */
enum edubba_code edubba_list_tablets(struct edubba_client *client,
                                     const char *table,
                                     struct edubba_tablet **tablets,
                                     size_t *count,
                                     struct edubba_error *error);

/* row becomes the first row of a new tablet.  Returns when both serve.  While the tablet does not serve, or
 * is being split or merged, it is not ordered, and is tried again.
 * Errors: EDUBBA_INVALID_ARGUMENT (a tablet begins there already), EDUBBA_NOT_FOUND,
 * EDUBBA_RESOURCE_EXHAUSTED (the cluster's limit of tablets), EDUBBA_UNAVAILABLE (it may or may not have
 * been ordered), EDUBBA_DEADLINE_EXCEEDED (its text says whether it is ordered; then it will be done),
 * EDUBBA_ABORTED (the table was deleted). */
enum edubba_code edubba_split_tablet(struct edubba_client *client,
                                     const char *table,
                                     struct edubba_bytes row,
                                     struct edubba_error *error);

struct edubba_server {
    uint64_t number;
    const char *address;
    const char *http_address;
    const char *zone;
    bool alive;
    int64_t last_heard_us;
    uint32_t tablet_count; /* replicas on it that count */
    uint64_t used_bytes;
    uint64_t free_bytes;
    const char *condition;         /* "healthy", "full", "failed" */
    bool draining;                 /* nothing new comes, what is there goes (edubba_replicas.h) */
    uint32_t primary_count;        /* of its replicas: those that lead */
    uint32_t unopened_store_count; /* stores that it could not open: `condition` is "failed" then */
    uint32_t stuck_count;          /* draining: replicas that no other server can take now */
};

/* edubba_free() it. */
enum edubba_code edubba_list_servers(struct edubba_client *client,
                                     struct edubba_server **servers,
                                     size_t *count,
                                     struct edubba_error *error);

/* JSON of what a master (address NULL) or tablet server knows of itself; edubba_free() it.
 * Numbers of servers, stores, tables and tablets are strings in it: they take all of 64 bits.
 * Where nobody listens at the address it is tried for unreachable_ms; 0 = for the whole deadline_ms.
 * Errors: EDUBBA_UNAVAILABLE, EDUBBA_DEADLINE_EXCEEDED, EDUBBA_INVALID_ARGUMENT (no address). */
enum edubba_code edubba_status(struct edubba_client *client,
                               const char *address,
                               char **json,
                               struct edubba_error *error);

/* The same without its tablets, of which a tablet server may have ten thousand (one of an older version tells all). */
enum edubba_code edubba_status_brief(struct edubba_client *client,
                                     const char *address,
                                     char **json,
                                     struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_TABLES_H */
