/* Scans of libedubba over a fake cluster: order, limits, splits and lost connections on the way. */
#include <limits.h>

#include "client/include/edubba_gather.h"
#include "client/include/edubba_keys.h"
#include "tests/support/client_session.h"

/* --- scans ------------------------------------------------------------------------------------ */

Test(client, a_scan_goes_over_tablets_in_both_directions)
{
    struct session session = open_filled(1000);
    struct edubba_scan_options options = {0};
    cr_assert_eq(check_scan(&session, &options, 0, 1), 1000);
    options.reversed = true;
    cr_assert_eq(check_scan(&session, &options, 999, -1), 1000);
    close_session(&session);
}

Test(client, a_scan_of_ranges_and_keys_and_with_a_limit)
{
    struct session session = open_filled(1000);
    struct edubba_bounds range = {.start = EDUBBA_TEXT("row00290"),
                                  .end = EDUBBA_TEXT("row00310"),
                                  .start_open = true,
                                  .end_closed = true};
    struct edubba_scan_options options = {.ranges = &range, .range_count = 1};
    cr_assert_eq(check_scan(&session, &options, 291, 1), 20);
    options.rows_limit = 15;
    cr_assert_eq(check_scan(&session, &options, 291, 1), 15);
    options.reversed = true;
    cr_assert_eq(check_scan(&session, &options, 310, -1), 15);
    struct edubba_bytes keys[3] = {EDUBBA_TEXT("row00900"), EDUBBA_TEXT("row00100"),
                                   EDUBBA_TEXT("row00500")};
    struct edubba_scan_options by_key = {.keys = keys, .key_count = 3};
    cr_assert_eq(check_scan(&session, &by_key, 100, 400), 3);
    by_key.reversed = true;
    cr_assert_eq(check_scan(&session, &by_key, 900, -400), 3);
    range = (struct edubba_bounds){.start = EDUBBA_TEXT("b"), .end = EDUBBA_TEXT("a")};
    struct edubba_scan *scan;
    struct edubba_error error;
    options = (struct edubba_scan_options){.ranges = &range, .range_count = 1};
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_INVALID_ARGUMENT);
    close_session(&session);
}

static enum edubba_code end_of_scan(struct session *session,
                                    const struct edubba_scan_options *options)
{
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    cr_assert_eq(edubba_scan_open(session->table, options, &scan, &error), EDUBBA_OK);
    enum edubba_code code = edubba_scan_next(scan, &row, &error);
    cr_assert_null(row);
    edubba_scan_close(scan);
    return code;
}

/* What is wrong with a filter a server says, whether or not there are rows to be looked at. */
Test(client, a_scan_of_no_row_hears_what_a_server_says_of_its_filter)
{
    struct session session = open_filled(1000);
    struct edubba_bounds none = {
        .start = EDUBBA_TEXT("row00500"), .end = EDUBBA_TEXT("row00500"), .start_open = true};
    struct edubba_filter *filter = edubba_filter_value_regex(EDUBBA_TEXT("("));
    for (int reversed = 0; reversed < 2; reversed++) {
        int scans = GET(session, scans);
        struct edubba_scan_options options = {
            .ranges = &none, .range_count = 1, .reversed = reversed != 0};
        cr_assert_eq(end_of_scan(&session, &options), EDUBBA_OK);
        cr_assert_eq(GET(session, scans), scans, "there is nothing to ask");
        options.filter = filter;
        cr_assert_eq(end_of_scan(&session, &options), EDUBBA_OK);
        cr_assert_eq(GET(session, scans), scans + 1);
        SET(session, scan_finds_large_row, true); /* it refuses whatever is asked */
        cr_assert_eq(end_of_scan(&session, &options), EDUBBA_FAILED_PRECONDITION);
        SET(session, scan_finds_large_row, false);
    }
    edubba_filter_free(filter);
    close_session(&session);
}

