/*
 * The lease module, driven by a test: one for each server, and its steps.
 */
#ifndef TESTS_SUPPORT_LEASE_STEPS_H
#define TESTS_SUPPORT_LEASE_STEPS_H

#include <criterion/criterion.h>

#include "tabletserver/replica/lease.h"

#define MS INT64_C(1000000)

__attribute__((unused)) static const struct lease_settings SETTINGS = {
    .beacon_ns = 250 * MS, .lease_ns = 1400 * MS, .grace_ns = 2000 * MS, .drift_ppm = 50000};

__attribute__((unused)) static struct lease *make(uint64_t incarnation, int64_t now_ns)
{
    struct lease *lease = NULL;
    cr_assert_eq(lease_create(&SETTINGS, incarnation, now_ns, &lease), STATUS_OK);
    return lease;
}

__attribute__((unused)) static struct lease_effects step(struct lease *lease,
                                                         struct lease_event event)
{
    struct lease_effects effects;
    cr_assert_eq(lease_step(lease, &event, &effects), STATUS_OK);
    lease_check(lease);
    return effects;
}

__attribute__((unused)) static struct lease_effects tick(struct lease *lease, int64_t now_ns)
{
    return step(lease, (struct lease_event){.type = LEASE_EVENT_TICK, .now_ns = now_ns});
}

__attribute__((unused)) static void meet(struct lease *lease, int64_t now_ns, uint64_t peer)
{
    struct lease_effects effects = step(
        lease, (struct lease_event){
                   .type = LEASE_EVENT_PEER, .now_ns = now_ns, .peer = peer, .present = true});
    cr_assert_eq(effects.count, 0);
}

__attribute__((unused)) static struct lease_event about(enum lease_event_type type,
                                                        int64_t now_ns,
                                                        uint64_t tablet)
{
    return (struct lease_event){.type = type,
                                .now_ns = now_ns,
                                .peer = 2,
                                .tablet = tablet,
                                .version = 5,
                                .incarnation = 3};
}

__attribute__((unused)) static struct lease_event beacon(int64_t now_ns,
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
__attribute__((unused)) static void greet(struct lease *lease, int64_t now_ns)
{
    meet(lease, now_ns, 2);
    struct lease_effects effects = step(lease, beacon(now_ns, 0, 3, 0));
    cr_assert_eq(effects.items[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(effects.items[0].incarnation, 3);
}

__attribute__((unused)) static struct lease_event answer(int64_t now_ns,
                                                         uint64_t number,
                                                         uint64_t incarnation)
{
    return (struct lease_event){.type = LEASE_EVENT_ACKNOWLEDGEMENT,
                                .now_ns = now_ns,
                                .peer = 2,
                                .acknowledgement = {.number = number,
                                                    .beacon_incarnation = 7,
                                                    .incarnation = incarnation,
                                                    .gives_lease = true}};
}

#endif /* TESTS_SUPPORT_LEASE_STEPS_H */
