#include "tabletserver/replica/teach.h"

#include "common/base/assert.h"

#define NS_A_SECOND          UINT64_C(1000000000)
#define RETRY_NS             INT64_C(10000000)
#define LET_GO_DOUBLINGS_MAX 6
#define NOT_SAID             UINT64_MAX

static struct teach_effect *emit(struct teach_effects *effects, enum teach_effect_type type)
{
    ASSERT(effects->count < TEACH_EFFECTS_MAX);
    struct teach_effect *effect = &effects->items[effects->count++];
    *effect = (struct teach_effect){.type = type};
    return effect;
}

/* --- what is due -------------------------------------------------------------------------------- */

static void offer(struct teach *teach, int64_t now_ns, struct teach_effects *effects)
{
    teach->offered_ns = now_ns;
    (void)emit(effects, TEACH_EFFECT_OFFER);
}

static void read_if_due(struct teach *teach, int64_t now_ns, struct teach_effects *effects)
{
    if (teach->state != TEACH_READING || teach->under_way || now_ns < teach->free_ns) {
        return;
    }
    teach->under_way = true;
    struct teach_effect *effect = emit(effects,
                                       teach->begins ? TEACH_EFFECT_BEGIN : TEACH_EFFECT_READ);
    effect->number = teach_number(teach->walk, teach->given + 1);
    effect->sequence = teach->begins ? teach->at_least : teach->sequence;
}

/* A learner that works on a slice says so for minutes; what is read inside a large row stays open as long. */
static int64_t let_go_due_ns(const struct teach *teach)
{
    return teach->state == TEACH_GIVEN && !teach->let_go
               ? teach->given_ns + (teach->settings.hold_ns << teach->let_gos)
               : INT64_MAX;
}

static void on_tick(struct teach *teach, int64_t now_ns, struct teach_effects *effects)
{
    if (now_ns - teach->heard_ns >= teach->settings.patience_ns) {
        teach->state = TEACH_OVER;
        teach->under_way = false; /* what was being read is lost */
        (void)emit(effects, TEACH_EFFECT_END);
    } else if (teach->state == TEACH_OFFERED &&
               now_ns - teach->offered_ns >= teach->settings.resend_ns) {
        offer(teach, now_ns, effects);
    } else if (let_go_due_ns(teach) <= now_ns) {
        teach->let_go = true;
        teach->let_gos += teach->let_gos < LET_GO_DOUBLINGS_MAX ? 1 : 0;
        (void)emit(effects, TEACH_EFFECT_LET_GO);
    }
}

/* --- what the learner says ---------------------------------------------------------------------- */

static void say_teaching(struct teach *teach, uint64_t sequence, struct teach_effects *effects)
{
    teach->teaching = sequence;
    emit(effects, TEACH_EFFECT_TEACHING)->sequence = sequence;
}

static void give(const struct teach *teach, struct teach_effects *effects)
{
    emit(effects, TEACH_EFFECT_GIVE)->number = teach_number(teach->walk, teach->given);
}

static void on_asked(struct teach *teach,
                     const struct teach_event *event,
                     struct teach_effects *effects)
{
    uint64_t walk = teach_walk_of(event->number);
    uint64_t slice = teach_slice_of(event->number);
    teach->heard_ns = event->now_ns;
    if (teach->under_way || walk < teach->walk) {
        return; /* it comes, or is asked for again; or it comes late */
    }
    bool is_given = walk == teach->walk && teach->state == TEACH_GIVEN;
    if (is_given && slice == teach->given) {
        give(teach, effects);
        return;
    }
    bool next = is_given && slice == teach->given + 1 && !teach->last;
    bool first = slice == 1 && walk > teach->walk;
    if (!next && !first) {
        return; /* late */
    }
    bool begins_at_nothing = next && teach->sequence == 0; /* its records say so */
    if ((event->sequence > 0 || begins_at_nothing) && event->sequence != teach->teaching) {
        say_teaching(teach, event->sequence, effects);
    }
    teach->begins = first;
    teach->walk = walk;
    teach->at_least = event->at_least;
    teach->given = slice - 1;
    teach->state = TEACH_READING;
}

