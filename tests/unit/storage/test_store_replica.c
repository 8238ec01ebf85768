/*
 * One replica's disk, call by call (store_replica.h).  What comes of all of them at random, with
 * crashes: tests/model/test_replica_store_model.c.
 */
#include "tests/support/store_copy.h"

#include <signal.h>

TestSuite(store_replica, .init = begin, .fini = finish);

/* --- alone ---------------------------------------------------------------------------------------- */

Test(store_replica, who_is_alone_commits_what_is_synced_and_tells_nobody_else)
{
    configure(lone, 0);
    struct change change = fixture_put(1, "c", 5, "v");
    fixture_write(&fixture, tablet, "b", &change, 1);
    cr_assert_eq(fixture.synced_count, 0);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
    reopen();
    cr_assert(store_tablet_leads(tablet));
    cr_assert_eq(store_tablet_configuration(tablet)->members.version, 1);
    cr_assert_eq(store_tablet_describe(tablet)->configuration, 1);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}

Test(store_replica, the_first_configuration_waits_for_what_was_given_out_before)
{
    struct change change = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, "b", &change, 1, NULL, &sequence), STATUS_OK);
    cr_assert_eq(store_tablet_configure(tablet, &led, 1), STATUS_UNAVAILABLE);
    cr_assert_eq(store_tablet_configuration(tablet)->members.version, 0);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == 1);
    configure(led, 1);
}

Test(store_replica, a_configuration_keeps_its_flags_in_the_log_and_in_the_base)
{
    struct store_configuration bound = following;
    bound.flags = (struct record_replica_flags){.opened = true, .bound = true};
    configure(bound, 0);
    for (int i = 0; i < 2; i++) {
        reopen();
        const struct record_replica_flags *found = &store_tablet_configuration(tablet)->flags;
        cr_assert(found->opened && found->bound);
        cr_assert_not(found->doubt_noted);
        fixture_flush(&fixture);
    }
}

Test(store_replica, doubt_ends_being_alone)
{
    struct store_configuration doubtful = with_version(lone, 2);
    doubtful.flags.doubt_noted = true;
    configure(doubtful, 0);
    lead_write("b", "v");
    cr_assert_eq(store_tablet_committed(tablet), 0);
    reopen();
    cr_assert_not(store_tablet_leads(tablet));
    cr_assert(store_tablet_configuration(tablet)->flags.doubt_noted);
    cr_assert_eq(store_tablet_committed(tablet), 0);
    cr_assert_eq(store_tablet_window_count(tablet), 1);
}

/* --- who is asked --------------------------------------------------------------------------------- */

static enum status asked_answer;
static struct store_entry asked;
static struct store_entry told;

static enum status on_append(void *context,
                             struct store_tablet *of,
                             const struct store_entry *entry)
{
    (void)context;
    cr_assert_eq(store_tablet_prepared(of), entry->sequence - 1);
    asked = *entry;
    return asked_answer;
}

static void on_appended(void *context, struct store_tablet *of, const struct store_entry *entry)
{
    (void)context;
    cr_assert_eq(store_tablet_prepared(of), entry->sequence);
    told = *entry;
}

Test(store_replica, who_performs_a_replica_is_asked_before_the_log_and_told_after_it)
{
    fixture_close(&fixture);
    struct store_callbacks callbacks = fixture_callbacks(&fixture);
    callbacks.on_append = on_append;
    callbacks.on_appended = on_appended;
    struct error error;
    cr_assert_eq(
        store_open(fixture.folder, 0, &fixture.settings, &callbacks, &fixture.store, &error),
        STATUS_OK, "%s", error.text);
    tablet = store_tablet_find(fixture.store, 1);
    struct change change = fixture_put(1, "c", 5, "1");
    uint64_t sequence = 0;
    fixture_write(&fixture, tablet, "b", &change, 1);
    cr_assert_eq(asked.sequence, 0, "there was nobody to ask");
    store_tablet_set_replica(tablet, &fixture);
    configure(led, 1);
    asked_answer = STATUS_UNAVAILABLE;
    cr_assert_eq(fixture_append(tablet, "b", &change, 1, NULL, &sequence), STATUS_UNAVAILABLE);
    cr_assert_eq(told.sequence, 0);
    cr_assert_eq(store_tablet_appended(tablet), 1);
    asked_answer = STATUS_OK;
    lead_write("b", "2");
    cr_assert_eq(told.sequence, 2);
    cr_assert_eq(told.version, 2);
    cr_assert_eq(told.type, RECORD_WRITE);
    cr_assert_gt(told.payload.size_bytes, 0);
}

