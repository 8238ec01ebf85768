/*
 * A log that is lost as a whole, or with the anchor that tells which of its segments count.  It is given up where
 * all copies have others and its files show that it was damaged; one that is not there is missed, as it may be on a
 * disk that is not mounted (store_relearn.h).
 */
#include <sys/stat.h>

#include "tests/support/relearn_fixture.h"

TestSuite(store_lost_log, .init = begin, .fini = finish);

/* Nothing tells what of its segments is to be replayed. */
Test(store_lost_log, a_log_whose_anchor_cannot_be_read_is_given_up)
{
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    rot_anchor();
    fixture_open(&fixture);
    cr_assert_eq(count_segments("lost-"), segments);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

Test(store_lost_log, but_not_that_of_an_only_copy)
{
    be_alone(3);
    fixture_flush(&fixture); /* the base knows */
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    rot_anchor();
    expect_refused_for_tablet_one();
    cr_assert_eq(count_segments("segment-"), segments);
}

static void wait_until_base_knows(void)
{
    FIXTURE_PUMP_UNTIL(&fixture, atomic_load(&tablet->written_number) == tablet->durable_number);
}

/* Whether there are others the base hears at once: nothing else tells, where the log is lost. */
Test(store_lost_log, the_base_hears_at_once_that_a_copy_is_alone)
{
    be_alone(3);
    wait_until_base_knows();
    write_rows();
    fixture_close(&fixture);
    rot_anchor();
    expect_refused_for_tablet_one();
}

Test(store_lost_log, the_base_hears_at_once_that_a_copy_has_others)
{
    tablet = fixture_create(&fixture, 2, "n", "z");
    struct store_configuration alone = led;
    alone.members.version = 1;
    alone.members.member_count = 1;
    configure(tablet, alone);
    configure(tablet, led);
    wait_until_base_knows();
    fixture_close(&fixture);
    rot_anchor();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 2);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
}

/* Somebody may have tidied up, on all machines at once. */
Test(store_lost_log, but_not_one_whose_anchor_was_removed)
{
    struct error error = {0};
    write_rows();
    fixture_close(&fixture);
    size_t segments = count_segments("segment-");
    remove_from_log("anchor");
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "edubba-repair-log"), "%s", error.text);
    cr_assert_not(has_note());
    cr_assert_eq(count_segments("segment-"), segments);
    fixture.store = NULL;
}

/* It may be on a disk that is not there now: then a new one would hide it. */
Test(store_lost_log, a_log_of_which_nothing_is_there_is_not_begun_anew_without_a_word)
{
    struct error error = {0};
    write_rows();
    fixture_close(&fixture);
    lose_log();
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
        cr_assert_not_null(strstr(error.text, "mounted"), "%s", error.text);
        cr_assert_not(has_note());
    }
    cut_by_hand();
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert(store_tablet_configuration(tablet)->flags.damaged);
    FIXTURE_PUMP_UNTIL(&fixture, !has_note());
}

/* A disk is mounted after all, when its log was given up: it is of before what was written since. */
Test(store_lost_log, a_log_that_comes_back_after_it_was_given_up_is_refused)
{
    struct error error = {0};
    char log[FILE_PATH_SIZE_MAX];
    char away[FILE_PATH_SIZE_MAX];
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    fixture_open(&fixture);
    (void)snprintf(log, sizeof log, "%s/log", fixture.folder);
    (void)snprintf(away, sizeof away, "%s/away", fixture.folder);
    tablet = fixture_create(&fixture, 1, "a", "n");
    write_rows();
    fixture_close(&fixture);
    cr_assert_eq(rename(log, away), 0);
    cr_assert_eq(mkdir(log, 0700), 0);
    cut_by_hand();
    fixture_open(&fixture);
    fixture_close(&fixture);
    lose_log();
    cr_assert_eq(rename(away, log), 0);
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "and the log was synced up to"), "%s", error.text);
    fixture.store = NULL;
}

/* Nothing was flushed yet: the base knows nothing of what the log had, and would open without it. */
Test(store_lost_log, the_log_of_a_store_that_has_flushed_nothing_is_missed)
{
    struct error error = {0};
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "n");
    const struct change put = fixture_put(1, "q", 1, "v");
    fixture_write(&fixture, tablet, "b", &put, 1);
    fixture_close(&fixture);
    lose_log();
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "yet there has been a log"), "%s", error.text);
    fixture.store = NULL;
}
