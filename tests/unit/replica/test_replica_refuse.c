/*
 * Disks that went back in time: rules 19 to 21 of docs/replication.md, from both sides.
 */
#include "tests/support/replica_steps.h"

/* Store 11, a secondary of version 2 that was restarted: `count` entries of that version, some of them known
 * to be committed; led by store 12. */
static struct steps restarted(uint64_t committed, uint32_t window_count, uint32_t members)
{
    struct replica_entry window[8];
    for (uint32_t i = 0; i < window_count; i++) {
        window[i] = entry_of(committed + 1 + i, 2);
    }
    return begin_with((struct replica_recovered){.configuration = members_of(2, members, 2),
                                                 .role = REPLICA_SECONDARY,
                                                 .flags = {.opened = true, .bound = true},
                                                 .committed = committed,
                                                 .committed_version = committed > 0 ? 2 : 0,
                                                 .window = window,
                                                 .window_count = window_count});
}

/* Store 11 reigns under version 2 from what it had, and has opened nobody yet. */
static struct steps reigning(uint64_t committed, uint32_t members)
{
    struct steps steps = begin_with(
        (struct replica_recovered){.configuration = members_of(1, members, 1),
                                   .role = REPLICA_PRIMARY,
                                   .flags = {.opened = true},
                                   .committed = committed,
                                   .committed_version = 1});
    told(&steps, members_of(2, members, 1));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2));
    return steps;
}

static struct replica_message refused_of(uint64_t prepared, uint64_t committed, uint64_t version)
{
    return (struct replica_message){.type = REPLICA_REFUSED,
                                    .version = 2,
                                    .opener = SELF,
                                    .sequence = prepared,
                                    .committed = committed,
                                    .previous_version = version,
                                    .gap = true};
}

static void assert_refuses(struct steps *steps,
                           struct replica_message open,
                           enum replica_change change)
{
    struct replica_configuration base = open.configuration;
    uint64_t appended = replica_look(steps->replica).appended;
    received(steps, 2, open);
    const struct replica_effect *adopted = find_effect(steps, REPLICA_EFFECT_CONFIGURE);
    cr_assert_not(adopted->flags.opened);
    cr_assert_eq(adopted->sequence, appended); /* nothing is dropped */
    cr_assert_not(has_effect(steps, REPLICA_EFFECT_GRANT));
    cr_assert_null(find_sent(steps, REPLICA_REFUSED, 0)); /* I7 */
    if (has_effect(steps, REPLICA_EFFECT_EXCEPT)) {
        step(steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                           .from = store_of(2),
                                           .version = open.version - 1,
                                           .at_ns = steps->now_ns + 2000 * MS});
    }
    configured(steps);
    const struct replica_message *answer = find_sent(steps, REPLICA_REFUSED, 2);
    cr_assert_eq(answer->opener, PEER + 2);
    cr_assert_eq(answer->sequence, appended);
    cr_assert_eq(answer->committed, replica_look(steps->replica).committed);
    const struct replica_proposal *proposal = proposed(steps); /* at once: its OPEN is a word */
    cr_assert_eq(replica_configuration_change(&base, &proposal->next), change);
    cr_assert(replica_configuration_is_leader(&proposal->next, 11));
    cr_assert_eq(replica_look(steps->replica).appended, appended);
}

/* --- rule 19 ------------------------------------------------------------------------------------ */

Test(replica_refuse, rule_19_who_knows_more_to_be_committed_leads_without_who_opened_it)
{
    struct steps steps = restarted(5, 2, 3);
    assert_refuses(&steps, open_of(members_of(3, 3, 2), 4, false), REPLICA_CHANGE_REPLACE);
    received(&steps, 2, open_of(members_of(3, 3, 2), 4, false)); /* again: its answer was lost */
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_CONFIGURE));
    received(&steps, 2, prepare_of(3, 5, 3, 4));
    cr_assert_eq(steps.effects.count, 0);

    /* Its own grant to that process need not be waited for: it could not serve. */
    told(&steps, members_of(4, 3, 1));
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPEN, 2)->sequence, 7);
    end(&steps);
}

Test(replica_refuse, rule_19_who_has_more_leads_and_keeps_who_opened_it)
{
    struct steps steps = restarted(4, 2, 3);
    assert_refuses(&steps, open_of(members_of(3, 3, 2), 5, false), REPLICA_CHANGE_YIELD);
    end(&steps);
    steps = restarted(4, 2, 3); /* as much: nothing is lost */
    received(&steps, 2, open_of(members_of(3, 3, 2), 6, false));
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->sequence, 6);
    end(&steps);
}

