#include "tabletserver/storage/flush/flush_progress.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "common/base/prng.h"

static struct flush_progress progress;

static enum flush_effect step(enum flush_event_kind kind, uint64_t last_sequence)
{
    struct flush_event event = {.kind = kind, .last_sequence = last_sequence};
    enum flush_effect effect = flush_progress_step(&progress, &event);
    flush_progress_check(&progress);
    return effect;
}

Test(flush_progress, waits_for_the_commit)
{
    flush_progress_init(&progress, 0, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 5), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 4), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 5), FLUSH_RUN);
    cr_assert_eq(step(FLUSH_EVENT_ADVANCED, 0), FLUSH_RUN);
    cr_assert_eq(step(FLUSH_EVENT_FINISHED, 0), FLUSH_DROP);
}

Test(flush_progress, oldest_first_one_at_a_time)
{
    flush_progress_init(&progress, 100, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 5), FLUSH_RUN);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cr_assert_eq(progress.last_sequences[0], 5);
    cr_assert_eq(step(FLUSH_EVENT_FINISHED, 0), FLUSH_DROP_AND_RUN);
    cr_assert_eq(progress.last_sequences[0], 9);
    cr_assert_eq(step(FLUSH_EVENT_FINISHED, 0), FLUSH_DROP);
    cr_assert_eq(progress.frozen_count, 0);
}

Test(flush_progress, a_child_waits_for_its_parent)
{
    flush_progress_init(&progress, 100, true);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 101), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 101), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_UNBLOCKED, 0), FLUSH_RUN);
}

Test(flush_progress, failure_waits_for_a_retry)
{
    flush_progress_init(&progress, 100, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 5), FLUSH_RUN);
    cr_assert_eq(step(FLUSH_EVENT_FAILED, 0), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 120), FLUSH_WAIT);
    cr_assert_not(flush_progress_ready(&progress));
    cr_assert_eq(step(FLUSH_EVENT_RETRY, 0), FLUSH_RUN);
    cr_assert_eq(progress.frozen_count, 2);
}

Test(flush_progress, finishing_what_never_ran_is_a_bug, .signal = SIGABRT)
{
    flush_progress_init(&progress, 100, false);
    (void)step(FLUSH_EVENT_FINISHED, 0);
}

/* Every memtable is dropped once, in order, and never before it was committed. */
Test(flush_progress, random_walks)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct prng prng = prng_of_seed(seed);
        bool blocked = prng_chance(&prng, 2);
        flush_progress_init(&progress, 0, blocked);
        uint64_t frozen = 0;
        uint64_t dropped = 0;
        uint64_t committed = 0;
        for (int i = 0; i < 200; i++) {
            enum flush_effect effect = FLUSH_WAIT;
            uint64_t oldest = progress.last_sequences[0];
            switch (prng_below(&prng, 6)) {
            case 0:
                if (progress.frozen_count < FLUSH_FROZEN_MAX) {
                    frozen += 1 + prng_below(&prng, 3);
                    (void)step(FLUSH_EVENT_FROZEN, frozen);
                }
                break;
            case 1:
                committed += prng_below(&prng,
                                        frozen + 1 - (committed < frozen ? committed : frozen));
                (void)step(FLUSH_EVENT_COMMITTED, committed);
                break;
            case 2:
                if (blocked && prng_chance(&prng, 5)) {
                    blocked = false;
                    (void)step(FLUSH_EVENT_UNBLOCKED, 0);
                }
                break;
            case 3:
                (void)step(FLUSH_EVENT_RETRY, 0);
                break;
            default:
                if (progress.state == FLUSH_RUNNING) {
                    cr_assert_leq(oldest, committed);
                    cr_assert_not(blocked);
                    enum flush_event_kind kinds[] = {FLUSH_EVENT_ADVANCED, FLUSH_EVENT_FINISHED,
                                                     FLUSH_EVENT_FAILED};
                    effect = step(kinds[prng_below(&prng, 3)], 0);
                }
            }
            if (effect == FLUSH_DROP || effect == FLUSH_DROP_AND_RUN) {
                cr_assert_gt(oldest, dropped);
                dropped = oldest;
            }
        }
    }
}

static void cut(uint64_t last_sequence, uint32_t frozen_count)
{
    struct flush_event event = {FLUSH_EVENT_CUT, last_sequence, frozen_count};
    cr_assert_eq(flush_progress_step(&progress, &event), FLUSH_WAIT);
    flush_progress_check(&progress);
}

Test(flush_progress, what_is_dropped_is_not_waited_for)
{
    flush_progress_init(&progress, 0, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 5), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 3), FLUSH_WAIT);
    cut(4, 1); /* the second is gone, the first ends earlier */
    cr_assert_eq(progress.frozen_count, 1);
    cr_assert_eq(progress.last_sequences[0], 4);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 4), FLUSH_RUN);
}

Test(flush_progress, a_cut_down_to_what_is_committed_waits_for_the_next_word)
{
    flush_progress_init(&progress, 0, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 4), FLUSH_WAIT);
    cut(4, 1);
    cr_assert_not(flush_progress_ready(&progress));
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 4), FLUSH_RUN);
}

Test(flush_progress, a_cut_above_raises_nothing)
{
    flush_progress_init(&progress, 0, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 2), FLUSH_WAIT);
    cut(7, 1);
    cr_assert_eq(progress.committed, 2);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 6), FLUSH_WAIT);
}

Test(flush_progress, what_is_being_written_stays_while_newer_ones_go)
{
    flush_progress_init(&progress, 5, false);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 5), FLUSH_RUN);
    cr_assert_eq(step(FLUSH_EVENT_FROZEN, 9), FLUSH_WAIT);
    cut(6, 2);
    cr_assert_eq(step(FLUSH_EVENT_FINISHED, 0), FLUSH_DROP);
    cr_assert_eq(step(FLUSH_EVENT_COMMITTED, 6), FLUSH_RUN);
}
