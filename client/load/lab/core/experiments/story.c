#include "client/load/lab/core/experiments/story.h"

#include <stdio.h>

#include "client/load/core/random.h"

#define FIRST_YEAR 1970

struct date {
    int year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};

static int is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970 to the year's first. */
static int64_t days_before(int year)
{
    int64_t past = year - 1;
    int64_t leaps = past / 4 - past / 100 + past / 400;
    const int64_t leaps_at_first = 477; /* of the years 1 to 1969 */
    return INT64_C(365) * (year - FIRST_YEAR) + leaps - leaps_at_first;
}

static struct date date_of(int64_t time_ms)
{
    static const int LENGTHS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t days = time_ms / LAB_DAY_MS;
    struct date date = {.year = FIRST_YEAR + (int)(days / 366), .month = 1};
    while (days_before(date.year + 1) <= days) {
        date.year++;
    }
    days -= days_before(date.year);
    for (;;) {
        int length = LENGTHS[date.month - 1] + (date.month == 2 ? is_leap(date.year) : 0);
        if (days < length) {
            break;
        }
        days -= length;
        date.month++;
    }
    date.day = (int)days + 1;
    return date;
}

const char *lab_time_text(int64_t time_ms, char out[LAB_TIME_BYTES])
{
    struct date date = date_of(time_ms);
    int of_day = (int)(time_ms % LAB_DAY_MS);
    (void)snprintf(out, LAB_TIME_BYTES, "%04d%02d%02d%02d%02d%02d%03d", date.year % 10000,
                   date.month, date.day, of_day / 3600000, of_day / 60000 % 60, of_day / 1000 % 60,
                   of_day % 1000);
    return out;
}

const char *lab_day_text(int64_t time_ms, char out[LAB_TIME_BYTES])
{
    struct date date = date_of(time_ms);
    (void)snprintf(out, LAB_TIME_BYTES, "%04d%02d%02d", date.year % 10000, date.month, date.day);
    return out;
}

const char *lab_month_text(int64_t time_ms, char out[LAB_TIME_BYTES])
{
    struct date date = date_of(time_ms);
    (void)snprintf(out, LAB_TIME_BYTES, "%04d%02d", date.year % 10000, date.month);
    return out;
}

unsigned lab_day_of_month(int64_t time_ms)
{
    return (unsigned)date_of(time_ms).day;
}

uint64_t lab_dice(const struct lab_world *world, uint64_t number, uint64_t throw_number)
{
    return load_mix(load_mix(world->seed + (throw_number << 48)) + load_mix(number + 1));
}

uint64_t lab_popular(uint64_t dice, uint64_t bound, uint64_t busy, double busy_share)
{
    uint64_t state = dice;
    if (busy >= bound) {
        return load_random_below(&state, bound);
    }
    if (load_random_unit(&state) < busy_share) {
        return load_random_below(&state, busy);
    }
    return busy + load_random_below(&state, bound - busy);
}

struct lab_window lab_window_about(const struct lab_world *world, uint64_t number, uint64_t size)
{
    uint64_t length = size < world->history ? size : world->history;
    uint64_t latest = world->history - length;
    uint64_t from = number > length / 2 ? number - length / 2 : 0;
    from = from < latest ? from : latest;
    return (struct lab_window){from, from + length};
}
