/* edubba_submit_rows: many rows, one completion, and what becomes of each. */
#include "client/include/edubba_keys.h"
#include "tests/support/client_session.h"

#define FAILURES_MAX 4096

/* What became of one call. */
struct call_outcome {
    atomic_int completions;
    enum edubba_code code;
    size_t entry_count;
    size_t failure_count;
    struct {
        size_t entry;
        enum edubba_code code;
        char text[256];
    } failures[FAILURES_MAX];
};

static struct call_outcome calls[4];

static void on_rows(void *context, const struct edubba_rows_result *result)
{
    struct call_outcome *call = context;
    call->code = result->code;
    call->entry_count = result->entry_count;
    call->failure_count = result->failure_count;
    for (size_t i = 0; i < result->failure_count && i < FAILURES_MAX; i++) {
        call->failures[i].entry = result->failures[i].entry;
        call->failures[i].code = result->failures[i].code;
        (void)snprintf(call->failures[i].text, sizeof call->failures[i].text, "%s",
                       result->failures[i].text);
    }
    atomic_fetch_add(&call->completions, 1);
}

enum {
    ENTRIES_MAX = 3000
};

/* Entries of row first, first + 1 ... below first + spread, over and over, each adding 1. */
struct batch_of_adds {
    struct edubba_mutation one;
    struct edubba_entry entries[ENTRIES_MAX];
    char keys[ENTRIES_MAX][FAKE_KEY_MAX];
};

static void make_adds(struct batch_of_adds *adds, int first, int spread, int count)
{
    adds->one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    for (int i = 0; i < count; i++) {
        (void)snprintf(adds->keys[i], sizeof adds->keys[i], "row%05d", first + i % spread);
        adds->entries[i] = (struct edubba_entry){EDUBBA_TEXT(adds->keys[i]), &adds->one, 1};
    }
}

static struct batch_of_adds adds;

static void submit(struct session *session, size_t count, uint32_t deadline_ms, int call)
{
    struct edubba_error error;
    cr_assert_eq(edubba_submit_rows(session->table, adds.entries, count, deadline_ms, on_rows,
                                    &calls[call], &error),
                 EDUBBA_OK, "%s", error.text);
}

static void check_ok(int call, size_t count)
{
    cr_assert_eq(calls[call].completions, 1);
    cr_assert_eq(calls[call].entry_count, count);
    cr_assert_eq(calls[call].failure_count, 0, "#%zu: %s", calls[call].failures[0].entry,
                 calls[call].failures[0].text);
    cr_assert_eq(calls[call].code, EDUBBA_OK);
}

/* --- outcomes --------------------------------------------------------------------------------- */

Test(client_rows, many_rows_travel_in_few_messages_and_complete_once)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK); /* where the tablet is, is known */
    SET(session, messages, 0);
    make_adds(&adds, 0, ENTRIES_MAX, ENTRIES_MAX);
    submit(&session, 1000, 0, 0);
    edubba_drain(session.client);
    check_ok(0, 1000);
    cr_assert_leq(GET(session, messages), 8);
    cr_assert_eq(GET(session, applied), 1001);
    close_session(&session);
}

Test(client_rows, the_first_call_of_all_finds_its_rows)
{
    struct session session = open_session();
    fake_split(session.fake, "row00100", 2);
    fake_split(session.fake, "row00200", 3);
    make_adds(&adds, 0, 300, 300);
    submit(&session, 300, 0, 0);
    edubba_drain(session.client);
    check_ok(0, 300);
    submit(&session, 300, 0, 1); /* and the next, over three servers, stays together */
    edubba_drain(session.client);
    check_ok(1, 300);
    cr_assert_eq(sum_of(&session, 0) + sum_of(&session, 150) + sum_of(&session, 299), 6);
    close_session(&session);
}

Test(client_rows, no_row_is_no_trouble)
{
    struct session session = open_session();
    submit(&session, 0, 0, 0);
    edubba_drain(session.client);
    check_ok(0, 0);
    close_session(&session);
}

