/*
 * The invariants of replica.h, by its numbers, and what the parts of a replica owe one another.
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

static void check_entries(const struct replica *replica)
{
    uint64_t appended = replica_appended(replica);
    ASSERT(replica->committed <= replica->synced); /* (1) */
    ASSERT(replica->synced <= appended);
    ASSERT(replica->window.first <= replica->committed + 1);
    uint64_t version = replica->committed_version;
    for (uint64_t at = replica->committed + 1; at <= appended; at++) {
        const struct window_slot *slot = replica_window_slot(&replica->window, at);
        ASSERT(slot != NULL);
        ASSERT(slot->entry.sequence == at);
        ASSERT(slot->entry.version >= version); /* (2) */
        ASSERT(slot->entry.version <= replica_version(replica));
        /* What was copied for nobody needs nobody else. */
        ASSERT(slot->kept || replica_is_lone(replica));
        ASSERT(slot->kept || !replica->proposing || replica->proposal.next.member_count == 1);
        version = slot->entry.version;
    }
}

static void check_reign(const struct replica *replica)
{
    ASSERT(replica->role == REPLICA_PRIMARY);
    ASSERT(replica->adopted); /* (3) */
    ASSERT(replica_is_named_leader(replica));
    ASSERT(!replica->yielded);
    ASSERT(!replica->away);
    ASSERT(replica->committed >= replica->start); /* (4) */
    ASSERT(replica->excepting == 0);
    ASSERT(replica->now_ns >= replica_free_from_ns(replica));
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        ASSERT(!replica_counts(replica, peer) || (peer->opened && !peer->excepted));
    }
}

static void check_peers(const struct replica *replica)
{
    uint32_t learners = 0;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        learners += peer->is_member ? 0 : 1;
        if (!replica->adopted || replica->role != REPLICA_PRIMARY || !peer->opened) {
            continue;
        }
        ASSERT(peer->prepared <= peer->sent);
        ASSERT(peer->sent <= replica_appended(replica));
        ASSERT(!peer->as_learner || !replica_counts(replica, peer)); /* (6) */
        /* I2: nothing is committed that one who counts has not. */
        ASSERT(!replica_counts(replica, peer) || peer->prepared >= replica->committed);
    }
    ASSERT(replica->role != REPLICA_PRIMARY || learners <= 1);
}

void replica_check(const struct replica *replica)
{
    check_entries(replica);
    check_peers(replica);
    if (replica->serving) {
        check_reign(replica);
    }
    if (replica_version(replica) != 0) {
        replica_configuration_check(&replica->configuration);
    }
    if (replica->proposing) {
        ASSERT(replica->proposal.base == replica_version(replica)); /* (3) */
        replica_configuration_check(&replica->proposal.next);
        ASSERT(!replica_is_lone(replica) || replica->role != REPLICA_PRIMARY ||
               replica->flags.doubt_noted);
    }
    ASSERT(replica->role != REPLICA_PRIMARY || replica_is_named_leader(replica));
    ASSERT(!replica->away || replica_is_member(replica));
    ASSERT(replica->opener == 0 || replica->flags.opened || replica->damaged || replica->away);
    ASSERT(!replica->flags.doubtful || replica->role != REPLICA_PRIMARY);
    ASSERT(!replica->refuses || replica->away);
    ASSERT(!replica->refuses || !replica->flags.opened || replica->ousts);
    ASSERT(!replica->flags.damaged || replica->damaged);
    ASSERT(!replica->leads || replica->role == REPLICA_PRIMARY);
    ASSERT(!replica->gone || !replica->serving);
}
