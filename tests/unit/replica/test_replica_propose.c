/*
 * What a replica wants of the catalog: who goes, and what is proposed when; rule by rule of docs/replication.md.  (Learners:
 * test_replica_learners.c.  What stands: test_replica_barriers.c.)
 */
#include "tests/support/replica_steps.h"

Test(replica_propose, rule_9_one_proposal_is_repeated_unchanged_until_a_higher_version)
{
    struct steps steps = lead(3);
    held(&steps, 2, false);
    struct replica_proposal first = *proposed(&steps);
    cr_assert_eq(first.base, 2);
    cr_assert_eq(replica_configuration_find(&first.next, 12), first.next.member_count);
    held(&steps, 3, false); /* another reason, another change: not now */
    cr_assert_null(proposed(&steps));
    told(&steps, members_of(2, 3, 1)); /* refused, or not taken yet: settles nothing */
    cr_assert_eq(steps.effects.count, 0);
    for (int i = 0; i < 3; i++) {
        steps.now_ns += SETTINGS.propose_ns;
        tick_at(&steps, steps.now_ns);
        cr_assert(replica_configuration_equal(&proposed(&steps)->next, &first.next));
    }
    told(&steps, first.next);
    configured(&steps);
    cr_assert_eq(replica_look(steps.replica).configuration.version, 3);
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 2));
    end(&steps);
}

Test(replica_propose, rule_13_a_member_that_does_not_prepare_is_removed)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    int64_t begun_ns = steps.now_ns;
    synced(&steps, 1);
    prepared(&steps, 3, 2, 1);
    tick_at(&steps, begun_ns + SETTINGS.prepare_timeout_ns - 1);
    cr_assert_null(proposed(&steps));
    tick_at(&steps, begun_ns + SETTINGS.prepare_timeout_ns);
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 12), 2);
    end(&steps);
}

/* A primary that has not synced itself removes nobody. */
Test(replica_propose, rule_13_whose_disk_is_slow)
{
    struct steps steps = lead(2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.prepare_timeout_ns);
    cr_assert_null(proposed(&steps));
    end(&steps);
}

/* Three servers on a busy machine: two stood still for two seconds, and the tablet was the third's alone when that
 * one died. */
Test(replica_propose, rule_13_the_last_one_is_given_longer_where_writes_need_two)
{
    struct steps steps = lead(2);
    held(&steps, 2, false);
    int64_t begun_ns = steps.now_ns;
    cr_assert_null(proposed(&steps));
    tick_at(&steps, begun_ns + SETTINGS.last_ns - 1);
    cr_assert_null(proposed(&steps));
    held(&steps, 2, true);
    tick_at(&steps, begun_ns + SETTINGS.last_ns);
    cr_assert_null(proposed(&steps));
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    end(&steps);

    steps = lead(2);
    held(&steps, 2, false);
    tick_at(&steps, steps.now_ns + SETTINGS.last_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

Test(replica_propose, rule_13_but_not_where_one_is_enough)
{
    struct steps steps = lead(2);
    replica_set_min_in_sync(steps.replica, 1);
    held(&steps, 2, false);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

Test(replica_propose, rule_13_nor_where_another_has_been_taught)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    taught(&steps, 3, 2, 0);
    held(&steps, 2, false);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

/* A member that is removed again and again, and when it is opened as a learner after that. */
static void expect_patience(uint32_t min_in_sync, int64_t times)
{
    struct steps steps = lead(2);
    replica_set_min_in_sync(steps.replica, min_in_sync);
    wish(&steps, 2, 0);
    int64_t wait_ns = 1000 * MS;
    for (uint64_t version = 3; version < 12; version += 2) {
        held(&steps, 2, false);
        tick_at(&steps, steps.now_ns + (min_in_sync > 1 ? SETTINGS.last_ns : 0));
        int64_t removed_ns = steps.now_ns;
        told(&steps, members_of(version, 1, 1));
        configured(&steps);
        held(&steps, 2, true);
        cr_assert_null(find_sent(&steps, REPLICA_OPEN, 2));
        tick_at(&steps, removed_ns + wait_ns - 1);
        cr_assert_null(find_sent(&steps, REPLICA_OPEN, 2));
        tick_at(&steps, removed_ns + wait_ns);
        cr_assert(find_sent(&steps, REPLICA_OPEN, 2)->as_learner);
        wait_ns *= times;
        told(&steps, members_of(version + 1, 2, 1));
        configured(&steps);
        held(&steps, 2, true);
        opened(&steps, 2, version + 1, 0);
    }
    end(&steps);
}

Test(replica_propose, rule_13_patience_doubles)
{
    expect_patience(1, 2);
}

/* Three servers that stood still in turns left tablets with one member of the two that they need, for up to
 * 64 s (tests/cluster/run --replicas 3 --scenario stop_server, on a busy machine). */
Test(replica_propose, rule_13_a_tablet_that_needs_members_waits_for_none)
{
    expect_patience(2, 1);
}

Test(replica_propose, rule_15_who_does_not_answer_a_new_primary_is_removed)
{
    struct steps steps = begin_with((struct replica_recovered){.configuration = members_of(1, 3, 1),
                                                               .role = REPLICA_SECONDARY});
    told(&steps, members_of(2, 3, 1));
    configured(&steps);
    int64_t begun_ns = steps.now_ns;
    held(&steps, 2, true);
    held(&steps, 3, true);
    opened(&steps, 3, 2, 0);
    tick_at(&steps, begun_ns + SETTINGS.resend_ns);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2)); /* again */
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 3));
    tick_at(&steps, begun_ns + SETTINGS.open_timeout_ns);
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 12), 2);
    end(&steps);
}

