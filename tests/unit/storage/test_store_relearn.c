/*
 * A log that is damaged, of a store whose copies all have others: it is cut there, and the store opens all the
 * same, whatever it was killed in the middle of (store_relearn.h).
 */
#include "tests/support/relearn_fixture.h"
#include "tests/support/taught_slices.h"

static const struct store_configuration outside = {
    .members = {.version = 4, .member_count = 1, .members = {{2, 8}}}, .role = 1};

TestSuite(store_relearn, .init = begin, .fini = finish);

Test(store_relearn, copies_count_for_nothing_until_they_are_taught)
{
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    cr_assert_lt(store_tablet_appended(tablet), ROWS);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
    fixture_close(&fixture);
    fixture_open(&fixture);
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 1))->flags.damaged);
}

/* The base says that there was another, when it was last written to. */
Test(store_relearn, what_the_log_makes_the_only_copy_is_not_cut)
{
    be_alone(3);
    write_rows();
    fixture_close(&fixture);
    damage_log();
    expect_refused_for_tablet_one();
}

/* The same where whole segments cannot be read: none is put aside, without which the log would pass for whole. */
Test(store_relearn, nor_are_its_segments_put_aside)
{
    be_alone(3);
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    cr_assert_gt(segments, 2);
    behead_segment(1);
    expect_refused_for_tablet_one();
    cr_assert_eq(count_segments("segment-"), segments);
    cr_assert_eq(count_segments("lost-"), 0);
}

/* It was alone for a while, and is not any more. */
Test(store_relearn, what_got_company_since_is_cut)
{
    be_alone(3);
    struct store_configuration again = led;
    again.members.version = 4;
    configure(tablet, again);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
}

/* Only another has it, as far as this one knows: it is being taught. */
Test(store_relearn, what_another_has_alone_is_cut)
{
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    configure(other, outside);
    write_rows();
    reopen();
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 2))->flags.damaged);
}

