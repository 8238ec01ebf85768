/*
 * What the stories of the experiments share: their clock, their dice, and who is popular.
 *
 * Pure; for any thread.
 */
#ifndef CLIENT_LOAD_LAB_CORE_EXPERIMENTS_STORY_H
#define CLIENT_LOAD_LAB_CORE_EXPERIMENTS_STORY_H

#include <stddef.h>
#include <stdint.h>

#include "client/load/lab/core/experiments/experiment.h"

#define LAB_BEGIN_MS INT64_C(1425213901001) /* 2015-03-01 12:45:01.001 */
#define LAB_DAY_MS   INT64_C(86400000)

/* "20150301124501001", "20150301", "201503": of a time since 1970, which must not be before it. */
#define LAB_TIME_BYTES 24
const char *lab_time_text(int64_t time_ms, char out[LAB_TIME_BYTES]);
const char *lab_day_text(int64_t time_ms, char out[LAB_TIME_BYTES]);
const char *lab_month_text(int64_t time_ms, char out[LAB_TIME_BYTES]);
/* 1 to 31. */
unsigned lab_day_of_month(int64_t time_ms);

/* The number's dice: the same for the same world, number and throw. */
uint64_t lab_dice(const struct lab_world *world, uint64_t number, uint64_t throw_number);

/* One of [0, bound): `busy` of them, the first ones, get busy_share of all, evenly. */
uint64_t lab_popular(uint64_t dice, uint64_t bound, uint64_t busy, double busy_share);

/* A window of the history that lies about an event: [from, to) in numbers, at most `size` events. */
struct lab_window {
    uint64_t from;
    uint64_t to;
};
struct lab_window lab_window_about(const struct lab_world *world, uint64_t number, uint64_t size);

#endif /* CLIENT_LOAD_LAB_CORE_EXPERIMENTS_STORY_H */
