/* Exactly once, patience, batching: what libedubba does when a cluster does not simply answer. */
#include "client/include/edubba_gather.h"
#include "tests/support/client_session.h"

#define EXPECTED_BYTES 160
#define ATTEMPTS       8
#define DEADLINE_MS    4000 /* on a busy machine as well what is to come before it comes */

/* --- exactly once ----------------------------------------------------------------------------- */

Test(client, a_moved_tablet_is_followed_without_asking_the_master)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    int locates = GET(session, locates[0]);
    fake_move(session.fake, "row00001", 2);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_eq(GET(session, locates[0]), locates);
    fake_move(session.fake, "row00001", 3);
    SET(session, tells_location, false);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_gt(GET(session, locates[0]), locates);
    cr_assert_eq(sum_of(&session, 1), 3);
    close_session(&session);
}

/* A table has more tablets than one answer holds. */
Test(client, whoever_is_asked_for_a_row_is_told_which)
{
    struct session session = open_session();
    struct edubba_error error;
    SET(session, located_at_once, 1);
    SET(session, tells_location, false);
    fake_split(session.fake, "row00010", 2);
    fake_split(session.fake, "row00020", 3);
    for (int number = 25; number > 0; number -= 10) {
        cr_assert_eq(add(&session, number, &error), EDUBBA_OK, "%s", error.text);
        cr_assert_eq(sum_of(&session, number), 1);
    }
    close_session(&session);
}

Test(client, a_refusal_that_may_pass_is_retried)
{
    struct session session = open_session();
    struct edubba_error error;
    SET(session, unavailable_left, 5);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(GET(session, unavailable_left), 0);
    cr_assert_eq(sum_of(&session, 1), 1);
    close_session(&session);
}

Test(client, a_lost_answer_is_asked_for_again_and_nothing_is_done_twice)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, drops_after_left, 3);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(GET(session, duplicates), 3);
    SET(session, drops_before_left, 3);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(sum_of(&session, 1), 3);
    close_session(&session);
}

Test(client, an_answer_that_comes_twice_completes_once)
{
    struct session session = open_session();
    SET(session, answers_twice, true);
    for (int i = 0; i < 200; i++) {
        submit_add(&session, i % 7, 1, &outcomes[i]);
    }
    edubba_drain(session.client);
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK);
    }
    close_session(&session);
}

Test(client, the_mark_is_the_lowest_unfinished_sequence)
{
    struct session session = open_session();
    struct edubba_error error;
    SET(session, holds, true);
    submit_add(&session, 1, 1, &outcomes[0]); /* sequence 1 */
    wait_until(session.fake, &session.fake->held_count, 1);
    SET(session, holds, false);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(add(&session, 2, &error), EDUBBA_OK);
    }
    pthread_mutex_lock(&session.fake->lock);
    cr_assert_eq(session.fake->mark, 1, "a later one may be done, the first is not");
    pthread_mutex_unlock(&session.fake->lock);
    fake_release(session.fake);
    edubba_drain(session.client);
    cr_assert_eq(add(&session, 2, &error), EDUBBA_OK);
    pthread_mutex_lock(&session.fake->lock);
    cr_assert_eq(session.fake->mark, 12);
    pthread_mutex_unlock(&session.fake->lock);
    close_session(&session);
}

/* Everything at once, from several threads; every sum must be exact. */
struct worker {
    struct session *session;
    int number;
};

enum {
    WORKERS = 3,
    EACH = 700,
    ROWS = 40
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < EACH; i++) {
        submit_add(worker->session, (i * 13) % ROWS, 1, &outcomes[worker->number * EACH + i]);
        if (i % 50 == 0) {
            clock_sleep_us(2000);
        }
    }
    return NULL;
}

