/*
 * Reigning: entries go out, acknowledgements come in, what all have is committed (rules 3, 5, 6, 7, 15).
 */
#include <string.h>

#include "common/base/assert.h"
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

/* --- sending ------------------------------------------------------------------------------------ */

static void send_open(struct replica *replica, struct replica_peer *peer)
{
    peer->open_sent_ns = replica->now_ns;
    struct replica_message *open = replica_send(replica, peer->member, REPLICA_OPEN);
    open->configuration = replica->configuration;
    open->sequence = replica->start;
    open->committed = replica->committed;
    open->previous_version = replica_version_at(replica, replica->start);
    open->appended = replica_appended(replica);
    open->as_learner = peer->as_learner;
}

static void send_prepare(struct replica *replica,
                         struct replica_peer *peer,
                         const struct replica_entry *entry)
{
    struct replica_message *prepare = replica_send(replica, peer->member, REPLICA_PREPARE);
    prepare->entry = *entry;
    prepare->committed = replica->committed;
    prepare->previous_version = replica_version_at(replica, entry->sequence - 1);
    prepare->opener = peer->incarnation;
    peer->greeted = true;
    peer->sent = entry->sequence > peer->sent ? entry->sequence : peer->sent;
    peer->told = replica->committed;
    peer->spoken_ns = replica->now_ns;
}

/* When an OPEN is due.  One who is opened as a member because it is wanted as one, only when a lone
 * primary's note of that is synced (rule 2). */
static int64_t open_due_ns(const struct replica *replica, const struct replica_peer *peer)
{
    if (peer->opened || peer->broken || (peer->joining && replica->configuring > 0)) {
        return DUE_NEVER;
    }
    return peer->open_sent_ns == DUE_NOW ? DUE_NOW
                                         : peer->open_sent_ns + replica->settings.resend_ns;
}

static bool takes_entries(const struct replica_peer *peer)
{
    return peer->opened && peer->feeding && !peer->broken;
}

static bool has_in_window(const struct replica *replica, uint64_t sequence)
{
    const struct window_slot *slot = replica_window_slot(&replica->window, sequence);
    return slot != NULL && slot->kept;
}

/* An entry behind what it was sent: in the window, or to be read from the log. */
static bool has_more_for(const struct replica *replica, const struct replica_peer *peer)
{
    uint64_t next = peer->sent + 1;
    return peer->sent - peer->prepared < peer->allowance &&
           (next <= replica->synced || has_in_window(replica, next));
}

/* At once while there is more; when nothing is heard of what was sent, its first one again. */
static int64_t prepare_due_ns(const struct replica *replica, const struct replica_peer *peer)
{
    if (!takes_entries(peer)) {
        return DUE_NEVER;
    }
    if (peer->reading != 0) { /* whoever reads may have had no memory for it */
        return peer->read_asked_ns + replica->settings.prepare_timeout_ns;
    }
    if (has_more_for(replica, peer)) {
        return DUE_NOW;
    }
    return peer->sent > peer->prepared ? peer->spoken_ns + replica->settings.resend_ns : DUE_NEVER;
}

static int64_t committed_due_ns(const struct replica *replica, const struct replica_peer *peer)
{
    bool owed = takes_entries(peer) && (peer->told < replica->committed || !peer->greeted);
    if (takes_entries(peer) && peer->question) {
        return DUE_NOW;
    }
    return owed ? peer->spoken_ns + replica->settings.commit_idle_ns : DUE_NEVER;
}

static void send_next(struct replica *replica, struct replica_peer *peer)
{
    bool more = has_more_for(replica, peer);
    uint64_t next = more ? peer->sent + 1 : peer->prepared + 1;
    peer->probing = peer->probing || !more;
    /* Whoever reads had its time: else this would be due with every step (simulator, seed 4817098). */
    peer->reading = 0;
    if (has_in_window(replica, next)) {
        send_prepare(replica, peer, &replica_window_slot(&replica->window, next)->entry);
        return;
    }
    peer->reading = next;
    peer->read_asked_ns = replica->now_ns;
    struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_READ);
    effect->to = peer->member;
    effect->sequence = next;
}

static void send_committed(struct replica *replica, struct replica_peer *peer)
{
    struct replica_message *committed = replica_send(replica, peer->member, REPLICA_COMMITTED);
    committed->sequence = replica->committed;
    committed->opener = peer->incarnation;
    committed->asks = peer->question;
    peer->question = false;
    peer->greeted = true;
    peer->told = replica->committed;
    peer->spoken_ns = replica->now_ns;
}

uint64_t replica_reign_told(const struct replica *replica)
{
    uint64_t told = replica->committed;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        if (replica_counts(replica, peer) && peer->told < told) {
            told = peer->told;
        }
    }
    return told;
}

