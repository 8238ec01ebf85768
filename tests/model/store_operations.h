/*
 * Operations on a store that are noted before they are asked of it (store_truth.h), reads that are held open
 * across them, and what must be known of requests.  One test's own; after store_truth.h.
 */
#ifndef TESTS_MODEL_STORE_OPERATIONS_H
#define TESTS_MODEL_STORE_OPERATIONS_H

#include "tests/model/store_truth.h"
#include "tests/support/numbered_requests.h"

/* How small a seed has the store: so that it freezes, flushes and splits within few steps. */
static void set_limits(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x51);
    fixture.settings.memtable_limit_bytes = 2000 << prng_below(&limits, 8);
    fixture.settings.memory_limit_bytes = 4 * fixture.settings.memtable_limit_bytes + (1 << 20);
    fixture.settings.log_limit_bytes = 20000 << prng_below(&limits, 8);
    fixture.settings.log_segment_bytes = 256 * 1024;
    fixture.settings.flush_transaction_bytes = 4096 << prng_below(&limits, 6);
    fixture.settings.scrub_bytes_per_second = 1 << 20;
    /* Slow flushes are met half done by reads, kills and splits. */
    fixture.settings.flush_pace_percent = prng_chance(&limits, 2) ? 100 : 5;
    tablets_max = 1 + (uint32_t)prng_below(&limits, TABLETS_MAX);
}

static struct store_tablet *tablet_of_row(unsigned row)
{
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        if (row_range_contains(&store_tablet_describe(tablet)->range, row_key(row))) {
            return tablet;
        }
    }
    cr_assert_fail("no tablet for row %u", row);
    return NULL;
}

/* --- operations ----------------------------------------------------------------------------------- */

static void mark_committed(void)
{
    for (uint32_t i = shared->count; i > 0; i--) {
        struct operation *operation = &shared->operations[i - 1];
        if (operation->committed) {
            continue;
        }
        struct store_tablet *tablet = store_tablet_find(fixture.store, operation->tablet);
        operation->committed = tablet == NULL ||
                               operation->sequence <= store_tablet_committed(tablet);
    }
}

static struct operation *note(enum kind kind, struct store_tablet *tablet)
{
    cr_assert_lt(shared->count, OPERATIONS_MAX);
    struct operation *operation = &shared->operations[shared->count];
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->tablet = store_tablet_describe(tablet)->tablet;
    operation->sequence = store_tablet_prepared(tablet) + 1;
    return operation;
}

/* Pushed back is fine, refused for good is not. */
static void take_back_if_refused(enum status status, const uint64_t *sequence)
{
    if (status != STATUS_OK) {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
        shared->count--;
        return;
    }
    cr_assert_eq(*sequence, shared->operations[shared->count - 1].sequence);
}

static void write_row(struct store_tablet *tablet, unsigned row)
{
    struct operation *operation = note(WRITE, tablet);
    struct change changes[CHANGES_MAX];
    uint8_t operands[CHANGES_MAX][8];
    operation->row = (uint8_t)row;
    operation->change_count = (uint8_t)prng_below(&prng, CHANGES_MAX + 1);
    for (unsigned i = 0; i < operation->change_count; i++) {
        operation->changes[i] = random_change();
        changes[i] = to_change(&operation->changes[i], operands[i]);
    }
    struct record_entry entry = {
        .row = row_key(row), .changes = changes, .change_count = operation->change_count};
    if (prng_chance(&prng, 3)) {
        operation->request = ++shared->request_next;
        entry.request = numbered_request(operation->request);
    }
    struct record_write write = {&entry, 1};
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_write(tablet, &write, store_next_clock(fixture.store), &sequence), &sequence);
}

/* Behind the last row of a range that begins with row and lies in its tablet. */
static unsigned random_end(struct store_tablet *tablet, unsigned row)
{
    unsigned end = row + 1;
    while (end < ROW_COUNT && prng_chance(&prng, 2) && tablet_of_row(end) == tablet) {
        end++;
    }
    return end;
}

static void drop_rows(struct store_tablet *tablet, unsigned row, unsigned end)
{
    struct operation *operation = note(DROP, tablet);
    operation->row = (uint8_t)row;
    operation->row_end = (uint8_t)end;
    struct buffer after = BUFFER_INIT;
    buffer_append_bytes(&after, row_key(end - 1));
    buffer_append_u8(&after, 0);
    struct record_drop_range drop = {.range = {row_key(row), buffer_bytes(&after)}};
    uint64_t sequence = 0;
    shared->count++;
    take_back_if_refused(
        store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
        &sequence);
    buffer_deinit(&after);
}

/* --- reads held open ------------------------------------------------------------------------------ */

static void hold_read(void)
{
    struct held *slot = &held[prng_below(&prng, HELD_MAX)];
    if (slot->read == NULL) {
        slot->tablet = tablet_of_row((unsigned)prng_below(&prng, ROW_COUNT));
        slot->sequence = store_tablet_committed(slot->tablet);
        slot->operations = shared->count;
        cr_assert_eq(
            store_read_begin(slot->tablet, &fixture_table, STORE_READ_COMMITTED, 0, &slot->read),
            STATUS_OK);
        store_tablet_ref(slot->tablet);
    }
}

static void release_read(struct held *slot)
{
    if (slot->read != NULL) {
        reading = "held";
        build_model(slot->operations, store_tablet_describe(slot->tablet)->tablet, slot->sequence);
        expect_read(slot->read, &store_tablet_describe(slot->tablet)->range);
        store_read_end(slot->read);
        store_tablet_unref(slot->tablet);
        slot->read = NULL;
    }
}

static void release_reads(void)
{
    for (int i = 0; i < HELD_MAX; i++) {
        release_read(&held[i]);
    }
}

/* --- requests ------------------------------------------------------------------------------------- */

static void expect_duplicates_known(void)
{
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *operation = &shared->operations[i];
        if (operation->request == 0) {
            continue;
        }
        for (uint32_t j = 0; j < store_tablet_count(fixture.store); j++) {
            struct store_tablet *tablet = store_tablet_at(fixture.store, j);
            if (!row_range_contains(&store_tablet_describe(tablet)->range,
                                    row_key(operation->row))) {
                continue;
            }
            cr_assert_eq(verdict_of(tablet, operation->request), DEDUPE_DONE, "request %d",
                         (int)operation->request);
        }
    }
}

#endif /* TESTS_MODEL_STORE_OPERATIONS_H */
