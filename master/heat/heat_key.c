#include "master/heat/heat_key.h"

#define DIGITS_MAX     18 /* more than a double can tell apart */
#define FINEST         1e-16
#define PRINTABLE_LOW  0x20
#define PRINTABLE_HIGH 0x7e

/* Runs of bytes that keys are made of, ascending: a number system is those of them that are used. */
struct run {
    uint8_t first;
    uint8_t last;
};

static const struct run runs[] = {{'0', '9'}, {'A', 'F'}, {'G', 'Z'}, {'a', 'f'}, {'g', 'z'}};

#define RUN_COUNT      (sizeof runs / sizeof *runs)
#define USES_PRINTABLE (1U << RUN_COUNT)
#define USES_ALL       (USES_PRINTABLE << 1)

struct bytes heat_key_cut(struct bytes key)
{
    return (struct bytes){key.data, key.size_bytes > HEAT_KEY_BYTES_MAX ? HEAT_KEY_BYTES_MAX
                                                                        : key.size_bytes};
}

static unsigned use_of(uint8_t byte)
{
    for (size_t i = 0; i < RUN_COUNT; i++) {
        if (byte >= runs[i].first && byte <= runs[i].last) {
            return 1U << i;
        }
    }
    return byte >= PRINTABLE_LOW && byte <= PRINTABLE_HIGH ? USES_PRINTABLE : USES_ALL;
}

/* Which digit of the number system byte is, and how many there are. */
static unsigned digit_of(unsigned uses, uint8_t byte, unsigned *ret_base)
{
    unsigned digit = 0;
    unsigned base = 0;

    if ((uses & USES_ALL) != 0) {
        *ret_base = 256;
        return byte;
    }
    if ((uses & USES_PRINTABLE) != 0) {
        *ret_base = PRINTABLE_HIGH - PRINTABLE_LOW + 1;
        return (unsigned)byte - PRINTABLE_LOW;
    }
    for (size_t i = 0; i < RUN_COUNT; i++) {
        if ((uses & (1U << i)) != 0) {
            unsigned size = (unsigned)runs[i].last - runs[i].first + 1;
            if (byte >= runs[i].first && byte <= runs[i].last) {
                digit = base + (unsigned)(byte - runs[i].first);
            }
            base += size;
        }
    }
    *ret_base = base;
    return digit;
}

static size_t common_prefix(struct bytes a, struct bytes b)
{
    size_t least = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    size_t common = 0;
    while (common < least && a.data[common] == b.data[common]) {
        common++;
    }
    return common;
}

double heat_key_fraction(struct bytes low, struct bytes high, struct bytes key)
{
    const struct bytes keys[3] = {low, high, key};
    double values[3] = {0, 0, 0};
    double scale = 1;

    if (bytes_compare(key, low) <= 0) {
        return 0;
    }
    if (bytes_compare(key, high) >= 0) {
        return 1;
    }
    size_t at = common_prefix(low, high);
    for (size_t digits = 0; digits < DIGITS_MAX && scale > FINEST; digits++, at++) {
        unsigned uses = 0;
        unsigned base = 0;
        for (size_t i = 0; i < 3; i++) {
            uses |= at < keys[i].size_bytes ? use_of(keys[i].data[at]) : 0;
        }
        if (uses == 0) {
            break; /* all of them have ended */
        }
        for (size_t i = 0; i < 3; i++) {
            unsigned digit = 0;
            if (at < keys[i].size_bytes) {
                digit = digit_of(uses, keys[i].data[at], &base);
            }
            values[i] += base == 0 ? 0 : scale * digit / base;
        }
        scale /= base;
    }
    double span = values[1] - values[0];
    double fraction = span > 0 ? (values[2] - values[0]) / span : 0.5;
    return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
}