/* --- by word -------------------------------------------------------------------------------------- */

Test(store_replica, a_primary_shows_what_is_prepared_and_commits_by_word)
{
    configure(led, 0);
    lead_write("b", "v");
    cr_assert_eq(store_tablet_prepared(tablet), 1);
    cr_assert_eq(store_tablet_committed(tablet), 0);
    cr_assert_eq(fixture.committed_count, 0);
    FIXTURE_EXPECT(tablet, "");
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    cr_assert_eq(store_tablet_commit(tablet, 0), STATUS_OK, "less than there is");
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
    cr_assert_eq(fixture.committed_count, 0, "who says it knows it");
}

Test(store_replica, what_is_not_synced_cannot_be_committed, .signal = SIGABRT)
{
    configure(led, 0);
    struct change change = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, "b", &change, 1, NULL, &sequence), STATUS_OK);
    (void)store_tablet_commit(tablet, 1);
}

Test(store_replica, a_secondary_keeps_entries_out_of_the_memtable)
{
    become_secondary();
    must_take("b", "v", 9);
    struct store_tablet_statistics numbers;
    store_tablet_statistics(tablet, &numbers);
    cr_assert_eq(numbers.memtable_bytes, 0);
    cr_assert_eq(store_tablet_prepared(tablet), 0);
    cr_assert_eq(store_tablet_appended(tablet), 1);
    cr_assert_eq(store_tablet_window_at(tablet, 0).version, 3);
    cr_assert_eq(verdict_of(tablet, 9), DEDUPE_NEW);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    cr_assert_eq(store_tablet_window_count(tablet), 0);
    cr_assert_eq(verdict_of(tablet, 9), DEDUPE_DONE);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}

Test(store_replica, who_follows_gives_nothing_out)
{
    become_secondary();
    struct change change = fixture_put(1, "c", 5, "v");
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, "b", &change, 1, NULL, &sequence), STATUS_NOT_OWNER);
    cr_assert_eq(store_append_barrier(tablet, RECORD_THAWED, BYTES_EMPTY, 1, &sequence),
                 STATUS_NOT_OWNER);
}

Test(store_replica, what_cannot_be_applied_is_refused_on_arrival)
{
    become_secondary();
    struct error error = {0};
    cr_assert_eq(take("x", "v", 0, &error), STATUS_CORRUPT, "outside a to n");
    cr_assert_not_null(strstr(error.text, "range"), "%s", error.text);
    struct store_entry entry = {.sequence = 1, .version = 3, .stamp = {1, 0, 0}};
    entry.stamp.clock = store_next_clock(fixture.store);
    entry.type = RECORD_WRITE;
    entry.payload = bytes_of("\1", 1);
    cr_assert_eq(store_append_entry(tablet, &entry, &error), STATUS_CORRUPT);
    entry.type = 10;
    cr_assert_eq(store_append_entry(tablet, &entry, &error), STATUS_VERSION);
    entry.type = RECORD_THAWED;
    entry.payload = BYTES_EMPTY;
    cr_assert_eq(store_append_entry(tablet, &entry, &error), STATUS_OK);
    entry.sequence = 2;
    cr_assert_eq(store_append_entry(tablet, &entry, &error), STATUS_CORRUPT, "the same stamp");
    cr_assert_eq(store_tablet_appended(tablet), 1);
}

Test(store_replica, the_window_is_bounded)
{
    static char large[100000];
    memset(large, 'v', sizeof large - 1);
    struct error error = {0};
    fixture_close(&fixture);
    fixture.settings.window_bytes_max = sizeof large + sizeof large / 2;
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    become_secondary();
    must_take("b", large, 0);
    cr_assert_eq(take("c", large, 0, &error), STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    must_take("c", large, 0);
}

/* --- roles ---------------------------------------------------------------------------------------- */

Test(store_replica, a_new_primary_applies_the_window_as_prepared)
{
    become_secondary();
    must_take("b", "v", 9);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    cr_assert(store_tablet_leads(tablet));
    cr_assert_eq(store_tablet_prepared(tablet), 1);
    cr_assert_eq(store_tablet_committed(tablet), 0);
    cr_assert_eq(verdict_of(tablet, 9), DEDUPE_PENDING);
    FIXTURE_EXPECT(tablet, "");
    store_tablet_follow(tablet);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK, "what it applied stays");
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}

