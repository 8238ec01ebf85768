/*
 * Versions: a replica goes only forward (rule 1), logs a version before it acts under it (I7), and
 * takes back what it has promised under the one before.
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

/* --- promises ----------------------------------------------------------------------------------- */

void replica_grant(struct replica *replica, uint64_t incarnation)
{
    struct replica_member leader = replica_leader(replica);
    replica->granted = true;
    replica->granted_to = leader;
    replica->granted_version = replica_version(replica);
    struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_GRANT);
    effect->to = leader;
    effect->version = replica_version(replica);
    effect->incarnation = incarnation;
}

void replica_except(struct replica *replica)
{
    ASSERT(replica->granted);
    replica->granted = false;
    replica->excepting++;
    struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_EXCEPT);
    effect->to = replica->granted_to;
    effect->version = replica->granted_version;
}

int64_t replica_free_from_ns(const struct replica *replica)
{
    return replica_later(replica->free_from_ns, replica->excepted_until_ns);
}

/* A leader that has given its word needs no lease to lose (rule 14): its own process serves no more, and
 * one of its server's before it is gone. */
void replica_on_excepted(struct replica *replica, const struct replica_event *event)
{
    uint64_t server = event->from.server;
    ASSERT(replica->excepting > 0);
    replica->excepting--;
    if (server == replica->word_server && event->version <= replica->word_version) {
        return;
    }
    if (server != replica->excepted_server) {
        replica->free_from_ns = replica_free_from_ns(replica);
        replica->excepted_server = server;
        replica->excepted_until_ns = DUE_NOW;
    }
    replica->excepted_until_ns = replica_later(replica->excepted_until_ns, event->at_ns);
}

void replica_take_word(struct replica *replica)
{
    replica->word_version = replica_version(replica);
    replica->word_server = replica_leader(replica).server;
    if (replica->excepted_server == replica->word_server) {
        replica->excepted_until_ns = DUE_NOW;
    }
}

/* --- the log's side ----------------------------------------------------------------------------- */

void replica_drop_above(struct replica *replica, uint64_t sequence)
{
    if (replica->void_barrier > sequence) { /* another one may come to stand there */
        replica->void_barrier = 0;
    }
    if (sequence >= replica_appended(replica)) {
        return;
    }
    ASSERT(sequence >= replica->committed);
    replica_window_drop_above(&replica->window, sequence);
    replica->synced = replica->synced < sequence ? replica->synced : sequence;
    replica->barrier = replica->committed_barrier;
    for (uint64_t at = replica->committed + 1; at <= sequence; at++) {
        const struct replica_entry *entry = &replica_window_slot(&replica->window, at)->entry;
        if (entry->barrier != REPLICA_BARRIER_NONE) {
            replica->barrier = (struct replica_standing){entry->sequence, entry->version,
                                                         entry->barrier};
        } else if (entry->lifts) {
            replica->barrier = (struct replica_standing){0};
        }
    }
}

void replica_emit_configure(struct replica *replica, uint64_t kept)
{
    replica->configuring++;
    struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_CONFIGURE);
    effect->configuration = replica->configuration;
    effect->version = replica_version(replica);
    effect->role = replica->role;
    effect->flags = replica->flags;
    effect->sequence = kept;
}

/* Whoever leads alone has nobody to be taught by: a later life of it is to lead again. */
static bool damage_counts(const struct replica *replica)
{
    return replica->damaged && !(replica->role == REPLICA_PRIMARY && replica_is_lone(replica));
}

void replica_note_damage(struct replica *replica)
{
    replica->damaged = true;
    if (replica_version(replica) != 0 && !replica->flags.damaged && damage_counts(replica)) {
        replica->flags.damaged = true;
        replica_emit_configure(replica, replica_appended(replica));
    }
}

/* --- adoption ----------------------------------------------------------------------------------- */

static void forget_version(struct replica *replica)
{
    replica->opener = 0;
    replica->accepted = false;
    replica->answering = false;
    replica->told_committed = 0;
    replica->away = false;
    replica->propose_from_ns = DUE_NEVER;
    replica->propose_yield = false;
    replica->refuses = false;
    replica->ousts = false;
    replica->asks_catalog = false;
    replica_propose_reset(replica);
}

static enum replica_role role_under(const struct replica *replica,
                                    const struct replica_adoption *adoption)
{
    /* Section 9: a damaged replica is not promoted; one that leads already may be the last one. */
    if (replica_is_named_leader(replica) && !replica->flags.doubtful &&
        (!replica->damaged || replica->leads)) {
        return REPLICA_PRIMARY;
    }
    if (replica_is_member(replica)) {
        return REPLICA_SECONDARY;
    }
    return adoption->opened ? REPLICA_LEARNER : REPLICA_OUTSIDER;
}

/* Rule 18: what it has is of a history that a person gave up.  It may have as many entries as there are now, or fewer,
 * and others (an attack: it was taken for one that only lacks the newest). */
static bool is_given_up(const struct replica *replica, const struct replica_adoption *adoption)
{
    uint64_t now = replica_version_era(adoption->configuration->version);
    return replica_version(replica) != 0 && !adoption->chosen &&
           replica_version_era(replica_version(replica)) != now;
}

