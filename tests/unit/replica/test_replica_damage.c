/*
 * A replica that is damaged, by docs/replication.md, section 9: it says so, hands over, is not promoted,
 * teaches nobody, and is one that counts again only when it was taught anew.
 */
#include "tests/support/replica_steps.h"

static void damage(struct steps *steps)
{
    step(steps, (struct replica_event){.type = REPLICA_EVENT_DAMAGED});
}

/* Server 1, damaged, is told of version 3 without it. */
static struct steps removed(void)
{
    struct steps steps = follow(3);
    damage(&steps);
    configured(&steps);
    struct replica_configuration without = members_of(2, 3, 2);
    without = replica_configuration_remove(&without, 11);
    told(&steps, without);
    configured(&steps);
    cr_assert_eq(replica_look(steps.replica).role, REPLICA_OUTSIDER);
    return steps;
}

static struct replica_configuration without_self(void)
{
    struct replica_configuration members = members_of(2, 3, 2);
    return replica_configuration_remove(&members, 11);
}

Test(replica_damage, a_secondary_says_so_until_it_is_removed_and_notes_it)
{
    struct steps steps = follow(3);
    int64_t begun_ns = steps.now_ns;
    damage(&steps);
    cr_assert_eq(find_sent(&steps, REPLICA_DAMAGED, 2)->opener, PEER + 2);
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.damaged);
    configured(&steps);
    damage(&steps);
    cr_assert_eq(steps.effects.count, 0); /* it is known */
    received(&steps, 2, prepare_of(2, 1, 2, 0));
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_APPEND));
    cr_assert_leq(replica_deadline_ns(steps.replica), begun_ns + SETTINGS.resend_ns);
    tick_at(&steps, begun_ns + SETTINGS.resend_ns);
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2)); /* the first may be lost */
    tick_at(&steps, begun_ns + SETTINGS.resend_ns + 1);
    cr_assert_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    end(&steps);
}

Test(replica_damage, it_is_not_promoted)
{
    struct steps steps = follow(3);
    damage(&steps);
    configured(&steps);
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_SILENT, .version = 2});
    tick_at(&steps, steps.now_ns + 60000 * MS);
    cr_assert_null(proposed(&steps));
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_EXCEPT));
    end(&steps);
}

Test(replica_damage, an_outsider_is_opened_as_a_learner_and_whole_when_it_has_begun_anew)
{
    struct steps steps = removed();
    received(&steps, 2, open_of(without_self(), 0, true));
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.damaged);
    configured(&steps);
    cr_assert(find_sent(&steps, REPLICA_OPENED, 2)->as_learner);
    cr_assert_eq(replica_look(steps.replica).trouble, REPLICA_IS_DAMAGED); /* learn.h asks that */
    step(&steps, (struct replica_event){.type = REPLICA_EVENT_TEACHING,
                                        .from = store_of(1),
                                        .version = 3,
                                        .incarnation = PEER + 2});
    cr_assert_not(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.damaged);
    configured(&steps);
    cr_assert_neq(replica_look(steps.replica).trouble, REPLICA_IS_DAMAGED);
    received(&steps, 2, open_of(without_self(), 0, false)); /* it joins */
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPENED, 2));
    end(&steps);
}

Test(replica_damage, one_that_was_not_taught_yet_is_no_member)
{
    struct steps steps = removed();
    received(&steps, 2, open_of(without_self(), 0, true));
    configured(&steps);
    received(&steps, 2, open_of(without_self(), 0, false));
    cr_assert_null(find_sent(&steps, REPLICA_OPENED, 2));
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    end(&steps);
}

Test(replica_damage, a_restart_forgets_it_not)
{
    struct steps steps = begin_with(
        (struct replica_recovered){.configuration = members_of(2, 3, 1),
                                   .role = REPLICA_PRIMARY,
                                   .flags = {.opened = true, .damaged = true}});
    cr_assert_null(proposed(&steps)); /* nor does it renew its reign */
    tick_at(&steps, steps.now_ns + 60000 * MS);
    cr_assert_null(proposed(&steps));
    received(&steps, 2, open_of(members_of(3, 3, 2), 0, false));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_DAMAGED, 2));
    end(&steps);
}

Test(replica_damage, a_primary_notes_it_and_hands_over)
{
    struct steps steps = lead(3);
    damage(&steps);
    cr_assert(find_effect(&steps, REPLICA_EFFECT_CONFIGURE)->flags.damaged);
    configured(&steps);
    /* What else is due: members are told that they count. */
    for (int i = 0; i < 3 && find_sent(&steps, REPLICA_YIELD, 0) == NULL; i++) {
        tick_at(&steps, replica_deadline_ns(steps.replica));
    }
    cr_assert_not_null(find_sent(&steps, REPLICA_YIELD, 0));
    cr_assert_not(replica_look(steps.replica).serving);
    end(&steps);
}

/* Does it propose a removal while it ticks? */
static bool removes(struct steps *steps)
{
    bool removed = false;
    for (int i = 0; i < 5; i++) {
        tick_at(steps, steps->now_ns + SETTINGS.alone_ns + SETTINGS.open_timeout_ns);
        removed = removed || (proposed(steps) != NULL && proposed(steps)->next.member_count == 1);
    }
    return removed;
}

/* Damaged, and named primary of version 3 with server 2, which it opens. */
static struct steps damaged_pair(void)
{
    struct steps steps = lead(2);
    damage(&steps);
    configured(&steps);
    told(&steps, members_of(3, 2, 1));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPEN, 2));
    return steps;
}

/* What is damaged here would be nowhere among those who count. */
Test(replica_damage, a_primary_does_not_remove_its_last_sound_member)
{
    struct steps steps = damaged_pair();
    cr_assert_not(removes(&steps));
    end(&steps);
}

Test(replica_damage, one_that_says_that_it_is_damaged_too_does_not_count_as_sound)
{
    struct steps steps = damaged_pair();
    received(&steps, 2,
             (struct replica_message){.type = REPLICA_DAMAGED, .version = 3, .opener = SELF});
    cr_assert(removes(&steps));
    end(&steps);
}

Test(replica_damage, who_leads_alone_goes_on_after_a_restart_too)
{
    struct steps steps = lead(1);
    damage(&steps);
    cr_assert_not(has_effect(&steps, REPLICA_EFFECT_CONFIGURE));
    cr_assert(replica_look(steps.replica).serving);
    wish(&steps, 2, 0);
    tick_at(&steps, steps.now_ns + 60000 * MS);
    cr_assert_null(find_sent(&steps, REPLICA_OPEN, 2)); /* but teaches nobody */
    end(&steps);
}

Test(replica_damage, a_learner_of_a_damaged_primary_is_let_go)
{
    struct steps steps = lead(2);
    wish(&steps, 3, 0);
    held(&steps, 3, true);
    received(&steps, 3,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = 2, .opener = SELF, .as_learner = true});
    cr_assert_eq(replica_look(steps.replica).learners, 1);
    damage(&steps);
    cr_assert_eq(replica_look(steps.replica).learners, 0);
    end(&steps);
}