Test(store_replica, a_deposed_primary_has_nothing_of_what_was_dropped)
{
    configure(led, 0);
    lead_write("b", "old");
    lead_add("c", 5);
    cr_assert_eq(store_tablet_commit(tablet, 2), STATUS_OK);
    lead_write("b", "new");
    lead_add("c", 7);
    lead_write("d", "row");
    struct record_drop_range drop = {.range = {bytes_of_text("b"), bytes_of_text("c")}};
    uint64_t sequence = 0;
    cr_assert_eq(store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    lead_add("c", 9);
    store_tablet_follow(tablet);
    configure(with_version(following, 5), 2);
    cr_assert_eq(store_tablet_prepared(tablet), 2);
    const char *left = "b/1:c@5=old\nc/3:n@0=5\n";
    FIXTURE_EXPECT(tablet, left);
    must_take("d", "other", 0);
    cr_assert_eq(store_tablet_commit(tablet, 3), STATUS_OK);
    fixture_flush(&fixture);
    FIXTURE_EXPECT(tablet, "b/1:c@5=old\nc/3:n@0=5\nd/1:c@5=other\n");
    reopen();
    FIXTURE_EXPECT(tablet, "b/1:c@5=old\nc/3:n@0=5\nd/1:c@5=other\n");
}

/* Whoever hands a clock in may be behind the one whose stamps are stored. */
Test(store_replica, stamps_rise_when_all_that_is_kept_is_in_the_base)
{
    const struct change erase = {.kind = CHANGE_DELETE_ROW};
    const struct record_entry entry = {
        .row = bytes_of_text("b"), .changes = &erase, .change_count = 1};
    const struct record_write write = {&entry, 1};
    uint64_t sequence = 0;
    configure(led, 0);
    lead_write("b", "old");
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    store_tablet_flush(tablet);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_is_flushed(tablet));
    lead_write("b", "new");
    store_tablet_follow(tablet);
    configure(with_version(following, 5), 1);
    configure(with_version(led, 6), UINT64_MAX);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    fixture.synced = 0; /* that sequence was given out before */
    cr_assert_eq(store_append_write(tablet, &write, 1, &sequence), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == sequence);
    cr_assert_eq(store_tablet_commit(tablet, sequence), STATUS_OK);
    FIXTURE_EXPECT(tablet, "");
}

Test(store_replica, a_secondary_forgets_what_is_dropped_and_so_does_its_log)
{
    become_secondary();
    must_take("b", "1", 0);
    must_take("c", "2", 0);
    must_take("d", "3", 0);
    cr_assert_eq(store_tablet_commit(tablet, 1), STATUS_OK);
    configure(with_version(following, 9), 2);
    cr_assert_eq(store_tablet_appended(tablet), 2);
    must_take("e", "3'", 0);
    reopen();
    cr_assert_eq(store_tablet_appended(tablet), 3);
    cr_assert_eq(store_tablet_committed(tablet), 1, "the last entry proves the first");
    cr_assert_eq(store_tablet_committed_version(tablet), 3);
    cr_assert_eq(store_tablet_window_at(tablet, 0).version, 3);
    cr_assert_eq(store_tablet_window_at(tablet, 1).version, 9);
    cr_assert_eq(store_tablet_commit(tablet, 3), STATUS_OK);
    cr_assert_eq(store_tablet_committed_version(tablet), 9);
    fixture_flush(&fixture);
    reopen();
    FIXTURE_EXPECT(tablet, "b/1:c@5=1\nc/1:c@5=2\ne/1:c@5=3'\n");
}

Test(store_replica, the_last_member_commits_what_it_has)
{
    become_secondary();
    must_take("b", "v", 0);
    configure(with_version(lone, 4), UINT64_MAX);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(tablet) == 1);
    FIXTURE_EXPECT(tablet, "b/1:c@5=v\n");
}
