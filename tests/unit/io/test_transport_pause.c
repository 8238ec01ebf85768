/* A peer is not read from while there is no sense in it: and is again when there is. */
#include "tests/support/transport_fixture.h"

#define QUIET_US     100000
#define STALLED_US   700000 /* longer than it takes to be taken for one who takes nothing */
#define ANSWER_BYTES ((size_t)8 << 20)
#define ATTEMPTS_MAX 20

static struct service service;

static void hold_and_keep(void *context,
                          const struct transport_request *request,
                          struct transport_reply *reply)
{
    if (bytes_equal(request->body, bytes_of_text("hold"))) {
        transport_reply_hold_peer(reply);
    }
    service_on_request(context, request, reply);
}

static void answer_held(size_t index)
{
    pthread_mutex_lock(&service.lock);
    struct transport_reply *reply = service.held[index];
    pthread_mutex_unlock(&service.lock);
    struct buffer message = response_of(bytes_of_text("done"));
    transport_reply_send(reply, &message, true);
}

Test(transport_pause, a_peer_that_is_held_is_read_from_again_when_the_reply_is_finished)
{
    struct transport_listener_options options = service_options(&service);
    options.on_request = hold_and_keep;
    atomic_store(&service.hold, true);
    service_open_with(&service, &options);
    int raw = raw_open(&service);
    int other = raw_open(&service);
    cr_assert(raw_request(raw, 1, bytes_of_text("go on"), 0));
    for (uint64_t request = 2; request <= 5; request++) {
        cr_assert(raw_request(raw, request, bytes_of_text("hold"), 0));
    }
    WAIT_FOR(service.requests == 2);
    clock_sleep_us(QUIET_US);
    cr_assert_eq(service.requests, 2);
    cr_assert(raw_request(other, 1, bytes_of_text("go on"), 0));
    WAIT_FOR(service.requests == 3); /* nobody else is held */

    answer_held(0); /* not what holds it */
    clock_sleep_us(QUIET_US);
    cr_assert_eq(service.requests, 3);
    answer_held(1);
    WAIT_FOR(service.requests == 4);
    clock_sleep_us(QUIET_US);
    cr_assert_eq(service.requests, 4);
    answer_held(3);
    WAIT_FOR(service.requests == 5);
    answer_held(4);
    WAIT_FOR(service.requests == 6);
    answer_held(5);
    answer_held(2);
    close(raw);
    close(other);
    transport_listener_close(service.listener, 0);
}

Test(transport_pause, a_reply_that_holds_may_be_finished_while_it_is_taken_in)
{
    struct transport_listener_options options = service_options(&service);
    options.on_request = hold_and_keep;
    service_open_with(&service, &options);
    int raw = raw_open(&service);
    for (uint64_t request = 1; request <= 100; request++) {
        cr_assert(raw_request(raw, request, bytes_of_text("hold"), 0));
    }
    WAIT_FOR(service.requests == 100);
    close(raw);
    transport_listener_close(service.listener, 0);
}

static void answer_much(void *context,
                        const struct transport_request *request,
                        struct transport_reply *reply)
{
    static uint8_t rows[ANSWER_BYTES];
    bool much = bytes_equal(request->body, bytes_of_text("much"));
    struct buffer message = response_of(bytes_of(rows, much ? sizeof rows : 1));
    transport_reply_send(reply, &message, true);
    atomic_fetch_add(&((struct service *)context)->requests, 1);
}

