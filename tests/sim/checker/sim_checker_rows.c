#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/endian.h"
#include "tests/sim/checker/sim_checker_state.h"

/*
 * Judging answers.  A row's kind is the first letter of its key: a counter of adds, i increments,
 * k claim, r register, u written once; g cells
 * that expire (sim_checker_cells.c).
 */

/* --- reading cells ---------------------------------------------------------------------------- */

static struct bytes newest(const struct row *row, const char *qualifier)
{
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (bytes_equal(row->cells[i].qualifier, bytes_of_text(qualifier))) {
            return row->cells[i].value;
        }
    }
    return BYTES_EMPTY;
}

static int64_t integer(const struct row *row)
{
    struct bytes value = newest(row, "n");
    return value.size_bytes == 8 ? (int64_t)load_be64(value.data) : 0;
}

uint64_t sim_checker_author(struct bytes value)
{
    char text[24] = "";
    if (value.size_bytes == 0 || value.size_bytes >= sizeof text) {
        return 0;
    }
    memcpy(text, value.data, value.size_bytes);
    return strtoull(text, NULL, 10);
}

/* The task, if it wrote that kind to that row; else NULL. */
static const struct sim_task *find_author(const struct sim_checker *checker,
                                          uint64_t id,
                                          enum sim_operation_kind kind,
                                          struct bytes row)
{
    if (id == 0 || id > checker->task_count) {
        return NULL;
    }
    const struct sim_task *task = checker->tasks[id - 1];
    bool fits = task->kind == kind && bytes_equal(bytes_of(task->row, task->row_bytes), row);
    return fits ? task : NULL;
}

static bool ended_before(const struct sim_task *first, const struct sim_task *second)
{
    return first->acknowledged && first->ended_at < second->begun_at;
}

/* --- one row, as a read or scan shows it; NULL = it is not there ------------------------------- */

int64_t sim_checker_floor(const struct sim_checker *checker, const struct sim_task *task)
{
    const struct sim_counter *counter = task->row[0] == 'a' ? &checker->adds[task->index]
                                                            : &checker->increments[task->index];
    if (task->row[0] != 'a' && task->row[0] != 'i') {
        return 0;
    }
    return counter->shown > counter->acknowledged ? counter->shown : counter->acknowledged;
}

static void check_counter(struct sim_checker *checker,
                          struct sim_counter *counter,
                          const struct sim_task *task,
                          const struct row *row,
                          int64_t floor)
{
    int64_t value = integer(row);
    if (value < floor || value > counter->issued) {
        WRONG(checker, task, "counter shows %lld, not within %lld..%lld", (long long)value,
              (long long)floor, (long long)counter->issued);
    }
    if (task->final &&
        (value < counter->acknowledged || value > counter->acknowledged + counter->given_up)) {
        WRONG(checker, task, "in the end the counter is %lld; acknowledged %lld, unknown %lld",
              (long long)value, (long long)counter->acknowledged, (long long)counter->given_up);
    }
    counter->shown = value > counter->shown ? value : counter->shown;
}

static void check_claim(struct sim_checker *checker,
                        uint32_t index,
                        const struct sim_task *task,
                        const struct row *row)
{
    struct sim_claim *claim = &checker->claims[index];
    uint64_t shown = sim_checker_author(newest(row, "o"));
    uint64_t known = claim->winner != 0 ? claim->winner : claim->shown;

    if (row == NULL) {
        if (claim->winner != 0 && ended_before(checker->tasks[claim->winner - 1], task)) {
            WRONG(checker, task, "task %llu has won the claim, and the row is not there",
                  (unsigned long long)claim->winner);
        }
        return;
    }
    if (find_author(checker, shown, SIM_OPERATION_CLAIM, row->key) == NULL ||
        (known != 0 && known != shown)) {
        WRONG(checker, task, "the claim shows task %llu, and it was won by %llu",
              (unsigned long long)shown, (unsigned long long)known);
    }
    claim->shown = shown;
}

static void note_register(struct sim_checker *checker,
                          uint32_t index,
                          const struct sim_task *task,
                          const struct sim_task *wrote)
{
    const struct sim_seen seen = {.task = wrote == NULL ? 0 : wrote->id,
                                  .written_at = wrote == NULL ? 0 : wrote->begun_at,
                                  .begun_at = task->begun_at,
                                  .ended_at = task->ended_at};
    uint64_t other = 0;
    if (sim_register_note(&checker->registers[index], &seen, &other)) {
        WRONG(checker, task,
              "register %u: no order explains the values of task %llu and of task %llu", index,
              (unsigned long long)seen.task, (unsigned long long)other);
    }
}

static void check_register(struct sim_checker *checker,
                           uint32_t index,
                           const struct sim_task *task,
                           const struct row *row)
{
    uint64_t a = sim_checker_author(newest(row, "a"));
    uint64_t b = sim_checker_author(newest(row, "b"));
    const struct sim_task *wrote = find_author(checker, a, SIM_OPERATION_REGISTER, row->key);
    if (a != b || wrote == NULL) {
        WRONG(checker, task, "the register shows %llu and %llu", (unsigned long long)a,
              (unsigned long long)b);
        return;
    }
    note_register(checker, index, task, wrote);
}

