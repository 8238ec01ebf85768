/*
 * Comparing copies, rule by rule of docs/replication.md, section 9.
 */
#include "tabletserver/replica/scrub.h"

#include <criterion/criterion.h>

#define MS          INT64_C(1000000)
#define SELF        UINT64_C(11)
#define RANGE_BYTES 1000

static const struct scrub_settings SETTINGS = {.period_ns = 6400 * MS,
                                               .range_bytes = RANGE_BYTES,
                                               .patience_ns = 3000 * MS,
                                               .resend_ns = 200 * MS};

struct steps {
    struct scrub scrub;
    struct scrub_effects effects;
    struct scrub_event event; /* what does not change */
};

static void step(struct steps *steps)
{
    scrub_step(&steps->scrub, &steps->event, &steps->effects);
    scrub_check(&steps->scrub);
}

static void tick(struct steps *steps)
{
    steps->event.type = SCRUB_EVENT_TICK;
    steps->event.digest = NULL;
    step(steps);
}

static void tick_when_due(struct steps *steps)
{
    cr_assert_neq(scrub_deadline_ns(&steps->scrub), INT64_MAX);
    steps->event.now_ns = scrub_deadline_ns(&steps->scrub);
    tick(steps);
}

static const struct scrub_effect *find(const struct steps *steps, enum scrub_effect_type type)
{
    for (uint32_t i = 0; i < steps->effects.count; i++) {
        if (steps->effects.items[i].type == type) {
            return &steps->effects.items[i];
        }
    }
    return NULL;
}

/* Of `count` copies in stores 11, 12, ... */
static struct steps begin(uint32_t count)
{
    struct steps steps = {
        .event = {
            .self = SELF, .settled = true, .now_ns = 1000 * MS, .tablet_bytes = 7 * RANGE_BYTES}};
    steps.event.peers.count = count - 1;
    for (uint32_t i = 1; i < count; i++) {
        steps.event.peers.members[i - 1] = (struct replica_member){i + 1, SELF + i};
    }
    scrub_begin(&steps.scrub, &SETTINGS, 3);
    tick(&steps);
    return steps;
}

static void answer(struct steps *steps, uint64_t store, uint64_t half, const char *last)
{
    const struct replica_digest digest = {
        .halves = {half, 1}, .last = bytes_of_text(last), .is_end = last[0] == '\0'};
    steps->event.type = SCRUB_EVENT_ANSWER;
    steps->event.store = store;
    steps->event.number = steps->scrub.number;
    steps->event.digest = &digest;
    step(steps);
}

static void compare(struct steps *steps)
{
    tick_when_due(steps);
    cr_assert_not_null(find(steps, SCRUB_EFFECT_COMPARE));
}

Test(scrub, ranges_follow_one_another_over_a_period_and_begin_again)
{
    struct steps steps = begin(2);
    int64_t begun_ns = steps.event.now_ns;
    compare(&steps);
    cr_assert_eq(scrub_after(&steps.scrub).size_bytes, 0);
    cr_assert_eq(steps.event.now_ns - begun_ns, 6400 * MS / 8 / SCRUB_PHASES * 4); /* its phase */
    answer(&steps, SELF, 5, "m");
    cr_assert_eq(steps.scrub.compared, 0); /* one is missing */
    answer(&steps, SELF + 1, 5, "m");
    cr_assert_eq(steps.scrub.compared, 1);
    int64_t done_ns = steps.event.now_ns;
    compare(&steps);
    cr_assert_eq(steps.event.now_ns - done_ns, 6400 * MS / 8); /* eight ranges a period */
    cr_assert(bytes_equal(scrub_after(&steps.scrub), bytes_of_text("m")));
    answer(&steps, SELF + 1, 6, "");
    answer(&steps, SELF, 6, "");
    cr_assert_eq(steps.scrub.passes, 1);
    cr_assert_eq(scrub_after(&steps.scrub).size_bytes, 0);
    scrub_end(&steps.scrub);
}

Test(scrub, who_does_not_answer_or_could_not_is_asked_again)
{
    struct steps steps = begin(2);
    compare(&steps);
    uint64_t number = steps.scrub.number;
    answer(&steps, SELF, 5, "m");
    cr_assert_eq(scrub_deadline_ns(&steps.scrub), steps.event.now_ns + SETTINGS.patience_ns);
    tick_when_due(&steps);
    compare(&steps);
    cr_assert_gt(steps.scrub.number, number);
    const struct replica_digest missed = {.missed = true};
    answer(&steps, SELF, 5, "m");
    steps.event.digest = &missed;
    steps.event.store = SELF + 1;
    steps.event.number = steps.scrub.number;
    step(&steps);
    cr_assert_eq(steps.effects.count, 0);
    cr_assert_eq(steps.scrub.compared, 0);
    steps.event.digest = NULL;
    compare(&steps);
    cr_assert_eq(scrub_after(&steps.scrub).size_bytes, 0);
    scrub_end(&steps.scrub);
}

