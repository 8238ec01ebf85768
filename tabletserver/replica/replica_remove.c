/*
 * Who is no good any more (rules 13 and 15): as a member removed, as a learner let go; and how long stores that had to be
 * removed are waited with.
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

#define SECOND_NS          INT64_C(1000000000)
#define PATIENCE_MIN_NS    SECOND_NS
#define PATIENCE_MAX_NS    (64 * SECOND_NS)
#define FORGIVEN_NS        (60 * SECOND_NS)
#define RESTARTED_AGAIN_NS (10 * SECOND_NS) /* who restarts within this is not waited for again */

/* --- patience with stores that had to be removed (rule 13) -------------------------------------- */

struct replica_patience *replica_patience_with(struct replica *replica, uint64_t store)
{
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX; i++) {
        if (replica->patience[i].store == store) {
            return &replica->patience[i];
        }
    }
    return NULL;
}

/* What is lost when it makes room for another: nothing, a wait, or that it counts (rule 16). */
static int64_t worth_of(const struct replica *replica, const struct replica_patience *patience)
{
    if (patience->store == 0) {
        return -1;
    }
    bool counted = patience->counted_version == replica_version(replica);
    return counted ? PATIENCE_MAX_NS + 1 : patience->wait_ns;
}

struct replica_patience *replica_have_patience_with(struct replica *replica, uint64_t store)
{
    struct replica_patience *patience = replica_patience_with(replica, store);
    if (patience != NULL) {
        return patience;
    }
    patience = &replica->patience[0];
    for (uint32_t i = 1; i < REPLICA_PEERS_MAX; i++) {
        if (worth_of(replica, &replica->patience[i]) < worth_of(replica, patience)) {
            patience = &replica->patience[i];
        }
    }
    *patience = (struct replica_patience){.store = store, .joined_ns = replica->now_ns};
    return patience;
}

static void lose_patience(struct replica *replica, uint64_t store)
{
    struct replica_patience *patience = replica_have_patience_with(replica, store);
    int64_t minutes = (replica->now_ns - patience->joined_ns) / FORGIVEN_NS;
    int64_t wait_ns = minutes < 7 ? patience->wait_ns >> minutes : 0;
    wait_ns = wait_ns * 2 > PATIENCE_MAX_NS ? PATIENCE_MAX_NS : wait_ns * 2;
    patience->wait_ns = wait_ns < PATIENCE_MIN_NS ? PATIENCE_MIN_NS : wait_ns;
    patience->until_ns = replica->now_ns + patience->wait_ns;
    patience->joined_ns = replica->now_ns;
}

/* A tablet that takes no writes for want of members has no time for that. */
int64_t replica_patience_end_ns(const struct replica *replica,
                                const struct replica_patience *patience)
{
    if (replica_has_enough(replica) || patience->wait_ns <= PATIENCE_MIN_NS) {
        return patience->until_ns;
    }
    return patience->until_ns - patience->wait_ns + PATIENCE_MIN_NS;
}

/* --- who restarts (rule 13) --------------------------------------------------------------------- */

/* A member's lease is void with the process that gave it, and the new one is asked only now: it has its time.  One that
 * begins again and again has none, or writes would stand still each time. */
void replica_hear_of_process(const struct replica *replica,
                             struct replica_peer *peer,
                             uint64_t incarnation)
{
    bool restarted = peer->incarnation != 0;
    bool again = peer->restarted_ns != 0 &&
                 replica->now_ns - peer->restarted_ns < RESTARTED_AGAIN_NS;
    peer->incarnation = incarnation;
    if (restarted && peer->held && !again) {
        peer->held_until_ns = replica->now_ns + replica->settings.open_timeout_ns;
    }
    peer->restarted_ns = restarted ? replica->now_ns : 0;
}

/* --- removal (rules 13 and 15) ------------------------------------------------------------------ */

/* Of the other members: one that is there, and not damaged as far as it has said. */
static bool has_sound_besides(const struct replica *replica, const struct replica_peer *peer)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *other = &replica->peers[i];
        if (other != peer && other->is_member && other->opened && !other->broken) {
            return true;
        }
    }
    return false;
}

