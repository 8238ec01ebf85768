/*
 * A primary: writes, commits, serving, its peers; rule by rule of docs/replication.md.
 */
#include "tests/support/replica_steps.h"

Test(replica_reign, a_lone_member_sends_nothing_and_allocates_nothing)
{
    struct steps steps = begin_with((struct replica_recovered){
        .configuration = members_of(1, 1, 1), .role = REPLICA_PRIMARY, .flags = {.opened = true}});
    steps.settings.min_in_sync = 1;
    end(&steps);
    struct replica_recovered recovered = {.self = store_of(1),
                                          .incarnation = SELF,
                                          .configuration = members_of(1, 1, 1),
                                          .role = REPLICA_PRIMARY,
                                          .flags = {.opened = true}};
    cr_assert_eq(replica_create(&steps.settings, &recovered, 0, &steps.replica, &steps.effects),
                 STATUS_OK);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_LEAD));
    told(&steps, members_of(1, 1, 1));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_SERVE)->peers.count, 0);
    memory_fail_arm(0, 1);
    for (uint64_t sequence = 1; sequence <= 100; sequence++) {
        cr_assert_eq(write_entry(&steps), STATUS_OK);
        cr_assert_eq(steps.effects.count, 1);
        cr_assert_eq(steps.effects.items[0].entry.sequence, sequence);
        cr_assert_eq(steps.effects.items[0].entry.version, 1);
        cr_assert_eq(steps.effects.items[0].entry.payload.size_bytes, 7);
        synced(&steps, sequence);
        cr_assert_eq(steps.effects.count, 1);
        cr_assert_eq(steps.effects.items[0].type, REPLICA_EFFECT_COMMIT);
        cr_assert_eq(replica_deadline_ns(steps.replica), REPLICA_NEVER);
    }
    memory_fail_disarm();
    cr_assert(replica_look(steps.replica).acknowledges);
    end(&steps);
}

Test(replica_reign, rule_2_a_restarted_primary_renews)
{
    struct replica_configuration base = members_of(4, 3, 1);
    struct steps steps = begin_with((struct replica_recovered){
        .configuration = base, .role = REPLICA_PRIMARY, .flags = {.opened = true}});
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_LEAD));
    cr_assert_eq(replica_configuration_change(&base, &proposed(&steps)->next), REPLICA_CHANGE_NONE);
    cr_assert_eq(write_entry(&steps), STATUS_NOT_OWNER);
    told(&steps, members_of(5, 3, 1));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CONFIGURE));
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 0)); /* I7 */
    configured(&steps);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_LEAD));
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2));
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 3));
    end(&steps);
}

Test(replica_reign, rule_2_a_lone_member_in_doubt_renews)
{
    struct steps steps = begin_with(
        (struct replica_recovered){.configuration = members_of(4, 1, 1),
                                   .role = REPLICA_PRIMARY,
                                   .flags = {.opened = true, .doubt_noted = true}});
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_LEAD));
    cr_assert_not_null(proposed(&steps));
    end(&steps);
}

/* Its process before had granted, became alone, and died: who held that grant may still serve. */
Test(replica_reign, rule_11_a_lone_member_waits_for_grants_of_its_former_life)
{
    struct replica_recovered recovered = {.configuration = members_of(4, 1, 1),
                                          .role = REPLICA_PRIMARY,
                                          .flags = {.opened = true, .bound = true},
                                          .free_from_ns = 12000 * MS};
    struct steps steps = begin_with(recovered);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_LEAD));
    told(&steps, members_of(4, 1, 1));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_SERVE));
    cr_assert_eq(write_entry(&steps), STATUS_NOT_OWNER);
    cr_assert_eq(replica_deadline_ns(steps.replica), 12000 * MS);
    tick_at(&steps, 12000 * MS);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_SERVE));
    cr_assert_not(
        find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.bound); /* the next need not */
    end(&steps);
    recovered.flags.bound = false;
    steps = begin_with(recovered);
    told(&steps, members_of(4, 1, 1));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_SERVE));
    end(&steps);
}

Test(replica_reign, rule_11_waits_for_its_own_grants)
{
    struct steps steps = follow(3);
    told(&steps, members_of(3, 3, 1)); /* an old proposal of its was taken */
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->to.server, 2);
    configured(&steps);
    opened(&steps, 2, 3, 0);
    opened(&steps, 3, 3, 0);
    cr_assert_not(replica_look(steps.replica).serving);
    int64_t free_ns = steps.now_ns + 1500 * MS;
    held(&steps, 2, true);
    held(&steps, 3, true);
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 2, .at_ns = free_ns});
    cr_assert_not(replica_look(steps.replica).serving);
    tick_at(&steps, free_ns);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_SERVE)->peers.count, 2);
    end(&steps);
}

Test(replica_reign, what_may_be_written_cannot_fail_afterwards)
{
    struct steps steps = lead(3);
    struct replica_entry entry = entry_of(0, 0);
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(replica_may_write(steps.replica, &entry), STATUS_OK);
        memory_fail_arm(0, 1);
        cr_assert_eq(write_entry(&steps), STATUS_OK);
        cr_assert_eq(replica_may_write(steps.replica, &entry), STATUS_NO_MEMORY);
        memory_fail_disarm();
    }
    end(&steps);
    steps = follow(3);
    cr_assert_eq(replica_may_write(steps.replica, &entry), STATUS_NOT_OWNER);
    end(&steps);
}