Test(client, chaos_loses_nothing_and_doubles_nothing)
{
    struct session session = open_session();
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    fake_split(session.fake, "row00010", 2);
    fake_split(session.fake, "row00020", 3);
    SET(session, chaos_one_in, 20);
    SET(session, drops_after_left, 10); /* some lost answers for certain */
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){&session, i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    split_and_move(&session, ROWS, 60);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    SET(session, chaos_one_in, 0);
    edubba_drain(session.client);
    int64_t total = 0;
    for (int i = 0; i < WORKERS * EACH; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
    }
    for (int i = 0; i < ROWS; i++) {
        total += sum_of(&session, i);
    }
    cr_assert_eq(total, WORKERS * EACH);
    cr_assert_gt(session.fake->duplicates, 0, "the test must have met some");
    close_session(&session);
}

/* --- patience --------------------------------------------------------------------------------- */

/* The text names whom it was. */
static void assert_waited_for(const char *text, const char *address)
{
    char expected[EXPECTED_BYTES];
    (void)snprintf(expected, sizeof expected, " ms has passed waiting for %s", address);
    cr_assert_not_null(strstr(text, expected), "\"%s\" is not in \"%s\"", expected, text);
}

Test(client, a_deadline_ends_the_wait_and_a_late_answer_does_no_harm)
{
    struct session session = open_session();
    struct edubba_error error;
    SET(session, holds, true);
    int64_t began_ns = clock_monotonic_ns();
    for (int i = 0; i < 8; i++) {
        submit_add_for(&session, 1, 1, DEADLINE_MS, &outcomes[i]);
        wait_until(session.fake, &session.fake->held_count, i < 4 ? i + 1 : 4);
    }
    edubba_drain(session.client);
    int64_t took_ms = (clock_monotonic_ns() - began_ns) / 1000000;
    cr_assert(took_ms >= DEADLINE_MS && took_ms < 60000, "%ld", (long)took_ms);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_DEADLINE_EXCEEDED);
        assert_waited_for(outcomes[i].text, session.fake->servers[1].address);
    }
    /* The lane is free again though the server never answered. */
    SET(session, holds, false);
    cr_assert_eq(add(&session, 2, &error), EDUBBA_OK);
    fake_release(session.fake);
    cr_assert_eq(add(&session, 2, &error), EDUBBA_OK);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
    }
    edubba_table_close(session.table);
    edubba_client_close(session.client);
    fake_cluster_stop(session.fake);
}

Test(client, a_deadline_names_the_last_trouble)
{
    struct session session = open_session();
    SET(session, unavailable_left, 1 << 30);
    submit_add_for(&session, 1, 1, DEADLINE_MS, &outcomes[0]);
    edubba_drain(session.client);
    cr_assert_eq(outcomes[0].code, EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_not_null(strstr(outcomes[0].text, "; the last attempt: memory is full"), "%s",
                       outcomes[0].text);
    assert_waited_for(outcomes[0].text, session.fake->servers[1].address);
    fake_move(session.fake, "row00001", 0);
    SET(session, unavailable_left, 0);
    submit_add_for(&session, 1, 1, DEADLINE_MS, &outcomes[1]);
    edubba_drain(session.client);
    cr_assert_eq(outcomes[1].code, EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_not_null(strstr(outcomes[1].text, "no server"), "%s", outcomes[1].text);
    cr_assert_null(strstr(outcomes[1].text, "waiting for"), "nobody is to blame: %s",
                   outcomes[1].text);
    close_session(&session);
}

Test(client, a_deadline_names_the_master_that_was_asked_where_the_row_is)
{
    struct session session = open_session();
    int i = 0;
    SET(session, is_frozen[0], true);
    do { /* others are asked after two seconds; on a busy machine it may not be asked by then */
        submit_add_for(&session, 1, 1, 1500, &outcomes[i]);
        edubba_drain(session.client);
        cr_assert_eq(outcomes[i].code, EDUBBA_DEADLINE_EXCEEDED);
    } while (GET(session, frozen_count) == 0 && ++i < ATTEMPTS);
    assert_waited_for(outcomes[i].text, session.fake->servers[0].address);
    close_session(&session);
}

Test(client, a_deadline_of_what_only_a_master_does_names_it_and_how_long_it_was_silent)
{
    struct session session = open_session();
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    char silent[EXPECTED_BYTES];
    SET(session, is_frozen[0], true);
    edubba_thread_deadline(3500);
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error),
                 EDUBBA_DEADLINE_EXCEEDED);
    edubba_thread_deadline(0);
    assert_waited_for(error.text, session.fake->servers[0].address);
    (void)snprintf(silent, sizeof silent, "; the last attempt: %s has not answered for 2000 ms",
                   session.fake->servers[0].address);
    cr_assert_not_null(strstr(error.text, silent), "%s", error.text);
    close_session(&session);
}

