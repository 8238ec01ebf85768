#include "tabletserver/replica/scrub.h"

#include "common/base/assert.h"
#include "common/base/checksum.h"

#define MAJORITY_OF     3 /* or more copies: fewer have none */
#define DIFFERS_ENOUGH  2 /* comparisons in a row that say so */
#define INTERVAL_MIN_NS INT64_C(1000000)
#define END_SEED        UINT64_C(0x656e64)

static struct scrub_effect *emit(struct scrub_effects *effects, enum scrub_effect_type type)
{
    ASSERT(effects->count < SCRUB_EFFECTS_MAX);
    struct scrub_effect *effect = &effects->items[effects->count++];
    *effect = (struct scrub_effect){.type = type};
    return effect;
}

/* --- pace --------------------------------------------------------------------------------------- */

static int64_t interval_ns(const struct scrub *scrub, uint64_t tablet_bytes)
{
    uint64_t ranges = tablet_bytes / scrub->settings.range_bytes + 1;
    int64_t interval = scrub->settings.period_ns /
                       (int64_t)(ranges < INT32_MAX ? ranges : INT32_MAX);
    return interval > INTERVAL_MIN_NS ? interval : INTERVAL_MIN_NS;
}

static void wait(struct scrub *scrub, const struct scrub_event *event)
{
    scrub->state = SCRUB_WAITING;
    scrub->answer_count = 0;
    scrub->due_ns = event->now_ns + interval_ns(scrub, event->tablet_bytes);
}

/* --- comparing ---------------------------------------------------------------------------------- */

static void compare(struct scrub *scrub,
                    const struct scrub_event *event,
                    struct scrub_effects *effects)
{
    scrub->state = SCRUB_COMPARING;
    scrub->number++;
    scrub->due_ns = event->now_ns + scrub->settings.patience_ns;
    scrub->answers[0] = (struct scrub_answer){.store = event->self};
    for (uint32_t i = 0; i < event->peers.count; i++) {
        scrub->answers[i + 1] = (struct scrub_answer){.store = event->peers.members[i].store};
    }
    scrub->answer_count = event->peers.count + 1;
    emit(effects, SCRUB_EFFECT_COMPARE)->number = scrub->number;
}

static bool is_same(const struct scrub_answer *a, const struct scrub_answer *b)
{
    return a->halves[0] == b->halves[0] && a->halves[1] == b->halves[1] && a->end == b->end;
}

static uint32_t count_same(const struct scrub *scrub, const struct scrub_answer *as)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scrub->answer_count; i++) {
        count += is_same(&scrub->answers[i], as) ? 1 : 0;
    }
    return count;
}

/* Whose answer counts: that of more than half of enough copies, else the primary's. */
static const struct scrub_answer *find_right(const struct scrub *scrub, bool *ret_outvoted)
{
    *ret_outvoted = false;
    for (uint32_t i = 0; i < scrub->answer_count && scrub->answer_count >= MAJORITY_OF; i++) {
        if (2 * count_same(scrub, &scrub->answers[i]) > scrub->answer_count) {
            *ret_outvoted = true;
            return &scrub->answers[i];
        }
    }
    return &scrub->answers[0];
}

static void condemn(struct scrub *scrub,
                    const struct scrub_event *event,
                    struct scrub_effects *effects)
{
    bool outvoted = false;
    const struct scrub_answer *right = find_right(scrub, &outvoted);
    const struct scrub_answer *wrong = &scrub->answers[0];
    while (is_same(wrong, right)) {
        wrong++;
    }
    struct scrub_effect *differ = emit(effects, SCRUB_EFFECT_DIFFER);
    differ->store = wrong->store;
    differ->outvoted = outvoted;
    differ->number = scrub->number;
    emit(effects, SCRUB_EFFECT_CONDEMN)->store = wrong->store;
    scrub->state = SCRUB_CONDEMNING;
    scrub->condemned = wrong->store;
    scrub->differed = 0;
    scrub->due_ns = event->now_ns + scrub->settings.resend_ns;
}

/* The range was the same everywhere. */
static void move_on(struct scrub *scrub)
{
    scrub->differed = 0;
    scrub->compared++;
    scrub->passes += scrub->is_end ? 1 : 0;
    buffer_reset(&scrub->after);
    if (!scrub->is_end) {
        buffer_append_bytes(&scrub->after, buffer_bytes(&scrub->next));
    }
    if (scrub->after.failed) { /* without memory: from the beginning */
        buffer_deinit(&scrub->after);
        scrub->after = BUFFER_INIT;
    }
}

static void judge(struct scrub *scrub,
                  const struct scrub_event *event,
                  struct scrub_effects *effects)
{
    for (uint32_t i = 0; i < scrub->answer_count; i++) {
        if (!scrub->answers[i].answered) {
            return;
        }
        if (scrub->answers[i].missed) {
            wait(scrub, event); /* the same range again */
            return;
        }
    }
    if (count_same(scrub, &scrub->answers[0]) == scrub->answer_count) {
        move_on(scrub);
        wait(scrub, event);
    } else if (++scrub->differed < DIFFERS_ENOUGH) {
        wait(scrub, event);
        scrub->due_ns = event->now_ns;
    } else {
        condemn(scrub, event, effects);
    }
}

