/*
 * Learners: opened, taught, joined, let go; rule by rule of docs/replication.md.
 */
#include "tests/support/replica_steps.h"

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

/* It is not gone: whoever needs it is not removed for that. */
Test(replica_propose, rule_16_what_could_not_be_read_is_asked_for_again_in_a_moment)
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
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_READ)->sequence, 1);
        step(&steps, (struct replica_event){
                         .type = REPLICA_EVENT_UNREAD, .from = store_of(3), .sequence = 1});
        cr_assert_not(has_effect(&steps, REPLICA_EFFECT_READ), "not again and again");
        cr_assert_null(proposed(&steps));
        tick_at(&steps, steps.now_ns + SETTINGS.resend_ns);
    }
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

/* --- from one store of a server to another one (rule 17) ------------------------------------------ */

/* As wish(), but of that server another store. */
static void wish_in_place(struct steps *steps, uint32_t count, uint64_t server)
{
    struct replica_event goal = {.type = REPLICA_EVENT_GOAL, .goal_members = {.count = count}};
    for (uint32_t i = 0; i < count; i++) {
        goal.goal_members.members[i] = store_of(i + 1);
    }
    goal.goal_members.members[server - 1].store += 100;
    step(steps, goal);
}

/* It was skipped, as its server had a member, and who was not wished for stayed until it was there: two neighbours in two
 * stores of a server were never merged (simulator, seed 396). */
Test(replica_propose, rule_17_who_is_in_another_store_of_the_server_makes_place)
{
    struct steps steps = lead(3);
    wish_in_place(&steps, 3, 3);
    const struct replica_configuration next = proposed(&steps)->next;
    cr_assert_eq(next.member_count, 2);
    cr_assert(replica_configuration_has(&next, store_of(2)));
    told(&steps, next);
    configured(&steps);
    cr_assert(find_sent(&steps, REPLICA_OPEN, 3)->as_learner);
    end(&steps);
}

Test(replica_propose, rule_17_who_leads_from_another_store_of_the_server_hands_over)
{
    struct steps steps = lead(3);
    tick_at(&steps, steps.now_ns + SETTINGS.settle_ns);
    wish_in_place(&steps, 3, 1);
    cr_assert_null(proposed(&steps));
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 0));
    end(&steps);
}

/* Of two copies one would be left while the other is taught. */
Test(replica_propose, rule_17_the_last_but_one_makes_no_place)
{
    struct steps steps = lead(2);
    wish_in_place(&steps, 2, 2);
    tick_at(&steps, steps.now_ns + 5000 * MS);
    cr_assert_null(proposed(&steps));
    cr_assert_eq(replica_look(steps.replica).learners, 0);
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
}
