/* Reigning: what members and learners answer, and what else is told of them. */
#include "tabletserver/replica/replica_internal.h"

/* --- answers ------------------------------------------------------------------------------------ */

/* Of one that counts: all that is committed, and at the end what is there here as well (rule 3). */
static bool has_what_it_says(const struct replica *replica, const struct replica_message *opened)
{
    uint64_t version = replica_version_at(replica, opened->sequence);
    return opened->sequence >= replica->committed &&
           (version == 0 || opened->previous_version == 0 || version == opened->previous_version);
}

/* Its log ends under a later version than what is here: then it may be this one that has lost what replaced that (rule 19), and
 * the answer of such a one bears nobody out (rule 21). */
static bool ends_later(const struct replica *replica, const struct replica_message *opened)
{
    uint64_t version = replica_version_at(replica, opened->sequence);
    return version != 0 && opened->previous_version > version;
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
    if (replica_counts(replica, peer) && !ends_later(replica, opened)) {
        replica_bear_out(replica);
    }
    if (replica_counts(replica, peer) && !has_what_it_says(replica, opened)) {
        peer->broken = true; /* it has lost what it had acknowledged */
        return;
    }
    peer->refuses = false;
    peer->opened_ns = replica->now_ns;
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
    if (!replica_takes_entries(peer) || prepared->sequence > replica_appended(replica)) {
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
        replica_reign_open_anew(replica, peer,
                                peer->open_sent_ns); /* the process before had opened it */
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
        replica_reign_open_anew(replica, peer, DUE_NOW);
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
        replica_reign_open_anew(replica, peer, replica->now_ns);
    }
}

/* As one that was never opened: who does not answer is let go, and others have their turn. */
static void on_untaught(const struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_event *event)
{
    if (event->version == replica_version(replica) && event->incarnation == peer->incarnation &&
        peer->opened && peer->as_learner) {
        replica_reign_open_anew(replica, peer, DUE_NOW);
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
