/*
 * What a replica wants of the catalog (rules 2, 9, 12, 13, 15), and hand-overs (rule 14).
 *
 * One proposal at a time, said again unchanged until a higher version is known (rule 9).
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

#define SECOND_NS       INT64_C(1000000000)
#define PATIENCE_MIN_NS SECOND_NS
#define PATIENCE_MAX_NS (64 * SECOND_NS)
#define FORGIVEN_NS     (60 * SECOND_NS)
/* Entries that a learner may lack when it is made to join: some milliseconds' worth. */
#define JOIN_BEHIND_MAX 256

/* What a hand-over's transaction may take, in open timeouts, before the old primary renews. */
#define YIELD_TIMEOUTS 2

/* --- one proposal ------------------------------------------------------------------------------- */

/* Rule 2: a lone primary notes it first; replica_propose_send() waits for that. */
static void note_doubt(struct replica *replica)
{
    if (replica_is_lone(replica) && replica->role == REPLICA_PRIMARY &&
        !replica->flags.doubt_noted) {
        replica->flags.doubt_noted = true;
        replica_emit_configure(replica, replica_appended(replica));
    }
}

void replica_propose_begin(struct replica *replica, const struct replica_proposal *proposal)
{
    ASSERT(!replica->proposing);
    ASSERT(proposal->base == replica_version(replica));
    replica->proposing = true;
    replica->proposal = *proposal;
    replica->propose_due_ns = DUE_NOW;
    note_doubt(replica);
}

void replica_propose_reset(struct replica *replica)
{
    replica->proposing = false;
    replica->handing_to = 0;
    replica->handing_after_ns = DUE_NOW;
    replica->yielded = false;
}

void replica_propose_send(struct replica *replica)
{
    if (!replica->proposing || replica->configuring > 0 ||
        replica->now_ns < replica->propose_due_ns) {
        return;
    }
    replica->propose_due_ns = replica->now_ns + replica->settings.propose_ns;
    replica_emit(replica, REPLICA_EFFECT_PROPOSE)->proposal = replica->proposal;
}

static void propose_members(struct replica *replica, struct replica_configuration next)
{
    replica_propose_begin(replica, &(struct replica_proposal){.kind = REPLICA_PROPOSE_MEMBERS,
                                                              .base = replica_version(replica),
                                                              .next = next});
}

static struct replica_configuration renewal_of(const struct replica *replica)
{
    struct replica_configuration next = replica->configuration;
    next.version++;
    return next;
}

/* --- patience with stores that had to be removed (rule 13) -------------------------------------- */

static struct replica_patience *patience_with(struct replica *replica, uint64_t store)
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

static struct replica_patience *have_patience_with(struct replica *replica, uint64_t store)
{
    struct replica_patience *patience = patience_with(replica, store);
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
    struct replica_patience *patience = have_patience_with(replica, store);
    int64_t minutes = (replica->now_ns - patience->joined_ns) / FORGIVEN_NS;
    int64_t wait_ns = minutes < 7 ? patience->wait_ns >> minutes : 0;
    wait_ns = wait_ns * 2 > PATIENCE_MAX_NS ? PATIENCE_MAX_NS : wait_ns * 2;
    patience->wait_ns = wait_ns < PATIENCE_MIN_NS ? PATIENCE_MIN_NS : wait_ns;
    patience->until_ns = replica->now_ns + patience->wait_ns;
    patience->joined_ns = replica->now_ns;
}

/* A tablet that takes no writes for want of members has no time for that. */
static int64_t patience_end_ns(const struct replica *replica,
                               const struct replica_patience *patience)
{
    if (replica_has_enough(replica) || patience->wait_ns <= PATIENCE_MIN_NS) {
        return patience->until_ns;
    }
    return patience->until_ns - patience->wait_ns + PATIENCE_MIN_NS;
}

/* --- removal (rules 13 and 15) ------------------------------------------------------------------ */

/* From when on it is no good: as a member it is removed then, as a learner let go. */
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

static void let_go(struct replica *replica, struct replica_peer *peer)
{
    ASSERT(!replica_counts(replica, peer));
    *peer = replica->peers[--replica->peer_count];
}

