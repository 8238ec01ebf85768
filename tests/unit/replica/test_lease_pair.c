/*
 * Two servers talk over a bad network with clocks of different rates, and one looks from outside: who counts on a
 * promise, and who is free of it.
 */
#include <signal.h>

#include "common/base/prng.h"
#include "tests/support/lease_steps.h"

#define MESSAGES 8

struct message {
    int64_t at_ns; /* true time of arrival; 0 = none */
    struct lease_effect effect;
    struct lease_exception exceptions[4];
};

struct world {
    struct prng prng;
    int64_t now_ns;      /* true time */
    int64_t rate_ppm[2]; /* by which a clock is too fast */
    int64_t offset_ns[2];
    struct lease *lease[2]; /* 0 holds, 1 grants */
    struct message way[MESSAGES];
    bool opened; /* as the holder knows */
    bool excepted;
    int64_t held_until_ns; /* by the holder's clock */
    bool granted;          /* as the grantor knows */
    bool freeing;
    int64_t free_from_ns; /* by the grantor's clock */
    uint64_t incarnation;
    uint64_t overlaps;
    uint64_t served;
    uint64_t freed;
};

static int64_t clock_of(const struct world *world, int who)
{
    return world->now_ns + world->now_ns / 1000000 * world->rate_ppm[who] + world->offset_ns[who];
}

static void perform(struct world *world, int who, struct lease_effects effects)
{
    for (uint32_t i = 0; i < effects.count; i++) {
        const struct lease_effect *effect = &effects.items[i];
        switch (effect->type) {
        case LEASE_EFFECT_BEACON:
        case LEASE_EFFECT_ACKNOWLEDGE: {
            if ((who == 1) != (effect->type == LEASE_EFFECT_ACKNOWLEDGE) ||
                prng_below(&world->prng, 4) == 0) {
                break; /* only the holder's beacons are of interest; a quarter is lost */
            }
            struct message *message = &world->way[prng_below(&world->prng, MESSAGES)];
            message->effect = *effect;
            message->at_ns = world->now_ns + 1 +
                             (int64_t)prng_below(&world->prng,
                                                 prng_below(&world->prng, 3) == 0 ? 3000 : 50) *
                                 MS;
            for (uint32_t j = 0; j < effect->acknowledgement.exception_count && j < 4; j++) {
                message->exceptions[j] = effect->acknowledgement.exceptions[j];
            }
            break;
        }
        case LEASE_EFFECT_HELD_UNTIL:
            world->held_until_ns = who == 0 ? effect->at_ns : world->held_until_ns;
            break;
        case LEASE_EFFECT_EXCEPTED_BY_PEER:
            world->excepted = true;
            break;
        case LEASE_EFFECT_PEER_RESTARTED:
            world->opened = world->opened && (who == 1 || effect->incarnation == 1);
            break;
        case LEASE_EFFECT_EXCEPTED:
            world->freeing = true;
            world->free_from_ns = effect->at_ns;
            break;
        case LEASE_EFFECT_SILENT:
        case LEASE_EFFECT_CONFIRMED:
        case LEASE_EFFECT_NOT_GIVEN:
        case LEASE_EFFECT_SHORTENED:
            break;
        }
    }
}

static void deliver(struct world *world, struct message *message)
{
    int to = message->effect.type == LEASE_EFFECT_BEACON ? 1 : 0;
    struct lease_event event = {.now_ns = clock_of(world, to), .peer = to == 1 ? 1 : 2};
    event.type = to == 1 ? LEASE_EVENT_BEACON : LEASE_EVENT_ACKNOWLEDGEMENT;
    event.beacon = message->effect.beacon;
    event.acknowledgement = message->effect.acknowledgement;
    event.acknowledgement.exceptions = message->exceptions;
    if (prng_below(&world->prng, 4) != 0) { /* else it comes once more */
        message->at_ns = 0;
    } else {
        message->at_ns += 500 * MS;
    }
    perform(world, to, step(world->lease[to], event));
}

