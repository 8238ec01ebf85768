/*
 * What a server excepts from the lease that it gives, and what it can hold no more of.
 */
#include "common/base/memory.h"
#include "tests/support/lease_steps.h"

Test(lease, exceptions_bind_until_they_were_seen)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)step(lease, about(LEASE_EVENT_GRANT, 5000 * MS, 11));
    (void)step(lease, beacon(5100 * MS, 1, 3, 0));
    struct lease_effects effects = step(lease, about(LEASE_EVENT_EXCEPT, 5200 * MS, 11));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_EXCEPTED);
    cr_assert_eq(effects.items[0].at_ns, 7100 * MS);
    for (uint64_t number = 2; number < 5; number++) {
        effects = step(lease, beacon(5300 * MS, number, 3, 0));
        cr_assert_eq(effects.items[0].acknowledgement.exception_count, 1);
        cr_assert_eq(effects.items[0].acknowledgement.exceptions[0].tablet, 11);
        cr_assert_eq(effects.items[0].acknowledgement.exceptions[0].version, 5);
    }
    uint64_t seen = effects.items[0].acknowledgement.exceptions_number;
    effects = step(lease, beacon(5400 * MS, 5, 3, seen));
    cr_assert_eq(effects.items[0].acknowledgement.exception_count, 0);
    cr_assert_eq(tick(lease, 9000 * MS).count, 1); /* a beacon; nobody is silent */
    lease_destroy(lease);
}

/* A peer that has not heard of the restart yet, or whose beacon comes late, says what it saw of the process before: two
 * served (simulator, seed 4918876). */
Test(lease, what_was_seen_of_the_process_before_is_not_seen_of_this_one)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    (void)step(lease, about(LEASE_EVENT_EXCEPT, 100 * MS, 11));
    struct lease_event late = beacon(200 * MS, 1, 3, 5);
    late.beacon.seen_of = 6;
    struct lease_effects effects = step(lease, late);
    cr_assert_eq(effects.items[0].acknowledgement.exception_count, 1);
    effects = step(lease, beacon(300 * MS, 2, 3, 0));
    cr_assert_eq(effects.items[0].acknowledgement.exception_count, 1,
                 "it is named until it was seen");
    effects = step(lease, beacon(400 * MS, 3, 3, 1));
    cr_assert_eq(effects.items[0].acknowledgement.exception_count, 0);
    lease_destroy(lease);
}

/* Of another store of this server, which is slower: the tablet has gone on elsewhere (simulator, seed 300011638). */
Test(lease, a_promise_under_an_older_version_comes_after_its_exception)
{
    struct lease *lease = make(7, 0);
    struct lease_event promise = about(LEASE_EVENT_GRANT, 5300 * MS, 11);
    promise.version = 3;
    greet(lease, 0);
    (void)step(lease, about(LEASE_EVENT_EXCEPT, 5200 * MS, 11));
    cr_assert_eq(step(lease, promise).count, 0);
    struct lease_effects effects = step(lease, beacon(5400 * MS, 1, 3, 0));
    cr_assert_eq(effects.items[0].acknowledgement.exception_count, 1, "it is told as before");
    promise.type = LEASE_EVENT_EXCEPT;
    promise.now_ns = 5500 * MS;
    effects = step(lease, promise);
    cr_assert_eq(effects.items[0].at_ns, 7400 * MS, "and it binds");
    lease_destroy(lease);
}

Test(lease, a_beacon_says_of_which_process_it_has_seen_exceptions)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    struct lease_effects effects = tick(lease, 100 * MS);
    cr_assert_eq(effects.items[0].beacon.seen_of, 3);
    lease_destroy(lease);
}

/* OPEN travels by another way than beacons: the process that opened a tablet may be heard of by its
 * first beacon when the tablet has been excepted already (model_replica_model, seed 165806). */
Test(lease, exceptions_outlast_the_first_beacon_of_a_process)
{
    struct lease *lease = make(7, 0);
    meet(lease, 0, 2);
    for (uint64_t incarnation = 3; incarnation < 5; incarnation++) {
        struct lease_event grant = about(LEASE_EVENT_GRANT, 5000 * MS, 11);
        grant.version = incarnation + 2;
        grant.incarnation = incarnation;
        (void)step(lease, grant);
        struct lease_event except = about(LEASE_EVENT_EXCEPT, 5000 * MS, 11);
        except.version = incarnation + 2;
        (void)step(lease, except);
        struct lease_effects effects = step(lease, beacon(5000 * MS, 1, incarnation, 0));
        const struct lease_acknowledgement *answered = &effects.items[1].acknowledgement;
        cr_assert_eq(answered->exceptions[answered->exception_count - 1].version, incarnation + 2);
    }
    lease_destroy(lease);
}

