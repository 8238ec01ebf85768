/*
 * Reigning: peers, who serves, entries that are given out, and that all have (rules 3, 5, 6, 7, 15).
 */
#include <string.h>

#include "tabletserver/replica/replica_internal.h"

/* --- peers -------------------------------------------------------------------------------------- */

struct replica_peer *replica_find_peer(struct replica *replica, uint64_t store)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].member.store == store) {
            return &replica->peers[i];
        }
    }
    return NULL;
}

bool replica_counts(const struct replica *replica, const struct replica_peer *peer)
{
    const struct replica_configuration *next = &replica->proposal.next;
    return peer->is_member ||
           (replica->proposing &&
            replica_configuration_find(next, peer->member.store) < next->member_count);
}

bool replica_is_inherited(const struct replica *replica)
{
    return replica->committed >= replica->start;
}

bool replica_has_opened_all(const struct replica *replica)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].is_member && !replica->peers[i].opened) {
            return false;
        }
    }
    return true;
}

bool replica_has_enough(const struct replica *replica)
{
    uint32_t count = replica->configuration.member_count;
    if (replica->proposing && replica->proposal.next.member_count < count) {
        count = replica->proposal.next.member_count;
    }
    return count >= replica->settings.min_in_sync;
}

/* Members, as the reign finds them; what is known of a process outlives the version. */
static void meet_members(struct replica *replica)
{
    struct replica_peer before[REPLICA_PEERS_MAX];
    uint32_t before_count = replica->peer_count;
    memcpy(before, replica->peers, sizeof before);
    replica->peer_count = 0;
    for (uint32_t i = 0; i < replica->configuration.member_count; i++) {
        struct replica_member member = replica->configuration.members[i];
        if (replica_same_member(member, replica->self)) {
            continue;
        }
        struct replica_peer peer = {
            .member = member,
            .is_member = true,
            .open_sent_ns = DUE_NOW,
            .open_until_ns = replica->now_ns + replica->settings.open_timeout_ns,
            .held_until_ns = replica->now_ns + replica->settings.open_timeout_ns};
        for (uint32_t j = 0; j < before_count; j++) {
            if (replica_same_member(before[j].member, member)) {
                peer.incarnation = before[j].incarnation;
                peer.held = before[j].held;
            }
        }
        replica->peers[replica->peer_count++] = peer;
    }
}

/* --- beginning and end -------------------------------------------------------------------------- */

/* Its configuration is synced (rules 2 and 15). */
void replica_reign_begin(struct replica *replica)
{
    replica->start = replica_appended(replica);
    replica->oldest_since_ns = replica->now_ns;
    meet_members(replica);
    if (!replica->leads) {
        replica->leads = true;
        replica->leads_since_ns = replica->now_ns;
        replica_emit(replica, REPLICA_EFFECT_LEAD)->sequence = replica->start;
    }
}

static void cease(struct replica *replica)
{
    if (replica->serving) {
        replica->serving = false;
        replica_emit(replica, REPLICA_EFFECT_CEASE);
    }
}

/* Peers stay known until the next reign: they may be its members. */
void replica_reign_end(struct replica *replica)
{
    cease(replica);
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        replica->peers[i].opened = false;
    }
}

/* --- serving (rule 7) --------------------------------------------------------------------------- */

static bool may_serve(const struct replica *replica)
{
    if (replica->role != REPLICA_PRIMARY || !replica->adopted || replica->yielded ||
        replica->asks_catalog || !replica_is_inherited(replica) || replica->excepting > 0 ||
        replica->now_ns < replica_free_from_ns(replica)) {
        return false;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (replica_counts(replica, peer) && (!peer->opened || peer->excepted)) {
            return false;
        }
    }
    return true;
}

static struct replica_union counted_peers(const struct replica *replica)
{
    struct replica_union peers = {0};
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica_counts(replica, &replica->peers[i])) {
            peers.members[peers.count++] = replica->peers[i].member;
        }
    }
    return peers;
}

static bool same_union(const struct replica_union *a, const struct replica_union *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (!replica_same_member(a->members[i], b->members[i])) {
            return false;
        }
    }
    return true;
}

void replica_reign_serve(struct replica *replica)
{
    if (!may_serve(replica)) {
        cease(replica);
        return;
    }
    struct replica_union peers = counted_peers(replica);
    if (replica->serving && same_union(&peers, &replica->served_peers)) {
        return;
    }
    replica->serving = true;
    replica->served_peers = peers;
    replica_emit(replica, REPLICA_EFFECT_SERVE)->peers = peers;
}

/* --- entries ------------------------------------------------------------------------------------ */

/* What was frozen is named with its version in a merge that another may have proposed (section 7). */
static bool may_lift(const struct replica *replica)
{
    bool proposed = replica->proposing && replica->proposal.kind != REPLICA_PROPOSE_MEMBERS;
    bool frozen = replica->barrier.barrier == REPLICA_BARRIER_FROZEN &&
                  replica->barrier.version == replica_version(replica);
    return !proposed && !frozen;
}

static enum status check_write(const struct replica *replica, const struct replica_entry *entry)
{
    if (replica->role != REPLICA_PRIMARY || !replica->serving) {
        return STATUS_NOT_OWNER;
    }
    bool barred = entry->lifts ? !may_lift(replica) : replica->barrier.sequence != 0;
    if (barred || replica->handing_to != 0 || !replica_has_enough(replica)) {
        return STATUS_UNAVAILABLE;
    }
    if (replica->window.size_bytes >= replica->settings.window_bytes_max) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    return STATUS_OK;
}

enum status replica_reign_may_write(struct replica *replica, const struct replica_entry *entry)
{
    enum status status = check_write(replica, entry);
    return status != STATUS_OK ? status
                               : replica_window_reserve(&replica->window, entry->payload.size_bytes,
                                                        replica->peer_count > 0);
}

enum status replica_reign_write(struct replica *replica, const struct replica_entry *entry)
{
    enum status status = check_write(replica, entry);
    if (status != STATUS_OK) {
        return status;
    }
    struct replica_entry given = *entry;
    given.sequence = replica_appended(replica) + 1;
    given.version = replica_version(replica);
    if (replica_appended(replica) == replica->committed) {
        replica->oldest_since_ns = replica->now_ns;
    }
    bool keep = replica->peer_count > 0;
    status = replica_append(replica, &given, keep);
    if (status == STATUS_OK && !keep) {
        replica->unkept_end = given.sequence;
    }
    return status;
}

/* Rules 5 and 9: everyone who counts has it.  One that is about to be proposed is waited for too, so
 * that it has everything when it is. */
void replica_reign_commit(struct replica *replica)
{
    if (!replica->adopted) {
        return;
    }
    uint64_t sequence = replica->synced;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        bool counts = replica_counts(replica, peer);
        if (counts && !peer->opened) {
            return;
        }
        if ((counts || (peer->joining && peer->opened)) && peer->prepared < sequence) {
            sequence = peer->prepared;
        }
    }
    if (sequence > replica->committed) {
        replica_commit(replica, sequence);
        replica->oldest_since_ns = replica->now_ns;
    }
}
