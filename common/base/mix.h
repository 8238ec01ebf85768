/*
 * Mixing: each bit of a number moves half of the bits of what becomes of it (the finisher of
 * splitmix64).  Different numbers stay different.
 *
 * The seeds of log batches are made with it, so it is part of the log's format and stays as it is.
 */
#ifndef COMMON_BASE_MIX_H
#define COMMON_BASE_MIX_H

#include <stdint.h>

static inline uint64_t mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif /* COMMON_BASE_MIX_H */
