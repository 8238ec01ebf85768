#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker_state.h"

/*
 * Rows of cells that expire.  Each cell is written once, under a timestamp of its own; rows are deleted as wholes.
 *
 * Which rule counts for a cell?  A schema is told server by server.  So for a cell those count that came with or after
 * the schema by which it was given out: a rule that was over by then must not touch it, on whichever copy.  A read
 * goes by the schema of who answers, so there those count, too, that some server had when it began.
 *
 * Clocks are wrong by so much at most (sim_wall_error_us()); how many newer cells a column has is not known where
 * writes were given up: for what must be shown all count that were ever asked for.
 */

/* --- rules ---------------------------------------------------------------------------------------- */

void sim_cells_on_table(struct sim_checker *checker, const struct table *table)
{
    const struct family *family = table_family_by_name(table, bytes_of_text(SIM_RULES_FAMILY));
    bool is_known = checker->said_count > 0 &&
                    checker->said[checker->said_count - 1].version >= table->version;
    if (family == NULL || is_known) {
        return;
    }
    if (checker->said_count == checker->said_capacity) {
        checker->said_capacity = checker->said_capacity * 2 + 16;
        checker->said = memory_resize(checker->said,
                                      checker->said_capacity * sizeof *checker->said);
        ASSERT(checker->said != NULL);
    }
    struct sim_said *said = &checker->said[checker->said_count++];
    said->version = table->version;
    ASSERT(gc_rule_copy(&checker->tasks_arena, &family->gc, &said->rule) == STATUS_OK);
}

void sim_checker_on_schema(struct sim_checker *checker,
                           uint32_t node,
                           uint64_t table,
                           uint64_t version)
{
    if (table == checker->main_table || checker->main_table == 0) {
        checker->schemas[node] = version;
    }
}

uint64_t sim_cells_floor(const struct sim_checker *checker)
{
    uint64_t floor = UINT64_MAX;
    for (uint32_t node = 1; node <= checker->sim->settings.server_count; node++) {
        floor = checker->schemas[node] < floor ? checker->schemas[node] : floor;
    }
    return floor;
}

/* Those from that version on, and how many of them drop the cell. */
static uint32_t count_drops(const struct sim_checker *checker,
                            uint64_t from_version,
                            uint64_t index,
                            int64_t timestamp_us,
                            int64_t now_us,
                            uint32_t *ret_count)
{
    uint32_t dropping = 0;
    *ret_count = 0;
    for (uint32_t i = 0; i < checker->said_count; i++) {
        const struct sim_said *said = &checker->said[i];
        if (said->version >= from_version) {
            dropping += gc_rule_drops(&said->rule, index, timestamp_us, now_us);
            ++*ret_count;
        }
    }
    return dropping;
}

/* --- what was asked ------------------------------------------------------------------------------- */

static const struct sim_task *find_version(const struct sim_cells *cells, int64_t timestamp_us)
{
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct sim_task *task = cells->tasks[i];
        if (task->kind == SIM_OPERATION_VERSION && task->timestamp_us == timestamp_us) {
            return task;
        }
    }
    return NULL;
}

/* Some are about to expire, some have. */
static int64_t draw_timestamp_us(struct sim_checker *checker, const struct sim_cells *cells)
{
    uint64_t age_ms = prng_below(&checker->prng, prng_chance(&checker->prng, 2) ? 100 : 8000);
    int64_t timestamp_us = (sim_true_us(checker->sim) / 1000 - (int64_t)age_ms) * 1000;
    while (find_version(cells, timestamp_us) != NULL) {
        timestamp_us += 1000;
    }
    return timestamp_us;
}

void sim_cells_note(struct sim_checker *checker, struct sim_task *task)
{
    struct sim_cells *cells = &checker->cells[task->index];
    if (task->kind == SIM_OPERATION_VERSION) {
        task->timestamp_us = draw_timestamp_us(checker, cells);
    } else {
        task->by_range = prng_chance(&checker->prng, 3);
    }
    if (cells->count == cells->capacity) {
        cells->capacity = cells->capacity * 2 + 16;
        cells->tasks = memory_resize(cells->tasks, cells->capacity * sizeof(struct sim_task *));
        ASSERT(cells->tasks != NULL);
    }
    cells->tasks[cells->count++] = task;
}

void sim_checker_on_version(struct sim_checker *checker, struct bytes value, uint64_t version)
{
    uint64_t id = sim_checker_author(value);
    ASSERT(id != 0 && id <= checker->task_count);
    struct sim_task *task = checker->tasks[id - 1];
    if (task->schema_version == 0 || version < task->schema_version) {
        task->schema_version = version;
    }
}

void sim_cells_deinit(struct sim_checker *checker)
{
    for (uint32_t i = 0; i < SIM_WORKLOAD_ROWS_MAX; i++) {
        memory_free(checker->cells[i].tasks);
    }
    memory_free(checker->said);
}

