/* What all connections hold together is bounded, and only those who hold it pay for that. */
#include "common/io/transport/transport_budget.h"
#include "tests/support/transport_fixture.h"

#define MIB ((uint64_t)1 << 20)

static struct service service;

/* --- unfinished messages ------------------------------------------------------------------------ */

static uint8_t part[FRAME_PAYLOAD_BYTES_MAX - 64];

static bool send_part(int raw, bool last)
{
    return raw_request(raw, 1, bytes_of(part, sizeof part), last ? 0 : FRAME_FLAG_MORE);
}

static void send_parts(int raw, int count)
{
    for (int i = 0; i < count; i++) {
        cr_assert(send_part(raw, false));
    }
}

Test(transport_budget, unfinished_messages_of_many_peers_are_bounded_together)
{
    transport_budget_set(&(struct transport_budget){
        .unfinished_bytes_max = 8 * MIB, .queued_bytes_max = BUDGET_QUEUED_BYTES_DEFAULT});
    service_open(&service);
    int first = raw_open(&service);
    send_parts(first, 6);
    WAIT_FOR(transport_budget_unfinished_bytes() > 5 * MIB);

    for (int round = 0; round < 3; round++) {
        int second = raw_open(&service);
        while (send_part(second, false)) {
            cr_assert_lt(transport_budget_unfinished_bytes(), 10 * MIB);
        }
        raw_expect_closed(second);
        close(second);
        WAIT_FOR(transport_budget_unfinished_bytes() < 7 * MIB);
    }
    cr_assert_eq(service.requests, 0);

    /* The only one that holds any may go over it: a large message gets through in the end. */
    send_parts(first, 6);
    cr_assert(send_part(first, true));
    WAIT_FOR(service.requests == 1);
    WAIT_FOR(transport_budget_unfinished_bytes() == 0);

    /* And what it held is there for others again. */
    int third = raw_open(&service);
    send_parts(third, 6);
    cr_assert(send_part(third, true));
    WAIT_FOR(service.requests == 2);
    close(third);
    close(first);
    transport_listener_close(service.listener, 0);
    WAIT_FOR(transport_budget_unfinished_bytes() == 0);
}

/* --- queued answers ----------------------------------------------------------------------------- */

#define HOARDERS     10
#define REQUESTS     30
#define ANSWER_BYTES (2 * MIB)
#define QUEUED_MAX   (32 * MIB)

/* Little enough to be had whatever the others do. */
#define SMALL_BYTES (MIB / 2)

/* Over the bound by what was under way when it was reached, and by a little for each. */
#define QUEUED_AT_MOST (QUEUED_MAX + HOARDERS * MIB + 8 * ANSWER_BYTES)

static atomic_uint refused;

static void answer_or_refuse(void *context,
                             const struct transport_request *request,
                             struct transport_reply *reply)
{
    static uint8_t rows[ANSWER_BYTES];
    bool small = bytes_equal(request->body, bytes_of_text("a few rows, please"));
    size_t size_bytes = small ? SMALL_BYTES : ANSWER_BYTES;
    struct buffer message = response_of(bytes_of(rows, size_bytes));
    if (transport_reply_must_wait(reply, size_bytes)) {
        buffer_deinit(&message);
        atomic_fetch_add(&refused, 1);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "retry");
    } else {
        transport_reply_send(reply, &message, true);
    }
    atomic_fetch_add(&((struct service *)context)->requests, 1);
}

/* Frames up to the end of any response; true if that one brought rows.  Refusals come in between
 * the frames of rows. */
static bool receive_answer(int raw)
{
    static uint8_t payload[FRAME_PAYLOAD_BYTES_MAX];
    static uint64_t open_request; /* whose rows are coming; 0 = nobody's */
    struct frame_header header;
    bool is_rows = false;
    do {
        (void)raw_receive_frame(raw, &header, payload, sizeof payload);
        is_rows = header.request == open_request || (header.flags & FRAME_FLAG_MORE) != 0;
        open_request = (header.flags & FRAME_FLAG_MORE) != 0 ? header.request : open_request;
    } while ((header.flags & FRAME_FLAG_MORE) != 0);
    open_request = is_rows ? 0 : open_request;
    return is_rows;
}

static void ask_and_read_nothing(int hoarders[HOARDERS])
{
    for (int i = 0; i < HOARDERS; i++) {
        hoarders[i] = raw_open(&service);
        for (uint64_t request = 1; request <= REQUESTS; request++) {
            cr_assert(raw_request(hoarders[i], request, bytes_of_text("rows, please"), 0));
        }
    }
}

#define STILL_LOOKS 25 /* a thread may get no processor for some two seconds */

