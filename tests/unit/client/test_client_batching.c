/* Batching and back-pressure: what travels together, and what waits. */
#include "client/include/edubba_gather.h"
#include "tests/support/client_session.h"

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