/* A longer log of an older version has less: what it has there was overwritten. */
Test(replica_refuse, rule_19_the_later_version_has_more)
{
    struct steps steps = restarted(4, 2, 3);
    struct replica_message open = open_of(members_of(3, 3, 2), 9, false);
    open.previous_version = 1;
    assert_refuses(&steps, open, REPLICA_CHANGE_REPLACE); /* 4 is committed here under version 2 */
    end(&steps);
    steps = restarted(4, 2, 3);
    open.previous_version = 2;
    received(&steps, 2, open);
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->previous_version, 2);
    end(&steps);
}

Test(replica_refuse, rule_19_also_when_the_master_told_of_the_version_first)
{
    struct steps steps = restarted(5, 0, 3);
    told(&steps, members_of(3, 3, 2));
    configured(&steps);
    received(&steps, 2, open_of(members_of(3, 3, 2), 4, false));
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    /* Its opener would take an exception for a reason to remove it. */
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_EXCEPT));
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 0));
    end(&steps);
}

/* Who stands still does not lead: it gives up what nobody was told to be committed, never more. */
Test(replica_refuse, rule_19_a_disk_that_stands_still_keeps_what_is_committed)
{
    struct steps steps = restarted(5, 1, 3);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED, .present = true});
    received(&steps, 2, open_of(members_of(3, 3, 2), 5, false));
    configured(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->sequence, 5);
    received(&steps, 2, open_of(members_of(4, 3, 2), 4, false));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    cr_assert_null(proposed(&steps));
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_STALLED});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 3,
                                        .at_ns = steps.now_ns});
    tick_at(&steps, steps.now_ns);
    cr_assert_eq(replica_look(steps.replica).appended, 5);
    end(&steps);
}

/* A member whose log ends otherwise than here has lost what came after, and taken its place once. */
Test(replica_refuse, rule_19_a_member_that_ends_otherwise_is_removed)
{
    struct steps steps = lead(3);
    cr_assert_eq(write_entry(&steps), STATUS_OK);
    synced(&steps, 1);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                        .from = store_of(2),
                                        .incarnation = PEER + 9});
    struct replica_message opened = {.type = REPLICA_OPENED,
                                     .version = 2,
                                     .incarnation = PEER + 9,
                                     .opener = SELF,
                                     .sequence = 1,
                                     .previous_version = 1};
    received(&steps, 2, opened);
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 12), 2);
    end(&steps);
}

/* Who had opened it had the version on its disk, and would not lead under it again: the disk went back to before it. */
Test(replica_refuse, rule_19_who_was_opened_by_a_life_before_under_the_same_version_takes_its_place)
{
    struct replica_configuration two = members_of(2, 3, 2);
    struct steps steps = follow(3);
    received(&steps, 2, prepare_of(2, 1, 2, 0)); /* not synced: nobody has been told of it */
    struct replica_message open = open_of(two, 0, false);
    open.incarnation = PEER + 3;
    received(&steps, 2, open);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_GRANT));
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    cr_assert_eq(find_sent(&steps, REPLICA_REFUSED, 2)->opener, open.incarnation);
    cr_assert(has_effect(&steps, REPLICA_EFFECT_EXCEPT)); /* what the life before was given */
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 2,
                                        .at_ns = steps.now_ns + 2000 * MS});
    cr_assert_null(proposed(&steps));
    received(&steps, 2, open); /* again: its answer was lost */
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    tick_at(&steps, steps.now_ns + 2000 * MS);
    cr_assert_eq(replica_configuration_change(&two, &proposed(&steps)->next),
                 REPLICA_CHANGE_REPLACE);
    end(&steps);
}

static struct replica_message open_with(uint64_t appended)
{
    struct replica_message open = open_of(members_of(2, 3, 2), 0, false);
    open.appended = appended;
    return open;
}

