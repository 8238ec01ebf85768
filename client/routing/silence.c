#include "client/routing/silence.h"

#include <stdio.h>

#include "client/routing/request.h"
#include "common/base/memory.h"

#define NS_PER_MS       INT64_C(1000000)
#define SILENCE_MAX_NS  (INT64_C(1000) * NS_PER_MS)
#define PROBE_MS        1500
#define COMPLAINT_BYTES 160

struct silence {
    struct server_lane *lane;
    struct timer timer;
    bool is_armed;
    int64_t heard_ns; /* when something came, or it was begun to wait */
    bool is_probing;
    int64_t probed_ns;
    struct request probe;
};

static void arm(struct silence *silence, int64_t due_ns)
{
    silence->is_armed = true;
    loop_set_timer(&silence->lane->client->loop, &silence->timer, due_ns);
}

static bool is_waited_for(const struct server_lane *lane)
{
    return !list_is_empty(&lane->calls) || !list_is_empty(&lane->queue);
}

static int64_t now_of(const struct silence *silence)
{
    return silence->lane->client->loop.now_ns;
}

/* --- a sign of life --------------------------------------------------------------------------- */

/* As if the connection had broken; the one over which it was asked too, or it would be asked there
 * again. */
static void give_up(struct silence *silence)
{
    struct server_lane *lane = silence->lane;
    struct server_lane *control = lane_get(lane->client, lane->address, LANE_CONTROL);
    char text[COMPLAINT_BYTES];

    (void)snprintf(text, sizeof text, "%s has not answered for %lld ms",
                   location_cache_address(&lane->client->locations, lane->address),
                   (long long)((now_of(silence) - silence->heard_ns) / NS_PER_MS));
    if (control != NULL) {
        lane_give_up(control, bytes_of_text(text));
    }
    lane_give_up(lane, bytes_of_text(text));
}

static void on_probed(struct request *request,
                      enum status status,
                      struct bytes text,
                      struct bytes body)
{
    struct silence *silence = LIST_ELEMENT(request, struct silence, probe);
    (void)text;
    (void)body;
    silence->is_probing = false;
    if (status == STATUS_DEADLINE_EXCEEDED && !request->was_answered &&
        silence->heard_ns < silence->probed_ns) {
        give_up(silence);
    }
    if (is_waited_for(silence->lane)) {
        silence_watch(silence);
    }
}

/* Any server has something to say to this: a tablet server, that it is no master. */
static void probe(struct silence *silence)
{
    silence->is_probing = true;
    silence->probed_ns = now_of(silence);
    silence->probe = (struct request){
        .client = silence->lane->client,
        .method = METHOD_MASTER,
        .body = BUFFER_INIT,
        .address = silence->lane->address,
        .repeatable = true,
        .deadline_ms = PROBE_MS,
        .on_done = on_probed,
    };
    request_start(&silence->probe);
}

/* --- watching --------------------------------------------------------------------------------- */

static void on_timer(void *context, struct timer *timer)
{
    struct silence *silence = LIST_ELEMENT(timer, struct silence, timer);
    struct server_lane *lane = silence->lane;
    char text[COMPLAINT_BYTES];
    (void)context;

    silence->is_armed = false;
    if (!is_waited_for(lane)) {
        return;
    }
    if (now_of(silence) - silence->heard_ns < SILENCE_MAX_NS) {
        arm(silence, silence->heard_ns + SILENCE_MAX_NS);
    } else if (lane->ready) {
        probe(silence);
    } else {
        silence_watch(silence);
        (void)snprintf(text, sizeof text, "%s: no connection yet",
                       location_cache_address(&lane->client->locations, lane->address));
        lane_turn_away(lane, bytes_of_text(text));
    }
}

void silence_watch(struct silence *silence)
{
    if (silence->is_armed || silence->is_probing) {
        return;
    }
    silence->heard_ns = now_of(silence);
    arm(silence, silence->heard_ns + SILENCE_MAX_NS);
}

void silence_heard(struct silence *silence)
{
    silence->heard_ns = now_of(silence);
}

struct silence *silence_create(struct server_lane *lane)
{
    struct silence *silence = memory_allocate_zeroed(1, sizeof *silence);
    if (silence != NULL) {
        silence->lane = lane;
        silence->timer.run = on_timer;
    }
    return silence;
}

void silence_destroy(struct silence *silence)
{
    if (silence == NULL) {
        return;
    }
    loop_clear_timer(&silence->lane->client->loop, &silence->timer);
    if (silence->is_probing) {
        request_cancel(&silence->probe);
    }
    memory_free(silence);
}
