/*
 * Tables, families and their garbage-collection rules, as the catalog holds them and as servers
 * and clients receive them.
 *
 * Table numbers and family numbers are given once and never reused, so data of a dropped family
 * or table can never come back under a new one.  Families are kept in creation order, which is
 * also the order of their numbers and the order in which a row's families are read (Bigtable
 * leaves that order open).
 *
 * A struct table is immutable once published: a change makes a new one with a higher version.
 * All of it lives in the arena it was built in.
 */
#ifndef COMMON_MODEL_SCHEMA_H
#define COMMON_MODEL_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/aggregate.h"
#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/limits.h"

enum gc_kind {
    GC_NONE = 0,         /* keep everything */
    GC_VERSIONS = 1,     /* drop all but the newest `versions` cells of a column */
    GC_AGE = 2,          /* drop cells older than `age_us` */
    GC_UNION = 3,        /* drop what any child drops */
    GC_INTERSECTION = 4, /* drop what all children drop */
};

struct gc_rule {
    enum gc_kind kind;
    uint32_t versions;              /* GC_VERSIONS: >= 1 */
    int64_t age_us;                 /* GC_AGE: >= 1000 */
    const struct gc_rule *children; /* GC_UNION, GC_INTERSECTION */
    uint32_t child_count;
};

enum granularity {
    GRANULARITY_MILLIS = 0,
    GRANULARITY_MICROS = 1,
};

struct family {
    uint32_t number; /* >= 1, rising in creation order, never reused inside a table */
    struct bytes name;
    enum aggregate_kind aggregate;
    struct gc_rule gc;
};

struct table {
    uint64_t number;  /* >= 1, never reused */
    uint64_t version; /* grows with every change of the schema */
    struct bytes id;  /* the table's name: see table_name_check() */
    enum granularity granularity;
    bool deletion_protection;
    uint32_t family_number_next;
    struct family *families; /* ascending by number */
    uint32_t family_count;
    uint32_t replicas;    /* copies wanted of each tablet, up to LIMIT_REPLICAS; 0 = not said */
    uint32_t min_in_sync; /* with fewer members no write is acknowledged; 0 = not said */
    bool pinned;          /* nothing is split, merged or moved because of load */
};

/* NULL when there is none. */
const struct family *table_family_by_name(const struct table *table, struct bytes name);
const struct family *table_family_by_number(const struct table *table, uint32_t number);

/* Bigtable's naming rules.  Errors: STATUS_INVALID_ARGUMENT naming the id and the rule. */
enum status table_id_check(struct bytes id, struct error *ret_error);
enum status family_name_check(struct bytes name, struct error *ret_error);

/*
 * What a table may be called here: an id, or "project/instance/id" for one that is known by the
 * name of an instance (the gateway's tables of other instances than its home).  Errors as above.
 */
enum status table_name_check(struct bytes name, struct error *ret_error);

/* How many copies.  Errors: STATUS_INVALID_ARGUMENT naming the limit. */
enum status table_replicas_check(const struct table *table, struct error *ret_error);

/*
 * A whole schema that came from outside, a file or a message: names, rules, and families that
 * ascend by number below family_number_next, no name twice.  Errors: STATUS_INVALID_ARGUMENT.
 */
enum status table_check(const struct table *table, struct error *ret_error);

/* Shape and size of a rule.  Errors: STATUS_INVALID_ARGUMENT. */
enum status gc_rule_check(const struct gc_rule *rule, struct error *ret_error);

/* Deep copies into an arena.  Errors: STATUS_NO_MEMORY. */
enum status gc_rule_copy(struct arena *arena, const struct gc_rule *rule, struct gc_rule *ret_copy);
enum status table_copy(struct arena *arena, const struct table *table, struct table *ret_copy);

/*
 * Does the rule drop the index-th newest cell (0 = newest) of a column, with this timestamp, at
 * now_us (>= 0)?  Once it says yes for a cell of a column it says yes for all older ones, whatever
 * the rule: a reader may stop there.
 */
bool gc_rule_drops(const struct gc_rule *rule,
                   uint64_t index,
                   int64_t timestamp_us,
                   int64_t now_us);

/*
 * Text form, as cbt writes it: "maxversions=3", "maxage=10d", "maxage=1h or maxversions=2",
 * "maxage=1h and maxversions=2", parentheses for nesting, "never" for GC_NONE.
 * Units: us ms s m h d w; "and" binds tighter than "or"; a rule that parses also passes
 * gc_rule_check().  Formatting and parsing again gives the same rule (a list of one child comes
 * back as that child).  Errors: STATUS_INVALID_ARGUMENT naming the word, STATUS_NO_MEMORY.
 */
enum status gc_rule_parse(struct arena *arena,
                          const char *text,
                          struct gc_rule *ret_rule,
                          struct error *ret_error);
void gc_rule_format(const struct gc_rule *rule, struct buffer *out);

#endif /* COMMON_MODEL_SCHEMA_H */