void replica_reign_send(struct replica *replica)
{
    if (!replica->adopted) {
        return;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        struct replica_peer *peer = &replica->peers[i];
        if (open_due_ns(replica, peer) <= replica->now_ns) {
            send_open(replica, peer);
        }
        if (prepare_due_ns(replica, peer) <= replica->now_ns) {
            send_next(replica, peer);
        }
        if (committed_due_ns(replica, peer) <= replica->now_ns) {
            send_committed(replica, peer);
        }
    }
}

int64_t replica_reign_due_ns(const struct replica *replica)
{
    int64_t due_ns = DUE_NEVER;
    if (!replica->adopted) {
        return due_ns;
    }
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        const struct replica_peer *peer = &replica->peers[i];
        due_ns = replica_sooner(due_ns, open_due_ns(replica, peer));
        due_ns = replica_sooner(due_ns, prepare_due_ns(replica, peer));
        due_ns = replica_sooner(due_ns, committed_due_ns(replica, peer));
    }
    if (replica->now_ns < replica_free_from_ns(replica)) {
        due_ns = replica_sooner(due_ns, replica_free_from_ns(replica));
    }
    return due_ns;
}

/* --- answers ------------------------------------------------------------------------------------ */

/* Of one that counts: all that is committed, and at the end what is there here as well (rule 3). */
static bool has_what_it_says(const struct replica *replica, const struct replica_message *opened)
{
    uint64_t version = replica_version_at(replica, opened->sequence);
    return opened->sequence >= replica->committed &&
           (version == 0 || opened->previous_version == 0 || version == opened->previous_version);
}

static void hear_will(const struct replica *replica,
                      struct replica_peer *peer,
                      const struct replica_message *said)
{
    peer->will = said->will;
    peer->will_ns = replica->now_ns;
}

static void on_opened(struct replica *replica,
                      struct replica_peer *peer,
                      const struct replica_message *opened)
{
    if (peer->opened || opened->as_learner != peer->as_learner ||
        opened->sequence > replica_appended(replica)) {
        return;
    }
    if (replica_counts(replica, peer)) {
        replica_bear_out(replica);
    }
    if (replica_counts(replica, peer) && !has_what_it_says(replica, opened)) {
        peer->broken = true; /* it has lost what it had acknowledged */
        return;
    }
    peer->refuses = false;
    peer->opened_ns = peer->opened ? peer->opened_ns : replica->now_ns;
    peer->opened = true;
    peer->prepared = opened->sequence;
    peer->sent = opened->sequence;
    peer->told = opened->committed;
    peer->reading = 0;
    peer->gone_back = 0;
    peer->allowance = REPLICA_IN_FLIGHT_MAX;
    peer->probing = false;
    peer->question = false;
    peer->asked_ns = DUE_NOW;
    hear_will(replica, peer, opened);
    peer->feeding = !peer->as_learner;
    peer->greeted = peer->as_learner;
    peer->spoken_ns = replica->now_ns;
    if (peer->as_learner) {
        peer->taught = false;
        struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_TEACH);
        effect->to = peer->member;
        effect->sequence = opened->sequence;
    }
}

static void on_progress(struct replica_peer *peer, uint64_t prepared)
{
    peer->allowance += prepared - peer->prepared;
    peer->allowance = peer->allowance < REPLICA_IN_FLIGHT_MAX ? peer->allowance
                                                              : REPLICA_IN_FLIGHT_MAX;
    peer->prepared = prepared;
    peer->sent = peer->sent < prepared ? prepared : peer->sent;
}

/* To where its log ends: all that were under way behind a gap say the same, so once for each end. */
static void go_back(struct replica_peer *peer, uint64_t appended)
{
    peer->gone_back = appended + 1;
    peer->sent = appended;
    peer->allowance = peer->allowance > 1 ? peer->allowance / 2 : 1;
}

static void on_prepared(const struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_message *prepared)
{
    if (!takes_entries(peer) || prepared->sequence > replica_appended(replica)) {
        return;
    }
    hear_will(replica, peer, prepared);
    if (prepared->sequence > peer->prepared) {
        on_progress(peer, prepared->sequence);
    }
    bool news = prepared->gap && peer->gone_back != prepared->appended + 1;
    if ((news || peer->probing) && prepared->appended >= peer->prepared &&
        prepared->appended < peer->sent) {
        go_back(peer, prepared->appended);
    }
    peer->probing = false;
}

/* It has its time to answer again. */
static void open_anew(const struct replica *replica, struct replica_peer *peer, int64_t sent_ns)
{
    peer->opened = false;
    peer->open_sent_ns = sent_ns;
    peer->open_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
}