/* More than a message takes, were they asked for at once, and there are more of them. */
Test(client, a_scan_of_very_many_keys_asks_for_some_at_a_time)
{
    enum {
        ROWS = 30,
        KEYS = 60000
    };
    static char text[KEYS][FAKE_KEY_MAX];
    static struct edubba_bytes keys[KEYS];
    struct session session = open_session();
    struct edubba_scan_options options = {.keys = keys, .key_count = KEYS};
    fake_fill(session.fake, ROWS);
    fake_split(session.fake, "row00010", 2);
    for (int i = 0; i < KEYS; i++) { /* those that are there, and others between them */
        int size = snprintf(text[i], sizeof text[i], i < ROWS ? "row%05d" : "row%05d#%050d",
                            i % ROWS, i);
        keys[i] = edubba_bytes_of(text[i], (size_t)size);
    }
    cr_assert_eq(check_scan(&session, &options, 0, 1), ROWS);
    cr_assert_gt(GET(session, scans), 2);
    options.reversed = true;
    options.rows_limit = ROWS - 1;
    cr_assert_eq(check_scan(&session, &options, ROWS - 1, -1), ROWS - 1);
    close_session(&session);
}

Test(client, a_scan_goes_on_after_lost_connections_without_gap_or_repeat)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        struct session session = open_filled(1000);
        struct edubba_scan_options options = {.reversed = reversed != 0};
        SET(session, scan_rows_until_drop, 73);
        cr_assert_eq(check_scan(&session, &options, reversed ? 999 : 0, reversed ? -1 : 1), 1000);
        cr_assert_gt(GET(session, scans), 10);
        options.rows_limit = 500;
        cr_assert_eq(check_scan(&session, &options, reversed ? 999 : 0, reversed ? -1 : 1), 500);
        close_session(&session);
    }
}

/* The last row says that no other can come, before its server does. */
Test(client, a_scan_whose_rows_are_all_here_ends_well_whatever_comes_behind_them)
{
    struct session session = open_filled(1000);
    struct edubba_bytes keys[3] = {EDUBBA_TEXT("row00900"), EDUBBA_TEXT("row00100"),
                                   EDUBBA_TEXT("row00500")};
    struct edubba_scan_options options = {.keys = keys, .key_count = 3};
    SET(session, scan_rows_per_message, 1);
    SET(session, scan_end_is_lost, true);
    cr_assert_eq(check_scan(&session, &options, 100, 400), 3);
    options.reversed = true;
    cr_assert_eq(check_scan(&session, &options, 900, -400), 3);
    SET(session, scan_end_is_lost, false);
    SET(session, scan_never_ends, true);
    options = (struct edubba_scan_options){.keys = keys, .key_count = 1, .deadline_ms = 3000};
    cr_assert_eq(check_scan(&session, &options, 900, 1), 1);
    SET(session, scan_never_ends, false);
    close_session(&session);
}

Test(client, a_scan_survives_splits_and_moves_under_way)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        struct session session = open_filled(1000);
        struct edubba_scan_options options = {.reversed = reversed != 0, .buffer_bytes = 600};
        struct edubba_scan *scan = NULL;
        struct edubba_error error;
        struct prng prng = prng_of_seed(9);
        SET(session, scan_rows_until_drop, 31);
        cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
        for (int count = 0; count < 1000; count++) {
            const struct edubba_row *row = NULL;
            cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK, "%s", error.text);
            cr_assert_not_null(row);
            struct edubba_bytes expected = row_key(reversed ? 999 - count : count);
            cr_assert_eq(memcmp(row->key.data, expected.data, 8), 0, "%.8s at %d",
                         (const char *)row->key.data, count);
            if (count % 20 == 0) {
                char at[FAKE_KEY_MAX];
                (void)snprintf(at, sizeof at, "row%05d", (int)prng_below(&prng, 1000));
                fake_split(session.fake, at, 1 + (int)prng_below(&prng, 3));
                (void)snprintf(at, sizeof at, "row%05d", (int)prng_below(&prng, 1000));
                fake_move(session.fake, at, 1 + (int)prng_below(&prng, 3));
            }
        }
        const struct edubba_row *row = NULL;
        cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
        cr_assert_null(row);
        cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
        cr_assert_null(row, "the end stays the end");
        edubba_scan_close(scan);
        close_session(&session);
    }
}

Test(client, servers_do_not_send_more_than_the_buffer_holds)
{
    struct session session = open_filled(1000);
    struct edubba_scan_options options = {.buffer_bytes = 2000};
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
    clock_sleep_us(100000);
    pthread_mutex_lock(&session.fake->lock);
    int64_t sent = session.fake->scan_bytes;
    pthread_mutex_unlock(&session.fake->lock);
    cr_assert(sent > 0 && sent < 4000, "%ld", (long)sent);
    int count = 1;
    while (edubba_scan_next(scan, &row, &error) == EDUBBA_OK && row != NULL) {
        count++;
    }
    cr_assert_eq(count, 1000);
    struct edubba_scan_statistics statistics;
    edubba_scan_statistics(scan, &statistics);
    cr_assert_eq(statistics.rows_returned, 1000);
    cr_assert_eq(statistics.rows_seen, 1000);
    edubba_scan_close(scan);
    close_session(&session);
}

