/*
 * A replica's life: its making, its step, what can be seen of it.
 */
#include "tabletserver/replica/replica.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/replica/replica_internal.h"

/* --- effects ------------------------------------------------------------------------------------ */

struct replica_effect *replica_emit(struct replica *replica, enum replica_effect_type type)
{
    ASSERT(replica->effects->count < REPLICA_EFFECTS_MAX);
    struct replica_effect *effect = &replica->effects->items[replica->effects->count++];
    *effect = (struct replica_effect){.type = type};
    return effect;
}

struct replica_message *replica_send(struct replica *replica,
                                     struct replica_member to,
                                     enum replica_message_type type)
{
    struct replica_effect *effect = replica_emit(replica, REPLICA_EFFECT_SEND);
    effect->to = to;
    effect->message.type = type;
    effect->message.version = replica_version(replica);
    effect->message.incarnation = replica->incarnation;
    return &effect->message;
}

/* --- entries ------------------------------------------------------------------------------------ */

uint64_t replica_version_at(const struct replica *replica, uint64_t sequence)
{
    const struct window_slot *slot = replica_window_slot(&replica->window, sequence);
    if (slot != NULL) {
        return slot->entry.version;
    }
    return sequence == replica->committed ? replica->committed_version : 0;
}

static void note_barrier(struct replica_standing *standing, const struct replica_entry *entry)
{
    if (entry->barrier != REPLICA_BARRIER_NONE) {
        *standing = (struct replica_standing){entry->sequence, entry->version, entry->barrier};
    } else if (entry->lifts) {
        *standing = (struct replica_standing){0};
    }
}

enum status replica_append(struct replica *replica, const struct replica_entry *entry, bool keep)
{
    enum status status = replica_window_append(&replica->window, entry, keep);
    if (status != STATUS_OK) {
        return status;
    }
    note_barrier(&replica->barrier, entry);
    replica_emit(replica, REPLICA_EFFECT_APPEND)->entry = *entry;
    return STATUS_OK;
}

void replica_commit(struct replica *replica, uint64_t sequence)
{
    ASSERT(sequence > replica->committed);
    ASSERT(sequence <= replica->synced);
    for (uint64_t at = replica->committed + 1; at <= sequence; at++) {
        const struct replica_entry *entry = &replica_window_slot(&replica->window, at)->entry;
        note_barrier(&replica->committed_barrier, entry);
        replica->committed_version = entry->version;
    }
    replica->committed = sequence;
    replica_emit(replica, REPLICA_EFFECT_COMMIT)->sequence = sequence;
}

