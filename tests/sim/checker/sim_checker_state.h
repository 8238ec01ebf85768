/*
 * What the checker remembers: shared by its files (sim_checker.c makes tasks, sim_checker_rows.c
 * judges answers, sim_checker_catalog.c the catalog), and by nothing else.
 */
#ifndef TESTS_SIM_CHECKER_SIM_CHECKER_STATE_H
#define TESTS_SIM_CHECKER_SIM_CHECKER_STATE_H

#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/checker/sim_checker_register.h"

#define SIM_TABLET_NUMBERS_MAX 8192
#define SIM_BOUNDARIES_MAX     64

#define WRONG(checker, task, format, ...)                                       \
    sim_fail((checker)->sim, "task %llu, table %llu, row %.*s: " format,        \
             (unsigned long long)(task)->id, (unsigned long long)(task)->table, \
             (int)(task)->row_bytes, (const char *)(task)->row __VA_OPT__(, ) __VA_ARGS__)

/* A row that is written once, and perhaps deleted once. */
struct sim_entry {
    struct sim_task *put;
    struct sim_task *erase; /* NULL = not asked for */
};

struct sim_counter {
    int64_t issued;
    int64_t acknowledged;
    int64_t given_up;
    int64_t shown;        /* the most that anyone was shown */
    uint64_t results[16]; /* increments: bits of the values that were answered, the first 1024 */
};

/* All that was asked of a row of cells that may expire. */
struct sim_cells {
    struct sim_task **tasks; /* VERSION, FORGET */
    uint32_t count;
    uint32_t capacity;
};

/* A schema of the main table that was in the catalog. */
struct sim_said {
    uint64_t version;
    struct gc_rule rule; /* of the family with rules */
};

struct sim_claim {
    uint64_t winner; /* the task that was told so; 0 = none yet */
    uint64_t shown;  /* the value that a read showed */
};

struct sim_family_seen {
    uint64_t table;
    uint32_t family;
    uint64_t name; /* checksum */
};

enum sim_number_state {
    SIM_NUMBER_NEW,
    SIM_NUMBER_USED,
    SIM_NUMBER_GONE,
};

struct sim_checker {
    struct sim *sim;
    struct prng prng;
    struct arena tasks_arena;
    struct arena arena;      /* of one check */
    struct sim_task **tasks; /* by id - 1 */
    uint64_t task_count;
    uint64_t task_capacity;
    struct sim_entry *entries;
    uint32_t entry_count;
    uint32_t entry_capacity;
    struct sim_counter adds[SIM_WORKLOAD_ROWS_MAX];
    struct sim_counter increments[SIM_WORKLOAD_ROWS_MAX];
    struct sim_claim claims[SIM_WORKLOAD_ROWS_MAX];
    struct sim_register registers[SIM_WORKLOAD_ROWS_MAX];
    struct sim_cells cells[SIM_WORKLOAD_ROWS_MAX];
    struct sim_said *said; /* rising */
    uint32_t said_count;
    uint32_t said_capacity;
    uint64_t schemas[SIM_SERVERS_MAX + 1]; /* by node: of the main table, the version it has */
    uint64_t main_table;
    struct sim_side_table sides[SIM_SIDE_TABLES_MAX];
    uint32_t side_count;
    bool settled;
    char unsettled[128];                                       /* the first tablet that is not */
    uint8_t boundaries[SIM_BOUNDARIES_MAX][SIM_KEY_BYTES_MAX]; /* of the main table */
    uint32_t boundary_bytes[SIM_BOUNDARIES_MAX];
    uint32_t boundary_count;
    struct sim_family_seen *families;
    uint32_t family_count;
    uint32_t family_capacity;
    uint8_t tablet_states[SIM_TABLET_NUMBERS_MAX]; /* enum sim_number_state */
    uint8_t tablet_server[SIM_TABLET_NUMBERS_MAX]; /* who acknowledged its first write */
    uint8_t table_states[1024];
};

/* --- sim_checker_cells.c -------------------------------------------------------------------------- */

/* Take note of a VERSION, whose timestamp it gives, or a FORGET. */
void sim_cells_note(struct sim_checker *checker, struct sim_task *task);
/* The catalog has a schema of the main table. */
void sim_cells_on_table(struct sim_checker *checker, const struct table *table);
uint64_t sim_cells_floor(const struct sim_checker *checker);
/* What a read or scan shows of the row; NULL: nothing. */
void sim_cells_check(struct sim_checker *checker,
                     uint32_t index,
                     const struct sim_task *task,
                     const struct row *row);
void sim_cells_deinit(struct sim_checker *checker);

/* The task that wrote a value; 0 for none. */
uint64_t sim_checker_author(struct bytes value);

/* What a read of a counter that begins now must show at least. */
int64_t sim_checker_floor(const struct sim_checker *checker, const struct sim_task *task);

#endif /* TESTS_SIM_CHECKER_SIM_CHECKER_STATE_H */
