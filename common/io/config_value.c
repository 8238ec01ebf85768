/* Sizes, durations and numbers as people write them. */
#include "common/io/config.h"

#include <inttypes.h>
#include <stdio.h>
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

/* --- back ------------------------------------------------------------------------------------- */

/* In the largest unit that it is a whole number of; the last unit is 1. */
static void format_quantity(uint64_t value,
                            const struct unit *units,
                            char ret_text[CONFIG_VALUE_SIZE_MAX])
{
    while (value == 0 ? units->factor > 1 : value % units->factor != 0) {
        units++;
    }
    (void)snprintf(ret_text, CONFIG_VALUE_SIZE_MAX, "\"%" PRIu64 " %s\"", value / units->factor,
                   units->name);
}

static void format_list(const struct config_text_list *list, char ret_text[CONFIG_VALUE_SIZE_MAX])
{
    int used = snprintf(ret_text, CONFIG_VALUE_SIZE_MAX, "[");
    for (size_t i = 0; i < list->count && used < CONFIG_VALUE_SIZE_MAX; i++) {
        used += snprintf(ret_text + used, (size_t)(CONFIG_VALUE_SIZE_MAX - used), "%s\"%s\"",
                         i > 0 ? ", " : "", list->items[i]);
    }
    if (used < CONFIG_VALUE_SIZE_MAX) {
        (void)snprintf(ret_text + used, (size_t)(CONFIG_VALUE_SIZE_MAX - used), "]");
    }
}

void config_format_value(const struct config_key *key, char ret_text[CONFIG_VALUE_SIZE_MAX])
{
    static const struct unit sizes[] = {
        {"TiB", UINT64_C(1) << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};
    static const struct unit times[] = {
        {"h", UINT64_C(3600000000)}, {"min", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1}};
    const char *text = NULL;
    switch (key->type) {
    case CONFIG_TEXT:
    case CONFIG_TEXT_JOINED:
        text = *(const char *const *)key->target;
        (void)snprintf(ret_text, CONFIG_VALUE_SIZE_MAX, "\"%s\"", text != NULL ? text : "");
        return;
    case CONFIG_TEXT_LIST:
        format_list(key->target, ret_text);
        return;
    case CONFIG_BOOL:
        (void)snprintf(ret_text, CONFIG_VALUE_SIZE_MAX, "%s",
                       *(const bool *)key->target ? "true" : "false");
        return;
    case CONFIG_NUMBER:
        (void)snprintf(ret_text, CONFIG_VALUE_SIZE_MAX, "%" PRId64, *(const int64_t *)key->target);
        return;
    case CONFIG_SIZE_BYTES:
        format_quantity(*(const uint64_t *)key->target, sizes, ret_text);
        return;
    case CONFIG_DURATION_US:
        format_quantity((uint64_t) * (const int64_t *)key->target, times, ret_text);
        return;
    }
}
