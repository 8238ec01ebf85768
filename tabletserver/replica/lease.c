#include "tabletserver/replica/lease.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SENT_MAX      16 /* beacons that are remembered until they are acknowledged */
#define PER_MILLION   1000000
#define NS_PER_MS     1000000
#define NS_PER_US     1000
#define PACE_LEAST_NS (INT64_C(50) * NS_PER_MS) /* between two beacons */
#define EFFECTS_MORE  8                         /* of one step, beside those that are counted */

/* (tablet, version) was promised to a peer, which leads it. */
struct grant {
    uint64_t tablet;
    uint64_t version;
    uint64_t incarnation; /* of the process that it was promised to */
    int64_t from_ns;
    bool told;  /* SILENT was */
    bool stale; /* that process is gone: no beacon renews it */
};

struct peer {
    uint64_t server;
    uint64_t incarnation; /* the newest known; 0 = none yet */
    bool present;
    /* holder */
    uint64_t number; /* of the last beacon sent */
    int64_t sent_ns[SENT_MAX];
    uint64_t sent_asked[SENT_MAX]; /* what had been asked then */
    uint64_t answered;             /* the last beacon that was acknowledged */
    uint64_t confirmed;            /* of what was asked */
    int64_t beacon_due_ns;
    int64_t held_until_ns; /* 0 = not */
    uint64_t exceptions_seen;
    int64_t counted_ns;     /* for so long its last answer was good; 0 = none yet */
    int64_t short_grace_ns; /* said last that it is too short; 0 = it is not */
    /* grantor */
    bool refused;     /* an earlier build, whose lease is too long; said */
    int64_t heard_ns; /* receipt of the last acknowledged beacon, or since when it may have been */
    struct grant *grants;
    uint32_t grant_count;
    uint32_t grant_capacity;
    struct lease_exception *exceptions;
    uint64_t *exception_numbers; /* of each; ascending */
    uint32_t exception_count;
    uint32_t exception_capacity;
    uint32_t number_capacity;
    uint64_t exceptions_number; /* of the last */
};

struct lease {
    struct lease_settings settings;
    uint64_t incarnation;
    int64_t begun_ns;
    int64_t forgotten_until_ns; /* what processes before this one have granted holds until then */
    int64_t now_ns;
    uint64_t asked; /* confirmations, so often */
    struct peer *peers;
    uint32_t peer_count;
    uint32_t peer_capacity;
    uint64_t grant_count; /* of all peers */
    struct lease_effect *effects;
    uint32_t effect_count;
    uint32_t effect_capacity;
};

/* --- room --------------------------------------------------------------------------------------- */

static enum status grow(void **array, uint32_t *capacity, uint32_t count, size_t item_size_bytes)
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

/* So that no step of one more peer, or one more grant, lacks room. */
static enum status reserve_effects(struct lease *lease)
{
    uint64_t count = lease->grant_count + 1 + 2 * (lease->peer_count + 1U) + LEASE_EXCEPTIONS_MAX +
                     EFFECTS_MORE;
    ASSERT(count < UINT32_MAX / 2);
    return grow((void **)&lease->effects, &lease->effect_capacity, (uint32_t)count,
                sizeof *lease->effects);
}

static struct lease_effect *emit(struct lease *lease, enum lease_effect_type type, uint64_t peer)
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

static struct grant *find_grant(struct peer *peer, uint64_t tablet)
{
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        if (peer->grants[i].tablet == tablet) {
            return &peer->grants[i];
        }
    }
    return NULL;
}

