/*
 * A secondary, a learner, an outsider: what they take, drop, promise and answer, rule by rule of
 * docs/replication.md.
 */
#include "tests/support/replica_steps.h"

static void take(struct steps *steps, uint64_t sequence, uint64_t version)
{
    struct replica_message prepare = prepare_of(2, sequence, version, 0);
    received(steps, 2, prepare);
    cr_assert(has_effect(steps, REPLICA_EFFECT_APPEND));
    synced(steps, sequence);
    cr_assert_eq(find_sent(steps, REPLICA_PREPARED, 2)->sequence, sequence);
}

Test(replica_follow, invariant_7_nothing_is_told_before_it_is_synced)
{
    struct steps steps = begin_with((struct replica_recovered){0});
    received(&steps, 2, open_of(members_of(2, 3, 2), 0, false));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_CONFIGURE));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_GRANT));
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 0));
    configured(&steps);
    const struct replica_message *answer = find_sent(&steps, REPLICA_OPENED, 2);
    cr_assert_eq(answer->opener, PEER + 2);
    cr_assert_eq(answer->incarnation, SELF);

    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_APPEND));
    cr_assert_null(find_sent(&steps, REPLICA_PREPARED, 0));
    received(&steps, 2, prepare_of(2, 2, 2, 1));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_COMMIT)); /* told, not synced */
    synced(&steps, 1);
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARED, 2)->sequence, 1);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_COMMIT)->sequence, 1);
    cr_assert_not_null(replica_window_find(steps.replica, 1)); /* until the next step */
    tick_at(&steps, steps.now_ns);
    cr_assert_null(replica_window_find(steps.replica, 1));
    end(&steps);
}

/* What it acknowledged or granted under version 2 would count there while another reign goes on without it. */
Test(replica_follow,
     invariant_8_acknowledges_and_grants_only_under_the_highest_version_that_it_knows)
{
    struct steps steps = follow(3);
    received(&steps, 2, prepare_of(2, 1, 2, 0)); /* not synced yet */
    told(&steps, members_of(3, 3, 3));           /* known from here on; not synced either */
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->version, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_GRANT)->version, 3);
    synced(&steps, 1);
    cr_assert_null(find_sent(&steps, REPLICA_PREPARED, 0));
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_null(find_sent(&steps, REPLICA_PREPARED, 0));
    received(&steps, 2, open_of(members_of(2, 3, 2), 0, false));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_GRANT));
    cr_assert_eq(find_sent(&steps, REPLICA_BEHIND, 2)->version, 3);
    configured(&steps);
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_null(find_sent(&steps, REPLICA_PREPARED, 0));
    received(&steps, 2, open_of(members_of(2, 3, 2), 0, false));
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 0));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_GRANT));

    received(&steps, 3, open_of(members_of(3, 3, 3), 1, false));
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 3)->version, 3);
    end(&steps);
}

Test(replica_follow, rule_1_only_forward)
{
    struct steps steps = follow(3);
    received(&steps, 3, open_of(members_of(1, 3, 3), 0, false));
    cr_assert_eq(find_sent(&steps, REPLICA_BEHIND, 3)->version, 2);
    received(&steps, 3, (struct replica_message){.type = REPLICA_OPENED, .version = 1});
    cr_assert_eq(steps.effects.count, 0);

    /* A higher version takes back what was promised under the lower one. */
    received(&steps, 3, open_of(members_of(3, 3, 3), 0, false));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->version, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->to.server, 2);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_GRANT)->to.server, 3);
    configured(&steps);
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_not_null(find_sent(&steps, REPLICA_BEHIND, 2));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_APPEND));

    struct replica_configuration without = members_of(4, 3, 3);
    without = replica_configuration_remove(&without, 11);
    told(&steps, without);
    cr_assert_eq(replica_look(steps.replica).role, REPLICA_OUTSIDER);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->role, REPLICA_OUTSIDER);
    end(&steps);
}

Test(replica_follow, rule_1_whoever_is_behind_asks)
{
    struct steps steps = follow(3);
    received(&steps, 3, (struct replica_message){.type = REPLICA_BEHIND, .version = 9});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_ASK));
    received(&steps, 3, (struct replica_message){.type = REPLICA_BEHIND, .version = 2});
    cr_assert_eq(steps.effects.count, 0);
    end(&steps);
}

