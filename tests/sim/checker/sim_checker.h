/*
 * The checker: what must be true, judged from outside.
 *
 * It sees what clients asked and were told, and what the coordinator holds; it never looks at how.
 * Moments are counted in events, so "before" is exact.  An operation that was given up is unknown:
 * it may have happened once, or not, or may yet.
 *
 *   counters   acked <= value <= acked + unknown; never less than what someone was shown before;
 *              its two cells, added to together, are the same
 *   increments each acknowledged one returned a value of its own
 *   claims     of those who tried to be first, one was, and all see the same
 *   registers  two cells written together are read together; reads and writes of a row are linearizable
 *   cells      of a family with a rule: what no rule that may have been in force drops is shown, what all of them
 *              drop is not, nor what was deleted
 *   rows       written, acknowledged and not deleted: seen by every read that begins later; deleted
 *              and acknowledged: never seen again; never written: never seen
 *   scans      ascending (descending), each row once
 *   tables     not found only if someone wanted them deleted
 *   catalog    tablets of a table cover the key space; numbers are never given twice
 *   serving    one server ever acknowledges writes of a tablet
 */
#ifndef TESTS_SIM_CHECKER_SIM_CHECKER_H
#define TESTS_SIM_CHECKER_SIM_CHECKER_H

#include "master/coordinator/coordinator.h"
#include "tests/sim/sim.h"
#include "tests/sim/store/sim_rows.h"

#define SIM_WORKLOAD_ROWS_MAX 64
#define SIM_SIDE_TABLES_MAX   24
#define SIM_MAIN_NAME         "main"

enum sim_operation_kind {
    SIM_OPERATION_ADD,
    SIM_OPERATION_INCREMENT,
    SIM_OPERATION_CLAIM,
    SIM_OPERATION_REGISTER,
    SIM_OPERATION_PUT,
    SIM_OPERATION_DELETE,
    SIM_OPERATION_READ,
    SIM_OPERATION_SCAN,
    SIM_OPERATION_VERSION, /* these where there are rules (sim_rules.h) */
    SIM_OPERATION_FORGET,
    SIM_OPERATION_KINDS,
};

/* What a client is to do; the checker makes it up and is told how it ended. */
struct sim_task {
    enum sim_operation_kind kind;
    uint64_t id; /* of the task; also the value that it writes */
    uint64_t table;
    uint8_t row[SIM_KEY_BYTES_MAX];
    uint32_t row_bytes;
    int64_t amount;
    uint32_t index;    /* into the checker's own arrays */
    uint64_t begun_at; /* moment */
    uint64_t ended_at; /* 0 = under way */
    bool acknowledged;
    bool by_range; /* DELETE: as a range of one row */
    bool reversed; /* SCAN */
    bool final;    /* SCAN: nothing else is under way, all must be exact */
    int64_t floor; /* READ of a counter: what it must show at least */
    int64_t begun_us;
    uint64_t rules_floor;    /* when it began no server had an older schema of the main table */
    int64_t timestamp_us;    /* VERSION */
    uint64_t schema_version; /* VERSION: the oldest by which a server gave it out; 0 = none has */
};

struct sim_side_table {
    uint64_t number; /* 0 = not known yet */
    uint32_t name;
    bool delete_issued;
};

struct sim_checker;

struct sim_checker *sim_checker_create(struct sim *sim);
void sim_checker_destroy(struct sim_checker *checker);

/* A task for a client; false when there is nothing to do yet.  It lives with the checker. */
bool sim_checker_next(struct sim_checker *checker, struct sim_task **ret_task);
struct sim_task *sim_checker_final_scan(struct sim_checker *checker, uint64_t table, bool reversed);

/* How it ended: rows is what came back (a read's row, an increment's, a scan's), matched a claim's
 * answer. */
struct sim_outcome {
    bool acknowledged;
    bool matched;
    const struct row *rows;
    size_t row_count;
};
void sim_checker_end(struct sim_checker *checker,
                     struct sim_task *task,
                     const struct sim_outcome *outcome);

uint64_t sim_checker_main_table(const struct sim_checker *checker);
/* A client was told, for good, that there is no such table. */
void sim_checker_on_not_found(struct sim_checker *checker, const struct sim_task *task);
/* The administrator's doing. */
void sim_checker_on_table(struct sim_checker *checker, uint32_t name, uint64_t number);
void sim_checker_on_delete(struct sim_checker *checker, uint64_t number);
uint32_t sim_checker_live_tables(const struct sim_checker *checker,
                                 uint64_t ret_numbers[SIM_SIDE_TABLES_MAX + 1]);

/* The name under which the administrator made it. */
uint32_t sim_checker_name_of(const struct sim_checker *checker, uint64_t number);

/* The coordinator has committed. */
void sim_checker_on_catalog(struct sim_checker *checker, struct coordinator *coordinator);
/* Where a tablet of the main table begins, but the first one; until the next commit.  False: there is one tablet. */
bool sim_checker_boundary(const struct sim_checker *checker,
                          struct prng *prng,
                          struct bytes *ret_row);
/* Every tablet of the catalog serves, with all its copies, none of them on a server that is drained, and none
 * is being split or merged.  While a server stays away: with as many as there are servers for, and not on that one. */
bool sim_checker_is_settled(const struct sim_checker *checker);
/* "settled", or of which tablet that is not so. */
const char *sim_checker_unsettled(const struct sim_checker *checker);

/* A server has this version of a table's schema now. */
void sim_checker_on_schema(struct sim_checker *checker,
                           uint32_t node,
                           uint64_t table,
                           uint64_t version);
/* And gives out a cell of the family with rules, by that version. */
void sim_checker_on_version(struct sim_checker *checker, struct bytes value, uint64_t version);
/* May a copy lack such a cell of the family with rules, which another one has? */
bool sim_checker_may_be_gone(const struct sim_checker *checker,
                             struct bytes row,
                             struct bytes value);

/* A server acknowledges a write to a tablet. */
void sim_checker_on_served(struct sim_checker *checker, uint32_t server, uint64_t tablet);

#endif /* TESTS_SIM_CHECKER_SIM_CHECKER_H */
