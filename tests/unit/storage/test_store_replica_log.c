/*
 * One replica's disk: what is flushed, what holds the log, what is read back of it, and memory that fails.
 */
#include "tests/support/store_copy.h"

#include "common/base/memory.h"

TestSuite(store_replica, .init = begin, .fini = finish);

Test(store_replica, nothing_uncommitted_is_flushed)
{
    configure(led, 0);
    lead_write("b", "v");
    store_flush_all(fixture.store);
    usleep(20000);
    store_poll(fixture.store);
    struct store_tablet_statistics numbers;
    store_tablet_statistics(tablet, &numbers);
    cr_assert_eq(numbers.flush_count, 0);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, fixture_flushes_pending(&fixture) == 0);
    store_tablet_statistics(tablet, &numbers);
    cr_assert_eq(numbers.flush_count, 1);
}

static uint64_t log_bytes(void)
{
    struct store_statistics numbers;
    store_statistics(fixture.store, &numbers);
    return numbers.log_bytes;
}

/* Another tablet fills the log. */
static void fill_log(struct store_tablet *other, uint64_t bytes)
{
    static char large[50000];
    memset(large, 'v', sizeof large - 1);
    struct change change = fixture_put(1, "c", 5, large);
    for (uint64_t done = 0; done < bytes; done += sizeof large) {
        fixture_write(&fixture, other, "p", &change, 1);
    }
}

Test(store_replica, an_idle_tablets_configuration_does_not_hold_the_log_for_ever)
{
    fixture_close(&fixture);
    fixture.settings.log_limit_bytes = 4 << 20;
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "");
    configure(led, 0);
    fill_log(other, 30 << 20);
    FIXTURE_PUMP_UNTIL(&fixture, log_bytes() < 16 << 20);
    reopen();
    cr_assert_eq(store_tablet_configuration(tablet)->members.version, 2);
    cr_assert_eq(store_tablet_configuration(tablet)->members.member_count, 2);
    cr_assert_not(store_tablet_leads(tablet));
}

Test(store_replica, the_window_holds_the_log)
{
    fixture_close(&fixture);
    fixture.settings.log_limit_bytes = 4 << 20;
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "");
    become_secondary();
    must_take("b", "v", 0);
    fill_log(other, 30 << 20);
    fixture_flush(&fixture);
    cr_assert_gt(log_bytes(), 29 << 20);
    reopen();
    cr_assert_eq(store_tablet_appended(tablet), 1);
    cr_assert_eq(store_tablet_window_count(tablet), 1);
}

Test(store_replica, barriers_are_counted_and_do_nothing)
{
    configure(led, 0);
    struct buffer payload = BUFFER_INIT;
    record_encode_frozen(&(struct record_frozen){5, 6}, &payload);
    cr_assert_eq(fixture_append_barrier(tablet, RECORD_FROZEN, &payload), 1);
    lead_write("b", "v");
    cr_assert_eq(store_tablet_commit(tablet, 2), STATUS_OK);
    reopen();
    cr_assert_eq(store_tablet_appended(tablet), 2);
    cr_assert_eq(store_tablet_window_at(tablet, 0).type, RECORD_FROZEN);
}

static void lead_barrier(enum record_type type)
{
    struct buffer payload = BUFFER_INIT;
    if (type == RECORD_FROZEN) {
        record_encode_frozen(&(struct record_frozen){2, 3}, &payload);
    }
    uint64_t sequence = fixture_append_barrier(tablet, type, &payload);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == sequence);
}

/* Found by the model (seed 102, now and then): the base says what stands at the sequence up to which it was
 * flushed, though what lifts it was committed before it was written; for a restart may know no more than
 * that to be committed. */
Test(store_replica, a_barrier_that_was_lifted_since_stands_where_the_base_ends)
{
    struct store_entry standing;
    configure(led, 0);
    lead_barrier(RECORD_FROZEN);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    lead_write("b", "v");
    store_flush_all(fixture.store); /* frozen, and not to be flushed yet */
    lead_barrier(RECORD_THAWED);
    cr_assert_eq(store_tablet_commit(tablet, 3), STATUS_OK);
    cr_assert_not(store_tablet_barrier(tablet, &standing));
    struct store_tablet_statistics statistics = {0};
    FIXTURE_PUMP_UNTIL(&fixture,
                       (store_tablet_statistics(tablet, &statistics), statistics.flush_count > 0));
    reopen();
    cr_assert_eq(store_tablet_committed(tablet), 2);
    cr_assert(store_tablet_barrier(tablet, &standing));
    cr_assert_eq(standing.sequence, 1);
}

Test(store_replica, without_memory_configuring_changes_nothing)
{
    configure(led, 0);
    lead_write("b", "v");
    struct store_configuration next = with_version(following, 5);
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t n = 0; status == STATUS_NO_MEMORY; n++) {
        cr_assert_eq(store_tablet_configuration(tablet)->members.version, 2);
        cr_assert_eq(store_tablet_prepared(tablet), 1);
        memory_fail_arm(n, 1);
        status = store_tablet_configure(tablet, &next, 0);
        memory_fail_disarm();
        store_check(fixture.store);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(store_tablet_prepared(tablet), 0);
}