Test(client, a_table_that_is_gone_is_not_found)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, table_is_gone, true);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_NOT_FOUND, "%s", error.text);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_NOT_FOUND, "%s", error.text);
    close_session(&session);
}

Test(client, tablet_servers_tell_locations_while_no_master_answers)
{
    struct session session = open_session();
    struct edubba_error error;
    transport_listener_close(session.fake->servers[0].listener, 0);
    session.fake->servers[0].listener = NULL;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_gt(GET(session, locates[1]) + GET(session, locates[2]) + GET(session, locates[3]), 0);
    close_session(&session);
}

/* What is armed to connect again does not outlive what it would connect. */
Test(client, closing_while_servers_are_away_leaves_nothing_behind)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    for (int i = 1; i < FAKE_SERVERS; i++) {
        transport_listener_close(session.fake->servers[i].listener, 0);
        session.fake->servers[i].listener = NULL;
    }
    for (int i = 0; i < 8; i++) {
        submit_add_for(&session, i, 1, 300, &outcomes[i]);
    }
    edubba_drain(session.client);
    cr_assert_eq(outcomes[1].code, EDUBBA_DEADLINE_EXCEEDED);
    close_session(&session);
}

Test(client, a_scan_of_a_table_that_is_gone_ends)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_scan *scan = NULL;
    const struct edubba_row *row = NULL;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, table_is_gone, true);
    cr_assert_eq(edubba_scan_open(session.table, NULL, &scan, &error), EDUBBA_OK);
    cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_NOT_FOUND, "%s", error.text);
    edubba_scan_close(scan);
    close_session(&session);
}

/* --- batching and back-pressure --------------------------------------------------------------- */

Test(client, what_is_submitted_while_requests_are_on_their_way_travels_together)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, holds, true);
    SET(session, messages, 0);
    for (int i = 0; i < 64; i++) {
        submit_add(&session, i, 1, &outcomes[i]);
    }
    wait_until(session.fake, &session.fake->held_count, 1);
    fake_release(session.fake);
    edubba_drain(session.client);
    cr_assert_leq(GET(session, messages), 8);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(outcomes[i].code, EDUBBA_OK);
    }
    close_session(&session);
}

/* 64 at once, the first alone and the rest together; every one is done once. */
static void add_together(struct session *session)
{
    struct edubba_error error;
    SET(*session, holds, true);
    for (int i = 0; i < 64; i++) {
        submit_add(session, i, 1, &outcomes[i]);
    }
    wait_until(session->fake, &session->fake->held_count, 1);
    fake_release(session->fake);
    edubba_drain(session->client);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%d: %s", i, outcomes[i].text);
        cr_assert_eq(sum_of(session, i), 1);
    }
    cr_assert_eq(add(session, 1, &error), EDUBBA_OK);
}

Test(client, answers_come_in_any_order)
{
    struct session session = open_session();
    SET(session, answers_backward, true);
    add_together(&session);
    cr_assert_eq(GET(session, duplicates), 0, "each was given its own");
    close_session(&session);
}

Test(client, what_refuses_a_message_refuses_all_in_it)
{
    struct session session = open_session();
    SET(session, refusals_left, 2);
    add_together(&session);
    cr_assert_eq(GET(session, refusals_left), 0);
    struct edubba_error error;
    SET(session, refusal, STATUS_INVALID_ARGUMENT);
    SET(session, refusals_left, 1);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "not this message");
    close_session(&session);
}

Test(client, what_an_answer_leaves_out_is_asked_for_again)
{
    struct session session = open_session();
    SET(session, omissions_left, 2);
    add_together(&session);
    cr_assert_eq(GET(session, omissions_left), 0);
    close_session(&session);
}