static void on_synced(struct replica *replica, uint64_t sequence)
{
    uint64_t appended = replica_appended(replica);
    uint64_t synced = sequence < appended ? sequence : appended; /* the rest was dropped since */
    if (synced <= replica->synced) {
        return;
    }
    replica->synced = synced;
    if (replica->role != REPLICA_PRIMARY) {
        replica_follow_synced(replica);
    }
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Rule 1: who leads under an older version is told; who answers under one is late. */
static enum status on_old(struct replica *replica, const struct replica_event *event)
{
    enum replica_message_type type = event->message.type;
    if (type == REPLICA_OPEN || type == REPLICA_PREPARE || type == REPLICA_COMMITTED ||
        type == REPLICA_YIELD) {
        (void)replica_send(replica, event->from, REPLICA_BEHIND);
    }
    return STATUS_OK;
}

static enum status on_receive(struct replica *replica, const struct replica_event *event)
{
    const struct replica_message *message = &event->message;
    if (message->version < replica_version(replica)) {
        return on_old(replica, event);
    }
    if (message->type == REPLICA_BEHIND) {
        if (message->version > replica_version(replica)) {
            (void)replica_emit(replica, REPLICA_EFFECT_ASK);
        }
        return STATUS_OK;
    }
    if (message->version == replica_version(replica) && replica->role == REPLICA_PRIMARY) {
        replica_reign_receive(replica, event->from, message);
        return STATUS_OK;
    }
    return replica_follow_receive(replica, event->from, message);
}

/* --- the step ----------------------------------------------------------------------------------- */

static void on_goal(struct replica *replica, const struct replica_event *event)
{
    replica->goal_members = event->goal_members;
    replica->goal_leader = event->goal_leader;
}

static void on_teaching(struct replica *replica, const struct replica_event *event)
{
    if (replica_same_member(event->from, replica->self)) {
        replica_follow_taught(replica, event);
    } else {
        replica_reign_peer_event(replica, event);
    }
}

static void on_damaged(struct replica *replica)
{
    if (replica->role == REPLICA_PRIMARY) {
        replica_note_damage(replica); /* it hands over, if there is anybody */
    } else {
        replica_follow_damaged(replica);
    }
}

/* Said with every round of who is about to end. */
static void on_leaving(struct replica *replica)
{
    replica->leaving_ns = replica->leaving ? replica->leaving_ns : replica->now_ns;
    replica->leaving = true;
}

static enum status dispatch(struct replica *replica, const struct replica_event *event)
{
    switch (event->type) {
    case REPLICA_EVENT_TICK:
        break;
    case REPLICA_EVENT_WRITE:
        return replica_reign_write(replica, &event->entry);
    case REPLICA_EVENT_SYNCED:
        on_synced(replica, event->sequence);
        break;
    case REPLICA_EVENT_CONFIGURED:
        replica_on_configured(replica);
        break;
    case REPLICA_EVENT_RECEIVE:
        return on_receive(replica, event);
    case REPLICA_EVENT_CATALOG:
        replica_on_catalog(replica, event);
        break;
    case REPLICA_EVENT_GONE:
        replica_on_gone(replica);
        break;
    case REPLICA_EVENT_HELD:
    case REPLICA_EVENT_EXCEPTED_BY_PEER:
    case REPLICA_EVENT_PEER_RESTARTED:
    case REPLICA_EVENT_TAUGHT:
    case REPLICA_EVENT_UNTAUGHT:
        replica_reign_peer_event(replica, event);
        break;
    case REPLICA_EVENT_TEACHING:
        on_teaching(replica, event);
        break;
    case REPLICA_EVENT_EXCEPTED:
        replica_on_excepted(replica, event);
        break;
    case REPLICA_EVENT_SILENT:
        replica_follow_silent(replica, event->version);
        break;
    case REPLICA_EVENT_GOAL:
        on_goal(replica, event);
        break;
    case REPLICA_EVENT_READ:
        replica_reign_read(replica, event);
        break;
    case REPLICA_EVENT_UNREAD:
        replica_reign_unread(replica, event);
        break;
    case REPLICA_EVENT_DAMAGED:
        on_damaged(replica);
        break;
    case REPLICA_EVENT_STALLED:
        replica->stalled = event->present;
        break;
    case REPLICA_EVENT_CUT_OFF:
        replica->cut_off = event->present;
        break;
    case REPLICA_EVENT_LEAVING:
        on_leaving(replica);
        break;
    case REPLICA_EVENT_RENEW:
        replica->renew_version = event->version;
        break;
    case REPLICA_EVENT_VOID:
        replica_propose_void(replica, event->sequence);
        break;
    }
    return STATUS_OK;
}

/* Everything that is due, whatever the event was. */
static void advance(struct replica *replica)
{
    if (replica->role == REPLICA_PRIMARY) {
        replica_reign_commit(replica);
    } else {
        replica_follow_advance(replica);
    }
    replica_propose_choose(replica);
    if (replica->role == REPLICA_PRIMARY) {
        replica_reign_serve(replica);
        replica_reign_send(replica);
    }
    replica_propose_send(replica);
}

void replica_trim(struct replica *replica)
{
    replica_window_trim(&replica->window, replica->committed);
}

enum status replica_step(struct replica *replica,
                         const struct replica_event *event,
                         struct replica_effects *ret_effects)
{
    ASSERT(event->now_ns >= replica->now_ns);
    replica->now_ns = event->now_ns;
    ret_effects->count = 0;
    replica->effects = ret_effects;
    replica_trim(replica);
    enum status status = STATUS_OK;
    if (replica->gone && event->type == REPLICA_EVENT_EXCEPTED) {
        replica_on_excepted(replica, event);
    } else if (replica->gone) {
        status = event->type == REPLICA_EVENT_WRITE ? STATUS_NOT_OWNER : STATUS_OK;
    } else {
        status = dispatch(replica, event);
        if (status == STATUS_OK && !replica->gone) {
            advance(replica);
        }
    }
    ASSERT(IMPLIES(status != STATUS_OK, ret_effects->count == 0));
    replica->effects = NULL;
    return status;
}

enum status replica_may_write(struct replica *replica, const struct replica_entry *entry)
{
    return replica->gone ? STATUS_NOT_OWNER : replica_reign_may_write(replica, entry);
}

void replica_set_min_in_sync(struct replica *replica, uint32_t min_in_sync)
{
    replica->settings.min_in_sync = min_in_sync;
}

int64_t replica_deadline_ns(const struct replica *replica)
{
    if (replica->gone) {
        return DUE_NEVER;
    }
    int64_t due_ns = replica_propose_due_ns(replica);
    if (replica->role == REPLICA_PRIMARY) {
        return replica_sooner(due_ns, replica_reign_due_ns(replica));
    }
    return replica_sooner(due_ns, replica_follow_due_ns(replica));
}

/* --- life --------------------------------------------------------------------------------------- */

static enum status recover_entries(struct replica *replica,
                                   const struct replica_recovered *recovered)
{
    enum status status = replica_window_init(&replica->window, recovered->committed);
    for (uint32_t i = 0; i < recovered->window_count && status == STATUS_OK; i++) {
        status = replica_window_append(&replica->window, &recovered->window[i], true);
        note_barrier(&replica->barrier, &recovered->window[i]);
    }
    replica->synced = recovered->committed + recovered->window_count;
    return status;
}

/* Rule 2: who may go on under the version that its log names. */
static bool goes_on(const struct replica *replica, const struct replica_recovered *recovered)
{
    return replica_version(replica) != 0 && replica_is_named_leader(replica) && !replica->damaged &&
           !replica->flags.doubtful &&
           (recovered->adopted || (replica_is_lone(replica) && !replica->flags.doubt_noted));
}

static void begin(struct replica *replica, const struct replica_recovered *recovered)
{
    replica->adopted = true;
    if (!recovered
             ->adopted) { /* also where nothing was found: its disk may have gone back to before (model, seed 555) */
        replica->young_until_ns = replica->now_ns + replica->settings.alone_ns;
        replica->alone_from_ns = replica->young_until_ns;
    }
    if (replica_version(replica) == 0) {
        return;
    }
    bool leads = replica_is_named_leader(replica);
    if (leads && !replica->flags.bound) {
        replica->free_from_ns = DUE_NOW;
    }
    if (goes_on(replica, recovered)) {
        replica->asks_catalog = !recovered->adopted;
        replica->role = REPLICA_PRIMARY;
        replica_reign_begin(replica);
    } else if (leads) {
        replica->role = REPLICA_SECONDARY;
    } else if (replica_is_member(replica)) {
        replica_grant(replica, 0);
    }
    advance(replica);
}

enum status replica_create(const struct replica_settings *settings,
                           const struct replica_recovered *recovered,
                           int64_t now_ns,
                           struct replica **ret_replica,
                           struct replica_effects *ret_effects)
{
    ASSERT(recovered->incarnation != 0);
    struct replica *replica = memory_allocate_zeroed(1, sizeof *replica);
    if (replica == NULL) {
        return STATUS_NO_MEMORY;
    }
    replica->settings = *settings;
    replica->self = recovered->self;
    replica->incarnation = recovered->incarnation;
    replica->now_ns = now_ns;
    replica->configuration = recovered->configuration;
    replica->role = recovered->role;
    replica->flags = recovered->flags;
    replica->damaged = recovered->flags.damaged;
    replica->committed = recovered->committed;
    replica->committed_version = recovered->committed_version;
    replica->barrier = recovered->barrier;
    replica->committed_barrier = recovered->barrier;
    replica->free_from_ns = recovered->free_from_ns;
    replica->propose_from_ns = DUE_NEVER;
    replica->handing_after_ns = DUE_NOW;
    replica->young_until_ns = DUE_NOW;
    replica->alone_from_ns = DUE_NOW;
    enum status status = recover_entries(replica, recovered);
    if (status != STATUS_OK) {
        replica_destroy(replica);
        return status;
    }
    ret_effects->count = 0;
    replica->effects = ret_effects;
    begin(replica, recovered);
    replica->effects = NULL;
    *ret_replica = replica;
    return STATUS_OK;
}

void replica_destroy(struct replica *replica)
{
    if (replica == NULL) {
        return;
    }
    if (replica->window.slots != NULL) {
        replica_window_deinit(&replica->window);
    }
    memory_free(replica);
}

/* --- looking ------------------------------------------------------------------------------------ */

static enum replica_trouble trouble_of(const struct replica *replica)
{
    if (replica->damaged) {
        return REPLICA_IS_DAMAGED;
    }
    if (replica->flags.doubtful) {
        return REPLICA_IS_DOUBTFUL;
    }
    if (replica->role == REPLICA_PRIMARY && replica->adopted) {
        if (!replica_is_inherited(replica)) {
            return REPLICA_INHERITING;
        }
        if (replica->proposing) {
            return REPLICA_IN_DOUBT;
        }
        return replica_has_enough(replica) ? REPLICA_FINE : REPLICA_FEW_MEMBERS;
    }
    if (replica->away) {
        return REPLICA_TURNED_AWAY;
    }
    bool waits = replica->opener == 0 || replica->answering;
    return waits && replica->role != REPLICA_OUTSIDER ? REPLICA_WAITING : REPLICA_FINE;
}

bool replica_teaches(const struct replica *replica, uint64_t store)
{
    for (uint32_t i = 0; i < replica->peer_count && replica->role == REPLICA_PRIMARY; i++) {
        if (replica->peers[i].member.store == store) {
            return replica->peers[i].as_learner;
        }
    }
    return false;
}

static uint32_t count_learners(const struct replica *replica)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        count += !replica->peers[i].is_member;
    }
    return replica->role == REPLICA_PRIMARY ? count : 0;
}