/* All have restarted: by whom it was opened it does not know, but what it was given. */
Test(replica_refuse,
     rule_19_who_has_restarted_takes_the_place_of_one_that_has_forgotten_what_it_gave)
{
    struct steps steps = restarted(0, 2, 3);
    received(&steps, 2, open_with(1));
    cr_assert_not_null(find_sent(&steps, REPLICA_REFUSED, 2));
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 2));
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED,
                                        .from = store_of(2),
                                        .version = 2,
                                        .at_ns = steps.now_ns + 2000 * MS});
    cr_assert_null(proposed(&steps)); /* what its own life before has promised counts, too */
    tick_at(&steps, steps.now_ns + 2000 * MS);
    cr_assert(replica_configuration_is_leader(&proposed(&steps)->next, 11));
    cr_assert_eq(replica_look(steps.replica).appended, 2);
    end(&steps);
}

/* It has more entries, but they were replaced: what it gave under this version stands where they stood (a review: of two
 * copies the other one was removed, with what was acknowledged). */
Test(replica_refuse, rule_19_nor_of_one_whose_longer_log_was_replaced)
{
    static const struct {
        uint64_t previous_version; /* of the entry at the start, 9 */
        bool refuses;
    } CASES[] = {{1, true}, {2, false}, {0, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct steps steps = restarted(0, 2, 2);
        struct replica_message open = open_of(members_of(2, 2, 2), 9, false);
        open.appended = 9;
        open.previous_version = CASES[i].previous_version;
        received(&steps, 2, open);
        cr_assert_eq(find_sent(&steps, REPLICA_REFUSED, 2) != NULL, CASES[i].refuses);
        cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2) == NULL, CASES[i].refuses);
        end(&steps);
    }
}

/* The same from the other side, where the member is of before and does not refuse. */
Test(replica_refuse, rule_21_nobody_is_borne_out_by_a_log_that_ends_under_a_later_version)
{
    struct steps steps = reigning(4, 2);
    held(&steps, 2, true);
    received(&steps, 2,
             (struct replica_message){.type = REPLICA_OPENED,
                                      .version = 2,
                                      .incarnation = PEER + 2,
                                      .opener = SELF,
                                      .sequence = 4,
                                      .previous_version = 2}); /* here it is of version 1 */
    cr_assert_null(proposed(&steps));
    tick_at(&steps, steps.now_ns + SETTINGS.alone_ns - 1);
    cr_assert_null(proposed(&steps));
    end(&steps);
}

/* What joins is no member yet: it could propose itself to nobody. */
Test(replica_refuse, rule_19_who_joins_does_not_refuse)
{
    struct replica_entry window[] = {entry_of(1, 2), entry_of(2, 2)};
    struct steps steps = begin_with(
        (struct replica_recovered){.configuration = members_of(2, 2, 2),
                                   .self = store_of(3),
                                   .role = REPLICA_SECONDARY,
                                   .flags = {.opened = true, .bound = true},
                                   .window = window,
                                   .window_count = 2});
    struct replica_message open = open_of(members_of(2, 2, 2), 0, false);
    open.appended = 1;
    received(&steps, 2, open);
    cr_assert_null(find_sent(&steps, REPLICA_REFUSED, 2));
    end(&steps);
}

Test(replica_refuse, rule_19_but_not_of_one_that_has_all_that_it_gave_or_does_not_say)
{
    static const uint64_t APPENDED[] = {2, 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof APPENDED / sizeof *APPENDED; i++) {
        struct steps steps = restarted(0, 2, 3);
        received(&steps, 2, open_with(APPENDED[i]));
        cr_assert_eq(find_sent(&steps, REPLICA_OPENED, 2)->sequence, 2);
        received(&steps, 2, open_with(1)); /* late: from before it has given out the second */
        cr_assert_null(find_sent(&steps, REPLICA_REFUSED, 2));
        end(&steps);
    }
}

/* --- rule 20 ------------------------------------------------------------------------------------ */

