/*
 * Hand-overs: whom a primary makes way for, and when; rule 14 of docs/replication.md.
 */
#include "tests/support/replica_steps.h"

Test(replica_hand_over, rule_14_hand_over)
{
    struct steps steps = lead(2);
    wish(&steps, 2, 0);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    wish(&steps, 2, 12);
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE);
    cr_assert(replica_look(steps.replica).serving); /* reads go on */
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    cr_assert_lt(find_effect(&steps, REPLICA_EFFECT_COMMIT),
                 find_effect(&steps, REPLICA_EFFECT_CEASE));
    cr_assert_eq(find_sent(&steps, REPLICA_YIELD, 2)->sequence, 1);
    cr_assert_eq(steps.effects.items[steps.effects.count - 1].type, REPLICA_EFFECT_SEND);
    cr_assert_eq(write_entry(&steps), STATUS_NOT_OWNER);
    tick_at(&steps, steps.now_ns + SETTINGS.resend_ns);
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 2));
    /* Nothing comes of it: it may not simply go on. */
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.open_timeout_ns);
    struct replica_configuration base = members_of(2, 2, 1);
    cr_assert_eq(replica_configuration_change(&base, &proposed(&steps)->next), REPLICA_CHANGE_NONE);
    cr_assert_not(replica_look(steps.replica).serving);
    end(&steps);
}

/* What it has acknowledged, and whether it would lead. */
static void says(struct steps *steps, uint64_t server, enum replica_will will)
{
    received(steps, server,
             (struct replica_message){
                 .type = REPLICA_PREPARED, .version = 2, .opener = SELF, .will = will});
}

static bool asked(const struct steps *steps, uint64_t server)
{
    const struct replica_message *message = find_sent(steps, REPLICA_COMMITTED, server);
    return message != NULL && message->asks;
}

/* A drain to a server that was cut off from the masters left the tablet with nobody for a second, again and again. */
Test(replica_hand_over, rule_14_nobody_is_made_way_for_who_would_not_lead)
{
    struct steps steps = lead(2);
    says(&steps, 2, REPLICA_WILL_NOT);
    wish(&steps, 2, 12);
    for (int i = 0; i < 3; i++) {
        cr_assert(asked(&steps, 2));
        says(&steps, 2, REPLICA_WILL_NOT);
        cr_assert_not(asked(&steps, 2));
        cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2));
        cr_assert_leq(replica_deadline_ns(steps.replica), steps.now_ns + SETTINGS.open_timeout_ns);
        tick_at(&steps, steps.now_ns + SETTINGS.open_timeout_ns);
    }
    cr_assert(replica_look(steps.replica).serving);
    says(&steps, 2, REPLICA_WILL_LEAD);
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 2));
    end(&steps);
}

Test(replica_hand_over, rule_14_what_a_member_said_is_soon_out_of_date)
{
    struct steps steps = lead(2);
    says(&steps, 2, REPLICA_WILL_LEAD);
    tick_at(&steps, steps.now_ns + SETTINGS.open_timeout_ns + 1);
    wish(&steps, 2, 12);
    cr_assert(asked(&steps, 2));
    cr_assert_eq(write_entry(&steps), STATUS_OK); /* everything goes on meanwhile */
    cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2));
    says(&steps, 2, REPLICA_WILL_LEAD);
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE);
    end(&steps);
}

/* What its acknowledgement says, or its lease, before the word is given. */
Test(replica_hand_over, rule_14_a_successor_that_is_no_good_any_more_is_not_made_way_for)
{
    for (int lapses = 0; lapses < 2; lapses++) {
        struct steps steps = lead(2);
        cr_assert_eq(write_entry(&steps), STATUS_OK);
        says(&steps, 2, REPLICA_WILL_LEAD);
        wish(&steps, 2, 12);
        cr_assert_eq(write_entry(&steps),
                     STATUS_UNAVAILABLE); /* what is given out is committed first */
        synced(&steps, 1);
        if (lapses) {
            held(&steps, 2, false);
        }
        received(&steps, 2,
                 (struct replica_message){.type = REPLICA_PREPARED,
                                          .version = 2,
                                          .opener = SELF,
                                          .sequence = 1,
                                          .appended = 1,
                                          .will = lapses ? REPLICA_WILL_LEAD : REPLICA_WILL_NOT});
        cr_assert_eq(replica_look(steps.replica).committed, 1);
        cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2));
        cr_assert(replica_look(steps.replica).serving);
        cr_assert_eq(write_entry(&steps), STATUS_OK);
        held(&steps, 2, true);
        synced(&steps, 2);
        tick_at(&steps, steps.now_ns + SETTINGS.resend_ns);
        says(&steps, 2, REPLICA_WILL_LEAD); /* of what it had */
        cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE);
        end(&steps);
    }
}