struct replica_view replica_look(const struct replica *replica)
{
    return (struct replica_view){
        .role = replica->role,
        .configuration = replica->configuration,
        .trouble = trouble_of(replica),
        .serving = replica->serving,
        .acknowledges = replica->serving && replica_has_enough(replica),
        .claims = replica->role != REPLICA_PRIMARY && replica->proposing,
        .changing = replica->role == REPLICA_PRIMARY &&
                    (!replica->serving || replica->handing_to != 0 ||
                     replica->barrier.sequence != 0),
        .committed = replica->committed,
        .synced = replica->synced,
        .appended = replica_appended(replica),
        .start = replica->role == REPLICA_PRIMARY ? replica->start : 0,
        .window_bytes = replica->window.size_bytes,
        .barrier = replica->barrier.sequence,
        .standing = replica->barrier,
        .standing_void = replica->barrier.sequence != 0 &&
                         replica->barrier.sequence == replica->void_barrier,
        .learners = count_learners(replica),
        .settled = replica_is_settled(replica),
        .told = replica_reign_told(replica),
        .gone = replica->gone,
        .bound = replica->excepting > 0,
        .free_from_ns = replica_free_from_ns(replica),
    };
}

const struct replica_entry *replica_window_find(const struct replica *replica, uint64_t sequence)
{
    const struct window_slot *slot = replica_window_slot(&replica->window, sequence);
    return slot == NULL ? NULL : &slot->entry;
}
