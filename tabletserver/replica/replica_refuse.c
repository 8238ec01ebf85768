/*
 * Disks that went back in time (rules 19 to 21): who is opened by one that has less refuses that, and
 * leads in its place; who hears that it has less than is committed leads nobody until it was taught.
 * Modelled in tests/model/replication (OLD_DISK).
 */
#include "tabletserver/replica/replica_internal.h"

/* So many times what a slow member is given, for one that has more to take the lead. */
#define REFUSED_TIMEOUTS 10

/* --- the member --------------------------------------------------------------------------------- */

/* Whether an entry of `version` at `sequence`, or before it, cannot be the one that is committed here.
 * Versions do not fall along a log. */
static bool is_below(const struct replica *replica, uint64_t sequence, uint64_t version)
{
    return sequence < replica->committed || (version != 0 && replica->committed_version != 0 &&
                                             version < replica->committed_version);
}

/* Of two logs that which ends under the later version has what counts; else the longer.  What is not
 * synced here nobody has been told of. */
static bool has_more(const struct replica *replica, const struct replica_message *open)
{
    uint64_t version = replica_version_at(replica, replica->synced);
    if (version != 0 && open->previous_version != 0 && version != open->previous_version) {
        return version > open->previous_version;
    }
    return replica->synced > open->sequence;
}

static bool can_lead(const struct replica *replica)
{
    return !replica->flags.doubtful && !replica->stalled && !replica->leaving;
}

bool replica_refuses(const struct replica *replica, const struct replica_message *open)
{
    if (open->as_learner || replica->damaged) {
        return false;
    }
    return is_below(replica, open->sequence, open->previous_version) ||
           (can_lead(replica) && has_more(replica, open));
}

/* By a process of before.  That had the version on its disk, or it would have opened nobody, so no later one leads under
 * it again (rule 2): unless the disk went back to before it. */
static bool was_opened_by_another(const struct replica *replica, const struct replica_message *open)
{
    return open->version == replica_version(replica) && replica->flags.opened &&
           replica->role == REPLICA_SECONDARY && replica->opener != 0 &&
           replica->opener != open->incarnation;
}

/*
 * What this very version has given it, and its opener does not have: another process gave it.  A member that has
 * restarted does not know by whom it was opened, and this tells.  Either its log is longer; or it ends where its opener's reign
 * had begun already, under a later version than what is there: what the opener has there was replaced, for such an end is a
 * part of what whoever has opened it began with.  (In between lies nothing: nobody gives out before all have opened.)
 * A late OPEN, of before the restart, tells of what was given until then: what lies behind it in an outbox comes behind it.
 */
static bool was_given_more(const struct replica *replica, const struct replica_message *open)
{
    uint64_t version = replica_version_at(replica, replica->synced);
    bool was_opened = open->version == replica_version(replica) && replica->flags.opened &&
                      replica->role == REPLICA_SECONDARY && replica->opener == 0;
    bool ends_later = replica->synced <= open->sequence && open->previous_version != 0 &&
                      version > open->previous_version;
    return was_opened && (replica->synced > open->appended || ends_later);
}

static bool is_certain(const struct replica *replica, const struct replica_message *open)
{
    return was_opened_by_another(replica, open) || was_given_more(replica, open) ||
           is_below(replica, open->sequence, open->previous_version);
}

bool replica_refuses_again(const struct replica *replica, const struct replica_message *open)
{
    if (replica->flags.opened) {
        return !open->as_learner && !replica->damaged && replica_is_member(replica) &&
               (was_opened_by_another(replica, open) || was_given_more(replica, open));
    }
    return replica_refuses(replica, open);
}

/* It cannot have served without this member under the new version, and serves no more under those before:
 * so its OPEN is as good as a word (rule 14).  But what was given under it to a process of before may still be
 * counted on, and is waited for. */
void replica_refuse(struct replica *replica, const struct replica_message *open)
{
    bool again = replica->refuses && open->version == replica_version(replica);
    bool ousts = (again && replica->ousts) || is_certain(replica, open);
    if (open->version > replica_version(replica)) {
        replica_adopt(replica, &(struct replica_adoption){.configuration = &open->configuration,
                                                          .refused = true,
                                                          .incarnation = open->incarnation,
                                                          .kept = replica_appended(replica)});
    }
    bool by_word = !replica->flags.opened;
    replica->opener = open->incarnation;
    replica->answering = true;
    replica->refuses = true;
    replica->ousts = ousts;
    replica->away = true;
    replica->propose_yield = by_word;
    replica->propose_from_ns = replica->now_ns;
    if (by_word) {
        replica_take_word(replica);
    } else if (replica->granted) {
        replica_except(replica);
    }
    replica_follow_answer(replica);
}

void replica_stay_away(struct replica *replica, const struct replica_message *open)
{
    if (open->as_learner) {
        return;
    }
    replica->opener = open->incarnation;
    replica->answering = true;
    replica_follow_answer(replica);
}

void replica_answer_refused(struct replica *replica, struct replica_message *message)
{
    message->sequence = replica->synced;
    message->committed = replica->committed;
    message->previous_version = replica->committed_version;
    message->gap = replica->refuses;
}

/* --- the primary -------------------------------------------------------------------------------- */

/* One that turned away from a reign that goes on knows of what that has committed, too. */
static bool has_lost(const struct replica *replica, const struct replica_message *refused)
{
    uint64_t own = replica_version_at(replica, replica_appended(replica));
    return refused->committed > replica_appended(replica) ||
           (own != 0 && own < refused->previous_version);
}

void replica_on_refused(struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_message *refused)
{
    if (peer->opened || peer->as_learner || !replica_counts(replica, peer)) {
        return;
    }
    if (has_lost(replica, refused)) {
        replica_doubt(replica);
    } else if (!refused->gap) {
        replica_bear_out(replica);
    } else if (!peer->refuses) {
        peer->refuses = true;
        peer->open_until_ns = replica->now_ns +
                              REFUSED_TIMEOUTS * replica->settings.prepare_timeout_ns;
    }
}

/* --- doubt, and who ends it --------------------------------------------------------------------- */

/*
 * What the reign that opened it began with has all that was committed before; and what it has committed since
 * needs this replica: this very process of it, which it says that it counts on, for what a life before has
 * acknowledged may be what the disk has lost.
 */
void replica_end_doubt(struct replica *replica)
{
    bool whole = replica->role == REPLICA_SECONDARY && replica->accepted && !replica->away &&
                 replica->configuring == 0 && replica->synced >= replica->opened_start;
    if (!whole) {
        return;
    }
    replica_bear_out(replica);
    if (replica->flags.doubtful) {
        replica->flags.doubtful = false;
        replica_emit_configure(replica, replica_appended(replica));
    }
}

void replica_bear_out(struct replica *replica)
{
    replica->alone_from_ns = DUE_NOW;
}
