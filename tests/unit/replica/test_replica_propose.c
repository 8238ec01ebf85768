/*
 * What a replica wants of the catalog, and learners; rule by rule of docs/replication.md.
 */
#include "tests/support/replica_steps.h"

static void taught(struct steps *steps, uint64_t server, uint64_t version, uint64_t sequence)
{
    struct replica_event event = {.type = REPLICA_EVENT_TEACHING,
                                  .from = store_of(server),
                                  .sequence = sequence,
                                  .version = version,
                                  .incarnation = PEER + server};
    step(steps, event);
    event.type = REPLICA_EVENT_TAUGHT;
    step(steps, event);
}

static void opened_as_learner(struct steps *steps, uint64_t server, uint64_t version)
{
    received(steps, server,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = version, .opener = SELF, .as_learner = true});
}

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

Test(replica_propose, rule_16_a_learner_is_taught_opened_as_a_member_and_then_proposed)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    cr_assert(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_TEACH)->to.server, 3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    cr_assert_null(find_sent(&steps, REPLICA_PREPARE, 3)); /* it is not known from where on */
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    cr_assert_eq(replica_look(steps.replica).committed, 1); /* it does not count */

    taught(&steps, 3, 2, 0);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    cr_assert_null(proposed(&steps));
    opened_as_learner(&steps, 3, 2); /* late */
    cr_assert_null(proposed(&steps));
    opened(&steps, 3, 2, 0);
    cr_assert_null(proposed(&steps)); /* it has not everything that is committed */
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_READ)->sequence, 1);
    struct replica_event read = {
        .type = REPLICA_EVENT_READ, .from = store_of(3), .present = true, .entry = entry_of(1, 2)};
    step(&steps, read);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 3)->entry.sequence, 1);
    prepared(&steps, 3, 2, 1);
    cr_assert_eq(proposed(&steps)->next.member_count, 3);
    /* Rule 9: served under the leases of all, before it goes out. */
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_SERVE)->peers.count, 2);
    cr_assert_lt(find_effect(&steps, REPLICA_EFFECT_SERVE),
                 find_effect(&steps, REPLICA_EFFECT_PROPOSE));
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 2);
    prepared(&steps, 2, 2, 2);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_COMMIT));
    prepared(&steps, 3, 2, 2);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_COMMIT));
    end(&steps);
}

/* Its learner got the entry in another way meanwhile.  A read that is not answered was due with every step from then on
 * (simulator, seed 4817098). */
Test(replica_propose, rule_16_a_read_that_is_not_answered_is_not_waited_for_twice)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    taught(&steps, 3, 2, 0);
    opened(&steps, 3, 2, 0);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_READ)->sequence, 1);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 2);
    prepared(&steps, 3, 2, 1);
    int64_t due_ns = steps.now_ns + SETTINGS.prepare_timeout_ns;
    tick_at(&steps, due_ns);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 3)->entry.sequence, 2);
    for (int i = 1; i < 10; i++) {
        tick_at(&steps, due_ns + i);
        cr_assert_null(find_sent(&steps, REPLICA_PREPARE, 3));
    }
    tick_at(&steps, due_ns + SETTINGS.resend_ns);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 3)->entry.sequence, 2);
    end(&steps);
}

/* Under this version it cannot be taught any more, so there has to be another. */
Test(replica_propose, rule_16_who_joins_and_lacks_what_no_log_has_is_taught_under_a_new_version)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    taught(&steps, 3, 2, 0);
    opened(&steps, 3, 2, 0);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_READ)->sequence, 1);
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_READ, .from = store_of(3), .sequence = 1});
    const struct replica_proposal *renewal = proposed(&steps);
    cr_assert_not_null(renewal);
    cr_assert_eq(renewal->next.version, 3);
    cr_assert_eq(renewal->next.member_count, 2);
    end(&steps);
}

/* As after a kill of all: the reign before had committed 1, and this one has not yet. */
Test(replica_propose, rule_16_a_learner_that_knows_more_than_a_new_primary_is_opened_again)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    opened_as_learner(&steps, 3, 2);
    taught(&steps, 3, 2, 1);
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 3)); /* at its pace */

    /* Its time to answer begins anew, however long ago it was opened first. */
    steps.now_ns += SETTINGS.prepare_timeout_ns - SETTINGS.resend_ns;
    tick_at(&steps, steps.now_ns);
    cr_assert(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    prepared(&steps, 2, 2, 1);
    opened_as_learner(&steps, 3, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_TEACH)->to.server, 3);
    taught(&steps, 3, 2, 1);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner); /* it joins */
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