static void check_entry(struct sim_checker *checker,
                        const struct sim_entry *entry,
                        const struct sim_task *task,
                        const struct row *row)
{
    bool must = ended_before(entry->put, task) &&
                (entry->erase == NULL ||
                 (task->ended_at != 0 && entry->erase->begun_at > task->ended_at));
    bool must_not = entry->erase != NULL && ended_before(entry->erase, task);
    if (row == NULL) {
        if (must) {
            WRONG(checker, task, "row %.*s, written by task %llu and acknowledged, is not there",
                  (int)entry->put->row_bytes, (const char *)entry->put->row,
                  (unsigned long long)entry->put->id);
        }
        return;
    }
    if (must_not) {
        WRONG(checker, task, "row %.*s was deleted, acknowledged, and is there again",
              (int)entry->put->row_bytes, (const char *)entry->put->row);
    }
    if (sim_checker_author(newest(row, "v")) != entry->put->id) {
        WRONG(checker, task, "row %.*s does not show what was written", (int)entry->put->row_bytes,
              (const char *)entry->put->row);
    }
}

/* A row that is there: of what kind, and is it right?  floor: of a counter. */
static void check_row(struct sim_checker *checker,
                      const struct sim_task *task,
                      const struct row *row,
                      int64_t floor)
{
    char key[SIM_KEY_BYTES_MAX + 1] = "";
    memcpy(key, row->key.data,
           row->key.size_bytes < SIM_KEY_BYTES_MAX ? row->key.size_bytes : SIM_KEY_BYTES_MAX);
    uint32_t index = (uint32_t)strtoul(key + 1, NULL, 10) % SIM_WORKLOAD_ROWS_MAX;
    bool main = task->table == checker->main_table;
    if (main && key[0] == 'a') {
        if (!bytes_equal(newest(row, "m"), newest(row, "n"))) {
            WRONG(checker, task, "the two cells of counter %s are not the same", key);
        }
        check_counter(checker, &checker->adds[index], task, row, floor);
    } else if (main && key[0] == 'i') {
        check_counter(checker, &checker->increments[index], task, row, floor);
    } else if (main && key[0] == 'k') {
        check_claim(checker, index, task, row);
    } else if (main && key[0] == 'r') {
        check_register(checker, index, task, row);
    } else if (main && key[0] == 'g') {
        sim_cells_check(checker, index, task, row);
    } else if (key[0] == 'u') {
        const struct sim_task *put = find_author(checker, sim_checker_author(newest(row, "v")),
                                                 SIM_OPERATION_PUT, row->key);
        if (put == NULL || put->table != task->table) {
            WRONG(checker, task, "row %s was never written to this table", key);
        } else {
            check_entry(checker, &checker->entries[put->index], task, row);
        }
    } else {
        WRONG(checker, task, "row %s was never written", key);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void end_read(struct sim_checker *checker,
                     const struct sim_task *task,
                     const struct sim_outcome *outcome)
{
    if (outcome->row_count > 0) {
        struct bytes key = outcome->rows[0].key;
        if (!bytes_equal(key, bytes_of(task->row, task->row_bytes))) {
            WRONG(checker, task, "the read shows row %.*s", (int)key.size_bytes,
                  (const char *)key.data);
        }
        check_row(checker, task, &outcome->rows[0], task->floor);
    } else if (task->row[0] == 'u') {
        check_entry(checker, &checker->entries[task->index], task, NULL);
    } else if (task->row[0] == 'k') {
        check_claim(checker, task->index, task, NULL);
    } else if (task->row[0] == 'r') {
        note_register(checker, task->index, task, NULL);
    } else if (task->row[0] == 'g') {
        sim_cells_check(checker, task->index, task, NULL);
    } else if (task->floor > 0) {
        WRONG(checker, task, "the counter is not there; at least %lld is due",
              (long long)task->floor);
    }
}

static const struct row *find_row(const struct sim_outcome *outcome,
                                  struct bytes key,
                                  bool reversed)
{
    size_t low = 0;
    size_t high = outcome->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = bytes_compare(outcome->rows[middle].key, key);
        if (order == 0) {
            return &outcome->rows[middle];
        }
        if ((order < 0) != reversed) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static void check_absent_registers(struct sim_checker *checker,
                                   const struct sim_task *task,
                                   const struct sim_outcome *outcome)
{
    for (uint32_t i = 0; i < checker->sim->settings.row_count; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "r%03u", i);
        if (find_row(outcome, bytes_of_text(key), task->reversed) == NULL) {
            note_register(checker, i, task, NULL);
        }
    }
}

static void check_absent_cells(struct sim_checker *checker,
                               const struct sim_task *task,
                               const struct sim_outcome *outcome)
{
    for (uint32_t i = 0; i < checker->sim->settings.row_count; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "g%03u", i);
        if (find_row(outcome, bytes_of_text(key), task->reversed) == NULL) {
            sim_cells_check(checker, i, task, NULL);
        }
    }
}

/* In the end: counters that the scan did not show at all. */
static void check_absent_counters(struct sim_checker *checker,
                                  const struct sim_task *task,
                                  const struct sim_outcome *outcome)
{
    for (uint32_t i = 0; i < checker->sim->settings.row_count; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "a%03u", i);
        bool there = find_row(outcome, bytes_of_text(key), task->reversed) != NULL;
        if (!there && checker->adds[i].acknowledged > 0) {
            WRONG(checker, task, "counter %s is gone", key);
        }
        key[0] = 'i';
        there = find_row(outcome, bytes_of_text(key), task->reversed) != NULL;
        if (!there && checker->increments[i].acknowledged > 0) {
            WRONG(checker, task, "counter %s is gone", key);
        }
    }
}

