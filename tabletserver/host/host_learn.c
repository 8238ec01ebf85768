/*
 * Learning by slices, performed: learn.h at a learner.  host_teach.c has the picture.
 *
 * What it is told of slices goes into its store, and is durable before the next is asked for; its replica hears
 * how far the log goes on behind them.
 */
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

static void step_learn(struct hosted *hosted, struct learn_event *event, struct bytes content);

static void ask(struct hosted *hosted, const struct learn_effect *effect)
{
    bool asks = effect->type == LEARN_EFFECT_ASK;
    struct replica_message message = {.type = asks ? REPLICA_TEACH : REPLICA_LEARNED,
                                      .version = hosted->learn.lesson.version,
                                      .opener = hosted->learn.lesson.incarnation,
                                      .sequence = effect->sequence,
                                      .committed = effect->at_least,
                                      .lesson = hosted->learn.lesson.number,
                                      .number = effect->number};
    hosted_send(hosted, hosted->teacher, &message);
}

static void perform_learn(struct hosted *hosted,
                          const struct learn_effect *effect,
                          struct bytes content)
{
    enum status status = STATUS_OK;
    switch (effect->type) {
    case LEARN_EFFECT_ASK:
    case LEARN_EFFECT_LEARNED:
        ask(hosted, effect);
        return;
    case LEARN_EFFECT_WRITE:
        status = store_learn(hosted->tablet, content, NULL);
        break;
    case LEARN_EFFECT_END:
        status = store_learn_end(hosted->tablet);
        break;
    }
    if (status != STATUS_OK) {
        struct learn_event event = {.type = LEARN_EVENT_REFUSED, .status = status};
        step_learn(hosted, &event, BYTES_EMPTY);
    }
}

/* What its log goes up to, whoever knows more of it: records must not lie below that. */
static uint64_t appended(const struct hosted *hosted)
{
    uint64_t here = replica_look(hosted->replica).appended;
    uint64_t there = store_tablet_appended(hosted->tablet);
    return here > there ? here : there;
}

static void step_learn(struct hosted *hosted, struct learn_event *event, struct bytes content)
{
    struct learn_effects effects;
    event->now_ns = clock_monotonic_ns();
    event->appended = appended(hosted);
    learn_step(&hosted->learn, event, &effects);
    learn_check(&hosted->learn);
    for (uint32_t i = 0; i < effects.count; i++) {
        perform_learn(hosted, &effects.items[i], content);
    }
}

/* What was meant for a process before this one is late: it knows nothing of what that has learnt, and counts walks as
 * that did.  (0: a server of before, which does not say.) */
static bool is_for_this_process(const struct hosted *hosted, const struct replica_message *message)
{
    return message->opener == 0 || message->opener == hosted->host->options.incarnation;
}

void hosted_hear_teacher(struct hosted *hosted,
                         struct replica_member from,
                         const struct replica_message *message)
{
    struct replica_view view = replica_look(hosted->replica);
    const struct replica_member *leader = &view.configuration.members[view.configuration.leader];
    if (view.role != REPLICA_LEARNER || view.configuration.version != message->version ||
        leader->store != from.store || hosted->configure_due || hosted->configures_done > 0 ||
        !is_for_this_process(hosted, message)) {
        return;
    }
    bool offered = message->type == REPLICA_LESSON;
    struct learn_event event = {.type = offered ? LEARN_EVENT_OFFERED : LEARN_EVENT_SLICE,
                                .lesson = {.incarnation = message->incarnation,
                                           .version = message->version,
                                           .number = message->lesson},
                                .sequence = message->sequence,
                                .committed = view.committed,
                                .number = message->number,
                                .last = message->last,
                                .half = store_tablet_is_half_taught(hosted->tablet) ||
                                        view.trouble == REPLICA_IS_DAMAGED};
    hosted->teacher = from;
    step_learn(hosted, &event, message->content);
}

/* What lies below is in slices: the replica's log goes on behind it.  It is news, too, where the replica had as many
 * entries, of which some were not committed (simulator, seed 1017073: later it dropped what was taught): but for its
 * word the store commits what it is taught only. */
static void tell_own_replica(struct hosted *hosted)
{
    uint64_t sequence = store_tablet_appended(hosted->tablet);
    struct replica_view view = replica_look(hosted->replica);
    bool is_taught = view.committed < sequence &&
                     sequence == store_tablet_committed(hosted->tablet);
    bool replaces = is_taught ||
                    (view.trouble == REPLICA_IS_DAMAGED && store_tablet_began_anew(hosted->tablet));
    bool news = sequence > view.appended || (sequence == view.appended && replaces);
    if (!store_tablet_is_half_taught(hosted->tablet) || !news) {
        return;
    }
    struct replica_event event = {.type = REPLICA_EVENT_TEACHING,
                                  .from = hosted->host->options.self,
                                  .sequence = sequence,
                                  .version = hosted->learn.lesson.version,
                                  .incarnation = hosted->learn.lesson.incarnation};
    hosted_step(hosted, &event);
}

/* Its records are asked for, or written: they lie behind all that its log has.  Where that grows meanwhile, as it is
 * still sent what a walk before had asked for, they come too late again and again. */
bool hosted_awaits_records(const struct hosted *hosted)
{
    const struct learn *learn = &hosted->learn;
    bool walks = learn->state == LEARN_ASKING || learn->state == LEARN_WRITING ||
                 learn->state == LEARN_LEVELLING;
    if (!walks) { /* asked with every PREPARE: of nearly all this is the answer */
        return false;
    }
    bool begins = (learn->number == 1 && learn->state != LEARN_LEVELLING) ||
                  store_learn_gathers(hosted->tablet);
    struct replica_view view = replica_look(hosted->replica);
    return view.role == REPLICA_LEARNER && view.trouble != REPLICA_IS_DAMAGED &&
           view.configuration.version == learn->lesson.version && begins;
}

void host_on_taught(struct host *host, struct store_tablet *tablet, enum status status)
{
    struct hosted *hosted = store_tablet_replica(tablet);
    (void)host;
    if (hosted == NULL) {
        return;
    }
    struct learn_event event = {
        .type = status == STATUS_OK ? LEARN_EVENT_WRITTEN : LEARN_EVENT_REFUSED,
        .status = status,
        .sequence = store_learn_gathers(tablet) ? 0 : store_tablet_committed(tablet)};
    tell_own_replica(hosted);
    struct replica_event synced = {.type = REPLICA_EVENT_SYNCED,
                                   .sequence = store_tablet_committed(tablet)};
    hosted_step(hosted, &synced);
    if (hosted->learn.state == LEARN_WRITING || hosted->learn.state == LEARN_ENDING) {
        step_learn(hosted, &event, BYTES_EMPTY);
    }
    hosted_look_at_level(hosted);
    hosted_note_view(hosted);
    hosted_reschedule(hosted);
}

/* Committing is what brings it there: so it is looked at with each step. */
void hosted_look_at_level(struct hosted *hosted)
{
    if (hosted->learn.state == LEARN_LEVELLING && store_learn_is_level(hosted->tablet)) {
        struct learn_event event = {.type = LEARN_EVENT_LEVEL};
        step_learn(hosted, &event, BYTES_EMPTY);
    }
}

void hosted_tick_learning(struct hosted *hosted)
{
    struct learn_event event = {.type = LEARN_EVENT_TICK};
    step_learn(hosted, &event, BYTES_EMPTY);
    if (hosted->learn.state == LEARN_LEVELLING || hosted->learn.state == LEARN_ASKING) {
        tell_own_replica(hosted); /* it may have been configuring when it was told */
    }
}
