#include "tabletserver/replica/learn.h"

#include "common/base/assert.h"
#include "tabletserver/replica/teach.h"

#define REFUSALS_MAX 60 /* of one slice, at resend_ns: half a minute; then the walk begins anew */
#define KEEP_RESENDS 10 /* who works says so at this multiple of resend_ns */
#define LEARNED_NS \
    (60 * INT64_C(1000000000)) /* for so long it says that it has learnt all: nobody answers that */
#define KEEP_MAX_NS (600 * INT64_C(1000000000)) /* of one slice: what takes longer is stuck */

static struct learn_effect *emit(struct learn_effects *effects, enum learn_effect_type type)
{
    ASSERT(effects->count < LEARN_EFFECTS_MAX);
    struct learn_effect *effect = &effects->items[effects->count++];
    *effect = (struct learn_effect){.type = type};
    return effect;
}

static void ask(struct learn *learn, int64_t now_ns, struct learn_effects *effects)
{
    struct learn_effect *effect = emit(effects, LEARN_EFFECT_ASK);
    effect->number = teach_number(learn->walk, learn->number);
    effect->at_least = learn->at_least;
    effect->sequence = learn->follows;
    learn->state = LEARN_ASKING;
    learn->spoken_ns = now_ns;
}

static void say_learned(struct learn *learn, int64_t now_ns, struct learn_effects *effects)
{
    learn->given_ns = learn->state == LEARN_DONE ? learn->given_ns : now_ns;
    learn->spoken_ns = now_ns;
    learn->state = LEARN_DONE;
    emit(effects, LEARN_EFFECT_LEARNED)->sequence = learn->follows;
}

static bool is_same(const struct learn_lesson *a, const struct learn_lesson *b)
{
    return a->incarnation == b->incarnation && a->version == b->version && a->number == b->number;
}

static bool is_older(const struct learn_lesson *a, const struct learn_lesson *b)
{
    if (a->version != b->version) {
        return a->version < b->version;
    }
    return a->incarnation != b->incarnation ? a->incarnation < b->incarnation
                                            : a->number < b->number;
}

/* --- the lesson --------------------------------------------------------------------------------- */

static void ask_first(struct learn *learn,
                      const struct learn_event *event,
                      struct learn_effects *effects)
{
    learn->walk++;
    learn->number = 1;
    learn->refusals = 0;
    learn->at_least = event->appended;
    learn->follows = 0;
    learn->last = false;
    ask(learn, event->now_ns, effects);
}

static void on_offered(struct learn *learn,
                       const struct learn_event *event,
                       struct learn_effects *effects)
{
    bool same = is_same(&event->lesson, &learn->lesson);
    if (learn->state == LEARN_WRITING || learn->state == LEARN_ENDING ||
        is_older(&event->lesson, &learn->lesson)) {
        return; /* it comes again */
    }
    if (same && learn->state == LEARN_LEVELLING) {
        return;
    }
    if (same && learn->state == LEARN_ASKING && learn->number > 1) {
        ask_first(learn, event, effects); /* the walk was broken off */
        return;
    }
    learn->lesson = event->lesson;
    if (!event->half && event->committed >= event->sequence) {
        learn->follows = event->committed;
        say_learned(learn, event->now_ns, effects);
        return;
    }
    if (same && learn->state == LEARN_DONE) {
        if (!event->half) {
            say_learned(learn, event->now_ns, effects); /* an offer of before, late or doubled */
        }
        return; /* one that is damaged since is taught in another lesson */
    }
    if (same && learn->state == LEARN_ASKING && learn->at_least == event->appended) {
        ask(learn, event->now_ns, effects); /* what it asked was lost, or is under way */
        return;
    }
    ask_first(learn, event, effects);
}

static void on_slice(struct learn *learn,
                     const struct learn_event *event,
                     struct learn_effects *effects)
{
    if (learn->state != LEARN_ASKING || !is_same(&event->lesson, &learn->lesson) ||
        event->number != teach_number(learn->walk, learn->number)) {
        return; /* doubled, or late */
    }
    learn->state = LEARN_WRITING;
    learn->last = event->last;
    learn->given_ns = event->now_ns;
    learn->spoken_ns = event->now_ns;
    (void)emit(effects, LEARN_EFFECT_WRITE);
}

/* --- the store ---------------------------------------------------------------------------------- */

static void on_written(struct learn *learn,
                       const struct learn_event *event,
                       struct learn_effects *effects)
{
    if (learn->state == LEARN_ENDING) {
        say_learned(learn, event->now_ns, effects);
        return;
    }
    ASSERT(learn->state == LEARN_WRITING);
    learn->follows = learn->follows == 0 ? event->sequence : learn->follows;
    learn->state = LEARN_LEVELLING;
}