Test(replica_reign, rule_5_committed_is_what_all_have)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    cr_assert_not_null(find_sent(&steps, REPLICA_PREPARE, 2));
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 3)->entry.payload.size_bytes, 7);
    prepared(&steps, 2, 2, 1);
    prepared(&steps, 3, 2, 1);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_COMMIT)); /* not synced here */
    synced(&steps, 1);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_COMMIT)->sequence, 1);
    /* The others hear with the next PREPARE, or alone. */
    cr_assert_eq(replica_deadline_ns(steps.replica), steps.now_ns + SETTINGS.commit_idle_ns);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->committed, 1);
    synced(&steps, 2);
    prepared(&steps, 2, 2, 2);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_COMMIT));
    prepared(&steps, 3, 2, 2);
    tick_at(&steps, steps.now_ns + SETTINGS.commit_idle_ns);
    cr_assert_eq(find_sent(&steps, REPLICA_COMMITTED, 3)->sequence, 2);
    end(&steps);
}

Test(replica_reign, rule_3_goes_back_to_where_a_gap_begins)
{
    struct steps steps = lead(2);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(write_entry(&steps), STATUS_OK);
    }
    struct replica_message gap = {.type = REPLICA_PREPARED,
                                  .version = 2,
                                  .opener = SELF,
                                  .sequence = 1,
                                  .appended = 2,
                                  .gap = true};
    received(&steps, 2, gap);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.sequence, 3);
    cr_assert_leq(replica_deadline_ns(steps.replica), steps.now_ns);
    tick_at(&steps, steps.now_ns);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.sequence, 4);
    received(&steps, 2, gap); /* the same one, of another message */
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.sequence, 5);
    tick_at(&steps, steps.now_ns);
    cr_assert_eq(steps.effects.count, 0);
    /* Nothing is heard: the oldest of what is under way goes out again. */
    tick_at(&steps, steps.now_ns + SETTINGS.resend_ns);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.sequence, 2);
    end(&steps);
}

Test(replica_reign, rule_5_a_restarted_member_is_opened_again)
{
    struct steps steps = lead(2);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                        .from = store_of(2),
                                        .incarnation = PEER + 2}); /* the one that opened it */
    cr_assert_eq(steps.effects.count, 0);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                        .from = store_of(2),
                                        .incarnation = PEER + 3});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CEASE));
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2));
    opened(&steps, 2, 2, 0); /* late, of the old process */
    cr_assert_not(replica_look(steps.replica).serving);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = 2, .incarnation = PEER + 3, .opener = SELF});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_SERVE));
    end(&steps);
}

static void restarts(struct steps *steps, uint64_t incarnation)
{
    step(steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                       .from = store_of(2),
                                       .incarnation = incarnation});
}

/* Its lease is void with the process before, and is asked for with the next beacon. */
Test(replica_reign, rule_13_a_member_that_restarts_has_time_to_give_its_lease_again)
{
    struct steps steps = lead(3);
    restarts(&steps, PEER + 3);
    held(&steps, 2, false);
    cr_assert_null(proposed(&steps));
    tick_at(&steps, steps.now_ns + SETTINGS.open_timeout_ns - 1);
    cr_assert_null(proposed(&steps));
    tick_at(&steps, steps.now_ns + 1);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    end(&steps);
}

Test(replica_reign, rule_13_who_gives_no_lease_once_it_has_given_one_has_no_more_time)
{
    struct steps steps = lead(3);
    restarts(&steps, PEER + 3);
    held(&steps, 2, false);
    held(&steps, 2, true);
    held(&steps, 2, false);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    end(&steps);
}

Test(replica_reign, rule_13_who_restarts_again_and_again_is_removed)
{
    struct steps steps = lead(3);
    restarts(&steps, PEER + 3);
    held(&steps, 2, false);
    held(&steps, 2, true);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = 2, .incarnation = PEER + 3, .opener = SELF});
    steps.now_ns += 9000 * MS;
    restarts(&steps, PEER + 4);
    held(&steps, 2, false);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    end(&steps);
}

Test(replica_reign, rule_6_few_members_take_no_writes)
{
    struct steps steps = lead(2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    held(&steps, 2, false);
    tick_at(&steps, steps.now_ns + SETTINGS.last_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE); /* the smaller of those in doubt */
    told(&steps, members_of(3, 1, 1));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CEASE));
    configured(&steps);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_COMMIT)->sequence, 1);
    struct replica_view view = replica_look(steps.replica);
    cr_assert(view.serving);
    cr_assert_not(view.acknowledges); /* it may lie in a single log */
    cr_assert_eq(view.trouble, REPLICA_FEW_MEMBERS);
    cr_assert_eq(write_entry(&steps), STATUS_UNAVAILABLE);
    end(&steps);
}