static void end_scan(struct sim_checker *checker,
                     const struct sim_task *task,
                     const struct sim_outcome *outcome)
{
    checker->sim->statistics.scans++;
    for (size_t i = 0; i < outcome->row_count; i++) {
        const struct row *row = &outcome->rows[i];
        int order = i == 0 ? -1 : bytes_compare(outcome->rows[i - 1].key, row->key);
        order = i > 0 && task->reversed ? -order : order;
        if (order >= 0) {
            WRONG(checker, task, "the scan shows row %.*s out of order or twice",
                  (int)row->key.size_bytes, (const char *)row->key.data);
        }
        check_row(checker, task, row, 0);
    }
    for (uint32_t i = 0; i < checker->entry_count; i++) {
        const struct sim_task *put = checker->entries[i].put;
        if (put->table == task->table &&
            find_row(outcome, bytes_of(put->row, put->row_bytes), task->reversed) == NULL) {
            check_entry(checker, &checker->entries[i], task, NULL);
        }
    }
    if (task->table == checker->main_table) {
        check_absent_registers(checker, task, outcome);
        check_absent_cells(checker, task, outcome);
    }
    if (task->final && task->table == checker->main_table) {
        check_absent_counters(checker, task, outcome);
    }
}

static void end_increment(struct sim_checker *checker,
                          const struct sim_task *task,
                          const struct sim_outcome *outcome)
{
    struct sim_counter *counter = &checker->increments[task->index];
    int64_t value = outcome->row_count > 0 ? integer(&outcome->rows[0]) : 0;
    counter->acknowledged++;
    if (value < 1 || value > counter->issued) {
        WRONG(checker, task, "the increment answers %lld of %lld", (long long)value,
              (long long)counter->issued);
    } else if (value < 1024) {
        uint64_t bit = UINT64_C(1) << (value % 64);
        if ((counter->results[value / 64] & bit) != 0) {
            WRONG(checker, task, "two increments answer %lld", (long long)value);
        }
        counter->results[value / 64] |= bit;
    }
    counter->shown = value > counter->shown ? value : counter->shown;
}

static void end_claim(struct sim_checker *checker,
                      const struct sim_task *task,
                      const struct sim_outcome *outcome)
{
    struct sim_claim *claim = &checker->claims[task->index];
    if (outcome->matched) {
        return; /* somebody else's */
    }
    if ((claim->winner != 0 && claim->winner != task->id) ||
        (claim->shown != 0 && claim->shown != task->id)) {
        WRONG(checker, task, "two tasks have won the claim: %llu and this one",
              (unsigned long long)(claim->winner != 0 ? claim->winner : claim->shown));
    }
    claim->winner = task->id;
}

static void give_up(struct sim_checker *checker, const struct sim_task *task)
{
    if (task->kind == SIM_OPERATION_ADD) {
        checker->adds[task->index].given_up += task->amount;
    } else if (task->kind == SIM_OPERATION_INCREMENT) {
        checker->increments[task->index].given_up++;
    } else if (task->final) {
        WRONG(checker, task, "the final scan of table %llu failed",
              (unsigned long long)task->table);
    }
}

void sim_checker_end(struct sim_checker *checker,
                     struct sim_task *task,
                     const struct sim_outcome *outcome)
{
    task->ended_at = checker->sim->event_count;
    task->acknowledged = outcome->acknowledged;
    if (!outcome->acknowledged) {
        give_up(checker, task);
        return;
    }
    switch (task->kind) {
    case SIM_OPERATION_ADD:
        checker->adds[task->index].acknowledged += task->amount;
        break;
    case SIM_OPERATION_INCREMENT:
        end_increment(checker, task, outcome);
        break;
    case SIM_OPERATION_CLAIM:
        end_claim(checker, task, outcome);
        break;
    case SIM_OPERATION_READ:
        end_read(checker, task, outcome);
        break;
    case SIM_OPERATION_SCAN:
        end_scan(checker, task, outcome);
        break;
    case SIM_OPERATION_REGISTER:
        note_register(checker, task->index, task, task);
        break;
    case SIM_OPERATION_PUT:
    case SIM_OPERATION_DELETE:
    case SIM_OPERATION_VERSION:
    case SIM_OPERATION_FORGET:
    case SIM_OPERATION_KINDS:
        break;
    }
}