static atomic_int ready_calls;

static void on_ready(void *context)
{
    (void)context;
    atomic_fetch_add(&ready_calls, 1);
}

Test(client, polling_a_scan_never_waits)
{
    struct session session = open_filled(1000);
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    struct edubba_scan_options options = {.buffer_bytes = 1000};
    int count = 0;
    int waits = 0;
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
    for (;;) {
        const struct edubba_row *row = NULL;
        bool ready = false;
        int calls = atomic_load(&ready_calls);
        cr_assert_eq(edubba_scan_poll(scan, &row, &ready, on_ready, NULL, &error), EDUBBA_OK);
        if (!ready) {
            waits++;
            for (int i = 0; i < 60000 && atomic_load(&ready_calls) == calls; i++) {
                clock_sleep_us(1000);
            }
            cr_assert_eq(atomic_load(&ready_calls), calls + 1);
        } else if (row == NULL) {
            break;
        } else {
            count++;
        }
    }
    cr_assert_eq(count, 1000);
    cr_assert_gt(waits, 0);
    edubba_scan_close(scan);
    close_session(&session);
}

/* Polls a scan to its end, or until it told so often how far it is, each time further on. */
static int count_progress(struct session *session,
                          const struct edubba_scan_options *options,
                          int enough)
{
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    char last[8] = "";
    int told = 0;
    cr_assert_eq(edubba_scan_open(session->table, options, &scan, &error), EDUBBA_OK);
    while (told < enough) {
        const struct edubba_row *row = NULL;
        struct edubba_bytes scanned = EDUBBA_NOTHING;
        bool ready = false;
        cr_assert_eq(edubba_scan_poll(scan, &row, &ready, on_ready, NULL, &error), EDUBBA_OK);
        if (ready && row == NULL) {
            break;
        }
        if (ready) {
            cr_assert_eq(row->key.size, sizeof last);
            cr_assert_gt(memcmp(row->key.data, last, sizeof last), 0, "behind what was told");
            memcpy(last, row->key.data, sizeof last);
        } else if (edubba_scan_progress(scan, &scanned)) {
            cr_assert_eq(scanned.size, sizeof last);
            cr_assert_geq(memcmp(scanned.data, last, sizeof last), 0, "no row was left out");
            memcpy(last, scanned.data, sizeof last);
            told++;
        } else {
            clock_sleep_us(200);
        }
    }
    edubba_scan_close(scan);
    return told;
}

Test(client, a_scan_that_filters_much_tells_how_far_it_is)
{
    struct session session = open_filled(1000);
    struct edubba_scan_options options = {.tells_progress = true};
    (void)count_progress(&session, &options, INT_MAX);
    SET(session, scan_hides_rows, true);
    (void)count_progress(&session, &options, INT_MAX);
    SET(session, scan_never_ends, true); /* a poller that sleeps meets the end first otherwise */
    cr_assert_eq(count_progress(&session, &options, 1), 1);
    SET(session, scan_never_ends, false);
    options.tells_progress = false;
    cr_assert_eq(count_progress(&session, &options, INT_MAX), 0);
    close_session(&session);
}

Test(client, a_scan_names_the_row_that_cannot_be_read_whole)
{
    static char key[4096];
    struct session session = open_filled(10);
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    struct edubba_bytes failed = EDUBBA_NOTHING;
    struct edubba_bounds bounds = {.start = {key, sizeof key}};
    struct edubba_scan_options options = {.ranges = &bounds, .range_count = 1};
    memset(key, 0xfe, sizeof key);
    SET(session, scan_finds_large_row, true);
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_FAILED_PRECONDITION);
    cr_assert(edubba_scan_failed_row(scan, &failed));
    cr_assert_eq(failed.size, sizeof key);
    cr_assert_arr_eq((const char *)failed.data, key, sizeof key);
    edubba_scan_close(scan);
    SET(session, scan_finds_large_row, false);
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
    cr_assert_not(edubba_scan_failed_row(scan, &failed));
    edubba_scan_close(scan);
    close_session(&session);
}

