#include "tests/sim/world/sim_network.h"

#include <string.h>

#include "common/base/assert.h"

#define SLOW_FACTOR 60

static int64_t draw_latency_ns(struct sim *sim)
{
    const struct sim_settings *settings = &sim->settings;
    int64_t latency_ns = settings->latency_min_ns + sim_about_ns(sim, settings->latency_mean_ns);
    return sim_chance(sim, settings->slow) ? latency_ns * SLOW_FACTOR : latency_ns;
}

static void deliver(struct sim *sim, uint32_t from, uint32_t to, const struct buffer *frame)
{
    const struct sim_link *link = &sim->links[from][to];
    struct sim_event event = {.kind = SIM_EVENT_MESSAGE, .node = to, .from = from};

    sim->statistics.messages++;
    if (link->cut || sim->now_ns < link->parted_until_ns || sim_chance(sim, sim->settings.loss)) {
        sim->statistics.lost++;
        return;
    }
    event.time_ns = sim->now_ns + draw_latency_ns(sim);
    if (event.time_ns < link->clogged_until_ns) {
        event.time_ns = link->clogged_until_ns + draw_latency_ns(sim);
    }
    buffer_append_bytes(&event.message, buffer_bytes(frame));
    if (sim_chance(sim, sim->settings.corruption)) {
        size_t at = (size_t)prng_below(&sim->prng, frame->size_bytes);
        event.message.data[at] ^= (uint8_t)(1U << prng_below(&sim->prng, 8));
        event.number = 1; /* damaged: it must not pass */
    }
    sim_heap_add(&sim->heap, &event);
}

/* A second copy of an administrator's request would be a second request: they carry no identity, and
 * real connections make no copies. */
static bool may_double(const struct frame_header *header)
{
    return header->type != FRAME_REQUEST || header->method < METHOD_CREATE_TABLE ||
           header->method >= METHOD_SYNC;
}

void sim_network_send(struct sim *sim, uint32_t from, const struct sim_effect *effect)
{
    struct buffer frame = BUFFER_INIT;
    struct frame_header header = effect->frame;
    struct bytes payload = buffer_bytes(&effect->message);
    struct buffer message = effect->message;
    uint8_t *space = buffer_reserve(&frame, FRAME_HEADER_BYTES);

    ASSERT(!effect->message.failed && space != NULL);
    ASSERT(payload.size_bytes <= FRAME_PAYLOAD_BYTES_MAX);
    header.payload_bytes = (uint32_t)payload.size_bytes;
    frame_header_encode(&header, payload, space);
    buffer_advance(&frame, FRAME_HEADER_BYTES);
    buffer_append_bytes(&frame, payload);
    deliver(sim, from, effect->to, &frame);
    if (may_double(&header) && sim_chance(sim, sim->settings.duplication)) {
        deliver(sim, from, effect->to, &frame);
    }
    buffer_deinit(&frame);
    buffer_deinit(&message);
}

bool sim_network_open(struct sim *sim,
                      const struct sim_event *event,
                      struct sim_message *ret_message)
{
    const struct buffer *frame = &event->message;
    struct frame_header header;
    struct bytes payload = bytes_of(frame->data + FRAME_HEADER_BYTES,
                                    frame->size_bytes - FRAME_HEADER_BYTES);
    struct error error = {.status = STATUS_OK};

    bool good = frame_header_decode(frame->data, &header, &error) == STATUS_OK &&
                header.payload_bytes == payload.size_bytes &&
                frame_check(frame->data, payload, &error) == STATUS_OK;
    if (good == (event->number != 0)) {
        sim_fail(sim, good ? "a damaged frame passed its checks" : "a good frame was refused: %s",
                 error.text);
    }
    if (!good) {
        return false;
    }
    *ret_message = (struct sim_message){.from = event->from,
                                        .type = header.type,
                                        .method = (enum method)header.method,
                                        .request = header.request,
                                        .payload = payload};
    return true;
}

void sim_network_heal(struct sim *sim)
{
    memset(sim->links, 0, sizeof sim->links);
    sim->settings.loss = 0;
    sim->settings.slow = 0;
    sim->settings.corruption = 0;
}