/* --- events ------------------------------------------------------------------------------------- */

static void take_own(struct scrub *scrub, const struct replica_digest *digest)
{
    buffer_reset(&scrub->next);
    buffer_append_bytes(&scrub->next, digest->last);
    scrub->is_end = digest->is_end || scrub->next.failed;
    if (scrub->next.failed) {
        buffer_deinit(&scrub->next);
        scrub->next = BUFFER_INIT;
    }
}

static void on_answer(struct scrub *scrub,
                      const struct scrub_event *event,
                      struct scrub_effects *effects)
{
    const struct replica_digest *digest = event->digest;
    if (scrub->state != SCRUB_COMPARING || event->number != scrub->number) {
        return;
    }
    for (uint32_t i = 0; i < scrub->answer_count; i++) {
        struct scrub_answer *answer = &scrub->answers[i];
        if (answer->store != event->store || answer->answered) {
            continue;
        }
        answer->answered = true;
        answer->missed = digest->missed;
        answer->halves[0] = digest->halves[0];
        answer->halves[1] = digest->halves[1];
        answer->end = checksum64(digest->last.data, digest->last.size_bytes,
                                 END_SEED + (digest->is_end ? 1 : 0));
        if (i == 0) {
            take_own(scrub, digest);
        }
    }
    judge(scrub, event, effects);
}

static bool has_member(const struct scrub_event *event, uint64_t store)
{
    bool found = store == event->self;
    for (uint32_t i = 0; i < event->peers.count; i++) {
        found = found || event->peers.members[i].store == store;
    }
    return found;
}

static void on_due(struct scrub *scrub,
                   const struct scrub_event *event,
                   struct scrub_effects *effects)
{
    switch (scrub->state) {
    case SCRUB_WAITING:
        if (event->settled) {
            compare(scrub, event, effects);
        } else {
            wait(scrub, event);
        }
        break;
    case SCRUB_COMPARING: /* somebody does not answer */
        wait(scrub, event);
        break;
    case SCRUB_CONDEMNING:
        emit(effects, SCRUB_EFFECT_CONDEMN)->store = scrub->condemned;
        scrub->due_ns = event->now_ns + scrub->settings.resend_ns;
        break;
    }
}

void scrub_step(struct scrub *scrub,
                const struct scrub_event *event,
                struct scrub_effects *ret_effects)
{
    ret_effects->count = 0;
    if (event->peers.count == 0 || scrub->settings.period_ns == 0) {
        scrub->begun = false;
        scrub->state = SCRUB_WAITING;
        scrub->answer_count = 0;
        return;
    }
    if (!scrub->begun) {
        scrub->begun = true;
        scrub->due_ns = event->now_ns +
                        interval_ns(scrub, event->tablet_bytes) / SCRUB_PHASES * (scrub->phase + 1);
    }
    if (scrub->state == SCRUB_CONDEMNING && !has_member(event, scrub->condemned)) {
        wait(scrub, event);
    }
    if (event->type == SCRUB_EVENT_ANSWER) {
        on_answer(scrub, event, ret_effects);
    } else if (event->now_ns >= scrub->due_ns) {
        on_due(scrub, event, ret_effects);
    }
}

/* --- life --------------------------------------------------------------------------------------- */

void scrub_begin(struct scrub *scrub, const struct scrub_settings *settings, uint32_t phase)
{
    *scrub = (struct scrub){.settings = *settings,
                            .phase = phase % SCRUB_PHASES,
                            .after = BUFFER_INIT,
                            .next = BUFFER_INIT};
    ASSERT(settings->period_ns == 0 || settings->range_bytes > 0);
}

void scrub_end(struct scrub *scrub)
{
    buffer_deinit(&scrub->after);
    buffer_deinit(&scrub->next);
}

struct bytes scrub_after(const struct scrub *scrub)
{
    return buffer_bytes(&scrub->after);
}

int64_t scrub_deadline_ns(const struct scrub *scrub)
{
    return scrub->begun ? scrub->due_ns : INT64_MAX;
}

void scrub_check(const struct scrub *scrub)
{
    ASSERT(scrub->answer_count <= 1 + REPLICA_MEMBERS_MAX);
    ASSERT(scrub->state != SCRUB_WAITING || scrub->answer_count == 0);
    ASSERT(scrub->differed < DIFFERS_ENOUGH); /* (2) */
    for (uint32_t i = 0; i < scrub->answer_count && scrub->state == SCRUB_CONDEMNING; i++) {
        ASSERT(scrub->answers[i].answered && !scrub->answers[i].missed); /* (1) */
    }
}
