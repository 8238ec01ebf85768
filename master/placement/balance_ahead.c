#include <string.h>

#include "master/placement/balance_cut.h"

/* Rows as numbers: what is behind the part that two rows share, counted on. */

#define DIGITS_MAX 18
#define BYTES_MAX  7 /* so that sums of two fit */

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t shared_bytes(struct bytes a, struct bytes b)
{
    size_t count = 0;
    while (count < a.size_bytes && count < b.size_bytes && a.data[count] == b.data[count]) {
        count++;
    }
    return count;
}

/* The part of a row that counts. */
struct counter {
    size_t start;
    size_t size_bytes;
    uint64_t base;
    uint64_t limit; /* base to the power of size_bytes */
};

/* Digits: all that stand together, those before the first difference too, as it may carry. */
static struct counter counter_of(struct bytes a, struct bytes b)
{
    struct counter counter = {.start = shared_bytes(a, b), .base = 10, .limit = 1};
    size_t end = counter.start;

    while (end < a.size_bytes && end < b.size_bytes && is_digit(a.data[end]) &&
           is_digit(b.data[end])) {
        end++;
    }
    if (end == counter.start) {
        counter.base = 256;
        counter.size_bytes = BYTES_MAX;
    } else {
        while (counter.start > 0 && is_digit(a.data[counter.start - 1]) &&
               end - counter.start < DIGITS_MAX) {
            counter.start--;
        }
        counter.size_bytes = end - counter.start < DIGITS_MAX ? end - counter.start : DIGITS_MAX;
    }
    for (size_t i = 0; i < counter.size_bytes; i++) {
        counter.limit *= counter.base;
    }
    return counter;
}

static uint64_t read_counter(const struct counter *counter, struct bytes row)
{
    uint64_t value = 0;
    for (size_t i = 0; i < counter->size_bytes; i++) {
        size_t at = counter->start + i;
        uint8_t byte = at < row.size_bytes ? row.data[at] : 0;
        value = value * counter->base + (counter->base == 10 ? (uint64_t)(byte - '0') : byte);
    }
    return value;
}

static void write_counter(const struct counter *counter, uint64_t value, uint8_t *row)
{
    for (size_t i = counter->size_bytes; i > 0; i--) {
        uint8_t digit = (uint8_t)(value % counter->base);
        row[counter->start + i - 1] = counter->base == 10 ? (uint8_t)('0' + digit) : digit;
        value /= counter->base;
    }
}

/* Of the points, how many lie behind where the progress is measured from: old ones stand for more time than
 * for load, since what they are made of is forgotten little by little. */
static size_t newest_of(size_t point_count)
{
    return point_count / 4 > 0 ? point_count / 4 : 1;
}

bool cut_ahead(const struct balance_detail *detail,
               const struct row_range *range,
               uint64_t ahead_ns,
               struct arena *arena,
               struct bytes *ret_row)
{
    size_t count = detail->load.point_count;
    if (count < 3 || detail->elapsed_ns == 0) {
        return false;
    }
    size_t newest = newest_of(count);
    struct bytes first = detail->load.points[count - 1 - newest].row;
    struct bytes last = detail->load.points[count - 1].row;
    struct counter counter = counter_of(first, last);
    uint64_t from = read_counter(&counter, first);
    uint64_t to = read_counter(&counter, last);
    if (to <= from) {
        return false;
    }
    /* All points stand for as much load; the last one's part is still to come when it is reached. */
    uint64_t window_ns = detail->load.window_ns > 0 ? detail->load.window_ns : detail->elapsed_ns;
    double point_ns = (double)window_ns / (double)count;
    double step = (double)(to - from) / (point_ns * (double)newest) * ((double)ahead_ns + point_ns);
    if (step >= (double)(counter.limit - to) - 1) {
        return false;
    }
    size_t size_bytes = counter.start + counter.size_bytes;
    uint8_t *row = arena_allocate(arena, size_bytes);
    if (row == NULL) {
        return false;
    }
    memcpy(row, last.data, size_bytes < last.size_bytes ? size_bytes : last.size_bytes);
    write_counter(&counter, to + (uint64_t)step + 1, row);
    *ret_row = (struct bytes){row, size_bytes};
    return bytes_compare(*ret_row, last) > 0 && bytes_compare(*ret_row, range->start) > 0 &&
           (range->end.size_bytes == 0 || bytes_compare(*ret_row, range->end) < 0);
}