Test(replica_refuse, rule_20_who_lacks_what_is_committed_leads_nobody_any_more)
{
    struct steps steps = reigning(4, 3);
    received(&steps, 3, refused_of(7, 5, 1));
    cr_assert(has_effect(&steps, REPLICA_EFFECT_FOLLOW));
    const struct replica_effect *noted = find_effect(&steps, REPLICA_EFFECT_CONFIGURE);
    cr_assert(noted->flags.doubtful);
    cr_assert_eq(noted->role, REPLICA_SECONDARY);
    configured(&steps);
    tick_at(&steps, steps.now_ns + 100000 * MS);
    cr_assert_null(proposed(&steps));
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 0));
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DOUBTFUL);

    /* What it had proposed before is taken: it does not lead under that either, nor take over. */
    told(&steps, members_of(3, 2, 1));
    configured(&steps);
    cr_assert_eq(replica_look(steps.replica).role, REPLICA_SECONDARY);
    told(&steps, members_of(4, 2, 2));
    configured(&steps);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 4});
    cr_assert_eq(steps.effects.count, 0);

    /* Until another has taught it what its reign began with. */
    received(&steps, 2, open_of(members_of(5, 2, 2), 5, false));
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.doubtful);
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 4});
    configured(&steps);
    struct replica_message prepare = prepare_of(5, 5, 1, 4);
    prepare.opener = SELF - 1; /* for the process before */
    received(&steps, 2, prepare);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DOUBTFUL);
    synced(&steps, 5);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DOUBTFUL);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_COMMITTED, .version = 5, .sequence = 4, .opener = SELF});
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.doubtful);
    end(&steps);
}

Test(replica_refuse, rule_20_an_end_of_an_older_version_lacks_what_is_committed)
{
    struct steps steps = reigning(4, 3);
    received(&steps, 3, refused_of(4, 3, 2));
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DOUBTFUL);
    end(&steps);
}

Test(replica_refuse, rule_20_doubt_outlives_the_process)
{
    struct replica_recovered recovered = {.configuration = members_of(2, 3, 1),
                                          .role = REPLICA_SECONDARY,
                                          .flags = {.opened = true, .doubtful = true},
                                          .committed = 4};
    struct steps steps = begin_with(recovered);
    tick_at(&steps, steps.now_ns + 100000 * MS);
    cr_assert_null(proposed(&steps));                           /* rule 2 would have it renew */
    received(&steps, 2, open_of(members_of(3, 3, 2), 9, true)); /* as a learner it does not count */
    cr_assert_eq(steps.effects.count, 0, "a member of that version");
    struct replica_configuration without = members_of(3, 3, 2);
    without = replica_configuration_remove(&without, 11);
    received(&steps, 2, open_of(without, 9, true));
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.doubtful);
    end(&steps);
}

/* Alone, with nobody to say better: only where one log is enough for an answer. */
Test(replica_refuse, rule_20_a_sole_copy_is_accepted_where_one_log_is_enough)
{
    struct replica_recovered recovered = {.configuration = members_of(2, 1, 1),
                                          .role = REPLICA_PRIMARY,
                                          .flags = {.opened = true, .doubtful = true},
                                          .committed = 4};
    struct steps steps = begin_with(recovered);
    told(&steps, members_of(2, 1, 1));
    tick_at(&steps, steps.now_ns + 100000 * MS);
    cr_assert_null(proposed(&steps)); /* min_in_sync is 2 */
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DOUBTFUL);
    replica_set_min_in_sync(steps.replica, 1);
    told(&steps, members_of(2, 1, 1));
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.doubtful);
    configured(&steps);
    cr_assert_not_null(proposed(&steps));
    told(&steps, members_of(3, 1, 1));
    configured(&steps);
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
}

/* It has more, but nobody knows whether that counts: it has its time to take the lead. */
Test(replica_refuse, rule_19_one_that_refuses_is_waited_for)
{
    struct steps steps = reigning(4, 3);
    int64_t begun_ns = steps.now_ns;
    held(&steps, 2, true);
    held(&steps, 3, true);
    opened(&steps, 2, 2, 4);
    received(&steps, 3, refused_of(6, 4, 1));
    step(&steps, (struct replica_event){
                     .type = REPLICA_EVENT_EXCEPTED_BY_PEER, .from = store_of(3), .version = 2});
    tick_at(&steps, begun_ns + 10 * SETTINGS.prepare_timeout_ns - 1);
    cr_assert_null(proposed(&steps));
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 3)); /* again */
    tick_at(&steps, begun_ns + 10 * SETTINGS.prepare_timeout_ns);
    cr_assert_eq(replica_configuration_find(&proposed(&steps)->next, 13), 2);
    end(&steps);
}

/* --- rule 21 ------------------------------------------------------------------------------------ */

