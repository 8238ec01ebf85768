/*
 * A seeded pseudo-random generator (splitmix64), for simulation, jitter and sampling.
 * Equal seeds give equal sequences on every machine.  Not for secrets.
 */
#ifndef COMMON_BASE_PRNG_H
#define COMMON_BASE_PRNG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mix.h"

struct prng {
    uint64_t state;
};

static inline struct prng prng_of_seed(uint64_t seed)
{
    return (struct prng){seed};
}

static inline uint64_t prng_next(struct prng *prng)
{
    return mix64(prng->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Uniform enough in [0, bound); bound must not be 0. */
static inline uint64_t prng_below(struct prng *prng, uint64_t bound)
{
    return prng_next(prng) % bound;
}

/* True once in `one_in` times on average. */
static inline bool prng_chance(struct prng *prng, uint64_t one_in)
{
    return prng_below(prng, one_in) == 0;
}

#endif /* COMMON_BASE_PRNG_H */