/* Large rows, of which no two fit into a message. */
static void submit_large(struct session *session, struct edubba_bytes value, int number)
{
    struct edubba_error error;
    struct edubba_mutation set = edubba_set_cell("cf", EDUBBA_TEXT("q"), 0, value);
    struct edubba_operation operation = {.kind = EDUBBA_OPERATION_MUTATE,
                                         .row = row_key(number),
                                         .mutations = &set,
                                         .mutation_count = 1};
    cr_assert_eq(edubba_submit(session->table, &operation, on_done, &outcomes[number], &error),
                 EDUBBA_OK, "%s", error.text);
}

/* A server drops a message when nobody waits for any of it any more, not when the first has given up. */
Test(client, a_message_lasts_as_long_as_the_most_patient_in_it)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    SET(session, holds, true);
    edubba_thread_gathers(true);
    submit_add_for(&session, 1, 1, 30000, &outcomes[0]);
    submit_add_for(&session, 2, 1, 50000, &outcomes[1]);
    submit_add_for(&session, 3, 1, 40000, &outcomes[2]);
    edubba_client_go(session.client);
    edubba_thread_gathers(false);
    wait_until(session.fake, &session.fake->held_count, 1);
    pthread_mutex_lock(&session.fake->lock);
    const struct transport_request *request = &session.fake->held[0].request;
    uint32_t deadline_ms = request->head.deadline_ms;
    struct operations_request operations;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(operations_request_decode(request->body, &arena, &operations, NULL), STATUS_OK);
    cr_assert_eq(operations.operation_count, 3);
    arena_deinit(&arena);
    pthread_mutex_unlock(&session.fake->lock);
    cr_assert_gt(deadline_ms, 40001, "%u", deadline_ms);
    cr_assert_leq(deadline_ms, 50001, "%u", deadline_ms);
    fake_release(session.fake);
    edubba_drain(session.client);
    close_session(&session);
}

/* Waiting could not put more into them, so four times as many go as of those that are not full. */
Test(client, of_full_messages_sixteen_are_on_their_way_and_the_rest_waits)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    size_t size = 300 << 10;
    char *value = memory_allocate(size);
    memset(value, 'v', size);
    SET(session, holds, true);
    for (int i = 0; i < 30; i++) {
        submit_large(&session, edubba_bytes_of(value, size), i);
    }
    wait_until(session.fake, &session.fake->held_count, 16);
    clock_sleep_us(50000);
    cr_assert_eq(GET(session, held_count), 16);
    fake_release(session.fake);
    edubba_drain(session.client);
    for (int i = 0; i < 30; i++) {
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
        cr_assert_eq(outcomes[i].completions, 1);
    }
    memory_free(value);
    close_session(&session);
}

static void *submit_forty(void *argument)
{
    struct session *session = argument;
    for (int i = 0; i < 40; i++) {
        submit_add(session, i, 1, &outcomes[i]);
    }
    return NULL;
}

Test(client, submit_waits_while_too_much_is_in_flight)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.in_flight_max = 8;
    struct session session = open_with(fake, &options);
    pthread_t thread;
    SET(session, holds, true);
    pthread_create(&thread, NULL, submit_forty, &session);
    wait_until(fake, &fake->held_count, 1);
    clock_sleep_us(100000);
    pthread_mutex_lock(&fake->lock);
    int held = 0;
    for (int i = 0; i < fake->held_count; i++) {
        struct operations_request request;
        struct arena arena;
        arena_init(&arena, 4096, SIZE_MAX);
        cr_assert_eq(operations_request_decode(fake->held[i].request.body, &arena, &request, NULL),
                     STATUS_OK);
        held += (int)request.operation_count;
        arena_deinit(&arena);
    }
    pthread_mutex_unlock(&fake->lock);
    cr_assert(held > 0 && held <= 8, "%d", held);
    fake_release(fake);
    pthread_join(thread, NULL);
    edubba_drain(session.client);
    cr_assert_eq(fake->applied, 40);
    close_session(&session);
}

/* --- who asked is told ------------------------------------------------------------------------ */

struct told {
    atomic_int count;
    uint32_t waited_ms;
    char text[256];
};

