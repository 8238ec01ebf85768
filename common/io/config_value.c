/* Sizes, durations and numbers as people write them. */
#include "common/io/config.h"

#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {"kB", UINT64_C(1000)},
    {"MB", UINT64_C(1000000)},
    {"GB", UINT64_C(1000000000)},
    {"TB", UINT64_C(1000000000000)},
    {NULL, 0},
};

/* No unit-less duration: "10" of what? */
static const struct unit duration_units[] = {
    {"us", 1},
    {"ms", UINT64_C(1000)},
    {"s", UINT64_C(1000000)},
    {"min", UINT64_C(60000000)},
    {"h", UINT64_C(3600000000)},
    {"d", UINT64_C(86400000000)},
    {NULL, 0},
};

/* "<digits> [spaces] <unit>", nothing else. */
static bool parse_with_unit(const char *text, const struct unit *units, uint64_t *ret_value)
{
    uint64_t number = 0;
    const char *at = text;
    if (*at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) {
            return false;
        }
    }
    while (*at == ' ') {
        at++;
    }
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcmp(at, unit->name) == 0) {
            return !__builtin_mul_overflow(number, unit->factor, ret_value);
        }
    }
    return false;
}

bool config_parse_size(const char *text, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    if (!parse_with_unit(text, size_units, &bytes) || bytes > INT64_MAX) {
        return false;
    }
    *ret_bytes = bytes;
    return true;
}

bool config_parse_duration(const char *text, int64_t *ret_us)
{
    uint64_t us = 0;
    if (!parse_with_unit(text, duration_units, &us) || us > INT64_MAX) {
        return false;
    }
    *ret_us = (int64_t)us;
    return true;
}
