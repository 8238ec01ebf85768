/*
 * Load on the servers of replica_fixture.h, second by second: a test says which rows of table "t" are written to and how
 * much of a server's time that takes, whoever serves them reports it, and what the catalog has decided is read as events.
 */
#ifndef TESTS_SUPPORT_CATALOG_LOAD_H
#define TESTS_SUPPORT_CATALOG_LOAD_H

#include "tests/support/replica_fixture.h"

#define SECOND_CPU_NS UINT64_C(1000000000)
#define LOADS_MAX     32
#define OBSERVATIONS  100 /* a second, of each tablet */

/* Load on rows of table "t": each row is a point, and takes so much of a server's time. */
struct row_load {
    const char *row;
    double percent;
};

static struct row_load loads[LOADS_MAX];
static size_t load_count;
static uint64_t reports;
static uint32_t appended_permille;

/* Rows "a00", "a01", ... of equal load, together `percent` of a server's time. */
__attribute__((unused)) static void spread_load(size_t count, double percent)
{
    static char rows[LOADS_MAX][24];
    load_count = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(rows[i], sizeof rows[i], "a%02zu", i);
        loads[i] = (struct row_load){rows[i], percent / (double)count};
    }
}

/* --- time ------------------------------------------------------------------------------------- */

/* What a server's primaries have had to do in the last second. */
struct told {
    struct tablet_load tablets[64];
    struct load_point points[64][LOAD_POINTS_MAX];
    struct load_key keys[64][1];
    size_t count;
};

__attribute__((unused)) static void tell(struct told *told, const struct location *location)
{
    struct tablet_load *load = &told->tablets[told->count];
    struct load_point *points = told->points[told->count];
    struct load_key *key = told->keys[told->count];
    size_t count = 1;
    double most = 0;

    cr_assert_lt(told->count, 64);
    *load = (struct tablet_load){.tablet = location->tablet};
    points[0] = (struct load_point){.row = location->range.start};
    for (size_t i = 0; i < load_count; i++) {
        const struct bytes row = bytes_of_text(loads[i].row);
        if (!row_range_contains(&location->range, row)) {
            continue;
        }
        if (bytes_compare(row, location->range.start) > 0) {
            points[count++] = (struct load_point){.row = row};
        }
        points[count - 1].writes = (uint64_t)(loads[i].percent * 100);
        load->figures.writes += (uint64_t)(loads[i].percent * 100);
        load->figures.write_cpu_ns += (uint64_t)(loads[i].percent * 1e7);
        if (loads[i].percent > most) {
            most = loads[i].percent;
            key[0] = (struct load_key){row, 0, (uint64_t)(loads[i].percent * 100)};
        }
    }
    if (load->figures.writes > 0) {
        load->detail = (struct load_detail){points, count, key, 1, OBSERVATIONS, appended_permille};
        told->count++;
    }
}

/* A second goes by: everybody reports, proposes, follows. */
__attribute__((unused)) static void second(void)
{
    static struct told told[SERVERS];
    struct locate_response where = driver_locate(&driver, "t", "");

    memset(told, 0, sizeof told);
    reports++;
    for (size_t i = 0; i < where.location_count; i++) {
        tell(&told[where.locations[i].server - 1], &where.locations[i]);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.load = (struct load_report){reports, 1000000000, SECOND_CPU_NS,
                                                    told[i].tablets, told[i].count};
        if (!servers[i].down) {
            (void)replica_sync(&driver, &servers[i]);
        }
        servers[i].fake.load = (struct load_report){0};
    }
    replicas_work(&driver, servers, SERVERS, 4);
}

__attribute__((unused)) static void seconds(int count)
{
    for (int i = 0; i < count; i++) {
        second();
    }
}

/* --- what is asked of the catalog ------------------------------------------------------------- */

__attribute__((unused)) static struct list_events_response list_events(const char *table,
                                                                       uint64_t after)
{
    struct buffer body = BUFFER_INIT;
    const struct list_events_request list = {bytes_of_text(table), after, 0};
    struct list_events_response response;
    list_events_request_encode(&list, &body);
    uint64_t request = driver_send(&driver, METHOD_LIST_EVENTS, &body);
    cr_assert_eq(
        list_events_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* NULL is any. */
__attribute__((unused)) static size_t count_events(const char *kind,
                                                   const char *reason,
                                                   const char *outcome)
{
    struct list_events_response list = list_events("", 0);
    size_t count = 0;
    for (size_t i = 0; i < list.event_count; i++) {
        const struct event *event = &list.events[i];
        count += (kind == NULL || bytes_equal(event->kind, bytes_of_text(kind))) &&
                 (reason == NULL || bytes_equal(event->reason, bytes_of_text(reason))) &&
                 (outcome == NULL || bytes_equal(event->outcome, bytes_of_text(outcome)));
    }
    return count;
}

/* Table "t", without load. */
__attribute__((unused)) static void make_table(uint32_t replicas)
{
    uint64_t request = create_table("t", replicas, 1, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
    reports = 0;
    load_count = 0;
    appended_permille = 0;
}

__attribute__((unused)) static size_t count_tablets(void)
{
    return driver_locate(&driver, "t", "").location_count;
}

/* Percent of its time that the busiest server uses. */
__attribute__((unused)) static double busiest(void)
{
    struct locate_response where = driver_locate(&driver, "t", "");
    double use[SERVERS] = {0};
    double most = 0;
    for (size_t i = 0; i < where.location_count; i++) {
        for (size_t j = 0; j < load_count; j++) {
            if (row_range_contains(&where.locations[i].range, bytes_of_text(loads[j].row))) {
                use[where.locations[i].server - 1] += loads[j].percent;
            }
        }
    }
    for (size_t i = 0; i < SERVERS; i++) {
        most = use[i] > most ? use[i] : most;
    }
    return most;
}

#endif /* TESTS_SUPPORT_CATALOG_LOAD_H */
