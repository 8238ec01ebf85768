#include "tests/sim/checker/sim_checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker_state.h"

#define CELLS_ROWS_MAX 6 /* few: then a column has versions */

/* --- life ------------------------------------------------------------------------------------- */

struct sim_checker *sim_checker_create(struct sim *sim)
{
    struct sim_checker *checker = memory_allocate_zeroed(1, sizeof *checker);
    ASSERT(checker != NULL);
    checker->sim = sim;
    checker->prng = prng_of_seed(prng_next(&sim->prng));
    arena_init(&checker->tasks_arena, 65536, SIZE_MAX);
    arena_init(&checker->arena, 16384, SIZE_MAX);
    return checker;
}

void sim_checker_destroy(struct sim_checker *checker)
{
    arena_deinit(&checker->tasks_arena);
    arena_deinit(&checker->arena);
    memory_free(checker->tasks);
    memory_free(checker->entries);
    memory_free(checker->families);
    sim_cells_deinit(checker);
    for (uint32_t i = 0; i < SIM_WORKLOAD_ROWS_MAX; i++) {
        sim_register_deinit(&checker->registers[i]);
    }
    memory_free(checker);
}

static struct sim_task *add_task(struct sim_checker *checker,
                                 enum sim_operation_kind kind,
                                 uint64_t table)
{
    if (checker->task_count == checker->task_capacity) {
        checker->task_capacity = checker->task_capacity * 2 + 256;
        checker->tasks = memory_resize(checker->tasks,
                                       checker->task_capacity * sizeof *checker->tasks);
        ASSERT(checker->tasks != NULL);
    }
    struct sim_task *task = arena_allocate(&checker->tasks_arena, sizeof *task);
    ASSERT(task != NULL);
    *task = (struct sim_task){.kind = kind,
                              .id = checker->task_count + 1,
                              .table = table,
                              .begun_at = checker->sim->event_count,
                              .begun_us = sim_true_us(checker->sim),
                              .rules_floor = sim_cells_floor(checker),
                              .amount = 1};
    checker->tasks[checker->task_count++] = task;
    return task;
}

static void name_row(struct sim_task *task, char kind, uint32_t index)
{
    task->index = index;
    task->row_bytes = (uint32_t)snprintf((char *)task->row, sizeof task->row, "%c%03u", kind,
                                         index);
}

/* --- tables ----------------------------------------------------------------------------------- */

uint64_t sim_checker_main_table(const struct sim_checker *checker)
{
    return checker->main_table;
}

void sim_checker_on_table(struct sim_checker *checker, uint32_t name, uint64_t number)
{
    if (name == 0) {
        checker->main_table = number;
        return;
    }
    for (uint32_t i = 0; i < checker->side_count; i++) {
        if (checker->sides[i].number == number) {
            return;
        }
    }
    if (checker->side_count < SIM_SIDE_TABLES_MAX) {
        checker->sides[checker->side_count++] = (struct sim_side_table){.number = number,
                                                                        .name = name};
    }
}

void sim_checker_on_delete(struct sim_checker *checker, uint64_t number)
{
    for (uint32_t i = 0; i < checker->side_count; i++) {
        if (checker->sides[i].number == number) {
            checker->sides[i].delete_issued = true;
        }
    }
}

uint32_t sim_checker_name_of(const struct sim_checker *checker, uint64_t number)
{
    for (uint32_t i = 0; i < checker->side_count; i++) {
        if (checker->sides[i].number == number) {
            return checker->sides[i].name;
        }
    }
    return 0;
}

uint32_t sim_checker_live_tables(const struct sim_checker *checker,
                                 uint64_t ret_numbers[SIM_SIDE_TABLES_MAX + 1])
{
    uint32_t count = 0;
    if (checker->main_table != 0) {
        ret_numbers[count++] = checker->main_table;
    }
    for (uint32_t i = 0; i < checker->side_count; i++) {
        if (!checker->sides[i].delete_issued) {
            ret_numbers[count++] = checker->sides[i].number;
        }
    }
    return count;
}

static bool is_live(const struct sim_checker *checker, uint64_t table)
{
    uint64_t numbers[SIM_SIDE_TABLES_MAX + 1];
    uint32_t count = sim_checker_live_tables(checker, numbers);
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == table) {
            return true;
        }
    }
    return false;
}

