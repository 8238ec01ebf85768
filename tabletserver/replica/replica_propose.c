/*
 * What a replica wants of the catalog (rules 2, 9, 12): which change is next, and the one that is out.
 *
 * One proposal at a time, said again unchanged until a higher version is known (rule 9).
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

/* --- one proposal ------------------------------------------------------------------------------- */

/* Rule 2: a lone primary notes it first; replica_propose_send() waits for that. */
void replica_note_doubt(struct replica *replica)
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
    replica_note_doubt(replica);
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

void replica_propose_members(struct replica *replica, struct replica_configuration next)
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

void replica_propose_renewal(struct replica *replica)
{
    replica_propose_members(replica, renewal_of(replica));
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
        !replica_has_opened_all(replica) || (!split && !merge)) {
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
        replica_propose_renewal(replica);
    }
    return asked;
}

/* --- goals (section 10) ------------------------------------------------------------------------- */

static void remove_unwanted(struct replica *replica)
{
    const struct replica_configuration *configuration = &replica->configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        uint64_t store = configuration->members[i].store;
        if (store != replica->self.store && !replica_wishes_for(replica, store)) {
            replica_propose_members(replica, replica_configuration_remove(configuration, store));
            return;
        }
    }
}

/* The member that is not wished for and has this server; 0 = there is none. */
static uint64_t holder_of_place(const struct replica *replica, uint64_t server)
{
    const struct replica_configuration *configuration = &replica->configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct replica_member member = configuration->members[i];
        if (member.server == server && !replica_wishes_for(replica, member.store)) {
            return member.store;
        }
    }
    return 0;
}

uint64_t replica_in_the_way(const struct replica *replica)
{
    uint64_t found = 0;
    uint32_t left = replica->configuration.member_count - 1;
    if (left < 2 || left < replica->settings.min_in_sync) {
        return 0;
    }
    for (uint32_t i = 0; i < replica->goal_members.count; i++) {
        struct replica_member wanted = replica->goal_members.members[i];
        uint64_t holder = replica_has_member(replica, wanted.store)
                              ? 0
                              : holder_of_place(replica, wanted.server);
        if (holder != 0 && (found == 0 || found == replica->self.store)) {
            found = holder;
        }
    }
    return found;
}

static void make_place(struct replica *replica)
{
    uint64_t store = replica_in_the_way(replica);
    if (store != 0 && store != replica->self.store) {
        replica_propose_members(replica,
                                replica_configuration_remove(&replica->configuration, store));
    }
}

static void choose_as_primary(struct replica *replica)
{
    uint64_t wanted = 0;
    if (replica_remove_failed(replica) || renew(replica) || propose_barrier(replica)) {
        return;
    }
    bool has_learner = replica_learner_advance(replica);
    if (replica->proposing || (has_learner && !replica->stalled)) {
        return;
    }
    bool is_full = replica->configuration.member_count == REPLICA_MEMBERS_MAX;
    if (replica_wants_to_hand_over(replica, &wanted)) {
        replica_hand_over_begin(replica, wanted);
    } else if (replica->goal_members.count > 0 && replica_is_inherited(replica) &&
               replica_has_opened_all(replica)) {
        if (is_full || replica_has_all_wanted(replica)) {
            remove_unwanted(replica);
        } else {
            make_place(replica);
        }
    }
}

bool replica_is_settled(const struct replica *replica)
{
    uint64_t wanted = 0;
    if (replica->role != REPLICA_PRIMARY || replica->handing_to != 0 || replica->yielded ||
        replica_wants_to_hand_over(replica, &wanted) || !replica_has_all_wanted(replica)) {
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
            replica_propose_renewal(replica);
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
    if (replica->handing_to == 0 && !replica->yielded) {
        choose_as_primary(replica);
    } else if (replica->yielded || !replica_remove_failed(replica)) {
        replica_hand_over_advance(replica);
    } else {
        replica->handing_to = 0;
    }
}

int64_t replica_propose_due_ns(const struct replica *replica)
{
    if (replica->proposing) {
        return replica->configuring > 0 ? DUE_NEVER : replica->propose_due_ns;
    }
    if (replica->role != REPLICA_PRIMARY || !replica->adopted) {
        return DUE_NEVER;
    }
    int64_t due_ns = replica_hand_over_due_ns(replica);
    if (!replica->yielded) {
        due_ns = replica_sooner(due_ns, replica_learner_due_ns(replica));
        due_ns = replica_sooner(due_ns, replica_remove_due_ns(replica));
    }
    return due_ns;
}