Test(store_replica, without_memory_a_commit_comes_again)
{
    become_secondary();
    must_take("b", "v", 9);
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t n = 0; status == STATUS_NO_MEMORY; n++) {
        cr_assert_eq(store_tablet_committed(tablet), 0);
        memory_fail_arm(n, 1);
        status = store_tablet_commit(tablet, 1);
        memory_fail_disarm();
        store_check(fixture.store);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(verdict_of(tablet, 9), DEDUPE_DONE);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}

/* --- reading the log back ------------------------------------------------------------------------- */

static uint32_t read_log(uint64_t from, uint64_t bytes_max, uint64_t version)
{
    struct arena arena;
    struct store_log_slice slice = {.count = 0};
    arena_init(&arena, 4096, SIZE_MAX);
    enum status status = store_log_read(tablet, from, bytes_max, &arena, &slice);
    cr_assert(status == STATUS_OK || status == STATUS_NOT_FOUND);
    for (uint32_t i = 0; i < slice.count; i++) {
        cr_assert_eq(slice.entries[i].sequence, from + i);
        cr_assert_eq(slice.entries[i].version, version);
        cr_assert_eq(slice.entries[i].type, RECORD_WRITE);
    }
    arena_deinit(&arena);
    return status == STATUS_OK ? slice.count : UINT32_MAX;
}

Test(store_replica, committed_entries_are_read_back)
{
    configure(led, 0);
    for (int i = 0; i < 10; i++) {
        lead_write("b", "v");
    }
    cr_assert_eq(read_log(1, 1000, 2), 0, "nothing is committed");
    cr_assert_eq(store_tablet_commit(tablet, 8), STATUS_OK);
    cr_assert_eq(read_log(1, 1 << 20, 2), 8);
    cr_assert_eq(read_log(5, 1 << 20, 2), 4);
    cr_assert_eq(read_log(5, 1, 2), 1);
    cr_assert_eq(read_log(9, 1 << 20, 2), 0);
    reopen();
    cr_assert_eq(store_tablet_commit(tablet, 10), STATUS_OK);
    cr_assert_eq(read_log(3, 1 << 20, 2), 8, "by replay");
}

Test(store_replica, what_was_dropped_is_not_read_back)
{
    become_secondary();
    must_take("b", "1", 0);
    must_take("b", "2", 0);
    must_take("b", "3", 0);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    struct store_configuration next = with_version(following, 9);
    cr_assert_eq(store_tablet_configure(tablet, &next, 1), STATUS_OK); /* all in one batch */
    must_take("c", "2'", 0);
    must_take("c", "3'", 0);
    cr_assert_eq(store_tablet_commit(tablet, 3), STATUS_OK);
    cr_assert_eq(read_log(1, 1 << 20, 3), 1);
    cr_assert_eq(read_log(2, 1 << 20, 9), 2);
    reopen();
    cr_assert_eq(store_tablet_commit(tablet, 3), STATUS_OK);
    cr_assert_eq(read_log(2, 1 << 20, 9), 2);
}

/* Much of the log, committed and flushed. */
static void write_much(uint64_t bytes)
{
    static char large[50000];
    memset(large, 'v', sizeof large - 1);
    for (uint64_t done = 0; done < bytes; done += sizeof large) {
        lead_write("b", large);
        cr_assert_eq(store_tablet_commit(tablet, store_tablet_prepared(tablet)), STATUS_OK);
    }
    fixture_flush(&fixture);
}

static void reopen_keeping(int64_t keep_us, uint64_t keep_bytes)
{
    fixture_close(&fixture);
    fixture.settings.log_keep_us = keep_us;
    fixture.settings.log_keep_bytes = keep_bytes;
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
}

Test(store_replica, what_is_flushed_is_kept_for_those_who_were_away)
{
    reopen_keeping(INT64_C(600000000), 64 << 20);
    configure(led, 0);
    write_much(10 << 20);
    FIXTURE_PUMP_UNTIL(&fixture, log_bytes() < 5 << 20);
    uint64_t count = 0;
    while (count < store_tablet_committed(tablet)) {
        uint32_t some = read_log(count + 1, 1 << 20, 2);
        cr_assert_gt(some, 0);
        cr_assert_lt(some, 100);
        count += some;
    }
    cr_assert_eq(count, store_tablet_committed(tablet));
}

Test(store_replica, what_is_kept_is_bounded_in_bytes_and_in_time)
{
    reopen_keeping(INT64_C(600000000), 3 << 20);
    configure(led, 0);
    write_much(10 << 20);
    FIXTURE_PUMP_UNTIL(&fixture, log_bytes() < 5 << 20);
    FIXTURE_PUMP_UNTIL(&fixture, read_log(1, 1000, 2) == UINT32_MAX);
    cr_assert_eq(read_log(store_tablet_committed(tablet), 1000, 2), 1);
    reopen_keeping(1, 64 << 20);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    uint64_t first = store_tablet_committed(tablet) + 1;
    write_much(10 << 20);
    FIXTURE_PUMP_UNTIL(&fixture, read_log(first, 1000, 2) == UINT32_MAX);
}