/* Nothing but the base knows that there was more. */
Test(store_relearn, a_log_that_lost_its_end_is_cut_there)
{
    write_rows();
    fixture_flush(&fixture);
    fixture_close(&fixture);
    remove_segments(1);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

/* edubba-repair-log was run: who has others is not whole, and who has none is what there is. */
Test(store_relearn, of_the_only_copy_a_person_has_cut_the_log)
{
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    configure(other, led);
    be_alone(3);
    fixture_close(&fixture);
    cr_assert_eq(store_relearn_note(fixture.folder, NULL), STATUS_OK);
    fixture_open(&fixture);
    cr_assert_not(store_tablet_configuration(store_tablet_find(fixture.store, 1))->flags.damaged);
    cr_assert(store_tablet_configuration(store_tablet_find(fixture.store, 2))->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

/* What was replayed is durable, too: but what says that it is damaged is not yet. */
Test(store_relearn, the_note_stays_until_every_copy_says_so)
{
    write_rows();
    reopen();
    cr_assert_neq(tablet->configuring_position, STORE_POSITION_NONE, "nobody has looked since");
    store_relearn_end(fixture.store);
    cr_assert(has_note());
}

/* It was removed, and then the folder could not be synced. */
Test(store_relearn, a_note_that_is_gone_already_is_no_reason_to_go_on)
{
    char path[FILE_PATH_SIZE_MAX];
    write_rows();
    reopen();
    (void)snprintf(path, sizeof path, "%s/RELEARN", fixture.folder);
    cr_assert_eq(unlink(path), 0);
    FIXTURE_PUMP_UNTIL(&fixture, !fixture.store->relearns);
}

/* The base has rows of entries that the log has lost: it opens, and again. */
Test(store_relearn, also_where_a_flush_was_in_the_middle)
{
    write_rows();
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, !tablet->applied_whole);
    reopen();
    cr_assert_not(tablet->applied_whole, "it was closed too late: this shows nothing");
    cr_assert(store_tablet_is_torn(tablet));
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    struct store_tablet *other = fixture_create(&fixture, 2, "n", "z");
    const struct change put = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, other, "o", &put, 1);
    store_flush_soon(other);
    FIXTURE_PUMP_UNTIL(&fixture, other->flushed_sequence >= 1);
    store_tablet_follow(tablet);
    configure(tablet, outside);
    learn_records(&fixture, tablet, 2 * ROWS, true, true);
    learn_rows(&fixture, tablet, 2 * ROWS, "");
    learn_end(&fixture, tablet);
    cr_assert_eq(store_tablet_committed(tablet), 2 * ROWS);
    cr_assert_not(store_tablet_is_torn(tablet));
    fixture_flush(&fixture);
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_eq(store_tablet_committed(tablet), 2 * ROWS);
    cr_assert_not(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_EXPECT(tablet, "");
}

static void write_again(struct store_tablet *of, const char *prefix, const char *value)
{
    for (int i = 0; i < ROWS; i++) {
        const struct change put = fixture_put(1, "q", 1, value);
        char row[16];
        (void)snprintf(row, sizeof row, "%s%05d", prefix, i);
        fixture_write(&fixture, of, row, &put, 1);
    }
}

static void expect_rows(struct store_tablet *of, const char *prefix, const char *value)
{
    struct buffer expected = BUFFER_INIT;
    for (int i = 0; i < ROWS; i++) {
        char line[64];
        int size = snprintf(line, sizeof line, "%s%05d/1:q@1=%s\n", prefix, i, value);
        buffer_append(&expected, line, (size_t)size);
    }
    buffer_append_u8(&expected, 0);
    FIXTURE_EXPECT(of, (const char *)expected.data);
    buffer_deinit(&expected);
}

/* Over before anybody looked, as on a busy machine: what is in the log then is in the base, too. */
static bool is_caught_in_the_middle(struct store_tablet *only, const char *prefix)
{
    write_rows_to(only, prefix);
    store_flush_all(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, !only->applied_whole || fixture_flushes_pending(&fixture) == 0);
    bool is_caught = !only->applied_whole;
    fixture_close(&fixture);
    return is_caught;
}

/* A flush is in the middle, and what it takes is lost from the log: what is written after that is not taken for what
 * the base has already. */
static void goes_on_behind_the_cut(uint64_t number,
                                   const char *prefix,
                                   void (*make)(void),
                                   void (*lose)(void))
{
    struct store_tablet *only = NULL;
    make();
    while (!is_caught_in_the_middle(store_tablet_find(fixture.store, number), prefix)) {
        fixture_open(&fixture);
        finish();
        begin(); /* a store whose log has nothing else in it */
        make();
    }
    lose();
    cut_by_hand();
    for (int life = 0; life < 3; life++) {
        static const char *const values[] = {"first", "second", "third"};
        fixture_open(&fixture);
        only = store_tablet_find(fixture.store, number);
        cr_assert_geq(store_tablet_committed(only), ROWS);
        if (life > 0) {
            expect_rows(only, prefix, values[life - 1]);
        }
        write_again(only, prefix, values[life]);
        expect_rows(only, prefix, values[life]);
        fixture_close(&fixture);
    }
    fixture_open(&fixture);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

static void make_an_only_copy(void)
{
    struct store_configuration alone = led;
    alone.members.version = 3;
    alone.members.member_count = 1;
    configure(tablet, alone);
    cr_assert_eq(store_tablet_lead(tablet), STATUS_OK);
}

static void make_one_without_copies(void)
{
    cr_assert_not_null(fixture_create(&fixture, 2, "n", "z"));
}

Test(store_relearn, an_only_copy_goes_on_behind_the_cut)
{
    goes_on_behind_the_cut(1, "b", make_an_only_copy, damage_log);
}

Test(store_relearn, a_tablet_without_copies_goes_on_behind_the_cut)
{
    goes_on_behind_the_cut(2, "o", make_one_without_copies, damage_log);
}

static void make_a_flushed_only_copy(void)
{
    make_an_only_copy();
    fixture_flush(&fixture);
}

Test(store_relearn, an_only_copy_goes_on_without_its_log)
{
    goes_on_behind_the_cut(1, "b", make_a_flushed_only_copy, lose_log);
}
