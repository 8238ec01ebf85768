#include "tabletserver/replica/lease_internal.h"

#include <string.h>

static void forget_seen(struct peer *peer, uint64_t seen)
{
    uint32_t gone = 0;
    while (gone < peer->exception_count && peer->exception_numbers[gone] <= seen) {
        gone++;
    }
    peer->exception_count -= gone;
    if (gone == 0 || peer->exception_count == 0) {
        return;
    }
    memmove(peer->exceptions, peer->exceptions + gone,
            peer->exception_count * sizeof *peer->exceptions);
    memmove(peer->exception_numbers, peer->exception_numbers + gone,
            peer->exception_count * sizeof *peer->exception_numbers);
}

static void hear(struct lease *lease, struct peer *peer)
{
    peer->heard_ns = lease->now_ns;
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        peer->grants[i].told = peer->grants[i].told && peer->grants[i].stale;
    }
}

void lease_on_beacon(struct lease *lease, struct peer *peer, const struct lease_beacon *beacon)
{
    if (!lease_note_incarnation(lease, peer, beacon->incarnation)) {
        return;
    }
    if (beacon->seen_of == lease->incarnation) {
        forget_seen(peer, beacon->exceptions_seen);
    }
    uint32_t named = peer->exception_count;
    bool gives = lease_looks_at_grace(lease, peer, beacon) && named <= LEASE_EXCEPTIONS_MAX;
    if (gives) {
        hear(lease, peer);
    }
    named = named < LEASE_EXCEPTIONS_MAX ? named : LEASE_EXCEPTIONS_MAX;
    struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_ACKNOWLEDGE, peer->server);
    effect->acknowledgement = (struct lease_acknowledgement){
        .number = beacon->number,
        .beacon_incarnation = beacon->incarnation,
        .incarnation = lease->incarnation,
        .gives_lease = gives,
        .exceptions_number = named > 0 ? peer->exception_numbers[named - 1]
                                       : peer->exceptions_number,
        .exceptions = peer->exceptions,
        .exception_count = named,
        .grace_ns = lease->settings.grace_ns,
    };
}

/*
 * Versions of a store's promises rise.  Of a tablet that went from one store of this server to another, both may be
 * on their way to promise: what the slower one promises under the older version binds as long as a promise that
 * is made now.
 */
static bool is_overtaken(struct lease *lease, struct grant *grant, const struct lease_event *event)
{
    bool overtaken = grant != NULL && grant->version > event->version;
    if (overtaken) {
        grant->from_ns = lease->now_ns;
    }
    return overtaken;
}

enum status lease_on_grant(struct lease *lease, struct peer *peer, const struct lease_event *event)
{
    enum status status = lease_reserve_effects(lease);
    if (status == STATUS_OK) {
        status = lease_grow((void **)&peer->grants, &peer->grant_capacity, peer->grant_count + 1,
                            sizeof *peer->grants);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct grant *grant = lease_find_grant(peer, event->tablet);
    if (is_overtaken(lease, grant, event)) {
        return STATUS_OK;
    }
    if (grant == NULL) {
        grant = &peer->grants[peer->grant_count++];
        lease->grant_count++;
    }
    *grant = (struct grant){.tablet = event->tablet,
                            .version = event->version,
                            .incarnation = event->incarnation,
                            .from_ns = lease->now_ns,
                            .stale = event->incarnation < peer->incarnation};
    return STATUS_OK;
}

static enum status add_exception(struct peer *peer, uint64_t tablet, uint64_t version)
{
    enum status status = lease_grow((void **)&peer->exceptions, &peer->exception_capacity,
                                    peer->exception_count + 1, sizeof *peer->exceptions);
    if (status == STATUS_OK) {
        status = lease_grow((void **)&peer->exception_numbers, &peer->number_capacity,
                            peer->exception_count + 1, sizeof *peer->exception_numbers);
    }
    if (status == STATUS_OK) {
        peer->exceptions[peer->exception_count] = (struct lease_exception){tablet, version};
        peer->exception_numbers[peer->exception_count++] = ++peer->exceptions_number;
    }
    return status;
}

/* Without a grant there may have been one of the process before: it ends as if given when this one
 * began, under the grace of that one.  One of a later version is another store's, of this server: the older
 * promise is over when that one would be, at the latest. */
enum status lease_on_except(struct lease *lease, struct peer *peer, const struct lease_event *event)
{
    enum status status = add_exception(peer, event->tablet, event->version);
    if (status != STATUS_OK) {
        return status;
    }
    int64_t end_ns = lease->forgotten_until_ns;
    struct grant *grant = lease_find_grant(peer, event->tablet);
    if (grant != NULL) {
        int64_t grant_end_ns = lease_grace_end(lease, peer, grant);
        end_ns = grant_end_ns > end_ns ? grant_end_ns : end_ns;
    }
    if (grant != NULL && grant->version <= event->version) {
        *grant = peer->grants[--peer->grant_count];
        lease->grant_count--;
    }
    struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_EXCEPTED, peer->server);
    effect->tablet = event->tablet;
    effect->version = event->version;
    effect->at_ns = end_ns;
    return STATUS_OK;
}

/*
 * A promise to one that is no peer, as there were too many: it is kept by saying nothing.  Peers are never
 * forgotten, so it is none later either, and this process acknowledges none of its beacons; the process before may
 * have.
 */
enum status lease_on_stranger(struct lease *lease, const struct lease_event *event)
{
    if (event->type == LEASE_EVENT_GRANT) {
        return STATUS_LIMIT;
    }
    enum status status = lease_reserve_effects(lease);
    if (status == STATUS_OK) {
        struct lease_effect *effect = lease_emit(lease, LEASE_EFFECT_EXCEPTED, event->peer);
        effect->tablet = event->tablet;
        effect->version = event->version;
        effect->at_ns = lease->forgotten_until_ns;
    }
    return status;
}
