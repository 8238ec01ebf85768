/*
 * Leases between two servers, as one of them sees it.  (From outside: test_lease_pair.c.)
 */
#include "common/base/memory.h"
#include "tests/support/lease_steps.h"

static struct lease_event about(enum lease_event_type type, int64_t now_ns, uint64_t tablet)
{
    return (struct lease_event){.type = type,
                                .now_ns = now_ns,
                                .peer = 2,
                                .tablet = tablet,
                                .version = 5,
                                .incarnation = 3};
}

static struct lease_event beacon(int64_t now_ns,
                                 uint64_t number,
                                 uint64_t incarnation,
                                 uint64_t seen)
{
    return (struct lease_event){
        .type = LEASE_EVENT_BEACON,
        .now_ns = now_ns,
        .peer = 2,
        .beacon = {
            .number = number, .incarnation = incarnation, .exceptions_seen = seen, .seen_of = 7}};
}

/* Meet peer 2, and hear of its process 3. */
static void greet(struct lease *lease, int64_t now_ns)
{
    meet(lease, now_ns, 2);
    struct lease_effects effects = step(lease, beacon(now_ns, 0, 3, 0));
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(effects.items[0].incarnation, 3);
}

static struct lease_event answer(int64_t now_ns, uint64_t number, uint64_t incarnation)
{
    return (struct lease_event){.type = LEASE_EVENT_ACKNOWLEDGEMENT,
                                .now_ns = now_ns,
                                .peer = 2,
                                .acknowledgement = {.number = number,
                                                    .beacon_incarnation = 7,
                                                    .incarnation = incarnation,
                                                    .gives_lease = true}};
}

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

/* --- servers that differ ------------------------------------------------------------------------ */

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