/* A goal that names no leader: of those it names whoever would. */
Test(replica_hand_over, rule_14_of_those_that_are_wished_for_whoever_would)
{
    struct steps steps = lead(3);
    says(&steps, 2, REPLICA_WILL_NOT);
    says(&steps, 3, REPLICA_WILL_LEAD);
    struct replica_event goal = {.type = REPLICA_EVENT_GOAL, .goal_members = {.count = 2}};
    goal.goal_members.members[0] = store_of(2);
    goal.goal_members.members[1] = store_of(3);
    step(&steps, goal);
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 3));
    end(&steps);
}

/* Who is about to end asks, too; but it has little time. */
Test(replica_hand_over, rule_14_who_is_about_to_end_takes_anyone_in_the_end)
{
    struct steps steps = lead(3);
    says(&steps, 2, REPLICA_WILL_NOT);
    says(&steps, 3, REPLICA_WILL_NOT);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    cr_assert(asked(&steps, 2) && asked(&steps, 3));
    says(&steps, 2, REPLICA_WILL_NOT);
    cr_assert_null(find_sent(&steps, REPLICA_YIELD, 0));
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING}); /* is said every round */
    tick_at(&steps, steps.now_ns + SETTINGS.open_timeout_ns);
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 0));
    end(&steps);
}

/* Of two that are both about to end, each handed the lead back at once: a transaction of the catalog every 2 ms. */
Test(replica_hand_over, rule_14_who_is_about_to_end_keeps_for_a_while_what_it_is_handed)
{
    struct steps steps = follow(2);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    tick_at(&steps, steps.now_ns + SETTINGS.open_timeout_ns);
    received(&steps, 2, (struct replica_message){.type = REPLICA_YIELD, .version = 2});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 2,
                                        .at_ns = steps.now_ns + 2000 * MS});
    told(&steps, members_of(3, 2, 1));
    configured(&steps);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = 3, .opener = SELF, .will = REPLICA_WILL_NOT});
    cr_assert(replica_look(steps.replica).serving);
    held(&steps, 2, true);
    cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2));
    const int64_t begun_ns = steps.now_ns;
    while (find_sent(&steps, REPLICA_YIELD, 2) == NULL) {
        received(
            &steps, 2,
            (struct replica_message){
                .type = REPLICA_PREPARED, .version = 3, .opener = SELF, .will = REPLICA_WILL_NOT});
        tick_at(&steps, steps.now_ns + 10 * MS);
        cr_assert_leq(steps.now_ns, begun_ns + SETTINGS.open_timeout_ns + 10 * MS);
    }
    cr_assert_geq(steps.now_ns, begun_ns + SETTINGS.open_timeout_ns);
    end(&steps);
}

Test(replica_hand_over, rule_14_a_disk_that_stands_still)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED, .present = true});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CEASE));
    cr_assert_eq(find_sent(&steps, REPLICA_YIELD, 2)->sequence, 0); /* not what is under way */
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.open_timeout_ns);
    cr_assert_null(proposed(&steps));
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 3)); /* one after the other */
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED});
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.open_timeout_ns);
    cr_assert_not_null(proposed(&steps));
    end(&steps);
}

/* It commits what it has given out, gives its word to one after the other, and never takes it back. */
Test(replica_hand_over, rule_14_a_process_that_is_about_to_end)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE);
    cr_assert_null(find_sent(&steps, REPLICA_YIELD, 2)); /* not before all is committed */
    synced(&steps, 1);
    prepared(&steps, 2, 2, 1);
    prepared(&steps, 3, 2, 1);
    cr_assert_eq(find_sent(&steps, REPLICA_YIELD, 2)->sequence, 1);
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.open_timeout_ns);
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 3));
    cr_assert_null(proposed(&steps));
    end(&steps);
}
