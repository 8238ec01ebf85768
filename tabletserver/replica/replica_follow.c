/*
 * Following: what a secondary, a learner or an outsider does with the messages of a primary (rules 1,
 * 3, 4, 10, 14, 16).
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_internal.h"

/* A window that is full twice over is its primary's mistake: it says again what is not taken. */
#define WINDOW_SLACK 2

/* --- answers ------------------------------------------------------------------------------------ */

static struct replica_message *answer(struct replica *replica, enum replica_message_type type)
{
    struct replica_message *message = replica_send(replica, replica_leader(replica), type);
    message->opener = replica->opener;
    return message;
}

static bool may_turn_away(const struct replica *replica)
{
    return replica->role == REPLICA_SECONDARY && replica_is_member(replica) &&
           !replica_is_named_leader(replica) && !replica->away && !replica->damaged &&
           !replica->flags.doubtful;
}

/* Rule 14: who reaches no master could propose itself to nobody. */
static enum replica_will will_of(const struct replica *replica)
{
    bool can = may_turn_away(replica) && !replica->stalled && !replica->leaving &&
               !replica->cut_off;
    return can ? REPLICA_WILL_LEAD : REPLICA_WILL_NOT;
}

static void answer_prepared(struct replica *replica, bool gap)
{
    struct replica_message *message = answer(replica, REPLICA_PREPARED);
    message->sequence = replica->synced;
    message->appended = replica_appended(replica);
    message->gap = gap;
    message->will = will_of(replica);
}

/* Section 9: remove me. */
static void say_damaged(struct replica *replica)
{
    replica->complained_ns = replica->now_ns;
    (void)answer(replica, REPLICA_DAMAGED);
}

static void declare_damaged(struct replica *replica)
{
    bool news = !replica->damaged;
    replica_note_damage(replica);
    if (replica->opener != 0 && news) {
        say_damaged(replica);
    }
}

/* A member says it until it is none; a learner is taught anew. */
static int64_t complain_due_ns(const struct replica *replica)
{
    bool complains = replica->damaged && replica->opener != 0 && !replica->open_as_learner &&
                     !replica->away && !replica->answering;
    return complains ? replica->complained_ns + replica->settings.resend_ns : DUE_NEVER;
}

void replica_follow_answer(struct replica *replica)
{
    if (!replica->answering || replica->configuring > 0 || replica->opener == 0) {
        return;
    }
    replica->answering = false;
    if (replica->damaged && !replica->open_as_learner) {
        say_damaged(replica);
        return;
    }
    if (replica->away) {
        replica_answer_refused(replica, answer(replica, REPLICA_REFUSED));
        return;
    }
    struct replica_message *message = answer(replica, REPLICA_OPENED);
    message->sequence = replica->synced;
    message->committed = replica->committed;
    message->previous_version = replica_version_at(replica, replica->synced);
    message->as_learner = replica->open_as_learner;
    message->will = will_of(replica);
}

/* --- OPEN --------------------------------------------------------------------------------------- */

/* What it has must agree with what the primary had when its reign began. */
static bool agrees(const struct replica *replica, const struct replica_message *open)
{
    if (open->sequence < replica->committed) {
        return false; /* a learner's, which is taught anew; a member refuses (rule 19) */
    }
    if (open->as_learner || open->sequence > replica_appended(replica)) {
        return true; /* it drops the rest, or has less */
    }
    uint64_t version = replica_version_at(replica, open->sequence);
    return version == 0 || open->previous_version == 0 || version == open->previous_version;
}

static uint64_t kept_of(const struct replica *replica, const struct replica_message *open)
{
    uint64_t appended = replica_appended(replica);
    if (open->as_learner || open->sequence < replica->committed) {
        return replica->committed; /* the latter of one that is damaged: it does not count */
    }
    return open->sequence < appended ? open->sequence : appended;
}

