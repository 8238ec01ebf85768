/*
 * Two tablets with copies become the one that the catalog has replaced them by, call by call.  At random, with crashes:
 * tests/model/test_store_convert_model.c.
 */
#include "tests/support/convert_fixture.h"

static struct store_tablet *right;
static struct store_tablet *merged;

TestSuite(store_convert, .init = begin, .fini = finish);

static void find_merging(void)
{
    tablet = store_tablet_find(fixture.store, 1);
    right = store_tablet_find(fixture.store, 2);
    merged = store_tablet_find(fixture.store, 3);
}

/* Takes the payload; committed, at the sequence that is returned. */
static uint64_t bar(struct store_tablet *of, enum record_type type, struct buffer *payload)
{
    uint64_t sequence = fixture_append_barrier(of, type, payload);
    commit_all(of);
    return sequence;
}

/* TABLET 1 is [a, z), 2 is [z, zz); each has rows, range deletes and a request. */
static void prepare_merge(const struct store_configuration *configuration)
{
    right = fixture_create(&fixture, 2, "z", "zz");
    configure(tablet, configuration);
    configure(right, configuration);
    add(tablet, "b", 1);
    add(tablet, "c", 0);
    struct record_drop_range drop = {.range = {bytes_of_text("c"), bytes_of_text("d")}};
    uint64_t sequence = 0;
    cr_assert_eq(store_append_drop_range(tablet, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    commit_all(tablet);
    add(right, "zb", 2);
    add(right, "zc", 3);
    drop.range = (struct row_range){bytes_of_text("zb"), bytes_of_text("zc")};
    cr_assert_eq(store_append_drop_range(right, &drop, store_next_clock(fixture.store), &sequence),
                 STATUS_OK);
    commit_all(right);
    struct buffer payload = BUFFER_INIT;
    record_encode_frozen(&(struct record_frozen){.merged_tablet = 3, .left_tablet = 1}, &payload);
    struct record_absorb absorb = {.merged_tablet = 3, .right_tablet = 2, .right_version = 4};
    absorb.right_sequence = bar(right, RECORD_FROZEN, &payload);
    payload = (struct buffer)BUFFER_INIT;
    record_encode_absorb(&absorb, &payload);
    (void)bar(tablet, RECORD_ABSORB, &payload);
}

static void expect_merged(const char *text)
{
    cr_assert_null(tablet);
    cr_assert_null(right);
    cr_assert_not_null(merged);
    FIXTURE_EXPECT(merged, text);
    for (uint64_t request = 1; request <= 3; request++) {
        cr_assert_eq(verdict_of(merged, request), DEDUPE_DONE);
    }
    cr_assert_eq(store_tablet_configuration(merged)->members.version, 4);
    store_check(fixture.store);
}

static void merge(void)
{
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_merge(tablet, right) == STATUS_OK);
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_OK, "it is under way");
    FIXTURE_PUMP_UNTIL(&fixture, (find_merging(), merged != NULL));
}

static void reopen_merging(void)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
    find_merging();
}

Test(store_convert, two_become_one_with_all_they_had)
{
    prepare_merge(&lone);
    uint64_t a = store_tablet_appended(tablet);
    uint64_t b = store_tablet_appended(right);
    uint64_t higher = a > b ? a : b;
    merge();
    expect_merged("b/3:n@0=1\nzc/3:n@0=1\n");
    cr_assert_eq(store_tablet_committed(merged), higher + STORE_MERGE_ROOM);
    cr_assert(store_tablet_leads(merged));
    add(merged, "b", 0);
    add(merged, "zc", 0);
    commit_all(merged);
    for (int i = 0; i < 2; i++) {
        reopen_merging();
        expect_merged("b/3:n@0=2\nzc/3:n@0=2\n");
        fixture_flush(&fixture);
    }
}

Test(store_convert, a_secondary_merges_what_waited_in_its_windows)
{
    prepare_merge(&led);
    reopen_merging();
    cr_assert_gt(store_tablet_window_count(tablet) + store_tablet_window_count(right), 0);
    cr_assert_null(merged);
    merge();
    expect_merged("b/3:n@0=1\nzc/3:n@0=1\n");
    cr_assert_not(store_tablet_leads(merged));
    reopen_merging();
    expect_merged("b/3:n@0=1\nzc/3:n@0=1\n");
}

Test(store_convert, what_is_not_frozen_at_that_sequence_is_not_merged)
{
    prepare_merge(&led);
    struct buffer payload = BUFFER_INIT;
    (void)bar(right, RECORD_THAWED, &payload);
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_FAILED_PRECONDITION);
    payload = (struct buffer)BUFFER_INIT;
    record_encode_frozen(&(struct record_frozen){.merged_tablet = 3, .left_tablet = 1}, &payload);
    (void)bar(right, RECORD_FROZEN, &payload);
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_FAILED_PRECONDITION);
    cr_assert_eq(store_tablet_merge(right, tablet), STATUS_FAILED_PRECONDITION);
}