static int64_t grace_end(const struct lease *lease,
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
    enum status status = reserve_effects(lease);
    if (status == STATUS_OK) {
        status = grow((void **)&lease->peers, &lease->peer_capacity, lease->peer_count + 1,
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
static bool note_incarnation(struct lease *lease, struct peer *peer, uint64_t incarnation)
{
    if (incarnation <= peer->incarnation) {
        return incarnation == peer->incarnation;
    }
    peer->incarnation = incarnation;
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        struct grant *grant = &peer->grants[i];
        if (grant->incarnation < incarnation) {
            grant->from_ns = grace_end(lease, peer, grant) - lease->settings.grace_ns;
            grant->stale = true;
        }
    }
    /* Exceptions stay, though it has not seen them: the process that is heard of now may have opened
     * the tablet before its first beacon came, and that is what was excepted. */
    peer->held_until_ns = 0;
    peer->exceptions_seen = 0;
    emit(lease, LEASE_EFFECT_PEER_RESTARTED, peer->server)->incarnation = incarnation;
    return true;
}

/* --- does it fit? ------------------------------------------------------------------------------- */

/* Has a holder that counts so long stopped before a grantor with that grace is free?  Rounded against us. */
static bool fits(int64_t lease_ns, int64_t grace_ns, uint32_t drift_ppm)
{
    if (lease_ns <= 0 || lease_ns >= grace_ns) {
        return false;
    }
    int64_t slow_ns = lease_ns + (lease_ns / PER_MILLION + 1) * drift_ppm;
    int64_t fast_ns = grace_ns - (grace_ns / PER_MILLION + 1) * drift_ppm;
    return slow_ns < fast_ns;
}

/* The longest lease that does, to a millisecond.  Not above 0 where the grace makes no sense. */
static int64_t longest_that_fits(int64_t grace_ns, uint32_t drift_ppm)
{
    int64_t fast_ns = grace_ns - (grace_ns / PER_MILLION + 1) * drift_ppm;
    return (fast_ns / (PER_MILLION + drift_ppm) - 1) * PER_MILLION;
}

/* For how long is an answer of that peer good?  Said once for each grace that is too short for our lease. */
static int64_t counted_ns(struct lease *lease, struct peer *peer, int64_t said_ns)
{
    const struct lease_settings *ours = &lease->settings;
    int64_t grace_ns = said_ns != 0 ? said_ns : LEASE_EARLIER_GRACE_NS;
    if (fits(ours->lease_ns, grace_ns, ours->drift_ppm)) {
        peer->short_grace_ns = 0;
        return ours->lease_ns;
    }
    int64_t longest_ns = longest_that_fits(grace_ns, ours->drift_ppm);
    if (peer->short_grace_ns != grace_ns) {
        peer->short_grace_ns = grace_ns;
        struct lease_effect *effect = emit(lease, LEASE_EFFECT_SHORTENED, peer->server);
        effect->lease_ns = longest_ns;
        effect->grace_ns = grace_ns;
    }
    return longest_ns;
}

/* The pace of beacons goes with the lease, or a short one would run out between two of a long one's. */
static int64_t pace_ns(const struct lease *lease, const struct peer *peer)
{
    const struct lease_settings *ours = &lease->settings;
    if (peer->counted_ns <= 0 || peer->counted_ns >= ours->lease_ns) {
        return ours->beacon_ns;
    }
    int64_t pace_ns = ours->beacon_ns / NS_PER_US * (peer->counted_ns / NS_PER_US) /
                      (ours->lease_ns / NS_PER_US) * NS_PER_US;
    int64_t least_ns = ours->beacon_ns < PACE_LEAST_NS ? ours->beacon_ns : PACE_LEAST_NS;
    return pace_ns > least_ns ? pace_ns : least_ns;
}

/* Whoever says its lease looks at our grace, and counts for no longer than that allows.  An earlier build does not. */
static bool looks_at_grace(struct lease *lease,
                           struct peer *peer,
                           const struct lease_beacon *beacon)
{
    const struct lease_settings *ours = &lease->settings;
    bool is_safe = beacon->lease_ns != 0 ||
                   fits(LEASE_EARLIER_LEASE_NS, ours->grace_ns, ours->drift_ppm);
    if (!is_safe && !peer->refused) {
        struct lease_effect *effect = emit(lease, LEASE_EFFECT_NOT_GIVEN, peer->server);
        effect->lease_ns = LEASE_EARLIER_LEASE_NS;
        effect->grace_ns = ours->grace_ns;
    }
    peer->refused = !is_safe;
    return is_safe;
}

/* --- the grantor's side ------------------------------------------------------------------------- */

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

static void on_beacon(struct lease *lease, struct peer *peer, const struct lease_beacon *beacon)
{
    if (!note_incarnation(lease, peer, beacon->incarnation)) {
        return;
    }
    if (beacon->seen_of == lease->incarnation) {
        forget_seen(peer, beacon->exceptions_seen);
    }
    uint32_t named = peer->exception_count;
    bool gives = looks_at_grace(lease, peer, beacon) && named <= LEASE_EXCEPTIONS_MAX;
    if (gives) {
        hear(lease, peer);
    }
    named = named < LEASE_EXCEPTIONS_MAX ? named : LEASE_EXCEPTIONS_MAX;
    struct lease_effect *effect = emit(lease, LEASE_EFFECT_ACKNOWLEDGE, peer->server);
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

static enum status on_grant(struct lease *lease, struct peer *peer, const struct lease_event *event)
{
    enum status status = reserve_effects(lease);
    if (status == STATUS_OK) {
        status = grow((void **)&peer->grants, &peer->grant_capacity, peer->grant_count + 1,
                      sizeof *peer->grants);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct grant *grant = find_grant(peer, event->tablet);
    if (grant == NULL) {
        grant = &peer->grants[peer->grant_count++];
        lease->grant_count++;
    } else {
        ASSERT(grant->version <= event->version);
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
    enum status status = grow((void **)&peer->exceptions, &peer->exception_capacity,
                              peer->exception_count + 1, sizeof *peer->exceptions);
    if (status == STATUS_OK) {
        status = grow((void **)&peer->exception_numbers, &peer->number_capacity,
                      peer->exception_count + 1, sizeof *peer->exception_numbers);
    }
    if (status == STATUS_OK) {
        peer->exceptions[peer->exception_count] = (struct lease_exception){tablet, version};
        peer->exception_numbers[peer->exception_count++] = ++peer->exceptions_number;
    }
    return status;
}

/* Without a grant there may have been one of the process before: it ends as if given when this one
 * began, under the grace of that one. */
static enum status on_except(struct lease *lease,
                             struct peer *peer,
                             const struct lease_event *event)
{
    enum status status = add_exception(peer, event->tablet, event->version);
    if (status != STATUS_OK) {
        return status;
    }
    int64_t end_ns = lease->forgotten_until_ns;
    struct grant *grant = find_grant(peer, event->tablet);
    if (grant != NULL && grant->version <= event->version) {
        int64_t grant_end_ns = grace_end(lease, peer, grant);
        end_ns = grant_end_ns > end_ns ? grant_end_ns : end_ns;
        *grant = peer->grants[--peer->grant_count];
        lease->grant_count--;
    }
    struct lease_effect *effect = emit(lease, LEASE_EFFECT_EXCEPTED, peer->server);
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
static enum status on_stranger(struct lease *lease, const struct lease_event *event)
{
    if (event->type == LEASE_EVENT_GRANT) {
        return STATUS_LIMIT;
    }
    enum status status = reserve_effects(lease);
    if (status == STATUS_OK) {
        struct lease_effect *effect = emit(lease, LEASE_EFFECT_EXCEPTED, event->peer);
        effect->tablet = event->tablet;
        effect->version = event->version;
        effect->at_ns = lease->forgotten_until_ns;
    }
    return status;
}

/* --- the holder's side -------------------------------------------------------------------------- */

static void send_beacon(struct lease *lease, struct peer *peer)
{
    peer->number++;
    peer->sent_ns[peer->number % SENT_MAX] = lease->now_ns;
    peer->sent_asked[peer->number % SENT_MAX] = lease->asked;
    peer->beacon_due_ns = lease->now_ns + pace_ns(lease, peer);
    emit(lease, LEASE_EFFECT_BEACON, peer->server)->beacon = (struct lease_beacon){
        .number = peer->number,
        .incarnation = lease->incarnation,
        .exceptions_seen = peer->exceptions_seen,
        .seen_of = peer->incarnation,
        .lease_ns = lease->settings.lease_ns,
    };
}

/* A beacon that is due brings what was asked since the last one, too; one that is lost is not waited for. */
static void send_if_asked(struct lease *lease, struct peer *peer)
{
    bool is_under_way = peer->number > peer->answered;
    if (peer->present && !is_under_way &&
        peer->sent_asked[peer->number % SENT_MAX] < lease->asked) {
        send_beacon(lease, peer);
    }
}

static void confirm(struct lease *lease, struct peer *peer, uint64_t asked)
{
    if (asked > peer->confirmed) {
        peer->confirmed = asked;
        emit(lease, LEASE_EFFECT_CONFIRMED, peer->server)->asked = asked;
    }
}

static void on_acknowledgement(struct lease *lease,
                               struct peer *peer,
                               const struct lease_acknowledgement *acknowledgement)
{
    if (acknowledgement->beacon_incarnation != lease->incarnation ||
        acknowledgement->exception_count > LEASE_EXCEPTIONS_MAX || acknowledgement->number == 0 ||
        acknowledgement->number > peer->number ||
        acknowledgement->number + SENT_MAX <= peer->number ||
        !note_incarnation(lease, peer, acknowledgement->incarnation)) {
        return;
    }
    for (uint32_t i = 0; i < acknowledgement->exception_count; i++) {
        struct lease_effect *effect = emit(lease, LEASE_EFFECT_EXCEPTED_BY_PEER, peer->server);
        effect->tablet = acknowledgement->exceptions[i].tablet;
        effect->version = acknowledgement->exceptions[i].version;
    }
    if (acknowledgement->exceptions_number > peer->exceptions_seen) {
        peer->exceptions_seen = acknowledgement->exceptions_number;
    }
    peer->counted_ns = counted_ns(lease, peer, acknowledgement->grace_ns);
    int64_t until_ns = peer->sent_ns[acknowledgement->number % SENT_MAX] + peer->counted_ns;
    if (acknowledgement->gives_lease && peer->counted_ns > 0 && until_ns > peer->held_until_ns) {
        peer->held_until_ns = until_ns;
        emit(lease, LEASE_EFFECT_HELD_UNTIL, peer->server)->at_ns = until_ns;
    }
    if (acknowledgement->gives_lease) {
        confirm(lease, peer, peer->sent_asked[acknowledgement->number % SENT_MAX]);
    }
    if (acknowledgement->number > peer->answered) {
        peer->answered = acknowledgement->number;
    }
    send_if_asked(lease, peer);
}

/* --- time --------------------------------------------------------------------------------------- */

static void tell_silences(struct lease *lease, struct peer *peer)
{
    for (uint32_t i = 0; i < peer->grant_count; i++) {
        struct grant *grant = &peer->grants[i];
        if (!grant->told && grace_end(lease, peer, grant) <= lease->now_ns) {
            grant->told = true;
            struct lease_effect *effect = emit(lease, LEASE_EFFECT_SILENT, peer->server);
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
        send_if_asked(lease, &lease->peers[i]);
    }
}

static void on_tick(struct lease *lease)
{
    for (uint32_t i = 0; i < lease->peer_count; i++) {
        struct peer *peer = &lease->peers[i];
        if (peer->present && peer->beacon_due_ns <= lease->now_ns) {
            send_beacon(lease, peer);
        }
        tell_silences(lease, peer);
    }
}

/* --- public ------------------------------------------------------------------------------------- */

/* That fits, in whole milliseconds: the least of them, or one more. */
static int64_t least_grace_ms(int64_t lease_ns, uint32_t drift_ppm)
{
    int64_t slow_ns = lease_ns + (lease_ns / PER_MILLION + 1) * drift_ppm;
    int64_t grace_ms = slow_ns / (PER_MILLION - drift_ppm) + 1;
    return fits(lease_ns, grace_ms * NS_PER_MS, drift_ppm) ? grace_ms : grace_ms + 1;
}

enum status lease_settings_check(const struct lease_settings *settings, struct error *ret_error)
{
    const struct lease_settings *s = settings;
    if (s->beacon_ns <= 0 || s->lease_ns <= 0 || s->grace_ns <= 0 || s->drift_ppm >= PER_MILLION) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "beacon, lease and grace must be above 0");
    }
    if (s->lease_ns / 2 <= s->beacon_ns) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "lease, %" PRId64 " ms, must be longer than two beacons of %" PRId64
                         " ms, as one may be lost: raise lease, or lower beacon",
                         s->lease_ns / NS_PER_MS, s->beacon_ns / NS_PER_MS);
    }
    if (!fits(s->lease_ns, s->grace_ns, s->drift_ppm)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "grace, %" PRId64 " ms, must be longer than lease, %" PRId64
                         " ms, by what clocks may differ: raise grace to %" PRId64
                         " ms, or lower lease",
                         s->grace_ns / NS_PER_MS, s->lease_ns / NS_PER_MS,
                         least_grace_ms(s->lease_ns, s->drift_ppm));
    }
    return STATUS_OK;
}

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
            on_beacon(lease, peer, &event->beacon);
        }
        break;
    case LEASE_EVENT_ACKNOWLEDGEMENT:
        if (peer != NULL) {
            on_acknowledgement(lease, peer, &event->acknowledgement);
        }
        break;
    case LEASE_EVENT_GRANT:
        status = peer != NULL ? on_grant(lease, peer, event) : on_stranger(lease, event);
        break;
    case LEASE_EVENT_EXCEPT:
        status = peer != NULL ? on_except(lease, peer, event) : on_stranger(lease, event);
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
            int64_t end_ns = grace_end(lease, peer, &peer->grants[j]);
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
            for (uint32_t k = 0; k < peer->grant_count; k++) {
                ASSERT(peer->grants[k].tablet != peer->exceptions[j].tablet ||
                       peer->grants[k].version > peer->exceptions[j].version);
            }
        }
    }
    ASSERT(grant_count == lease->grant_count);
}