Test(transport_pause, who_takes_nothing_is_not_read_from_until_it_does)
{
    struct transport_listener_options options = service_options(&service);
    options.on_request = answer_much;
    options.connection_bytes_max = 4 * ANSWER_BYTES; /* not for the sake of this */
    service_open_with(&service, &options);
    int raw = raw_open(&service);
    cr_assert(raw_request(raw, 1, bytes_of_text("much"), 0));
    WAIT_FOR(service.requests == 1);
    cr_assert(raw_request(raw, 2, bytes_of_text("little"), 0));
    WAIT_FOR(service.requests == 2); /* it may still take it */
    clock_sleep_us(STALLED_US);
    for (uint64_t request = 3; request <= 5; request++) {
        cr_assert(raw_request(raw, request, bytes_of_text("little"), 0));
    }
    clock_sleep_us(QUIET_US);
    cr_assert_leq(service.requests, 3); /* one finds out, and is answered */

    static uint8_t bytes[1 << 16];
    int64_t until_ns = clock_monotonic_ns() + INT64_C(1000000) * WAIT_MS;
    while (service.requests < 5) {
        if (recv(raw, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
            cr_assert_lt(clock_monotonic_ns(), until_ns);
            clock_sleep_us(200);
        }
    }
    close(raw);
    transport_listener_close(service.listener, 0);
}

static atomic_bool seen_stalled[2]; /* more than a mebibyte; more than there is */

static void answer_much_and_look(void *context,
                                 const struct transport_request *request,
                                 struct transport_reply *reply)
{
    atomic_store(&seen_stalled[0], transport_reply_is_stalled(reply, 1 << 20));
    atomic_store(&seen_stalled[1], transport_reply_is_stalled(reply, 2 * ANSWER_BYTES));
    answer_much(context, request, reply);
}

/* Two requests, the second of which finds much of the answer to the first still there. */
static int ask_twice(void)
{
    int raw = raw_open(&service);
    atomic_store(&service.requests, 0);
    cr_assert(raw_request(raw, 1, bytes_of_text("much"), 0));
    WAIT_FOR(service.requests == 1);
    cr_assert(raw_request(raw, 2, bytes_of_text("little"), 0));
    WAIT_FOR(service.requests == 2);
    return raw;
}

/* That it may still take it is seen where the machine has let both come in time: so it is tried again. */
Test(transport_pause, who_takes_nothing_is_known_as_stalled)
{
    struct transport_listener_options options = service_options(&service);
    options.on_request = answer_much_and_look;
    options.connection_bytes_max = 4 * ANSWER_BYTES;
    service_open_with(&service, &options);
    int raw = ask_twice();
    for (int attempt = 1; atomic_load(&seen_stalled[0]); attempt++) {
        cr_assert_lt(attempt, ATTEMPTS_MAX, "at once");
        close(raw);
        raw = ask_twice();
    }
    clock_sleep_us(STALLED_US);
    cr_assert(raw_request(raw, 3, bytes_of_text("little"), 0));
    WAIT_FOR(service.requests == 3);
    cr_assert(atomic_load(&seen_stalled[0]));
    cr_assert_not(atomic_load(&seen_stalled[1]));
    close(raw);
    transport_listener_close(service.listener, 0);
}

#define REFUSALS \
    500 /* far more than are waited for: with the rests between them they take ten seconds */
#define OTHERS        1000 /* more than these, or that one has to rest as well would not be seen */
#define TIMED         20
#define REST_LEAST_NS INT64_C(20000000)

static atomic_uint refusals;

static void refuse(void *context,
                   const struct transport_request *request,
                   struct transport_reply *reply)
{
    if (bytes_equal(request->body, bytes_of_text("go on"))) {
        transport_reply_fail(reply, STATUS_OK, "");
        atomic_fetch_add(&((struct service *)context)->requests, 1);
    } else {
        transport_reply_refuse(reply, STATUS_UNAVAILABLE, "no room");
        atomic_fetch_add(&refusals, 1);
    }
}

Test(transport_pause, who_is_refused_for_want_of_room_is_not_read_from_for_a_while)
{
    struct transport_listener_options options = service_options(&service);
    options.on_request = refuse;
    service_open_with(&service, &options);
    int raw = raw_open(&service);
    int other = raw_open(&service);
    int64_t begin_ns = clock_monotonic_ns();
    for (uint64_t request = 1; request <= REFUSALS; request++) {
        cr_assert(raw_request(raw, request, bytes_of_text("no"), 0));
    }
    WAIT_FOR(atomic_load(&refusals) >= 1);
    for (uint64_t request = 1; request <= OTHERS; request++) {
        cr_assert(raw_request(other, request, bytes_of_text("go on"), 0));
    }
    WAIT_FOR(service.requests == OTHERS);
    cr_assert_lt(atomic_load(&refusals), REFUSALS, "nobody else has to rest");
    WAIT_FOR(atomic_load(&refusals) >= TIMED);
    cr_assert_geq(clock_monotonic_ns() - begin_ns, (TIMED - 1) * REST_LEAST_NS);
    close(raw); /* in the midst of its rest */
    close(other);
    transport_listener_close(service.listener, 0);
}