/* It was opened as a member under this version, so it cannot be taught under it any more (rule 16): the
 * entries that it lacks are in no log.  Under the next version it can. */
static bool is_stuck(struct replica *replica, const struct replica_peer *peer)
{
    const struct replica_patience *patience = patience_with(replica, peer->member.store);
    return peer->broken && patience != NULL &&
           patience->counted_version == replica_version(replica);
}

/* True: something was proposed. */
static bool remove_failed(struct replica *replica)
{
    for (uint32_t i = replica->peer_count; i-- > 0;) {
        struct replica_peer *peer = &replica->peers[i];
        if (failed_ns(replica, peer) > replica->now_ns) {
            continue;
        }
        uint64_t store = peer->member.store;
        lose_patience(replica, store);
        if (!peer->is_member) {
            bool stuck = is_stuck(replica, peer);
            let_go(replica, peer);
            if (stuck) {
                propose_members(replica, renewal_of(replica));
                return true;
            }
            continue;
        }
        propose_members(replica, is_needed(replica, peer) ? renewal_of(replica)
                                                          : replica_configuration_remove(
                                                                &replica->configuration, store));
        return true;
    }
    return false;
}

/* --- learners ----------------------------------------------------------------------------------- */

static bool in_union(const struct replica_union *members, uint64_t store)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->members[i].store == store) {
            return true;
        }
    }
    return false;
}

static bool is_member_store(const struct replica *replica, uint64_t store)
{
    return replica_configuration_find(&replica->configuration, store) <
           replica->configuration.member_count;
}

static struct replica_peer *learner_of(struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (!replica->peers[i].is_member) {
            return &replica->peers[i];
        }
    }
    return NULL;
}

static void open_learner(struct replica *replica, struct replica_member member)
{
    int64_t until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    ASSERT(replica->peer_count < REPLICA_PEERS_MAX);
    replica->peers[replica->peer_count++] = (struct replica_peer){.member = member,
                                                                  .as_learner = true,
                                                                  .open_sent_ns = DUE_NOW,
                                                                  .open_until_ns = until_ns,
                                                                  .held_until_ns = until_ns};
}

/* Whole: from now on it is opened as a member, before it is proposed as one. */
static void join(struct replica *replica, struct replica_peer *peer)
{
    note_doubt(replica);
    peer->joining = true;
    peer->as_learner = false;
    peer->opened = false;
    peer->open_sent_ns = DUE_NOW;
    peer->open_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    struct replica_patience *patience = have_patience_with(replica, peer->member.store);
    patience->counted_version = replica_version(replica);
    patience->joined_ns = replica->now_ns;
}

/* While it joins, commits wait for it (rule 16): it comes up to that on its own. */
static bool is_close(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->prepared + JOIN_BEHIND_MAX >= replica->committed;
}

/* A version that a former life has reigned under, and the disk has forgotten, is begun anew: members that
 * have more do not open it, and whoever is added knows less than they (rule 19). */
static bool has_opened_all(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].is_member && !replica->peers[i].opened) {
            return false;
        }
    }
    return true;
}

static void advance_learner(struct replica *replica, struct replica_peer *peer)
{
    if (!in_union(&replica->goal_members, peer->member.store)) {
        let_go(replica, peer);
    } else if (peer->opened && peer->as_learner && peer->taught && peer->held &&
               is_close(replica, peer)) {
        join(replica, peer);
    } else if (peer->opened && peer->joining && peer->held && has_opened_all(replica) &&
               replica_is_inherited(replica) && peer->prepared >= replica->committed &&
               replica->committed >= replica->unkept_end) {
        propose_members(replica, replica_configuration_add(&replica->configuration, peer->member));
    }
}

/* Stores of one tablet lie on different servers: one that was wiped is removed before the one that took
 * its place comes. */
static bool has_server(const struct replica *replica, uint64_t server)
{
    for (uint32_t i = 0; i < replica->configuration.member_count; i++) {
        if (replica->configuration.members[i].server == server) {
            return true;
        }
    }
    return false;
}

/* One at a time; those that were removed often wait longer (rule 13).  Of one that was opened as a member under this
 * version, and let go, commits would wait for all that it lacks: it is no learner of it any more (rule 16), but of
 * the next. */