/* The version is higher than ours. */
static void open_new(struct replica *replica, const struct replica_message *open)
{
    bool empty_member = replica_version(replica) == 0 && !open->as_learner && open->sequence > 0;
    replica->damaged = replica->damaged || empty_member || !agrees(replica, open);
    replica->opened_start = open->sequence;
    replica_adopt(replica, &(struct replica_adoption){.configuration = &open->configuration,
                                                      .opened = true,
                                                      .as_learner = open->as_learner,
                                                      .incarnation = open->incarnation,
                                                      .kept = kept_of(replica, open)});
}

/* Whether anything must be logged before the answer. */
static bool open_once(struct replica *replica, const struct replica_message *open, bool attached)
{
    replica->opened_start = open->sequence;
    if (replica->damaged && !open->as_learner) {
        return false;
    }
    if (!replica->flags.opened) {
        if (!agrees(replica, open)) {
            replica_note_damage(replica);
        }
        if (replica->damaged && !open->as_learner) {
            return false;
        }
        replica->flags.opened = true;
        replica->role = open->as_learner ? REPLICA_LEARNER : REPLICA_SECONDARY;
        replica_drop_above(replica, kept_of(replica, open));
        return true;
    }
    if (replica->role == REPLICA_LEARNER && !open->as_learner) {
        replica->role = REPLICA_SECONDARY;
        return true;
    }
    /* It does not count: what it had from another life of its primary's, or its own, goes. */
    if (replica->role == REPLICA_LEARNER && !attached) {
        replica_drop_above(replica, replica->committed);
        return true;
    }
    return false;
}

/* It was opened as a learner before, or nobody would open it as a member; and that was synced before it said so
 * (rule 16).  A log that was cut, or a copy that was dropped and made anew, does not know it any more. */
static void say_forgotten(struct replica *replica, const struct replica_message *open)
{
    replica_note_damage(replica);
    replica_send(replica, replica_leader(replica), REPLICA_DAMAGED)->opener = open->incarnation;
}

/* The version is ours. */
static void open_again(struct replica *replica, const struct replica_message *open)
{
    bool is_member = replica_is_member(replica);
    bool attached = replica->opener == open->incarnation;
    /* Opened as a member while its addition is in doubt, it is no learner any more: that OPEN is late. */
    bool late = open->incarnation < replica->opener ||
                (open->as_learner && replica->role == REPLICA_SECONDARY);
    bool unheard_of = !open->as_learner && !is_member && !replica->flags.opened;
    if (late || replica_is_named_leader(replica) ||
        !replica_configuration_equal(&open->configuration, &replica->configuration)) {
        return;
    }
    if (unheard_of) {
        say_forgotten(replica, open);
        return;
    }
    if (replica->refuses || replica_refuses_again(replica, open)) {
        replica_refuse(replica, open);
        return;
    }
    if (replica->away) {
        replica_stay_away(replica, open);
        return;
    }
    if (!attached) {
        replica->told_committed = 0;
        replica->accepted = false;
    }
    replica->opener = open->incarnation;
    replica->open_as_learner = open->as_learner;
    replica->answering = true;
    if (open_once(replica, open, attached)) {
        replica_emit_configure(replica, replica_appended(replica));
    }
    if (!attached) {
        replica_grant(replica, open->incarnation);
    }
    replica_follow_answer(replica);
}

static void on_open(struct replica *replica,
                    struct replica_member from,
                    const struct replica_message *open)
{
    const struct replica_configuration *configuration = &open->configuration;
    if (!replica_configuration_is_sound(configuration) || configuration->version != open->version ||
        open->incarnation == 0 ||
        !replica_same_member(configuration->members[configuration->leader], from)) {
        return;
    }
    bool is_member = replica_configuration_find(configuration, replica->self.store) <
                     configuration->member_count;
    if (open->as_learner && is_member) {
        return;
    }
    if (open->version == replica_version(replica)) {
        open_again(replica, open);
    } else if (is_member && replica_refuses(replica, open)) {
        replica_refuse(replica, open);
    } else if (is_member || open->as_learner) {
        open_new(replica, open);
    }
}