Test(client_rows, a_bad_entry_is_its_own_failure)
{
    struct session session = open_session();
    struct edubba_error error;
    static char long_key[EDUBBA_KEY_SIZE_MAX + 1];
    struct edubba_mutation bad = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    memset(long_key, 'k', sizeof long_key);
    bad.kind = (enum edubba_mutation_kind)77;
    make_adds(&adds, 0, 100, 100);
    adds.entries[17].row = EDUBBA_NOTHING;
    adds.entries[99].row = edubba_bytes_of(long_key, sizeof long_key);
    adds.entries[40].mutations = &bad;
    submit(&session, 100, 0, 0);
    edubba_drain(session.client);
    cr_assert_eq(calls[0].completions, 1);
    cr_assert_eq(calls[0].code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(calls[0].failure_count, 3);
    cr_assert_eq(calls[0].failures[0].entry, 17);
    cr_assert_eq(calls[0].failures[1].entry, 40);
    cr_assert_not_null(strstr(calls[0].failures[1].text, "77"));
    cr_assert_eq(calls[0].failures[2].entry, 99);
    cr_assert_eq(GET(session, applied), 97);
    adds.entries[0].count = 100001;
    cr_assert_eq(edubba_submit_rows(session.table, adds.entries, 1, 0, on_rows, &calls[1], &error),
                 EDUBBA_INVALID_ARGUMENT);
    edubba_drain(session.client);
    cr_assert_eq(calls[1].completions, 0);
    close_session(&session);
}

Test(client_rows, what_fits_into_no_message_is_refused_and_not_tried_until_the_deadline)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_mutation large[4];
    static const char value[80 << 20];
    for (int i = 0; i < 4; i++) {
        large[i] = edubba_set_cell("p", EDUBBA_NOTHING, i, edubba_bytes_of(value, sizeof value));
    }
    make_adds(&adds, 0, 3, 3);
    adds.entries[1].mutations = large;
    adds.entries[1].count = 4;
    submit(&session, 3, 0, 0);
    edubba_drain(session.client);
    cr_assert_eq(calls[0].failure_count, 1);
    cr_assert_eq(calls[0].failures[0].entry, 1);
    cr_assert_eq(calls[0].failures[0].code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(calls[0].failures[0].text, "limit"));
    cr_assert_eq(edubba_mutate_row(session.table, EDUBBA_TEXT("row00009"), large, 4, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(GET(session, applied), 2);
    close_session(&session);
}

/* --- trouble ---------------------------------------------------------------------------------- */

Test(client_rows, rows_of_a_moved_tablet_are_followed_and_the_others_do_not_notice)
{
    struct session session = open_session();
    fake_split(session.fake, "row00050", 2);
    make_adds(&adds, 0, 100, 100);
    submit(&session, 100, 0, 0);
    edubba_drain(session.client);
    check_ok(0, 100);
    fake_move(session.fake, "row00050", 3);
    submit(&session, 100, 0, 1);
    edubba_drain(session.client);
    check_ok(1, 100);
    fake_split(session.fake, "row00020", 3);
    SET(session, tells_location, false);
    submit(&session, 100, 0, 2);
    edubba_drain(session.client);
    check_ok(2, 100);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(sum_of(&session, i), 3);
    }
    close_session(&session);
}

Test(client_rows, what_the_server_is_too_busy_for_is_tried_again_together)
{
    struct session session = open_session();
    make_adds(&adds, 0, 100, 100);
    submit(&session, 100, 0, 0);
    edubba_drain(session.client);
    SET(session, messages, 0);
    SET(session, unavailable_left, 250);
    submit(&session, 100, 0, 1);
    edubba_drain(session.client);
    check_ok(1, 100);
    cr_assert_eq(GET(session, messages), 4, "100, 100, then 50 of 100, and those");
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(sum_of(&session, i), 2);
    }
    close_session(&session);
}

Test(client_rows, a_lost_answer_doubles_nothing)
{
    struct session session = open_session();
    make_adds(&adds, 0, 100, 100);
    submit(&session, 100, 0, 0);
    edubba_drain(session.client);
    SET(session, drops_after_left, 1);
    submit(&session, 100, 0, 1);
    edubba_drain(session.client);
    check_ok(1, 100);
    cr_assert_eq(GET(session, duplicates), 100);
    SET(session, drops_before_left, 2);
    SET(session, answers_twice, true);
    submit(&session, 100, 0, 2);
    edubba_drain(session.client);
    check_ok(2, 100);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(sum_of(&session, i), 3);
    }
    close_session(&session);
}

#define DEADLINE_MS 3000 /* on a busy machine as well who answers has answered by then */