/* Whoever leads logs that too, before it does. */
void replica_adopt(struct replica *replica, const struct replica_adoption *adoption)
{
    ASSERT(adoption->configuration->version > replica_version(replica));
    bool led = replica->leads;
    replica->damaged = replica->damaged || is_given_up(replica, adoption);
    replica_reign_end(replica); /* the old version's, whatever comes now */
    if (replica->granted) {
        replica_except(replica);
    }
    forget_version(replica);
    replica->configuration = *adoption->configuration;
    replica->role = role_under(replica, adoption);
    /* Rule 21: who has borne it out need not have heard of this version.  That may be one which a life before has
     * proposed, and led, whose disk has gone back since: so it is where it leads, too. */
    replica->alone_from_ns = replica->young_until_ns;
    if (led && replica->role != REPLICA_PRIMARY) {
        replica->leads = false;
        replica_emit(replica, REPLICA_EFFECT_FOLLOW)->sequence = replica->committed;
    }
    replica_drop_above(replica, adoption->kept);
    bool leads = replica->role == REPLICA_PRIMARY;
    bool bound = replica->excepting > 0 || replica_free_from_ns(replica) > replica->now_ns;
    /* A learner's doubt is over: it does not count before it is whole (rule 20). */
    replica->flags = (struct replica_flags){.opened = adoption->opened || leads,
                                            .bound = bound || !leads,
                                            .damaged = damage_counts(replica),
                                            .doubtful = replica->flags.doubtful &&
                                                        !adoption->as_learner};
    replica->opener = adoption->incarnation;
    replica->answering = adoption->opened || adoption->refused;
    replica->open_as_learner = adoption->as_learner;
    replica->adopted = false;
    replica_emit_configure(replica, adoption->kept);
    if (!leads && !replica_is_named_leader(replica) && !adoption->refused &&
        (adoption->opened || replica_is_member(replica))) {
        replica_grant(replica, adoption->incarnation);
    }
}

/* Rule 21: it is still the only member.  Rule 20: where one log is enough for an answer, whoever cut it has
 * accepted the loss. */
static void hear_confirmed(struct replica *replica)
{
    bool accepted = replica->flags.doubtful && replica->settings.min_in_sync <= 1 &&
                    replica_is_lone(replica) && replica_is_named_leader(replica);
    replica->asks_catalog = false;
    if (accepted && replica->configuring == 0) {
        replica->flags.doubtful = false;
        replica_emit_configure(replica, replica_appended(replica));
    }
}

/*
 * Rule 18: one that has nothing may begin a tablet, at version 1, or where whoever hands in the event
 * knows that nobody else has it.  Of a later version it may be a member only if nothing was written
 * before; its primary knows, and its OPEN says so.
 */
void replica_on_catalog(struct replica *replica, const struct replica_event *event)
{
    const struct replica_configuration *newest = &event->configuration;
    bool is_member = replica_configuration_find(newest, replica->self.store) < newest->member_count;
    bool has_nothing = replica_version(replica) == 0;
    if (replica_configuration_equal(newest, &replica->configuration)) {
        hear_confirmed(replica);
        return;
    }
    if (newest->version <= replica_version(replica) ||
        (has_nothing && is_member && newest->version > 1 && !event->present)) {
        return;
    }
    /* Damaged or not, it is all that there is: whoever chose it has accepted that. */
    replica->damaged = replica->damaged && !(event->recovered && is_member);
    replica->flags.doubtful = replica->flags.doubtful && !(event->recovered && is_member);
    if (event->recovered && is_member) {
        replica->young_until_ns = DUE_NOW;
        replica->alone_from_ns = DUE_NOW;
    }
    replica_adopt(replica, &(struct replica_adoption){.configuration = newest,
                                                      .chosen = event->recovered && is_member,
                                                      .kept = replica_appended(replica)});
}

void replica_doubt(struct replica *replica)
{
    bool led = replica->leads;
    replica_reign_end(replica);
    replica_propose_reset(replica); /* one that is taken all the same is nothing to lead under */
    replica->flags.doubtful = true;
    replica->role = REPLICA_SECONDARY;
    replica->leads = false;
    if (led) {
        replica_emit(replica, REPLICA_EFFECT_FOLLOW)->sequence = replica->committed;
    }
    replica_emit_configure(replica, replica_appended(replica));
}

/* What it has promised for the tablet counts for what came of it: whoever leads that waits (rule 11). */
void replica_on_gone(struct replica *replica)
{
    bool led = replica->leads;
    replica_reign_end(replica);
    if (replica->granted) {
        replica_except(replica);
    }
    forget_version(replica);
    replica->leads = false;
    replica->gone = true;
    if (led) {
        replica_emit(replica, REPLICA_EFFECT_FOLLOW)->sequence = replica->committed;
    }
}

void replica_on_configured(struct replica *replica)
{
    ASSERT(replica->configuring > 0);
    replica->configuring--;
    if (replica->configuring > 0) {
        return;
    }
    bool first = !replica->adopted;
    replica->adopted = true;
    if (replica->role == REPLICA_PRIMARY && first) {
        replica_reign_begin(replica);
    }
    replica_follow_answer(replica);
}