/* The store is closed while the base is being told: both are there, or the one. */
Test(store_convert, a_store_that_closes_while_it_merges_has_both_or_the_one)
{
    prepare_merge(&led);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_merge(tablet, right) == STATUS_OK);
    reopen_merging();
    cr_assert_eq(merged == NULL, tablet != NULL);
    cr_assert_eq(merged == NULL, right != NULL);
    if (merged == NULL) {
        merge();
    }
    expect_merged("b/3:n@0=1\nzc/3:n@0=1\n");
}

/* It was made to be taught, as it came of neither here. */
Test(store_convert, what_is_there_already_is_not_made_twice)
{
    prepare_merge(&led);
    struct store_tablet *there = fixture_create(&fixture, 3, "a", "zz");
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_FAILED_PRECONDITION);
    find_merging();
    cr_assert_eq(merged, there);
    cr_assert_not_null(tablet);
    cr_assert_not_null(right);
}

/* All of it is in the base, and what its range delete covers is erased: a merge need not wait. */
static bool is_at_rest(struct store_tablet *of)
{
    (void)pthread_mutex_lock(&of->mutex);
    bool erased = of->range_deletes == NULL || of->range_deletes->count == 0;
    (void)pthread_mutex_unlock(&of->mutex);
    return erased && !atomic_load(&of->erase.told) && store_tablet_is_flushed(of);
}

/* The store is at making it: where a merge has to wait first, it comes to find it made. */
Test(store_convert, what_is_being_made_is_not_made_twice)
{
    const struct store_tablet_descriptor descriptor = {
        .tablet = 3, .table = 1, .range = {bytes_of_text("a"), bytes_of_text("zz")}};
    prepare_merge(&led);
    store_tablet_flush(tablet);
    store_tablet_flush(right);
    FIXTURE_PUMP_UNTIL(&fixture, is_at_rest(tablet) && is_at_rest(right));
    cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_OK);
    cr_assert(store_tablet_is_merging(right));
    FIXTURE_PUMP_UNTIL(&fixture, !store_tablet_is_merging(tablet));
    reopen_merging();
    cr_assert_not_null(tablet);
    cr_assert_not_null(right);
    FIXTURE_EXPECT(merged, "");
    cr_assert_eq(store_tablet_merge(tablet, right), STATUS_FAILED_PRECONDITION);
}

/* Who is removed while its disk stands still is to learn what it is about to merge. */
Test(store_convert, what_is_being_merged_is_not_made_beside)
{
    const struct store_tablet_descriptor descriptor = {
        .tablet = 3, .table = 1, .range = {bytes_of_text("a"), bytes_of_text("zz")}};
    prepare_merge(&led);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_merge(tablet, right) == STATUS_OK);
    uint64_t before = fixture.created_count;
    cr_assert_eq(store_tablet_create(fixture.store, &descriptor), STATUS_OK);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.created_count > before);
    find_merging();
    cr_assert_eq(fixture.created, merged);
    cr_assert_eq(store_tablet_count(fixture.store), 1);
    cr_assert(store_tablet_was_merged(merged), "whoever asked for it is to take it up");
    reopen_merging();
    cr_assert_not(store_tablet_was_merged(merged), "nobody has asked in this life");
}

/* Grants that were given for one of them bind it (rule 11), and a doubt is a doubt (rules 2, 20). */
Test(store_convert, what_one_of_them_has_promised_is_promised)
{
    struct store_configuration older = led;
    struct store_configuration newer = led;
    older.flags.doubtful = true;
    newer.members.version = 5;
    newer.flags.bound = false;
    prepare_merge(&older);
    configure(right, &newer);
    merge();
    cr_assert_eq(store_tablet_configuration(merged)->members.version, 5);
    cr_assert(store_tablet_configuration(merged)->flags.bound);
    cr_assert(store_tablet_configuration(merged)->flags.doubtful);
}

/* The base was asked to hear of a configuration of one that it knows no more. */
Test(store_convert, what_is_merged_is_not_written_again)
{
    struct store_configuration newer = led;
    prepare_merge(&led);
    fixture_flush(&fixture);
    newer.members.version = 5;
    configure(tablet, &newer);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_merge(tablet, right) == STATUS_OK);
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, (find_merging(), merged != NULL));
    reopen_merging();
    cr_assert_null(tablet);
    FIXTURE_EXPECT(merged, "b/3:n@0=1\nzc/3:n@0=1\n");
    cr_assert_eq(store_tablet_configuration(merged)->members.version, 5);
}