Test(scrub, late_answers_and_those_of_strangers_are_passed_over)
{
    struct steps steps = begin(2);
    compare(&steps);
    answer(&steps, SELF, 5, "m");
    tick_when_due(&steps); /* patience */
    compare(&steps);
    answer(&steps, SELF, 5, "m");
    const struct replica_digest digest = {.halves = {9, 9}};
    steps.event.type = SCRUB_EVENT_ANSWER;
    steps.event.digest = &digest;
    steps.event.store = SELF + 1;
    steps.event.number = steps.scrub.number - 1;
    step(&steps);
    steps.event.number++;
    steps.event.store = 99;
    step(&steps);
    cr_assert_eq(steps.effects.count, 0);
    cr_assert_eq(steps.scrub.differed, 0);
    scrub_end(&steps.scrub);
}

static void all_answer(struct steps *steps, const uint64_t *halves, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        answer(steps, SELF + i, halves[i], "m");
    }
}

/* Whom the answers condemn, when they are given twice; 0 = nobody. */
static uint64_t condemned_by(const uint64_t *halves, uint32_t count, bool *ret_outvoted)
{
    struct steps steps = begin(count);
    compare(&steps);
    all_answer(&steps, halves, count);
    cr_assert_eq(steps.effects.count, 0); /* once is not enough */
    compare(&steps);
    all_answer(&steps, halves, count);
    const struct scrub_effect *differ = find(&steps, SCRUB_EFFECT_DIFFER);
    const struct scrub_effect *condemn = find(&steps, SCRUB_EFFECT_CONDEMN);
    uint64_t store = condemn == NULL ? 0 : condemn->store;
    cr_assert_eq(differ == NULL, condemn == NULL);
    *ret_outvoted = differ != NULL && differ->outvoted;
    scrub_end(&steps.scrub);
    return store;
}

Test(scrub, section_9_one_against_the_rest_is_damaged)
{
    bool outvoted = false;
    cr_assert_eq(condemned_by((uint64_t[]){5, 5, 6}, 3, &outvoted), SELF + 2);
    cr_assert(outvoted);
    cr_assert_eq(condemned_by((uint64_t[]){6, 5, 5}, 3, &outvoted), SELF); /* the primary */
    cr_assert(outvoted);
    cr_assert_eq(condemned_by((uint64_t[]){5, 6, 5, 5, 7}, 5, &outvoted),
                 SELF + 1); /* one by one */
    cr_assert(outvoted);
}

Test(scrub, section_9_otherwise_the_primarys_is_kept)
{
    bool outvoted = true;
    cr_assert_eq(condemned_by((uint64_t[]){5, 6}, 2, &outvoted), SELF + 1);
    cr_assert_not(outvoted);
    outvoted = true;
    cr_assert_eq(condemned_by((uint64_t[]){5, 6, 7}, 3, &outvoted), SELF + 1);
    cr_assert_not(outvoted);
    outvoted = true;
    cr_assert_eq(condemned_by((uint64_t[]){5, 6, 6, 5}, 4, &outvoted), SELF + 1);
    cr_assert_not(outvoted);
}

Test(scrub, a_range_that_ends_elsewhere_differs)
{
    struct steps steps = begin(2);
    for (int i = 0; i < 2; i++) {
        compare(&steps);
        answer(&steps, SELF, 5, "m");
        answer(&steps, SELF + 1, 5, "n");
    }
    cr_assert_eq(find(&steps, SCRUB_EFFECT_CONDEMN)->store, SELF + 1);
    scrub_end(&steps.scrub);
}

Test(scrub, a_difference_that_goes_away_condemns_nobody)
{
    struct steps steps = begin(2);
    for (int i = 0; i < 3; i++) {
        compare(&steps);
        all_answer(&steps, (uint64_t[]){5, 6}, 2);
        cr_assert_eq(steps.effects.count, 0);
        compare(&steps);
        all_answer(&steps, (uint64_t[]){5, 5}, 2);
        cr_assert_eq(steps.effects.count, 0);
    }
    cr_assert_eq(steps.scrub.compared, 3);
    scrub_end(&steps.scrub);
}

Test(scrub, the_condemned_is_told_until_it_is_no_member_and_the_range_is_compared_again)
{
    struct steps steps = begin(3);
    for (int i = 0; i < 2; i++) {
        compare(&steps);
        all_answer(&steps, (uint64_t[]){5, 5, 6}, 3);
    }
    tick_when_due(&steps);
    cr_assert_eq(find(&steps, SCRUB_EFFECT_CONDEMN)->store, SELF + 2);
    cr_assert_null(find(&steps, SCRUB_EFFECT_DIFFER)); /* people are told once */
    steps.event.peers.count = 1;
    tick(&steps);
    compare(&steps);
    cr_assert_eq(scrub_after(&steps.scrub).size_bytes, 0);
    scrub_end(&steps.scrub);
}

Test(scrub, nothing_is_compared_alone_or_in_doubt_or_when_it_is_not_wanted)
{
    struct steps steps = begin(2);
    steps.event.settled = false;
    tick_when_due(&steps);
    cr_assert_eq(steps.effects.count, 0);
    steps.event.settled = true;
    compare(&steps);
    steps.event.peers.count = 0; /* or its reign is over */
    tick(&steps);
    cr_assert_eq(scrub_deadline_ns(&steps.scrub), INT64_MAX);
    steps.event.peers.count = 1;
    steps.scrub.settings.period_ns = 0;
    tick(&steps);
    cr_assert_eq(scrub_deadline_ns(&steps.scrub), INT64_MAX);
    scrub_end(&steps.scrub);
}
