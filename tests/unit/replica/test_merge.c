/*
 * Which step of a merge is next, rule by rule and crash by crash (docs/replication.md, section 7).
 */
#include <criterion/criterion.h>

#include "tabletserver/replica/merge.h"

#define SECOND INT64_C(1000000000)

static const struct merge_settings SETTINGS = {.frozen_max_ns = 5 * SECOND,
                                               .frozen_top_ns = 60 * SECOND,
                                               .wait_ns = 1 * SECOND,
                                               .wait_top_ns = 60 * SECOND};

static struct merge merge;
static struct merge_look look;

static struct replica_standing standing_of(enum replica_barrier barrier,
                                           uint64_t sequence,
                                           uint64_t version)
{
    return (struct replica_standing){sequence, version, barrier};
}

/* Wished; both are led here, at versions 7 and 9; nothing stands. */
static void begin(void)
{
    const struct merge_half half = {
        .leads = true, .calm = true, .committed = true, .told = true, .flushed = true};
    merge_begin(&merge, &SETTINGS);
    look = (struct merge_look){
        .now_ns = 100 * SECOND, .wished = true, .aligned = true, .left = half, .right = half};
    look.left.version = 7;
    look.right.version = 9;
}

TestSuite(merge, .init = begin);

static enum merge_step next(void)
{
    return merge_next(&merge, &look);
}

static void freeze(void)
{
    cr_assert_eq(next(), MERGE_FREEZE);
    look.right.standing = standing_of(REPLICA_BARRIER_FROZEN, 30, look.right.version);
}

static void absorb(void)
{
    cr_assert_eq(next(), MERGE_ABSORB);
    look.left.standing = standing_of(REPLICA_BARRIER_ABSORB, 20, look.left.version);
    look.named_version = look.right.standing.version;
}

/* --- the way ------------------------------------------------------------------------------------ */

Test(merge, both_are_flushed_then_the_right_one_freezes_and_the_left_one_absorbs)
{
    look.left.flushed = false;
    cr_assert_eq(next(), MERGE_FLUSH);
    look.left.flushed = true;
    cr_assert_not(merge_is_under_way(&look));
    freeze();
    cr_assert(merge_is_under_way(&look));
    absorb();
    cr_assert_eq(next(), MERGE_WAIT);
    cr_assert_not(merge_must_lift(&look));
}

Test(merge, nothing_begins_before_both_are_ready)
{
    bool *const needed[] = {&look.wished,    &look.aligned,     &look.left.leads,
                            &look.left.calm, &look.right.leads, &look.right.calm};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        *needed[i] = false;
        cr_assert_eq(next(), MERGE_WAIT, "%zu", i);
        *needed[i] = true;
    }
    look.left.standing = standing_of(REPLICA_BARRIER_SPLIT, 20, 7);
    cr_assert_eq(next(), MERGE_WAIT);
    look.left.standing = standing_of(REPLICA_BARRIER_NONE, 0, 0);
    cr_assert_eq(next(), MERGE_FREEZE);
}

/* Invariant (1), and what makes the barrier short. */
Test(merge, it_absorbs_what_is_committed_told_and_flushed)
{
    bool *const needed[] = {&look.right.committed, &look.right.told, &look.right.flushed,
                            &look.right.calm, &look.left.calm};
    freeze();
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        *needed[i] = false;
        cr_assert_eq(next(), MERGE_WAIT, "%zu", i);
        *needed[i] = true;
    }
    cr_assert_eq(next(), MERGE_ABSORB);
}

Test(merge, a_member_that_follows_flushes_and_does_no_more)
{
    look.left.leads = look.right.leads = false;
    look.right.flushed = false;
    cr_assert_eq(next(), MERGE_FLUSH);
    look.right.flushed = true;
    cr_assert_eq(next(), MERGE_WAIT);
    look.right.standing = standing_of(REPLICA_BARRIER_FROZEN, 30, 9);
    cr_assert_eq(next(), MERGE_WAIT);
    look.right.version = 10;
    cr_assert_eq(next(), MERGE_WAIT);
    cr_assert_not(merge_must_lift(&look));
}

/* --- it is void --------------------------------------------------------------------------------- */

/* Which stood still for ever in the round before. */
Test(merge, the_left_half_is_lifted_when_the_right_one_has_moved_on)
{
    freeze();
    absorb();
    look.right.version = 10;
    cr_assert(merge_must_lift(&look));
    cr_assert_eq(next(), MERGE_THAW);
    look.right.standing = standing_of(REPLICA_BARRIER_NONE, 0, 0);
    cr_assert(merge_must_lift(&look));
    cr_assert_eq(next(), MERGE_WAIT);
}

/* Its primary may be another server's now: what is known of it is what the catalog has answered. */
Test(merge, the_left_half_is_lifted_though_the_right_one_is_led_elsewhere)
{
    freeze();
    absorb();
    look.right = (struct merge_half){.version = 10};
    look.aligned = false;
    cr_assert(merge_must_lift(&look));
    look.left.committed = false; /* the next is given out only when the one before is committed */
    cr_assert_not(merge_must_lift(&look));
    look.left.committed = true;
    look.left.leads = false;
    cr_assert_not(merge_must_lift(&look), "it is its primary's");
}

