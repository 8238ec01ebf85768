#include "client/load/core/row_key.h"

#include <string.h>

#include "client/load/core/zipfian.h"

#define ORDERED_DIGITS    16
#define COUNTER_DIGITS    12
#define SERIES_START_MS   UINT64_C(1426535612045)
#define SERIES_STEP_MS    1000
#define HASHED_DIGITS_MIN UINT64_C(1000000000000000000) /* nearly all hashes have 19 digits */
#define HASHED_RANGE      UINT64_C(8223372036854775807)

/* At least so many digits, two at a time. */
static size_t put_number(uint8_t *out, uint64_t number, size_t width)
{
    static const char PAIRS[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    uint8_t digits[20];
    size_t count = 0;
    while (number >= 10) {
        count += 2;
        memcpy(digits + sizeof digits - count, PAIRS + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number > 0 || count == 0) {
        digits[sizeof digits - ++count] = (uint8_t)('0' + number);
    }
    while (count < width) {
        digits[sizeof digits - ++count] = '0';
    }
    memcpy(out, digits + sizeof digits - count, count);
    return count;
}

static size_t put_text(uint8_t *out, const char *text)
{
    size_t size = strlen(text);
    memcpy(out, text, size);
    return size;
}

static size_t put_series(uint8_t *out, uint64_t host, uint64_t time_ms)
{
    size_t size = put_text(out, "server");
    size += put_number(out + size, host + 1, 1);
    size += put_text(out + size, ".bbb.com#");
    return size + put_number(out + size, time_ms, 13);
}

size_t load_row_key(enum load_key_form form,
                    uint64_t hosts,
                    uint64_t number,
                    uint8_t out[LOAD_ROW_KEY_BYTES_MAX])
{
    size_t size = 0;
    switch (form) {
    case LOAD_KEY_ORDERED:
        return put_number(out, number, ORDERED_DIGITS);
    case LOAD_KEY_HASHED:
        size = put_text(out, "user");
        return size + put_number(out + size, load_fnv(number), 1);
    case LOAD_KEY_SERIES:
        return put_series(out, number % hosts, SERIES_START_MS + number / hosts * SERIES_STEP_MS);
    case LOAD_KEY_COUNTER:
        size = put_text(out, LOAD_COUNTER_PREFIX);
        return size + put_number(out + size, number, COUNTER_DIGITS);
    }
    return 0;
}

bool load_row_key_parse(enum load_key_form form,
                        const uint8_t *key,
                        size_t size,
                        uint64_t *ret_number)
{
    size_t prefix = form == LOAD_KEY_COUNTER ? strlen(LOAD_COUNTER_PREFIX) : 0;
    size_t digits = form == LOAD_KEY_COUNTER ? COUNTER_DIGITS : ORDERED_DIGITS;
    uint64_t number = 0;
    if ((form != LOAD_KEY_COUNTER && form != LOAD_KEY_ORDERED) || size != prefix + digits ||
        memcmp(key, LOAD_COUNTER_PREFIX, prefix) != 0) {
        return false;
    }
    for (size_t i = prefix; i < size; i++) {
        if (key[i] < '0' || key[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(key[i] - '0');
    }
    *ret_number = number;
    return true;
}

static uint64_t part_of(uint64_t whole, uint64_t index, uint64_t count)
{
    return (uint64_t)((double)whole / (double)count * (double)index);
}

size_t load_row_key_split(enum load_key_form form,
                          uint64_t hosts,
                          uint64_t records,
                          uint64_t index,
                          uint64_t count,
                          uint8_t out[LOAD_ROW_KEY_BYTES_MAX])
{
    size_t size = 0;
    switch (form) {
    case LOAD_KEY_ORDERED:
    case LOAD_KEY_COUNTER:
        return load_row_key(form, hosts, part_of(records, index, count), out);
    case LOAD_KEY_HASHED:
        size = put_text(out, "user");
        return size +
               put_number(out + size, HASHED_DIGITS_MIN + part_of(HASHED_RANGE, index, count), 1);
    case LOAD_KEY_SERIES:
        /* Names sort as text: "server1", "server10", ... from 1 000 to 9 999 evenly. */
        size = put_text(out, "server");
        return size + put_number(out + size, 1000 + part_of(9000, index, count), 1);
    }
    return 0;
}