/* --- entries ------------------------------------------------------------------------------------ */

/* From the very process that opened it, under this version, and not turned away. */
static bool listens(const struct replica *replica, const struct replica_message *message)
{
    return replica->opener != 0 && message->incarnation == replica->opener && !replica->away &&
           replica->configuring == 0 && replica->role != REPLICA_PRIMARY;
}

static bool fits(const struct replica *replica, const struct replica_message *prepare)
{
    uint64_t last = replica_version_at(replica, replica_appended(replica));
    uint64_t said = prepare->previous_version;
    return prepare->entry.version >= last && prepare->entry.version <= replica_version(replica) &&
           (last == 0 || said == 0 || said == last);
}

static enum status on_prepare(struct replica *replica, const struct replica_message *prepare)
{
    uint64_t sequence = prepare->entry.sequence;
    if (replica->damaged) {
        (void)answer(replica, REPLICA_DAMAGED);
        return STATUS_OK;
    }
    if (sequence > replica_appended(replica) + 1) {
        answer_prepared(replica, true);
        return STATUS_OK;
    }
    if (sequence <= replica_appended(replica)) {
        uint64_t version = replica_version_at(replica, sequence);
        if (version != 0 && version != prepare->entry.version) {
            declare_damaged(replica);
        } else {
            answer_prepared(replica, false);
        }
        return STATUS_OK;
    }
    if (!fits(replica, prepare)) {
        declare_damaged(replica);
        return STATUS_OK;
    }
    if (replica->window.size_bytes > WINDOW_SLACK * replica->settings.window_bytes_max) {
        return STATUS_OK; /* it comes again */
    }
    return replica_append(replica, &prepare->entry, true);
}

static void hear_committed(struct replica *replica, uint64_t committed)
{
    if (committed > replica->told_committed) {
        replica->told_committed = committed;
    }
}

static void on_committed(struct replica *replica, const struct replica_message *committed)
{
    hear_committed(replica, committed->sequence);
    if (committed->asks && !replica->damaged) { /* else it complains */
        answer_prepared(replica, false);
    }
}

static void commit_told(struct replica *replica)
{
    uint64_t committed = replica->told_committed;
    committed = committed < replica->synced ? committed : replica->synced;
    if (committed > replica->committed && !replica->damaged) {
        replica_commit(replica, committed);
    }
}

void replica_follow_synced(struct replica *replica)
{
    if (replica->opener != 0 && !replica->away && replica->configuring == 0 && !replica->damaged) {
        answer_prepared(replica, false);
    }
}

/* --- turning away ------------------------------------------------------------------------------- */

static void turn_away(struct replica *replica, int64_t wait_ns, bool by_word)
{
    replica->away = true;
    replica->propose_yield = by_word;
    replica->propose_from_ns = replica->now_ns + wait_ns;
    if (by_word) {
        replica_take_word(replica);
    }
    if (replica->granted) {
        replica_except(replica);
    }
}

/* How many secondaries go before it. */
static uint32_t rank_of(const struct replica *replica)
{
    const struct replica_configuration *configuration = &replica->configuration;
    uint32_t index = replica_configuration_find(configuration, replica->self.store);
    return index > configuration->leader ? index - 1 : index;
}

void replica_follow_silent(struct replica *replica, uint64_t version)
{
    if (version == replica_version(replica) && may_turn_away(replica)) {
        turn_away(replica, rank_of(replica) * replica->settings.stagger_ns, false);
    }
}

static void on_yield(struct replica *replica, const struct replica_message *yield)
{
    if (yield->sequence > replica->synced || !may_turn_away(replica)) {
        return;
    }
    hear_committed(replica, yield->sequence);
    commit_told(replica);
    turn_away(replica, 0, true);
}

static bool goes_without_leader(const struct replica *replica)
{
    return !replica->propose_yield || replica->ousts;
}

