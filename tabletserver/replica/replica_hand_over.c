/*
 * Hand-over (rule 14): whom the primary makes way for, and its word that it has.
 *
 *   wished, stalled, damaged, leaving --> who would lead? --> no more writes --all is committed--> YIELD, again and again --> a higher version
 *                                                                  '--too long: not now                '--nothing comes of it: it renews
 *
 * Members say with all that they acknowledge whether they would lead (REPLICA_WILL_*); of whom that was not heard
 * lately it is asked, while everything goes on.  So nobody is made way for who reaches no master.
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

/* Its server is no good: whoever can lead is better. */
static bool is_unfit(const struct replica *replica)
{
    return replica->stalled || replica->damaged || replica->leaving;
}

/* Then who says nothing is taken, too: to propose oneself to nobody is no worse than silence.  It has had its time only
 * as primary: of two that are both about to end each would hand the lead back at once. */
bool replica_has_no_time(const struct replica *replica)
{
    int64_t since_ns = replica->leaving_ns > replica->leads_since_ns ? replica->leaving_ns
                                                                     : replica->leads_since_ns;
    return replica->leaving && replica->now_ns - since_ns >= replica->settings.open_timeout_ns;
}

static bool would_lead(const struct replica *replica, const struct replica_peer *peer)
{
    bool lately = replica->now_ns - peer->will_ns <= replica->settings.open_timeout_ns;
    return peer->will == REPLICA_WILL_UNKNOWN || (peer->will == REPLICA_WILL_LEAD && lately);
}

/* Whom the primary should make way for; 0 = whoever can, of those that are wished for.  A goal without it lets it go
 * last. */
bool replica_wants_to_hand_over(const struct replica *replica, uint64_t *ret_wanted)
{
    *ret_wanted = 0;
    if (is_unfit(replica)) {
        return true;
    }
    if (replica_in_the_way(replica) == replica->self.store) {
        return true; /* whoever leads then removes this one */
    }
    if (replica->goal_members.count == 0 || !replica_has_all_wanted(replica)) {
        return false;
    }
    *ret_wanted = replica->goal_leader;
    return replica->goal_leader == 0 ? !replica_wishes_for(replica, replica->self.store)
                                     : replica->goal_leader != replica->self.store;
}

static int64_t settled_ns(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->opened_ns + replica->settings.settle_ns;
}

static bool has_settled(const struct replica *replica, const struct replica_peer *peer)
{
    return settled_ns(replica, peer) <= replica->now_ns;
}

/* May the primary make way for it, if it would lead? */
static bool is_candidate(const struct replica *replica,
                         const struct replica_peer *peer,
                         uint64_t wanted)
{
    uint64_t store = peer->member.store;
    bool meant = wanted != 0 ? store == wanted
                             : is_unfit(replica) || replica_wishes_for(replica, store);
    return meant && can_succeed(replica, peer);
}

/* Of these, the next behind the one that was tried last. */
struct choice {
    uint64_t tried;
    uint64_t first;
    uint64_t behind;
};

static void consider(struct choice *choice, uint64_t store)
{
    if (choice->first == 0 || store < choice->first) {
        choice->first = store;
    }
    if (store > choice->tried && (choice->behind == 0 || store < choice->behind)) {
        choice->behind = store;
    }
}

static uint64_t chosen(const struct choice *choice)
{
    return choice->behind != 0 ? choice->behind : choice->first;
}

/* Who would lead and has settled; else, if its server is no good, who would; else, at the last, whoever can. */
static uint64_t find_successor(const struct replica *replica, uint64_t wanted)
{
    struct choice settled = {.tried = replica->handing_to};
    struct choice willing = settled;
    struct choice anyone = settled;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (!is_candidate(replica, peer, wanted)) {
            continue;
        }
        consider(&anyone, peer->member.store);
        if (would_lead(replica, peer)) {
            consider(&willing, peer->member.store);
        }
        if (would_lead(replica, peer) && has_settled(replica, peer)) {
            consider(&settled, peer->member.store);
        }
    }
    uint64_t successor = chosen(&settled);
    if (successor == 0 && is_unfit(replica)) {
        successor = chosen(&willing);
    }
    if (successor == 0 && (replica->yielded || replica_has_no_time(replica))) {
        successor = chosen(&anyone);
    }
    return successor;
}

/* --- who would lead? ---------------------------------------------------------------------------- */

/* When it is worth asking. */
static int64_t ask_due_ns(const struct replica *replica,
                          const struct replica_peer *peer,
                          uint64_t wanted)
{
    if (!is_candidate(replica, peer, wanted) || would_lead(replica, peer)) {
        return DUE_NEVER;
    }
    if (!is_unfit(replica) && !has_settled(replica, peer)) {
        return settled_ns(replica, peer);
    }
    return peer->asked_ns == DUE_NOW ? DUE_NOW : peer->asked_ns + replica->settings.open_timeout_ns;
}

static void ask(struct replica *replica, uint64_t wanted)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        struct replica_peer *peer = &replica->peers[i];
        if (ask_due_ns(replica, peer, wanted) <= replica->now_ns) {
            peer->question = true;
            peer->asked_ns = replica->now_ns;
        }
    }
}

/* When it is worth looking again for who is wished for. */
static int64_t wish_due_ns(const struct replica *replica)
{
    uint64_t wanted = 0;
    int64_t due_ns = DUE_NEVER;
    if (!replica_wants_to_hand_over(replica, &wanted)) {
        return due_ns;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        int64_t looked_ns = ask_due_ns(replica, peer, wanted);
        if (is_candidate(replica, peer, wanted) && !has_settled(replica, peer)) {
            looked_ns = replica_sooner(looked_ns, settled_ns(replica, peer));
        }
        if (looked_ns >
            replica->now_ns) { /* else something keeps it from that, and will be heard of */
            due_ns = replica_sooner(due_ns, looked_ns);
        }
    }
    return due_ns;
}

/* --- the word ----------------------------------------------------------------------------------- */

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

static void not_now(struct replica *replica, int64_t wait_ns)
{
    replica->handing_to = 0;
    replica->handing_after_ns = replica->now_ns + wait_ns;
}

/* Much may have changed while all was committed. */
static bool is_good_still(const struct replica *replica, const struct replica_peer *peer)
{
    return peer != NULL && can_succeed(replica, peer) &&
           (peer->will != REPLICA_WILL_NOT || replica_has_no_time(replica));
}

/* No writes from here on; and none of the wish, for a while, if it takes too long, or its successor is no good any more. */
static void finish_writes(struct replica *replica)
{
    if (!is_good_still(replica, replica_find_peer(replica, replica->handing_to))) {
        not_now(replica, replica->settings.resend_ns);
    } else if (replica->stalled || replica->committed == replica_appended(replica)) {
        yield(replica);
    } else if (replica->now_ns >= replica->handing_until_ns) {
        not_now(replica, replica->settings.prepare_timeout_ns);
    }
}

static void advance_yielded(struct replica *replica)
{
    bool waited = replica->now_ns >= replica->renew_at_ns;
    if (!replica->stalled && !replica->leaving && waited) {
        replica_propose_renewal(replica);
        return;
    }
    if (is_unfit(replica)) {
        ask(replica, 0); /* who is next, should nothing come of this one */
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
    if (!replica->serving || replica->now_ns < replica->handing_after_ns) {
        return;
    }
    uint64_t successor = find_successor(replica, wanted);
    if (successor == 0) {
        ask(replica, wanted);
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
