/*
 * Hand-over (rule 14): whom the primary makes way for, and its word that it has.
 *
 *   wished, stalled, damaged, leaving --> no more writes --all is committed--> YIELD, again and again --> a higher version
 *                                              '--too long: not now                '--nothing comes of it: it renews
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

/* What a hand-over's transaction may take, in open timeouts, before the old primary renews. */
#define YIELD_TIMEOUTS 2

bool replica_has_all_wanted(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->goal_members.count; i++) {
        if (!replica_has_member(replica, replica->goal_members.members[i].store)) {
            return false;
        }
    }
    return true;
}

static bool can_succeed(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->is_member && peer->opened && peer->held && !peer->excepted && !peer->broken &&
           peer->prepared >= replica->committed;
}

/* Whom the primary should make way for; 0 = nobody.  A goal without it lets it go last. */
bool replica_wants_to_hand_over(const struct replica *replica, uint64_t *ret_wanted)
{
    *ret_wanted = 0;
    if (replica->stalled || replica->damaged || replica->leaving) {
        return true;
    }
    if (replica->goal_members.count == 0 || !replica_has_all_wanted(replica)) {
        return false;
    }
    bool is_wanted = replica_wishes_for(replica, replica->self.store);
    *ret_wanted = replica->goal_leader;
    if (replica->goal_leader == 0 && !is_wanted) {
        *ret_wanted = replica->goal_members.members[0].store;
    }
    return *ret_wanted != 0 && *ret_wanted != replica->self.store;
}

static int64_t settled_ns(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->opened_ns + replica->settings.settle_ns;
}

/* The next good one behind the one that was tried last; of those that have settled, if it is asked. */
static uint64_t next_successor(const struct replica *replica, bool settled)
{
    uint64_t first = 0;
    uint64_t behind = 0;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        uint64_t store = peer->member.store;
        if (!can_succeed(replica, peer) ||
            (settled && settled_ns(replica, peer) > replica->now_ns)) {
            continue;
        }
        first = first == 0 || store < first ? store : first;
        if (store > replica->handing_to && (behind == 0 || store < behind)) {
            behind = store;
        }
    }
    return behind != 0 ? behind : first;
}

static const struct replica_peer *peer_in(const struct replica *replica, uint64_t store)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].member.store == store) {
            return &replica->peers[i];
        }
    }
    return NULL;
}

/* The store that is wished for, when it has settled; wanted 0: whoever can. */
static uint64_t find_successor(const struct replica *replica, uint64_t wanted)
{
    if (wanted == 0) {
        uint64_t settled = next_successor(replica, true);
        return settled != 0 ? settled : next_successor(replica, false);
    }
    const struct replica_peer *peer = peer_in(replica, wanted);
    bool can = peer != NULL && can_succeed(replica, peer) &&
               settled_ns(replica, peer) <= replica->now_ns;
    return can ? wanted : 0;
}

/* When it is worth looking again who is wished for. */
static int64_t wish_due_ns(const struct replica *replica)
{
    uint64_t wanted = 0;
    const struct replica_peer *peer = replica_wants_to_hand_over(replica, &wanted)
                                          ? peer_in(replica, wanted)
                                          : NULL;
    bool waits = peer != NULL && peer->opened && settled_ns(replica, peer) > replica->now_ns;
    return waits ? settled_ns(replica, peer) : DUE_NEVER;
}

static void send_yield(struct replica *replica)
{
    const struct replica_peer *peer = replica_find_peer(replica, replica->handing_to);
    ASSERT(peer != NULL);
    replica->yield_due_ns = replica->now_ns + replica->settings.resend_ns;
    replica_send(replica, peer->member, REPLICA_YIELD)->sequence = replica->committed;
}

static void yield(struct replica *replica)
{
    replica->yielded = true;
    replica->renew_at_ns = replica->now_ns + YIELD_TIMEOUTS * replica->settings.open_timeout_ns;
    replica_reign_serve(replica); /* ceases, before the word goes out */
    send_yield(replica);
}

/* No writes from here on; and none of the wish, for a while, if it takes too long. */
static void finish_writes(struct replica *replica)
{
    if (replica->stalled || replica->committed == replica_appended(replica)) {
        yield(replica);
    } else if (replica->now_ns >= replica->handing_until_ns) {
        replica->handing_to = 0;
        replica->handing_after_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    }
}

static void advance_yielded(struct replica *replica)
{
    bool waited = replica->now_ns >= replica->renew_at_ns;
    if (!replica->stalled && !replica->leaving && waited) {
        replica_propose_renewal(replica);
        return;
    }
    if (waited) {
        uint64_t successor = find_successor(replica, 0);
        replica->handing_to = successor != 0 ? successor : replica->handing_to;
        replica->renew_at_ns = replica->now_ns + YIELD_TIMEOUTS * replica->settings.open_timeout_ns;
    }
    if (replica->now_ns >= replica->yield_due_ns) {
        send_yield(replica);
    }
}

void replica_hand_over_begin(struct replica *replica, uint64_t wanted)
{
    uint64_t successor = find_successor(replica, wanted);
    if (!replica->serving || successor == 0 || replica->now_ns < replica->handing_after_ns) {
        return;
    }
    replica->handing_to = successor;
    replica->handing_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    finish_writes(replica);
}

void replica_hand_over_advance(struct replica *replica)
{
    if (replica->yielded) {
        advance_yielded(replica);
    } else {
        finish_writes(replica);
    }
}

int64_t replica_hand_over_due_ns(const struct replica *replica)
{
    if (replica->yielded) {
        return replica_sooner(replica->renew_at_ns, replica->yield_due_ns);
    }
    int64_t due_ns = wish_due_ns(replica);
    if (replica->handing_to != 0) {
        due_ns = replica_sooner(due_ns, replica->handing_until_ns);
    }
    if (replica->handing_after_ns > replica->now_ns) {
        due_ns = replica_sooner(due_ns, replica->handing_after_ns);
    }
    return due_ns;
}
