/*
 * An experiment of the lab: one story of a schema, told with a bad row key and with good ones.
 *
 * An EVENT is what happens in the world (a user's battery reports, a machine is measured); it follows
 * from its number alone, so all variants of an experiment store the same events in the same order.
 * A VARIANT is a schema: how an event becomes a CHANGE of rows, and how questions about events become
 * QUERIES.  All of it is data and pure functions; what runs them is client/load/lab.
 *
 *   world + number ──event()──> event ──change()──> rows and cells to write
 *                                 └─────queries[]──> a range, keys and a filter to read
 *
 * The first `history` events are there before anything is measured, in every variant; queries ask about
 * those only, so what they find does not hang on how much was written meanwhile.
 *
 * Thread rule: all of it is constant or the caller's; the functions are for any thread.
 *
 * Source: the patterns and worked examples of schema design in docs/lab.md, section "What shows what".
 */
#ifndef CLIENT_LOAD_LAB_CORE_EXPERIMENTS_EXPERIMENT_H
#define CLIENT_LOAD_LAB_CORE_EXPERIMENTS_EXPERIMENT_H

#include "client/load/lab/core/experiments/change.h"
#include "client/load/lab/core/experiments/query.h"

#define LAB_QUERIES_MAX  3
#define LAB_FAMILIES_MAX 3
#define LAB_VARIANTS_MAX 5
#define LAB_SUMS_MAX     4096

struct lab_world {
    uint64_t seed;
    uint64_t history; /* events that are there before anything is measured; at least 1 */
};

struct lab_event {
    uint64_t number;
    int64_t time_ms; /* since 1970, of the story's own clock */
    uint64_t who;    /* the user, machine, meter, charity ... it is about */
    uint64_t what;   /* site, campaign, column ...; 0 where there is nothing of the kind */
    uint64_t random; /* of its own, for values */
};

struct lab_family {
    const char *name; /* NULL = none */
    enum edubba_aggregate aggregate;
    uint32_t versions; /* kept; 0 = all */
};

enum lab_role {
    LAB_BAD,  /* the schema that the story warns of */
    LAB_GOOD, /* its cure */
    LAB_ALSO, /* another way, with a price of its own */
};

struct lab_sum_cell {
    size_t index; /* below LAB_SUMS_MAX */
    int64_t amount;
};

struct lab_variant {
    const char *name;   /* "by time" */
    const char *key;    /* of its rows, for people: "BATTERY#TS" */
    const char *about;  /* what it is an example of, and its price */
    const char *remedy; /* said when its figures show the fault; "" = there is none */
    enum lab_role role;
    struct lab_family families[LAB_FAMILIES_MAX];
    bool cells_add_up; /* an event adds a cell to a row that is there, without bound */
    bool reads_first;  /* a change reads its row before it writes (read-modify-write) */
    /* A batch job behind the writes: what this query finds is copied into a table of its own, under the
     * key that copy_key makes of the row's.  NULL = there is none. */
    void (*copy)(const struct lab_world *world, struct lab_query *query);
    void (*copy_key)(const struct edubba_row *row, struct edubba_key *key);
    void (*change)(const struct lab_event *event, struct lab_change *change);
    /* NULL = this schema cannot answer it. */
    void (*queries[LAB_QUERIES_MAX])(const struct lab_world *world,
                                     const struct lab_event *event,
                                     struct lab_query *query);
    /* Experiments with sums: what a cell that is stored adds to which sum.  False: nothing. */
    bool (*sum_of_cell)(const struct edubba_row *row,
                        const struct edubba_cell *cell,
                        struct lab_sum_cell *ret_sum);
};

struct lab_experiment {
    const char *name;
    const char *summary;                  /* a line of --list */
    const char *story;                    /* a paragraph of help and page */
    const char *who;                      /* what lab_event.who is called: "user" */
    const char *queries[LAB_QUERIES_MAX]; /* what is asked, NULL behind the last */
    void (*event)(const struct lab_world *world, uint64_t number, struct lab_event *ret_event);
    /* How `who` is written, for verdicts. */
    void (*who_text)(uint64_t who, char *out, size_t size);
    /* Sums that are compared with what was acknowledged: what an event adds; NULL = no sums. */
    struct lab_sum_cell (*sum_of_event)(const struct lab_event *event);
    const struct lab_variant *variants;
    size_t variant_count;
};

extern const struct lab_experiment LAB_BATTERY;
extern const struct lab_experiment LAB_QUOTE;
extern const struct lab_experiment LAB_METRIC;
extern const struct lab_experiment LAB_COLUMNS;
extern const struct lab_experiment LAB_SENSOR;
extern const struct lab_experiment LAB_BALLOON;
extern const struct lab_experiment LAB_DONATIONS;
extern const struct lab_experiment LAB_CELEBRITY;
extern const struct lab_experiment LAB_GARDEN;
extern const struct lab_experiment LAB_GAMES;

/* All of them, in the order in which `lab all` runs them. */
extern const struct lab_experiment *const LAB_EXPERIMENTS[];
extern const size_t LAB_EXPERIMENT_COUNT;

/* NULL when there is none. */
const struct lab_experiment *lab_experiment_find(const char *name);

#endif /* CLIENT_LOAD_LAB_CORE_EXPERIMENTS_EXPERIMENT_H */