Test(client, a_scan_that_hears_nothing_ends_by_its_deadline)
{
    struct session session = open_filled(10);
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    struct edubba_scan_options options = {.deadline_ms = 3000}; /* it has asked by then */
    SET(session, scan_is_silent, true);
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_not_null(strstr(error.text, "no row within 3000 ms waiting for "), "%s", error.text);
    cr_assert_not_null(strstr(error.text, session.fake->servers[1].address), "%s", error.text);
    edubba_scan_close(scan);
    close_session(&session);
}

/* Was what this thread had gathered done when its scan gave up? */
static bool goes_while_a_scan_waits(struct session *session)
{
    struct edubba_scan_options options = {.deadline_ms = 300};
    struct outcome outcome = {0};
    int scans = GET(*session, scans);
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    cr_assert_eq(edubba_scan_open(session->table, &options, &scan, &error), EDUBBA_OK);
    wait_until(session->fake, &session->fake->scans, scans + 1);
    edubba_thread_gathers(true);
    submit_add(session, 3, 1, &outcome);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_DEADLINE_EXCEEDED);
    bool is_done = atomic_load(&outcome.completions) == 1;
    edubba_thread_gathers(false);
    edubba_scan_close(scan);
    edubba_drain(session->client);
    return is_done;
}

/* Some would be lucky: the loop wakes for something else.  And the machine may stand still. */
Test(client, what_a_thread_gathers_goes_when_it_waits_for_a_row)
{
    struct session session = open_filled(10);
    int times = 0;
    (void)sum_of(&session, 3); /* it is known where that is */
    SET(session, scan_is_silent, true);
    for (int attempt = 0; attempt < 10; attempt++) {
        times += goes_while_a_scan_waits(&session);
    }
    cr_assert_geq(times, 8);
    close_session(&session);
}

Test(client, a_scan_may_be_closed_at_any_time)
{
    struct session session = open_filled(1000);
    struct edubba_error error;
    for (int i = 0; i < 50; i++) {
        struct edubba_scan *scan = NULL;
        const struct edubba_row *row = NULL;
        struct edubba_scan_options options = {.buffer_bytes = 500};
        cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_OK);
        for (int rows = 0; rows < i; rows++) {
            cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
        }
        edubba_scan_close(scan);
    }
    edubba_scan_close(NULL);
    close_session(&session);
}

Test(client, salted_scans_merge_by_what_stands_behind_the_salt)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        struct session session = open_session();
        struct edubba_error error;
        struct edubba_scan *scan = NULL;
        const struct edubba_row *row = NULL;
        for (int i = 0; i < 400; i++) {
            char key[FAKE_KEY_MAX];
            char name[32];
            (void)snprintf(name, sizeof name, "user%03d", i);
            (void)snprintf(key, sizeof key, "%02u#%s", edubba_salt(EDUBBA_TEXT(name), 12), name);
            fake_row_make(session.fake, bytes_of_text(key));
        }
        fake_row_make(session.fake, bytes_of_text("zz#not under a salt"));
        fake_split(session.fake, "03#user100", 2);
        fake_split(session.fake, "07", 3);
        struct edubba_bounds range = {.start = EDUBBA_TEXT("user050"),
                                      .end = EDUBBA_TEXT("user350")};
        struct edubba_scan_options options = {
            .ranges = &range, .range_count = 1, .reversed = reversed != 0};
        cr_assert_eq(edubba_scan_open_salted(session.table, &options, 12, &scan, &error),
                     EDUBBA_OK);
        for (int i = 0; i < 300; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "user%03d", reversed ? 349 - i : 50 + i);
            cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK, "%s", error.text);
            cr_assert_not_null(row);
            cr_assert_eq(memcmp((const char *)row->key.data + 3, name, 7), 0, "%.*s, not %s",
                         (int)row->key.size, (const char *)row->key.data, name);
        }
        cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK);
        cr_assert_null(row);
        edubba_scan_close(scan);
        struct edubba_scan_options all = {.rows_limit = 7};
        cr_assert_eq(edubba_scan_open_salted(session.table, &all, 12, &scan, &error), EDUBBA_OK);
        int count = 0;
        while (edubba_scan_next(scan, &row, &error) == EDUBBA_OK && row != NULL) {
            count++;
        }
        cr_assert_eq(count, 7);
        edubba_scan_close(scan);
        close_session(&session);
    }
}
