/* Sample row keys: of all tablets, in order, whoever leads them and whatever becomes of them meanwhile. */
#include "tests/support/client_session.h"

enum {
    ROWS = 1000
};

/* Ascending, the end of the table last; so many bytes in all. */
static void check_samples(struct session *session, size_t count, uint64_t total_bytes)
{
    struct edubba_sample *samples = NULL;
    struct edubba_error error;
    size_t found = 0;
    cr_assert_eq(edubba_sample_row_keys(session->table, &samples, &found, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert_eq(found, count);
    for (size_t i = 1; i < found; i++) {
        bool is_last = i == found - 1;
        struct bytes before = bytes_of(samples[i - 1].row.data, samples[i - 1].row.size);
        struct bytes row = bytes_of(samples[i].row.data, samples[i].row.size);
        cr_assert(is_last ? row.size_bytes == 0 : bytes_compare(before, row) < 0, "%zu: %.*s", i,
                  (int)row.size_bytes, (const char *)row.data);
        cr_assert_leq(samples[i - 1].offset_bytes, samples[i].offset_bytes);
    }
    cr_assert_eq(samples[found - 1].offset_bytes, total_bytes);
    edubba_free(samples);
}

Test(client_sample, every_tablet_adds_its_samples_and_its_end)
{
    struct session session = open_filled(ROWS);
    check_samples(&session, ROWS / 10 + 3, ROWS * FAKE_ROW_BYTES);
    close_session(&session);
}

Test(client_sample, what_was_sampled_before_two_tablets_were_joined_is_not_told_again)
{
    struct session session = open_filled(ROWS);
    SET(session, sampling_joins, true);
    check_samples(&session, ROWS / 10 + 2, ROWS * FAKE_ROW_BYTES);
    close_session(&session);
}

/* --- who was asked does not lead any more ------------------------------------------------------- */

static void *fail_over_later(void *argument)
{
    struct session *session = argument;
    clock_sleep_us(500000);
    fake_fail_over(session->fake);
    return NULL;
}

/* Server 1 leads at first, as the master says for a while; server 2 does then. */
static void check_fail_over(struct session *session)
{
    pthread_t thread;
    int64_t began_ns = clock_monotonic_ns();
    fake_fill(session->fake, ROWS);
    SET(*session, tablets[0].other, 2);
    pthread_create(&thread, NULL, fail_over_later, session);
    check_samples(session, ROWS / 10 + 1, ROWS * FAKE_ROW_BYTES);
    pthread_join(thread, NULL);
    cr_assert_lt((clock_monotonic_ns() - began_ns) / 1000000, 50000, "before the deadline");
    close_session(session);
}

Test(client_sample, a_primary_that_died_is_left_for_the_one_that_took_over)
{
    struct session session = open_session();
    transport_listener_close(session.fake->servers[1].listener, 0);
    session.fake->servers[1].listener = NULL;
    check_fail_over(&session);
}

Test(client_sample, a_primary_that_only_refuses_is_left_too)
{
    struct session session = open_session();
    SET(session, is_deposed[1], true);
    check_fail_over(&session);
}

Test(client_sample, a_primary_that_says_nothing_is_left_too)
{
    struct session session = open_session();
    SET(session, is_frozen[1], true);
    check_fail_over(&session);
}

/* --- nobody leads ------------------------------------------------------------------------------- */

static void check_expires(struct session *session)
{
    struct edubba_sample *samples = NULL;
    struct edubba_error error;
    size_t count = 0;
    edubba_thread_deadline(3000);
    cr_assert_eq(edubba_sample_row_keys(session->table, &samples, &count, &error),
                 EDUBBA_DEADLINE_EXCEEDED, "%s", error.text);
    cr_assert_not_null(strstr(error.text, "the deadline of 3000 ms"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "does not lead"), "%s", error.text);
}

Test(client_sample, without_anybody_who_leads_it_ends_with_its_deadline)
{
    struct session session = open_session();
    SET(session, is_deposed[1], true);
    check_expires(&session);
    close_session(&session);
}

static void *freeze_later(void *argument)
{
    struct session *session = argument;
    clock_sleep_us(1500000);
    SET(*session, is_frozen[1], true);
    return NULL;
}

Test(client_sample, an_attempt_that_was_cut_short_does_not_hide_what_one_before_it_met)
{
    struct session session = open_session();
    pthread_t thread;
    SET(session, is_deposed[1], true);
    pthread_create(&thread, NULL, freeze_later, &session);
    check_expires(&session);
    pthread_join(thread, NULL);
    close_session(&session);
}