/* What the process before has promised is forgotten, and holds. */
Test(lease, waits_for_what_it_cannot_remember)
{
    struct lease *lease = make(7, 1000 * MS);
    greet(lease, 1000 * MS);
    struct lease_effects effects = step(lease, about(LEASE_EVENT_EXCEPT, 1100 * MS, 11));
    cr_assert_eq(effects.items[0].at_ns, 3000 * MS);
    lease_destroy(lease);
}

Test(lease, many_exceptions_are_named_in_turns_without_a_lease)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    for (uint64_t tablet = 1; tablet <= LEASE_EXCEPTIONS_MAX + 10; tablet++) {
        (void)step(lease, about(LEASE_EVENT_EXCEPT, 0, tablet));
    }
    struct lease_effects effects = step(lease, beacon(100 * MS, 1, 3, 0));
    const struct lease_acknowledgement *answered = &effects.items[0].acknowledgement;
    cr_assert(!answered->gives_lease);
    cr_assert_eq(answered->exception_count, LEASE_EXCEPTIONS_MAX);
    effects = step(lease, beacon(200 * MS, 2, 3, answered->exceptions_number));
    answered = &effects.items[0].acknowledgement;
    cr_assert(answered->gives_lease);
    cr_assert_eq(answered->exception_count, 10);
    cr_assert_eq(answered->exceptions[9].tablet, LEASE_EXCEPTIONS_MAX + 10);
    lease_destroy(lease);
}

/* A cluster may be larger than that: who is one too many hears nothing from here, and nobody ends for it. */
Test(lease, one_peer_too_many_is_refused_and_promised_nothing)
{
    struct lease *lease = make(7, 100 * MS);
    struct lease_effects effects;
    for (uint64_t peer = 1000; peer < 1000 + LEASE_PEERS_MAX; peer++) {
        meet(lease, 100 * MS, peer);
    }
    struct lease_event event = {
        .type = LEASE_EVENT_PEER, .now_ns = 100 * MS, .peer = 2, .present = true};
    cr_assert_eq(lease_step(lease, &event, &effects), STATUS_LIMIT);
    event = about(LEASE_EVENT_GRANT, 200 * MS, 1);
    cr_assert_eq(lease_step(lease, &event, &effects), STATUS_LIMIT);
    cr_assert_eq(effects.count, 0);
    lease_check(lease);
    cr_assert_eq(step(lease, beacon(300 * MS, 1, 3, 0)).count, 0, "it was acknowledged");
    effects = step(lease, about(LEASE_EVENT_EXCEPT, 400 * MS, 1));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_EXCEPTED);
    cr_assert_eq(effects.items[0].version, 5);
    cr_assert_eq(effects.items[0].at_ns, 2100 * MS, "the process before may have promised it");
    cr_assert_eq(step(lease, beacon(500 * MS, 2, 3, 0)).count, 0, "it was acknowledged");
    cr_assert_eq(tick(lease, 600 * MS).count, LEASE_PEERS_MAX, "the others are talked to");
    lease_destroy(lease);
}

Test(lease, without_memory_nothing_changes)
{
    struct lease *lease = make(7, 0);
    struct lease_event events[] = {
        {.type = LEASE_EVENT_PEER, .peer = 2, .present = true},
        about(LEASE_EVENT_GRANT, 0, 11),
        about(LEASE_EVENT_EXCEPT, 0, 11),
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct lease_effects effects;
        enum status status = STATUS_NO_MEMORY;
        for (uint64_t after = 0; status == STATUS_NO_MEMORY; after++) {
            cr_assert_lt(after, 20);
            memory_fail_arm(after, 0);
            status = lease_step(lease, &events[i], &effects);
            memory_fail_disarm();
            lease_check(lease);
        }
        cr_assert_eq(status, STATUS_OK);
    }
    lease_destroy(lease);
}

/* A tablet went from one store of this server to another, and the slower one is opened under a version of before.  (It
 * ended the process.) */
Test(lease, of_two_stores_that_promise_both_are_kept)
{
    struct lease *lease = make(7, 0);
    greet(lease, 0);
    struct lease_event later = about(LEASE_EVENT_GRANT, 100 * MS, 1);
    later.version = 10;
    (void)step(lease, later);
    (void)step(lease, beacon(3000 * MS, 1, 3, 0));
    (void)step(lease, about(LEASE_EVENT_GRANT, 3500 * MS, 1)); /* 5 */
    struct lease_effects effects = step(lease, about(LEASE_EVENT_EXCEPT, 3600 * MS, 1));
    cr_assert_eq(effects.count, 1);
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_EXCEPTED);
    cr_assert_eq(effects.items[0].version, 5);
    cr_assert_eq(effects.items[0].at_ns, 3500 * MS + SETTINGS.grace_ns);
    lease_check(lease);
    later.type = LEASE_EVENT_EXCEPT;
    later.now_ns = 3700 * MS;
    effects = step(lease, later);
    cr_assert_eq(effects.items[0].version, 10);
    cr_assert_eq(effects.items[0].at_ns, 3500 * MS + SETTINGS.grace_ns);
    lease_check(lease);
    lease_destroy(lease);
}