Test(replica_follow, rule_3_takes_the_next_and_says_where_to_begin_again)
{
    struct steps steps = follow(3);
    take(&steps, 1, 2);
    received(&steps, 2, prepare_of(2, 3, 2, 0));
    const struct replica_message *answer = find_sent(&steps, REPLICA_PREPARED, 2);
    cr_assert(answer->gap);
    cr_assert_eq(answer->appended, 1);
    received(&steps, 2, prepare_of(2, 1, 2, 0)); /* once more */
    answer = find_sent(&steps, REPLICA_PREPARED, 2);
    cr_assert_not(answer->gap);
    cr_assert_eq(answer->sequence, 1);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_APPEND));

    struct replica_message of_another_process = prepare_of(2, 2, 2, 0);
    of_another_process.incarnation = PEER + 3;
    received(&steps, 2, of_another_process);
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 3, prepare_of(2, 2, 2, 0)); /* not the leader */
    cr_assert_eq(steps.effects.count, 0);
    end(&steps);
}

Test(replica_follow, rule_3_a_predecessor_that_disagrees_is_damage)
{
    struct steps steps = follow(3);
    take(&steps, 1, 1);
    struct replica_message prepare = prepare_of(2, 2, 2, 0);
    prepare.previous_version = 2;
    received(&steps, 2, prepare);
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DAMAGED);
    received(&steps, 2, prepare_of(2, 2, 2, 1));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_APPEND));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_COMMIT));
    end(&steps);
}

/* What nobody was told of: it is not synced (what is, rule 19 keeps). */
static void take_unsynced(struct steps *steps, uint64_t sequence, uint64_t version)
{
    received(steps, 2, prepare_of(2, sequence, version, 0));
    cr_assert(has_effect(steps, REPLICA_EFFECT_APPEND));
}

Test(replica_follow, rule_4_drops_above_the_start_once_a_version)
{
    struct steps steps = follow(3);
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        take(&steps, sequence, 2);
    }
    take_unsynced(&steps, 4, 2);
    take_unsynced(&steps, 5, 2);
    received(&steps, 3, open_of(members_of(3, 3, 3), 3, false));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 3);
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.opened);
    cr_assert_eq(replica_look(steps.replica).appended, 3);
    synced(&steps, 5); /* of what was dropped */
    cr_assert_eq(replica_look(steps.replica).synced, 3);
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 3)->sequence, 3);

    received(&steps, 3, prepare_of(3, 4, 3, 0));
    synced(&steps, 4);
    received(&steps, 3, open_of(members_of(3, 3, 3), 3, false)); /* late */
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_CONFIGURE));
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 3)->sequence, 4);
    end(&steps);
}

/* Also when the master told of the version before its primary did, and across a restart. */
Test(replica_follow, rule_4_the_master_tells_first)
{
    struct steps steps = follow(3);
    take(&steps, 1, 2);
    take_unsynced(&steps, 2, 2);
    told(&steps, members_of(3, 3, 3));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 2);
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.opened);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_GRANT)->incarnation, 0);
    configured(&steps);
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 3, open_of(members_of(3, 3, 3), 1, false));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 1);
    end(&steps);

    struct replica_entry window[] = {entry_of(1, 2), entry_of(2, 3)};
    steps = begin_with((struct replica_recovered){.configuration = members_of(3, 3, 3),
                                                  .role = REPLICA_SECONDARY,
                                                  .flags = {.opened = true, .bound = true},
                                                  .window = window,
                                                  .window_count = 2});
    cr_assert(has_effect(&steps, REPLICA_EFFECT_GRANT));
    received(&steps, 3, open_of(members_of(3, 3, 3), 1, false));
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 3)->sequence, 2);
    end(&steps);
}

Test(replica_follow, rule_10_turns_away_and_proposes_itself)
{
    struct steps steps = follow(3);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 1});
    cr_assert_eq(steps.effects.count, 0);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 2});
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->version, 2);
    cr_assert_null(proposed(&steps));
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 2, open_of(members_of(2, 3, 2), 0, false));
    cr_assert_eq(steps.effects.count, 1);
    cr_assert_not(find_sent(&steps, REPLICA_REFUSED, 2)->gap);

    int64_t free_ns = steps.now_ns + 700 * MS;
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 2, .at_ns = free_ns});
    cr_assert_null(proposed(&steps));
    cr_assert_eq(replica_deadline_ns(steps.replica), free_ns);
    tick_at(&steps, free_ns);
    const struct replica_proposal *proposal = proposed(&steps);
    struct replica_configuration base = members_of(2, 3, 2);
    cr_assert_eq(proposal->base, 2);
    cr_assert_eq(replica_configuration_change(&base, &proposal->next), REPLICA_CHANGE_REPLACE);
    cr_assert(replica_configuration_is_leader(&proposal->next, 11));
    end(&steps);
}