static struct steps lead_with_one_that_joins(void)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    taught(&steps, 3, 2, 0);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner, "it joins");
    return steps;
}

/* Under the version under which it was opened as a member it takes itself for one that may count: the master's word that
 * its copy may go was passed over for as long as nothing else changed. */
Test(replica_propose,
     rule_16_who_was_let_go_when_it_joined_and_is_not_wished_for_hears_of_another_version)
{
    struct steps steps = lead_with_one_that_joins();
    wish(&steps, 2, 0);
    cr_assert_eq(replica_look(steps.replica).learners, 0);
    cr_assert_eq(proposed(&steps)->next.version, 3);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    told(&steps, proposed(&steps)->next);
    configured(&steps);
    opened(&steps, 2, 3, 0);
    tick_at(&steps, steps.now_ns + 5000 * MS);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_FINE, "once");
    end(&steps);

    steps = lead_with_one_that_joins();
    held(&steps, 3, false);
    cr_assert_eq(replica_look(steps.replica).learners, 0);
    cr_assert_null(proposed(&steps));
    wish(&steps, 2, 0); /* only now */
    cr_assert_eq(proposed(&steps)->next.version, 3);
    end(&steps);
}

/* After a promotion: it has heard more to be committed than its primary, which is told so by its members, and not by a
 * write. */
Test(replica_propose, section_6_a_learner_that_knows_more_to_be_committed_is_taught_without_a_write)
{
    struct replica_entry window[] = {entry_of(1, 1)};
    struct steps steps = begin_with((struct replica_recovered){.configuration = members_of(2, 2, 1),
                                                               .role = REPLICA_PRIMARY,
                                                               .adopted = true,
                                                               .flags = {.opened = true},
                                                               .window = window,
                                                               .window_count = 1});
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    struct replica_message learns = {.type = REPLICA_OPENED,
                                     .version = 2,
                                     .opener = SELF,
                                     .sequence = 1,
                                     .committed = 1,
                                     .as_learner = true};
    received(&steps, 3, learns);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_TEACH));
    cr_assert_eq(replica_look(steps.replica).committed, 0);
    taught(&steps, 3, 2, 1); /* it says so, and is not believed yet */
    held(&steps, 2, true);
    opened(&steps, 2, 2, 1);
    cr_assert_eq(replica_look(steps.replica).committed, 1);
    tick_at(&steps, steps.now_ns + SETTINGS.resend_ns);
    cr_assert(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    received(&steps, 3, learns);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_TEACH));
    taught(&steps, 3, 2, 1);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner, "it joins");
    end(&steps);
}

/* It may lack anything by now, and commits would wait for that. */
Test(replica_propose, rule_16_who_was_let_go_when_it_joined_comes_back_under_the_next_version)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    opened_as_learner(&steps, 3, 2);
    struct replica_event taught = {
        .type = REPLICA_EVENT_TEACHING, .from = store_of(3), .version = 2, .incarnation = PEER + 3};
    step(&steps, taught);
    taught.type = REPLICA_EVENT_TAUGHT;
    step(&steps, taught);
    cr_assert_not(find_sent(&steps, REPLICA_OPEN, 3)->as_learner, "it joins");
    held(&steps, 3, false);
    cr_assert_eq(replica_look(steps.replica).learners, 0);
    for (uint64_t i = 1; i <= 500; i++) {
        cr_assert_eq(write_entry(&steps), STATUS_OK);
        synced(&steps, i);
        prepared(&steps, 2, 2, i);
    }
    tick_at(&steps, steps.now_ns + 5000 * MS);
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 3));
    struct replica_configuration next = proposed(&steps)->next;
    cr_assert_eq(next.version, 3);
    cr_assert_eq(next.member_count, 2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 501);
    prepared(&steps, 2, 2, 501);
    cr_assert_eq(replica_look(steps.replica).committed, 501, "nobody is waited for");
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
