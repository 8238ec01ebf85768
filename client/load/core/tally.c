#include "client/load/core/tally.h"

#include <string.h>

#define COUNTS (sizeof(struct load_tally) / sizeof(uint64_t))
_Static_assert(COUNTS * sizeof(uint64_t) == sizeof(struct load_tally), "counts and nothing else");

void load_tally_gather(struct load_tally *sum, const struct load_tally *running)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)running;
    for (size_t i = 0; i < COUNTS; i++) {
        to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
}

void load_tally_subtract(const struct load_tally *later,
                         const struct load_tally *earlier,
                         struct load_tally *ret_difference)
{
    uint64_t *to = (uint64_t *)(void *)ret_difference;
    const uint64_t *from = (const uint64_t *)(const void *)later;
    const uint64_t *less = (const uint64_t *)(const void *)earlier;
    for (size_t i = 0; i < COUNTS; i++) {
        to[i] = from[i] - less[i];
    }
}

uint64_t load_tally_errors(const struct load_tally *tally)
{
    uint64_t errors = 0;
    for (size_t i = 1; i < LOAD_CODES; i++) {
        errors += tally->codes[i];
    }
    return errors;
}