Test(replica_follow, rule_10_secondaries_go_one_after_the_other)
{
    struct steps steps = begin_with((struct replica_recovered){.self = {3, 13}});
    received(&steps, 1, open_of(members_of(2, 3, 1), 0, false));
    configured(&steps);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 2});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 2});
    cr_assert_null(proposed(&steps));
    cr_assert_eq(replica_deadline_ns(steps.replica), steps.now_ns + SETTINGS.stagger_ns);
    tick_at(&steps, replica_deadline_ns(steps.replica));
    cr_assert_not_null(proposed(&steps));
    end(&steps);
}

/* What came of it waits for that (section 7). */
Test(replica_follow, rule_11_what_is_gone_takes_back_what_it_has_promised)
{
    struct steps steps = follow(3);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_GONE});
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_EXCEPT)->version, 2);
    cr_assert(replica_look(steps.replica).gone);
    cr_assert(replica_look(steps.replica).bound);
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_eq(steps.effects.count, 0);
    int64_t free_ns = steps.now_ns + 700 * MS;
    step(&steps,
         (struct replica_event){
             .type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 2, .at_ns = free_ns});
    cr_assert_not(replica_look(steps.replica).bound);
    cr_assert_eq(replica_look(steps.replica).free_from_ns, free_ns);
    cr_assert_eq(replica_deadline_ns(steps.replica), REPLICA_NEVER);
    end(&steps);
}

static enum replica_will will_of(struct steps *steps)
{
    received(steps, 2,
             (struct replica_message){.type = REPLICA_COMMITTED, .version = 2, .asks = true});
    return find_sent(steps, REPLICA_PREPARED, 2)->will;
}

Test(replica_follow, rule_14_who_is_asked_whether_it_would_lead_says_so)
{
    struct steps steps = follow(3);
    cr_assert_eq(will_of(&steps), REPLICA_WILL_LEAD);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_CUT_OFF, .present = true});
    cr_assert_eq(will_of(&steps), REPLICA_WILL_NOT);
    take(&steps, 1, 2); /* with what it acknowledges, too */
    cr_assert_eq(find_sent(&steps, REPLICA_PREPARED, 2)->will, REPLICA_WILL_NOT);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_CUT_OFF});
    cr_assert_eq(will_of(&steps), REPLICA_WILL_LEAD);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED, .present = true});
    cr_assert_eq(will_of(&steps), REPLICA_WILL_NOT);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
    cr_assert_eq(will_of(&steps), REPLICA_WILL_NOT);
    received(&steps, 2, (struct replica_message){.type = REPLICA_COMMITTED, .version = 2});
    cr_assert_null(find_sent(&steps, REPLICA_PREPARED, 2)); /* nobody asked */
    end(&steps);
}

Test(replica_follow, rule_14_a_word_needs_no_grace)
{
    struct steps steps = follow(3);
    take(&steps, 1, 2);
    struct replica_message yield = {.type = REPLICA_YIELD, .version = 2, .sequence = 2};
    received(&steps, 2, yield);
    cr_assert_eq(steps.effects.count, 0); /* it has not got that far */
    yield.sequence = 1;
    received(&steps, 2, yield);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_COMMIT)->sequence, 1);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_EXCEPT));
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 2,
                                        .at_ns = steps.now_ns + 2000 * MS});
    struct replica_configuration base = members_of(2, 3, 2);
    cr_assert_eq(replica_configuration_change(&base, &proposed(&steps)->next),
                 REPLICA_CHANGE_YIELD);
    told(&steps, members_of(3, 3, 1));
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.bound);
    configured(&steps);
    opened(&steps, 2, 3, 1);
    opened(&steps, 3, 3, 1);
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
}

/* It had granted the same leader under the version before, and excepted that when the leader changed its
 * members: a hand-over right after that took two seconds, seen on three servers.  What it granted another
 * one is waited for. */
static int64_t serves_from_ns(struct replica_member excepted_before)
{
    struct steps steps = follow(3);
    take(&steps, 1, 2);
    const int64_t free_ns = steps.now_ns + 2000 * MS;
    received(&steps, 2, open_of(members_of(3, 3, 2), 1, false));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_EXCEPT));
    configured(&steps);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = excepted_before,
                                        .version = 2,
                                        .at_ns = free_ns});
    received(&steps, 2,
             (struct replica_message){.type = REPLICA_YIELD, .version = 3, .sequence = 1});
    step(&steps,
         (struct replica_event){
             .type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 3, .at_ns = free_ns});
    cr_assert_not_null(proposed(&steps));
    told(&steps, members_of(4, 3, 1));
    configured(&steps);
    opened(&steps, 2, 4, 1);
    opened(&steps, 3, 4, 1);
    int64_t from_ns = steps.now_ns;
    if (!replica_look(steps.replica).serving) {
        tick_at(&steps, free_ns);
        from_ns = free_ns;
    }
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
    return from_ns - free_ns;
}

