/*
 * Leases between two servers, as one of them sees it: what it holds, and what it has promised.  (Exceptions:
 * test_lease_exceptions.c.  Servers that differ: test_lease_settings.c.  From outside: test_lease_pair.c.)
 */
#include <string.h>

#include "tests/support/lease_steps.h"

Test(lease, settings_are_ordered)
{
    struct lease_settings settings = SETTINGS;
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_OK);
    settings.grace_ns = 1540 * MS; /* 1.4 * 1.05 = 1.47; 1.54 * 0.95 = 1.463 */
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_INVALID_ARGUMENT);
    settings.grace_ns = 1560 * MS;
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_OK);
    settings.beacon_ns = 700 * MS;
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_INVALID_ARGUMENT);
    settings.beacon_ns = 1;
    for (int64_t lease_ms = 1; lease_ms < 60000; lease_ms += 7) {
        struct error error = {.status = STATUS_OK};
        settings.lease_ns = lease_ms * MS;
        settings.grace_ns = settings.lease_ns;
        cr_assert_eq(lease_settings_check(&settings, &error), STATUS_INVALID_ARGUMENT);
        const char *advice = strstr(error.text, "raise grace to ");
        cr_assert_not_null(advice, "%s", error.text);
        settings.grace_ns = strtoll(advice + strlen("raise grace to "), NULL, 10) * MS;
        cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_OK, "%s", error.text);
        settings.grace_ns -= 2 * MS;
        cr_assert_neq(lease_settings_check(&settings, NULL), STATUS_OK, "%s", error.text);
    }
    settings = SETTINGS;
    settings.drift_ppm = 1000000;
    cr_assert_eq(lease_settings_check(&settings, NULL), STATUS_INVALID_ARGUMENT);
}

Test(lease, counts_from_sending)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    cr_assert_eq(lease_deadline_ns(lease), 0);
    struct lease_effects effects = tick(lease, 100 * MS);
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_BEACON);
    cr_assert_eq(effects.items[0].beacon.number, 1);
    cr_assert_eq(lease_deadline_ns(lease), 350 * MS);
    (void)tick(lease, 350 * MS);

    effects = step(lease, answer(900 * MS, 1, 3));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_HELD_UNTIL);
    cr_assert_eq(effects.items[0].at_ns, 1500 * MS);
    effects = step(lease, answer(901 * MS, 2, 3));
    cr_assert_eq(effects.items[0].at_ns, 1750 * MS);
    /* Doubled and late ones change nothing; one that was never sent neither. */
    cr_assert_eq(step(lease, answer(902 * MS, 2, 3)).count, 0);
    cr_assert_eq(step(lease, answer(902 * MS, 1, 3)).count, 0);
    cr_assert_eq(step(lease, answer(902 * MS, 3, 3)).count, 0);
    cr_assert_eq(step(lease, answer(902 * MS, 0, 3)).count, 0);
    lease_destroy(lease);
}

static struct lease_effects ask(struct lease *lease, int64_t now_ns, uint64_t asked)
{
    return step(lease,
                (struct lease_event){.type = LEASE_EVENT_ASK, .now_ns = now_ns, .asked = asked});
}

/* The number that the last effect confirms; 0 = it is none. */
static uint64_t confirms(struct lease_effects effects)
{
    for (uint32_t i = 0; i < effects.count; i++) {
        if (effects.items[i].type == LEASE_EFFECT_CONFIRMED) {
            return effects.items[i].asked;
        }
    }
    return 0;
}

static bool sends(struct lease_effects effects)
{
    return effects.count > 0 && effects.items[effects.count - 1].type == LEASE_EFFECT_BEACON;
}

Test(lease, confirms_what_was_asked_before_the_beacon_went_out)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)tick(lease, 0); /* beacon 1, of which nobody asked anything */
    cr_assert_not(sends(ask(lease, 10 * MS, 1)), "one is under way: the next goes when it is back");
    struct lease_effects effects = step(lease, answer(20 * MS, 1, 3));
    cr_assert_eq(confirms(effects), 0, "it was sent before");
    cr_assert(sends(effects));
    cr_assert_eq(effects.items[effects.count - 1].beacon.number, 2);
    cr_assert_not(sends(ask(lease, 21 * MS, 5)));
    effects = step(lease, answer(30 * MS, 2, 3));
    cr_assert_eq(confirms(effects), 1, "not what was asked while it was under way");
    cr_assert(sends(effects));
    effects = step(lease, answer(40 * MS, 3, 3));
    cr_assert_eq(confirms(effects), 5);
    cr_assert_not(sends(effects), "nobody asks any more");
    cr_assert(sends(ask(lease, 50 * MS, 6)), "at once, long before one is due");
    cr_assert_eq(confirms(step(lease, answer(60 * MS, 3, 3))), 0, "one that comes twice");
    cr_assert_eq(confirms(step(lease, answer(61 * MS, 4, 3))), 6);
    lease_destroy(lease);
}