static void on_trouble(void *context, uint32_t waited_ms, const char *text)
{
    struct told *told = context;
    told->waited_ms = waited_ms;
    (void)snprintf(told->text, sizeof told->text, "%s", text);
    atomic_fetch_add(&told->count, 1);
}

static struct session open_told(struct told *told)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.on_trouble = on_trouble;
    options.trouble_context = told;
    return open_with(fake, &options);
}

Test(client, what_is_met_is_told_while_it_is_tried_again)
{
    struct told told = {0};
    struct session session = open_told(&told);
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entry = {row_key(1), &one, 1, NULL};
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_eq(told.count, 0, "nothing was met");
    SET(session, unavailable_left, 5);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(told.count, 5);
    cr_assert_str_eq(told.text, "memory is full");
    SET(session, unavailable_left, 2);
    cr_assert_eq(edubba_mutate_rows(session.table, &entry, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(told.count, 7, "many rows tell it once for all of a server");
    close_session(&session);
}

Test(client, a_master_that_is_away_is_told_with_how_long_it_has_been_waited_for)
{
    struct told told = {0};
    struct session session = open_told(&told);
    struct edubba_error error;
    char **names = NULL;
    transport_listener_close(session.fake->servers[0].listener, 0);
    session.fake->servers[0].listener = NULL;
    edubba_thread_deadline(DEADLINE_MS);
    cr_assert_eq(edubba_list_tables(session.client, &names, &error), EDUBBA_DEADLINE_EXCEEDED);
    cr_assert_geq(told.count, 3);
    cr_assert(told.waited_ms >= DEADLINE_MS / 4 && told.waited_ms <= DEADLINE_MS, "%u",
              told.waited_ms);
    cr_assert_not_null(strstr(told.text, session.fake->servers[0].address), "%s", told.text);
    cr_assert_not_null(strstr(error.text, told.text), "%s ends with %s", error.text, told.text);
    close_session(&session);
}

/* --- tablet servers among the masters' addresses ------------------------------------------------ */

static struct session open_with_masters(struct fake_cluster *fake,
                                        int first,
                                        int second,
                                        uint32_t unreachable_ms)
{
    static char masters[160];
    struct edubba_options options = default_options(fake);
    (void)snprintf(masters, sizeof masters, "%s,%s", fake->servers[first].address,
                   fake->servers[second].address);
    options.masters = masters;
    options.unreachable_ms = unreachable_ms;
    return open_with(fake, &options);
}

Test(client, a_tablet_server_that_is_asked_first_leads_to_the_master)
{
    struct session session = open_with_masters(fake_cluster_start(), 1, 0, 60000);
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    cr_assert_eq(GET(session, locates[0]), 1);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(GET(session, locates[1]), 0, "the master is known by then");
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert_eq(count, FAKE_SERVERS - 1);
    edubba_free(servers);
    close_session(&session);
}

Test(client, a_new_client_needs_no_master_where_it_knows_a_tablet_server)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    transport_listener_close(fake->servers[0].listener, 0);
    fake->servers[0].listener = NULL;
    struct session session = open_with_masters(fake, 0, 1, 1500);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    /* What only a master does is given up after unreachable_ms, and says which master is away.  (A machine that stands
     * still for two seconds makes it one that says nothing.) */
    enum edubba_code code = EDUBBA_DEADLINE_EXCEEDED;
    for (int i = 0; i < ATTEMPTS && code == EDUBBA_DEADLINE_EXCEEDED; i++) {
        code = edubba_list_servers(session.client, &servers, &count, &error);
    }
    cr_assert_eq(code, EDUBBA_UNAVAILABLE, "%s", error.text);
    cr_assert_not_null(strstr(error.text, fake->servers[0].address), "%s", error.text);
    close_session(&session);
}

Test(client, where_nobody_is_a_master_that_is_said_at_once)
{
    struct session session = open_with_masters(fake_cluster_start(), 1, 2, 60000);
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error),
                 EDUBBA_UNIMPLEMENTED, "%s", error.text);
    cr_assert_str_eq(error.text, "ask a master");
    close_session(&session);
}