/* Section 9: without it nobody who counts would have what is damaged here. */
static bool is_needed(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->is_member && replica->damaged && !peer->broken &&
           !has_sound_besides(replica, peer);
}

static bool has_learner_at_hand(const struct replica *replica)
{
    bool has = false;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        has = has || (!peer->is_member && (peer->taught || peer->joining));
    }
    return has;
}

/* To be alone gives writes nothing that need two: a tablet that had three and stood still for a moment
 * would be lost with its primary. */
static int64_t last_due_ns(const struct replica *replica, int64_t due_ns)
{
    bool waits = due_ns != DUE_NOW && due_ns != DUE_NEVER && replica->settings.min_in_sync > 1 &&
                 !has_learner_at_hand(replica);
    return replica_later(waits ? due_ns + replica->settings.last_ns : due_ns,
                         replica->alone_from_ns); /* rule 21 */
}

/* From when on it is no good: as a member it is removed then, as a learner let go. */
static int64_t failed_ns(const struct replica *replica, const struct replica_peer *peer)
{
    int64_t due_ns = peer->broken || (peer->excepted && !peer->refuses) ? DUE_NOW : DUE_NEVER;
    bool needed = is_needed(replica, peer);
    if (!peer->held && (!needed || peer->opened)) {
        due_ns = replica_sooner(due_ns, peer->held_until_ns);
    }
    if (needed) {
        return due_ns; /* it is there, and grants nothing under this version: under the next it may */
    }
    if (!peer->opened) {
        due_ns = replica_sooner(due_ns, peer->open_until_ns);
    }
    bool late = peer->prepared <= replica->committed &&
                replica->committed < replica_appended(replica) &&
                replica->synced > replica->committed;
    if (late && peer->opened && (peer->is_member || peer->joining)) {
        due_ns = replica_sooner(due_ns,
                                replica->oldest_since_ns + replica->settings.prepare_timeout_ns);
    }
    bool is_last = peer->is_member && replica->configuration.member_count == 2;
    return is_last ? last_due_ns(replica, due_ns) : due_ns;
}

void replica_let_go(struct replica *replica, struct replica_peer *peer)
{
    ASSERT(!replica_counts(replica, peer));
    *peer = replica->peers[--replica->peer_count];
}

/* It was opened as a member under this version, so it cannot be taught under it any more (rule 16): the
 * entries that it lacks are in no log.  Under the next version it can. */
static bool is_stuck(struct replica *replica, const struct replica_peer *peer)
{
    const struct replica_patience *patience = replica_patience_with(replica, peer->member.store);
    return peer->broken && patience != NULL &&
           patience->counted_version == replica_version(replica);
}

/* True: something was proposed. */
static bool remove_one(struct replica *replica, struct replica_peer *peer)
{
    uint64_t store = peer->member.store;
    bool renews = peer->is_member ? is_needed(replica, peer) : is_stuck(replica, peer);
    bool leaves = peer->is_member && !renews;
    if (!peer->is_member) {
        replica_let_go(replica, peer);
    }
    if (renews) {
        replica_propose_renewal(replica);
    } else if (leaves) {
        replica_propose_members(replica,
                                replica_configuration_remove(&replica->configuration, store));
    }
    return renews || leaves;
}

bool replica_remove_failed(struct replica *replica)
{
    for (uint32_t i = replica->peer_count; i-- > 0;) {
        struct replica_peer *peer = &replica->peers[i];
        if (failed_ns(replica, peer) > replica->now_ns) {
            continue;
        }
        lose_patience(replica, peer->member.store);
        if (remove_one(replica, peer)) {
            return true;
        }
    }
    return false;
}

int64_t replica_remove_due_ns(const struct replica *replica)
{
    int64_t due_ns = DUE_NEVER;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        due_ns = replica_sooner(due_ns, failed_ns(replica, &replica->peers[i]));
    }
    return due_ns;
}