static void on_learned(struct teach *teach,
                       const struct teach_event *event,
                       struct teach_effects *effects)
{
    if (teach->under_way || (teach->state == TEACH_GIVEN && !teach->last)) {
        return; /* of a walk before this one */
    }
    teach->state = TEACH_OVER;
    say_teaching(teach, event->sequence, effects);
    emit(effects, TEACH_EFFECT_TAUGHT)->sequence = event->sequence;
}

/* --- what was read ------------------------------------------------------------------------------ */

static void on_read(struct teach *teach,
                    const struct teach_event *event,
                    struct teach_effects *effects)
{
    uint64_t rate = teach->settings.bytes_per_second;
    ASSERT(teach->under_way);
    ASSERT(event->sequence >= (teach->begins ? teach->at_least : teach->sequence)); /* (2) */
    teach->under_way = false;
    teach->begins = false;
    teach->given++;
    teach->sequence = event->sequence;
    teach->last = event->last;
    teach->given_ns = event->now_ns;
    teach->let_go = false;
    teach->state = TEACH_GIVEN;
    teach->heard_ns = event->now_ns;
    teach->free_ns = event->now_ns;
    if (rate > 0) {
        teach->free_ns += (int64_t)(event->size_bytes * NS_A_SECOND / rate);
    }
    if (teach->free_ns < event->free_ns) {
        teach->free_ns = event->free_ns;
    }
    give(teach, effects);
}

static void on_unread(struct teach *teach, const struct teach_event *event)
{
    ASSERT(teach->under_way);
    teach->under_way = false;
    teach->heard_ns = event->now_ns;
    teach->free_ns = event->now_ns + RETRY_NS;
    if (event->again) {
        teach->walk -= teach->begins ? 1
                                     : 0; /* nothing of it was given: it may begin as that again */
        teach->begins = false;
        teach
            ->state = TEACH_OFFERED; /* the learner hears the offer again, and asks for the first */
        teach->given = 0;
        teach->offered_ns = event->now_ns - teach->settings.resend_ns;
    }
}

/* --- in common ---------------------------------------------------------------------------------- */

void teach_begin(struct teach *teach,
                 const struct teach_settings *settings,
                 int64_t now_ns,
                 struct teach_effects *ret_effects)
{
    *teach = (struct teach){
        .settings = *settings, .heard_ns = now_ns, .free_ns = now_ns, .teaching = NOT_SAID};
    ret_effects->count = 0;
    offer(teach, now_ns, ret_effects);
}

void teach_step(struct teach *teach,
                const struct teach_event *event,
                struct teach_effects *ret_effects)
{
    ret_effects->count = 0;
    if (teach->state == TEACH_OVER) {
        return;
    }
    switch (event->type) {
    case TEACH_EVENT_TICK:
        on_tick(teach, event->now_ns, ret_effects);
        break;
    case TEACH_EVENT_ASKED:
        on_asked(teach, event, ret_effects);
        break;
    case TEACH_EVENT_LEARNED:
        on_learned(teach, event, ret_effects);
        break;
    case TEACH_EVENT_READ:
        on_read(teach, event, ret_effects);
        break;
    case TEACH_EVENT_UNREAD:
        on_unread(teach, event);
        break;
    }
    read_if_due(teach, event->now_ns, ret_effects);
}

int64_t teach_deadline_ns(const struct teach *teach)
{
    if (teach->state == TEACH_OVER) {
        return INT64_MAX;
    }
    int64_t due_ns = teach->heard_ns + teach->settings.patience_ns;
    int64_t more_ns = teach->under_way                ? due_ns
                      : teach->state == TEACH_READING ? teach->free_ns
                      : teach->state == TEACH_OFFERED
                          ? teach->offered_ns + teach->settings.resend_ns
                          : let_go_due_ns(teach);
    return more_ns < due_ns ? more_ns : due_ns;
}

void teach_check(const struct teach *teach)
{
    ASSERT(IMPLIES(teach->under_way, teach->state == TEACH_READING));
    ASSERT(IMPLIES(teach->begins, teach->given == 0));
    ASSERT(IMPLIES(teach->state == TEACH_GIVEN, teach->given > 0));
}
