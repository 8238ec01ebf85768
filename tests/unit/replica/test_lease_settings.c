/*
 * Servers whose leases and graces differ, and such as are of an earlier build.
 */
#include "tests/support/lease_steps.h"

static struct lease_event beacon_of(int64_t now_ns, uint64_t number, int64_t lease_ns)
{
    struct lease_event event = beacon(now_ns, number, 3, 0);
    event.beacon.lease_ns = lease_ns;
    return event;
}

static struct lease_event answer_of(int64_t now_ns, uint64_t number, int64_t grace_ns)
{
    struct lease_event event = answer(now_ns, number, 3);
    event.acknowledgement.grace_ns = grace_ns;
    return event;
}

Test(lease, both_say_what_they_are_set_to)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    struct lease_effects effects = step(lease, beacon(100 * MS, 1, 3, 0));
    cr_assert_eq(effects.items[0].acknowledgement.grace_ns, SETTINGS.grace_ns);
    effects = tick(lease, 100 * MS);
    cr_assert_eq(effects.items[0].beacon.lease_ns, SETTINGS.lease_ns);
    lease_destroy(lease);
}

/* Two servers served one tablet (simulator, planted "unfit-lease-given").  To give none instead left a tablet that
 * such a server led with that one copy: members that give no lease are removed (rule 13). */
Test(lease, one_that_does_not_fit_is_counted_for_as_long_as_fits)
{
    struct lease_settings settings = SETTINGS;
    struct lease *lease = NULL;
    settings.beacon_ns = 2000 * MS;
    settings.lease_ns = 10000 * MS;
    settings.grace_ns = 20000 * MS;
    cr_assert_eq(lease_create(&settings, 7, 0, &lease), STATUS_OK);
    greet(lease, 0);
    (void)tick(lease, 100 * MS);
    cr_assert_eq(lease_deadline_ns(lease), 2100 * MS);
    struct lease_effects effects = step(lease, answer_of(200 * MS, 1, 2000 * MS));
    cr_assert_eq(effects.count, 2);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_SHORTENED);
    cr_assert_eq(effects.items[0].lease_ns, 1808 * MS);
    cr_assert_eq(effects.items[0].grace_ns, 2000 * MS);
    cr_assert_eq(effects.items[1].type, LEASE_EFFECT_HELD_UNTIL);
    cr_assert_eq(effects.items[1].at_ns, 1908 * MS);
    settings = SETTINGS;
    settings.lease_ns = 1808 * MS;
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_OK);
    settings.lease_ns = 1811 * MS;
    cr_assert_neq(lease_settings_check(&settings, NULL), STATUS_OK, "not the longest");
    /* Beacons come as often as that lease wants; it is said once; another grace is said again. */
    (void)tick(lease, 2100 * MS);
    cr_assert_eq(lease_deadline_ns(lease), 2100 * MS + 2000 * 1808 * (MS / 10000));
    cr_assert_eq(step(lease, answer_of(2200 * MS, 2, 2000 * MS)).count, 1);
    cr_assert_eq(step(lease, answer_of(2300 * MS, 2, 3000 * MS)).count, 2);
    /* After a change it is counted in full. */
    effects = step(lease, answer_of(2400 * MS, 2, 20000 * MS));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].at_ns, 12100 * MS);
    (void)tick(lease, 3000 * MS);
    cr_assert_eq(lease_deadline_ns(lease), 5000 * MS);
    lease_destroy(lease);
}

Test(lease, a_grace_that_makes_no_sense_gives_nothing)
{
    static const int64_t GRACES[] = {-1, INT64_MIN, 1};
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)tick(lease, 100 * MS);
    for (size_t i = 0; i < sizeof GRACES / sizeof *GRACES; i++) {
        struct lease_effects effects = step(lease, answer_of(200 * MS, 1, GRACES[i]));
        cr_assert_eq(effects.count, 1);
        cr_assert_eq(effects.items[0].type, LEASE_EFFECT_SHORTENED);
    }
    (void)tick(lease, 350 * MS);
    cr_assert_eq(lease_deadline_ns(lease), 600 * MS);
    lease_destroy(lease);
}

/* Its beacons say nothing: it counts for 1.4 s, as they all did. */
Test(lease, an_earlier_build_is_given_its_lease_where_that_fits)
{
    struct lease_settings settings = SETTINGS;
    struct lease *lease = NULL;
    settings.lease_ns = 900 * MS;
    settings.grace_ns = 1540 * MS;
    cr_assert_eq(lease_create(&settings, 7, 0, &lease), STATUS_OK);
    greet(lease, 0);
    struct lease_effects effects = step(lease, beacon_of(100 * MS, 1, 900 * MS));
    cr_assert(effects.items[0].acknowledgement.gives_lease);
    effects = step(lease, beacon_of(200 * MS, 2, 0));
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_NOT_GIVEN);
    cr_assert_eq(effects.items[0].lease_ns, 1400 * MS);
    cr_assert(!effects.items[1].acknowledgement.gives_lease);
    effects = step(lease, beacon_of(300 * MS, 3, 0));
    cr_assert_eq(effects.count, 1, "said once");
    cr_assert(!effects.items[0].acknowledgement.gives_lease);
    lease_destroy(lease);
}

/* It gives whatever it is asked for, and is free after 2 s. */
Test(lease, an_earlier_build_is_not_counted_on_for_longer_than_it_is_bound)
{
    struct lease_settings settings = SETTINGS;
    struct lease *lease = NULL;
    settings.lease_ns = 1900 * MS;
    settings.grace_ns = 3000 * MS;
    cr_assert_eq(lease_create(&settings, 7, 0, &lease), STATUS_OK);
    greet(lease, 0);
    (void)tick(lease, 100 * MS);
    struct lease_effects effects = step(lease, answer_of(200 * MS, 1, 0));
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_SHORTENED);
    cr_assert_eq(effects.items[0].grace_ns, 2000 * MS);
    cr_assert_eq(effects.items[1].at_ns, 1908 * MS);
    lease_destroy(lease);
}

/* A process with a shorter grace than the one before it had: that one's promises last as long as they did. */
Test(lease, waits_for_what_was_promised_under_a_longer_grace)
{
    struct lease_settings settings = SETTINGS;
    struct lease *lease = NULL;
    settings.former_grace_ns = 5000 * MS;
    cr_assert_eq(lease_create(&settings, 7, 1000 * MS, &lease), STATUS_OK);
    greet(lease, 1000 * MS);
    struct lease_effects effects = step(lease, about(LEASE_EVENT_EXCEPT, 1100 * MS, 11));
    cr_assert_eq(effects.items[0].at_ns, 6000 * MS, "nothing granted by this one");
    (void)step(lease, about(LEASE_EVENT_GRANT, 1200 * MS, 12));
    effects = step(lease, about(LEASE_EVENT_EXCEPT, 1300 * MS, 12));
    cr_assert_eq(effects.items[0].at_ns, 6000 * MS, "its own end before");
    (void)step(lease, about(LEASE_EVENT_GRANT, 4500 * MS, 13));
    effects = step(lease, about(LEASE_EVENT_EXCEPT, 4600 * MS, 13));
    cr_assert_eq(effects.items[0].at_ns, 6500 * MS, "its own end later");
    lease_destroy(lease);
}