static void find_learner(struct replica *replica)
{
    for (uint32_t i = 0; i < replica->goal_members.count; i++) {
        struct replica_member member = replica->goal_members.members[i];
        const struct replica_patience *patience = patience_with(replica, member.store);
        bool waits = patience != NULL && replica->now_ns < patience_end_ns(replica, patience);
        if (has_server(replica, member.server) || waits) {
            continue;
        }
        if (patience != NULL && patience->counted_version == replica_version(replica)) {
            propose_members(replica, renewal_of(replica));
        } else {
            open_learner(replica, member);
        }
        return;
    }
}

/* --- hand-over (rule 14) ------------------------------------------------------------------------ */

static bool can_succeed(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->is_member && peer->opened && peer->held && !peer->excepted && !peer->broken &&
           peer->prepared >= replica->committed;
}

static bool has_all_wanted(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->goal_members.count; i++) {
        if (!is_member_store(replica, replica->goal_members.members[i].store)) {
            return false;
        }
    }
    return true;
}

/* Whom the primary should make way for; 0 = nobody.  A goal without it lets it go last. */
static bool wants_to_hand_over(const struct replica *replica, uint64_t *ret_wanted)
{
    *ret_wanted = 0;
    if (replica->stalled || replica->damaged || replica->leaving) {
        return true;
    }
    if (replica->goal_members.count == 0 || !has_all_wanted(replica)) {
        return false;
    }
    bool is_wanted = in_union(&replica->goal_members, replica->self.store);
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
    const struct replica_peer *peer = wants_to_hand_over(replica, &wanted)
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
static void advance_hand_over(struct replica *replica)
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
        propose_members(replica, renewal_of(replica));
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

static void begin_hand_over(struct replica *replica, uint64_t wanted)
{
    uint64_t successor = find_successor(replica, wanted);
    if (!replica->serving || successor == 0 || replica->now_ns < replica->handing_after_ns) {
        return;
    }
    replica->handing_to = successor;
    replica->handing_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    advance_hand_over(replica);
}

/* --- barriers (section 7) ----------------------------------------------------------------------- */

static bool propose_barrier(struct replica *replica)
{
    const struct replica_standing *standing = &replica->committed_barrier;
    bool split = standing->barrier == REPLICA_BARRIER_SPLIT;
    bool merge = standing->barrier == REPLICA_BARRIER_ABSORB &&
                 standing->version == replica_version(replica);
    if (standing->sequence == 0 || replica->barrier.sequence != standing->sequence ||
        standing->sequence == replica->void_barrier || !replica_is_inherited(replica) ||
        (!split && !merge)) {
        return false;
    }
    replica_propose_begin(replica, &(struct replica_proposal){.kind = split ? REPLICA_PROPOSE_SPLIT
                                                                            : REPLICA_PROPOSE_MERGE,
                                                              .base = replica_version(replica),
                                                              .next = renewal_of(replica),
                                                              .barrier = standing->sequence});
    return true;
}

/* A higher version settles a proposal (rule 9); so does it that what is guarded by two versions has lost
 * the other one. */
void replica_propose_void(struct replica *replica, uint64_t barrier)
{
    replica->void_barrier = barrier;
    if (replica->proposing && replica->proposal.kind == REPLICA_PROPOSE_MERGE &&
        replica->proposal.barrier == barrier) {
        replica->proposing = false;
    }
}

/* Asked for under this very version: what stands under it can be lifted under the next. */
static bool renew(struct replica *replica)
{
    bool asked = replica->renew_version == replica_version(replica) &&
                 replica_is_inherited(replica);
    if (asked) {
        propose_members(replica, renewal_of(replica));
    }
    return asked;
}

/* --- goals (section 10) ------------------------------------------------------------------------- */

static void remove_unwanted(struct replica *replica)
{
    const struct replica_configuration *configuration = &replica->configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        uint64_t store = configuration->members[i].store;
        if (store != replica->self.store && !in_union(&replica->goal_members, store)) {
            propose_members(replica, replica_configuration_remove(configuration, store));
            return;
        }
    }
}
static void choose_as_primary(struct replica *replica)
{
    if (remove_failed(replica) || renew(replica) || propose_barrier(replica)) {
        return;
    }
    struct replica_peer *learner = learner_of(replica);
    if (learner != NULL && (replica->damaged || replica->leaving) && !learner->joining) {
        /* Section 9: never a source; rule 14: nor what hand-over waits for. */
        let_go(replica, learner);
        learner = NULL;
    }
    bool is_full = replica->configuration.member_count == REPLICA_MEMBERS_MAX;
    if (learner != NULL) {
        advance_learner(replica, learner);
    } else if (!is_full && !replica->damaged && !replica->leaving) {
        find_learner(replica);
    }
    uint64_t wanted = 0;
    if (replica->proposing || (learner != NULL && !replica->stalled)) {
        return;
    }
    if (wants_to_hand_over(replica, &wanted)) {
        begin_hand_over(replica, wanted);
    } else if (replica->goal_members.count > 0 && (is_full || has_all_wanted(replica)) &&
               replica_is_inherited(replica)) {
        remove_unwanted(replica);
    }
}

