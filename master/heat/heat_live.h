/*
 * Load as it is right now: per server, and per tablet that has any, of the last few seconds.
 *
 * Figures fade: each report counts for HEAT_LIVE_SECONDS about.  What has not been reported for
 * HEAT_LIVE_GONE_US is left out.  Bounded: HEAT_LIVE_TABLETS_MAX tablets; more are not followed.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_LIVE_H
#define MASTER_HEAT_HEAT_LIVE_H

#include "master/core/load/located_load.h"
#include "master/core/state/list.h"
#include "master/core/state/number_map.h"

#define HEAT_LIVE_SECONDS     3.0
#define HEAT_LIVE_GONE_US     INT64_C(10000000)
#define HEAT_LIVE_TABLETS_MAX 8192
#define HEAT_LIVE_KEYS        4
#define HEAT_LIVE_KEY_BYTES   128 /* of a frequent key; longer ones are cut */

/* A second. */
struct heat_rates {
    double reads;
    double read_rows;
    double read_bytes;
    double read_cpu; /* seconds of CPU time */
    double writes;
    double write_cells;
    double write_bytes;
    double write_cpu;
};

struct heat_live_key {
    double share; /* of the tablet's operations that were looked at */
    double reads; /* a second, at least */
    double writes;
    size_t key_bytes;
    uint8_t key[HEAT_LIVE_KEY_BYTES];
};

struct heat_live_tablet {
    struct list_link link; /* of its server */
    uint64_t tablet;
    uint64_t table;
    uint64_t server;
    struct row_range range; /* in keys */
    uint8_t *keys;
    int64_t heard_us;
    struct heat_rates rates;
    double appended; /* 0 to 1: of the writes, those above all before */
    struct heat_live_key frequent[HEAT_LIVE_KEYS];
    size_t frequent_count;
};

struct heat_live_server {
    struct list_link link;
    uint64_t number;
    int64_t heard_us;
    double capacity; /* processors */
    struct heat_rates rates;
    struct list tablets; /* of struct heat_live_tablet */
};

struct heat_live {
    struct list servers; /* of struct heat_live_server */
    struct number_map by_number;
    struct number_map tablets;
    size_t server_count;
};

void heat_live_init(struct heat_live *live);
void heat_live_deinit(struct heat_live *live);

void heat_live_take(struct heat_live *live, const struct located_report *report, int64_t now_us);

/* Let go of what has not been heard of. */
void heat_live_age(struct heat_live *live, int64_t now_us);

double heat_rates_cpu(const struct heat_rates *rates);

#endif /* MASTER_HEAT_HEAT_LIVE_H */