void sim_checker_on_not_found(struct sim_checker *checker, const struct sim_task *task)
{
    if (is_live(checker, task->table)) {
        WRONG(checker, task, "not found, though nobody has deleted the table");
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

static enum sim_operation_kind draw_kind(struct sim_checker *checker)
{
    const uint32_t *weights = checker->sim->settings.weights;
    uint64_t total = 0;
    for (int i = 0; i < SIM_OPERATION_KINDS; i++) {
        total += weights[i];
    }
    uint64_t at = prng_below(&checker->prng, total);
    int kind = 0;
    while (at >= weights[kind]) {
        at -= weights[kind++];
    }
    return (enum sim_operation_kind)kind;
}

static struct sim_task *make_put(struct sim_checker *checker)
{
    uint64_t numbers[SIM_SIDE_TABLES_MAX + 1];
    uint32_t count = sim_checker_live_tables(checker, numbers);
    uint64_t table = prng_chance(&checker->prng, 4) ? numbers[prng_below(&checker->prng, count)]
                                                    : checker->main_table;
    struct sim_task *task = add_task(checker, SIM_OPERATION_PUT, table);
    if (checker->entry_count == checker->entry_capacity) {
        checker->entry_capacity = checker->entry_capacity * 2 + 64;
        checker->entries = memory_resize(checker->entries,
                                         checker->entry_capacity * sizeof *checker->entries);
        ASSERT(checker->entries != NULL);
    }
    task->index = checker->entry_count;
    task->row_bytes = (uint32_t)snprintf((char *)task->row, sizeof task->row, "u%03x-%llu",
                                         (unsigned)prng_below(&checker->prng, 0x1000),
                                         (unsigned long long)task->id);
    checker->entries[checker->entry_count++] = (struct sim_entry){.put = task};
    return task;
}

/* A row that is there and stays in a table that stays; NULL when the dice find none. */
static struct sim_task *make_delete(struct sim_checker *checker)
{
    for (int i = 0; i < 8 && checker->entry_count > 0; i++) {
        uint32_t index = (uint32_t)prng_below(&checker->prng, checker->entry_count);
        struct sim_entry *entry = &checker->entries[index];
        if (entry->put->acknowledged && entry->erase == NULL &&
            is_live(checker, entry->put->table)) {
            struct sim_task *task = add_task(checker, SIM_OPERATION_DELETE, entry->put->table);
            memcpy(task->row, entry->put->row, sizeof task->row);
            task->row_bytes = entry->put->row_bytes;
            task->index = index;
            task->by_range = prng_chance(&checker->prng, 3);
            entry->erase = task;
            return task;
        }
    }
    return NULL;
}

static uint32_t cells_index(struct sim_checker *checker)
{
    uint32_t rows = checker->sim->settings.row_count;
    return (uint32_t)prng_below(&checker->prng, rows < CELLS_ROWS_MAX ? rows : CELLS_ROWS_MAX);
}

static struct sim_task *make_read(struct sim_checker *checker)
{
    if (checker->sim->rules.on && prng_chance(&checker->prng, 3)) {
        struct sim_task *cells = add_task(checker, SIM_OPERATION_READ, checker->main_table);
        name_row(cells, 'g', cells_index(checker));
        return cells;
    }
    static const char kinds[] = {'a', 'i', 'k', 'r'};
    uint32_t index = (uint32_t)prng_below(&checker->prng, checker->sim->settings.row_count);
    if (checker->entry_count > 0 && prng_chance(&checker->prng, 3)) {
        uint32_t at = (uint32_t)prng_below(&checker->prng, checker->entry_count);
        const struct sim_task *put = checker->entries[at].put;
        if (is_live(checker, put->table)) {
            struct sim_task *task = add_task(checker, SIM_OPERATION_READ, put->table);
            memcpy(task->row, put->row, sizeof task->row);
            task->row_bytes = put->row_bytes;
            task->index = at;
            return task;
        }
    }
    struct sim_task *task = add_task(checker, SIM_OPERATION_READ, checker->main_table);
    name_row(task, kinds[prng_below(&checker->prng, sizeof kinds)], index);
    task->floor = sim_checker_floor(checker, task);
    return task;
}

static struct sim_task *make(struct sim_checker *checker, enum sim_operation_kind kind)
{
    uint32_t index = (uint32_t)prng_below(&checker->prng, checker->sim->settings.row_count);
    struct sim_task *task = NULL;
    switch (kind) {
    case SIM_OPERATION_ADD:
        task = add_task(checker, kind, checker->main_table);
        name_row(task, 'a', index);
        task->amount = 1 + (int64_t)prng_below(&checker->prng, 100);
        checker->adds[index].issued += task->amount;
        return task;
    case SIM_OPERATION_INCREMENT:
        task = add_task(checker, kind, checker->main_table);
        name_row(task, 'i', index);
        checker->increments[index].issued++;
        return task;
    case SIM_OPERATION_CLAIM:
        task = add_task(checker, kind, checker->main_table);
        name_row(task, 'k', index);
        return task;
    case SIM_OPERATION_REGISTER:
        task = add_task(checker, kind, checker->main_table);
        name_row(task, 'r', index);
        return task;
    case SIM_OPERATION_DELETE:
        task = make_delete(checker);
        return task != NULL ? task : make_put(checker);
    case SIM_OPERATION_READ:
        return make_read(checker);
    case SIM_OPERATION_SCAN:
        return sim_checker_final_scan(checker, checker->main_table, prng_chance(&checker->prng, 2));
    case SIM_OPERATION_VERSION:
    case SIM_OPERATION_FORGET:
        task = add_task(checker, kind, checker->main_table);
        name_row(task, 'g', cells_index(checker));
        sim_cells_note(checker, task);
        return task;
    case SIM_OPERATION_PUT:
    case SIM_OPERATION_KINDS:
        break;
    }
    return make_put(checker);
}

struct sim_task *sim_checker_final_scan(struct sim_checker *checker, uint64_t table, bool reversed)
{
    struct sim_task *task = add_task(checker, SIM_OPERATION_SCAN, table);
    task->reversed = reversed;
    return task;
}

bool sim_checker_next(struct sim_checker *checker, struct sim_task **ret_task)
{
    if (checker->main_table == 0) {
        return false;
    }
    *ret_task = make(checker, draw_kind(checker));
    return true;
}
