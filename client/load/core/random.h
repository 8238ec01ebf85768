/*
 * Cheap seeded randomness: splitmix64.  One state of eight bytes a request in flight, so nothing is
 * shared between threads.  Equal seeds give equal sequences.
 */
#ifndef CLIENT_LOAD_CORE_RANDOM_H
#define CLIENT_LOAD_CORE_RANDOM_H

#include <stdint.h>

/* A bijection that looks random. */
static inline uint64_t load_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t load_random_next(uint64_t *state)
{
    return load_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

__extension__ typedef unsigned __int128 load_wide;

/* Uniform in [0, bound); bound must not be 0.  The bias is below bound / 2^64. */
static inline uint64_t load_random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((load_wide)load_random_next(state) * bound) >> 64);
}

/* Uniform in [0, 1). */
static inline double load_random_unit(uint64_t *state)
{
    return (double)(load_random_next(state) >> 11) * 0x1.0p-53;
}

#endif /* CLIENT_LOAD_CORE_RANDOM_H */