Test(replica_follow, rule_14_a_word_takes_back_the_grants_of_versions_before)
{
    cr_assert_lt(serves_from_ns(store_of(2)), 0);
    cr_assert_eq(serves_from_ns(store_of(3)), 0);
}

Test(replica_follow, rule_16_a_learner_drops_to_its_own_committed_point)
{
    struct replica_entry window[] = {entry_of(6, 2), entry_of(7, 2)};
    struct steps steps = begin_with((struct replica_recovered){.self = {4, 14},
                                                               .configuration = members_of(2, 3, 2),
                                                               .committed = 5,
                                                               .window = window,
                                                               .window_count = 2});
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, true));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 5);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->role, REPLICA_LEARNER);
    configured(&steps);
    cr_assert(find_sent(&steps, REPLICA_OPENED, 2)->as_learner);
    received(&steps, 2, prepare_of(3, 6, 3, 5));
    synced(&steps, 6);

    /* Opened as a member it keeps all, whatever OPEN comes late, also after a restart. */
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, false));
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 6);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->role, REPLICA_SECONDARY);
    configured(&steps);
    cr_assert_not(find_sent(&steps, REPLICA_OPENED, 2)->as_learner);
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, true));
    cr_assert_eq(steps.effects.count, 0);
    end(&steps);

    struct replica_entry kept = entry_of(6, 3);
    steps = begin_with((struct replica_recovered){.self = {4, 14},
                                                  .configuration = members_of(3, 3, 2),
                                                  .role = REPLICA_SECONDARY,
                                                  .flags = {.opened = true, .bound = true},
                                                  .committed = 5,
                                                  .window = &kept,
                                                  .window_count = 1});
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, true));
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, false));
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->sequence, 6);
    end(&steps);
}

/* It was opened as a learner before, but knows of that no more.  Were it silent its primary would go on asking for
 * ever, as it counts on that it was opened under this version (simulator, seed 1008276). */
Test(replica_follow, rule_16_who_has_forgotten_that_it_was_a_learner_is_damaged)
{
    struct steps steps = begin_with((struct replica_recovered){
        .self = {4, 14}, .configuration = members_of(3, 3, 2), .role = REPLICA_OUTSIDER});
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, false));
    const struct replica_message *damaged = find_sent(&steps, REPLICA_DAMAGED, 2);
    cr_assert_not_null(damaged);
    cr_assert_eq(damaged->opener, PEER + 2);
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 2));
    configured(&steps);
    told(&steps, members_of(4, 3, 2));
    configured(&steps);
    received(&steps, 2,
             open_of(members_of(4, 3, 2), 9, true)); /* under the next it is taught anew */
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPENED, 2));
    end(&steps);
}

/* A lone primary that restarts goes on under its version, without what it had not synced. */
Test(replica_follow, rule_2_a_learner_begins_anew_with_a_new_process)
{
    struct steps steps = begin_with((struct replica_recovered){.self = {4, 14}});
    received(&steps, 1, open_of(members_of(1, 1, 1), 0, true));
    configured(&steps);
    received(&steps, 1, prepare_of(1, 1, 1, 0));
    synced(&steps, 1);
    struct replica_message again = open_of(members_of(1, 1, 1), 0, true);
    again.incarnation = PEER + 2;
    received(&steps, 1, again);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 0);
    configured(&steps);
    received(&steps, 1, prepare_of(1, 1, 1, 0)); /* of the process before */
    cr_assert_eq(steps.effects.count, 0);
    end(&steps);
}

/* Neither the catalog nor another server hears of it, whatever it is told; and what it keeps is what the primary's log
 * goes on from. */