/* When it may propose itself (rules 9, 10, 14, 19, 21): what it promised is over, and its turn has come. */
static int64_t take_over_due_ns(const struct replica *replica)
{
    bool stands_still = replica->refuses &&
                        (replica->stalled || replica->leaving || replica->flags.doubtful);
    if (!replica->away || replica->proposing || replica->excepting > 0 || replica->damaged ||
        stands_still || replica->configuring > 0) {
        return DUE_NEVER;
    }
    int64_t due_ns = replica->propose_from_ns;
    if (!replica->propose_yield) {
        due_ns = replica_later(due_ns, replica_free_from_ns(replica));
    }
    bool alone = goes_without_leader(replica) && replica->configuration.member_count == 2;
    /* Who has more has been borne out by that. */
    return alone && !replica->refuses ? replica_later(due_ns, replica->alone_from_ns) : due_ns;
}

int64_t replica_follow_due_ns(const struct replica *replica)
{
    return replica_sooner(take_over_due_ns(replica), complain_due_ns(replica));
}

void replica_follow_advance(struct replica *replica)
{
    commit_told(replica);
    replica_end_doubt(replica);
    if (complain_due_ns(replica) <= replica->now_ns) {
        say_damaged(replica);
    }
    if (take_over_due_ns(replica) > replica->now_ns) {
        return;
    }
    struct replica_proposal proposal = {.kind = REPLICA_PROPOSE_MEMBERS,
                                        .base = replica_version(replica)};
    proposal.next = replica_configuration_lead(&replica->configuration, replica->self.store,
                                               goes_without_leader(replica));
    replica_propose_begin(replica, &proposal);
}

/* --- teaching and damage ------------------------------------------------------------------------ */

/* What lies at or below `sequence` is taught as data: the log goes on behind it (section 6). */
void replica_follow_taught(struct replica *replica, const struct replica_event *event)
{
    uint64_t sequence = event->sequence;
    if (replica->role != REPLICA_LEARNER || event->version != replica_version(replica) ||
        event->incarnation != replica->opener || replica->configuring > 0 ||
        sequence < replica_appended(replica)) {
        return;
    }
    replica->damaged = false; /* what it had has given place */
    replica_window_restart(&replica->window, sequence);
    replica->committed = sequence;
    replica->committed_version = 0;
    replica->synced = sequence;
    replica->barrier = (struct replica_standing){0};
    replica->committed_barrier = (struct replica_standing){0};
    if (replica->flags.damaged) {
        replica->flags.damaged = false;
        replica_emit_configure(replica, sequence);
    }
}

void replica_follow_damaged(struct replica *replica)
{
    declare_damaged(replica);
}

enum status replica_follow_receive(struct replica *replica,
                                   struct replica_member from,
                                   const struct replica_message *message)
{
    if (message->type == REPLICA_OPEN) {
        on_open(replica, from, message);
        return STATUS_OK;
    }
    if (message->version != replica_version(replica) || !listens(replica, message) ||
        !replica_same_member(replica_leader(replica), from)) {
        return STATUS_OK;
    }
    replica->accepted = replica->accepted || message->opener == replica->incarnation;
    switch (message->type) {
    case REPLICA_PREPARE: {
        enum status status = on_prepare(replica, message);
        if (status == STATUS_OK) {
            hear_committed(replica, message->committed);
        }
        return status;
    }
    case REPLICA_COMMITTED:
        on_committed(replica, message);
        return STATUS_OK;
    case REPLICA_YIELD:
        on_yield(replica, message);
        return STATUS_OK;
    case REPLICA_OPEN:
    case REPLICA_OPENED:
    case REPLICA_PREPARED:
    case REPLICA_BEHIND:
    case REPLICA_DAMAGED:
    case REPLICA_REFUSED:
    case REPLICA_LESSON:
    case REPLICA_TEACH:
    case REPLICA_SLICE:
    case REPLICA_LEARNED:
    case REPLICA_DIGEST:
    case REPLICA_DIGESTED:
    case REPLICA_DIFFERS:
        return STATUS_OK;
    }
    return STATUS_OK;
}
