/*
 * Barriers: what is proposed when one is committed, and when it is lifted; section 7 of docs/replication.md.
 */
#include "tests/support/replica_steps.h"

Test(replica_propose, section_7_a_barrier_is_proposed_when_it_is_committed)
{
    struct steps steps = lead(2);
    struct replica_event split = {.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)};
    split.entry.barrier = REPLICA_BARRIER_SPLIT;
    step(&steps, split);
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE); /* nothing behind it */
    cr_assert_eq(replica_look(steps.replica).barrier, 1);
    synced(&steps, 1);
    cr_assert_null(proposed(&steps));
    prepared(&steps, 2, 2, 1);
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_SPLIT);
    cr_assert_eq(proposed(&steps)->barrier, 1);
    struct replica_event lift = {.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)};
    lift.entry.lifts = true;
    step(&steps, lift);
    cr_assert_eq(steps.status, STATUS_UNAVAILABLE); /* in doubt: it may be taken */
    end(&steps);
}

/* Committed by both. */
static struct steps lead_with_barrier(enum replica_barrier barrier)
{
    struct steps steps = lead(2);
    struct replica_event event = {.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)};
    event.entry.barrier = barrier;
    step(&steps, event);
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    cr_assert_eq(replica_look(steps.replica).standing.barrier, barrier);
    return steps;
}

static enum status lift(struct steps *steps)
{
    struct replica_event event = {.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)};
    event.entry.lifts = true;
    step(steps, event);
    return steps->status;
}

/* A merge that names the version may be on its way to the catalog. */
Test(replica_propose, section_7_what_is_frozen_is_thawed_under_a_higher_version_only)
{
    struct steps steps = lead_with_barrier(REPLICA_BARRIER_FROZEN);
    cr_assert_null(proposed(&steps));
    cr_assert_eq(lift(&steps), STATUS_UNAVAILABLE);
    struct replica_event renew = {.type = REPLICA_EVENT_RENEW, .version = 1};
    step(&steps, renew); /* of a version that is no more */
    cr_assert_null(proposed(&steps));
    renew.version = 2;
    step(&steps, renew);
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_MEMBERS);
    struct replica_configuration next = proposed(&steps)->next;
    cr_assert_eq(next.version, 3);
    cr_assert_eq(next.member_count, 2);
    step(&steps, renew); /* one proposal at a time, said again when it is due */
    cr_assert_null(proposed(&steps));
    told(&steps, next);
    configured(&steps);
    opened(&steps, 2, 3, 1);
    cr_assert(replica_look(steps.replica).serving);
    cr_assert_null(proposed(&steps));
    cr_assert_eq(lift(&steps), STATUS_OK);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    end(&steps);
}

/* The left half of a merge whose right half had another version stood still for ever. */
Test(replica_propose, section_7_a_void_merge_is_settled_and_lifted)
{
    struct steps steps = lead_with_barrier(REPLICA_BARRIER_ABSORB);
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_MERGE);
    cr_assert_eq(lift(&steps), STATUS_UNAVAILABLE); /* it may be taken */
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_VOID, .sequence = 1});
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_FINE);
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.propose_ns);
    cr_assert_null(proposed(&steps));
    cr_assert_eq(lift(&steps), STATUS_OK);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    end(&steps);
}

/* Rule 9 for all other kinds: only a higher version settles. */
Test(replica_propose, section_7_nothing_but_that_merge_is_void)
{
    struct steps steps = lead_with_barrier(REPLICA_BARRIER_SPLIT);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_VOID, .sequence = 2});
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IN_DOUBT);
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.propose_ns);
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_SPLIT);
    end(&steps);
}

/* What was void is gone with the entry: another may come to stand there. */
Test(replica_propose, section_7_a_split_where_a_void_barrier_was_dropped_is_proposed)
{
    struct steps steps = lead(2);
    struct replica_event barrier = {.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)};
    barrier.entry.barrier = REPLICA_BARRIER_ABSORB;
    step(&steps, barrier);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_VOID, .sequence = 1});
    received(&steps, 2, open_of(members_of(3, 2, 2), 0, false));
    configured(&steps);
    told(&steps, members_of(4, 2, 1));
    configured(&steps);
    held(&steps, 2, true);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 3,
                                        .at_ns = steps.now_ns});
    opened(&steps, 2, 4, 0);
    barrier.entry.barrier = REPLICA_BARRIER_SPLIT;
    step(&steps, barrier);
    cr_assert_eq(steps.status, STATUS_OK);
    synced(&steps, 1);
    prepared(&steps, 2, 4, 1);
    cr_assert_not_null(proposed(&steps));
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_SPLIT);
    end(&steps);
}

/* It stood there before the disk went back, as far as is known: the others may have lifted it, and written behind it (rule 21). */
Test(replica_propose, section_7_nothing_is_split_before_all_have_opened)
{
    struct steps steps = begin_with(
        (struct replica_recovered){.configuration = members_of(1, 2, 1),
                                   .role = REPLICA_PRIMARY,
                                   .flags = {.opened = true},
                                   .committed = 4,
                                   .committed_version = 1,
                                   .barrier = {4, 1, REPLICA_BARRIER_SPLIT}});
    told(&steps, members_of(2, 2, 1));
    configured(&steps);
    held(&steps, 2, true);
    cr_assert_null(proposed(&steps));
    opened(&steps, 2, 2, 4);
    cr_assert_eq(proposed(&steps)->kind, REPLICA_PROPOSE_SPLIT);
    end(&steps);
}