Test(replica_propose, section_9_a_damaged_member_is_removed)
{
    struct steps steps = lead(3);
    received(&steps, 3,
             (struct replica_message){.type = REPLICA_DAMAGED, .version = 2, .opener = SELF});
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 13), 2);
    end(&steps);
}

Test(replica_propose, rule_2_a_lone_primary_notes_its_doubt_first)
{
    struct steps steps = lead(1);
    wish(&steps, 2, 0);
    held(&steps, 2, true);
    opened_as_learner(&steps, 2, 2);
    taught(&steps, 2, 2, 0);
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.doubt_noted);
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 2)); /* nobody counts before that is synced */
    configured(&steps);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 2)->as_learner);
    cr_assert_null(proposed(&steps));
    opened(&steps, 2, 2, 0);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IN_DOUBT);
    end(&steps);
}

Test(replica_propose, a_member_that_needs_what_the_log_has_no_more_is_removed)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    prepared(&steps, 3, 2, 1);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                        .from = store_of(2),
                                        .incarnation = PEER + 3});
    struct replica_message lost = {.type = REPLICA_OPENED,
                                   .version = 2,
                                   .incarnation = PEER + 3,
                                   .opener = SELF,
                                   .sequence = 0};
    received(&steps, 2, lost); /* it had acknowledged 1 */
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 12), 2);
    end(&steps);
}

/* --- what an audit and an attack have found ------------------------------------------------------- */

Test(replica_propose, rule_14_who_leaves_hands_over_whomever_it_teaches)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    cr_assert_eq(replica_look(steps.replica).learners, 1);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    bool yielded = find_sent(&steps, REPLICA_YIELD, 2) != NULL;
    for (int i = 0; i < 10 && !yielded; i++) {
        tick_at(&steps, steps.now_ns + 100 * MS);
        yielded = find_sent(&steps, REPLICA_YIELD, 2) != NULL;
    }
    cr_assert(yielded);
    end(&steps);
}

/* Seed 303094499: the log was read so slowly for one that joined that the process ended first. */
Test(replica_propose, rule_14_who_leaves_waits_not_long_for_one_that_joins)
{
    struct steps steps = lead(2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    taught(&steps, 3, 2, 0);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    opened(&steps, 3, 2, 0);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    const int64_t asked_ns = steps.now_ns;
    cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2));
    cr_assert_eq(replica_look(steps.replica).learners, 1, "it may come at any moment");
    bool yielded = false;
    while (!yielded && steps.now_ns < asked_ns + SETTINGS.prepare_timeout_ns) {
        tick_at(&steps, steps.now_ns + 100 * MS);
        yielded = find_sent(&steps, REPLICA_YIELD, 2) != NULL;
    }
    cr_assert(yielded);
    cr_assert_lt(steps.now_ns, asked_ns + 2 * SETTINGS.open_timeout_ns);
    end(&steps);
}

/* Its next process has promised and excepted nothing. */
Test(replica_propose, rule_8_an_exception_goes_with_the_process_that_made_it)
{
    struct steps steps = lead(2);
    step(&steps, (struct replica_event){
                     .type = REPLICA_EVENT_EXCEPTED_BY_PEER, .from = store_of(2), .version = 2});
    cr_assert_not(replica_look(steps.replica).serving);
    uint64_t incarnation = PEER + 2 + 100;
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                        .from = store_of(2),
                                        .incarnation = incarnation});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_RECEIVE,
                                        .from = store_of(2),
                                        .message = {.type = REPLICA_OPENED,
                                                    .version = 2,
                                                    .incarnation = incarnation,
                                                    .opener = SELF}});
    held(&steps, 2, true);
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
}
