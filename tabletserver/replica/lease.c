#include "tabletserver/replica/lease_internal.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define EFFECTS_MORE 8 /* of one step, beside those that are counted */

/* --- room --------------------------------------------------------------------------------------- */

enum status lease_grow(void **array, uint32_t *capacity, uint32_t count, size_t item_size_bytes)
{
    if (count <= *capacity) {
        return STATUS_OK;
    }
    uint32_t more = count * 2;
    void *fresh = memory_allocate_zeroed(more, item_size_bytes);
    if (fresh == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (*array != NULL) {
        memcpy(fresh, *array, *capacity * item_size_bytes);
        memory_free(*array);
    }
    *array = fresh;
    *capacity = more;
    return STATUS_OK;
}

enum status lease_reserve_effects(struct lease *lease)
{
    uint64_t count = lease->grant_count + 1 + 2 * (lease->peer_count + 1U) + LEASE_EXCEPTIONS_MAX +
                     EFFECTS_MORE;
    ASSERT(count < UINT32_MAX / 2);
    return lease_grow((void **)&lease->effects, &lease->effect_capacity, (uint32_t)count,
                      sizeof *lease->effects);
}

struct lease_effect *lease_emit(struct lease *lease, enum lease_effect_type type, uint64_t peer)
{
    ASSERT(lease->effect_count < lease->effect_capacity);
    struct lease_effect *effect = &lease->effects[lease->effect_count++];
    *effect = (struct lease_effect){.type = type, .peer = peer};
    return effect;
}

/* --- peers -------------------------------------------------------------------------------------- */

static struct peer *find_peer(const struct lease *lease, uint64_t server)
{
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        if (lease->peers[i].server == server) {
            return &lease->peers[i];
        }
    }
    return NULL;
}

struct grant *lease_find_grant(struct peer *peer, uint64_t tablet)
{
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        if (peer->grants[i].tablet == tablet) {
            return &peer->grants[i];
        }
    }
    return NULL;
}

int64_t lease_grace_end(const struct lease *lease,
                        const struct peer *peer,
                        const struct grant *grant)
{
    bool renewed = !grant->stale && peer->heard_ns > grant->from_ns;
    return (renewed ? peer->heard_ns : grant->from_ns) + lease->settings.grace_ns;
}

static enum status add_peer(struct lease *lease, uint64_t server)
{
    if (lease->peer_count == LEASE_PEERS_MAX) {
        return STATUS_LIMIT;
    }
    enum status status = lease_reserve_effects(lease);
    if (status == STATUS_OK) {
        status = lease_grow((void **)&lease->peers, &lease->peer_capacity, lease->peer_count + 1,
                            sizeof *lease->peers);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct peer peer = {.server = server,
                        .present = true,
                        .beacon_due_ns = lease->now_ns,
                        .heard_ns = lease->begun_ns};
    lease->peers[lease->peer_count++] = peer;
    return STATUS_OK;
}

/* What is promised to it stays so: a peer that is away is only not talked to. */
static enum status on_peer(struct lease *lease, const struct lease_event *event)
{
    struct peer *peer = find_peer(lease, event->peer);
    if (peer == NULL) {
        return event->present ? add_peer(lease, event->peer) : STATUS_OK;
    }
    if (event->present && !peer->present) {
        peer->beacon_due_ns = lease->now_ns;
    }
    peer->present = event->present;
    return STATUS_OK;
}

/*
 * False: the message is of a process that is gone.  The first one heard of is told like any other:
 * a tablet may have been opened by the process before it, which was never heard here.
 */
bool lease_note_incarnation(struct lease *lease, struct peer *peer, uint64_t incarnation)
{
    if (incarnation <= peer->incarnation) {
        return incarnation == peer->incarnation;
    }
    peer->incarnation = incarnation;
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        struct grant *grant = &peer->grants[i];
        if (grant->incarnation < incarnation) {
            grant->from_ns = lease_grace_end(lease, peer, grant) - lease->settings.grace_ns;
            grant->stale = true;
        }
    }
    /* Exceptions stay, though it has not seen them: the process that is heard of now may have opened
     * the tablet before its first beacon came, and that is what was excepted. */
    peer->held_until_ns = 0;
    peer->exceptions_seen = 0;
    lease_emit(lease, LEASE_EFFECT_PEER_RESTARTED, peer->server)->incarnation = incarnation;
    return true;
}

/* --- time --------------------------------------------------------------------------------------- */

static void tell_silences(struct lease *lease, struct peer *peer)
{
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        struct grant *grant = &peer->grants[i];
        if (!grant->told && lease_grace_end(lease, peer, grant) <= lease->now_ns) {
            grant->told = true;
            struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_SILENT, peer->server);
            effect->tablet = grant->tablet;
            effect->version = grant->version;
        }
    }
}

static void on_ask(struct lease *lease, const struct lease_event *event)
{
    ASSERT(event->asked >= lease->asked);
    lease->asked = event->asked;
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        lease_send_if_asked(lease, &lease->peers[i]);
    }
}