Test(merge, a_new_primary_of_the_left_half_lifts_and_absorbs_again)
{
    freeze();
    absorb();
    look.left.version = 8;
    cr_assert(merge_must_lift(&look));
    cr_assert_eq(next(), MERGE_WAIT);
    look.left.standing = standing_of(REPLICA_BARRIER_NONE, 0, 0);
    cr_assert_eq(next(), MERGE_ABSORB); /* right stands as it stood */
}

Test(merge, what_may_still_be_taken_is_not_lifted)
{
    freeze();
    absorb();
    look.wished = false;
    look.aligned = false;
    look.right.leads = false;
    cr_assert_not(merge_must_lift(&look));
}

/* --- thawing (invariant 2) ---------------------------------------------------------------------- */

Test(merge, under_the_version_in_which_it_was_frozen_it_is_renewed_first)
{
    bool *const lost[] = {&look.wished, &look.aligned, &look.left.leads};
    freeze();
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        *lost[i] = false;
        cr_assert_eq(next(), MERGE_RENEW, "%zu", i);
        look.right.committed = false;
        cr_assert_eq(next(), MERGE_WAIT, "%zu", i);
        look.right.committed = true;
        *lost[i] = true;
    }
    look.wished = false;
    look.right.version = 10;
    cr_assert_eq(next(), MERGE_THAW);
}

/* A new primary has a version above the one before. */
Test(merge, a_new_primary_of_the_right_half_thaws)
{
    look.right.standing = standing_of(REPLICA_BARRIER_FROZEN, 30, 8);
    cr_assert_eq(next(), MERGE_THAW);
    look.right.committed = false;
    cr_assert_eq(next(), MERGE_WAIT);
    look.right.committed = true;
    look.right.standing = standing_of(REPLICA_BARRIER_NONE, 0, 0);
    cr_assert_eq(next(), MERGE_FREEZE);
}

/* A lone primary goes on under its version when it restarts. */
Test(merge, whoever_finds_it_frozen_under_its_version_goes_on)
{
    look.right.standing = standing_of(REPLICA_BARRIER_FROZEN, 30, 9);
    cr_assert_eq(next(), MERGE_ABSORB);
}

/* --- nothing stands for ever (invariant 4) -------------------------------------------------------- */

/* Until it is thawed: how long it has stood. */
static int64_t stand(void)
{
    int64_t since_ns = look.now_ns;
    freeze();
    look.right.flushed = false; /* and it is never */
    while (next() != MERGE_RENEW) {
        look.now_ns += SECOND / 4;
        cr_assert_lt(look.now_ns - since_ns, 61 * SECOND);
    }
    int64_t stood_ns = look.now_ns - since_ns;
    look.right.version++;
    cr_assert_eq(next(), MERGE_THAW);
    cr_assert_eq(next(), MERGE_THAW, "it was refused, perhaps");
    look.right.standing = standing_of(REPLICA_BARRIER_NONE, 0, 0);
    look.right.flushed = true;
    return stood_ns;
}

/* Until it begins again. */
static int64_t rest(void)
{
    int64_t since_ns = look.now_ns;
    while (next() != MERGE_FREEZE) {
        look.now_ns += SECOND / 4;
        cr_assert_lt(look.now_ns - since_ns, 61 * SECOND);
    }
    return look.now_ns - since_ns;
}

Test(merge, what_takes_too_long_is_given_up_and_has_longer_the_next_time_and_begins_later)
{
    static const int64_t limits[] = {5, 10, 20, 40, 60, 60};
    static const int64_t waits[] = {1, 2, 4, 8, 16, 32};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        cr_assert_eq(stand(), limits[i] * SECOND);
        cr_assert_eq(rest(), waits[i] * SECOND);
    }
}

Test(merge, a_merge_that_the_catalog_never_takes_is_given_up)
{
    freeze();
    absorb();
    cr_assert_eq(next(), MERGE_WAIT);
    look.now_ns += 5 * SECOND;
    cr_assert_eq(next(), MERGE_RENEW);
    cr_assert_not(merge_must_lift(&look), "it may be taken before the renewal is");
    look.right.version = 10;
    cr_assert(merge_must_lift(&look));
}

/* Then what it has proposed holds up nothing any more: it may have to remove members before it serves again. */
Test(merge, what_is_void_is_void_whether_left_serves_or_not)
{
    freeze();
    absorb();
    look.left.leads = false;
    cr_assert_not(merge_is_void(&look));
    look.right.version = 10;
    cr_assert(merge_is_void(&look));
    cr_assert_not(merge_must_lift(&look));
    look.void_told = true;
    look.right = (struct merge_half){.flushed = true}; /* it is gone from here */
    look.left.leads = true;
    cr_assert(merge_must_lift(&look));
}