/* The first half is answered, the second half's server says nothing. */
Test(client_rows, a_deadline_ends_what_is_not_answered_and_only_that)
{
    struct session session = open_session();
    struct edubba_error error;
    fake_split(session.fake, "row00050", 2);
    make_adds(&adds, 0, 100, 100);
    submit(&session, 100, 0, 0);
    edubba_drain(session.client);
    fake_move(session.fake, "row00050", 0); /* nobody has it now */
    submit(&session, 100, DEADLINE_MS, 1);
    edubba_drain(session.client);
    cr_assert_eq(calls[1].code, EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_eq(calls[1].failure_count, 50);
    for (size_t i = 0; i < 50; i++) {
        cr_assert_eq(calls[1].failures[i].entry, 50 + i);
        cr_assert_eq(calls[1].failures[i].code, EDUBBA_DEADLINE_EXCEEDED);
        cr_assert_not_null(strstr(calls[1].failures[i].text, "3000 ms"));
    }
    fake_move(session.fake, "row00050", 2);
    SET(session, unavailable_left, 1 << 30);
    submit(&session, 100, DEADLINE_MS, 2);
    edubba_drain(session.client);
    cr_assert_eq(calls[2].failure_count, 100);
    cr_assert_not_null(strstr(calls[2].failures[7].text, "memory is full"), "%s",
                       calls[2].failures[7].text);
    SET(session, unavailable_left, 0);
    SET(session, holds, true);
    submit(&session, 10, DEADLINE_MS, 3);
    edubba_drain(session.client);
    cr_assert_eq(calls[3].failure_count, 10);
    cr_assert_not_null(strstr(calls[3].failures[0].text, session.fake->servers[1].address), "%s",
                       calls[3].failures[0].text);
    fake_release(session.fake);
    cr_assert_eq(add(&session, 2, &error), EDUBBA_OK, "the lane is free again");
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(calls[i].completions, 1);
    }
    edubba_table_close(session.table);
    edubba_client_close(session.client);
    fake_cluster_stop(session.fake);
}

/* Four times as many as go at once, and nobody answers. */
Test(client_rows, the_call_that_waits_has_one_deadline_however_much_it_sends)
{
    enum {
        ROWS = 4096
    };
    static struct edubba_entry entries[ROWS];
    static struct edubba_error errors[ROWS];
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.in_flight_max = 1000;
    struct session session = open_with(fake, &options);
    make_adds(&adds, 0, 1, 1);
    for (int i = 0; i < ROWS; i++) {
        entries[i] = adds.entries[0];
    }
    SET(session, holds, true);
    edubba_thread_deadline(DEADLINE_MS);
    int64_t begun_ns = clock_monotonic_ns();
    cr_assert_eq(edubba_mutate_rows(session.table, entries, ROWS, errors),
                 EDUBBA_DEADLINE_EXCEEDED);
    int64_t took_ms = (clock_monotonic_ns() - begun_ns) / 1000000;
    cr_assert_lt(took_ms, 2 * DEADLINE_MS, "%lld ms", (long long)took_ms);
    cr_assert_not_null(strstr(errors[0].text, "the deadline of 3000 ms has passed waiting for "),
                       "%s", errors[0].text);
    cr_assert_str_eq(errors[ROWS - 1].text,
                     "the deadline of 3000 ms has passed before it was sent");
    fake_release(fake);
    edubba_table_close(session.table);
    edubba_client_close(session.client);
    fake_cluster_stop(fake);
}

/* --- what callers rely on --------------------------------------------------------------------- */

static void *release_later(void *argument)
{
    clock_sleep_us(100000);
    fake_release(argument);
    return NULL;
}

Test(client_rows, closing_waits_for_the_completion)
{
    struct session session = open_session();
    pthread_t thread;
    SET(session, holds, true);
    make_adds(&adds, 0, 500, 500);
    submit(&session, 500, 0, 0);
    pthread_create(&thread, NULL, release_later, session.fake);
    edubba_table_close(session.table);
    edubba_client_close(session.client);
    check_ok(0, 500);
    pthread_join(thread, NULL);
    fake_cluster_stop(session.fake);
}

/* Sequences ascend with the entries, so the fake sees the order in which they were applied. */
Test(client_rows, while_nothing_goes_wrong_rows_are_applied_in_their_order)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.connections = 4;
    struct session session = open_with(fake, &options);
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    make_adds(&adds, 0, 3, 1000); /* three rows, over and over */
    submit(&session, 1000, 0, 0);
    edubba_drain(session.client);
    check_ok(0, 1000);
    for (int i = 1; i < fake->seen_count; i++) {
        cr_assert_gt(fake->seen[i].sequence, fake->seen[i - 1].sequence);
    }
    cr_assert_eq(sum_of(&session, 0) + sum_of(&session, 1) + sum_of(&session, 2), 1001);
    close_session(&session);
}

static void *submit_four(void *argument)
{
    for (int i = 0; i < 4; i++) {
        submit(argument, 10, 0, i);
    }
    return NULL;
}