bool replica_is_settled(const struct replica *replica)
{
    uint64_t wanted = 0;
    if (replica->role != REPLICA_PRIMARY || replica->handing_to != 0 || replica->yielded ||
        wants_to_hand_over(replica, &wanted) || !has_all_wanted(replica)) {
        return false;
    }
    return replica->goal_members.count == 0 ||
           replica->goal_members.count == replica->configuration.member_count;
}

/* --- public ------------------------------------------------------------------------------------- */

/* Rule 11: what a lone primary waited for is over; a later process need not. */
static void note_free(struct replica *replica)
{
    if (replica_is_lone(replica) && replica->flags.bound && replica->excepting == 0 &&
        replica->now_ns >= replica_free_from_ns(replica)) {
        replica->flags.bound = false;
        replica_emit_configure(replica, replica_appended(replica));
    }
}

void replica_propose_choose(struct replica *replica)
{
    if (replica->role != REPLICA_PRIMARY) {
        /* Rule 2: named in its own log by a life before. */
        if (replica_is_named_leader(replica) && !replica->proposing && !replica->damaged &&
            !replica->flags.doubtful && !replica->leaving) {
            propose_members(replica, renewal_of(replica));
        }
        return;
    }
    if (!replica->adopted) {
        return;
    }
    note_free(replica);
    if (replica->proposing) {
        return;
    }
    if (replica->yielded) {
        advance_yielded(replica);
    } else if (replica->handing_to == 0) {
        choose_as_primary(replica);
    } else if (!remove_failed(replica)) {
        advance_hand_over(replica);
    } else {
        replica->handing_to = 0;
    }
}

static int64_t learner_due_ns(const struct replica *replica)
{
    int64_t due_ns = DUE_NEVER;
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX; i++) {
        const struct replica_patience *patience = &replica->patience[i];
        bool wanted = patience->store != 0 && in_union(&replica->goal_members, patience->store) &&
                      !is_member_store(replica, patience->store);
        int64_t end_ns = patience_end_ns(replica, patience);
        if (wanted && end_ns > replica->now_ns) {
            due_ns = replica_sooner(due_ns, end_ns);
        }
    }
    return due_ns;
}

int64_t replica_propose_due_ns(const struct replica *replica)
{
    if (replica->proposing) {
        return replica->configuring > 0 ? DUE_NEVER : replica->propose_due_ns;
    }
    if (replica->role != REPLICA_PRIMARY || !replica->adopted) {
        return DUE_NEVER;
    }
    if (replica->yielded) {
        return replica_sooner(replica->renew_at_ns, replica->yield_due_ns);
    }
    int64_t due_ns = replica_sooner(learner_due_ns(replica), wish_due_ns(replica));
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        due_ns = replica_sooner(due_ns, failed_ns(replica, &replica->peers[i]));
    }
    if (replica->handing_to != 0) {
        due_ns = replica_sooner(due_ns, replica->handing_until_ns);
    }
    if (replica->handing_after_ns > replica->now_ns) {
        due_ns = replica_sooner(due_ns, replica->handing_after_ns);
    }
    return due_ns;
}