Test(replica_refuse, rule_21_a_lone_member_serves_when_the_catalog_says_that_it_is)
{
    struct steps steps = begin_with((struct replica_recovered){
        .configuration = members_of(4, 1, 1), .role = REPLICA_PRIMARY, .flags = {.opened = true}});
    tick_at(&steps, steps.now_ns + 100000 * MS);
    cr_assert_not(replica_look(steps.replica).serving);
    cr_assert_eq(write_entry(&steps), STATUS_NOT_OWNER);
    told(&steps, members_of(3, 2, 1)); /* late */
    cr_assert_not(replica_look(steps.replica).serving);
    told(&steps, members_of(4, 1, 1));
    cr_assert(replica_look(steps.replica).serving);
    end(&steps);
}

Test(replica_refuse, rule_21_a_restarted_primary_does_not_leave_all_others_behind_at_once)
{
    struct steps steps = reigning(4, 2);
    int64_t begun_ns = steps.now_ns;
    tick_at(&steps, begun_ns + SETTINGS.alone_ns - 1);
    cr_assert_null(proposed(&steps));
    tick_at(&steps, begun_ns + SETTINGS.alone_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);

    steps = reigning(4, 2); /* one that has no more than it */
    held(&steps, 2, true);
    opened(&steps, 2, 2, 4);
    held(&steps, 2, false);
    tick_at(&steps, steps.now_ns + SETTINGS.last_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

Test(replica_refuse, rule_21_nor_does_a_restarted_secondary)
{
    struct steps steps = restarted(4, 0, 2);
    int64_t begun_ns = steps.now_ns;
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 2});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 2});
    cr_assert_null(proposed(&steps));
    cr_assert_eq(replica_deadline_ns(steps.replica), begun_ns + SETTINGS.alone_ns);
    tick_at(&steps, begun_ns + SETTINGS.alone_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);

    steps = restarted(4, 0, 2); /* it has followed since, and lacks nothing */
    received(&steps, 2, open_of(members_of(3, 2, 2), 4, false));
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 2});
    configured(&steps);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_COMMITTED, .version = 3, .sequence = 4, .opener = SELF});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 3});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 3});
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

Test(replica_refuse, rule_21_whoever_bore_it_out_need_not_have_heard_of_the_next_version)
{
    struct steps steps = restarted(4, 0, 2);
    int64_t begun_ns = steps.now_ns;
    received(&steps, 2, open_of(members_of(3, 2, 2), 4, false));
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 2});
    configured(&steps);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_COMMITTED, .version = 3, .sequence = 4, .opener = SELF});
    told(&steps, members_of(4, 2, 2)); /* its disk may have gone back to before that one */
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 3});
    configured(&steps);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 4});
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .version = 4});
    cr_assert_null(proposed(&steps));
    tick_at(&steps, begun_ns + SETTINGS.alone_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

/* Nor does it count that it leads that version: a life before may have proposed it, whose writes its disk has lost (Spin:
 * a primary of before opens it, and the only other member is silent). */
Test(replica_refuse, rule_21_not_even_where_it_leads_the_next_version)
{
    struct steps steps = restarted(4, 0, 2);
    int64_t begun_ns = steps.now_ns;
    received(&steps, 2, open_of(members_of(3, 2, 2), 4, false));
    step(&steps,
         (struct replica_event){.type = REPLICA_EVENT_EXCEPTED, .from = store_of(2), .version = 2});
    configured(&steps);
    received(&steps, 2,
             (struct replica_message){
                 .type = REPLICA_COMMITTED, .version = 3, .sequence = 4, .opener = SELF});
    told(&steps, members_of(4, 2, 1));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2));
    tick_at(&steps, begun_ns + SETTINGS.alone_ns - 1);
    cr_assert_null(proposed(&steps));
    tick_at(&steps, begun_ns + SETTINGS.alone_ns);
    cr_assert_eq(proposed(&steps)->next.member_count, 1);
    end(&steps);
}

/* The goal of a table that is to have one copy: whoever was to go was removed before it could say that it has more, and so
 * was the next (model_replica_model, world 126615: two entries of one sequence). */
Test(replica_refuse, rule_21_nobody_goes_for_a_wish_before_all_have_opened)
{
    struct steps steps = reigning(4, 3);
    held(&steps, 2, true);
    held(&steps, 3, true);
    wish(&steps, 1, 0);
    cr_assert_null(proposed(&steps));
    opened(&steps, 2, 2, 4);
    cr_assert_null(proposed(&steps));
    opened(&steps, 3, 2, 4);
    cr_assert_eq(proposed(&steps)->next.member_count, 2);
    end(&steps);
}