/* --- one cell ------------------------------------------------------------------------------------- */

static uint64_t count_newer(const struct sim_cells *cells, const struct sim_task *cell)
{
    uint64_t newer = 0;
    for (uint32_t i = 0; i < cells->count; i++) {
        newer += cells->tasks[i]->kind == SIM_OPERATION_VERSION &&
                 cells->tasks[i]->timestamp_us > cell->timestamp_us;
    }
    return newer;
}

/* By all rules from that version on. */
static bool is_kept(const struct sim_checker *checker,
                    const struct sim_task *cell,
                    uint64_t from_version)
{
    const struct sim *sim = checker->sim;
    uint32_t count = 0;
    uint64_t newer = count_newer(&checker->cells[cell->index], cell);
    return count_drops(checker, from_version, newer, cell->timestamp_us,
                       sim_true_us(sim) + sim_wall_error_us(sim), &count) == 0;
}

static bool ended_before(const struct sim_task *first, const struct sim_task *second)
{
    return first->acknowledged && first->ended_at < second->begun_at;
}

/* By then, perhaps. */
static bool may_be_deleted(const struct sim_cells *cells,
                           const struct sim_task *cell,
                           const struct sim_task *read)
{
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct sim_task *task = cells->tasks[i];
        if (task->kind == SIM_OPERATION_FORGET && task->begun_at < read->ended_at &&
            !ended_before(task, cell)) {
            return true;
        }
    }
    return false;
}

static bool must_be_deleted(const struct sim_cells *cells,
                            const struct sim_task *cell,
                            const struct sim_task *read)
{
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct sim_task *task = cells->tasks[i];
        if (task->kind == SIM_OPERATION_FORGET && ended_before(cell, task) &&
            ended_before(task, read)) {
            return true;
        }
    }
    return false;
}

bool sim_checker_may_be_gone(const struct sim_checker *checker,
                             struct bytes row,
                             struct bytes value)
{
    uint64_t id = sim_checker_author(value);
    if (row.size_bytes == 0 || row.data[0] != 'g' || id == 0 || id > checker->task_count) {
        return false;
    }
    const struct sim_task *task = checker->tasks[id - 1];
    return task->kind == SIM_OPERATION_VERSION && !is_kept(checker, task, task->schema_version);
}

/* --- a row ---------------------------------------------------------------------------------------- */

static void check_shown(struct sim_checker *checker,
                        const struct sim_task *read,
                        const struct sim_task *cell,
                        uint64_t index)
{
    const struct sim *sim = checker->sim;
    uint32_t count = 0;
    uint32_t dropping = count_drops(checker, read->rules_floor, index, cell->timestamp_us,
                                    read->begun_us - sim_wall_error_us(sim), &count);
    if (count > 0 && dropping == count) {
        WRONG(checker, read, "the cell of task %llu has expired, and is shown",
              (unsigned long long)cell->id);
    }
    if (must_be_deleted(&checker->cells[cell->index], cell, read)) {
        WRONG(checker, read, "the cell of task %llu was deleted, acknowledged, and is there again",
              (unsigned long long)cell->id);
    }
}

static bool shows(const struct row *row, const struct sim_task *cell)
{
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (row->cells[i].timestamp_us == cell->timestamp_us) {
            return true;
        }
    }
    return false;
}

static void check_missing(struct sim_checker *checker,
                          const struct sim_task *read,
                          const struct sim_task *cell)
{
    const struct sim_cells *cells = &checker->cells[cell->index];
    uint64_t from = cell->schema_version < read->rules_floor ? cell->schema_version
                                                             : read->rules_floor;
    if (ended_before(cell, read) && !may_be_deleted(cells, cell, read) &&
        is_kept(checker, cell, from)) {
        WRONG(checker, read, "the cell of task %llu, acknowledged and kept by all rules, is gone",
              (unsigned long long)cell->id);
    }
}

void sim_cells_check(struct sim_checker *checker,
                     uint32_t index,
                     const struct sim_task *task,
                     const struct row *row)
{
    const struct sim_cells *cells = &checker->cells[index];
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        const struct row_cell *shown = &row->cells[i];
        const struct sim_task *cell = find_version(cells, shown->timestamp_us);
        bool falls = i == 0 || shown->timestamp_us < row->cells[i - 1].timestamp_us;
        if (cell == NULL || cell->id != sim_checker_author(shown->value) || !falls) {
            WRONG(checker, task, "a cell of row %u was never written so", index);
            return;
        }
        check_shown(checker, task, cell, i);
    }
    for (uint32_t i = 0; i < cells->count; i++) {
        if (cells->tasks[i]->kind == SIM_OPERATION_VERSION && !shows(row, cells->tasks[i])) {
            check_missing(checker, task, cells->tasks[i]);
        }
    }
}