Test(client_rows, submitting_waits_while_too_much_is_in_flight)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.in_flight_max = 15;
    struct session session = open_with(fake, &options);
    pthread_t thread;
    make_adds(&adds, 0, 10, 10);
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, operations, 0);
    SET(session, holds, true);
    pthread_create(&thread, NULL, submit_four, &session);
    wait_until(fake, &fake->held_count, 2);
    clock_sleep_us(50000);
    cr_assert_eq(GET(session, held_count), 2, "room for one at 10 in flight, for none at 20");
    fake_release(fake);
    pthread_join(thread, NULL);
    edubba_drain(session.client);
    for (int i = 0; i < 4; i++) {
        check_ok(i, 10);
    }
    close_session(&session);
}

static struct session *chained;
static atomic_int chain_left;

static void submit_next(void *context, const struct edubba_rows_result *result)
{
    struct edubba_error error;
    cr_assert_eq(result->code, EDUBBA_OK);
    if (atomic_fetch_sub(&chain_left, 1) > 1) {
        cr_assert_eq(
            edubba_submit_rows(chained->table, adds.entries, 50, 0, submit_next, context, &error),
            EDUBBA_OK);
    } else {
        on_rows(context, result);
    }
}

Test(client_rows, a_completion_may_submit_the_next)
{
    struct session session = open_session();
    struct edubba_error error;
    chained = &session;
    atomic_store(&chain_left, 40);
    make_adds(&adds, 0, 50, 50);
    cr_assert_eq(
        edubba_submit_rows(session.table, adds.entries, 50, 0, submit_next, &calls[0], &error),
        EDUBBA_OK);
    while (atomic_load(&calls[0].completions) == 0) {
        clock_sleep_us(1000);
    }
    check_ok(0, 50);
    cr_assert_eq(sum_of(&session, 7), 40);
    close_session(&session);
}

/* --- chaos and want ---------------------------------------------------------------------------- */

enum {
    WORKERS = 3,
    CALLS = 30,
    EACH = 60,
    ROWS = 40
};

static struct call_outcome chaos_calls[WORKERS * CALLS];

struct worker {
    struct session *session;
    int number;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct edubba_error error;
    for (int i = 0; i < CALLS; i++) {
        cr_assert_eq(edubba_submit_rows(worker->session->table, adds.entries + i, EACH, 0, on_rows,
                                        &chaos_calls[worker->number * CALLS + i], &error),
                     EDUBBA_OK);
        clock_sleep_us(1000);
    }
    return NULL;
}

Test(client_rows, chaos_loses_nothing_and_doubles_nothing)
{
    struct session session = open_session();
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    int64_t total = 0;
    make_adds(&adds, 0, ROWS, CALLS + EACH);
    fake_split(session.fake, "row00010", 2);
    fake_split(session.fake, "row00020", 3);
    SET(session, chaos_one_in, 20);
    SET(session, drops_after_left, 10);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){&session, i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    split_and_move(&session, ROWS, 40);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    SET(session, chaos_one_in, 0);
    edubba_drain(session.client);
    for (int i = 0; i < WORKERS * CALLS; i++) {
        cr_assert_eq(chaos_calls[i].completions, 1);
        cr_assert_eq(chaos_calls[i].failure_count, 0, "%s", chaos_calls[i].failures[0].text);
    }
    for (int i = 0; i < ROWS; i++) {
        total += sum_of(&session, i);
    }
    cr_assert_eq(total, WORKERS * CALLS * EACH);
    cr_assert_gt(session.fake->duplicates, 0, "the test must have met some");
    close_session(&session);
}

/* The n-th allocation fails, for every n: nothing leaks, and what is told to be done is done.  The
 * fake's allocations fail too, in which case it does not answer, and the deadline ends the wait. */
Test(client_rows, without_memory_a_call_is_refused_whole)
{
    struct session session = open_session();
    struct edubba_error error;
    int refused = 0;
    make_adds(&adds, 0, 200, 200);
    submit(&session, 200, 0, 0);
    edubba_drain(session.client);
    for (uint64_t n = 0; n < 12; n++) {
        struct call_outcome *call = &chaos_calls[n];
        SET(session, holds, true); /* so that nobody else needs memory meanwhile */
        memory_fail_arm(n, 0);
        enum edubba_code code = edubba_submit_rows(session.table, adds.entries, 200, 2000, on_rows,
                                                   call, &error);
        memory_fail_disarm();
        fake_release(session.fake);
        edubba_drain(session.client);
        if (code != EDUBBA_OK) {
            cr_assert_eq(code, EDUBBA_RESOURCE_EXHAUSTED);
            cr_assert_eq(call->completions, 0);
            refused++;
        } else {
            cr_assert_eq(call->completions, 1);
        }
    }
    cr_assert_geq(refused, 2);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    close_session(&session);
}