Test(replica_reign, rule_7_serves_when_what_it_inherited_is_committed)
{
    struct replica_entry window[] = {entry_of(1, 1), entry_of(2, 1)};
    struct steps steps = begin_with((struct replica_recovered){.configuration = members_of(1, 2, 2),
                                                               .role = REPLICA_SECONDARY,
                                                               .flags = {.opened = true},
                                                               .window = window,
                                                               .window_count = 2});
    told(&steps, members_of(2, 2, 1));
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 1});
    configured(&steps);
    const struct replica_message *open = find_sent(&steps, REPLICA_OPEN, 2);
    cr_assert_eq(open->sequence, 2);
    cr_assert_eq(open->previous_version, 1);
    opened(&steps, 2, 2, 0);
    cr_assert_not(replica_look(steps.replica).serving);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_INHERITING);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.sequence, 1);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, 2)->entry.version, 1); /* rule 3 */
    prepared(&steps, 2, 2, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_COMMIT)->sequence, 2);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_SERVE));
    end(&steps);
}

Test(replica_reign, rule_8_an_exception_ends_serving)
{
    struct steps steps = lead(3);
    step(&steps, (struct replica_event){
                     .type = REPLICA_EVENT_EXCEPTED_BY_PEER, .from = store_of(2), .version = 1});
    cr_assert_eq(steps.effects.count, 0);
    step(&steps, (struct replica_event){
                     .type = REPLICA_EVENT_EXCEPTED_BY_PEER, .from = store_of(2), .version = 2});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CEASE));
    end(&steps);
}

Test(replica_reign, the_window_is_bounded)
{
    struct steps steps = lead(2);
    while (write_entry(&steps) == STATUS_OK) {
        cr_assert_lt(replica_look(steps.replica).appended, 10000);
    }
    cr_assert_eq(steps.status, STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(steps.effects.count, 0);
    cr_assert_geq(replica_look(steps.replica).window_bytes, SETTINGS.window_bytes_max);
    uint64_t appended = replica_look(steps.replica).appended;
    synced(&steps, appended);
    prepared(&steps, 2, 2, appended);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    end(&steps);
}

Test(replica_reign, a_deposed_primary_takes_back_what_was_not_committed)
{
    struct steps steps = lead(2);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    received(&steps, 2, open_of(members_of(3, 2, 2), 0, false));
    cr_assert_eq(steps.effects.items[0].type, REPLICA_EFFECT_CEASE);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_FOLLOW)->sequence, 0);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 0);
    cr_assert_eq(replica_look(steps.replica).appended, 0);
    end(&steps);
}

/* The bound of effects is asserted inside; here is the step that has most to say. */
Test(replica_reign, one_step_has_room_for_all_members_and_a_learner)
{
    struct steps steps = lead(REPLICA_MEMBERS_MAX - 1);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(write_entry(&steps), STATUS_OK);
    }
    synced(&steps, 4);
    for (uint64_t server = 2; server < REPLICA_MEMBERS_MAX; server++) {
        prepared(&steps, server, 2, 2);
    }
    struct replica_event goal = {.type = REPLICA_EVENT_GOAL, .goal_leader = 12};
    goal.goal_members.count = REPLICA_MEMBERS_MAX;
    for (uint32_t i = 0; i < REPLICA_MEMBERS_MAX; i++) {
        goal.goal_members.members[i] = store_of(i + 1);
    }
    step(&steps, goal);
    cr_assert(find_sent(&steps, REPLICA_OPEN, REPLICA_MEMBERS_MAX)->as_learner);
    held(&steps, 2, false);
    cr_assert_not_null(proposed(&steps));
    tick_at(&steps, steps.now_ns + 2 * SETTINGS.propose_ns);
    for (uint64_t server = 2; server < REPLICA_MEMBERS_MAX; server++) {
        cr_assert_eq(find_sent(&steps, REPLICA_PREPARE, server)->entry.sequence, 3);
    }
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, REPLICA_MEMBERS_MAX));
    cr_assert_not_null(proposed(&steps));
    told(&steps, members_of(3, REPLICA_MEMBERS_MAX, 1));
    configured(&steps);
    for (uint64_t server = 2; server <= REPLICA_MEMBERS_MAX; server++) {
        cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, server));
    }
    end(&steps);
}

Test(replica_reign, without_memory_nothing_changes)
{
    struct steps steps = lead(2);
    for (uint64_t i = 0; i < 40; i++) {
        struct replica_view before = replica_look(steps.replica);
        memory_fail_arm(0, 0);
        cr_assert_eq(write_entry(&steps), STATUS_NO_MEMORY);
        memory_fail_disarm();
        cr_assert_eq(steps.effects.count, 0);
        cr_assert_eq(replica_look(steps.replica).appended, before.appended);
        cr_assert_eq(write_entry(&steps), STATUS_OK);
    }
    end(&steps);
}

Test(replica_reign, what_is_gone_serves_no_more)
{
    struct steps steps = lead(2);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_GONE});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CEASE));
    cr_assert_eq(write_entry(&steps), STATUS_NOT_OWNER);
    cr_assert_eq(replica_deadline_ns(steps.replica), REPLICA_NEVER);
    end(&steps);
}
