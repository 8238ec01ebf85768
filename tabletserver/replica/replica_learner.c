/* Learners (rule 16): one at a time, taught as an outsider, then opened as a member, then proposed. */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

/* Entries that a learner may lack when it is made to join: some milliseconds' worth. */
#define JOIN_BEHIND_MAX 256

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
    replica_note_doubt(replica);
    peer->joining = true;
    peer->as_learner = false;
    peer->opened = false;
    peer->open_sent_ns = DUE_NOW;
    peer->open_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
    struct replica_patience *patience = replica_have_patience_with(replica, peer->member.store);
    patience->counted_version = replica_version(replica);
    patience->joined_ns = replica->now_ns;
}

/* While it joins, commits wait for it (rule 16): it comes up to that on its own. */
static bool is_close(const struct replica *replica, const struct replica_peer *peer)
{
    return peer->prepared + JOIN_BEHIND_MAX >= replica->committed;
}

static void advance_learner(struct replica *replica, struct replica_peer *peer)
{
    if (!replica_wishes_for(replica, peer->member.store)) {
        replica_let_go(replica, peer);
    } else if (peer->opened && peer->as_learner && peer->taught && peer->held &&
               is_close(replica, peer)) {
        join(replica, peer);
    } else if (peer->opened && peer->joining && peer->held && replica_has_opened_all(replica) &&
               replica_is_inherited(replica) && peer->prepared >= replica->committed &&
               replica->committed >= replica->unkept_end) {
        replica_propose_members(replica,
                                replica_configuration_add(&replica->configuration, peer->member));
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
        const struct replica_patience *patience = replica_patience_with(replica, member.store);
        bool waits = patience != NULL &&
                     replica->now_ns < replica_patience_end_ns(replica, patience);
        if (has_server(replica, member.server) || waits) {
            continue;
        }
        if (patience != NULL && patience->counted_version == replica_version(replica)) {
            replica_propose_renewal(replica);
        } else {
            open_learner(replica, member);
        }
        return;
    }
}

/* Opened as a member under this version, let go, and not wished for any more: it takes itself for one that may count
 * until it hears of another version, and that its copy may go is not heard under this one. */
static bool is_left_over(const struct replica *replica, const struct replica_patience *patience)
{
    return patience->store != 0 && patience->counted_version == replica_version(replica) &&
           !replica_has_member(replica, patience->store) &&
           !replica_wishes_for(replica, patience->store);
}

static void renew_for_left_over(struct replica *replica)
{
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX && replica->goal_members.count > 0; i++) {
        if (is_left_over(replica, &replica->patience[i])) {
            replica_propose_renewal(replica);
            return;
        }
    }
}

/* Section 9: a damaged one is never a source; rule 14: nor does hand-over wait for one that is taught.  One that joins
 * comes within milliseconds, but where the log is read slowly for it. */
static bool is_given_up(const struct replica *replica, const struct replica_peer *learner)
{
    bool is_late = replica_has_no_time(replica) && !replica_counts(replica, learner);
    return (replica->damaged || replica->leaving) && (!learner->joining || is_late);
}

bool replica_learner_advance(struct replica *replica)
{
    struct replica_peer *learner = learner_of(replica);
    bool teaches = !replica->damaged && !replica->leaving;
    if (learner != NULL && is_given_up(replica, learner)) {
        replica_let_go(replica, learner);
        learner = NULL;
    }
    if (learner != NULL) {
        advance_learner(replica, learner);
    } else if (teaches && replica->configuration.member_count < REPLICA_MEMBERS_MAX) {
        find_learner(replica);
    }
    if (teaches && !replica->proposing && learner_of(replica) == NULL) {
        renew_for_left_over(replica);
    }
    return learner != NULL;
}

int64_t replica_learner_due_ns(const struct replica *replica)
{
    int64_t due_ns = DUE_NEVER;
    for (uint32_t i = 0; i < REPLICA_PEERS_MAX; i++) {
        const struct replica_patience *patience = &replica->patience[i];
        bool wanted = patience->store != 0 && replica_wishes_for(replica, patience->store) &&
                      !replica_has_member(replica, patience->store);
        int64_t end_ns = replica_patience_end_ns(replica, patience);
        if (wanted && end_ns > replica->now_ns) {
            due_ns = replica_sooner(due_ns, end_ns);
        }
    }
    return due_ns;
}