static void grantor_event(struct world *world, enum lease_event_type type)
{
    struct lease_event event = {.type = type,
                                .now_ns = clock_of(world, 1),
                                .peer = 1,
                                .tablet = 11,
                                .version = 5,
                                .incarnation = 1};
    perform(world, 1, step(world->lease[1], event));
}

static void restart_grantor(struct world *world)
{
    lease_destroy(world->lease[1]);
    world->lease[1] = make(++world->incarnation, clock_of(world, 1));
    meet(world->lease[1], clock_of(world, 1), 1);
    world->granted = false;
}

static void look(struct world *world)
{
    bool serves = world->opened && !world->excepted && clock_of(world, 0) < world->held_until_ns;
    bool is_free = world->freeing && clock_of(world, 1) >= world->free_from_ns;
    world->served += serves ? 1 : 0;
    world->freed += is_free ? 1 : 0;
    world->overlaps += serves && is_free ? 1 : 0;
}

static void live(uint64_t seed, int64_t rate_ppm, struct world *ret_world)
{
    struct world world = {.prng = prng_of_seed(seed), .incarnation = 1};
    world.rate_ppm[0] = -rate_ppm;
    world.rate_ppm[1] = rate_ppm;
    world.offset_ns[1] = (int64_t)prng_below(&world.prng, 100000) * MS;
    world.lease[0] = make(1, clock_of(&world, 0));
    world.lease[1] = make(1, clock_of(&world, 1));
    meet(world.lease[0], clock_of(&world, 0), 2);
    meet(world.lease[1], clock_of(&world, 1), 1);
    /* The answer to OPEN takes its time as well; the lease of the pair may be there before. */
    int64_t open_ns = (int64_t)prng_below(&world.prng, 300) * 10 * MS;
    int64_t opened_ns = open_ns + (int64_t)prng_below(&world.prng, 100) * 10 * MS;
    int64_t except_ns = opened_ns + (int64_t)prng_below(&world.prng, 600) * 10 * MS;
    int64_t restart_ns = prng_below(&world.prng, 2) == 0
                             ? INT64_MAX
                             : opened_ns + (int64_t)prng_below(&world.prng, 600) * 10 * MS;
    for (world.now_ns = 0; world.now_ns < 16000 * MS; world.now_ns += 10 * MS) {
        for (size_t i = 0; i < MESSAGES; i++) {
            if (world.way[i].at_ns != 0 && world.way[i].at_ns <= world.now_ns) {
                deliver(&world, &world.way[i]);
            }
        }
        if (world.now_ns == open_ns) {
            grantor_event(&world, LEASE_EVENT_GRANT);
        }
        world.opened = world.opened || world.now_ns == opened_ns;
        if (world.now_ns >= restart_ns) {
            restart_grantor(&world);
            restart_ns = INT64_MAX;
        }
        if (world.now_ns == except_ns) {
            grantor_event(&world, LEASE_EVENT_EXCEPT);
        }
        perform(&world, 0, tick(world.lease[0], clock_of(&world, 0)));
        perform(&world, 1, tick(world.lease[1], clock_of(&world, 1)));
        look(&world);
    }
    lease_destroy(world.lease[0]);
    lease_destroy(world.lease[1]);
    *ret_world = world;
}

/* Clocks as far apart as is allowed: never both. */
Test(lease_pair, nobody_is_free_while_the_other_counts)
{
    uint64_t served = 0;
    uint64_t freed = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct world world;
        live(seed, 48000, &world);
        cr_assert_eq(world.overlaps, 0, "seed %llu", (unsigned long long)seed);
        served += world.served;
        freed += world.freed;
    }
    cr_assert_gt(served, 20000); /* of 640 000 looks */
    cr_assert_gt(freed, 100000);
}

/* And that the test can see it: with clocks further apart than that, some are. */
Test(lease_pair, clocks_too_far_apart_are_noticed_by_this_test)
{
    uint64_t overlaps = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct world world;
        live(seed, 450000, &world);
        overlaps += world.overlaps;
    }
    cr_assert_gt(overlaps, 0);
}