static void on_tick(struct lease *lease)
{
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        struct peer *peer = &lease->peers[i];
        if (peer->present && peer->beacon_due_ns <= lease->now_ns) {
            lease_send_beacon(lease, peer);
        }
        tell_silences(lease, peer);
    }
}

/* --- public ------------------------------------------------------------------------------------- */

enum status lease_create(const struct lease_settings *settings,
                         uint64_t incarnation,
                         int64_t now_ns,
                         struct lease **ret_lease)
{
    ASSERT(lease_settings_check(settings, NULL) == STATUS_OK);
    ASSERT(incarnation != 0);
    struct lease *lease = memory_allocate_zeroed(1, sizeof *lease);
    if (lease == NULL) {
        return STATUS_NO_MEMORY;
    }
    lease->settings = *settings;
    lease->incarnation = incarnation;
    lease->begun_ns = now_ns;
    lease->forgotten_until_ns = now_ns + (settings->former_grace_ns > 0 ? settings->former_grace_ns
                                                                        : settings->grace_ns);
    lease->now_ns = now_ns;
    *ret_lease = lease;
    return STATUS_OK;
}

void lease_destroy(struct lease *lease)
{
    if (lease == NULL) {
        return;
    }
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        memory_free(lease->peers[i].grants);
        memory_free(lease->peers[i].exceptions);
        memory_free(lease->peers[i].exception_numbers);
    }
    memory_free(lease->peers);
    memory_free(lease->effects);
    memory_free(lease);
}

enum status lease_step(struct lease *lease,
                       const struct lease_event *event,
                       struct lease_effects *ret_effects)
{
    ASSERT(event->now_ns >= lease->now_ns);
    lease->now_ns = event->now_ns;
    lease->effect_count = 0;
    struct peer *peer = find_peer(lease, event->peer);
    enum status status = STATUS_OK;
    switch (event->type) {
    case LEASE_EVENT_TICK:
        on_tick(lease);
        break;
    case LEASE_EVENT_ASK:
        on_ask(lease, event);
        break;
    case LEASE_EVENT_PEER:
        status = on_peer(lease, event);
        break;
    case LEASE_EVENT_BEACON:
        if (peer != NULL) {
            lease_on_beacon(lease, peer, &event->beacon);
        }
        break;
    case LEASE_EVENT_ACKNOWLEDGEMENT:
        if (peer != NULL) {
            lease_on_acknowledgement(lease, peer, &event->acknowledgement);
        }
        break;
    case LEASE_EVENT_GRANT:
        status = peer != NULL ? lease_on_grant(lease, peer, event)
                              : lease_on_stranger(lease, event);
        break;
    case LEASE_EVENT_EXCEPT:
        status = peer != NULL ? lease_on_except(lease, peer, event)
                              : lease_on_stranger(lease, event);
        break;
    }
    ASSERT(IMPLIES(status != STATUS_OK, lease->effect_count == 0));
    *ret_effects = (struct lease_effects){lease->effects, lease->effect_count};
    return status;
}

int64_t lease_deadline_ns(const struct lease *lease)
{
    int64_t deadline_ns = LEASE_NEVER;
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        const struct peer *peer = &lease->peers[i];
        if (peer->present && peer->beacon_due_ns < deadline_ns) {
            deadline_ns = peer->beacon_due_ns;
        }
        for (uint32_t j = 0; j < peer->grant_count; j++) {
            int64_t end_ns = lease_grace_end(lease, peer, &peer->grants[j]);
            if (!peer->grants[j].told && end_ns < deadline_ns) {
                deadline_ns = end_ns;
            }
        }
    }
    return deadline_ns;
}

void lease_check(const struct lease *lease)
{
    uint64_t grant_count = 0;
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        const struct peer *peer = &lease->peers[i];
        grant_count += peer->grant_count;
        ASSERT(peer->heard_ns <= lease->now_ns);
        ASSERT(peer->held_until_ns <= lease->now_ns + lease->settings.lease_ns);
        ASSERT(peer->answered <= peer->number);
        ASSERT(peer->confirmed <= peer->sent_asked[peer->number % SENT_MAX]);
        ASSERT(peer->sent_asked[peer->number % SENT_MAX] <= lease->asked);
        for (uint32_t j = 0; j < peer->exception_count; j++) {
            ASSERT(peer->exception_numbers[j] <= peer->exceptions_number);
            ASSERT(j == 0 || peer->exception_numbers[j - 1] < peer->exception_numbers[j]);
        }
    }
    ASSERT(grant_count == lease->grant_count);
}

void lease_check_promises(const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        const struct peer *peer = &lease->peers[i];
        for (uint32_t j = 0; j < peer->exception_count; j++) {
            for (uint32_t k = 0; k < peer->grant_count; k++) {
                ASSERT(peer->grants[k].tablet != peer->exceptions[j].tablet ||
                       peer->grants[k].version > peer->exceptions[j].version);
            }
        }
    }
}
