/* Reigning: what is sent to members and learners, and when (rules 3, 4, 15). */
#include "tabletserver/replica/replica_internal.h"

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

void replica_reign_open_anew(const struct replica *replica,
                             struct replica_peer *peer,
                             int64_t sent_ns)
{
    peer->opened = false;
    peer->open_sent_ns = sent_ns;
    peer->open_until_ns = replica->now_ns + replica->settings.prepare_timeout_ns;
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
    if (!replica_takes_entries(peer)) {
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
    bool owed = replica_takes_entries(peer) && (peer->told < replica->committed || !peer->greeted);
    if (replica_takes_entries(peer) && peer->question) {
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

/* --- what the window has no more ---------------------------------------------------------------- */

void replica_reign_read(struct replica *replica, const struct replica_event *event)
{
    struct replica_peer *peer = replica_find_peer(replica, event->from.store);
    uint64_t sequence = event->present ? event->entry.sequence : event->sequence;
    if (peer == NULL || peer->reading == 0 || peer->reading != sequence) {
        return; /* it was opened anew since */
    }
    peer->reading = 0;
    if (!replica_takes_entries(peer) || sequence > peer->sent + 1) {
        return; /* it went back */
    }
    if (event->present) {
        send_prepare(replica, peer, &event->entry);
    } else if (peer->as_learner) {
        replica_reign_open_anew(replica, peer, DUE_NOW); /* to be taught from where it stands */
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