/* Answers to this very process, of the newest one of its sender's. */
void replica_reign_receive(struct replica *replica,
                           struct replica_member from,
                           const struct replica_message *message)
{
    struct replica_peer *peer = replica_find_peer(replica, from.store);
    if (peer == NULL || !replica_same_member(peer->member, from) || !replica->adopted ||
        message->version != replica_version(replica) || message->opener != replica->incarnation ||
        message->incarnation < peer->incarnation) {
        return;
    }
    if (message->incarnation > peer->incarnation) {
        peer->incarnation = message->incarnation;
        open_anew(replica, peer, peer->open_sent_ns); /* the process before had opened it */
    }
    if (message->type == REPLICA_OPENED) {
        on_opened(replica, peer, message);
    } else if (message->type == REPLICA_PREPARED) {
        on_prepared(replica, peer, message);
    } else if (message->type == REPLICA_DAMAGED) {
        peer->broken = true;
    } else if (message->type == REPLICA_REFUSED) {
        replica_on_refused(replica, peer, message);
    }
}

/* --- what else is told of a peer ---------------------------------------------------------------- */

static void on_held(const struct replica *replica, struct replica_peer *peer, bool held)
{
    if (peer->held && !held) {
        peer->held_until_ns = replica->now_ns; /* it ends now: no more patience (rule 13) */
    }
    peer->held = held;
}

static void on_restarted(struct replica *replica, struct replica_peer *peer, uint64_t incarnation)
{
    if (incarnation <= peer->incarnation) {
        return;
    }
    peer->incarnation = incarnation;
    peer->excepted = false; /* by the process before (rule 8) */
    if (peer->opened) {
        open_anew(replica, peer, DUE_NOW);
    }
}

static void on_teaching(const struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_event *event)
{
    uint64_t sequence = event->sequence;
    if (event->version != replica_version(replica) || event->incarnation != peer->incarnation ||
        peer->is_member || !peer->opened || !peer->as_learner || sequence > replica->committed) {
        return;
    }
    peer->feeding = true;
    peer->prepared = sequence > peer->prepared ? sequence : peer->prepared;
    peer->sent = peer->sent < peer->prepared ? peer->prepared : peer->sent;
}

/*
 * Its lesson is over.  A learner of an earlier reign may know more to be committed than a primary that has
 * just begun, and TEACHING was not taken: it is opened again in a while, or nobody would ever teach it.
 */
static void on_taught(const struct replica *replica,
                      struct replica_peer *peer,
                      const struct replica_event *event)
{
    if (event->version != replica_version(replica) || event->incarnation != peer->incarnation ||
        !peer->opened || !peer->as_learner) {
        return;
    }
    if (peer->feeding) {
        peer->taught = true;
    } else {
        open_anew(replica, peer, replica->now_ns);
    }
}

/* As one that was never opened: who does not answer is let go, and others have their turn. */
static void on_untaught(const struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_event *event)
{
    if (event->version == replica_version(replica) && event->incarnation == peer->incarnation &&
        peer->opened && peer->as_learner) {
        open_anew(replica, peer, DUE_NOW);
    }
}

/* A lease belongs to a server, and so does a process: all its stores' replicas are meant. */
void replica_reign_peer_event(struct replica *replica, const struct replica_event *event)
{
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        struct replica_peer *peer = &replica->peers[i];
        if (peer->member.server != event->from.server) {
            continue;
        }
        if (event->type == REPLICA_EVENT_HELD) {
            on_held(replica, peer, event->present);
        } else if (event->type == REPLICA_EVENT_PEER_RESTARTED) {
            on_restarted(replica, peer, event->incarnation);
        } else if (event->type == REPLICA_EVENT_EXCEPTED_BY_PEER) {
            peer->excepted = peer->excepted || event->version == replica_version(replica);
        } else if (event->type == REPLICA_EVENT_TEACHING) {
            on_teaching(replica, peer, event);
        } else if (event->type == REPLICA_EVENT_TAUGHT) {
            on_taught(replica, peer, event);
        } else if (event->type == REPLICA_EVENT_UNTAUGHT) {
            on_untaught(replica, peer, event);
        }
    }
}

void replica_reign_read(struct replica *replica, const struct replica_event *event)
{
    struct replica_peer *peer = replica_find_peer(replica, event->from.store);
    uint64_t sequence = event->present ? event->entry.sequence : event->sequence;
    if (peer == NULL || peer->reading == 0 || peer->reading != sequence) {
        return; /* it was opened anew since */
    }
    peer->reading = 0;
    if (!takes_entries(peer) || sequence > peer->sent + 1) {
        return; /* it went back */
    }
    if (event->present) {
        send_prepare(replica, peer, &event->entry);
    } else if (peer->as_learner) {
        open_anew(replica, peer, DUE_NOW); /* to be taught from where it stands */
    } else {
        peer->broken = true;
    }
}

/* For how long is not decided here: a member that writes wait for meanwhile is removed in its time (rule 13), and others
 * lose nothing by waiting. */
void replica_reign_unread(struct replica *replica, const struct replica_event *event)
{
    struct replica_peer *peer = replica_find_peer(replica, event->from.store);
    if (peer != NULL && peer->reading != 0 && peer->reading == event->sequence) {
        peer->read_asked_ns = replica->now_ns + replica->settings.resend_ns -
                              replica->settings.prepare_timeout_ns;
    }
}