/* What its teacher has given it keeps, so the same can be taken a little later. */
static bool may_pass(enum status status)
{
    return status == STATUS_NO_MEMORY || status == STATUS_UNAVAILABLE ||
           status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_NO_SPACE;
}

/* A walk that begins too early is asked for again at once, at a later sequence; whatever else is wrong with a slice
 * may be so with the next one, and is not to keep teacher and network busy. */
static void on_refused(struct learn *learn,
                       const struct learn_event *event,
                       struct learn_effects *effects)
{
    if (learn->state == LEARN_ENDING) {
        learn->state = LEARN_LEVELLING; /* tried again when it is level */
        return;
    }
    ASSERT(learn->state == LEARN_WRITING);
    bool again = may_pass(event->status) && learn->refusals < REFUSALS_MAX;
    if (again) {
        learn->refusals++;
        learn->state = LEARN_ASKING;
        learn->spoken_ns = event->now_ns;
        return;
    }
    ask_first(learn, event, effects);
    if (event->status != STATUS_FAILED_PRECONDITION) {
        effects->count = 0; /* in a while: it is asked again when nothing comes */
    }
}

static void on_level(struct learn *learn,
                     const struct learn_event *event,
                     struct learn_effects *effects)
{
    if (learn->state != LEARN_LEVELLING) {
        return;
    }
    if (learn->last) {
        learn->state = LEARN_ENDING;
        (void)emit(effects, LEARN_EFFECT_END);
        return;
    }
    learn->number++;
    learn->refusals = 0;
    learn->at_least = 0;
    ask(learn, event->now_ns, effects);
}

/* On its own disk.  Not while it waits for the log: if that does not come, its teacher's patience is what helps. */
static bool works(const struct learn *learn)
{
    return learn->state == LEARN_WRITING || learn->state == LEARN_ENDING;
}

/* What it asks for is the slice before: nothing comes of it, but its teacher has heard of it.  Where many learn at
 * once each waits for its turn at the disk longer than a teacher's patience. */
static void say_that_it_works(struct learn *learn, int64_t now_ns, struct learn_effects *effects)
{
    struct learn_effect *effect = emit(effects, LEARN_EFFECT_ASK);
    effect->number = teach_number(learn->walk, learn->number - 1);
    effect->sequence = learn->follows;
    learn->spoken_ns = now_ns;
}

/* The log comes only when it is known to go on, and that, too, may be lost: so it is said again. */
static void on_tick(struct learn *learn, int64_t now_ns, struct learn_effects *effects)
{
    if (now_ns < learn_deadline_ns(learn)) {
        return;
    }
    if (learn->state == LEARN_ASKING) {
        ask(learn, now_ns, effects);
    } else if (learn->state == LEARN_DONE) {
        say_learned(learn, now_ns, effects);
    } else {
        say_that_it_works(learn, now_ns, effects);
    }
}

/* --- in common ---------------------------------------------------------------------------------- */

void learn_begin(struct learn *learn, int64_t resend_ns)
{
    *learn = (struct learn){.resend_ns = resend_ns};
}

void learn_step(struct learn *learn,
                const struct learn_event *event,
                struct learn_effects *ret_effects)
{
    ret_effects->count = 0;
    switch (event->type) {
    case LEARN_EVENT_TICK:
        on_tick(learn, event->now_ns, ret_effects);
        break;
    case LEARN_EVENT_OFFERED:
        on_offered(learn, event, ret_effects);
        break;
    case LEARN_EVENT_SLICE:
        on_slice(learn, event, ret_effects);
        break;
    case LEARN_EVENT_WRITTEN:
        on_written(learn, event, ret_effects);
        break;
    case LEARN_EVENT_REFUSED:
        on_refused(learn, event, ret_effects);
        break;
    case LEARN_EVENT_LEVEL:
        on_level(learn, event, ret_effects);
        break;
    }
}

int64_t learn_deadline_ns(const struct learn *learn)
{
    if (learn->state == LEARN_ASKING) {
        return learn->spoken_ns + learn->resend_ns;
    }
    if (learn->state == LEARN_DONE) {
        bool says = learn->spoken_ns - learn->given_ns < LEARNED_NS;
        return says ? learn->spoken_ns + KEEP_RESENDS * learn->resend_ns : INT64_MAX;
    }
    bool keeps = works(learn) && learn->spoken_ns - learn->given_ns < KEEP_MAX_NS;
    return keeps ? learn->spoken_ns + KEEP_RESENDS * learn->resend_ns : INT64_MAX;
}

void learn_check(const struct learn *learn)
{
    ASSERT(IMPLIES(learn->state == LEARN_ENDING, learn->last));
    ASSERT(IMPLIES(learn->state != LEARN_IDLE, learn->lesson.number > 0));
    ASSERT(IMPLIES(learn->state == LEARN_ASKING && learn->number > 1, learn->at_least == 0));
}