/* Nothing asked for, nothing queued for many looks on end. */
static uint64_t wait_until_nothing_moves(void)
{
    uint64_t queued_bytes = transport_budget_queued_bytes();
    unsigned requests = service.requests;
    for (int still = 0; still < STILL_LOOKS; still++) {
        clock_sleep_us(100000);
        if (transport_budget_queued_bytes() != queued_bytes || service.requests != requests) {
            queued_bytes = transport_budget_queued_bytes();
            requests = service.requests;
            still = 0;
        }
    }
    return queued_bytes;
}

Test(transport_budget, answers_that_nobody_takes_are_bounded_together)
{
    static struct caller reader;
    int hoarders[HOARDERS];
    struct transport_listener_options options = service_options(&service);
    options.on_request = answer_or_refuse;
    transport_budget_set(&(struct transport_budget){
        .unfinished_bytes_max = BUDGET_UNFINISHED_BYTES_DEFAULT, .queued_bytes_max = QUEUED_MAX});
    service_open_with(&service, &options);
    caller_open(&reader, service.address);
    ask_and_read_nothing(hoarders);
    WAIT_FOR(transport_budget_queued_bytes() > QUEUED_MAX);

    /* Who takes what it asked for is served, but no large answers. */
    for (unsigned i = 1; i <= 20; i++) {
        cr_assert_eq(caller_send(&reader, bytes_of_text("a few rows, please")), STATUS_OK);
        WAIT_FOR(reader.responses == i);
        cr_assert_leq(transport_budget_queued_bytes(), QUEUED_AT_MOST);
    }
    cr_assert_gt(reader.response_bytes, 20 * SMALL_BYTES);
    (void)wait_until_nothing_moves();
    bool over = transport_budget_queued_bytes() > QUEUED_MAX;
    uint64_t before_bytes = reader.response_bytes;
    cr_assert_eq(caller_send(&reader, bytes_of_text("rows, please")), STATUS_OK);
    WAIT_FOR(reader.responses == 21);
    cr_assert_eq(reader.response_bytes - before_bytes < ANSWER_BYTES, over);

    /* All that was asked for is answered once it is taken, one way or the other. */
    unsigned rows = 0;
    for (int i = 0; i < HOARDERS; i++) {
        for (int answer = 0; answer < REQUESTS; answer++) {
            rows += receive_answer(hoarders[i]) ? 1 : 0;
        }
        close(hoarders[i]);
    }
    WAIT_FOR(service.requests == HOARDERS * REQUESTS + 21); /* counted after it is sent */
    cr_assert_eq(rows + atomic_load(&refused), HOARDERS * REQUESTS + 1);
    WAIT_FOR(transport_budget_queued_bytes() == 0);
    transport_connection_close(reader.connection);
    transport_listener_close(service.listener, 0);
}

Test(transport_budget, what_is_queued_goes_with_its_connection)
{
    int hoarders[HOARDERS];
    struct transport_listener_options options = service_options(&service);
    options.on_request = answer_or_refuse;
    service_open_with(&service, &options);
    ask_and_read_nothing(hoarders);
    WAIT_FOR(transport_budget_queued_bytes() > QUEUED_MAX);
    for (int i = 0; i < HOARDERS; i++) {
        close(hoarders[i]);
    }
    WAIT_FOR(transport_budget_queued_bytes() == 0);
    transport_listener_close(service.listener, 0);
}

Test(transport_budget, who_lets_answers_lie_is_dropped_when_they_are_too_many)
{
    static struct caller reader;
    int hoarders[HOARDERS];
    struct transport_listener_options options = service_options(&service);
    options.on_request = answer_or_refuse;
    service_open_with(&service, &options);
    caller_open(&reader, service.address);
    ask_and_read_nothing(hoarders);
    WAIT_FOR(transport_budget_queued_bytes() > QUEUED_MAX);
    uint64_t queued_bytes = wait_until_nothing_moves();

    /* Not while there is room for all. */
    transport_listener_drop_stalled(service.listener, 50);
    cr_assert_eq(transport_budget_queued_bytes(), queued_bytes);

    transport_budget_set(&(struct transport_budget){
        .unfinished_bytes_max = BUDGET_UNFINISHED_BYTES_DEFAULT, .queued_bytes_max = QUEUED_MAX});
    transport_listener_drop_stalled(service.listener, 24 * 3600 * 1000);
    cr_assert_eq(transport_budget_queued_bytes(), queued_bytes, "not yet for long enough");
    transport_listener_drop_stalled(service.listener, 50);
    WAIT_FOR(transport_budget_queued_bytes() < QUEUED_MAX);
    cr_assert_eq(caller_send(&reader, bytes_of_text("rows, please")), STATUS_OK);
    WAIT_FOR(reader.responses == 1);
    cr_assert_gt(reader.response_bytes, ANSWER_BYTES);
    cr_assert_eq(reader.closed, 0, "and nobody else");
    for (int i = 0; i < HOARDERS; i++) {
        close(hoarders[i]);
    }
    transport_connection_close(reader.connection);
    transport_listener_close(service.listener, 0);
}