Test(lease, a_lost_beacon_is_not_waited_for)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)tick(lease, 0);
    cr_assert_not(sends(ask(lease, 10 * MS, 1)));
    cr_assert(sends(tick(lease, 250 * MS)), "the next one that is due brings it");
    cr_assert_eq(confirms(step(lease, answer(260 * MS, 2, 3))), 1);
    lease_destroy(lease);
}

Test(lease, who_gives_no_lease_confirms_nothing)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    cr_assert(sends(ask(lease, 0, 1)));
    struct lease_event without = answer(10 * MS, 1, 3);
    without.acknowledgement.gives_lease = false;
    struct lease_effects effects = step(lease, without);
    cr_assert_eq(confirms(effects), 0);
    cr_assert_not(sends(effects), "it would not do for being asked again");
    lease_destroy(lease);
}

Test(lease, what_is_excepted_is_told_before_it_is_confirmed)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    cr_assert(sends(ask(lease, 0, 1)));
    const struct lease_exception exception = {11, 5};
    struct lease_event naming = answer(10 * MS, 1, 4); /* and by a new process */
    naming.acknowledgement.exceptions = &exception;
    naming.acknowledgement.exception_count = 1;
    naming.acknowledgement.exceptions_number = 1;
    struct lease_effects effects = step(lease, naming);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(effects.items[1].type, LEASE_EFFECT_EXCEPTED_BY_PEER);
    cr_assert_eq(effects.items[effects.count - 1].type, LEASE_EFFECT_CONFIRMED);
    lease_destroy(lease);
}

Test(lease, old_beacons_and_old_processes_count_nothing)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    for (int64_t i = 0; i < 20; i++) {
        (void)tick(lease, i * 250 * MS);
    }
    cr_assert_eq(step(lease, answer(5000 * MS, 4, 3)).count, 0); /* no longer known when sent */
    struct lease_event other = answer(5000 * MS, 20, 3);
    other.acknowledgement.beacon_incarnation = 6; /* of this server's process before */
    cr_assert_eq(step(lease, other).count, 0);
    other = answer(5000 * MS, 20, 3);
    other.acknowledgement.gives_lease = false;
    cr_assert_eq(step(lease, other).count, 0);
    cr_assert_eq(step(lease, answer(5000 * MS, 20, 3)).count, 1);

    struct lease_effects effects = step(lease, answer(5001 * MS, 20, 4));
    cr_assert_eq(effects.count, 2);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(effects.items[1].type, LEASE_EFFECT_HELD_UNTIL);
    cr_assert_eq(step(lease, answer(5002 * MS, 20, 3)).count, 0);
    other = answer(5002 * MS, 20, 9);
    other.peer = 3;
    cr_assert_eq(step(lease, other).count, 0); /* a stranger */
    lease_destroy(lease);
}

Test(lease, silence_is_counted_from_receipt)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)step(lease, about(LEASE_EVENT_GRANT, 5000 * MS, 11));
    struct lease_effects effects = step(lease, beacon(5300 * MS, 1, 3, 0));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_ACKNOWLEDGE);
    cr_assert_eq(effects.items[0].acknowledgement.number, 1);
    cr_assert(effects.items[0].acknowledgement.gives_lease);

    (void)step(lease,
               (struct lease_event){.type = LEASE_EVENT_PEER, .now_ns = 5300 * MS, .peer = 2});
    cr_assert_eq(lease_deadline_ns(lease), 7300 * MS);
    cr_assert_eq(tick(lease, 7300 * MS - 1).count, 0);
    effects = tick(lease, 7300 * MS);
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_SILENT);
    cr_assert_eq(effects.items[0].tablet, 11);
    cr_assert_eq(tick(lease, 7400 * MS).count, 0);
    cr_assert_eq(lease_deadline_ns(lease), LEASE_NEVER);
    /* Heard, and silent again. */
    (void)step(lease, beacon(7500 * MS, 2, 3, 0));
    cr_assert_eq(tick(lease, 9500 * MS).count, 1);
    lease_destroy(lease);
}

Test(lease, a_restarted_peer_does_not_renew_what_the_old_one_was_promised)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)step(lease, beacon(4000 * MS, 1, 3, 0));
    (void)step(lease, about(LEASE_EVENT_GRANT, 5000 * MS, 11));
    struct lease_effects effects = step(lease, beacon(5500 * MS, 1, 4, 0));
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(effects.items[1].type, LEASE_EFFECT_ACKNOWLEDGE);
    (void)step(lease, beacon(6000 * MS, 2, 4, 0));
    cr_assert_eq(step(lease, beacon(6500 * MS, 9, 3, 0)).count, 0); /* late, of the old one */
    effects = step(lease, about(LEASE_EVENT_EXCEPT, 6500 * MS, 11));
    cr_assert_eq(effects.items[0].at_ns, 7000 * MS);
    lease_destroy(lease);
}
