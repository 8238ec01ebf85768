#include "master/console/console_follow.h"

#include "common/io/clock.h"
#include "common/io/transport/transport.h"
#include "master/console/console_state.h"

#define ROUND_PAUSE_NS     INT64_C(5000000000)
#define PATIENCE_NS        INT64_C(10000000000)
#define CONNECT_TIMEOUT_MS 3000
#define EVENTS_AT_ONCE     EVENT_PAGE_MAX
#define ARENA_BYTES        ((size_t)65536)
#define ARENA_MAX          ((size_t)64 << 20)

/* --- from the connection's threads -------------------------------------------------------------- */

/* What does not get through is asked for again. */
static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct buffer copy = BUFFER_INIT;
    (void)stream;
    buffer_append_bytes(&copy, message);
    if (copy.failed || !console_push_followed(context, request, &copy)) {
        buffer_deinit(&copy);
    }
}

/* --- asking ------------------------------------------------------------------------------------- */

static void disconnect(struct follow *follow)
{
    if (follow->connection != NULL) {
        transport_connection_close(follow->connection);
    }
    follow->connection = NULL;
    follow->asked = 0;
}

static void end_round(struct follow *follow)
{
    follow->asked = 0;
    follow->next_ns = clock_monotonic_ns() + ROUND_PAUSE_NS;
}

static bool connect_if_needed(struct console *console)
{
    struct follow *follow = &console->follow;
    struct error error = {0};
    const struct transport_connection_options options = {
        .address = (const char *)follow->address.data,
        .agent = "edubba-master/" EDUBBA_VERSION,
        .lane = LANE_CONTROL,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .context = console,
        .on_response =
            on_response, /* that it is closed is noticed by the next request, or by silence */
    };
    return follow->connection != NULL ||
           transport_connect(&options, &follow->connection, &error) == STATUS_OK;
}

static void send(struct console *console, enum method method, struct buffer *message)
{
    struct follow *follow = &console->follow;
    bool sent = !message->failed && connect_if_needed(console) &&
                transport_connection_send(follow->connection, ++follow->requests, method,
                                          message) == STATUS_OK;
    buffer_deinit(message);
    if (!sent) {
        disconnect(follow);
        end_round(follow);
        return;
    }
    follow->asked = follow->requests;
    follow->asked_heat = method == METHOD_LIST_HEAT;
    follow->asked_ns = clock_monotonic_ns();
}

static struct buffer begin_request(void)
{
    const struct request_head head = {.deadline_ms = PATIENCE_NS / 1000000};
    struct buffer message = BUFFER_INIT;
    request_head_encode(&head, &message);
    return message;
}

static void ask_events(struct console *console)
{
    const struct list_events_request list = {.after = console->follow.events_after,
                                             .count_max = EVENTS_AT_ONCE};
    struct buffer message = begin_request();
    list_events_request_encode(&list, &message);
    send(console, METHOD_LIST_EVENTS, &message);
}

static void ask_heat(struct console *console)
{
    struct buffer message = begin_request();
    list_heat_request_encode(&console->follow.heat.next, &message);
    send(console, METHOD_LIST_HEAT, &message);
}

/* --- answers ------------------------------------------------------------------------------------ */

/* False: the loop has no time for them. */
static bool hand_over(struct console *console, struct bytes body)
{
    struct buffer copy = BUFFER_INIT;
    buffer_append_bytes(&copy, body);
    bool taken = !copy.failed && console->options.on_events(console->options.context, &copy);
    if (!taken) {
        buffer_deinit(&copy);
    }
    return taken;
}

/* False: the round is over. */
static bool take_events(struct console *console, struct bytes body, struct arena *arena)
{
    struct follow *follow = &console->follow;
    struct list_events_response response = {0};
    struct error error = {0};

    if (list_events_response_decode(body, arena, &response, &error) != STATUS_OK) {
        return false;
    }
    uint64_t last = response.event_count == 0 ? follow->events_after
                                              : response.events[response.event_count - 1].change;
    if (last > follow->events_after && !hand_over(console, body)) {
        return false;
    }
    bool goes_on = response.more && last > follow->events_after;
    follow->events_after = last;
    if (goes_on) {
        ask_events(console);
    } else {
        heat_following_begin(&follow->heat);
        ask_heat(console);
    }
    return true;
}

static bool take_heat(struct console *console, struct bytes body, struct arena *arena)
{
    struct list_heat_response response = {0};
    struct error error = {0};

    if (list_heat_response_decode(body, arena, &response, &error) != STATUS_OK ||
        !heat_following_take(&console->follow.heat, &console->heat, &response, clock_wall_us())) {
        return false;
    }
    ask_heat(console);
    return true;
}

static bool take(struct console *console, struct bytes message)
{
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct error error = {0};
    struct arena arena;

    if (response_head_decode(message, &head, &body, &error) != STATUS_OK ||
        head.status != STATUS_OK) {
        return false;
    }
    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    bool goes_on = console->follow.asked_heat ? take_heat(console, body, &arena)
                                              : take_events(console, body, &arena);
    arena_deinit(&arena);
    return goes_on;
}

void follow_take(struct console *console, uint64_t request, struct buffer *message)
{
    struct follow *follow = &console->follow;
    if (follow->asked != 0 && request == follow->asked) {
        follow->asked = 0;
        if (!take(console, buffer_bytes(message))) {
            end_round(follow);
        }
    }
    buffer_deinit(message);
}

/* --- life --------------------------------------------------------------------------------------- */

void follow_begin(struct console *console, struct buffer *address)
{
    struct follow *follow = &console->follow;
    disconnect(follow);
    buffer_deinit(&follow->address);
    follow->address = *address;
    follow->events_after = 0;
    follow->next_ns = 0;
}

void follow_tick(struct console *console)
{
    struct follow *follow = &console->follow;
    int64_t now_ns = clock_monotonic_ns();

    if (follow->asked != 0 && now_ns - follow->asked_ns > PATIENCE_NS) {
        disconnect(follow);
        end_round(follow);
    }
    if (follow->address.size_bytes > 0 && follow->asked == 0 && now_ns >= follow->next_ns) {
        ask_events(console);
    }
}

void follow_end(struct console *console)
{
    disconnect(&console->follow);
    buffer_deinit(&console->follow.address);
}