Test(replica_follow, rule_17_who_was_removed_asks_nothing_and_is_taught_from_what_it_kept)
{
    struct steps steps = follow(3);
    take(&steps, 1, 2);
    take(&steps, 2, 2);
    received(&steps, 2,
             (struct replica_message){.type = REPLICA_COMMITTED, .version = 2, .sequence = 2});
    struct replica_configuration without = members_of(2, 3, 2);
    without = replica_configuration_remove(&without, 11);
    told(&steps, without);
    cr_assert_eq(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->sequence, 2, "all is kept");
    configured(&steps);
    step(&steps,
         (struct replica_event){
             .type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 2, .at_ns = 0});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 2});
    cr_assert_eq(steps.effects.count, 0);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = without.version});
    cr_assert_eq(steps.effects.count, 0);
    tick_at(&steps, steps.now_ns + 10 * SETTINGS.alone_ns);
    cr_assert_eq(steps.effects.count, 0);
    cr_assert_eq(replica_deadline_ns(steps.replica), REPLICA_NEVER);

    received(&steps, 2, open_of(without, 5, true));
    configured(&steps);
    cr_assert(find_sent(&steps, REPLICA_OPENED, 2)->as_learner);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->committed, 2);
    end(&steps);
}

Test(replica_follow, rule_18_one_that_has_nothing_stands_for_nothing)
{
    struct steps steps = begin_with((struct replica_recovered){0});
    told(&steps, members_of(3, 3, 1));
    told(&steps, members_of(3, 3, 2));
    cr_assert_eq(steps.effects.count, 0);
    received(&steps, 2, open_of(members_of(3, 3, 2), 5, false)); /* who has something */
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    end(&steps);

    steps = begin_with((struct replica_recovered){0});
    received(&steps, 2, open_of(members_of(3, 3, 2), 0, false)); /* nothing was written yet */
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPENED, 2));
    end(&steps);
}

Test(replica_follow, teaching_goes_on_behind_what_was_taught)
{
    struct steps steps = begin_with((struct replica_recovered){.self = {4, 14}});
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, true));
    configured(&steps);
    struct replica_event teaching = {.type = REPLICA_EVENT_TEACHING,
                                     .from = {4, 14},
                                     .sequence = 8,
                                     .version = 3,
                                     .incarnation = PEER + 9};
    step(&steps, teaching); /* of another process's reign */
    cr_assert_eq(replica_look(steps.replica).committed, 0);
    teaching.incarnation = PEER + 2;
    step(&steps, teaching);
    cr_assert_eq(replica_look(steps.replica).committed, 8);
    received(&steps, 2, prepare_of(3, 9, 3, 8));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_APPEND));
    end(&steps);
}

Test(replica_follow, what_others_send_is_judged)
{
    struct steps steps = follow(3);
    struct replica_message open = open_of(members_of(5, 3, 2), 0, false);
    open.configuration.member_count = 99;
    received(&steps, 2, open);
    cr_assert_eq(steps.effects.count, 0);
    open = open_of(members_of(5, 3, 2), 0, false);
    received(&steps, 3, open); /* whom it does not name as leader */
    cr_assert_eq(steps.effects.count, 0);
    open.version = 6;
    received(&steps, 2, open);
    cr_assert_eq(steps.effects.count, 0);
    open = open_of(members_of(2, 2, 2), 0, false); /* another configuration of the same version */
    received(&steps, 2, open);
    cr_assert_eq(steps.effects.count, 0);
    end(&steps);
}

/* An attack: it was opened as a learner that only lacks the newest, and showed what had been given up. */
Test(replica_follow, rule_18_what_a_copy_has_of_an_era_before_counts_for_nothing)
{
    for (int way = 0; way < 2; way++) {
        struct steps steps = follow(3);
        struct replica_configuration chosen = {
            .version = replica_version_of_next_era(2), .member_count = 1, .members = {{2, 12}}};
        if (way == 0) {
            told(&steps, chosen); /* and no member of it */
            configured(&steps);
            cr_assert_eq(replica_look(steps.replica).role, REPLICA_OUTSIDER);
        }
        chosen.version += way;
        struct replica_message open = open_of(chosen, 50, false);
        open.as_learner = true;
        received(&steps, 2, open);
        configured(&steps);
        cr_assert_eq(replica_look(steps.replica).role, REPLICA_LEARNER);
        cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DAMAGED, "way %d", way);
        end(&steps);
    }
}

Test(replica_follow, rule_18_whom_a_person_has_chosen_goes_on_with_what_it_has)
{
    struct steps steps = follow(3);
    struct replica_member self = {.server = 1, .store = 11};
    struct replica_configuration chosen = {
        .version = replica_version_of_next_era(2), .member_count = 1, .members = {self}};
    step(&steps, (struct replica_event){
                     .type = REPLICA_EVENT_CATALOG, .configuration = chosen, .recovered = true});
    configured(&steps);
    cr_assert_neq(replica_look(steps.replica).trouble, REPLICA_IS_DAMAGED);
    cr_assert_eq(replica_look(steps.replica).role, REPLICA_PRIMARY);
    end(&steps);
}
