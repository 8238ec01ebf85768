#include <stdio.h>

#include "tests/sim/placement/world.h"

#define WHATEVER UINT32_MAX

/* --- rows that tablets begin at ----------------------------------------------------------------------- */

static void start_number(uint32_t tablet, uint32_t count, char *row, size_t row_bytes)
{
    (void)snprintf(row, row_bytes, "%010llu",
                   (unsigned long long)(UINT64_C(10000000000) / count * tablet));
}

static void start_day(uint32_t tablet, uint32_t count, char *row, size_t row_bytes)
{
    (void)snprintf(row, row_bytes, "2017%04u#", tablet + 726 - count);
}

/* --- loads ---------------------------------------------------------------------------------------------- */

/* METRIC: 100 000 machines, 100 metrics each every 5 s; a row each, appended behind its machine's. */
static void load_metric(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 100000; i++) {
        (void)snprintf(row, sizeof row, "server%06u.bbb.com#14265356", i);
        points_add(world, row, 0, 20, 20e3, 0);
    }
}

/* SENSOR: 10 M meters, by day: at midnight all of them write into the new day. */
static void load_sensor_by_day(struct world *world, uint32_t second)
{
    char row[64];
    if (second % 300 != 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 10000; i++) {
        (void)snprintf(row, sizeof row, "2017%04u#%010u", 726 + second / 300, i * 1000);
        points_add(world, row, 0, 50, 20e3, 0);
    }
}

/* The same by meter. */
static void load_sensor_by_meter(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 10000; i++) {
        (void)snprintf(row, sizeof row, "%010llu#20170726", (unsigned long long)i * 1000000);
        points_add(world, row, 0, 50, 20e3, 0);
    }
}

/* A writer behind whose rows nothing is: what it wrote in the last second. */
static void append(
    struct world *world, const char *prefix, uint32_t second, double writes, uint32_t stream)
{
    char row[96];
    for (uint32_t i = 0; i < 32; i++) {
        (void)snprintf(row, sizeof row, "%s%013llu", prefix,
                       UINT64_C(1426535612000) + (unsigned long long)second * 1000 + i * 1000 / 32);
        points_add(world, row, 0, writes / 32, 20e3, stream);
    }
}

static void load_battery_time(struct world *world, uint32_t second)
{
    points_clear(world);
    append(world, "BATTERY#", second, 100000, 1);
}

static void load_battery_salted(struct world *world, uint32_t second)
{
    char prefix[32];
    points_clear(world);
    for (uint32_t salt = 0; salt < 3; salt++) {
        (void)snprintf(prefix, sizeof prefix, "BATTERY#%u#", salt);
        append(world, prefix, second, 100000.0 / 3, salt + 1);
    }
}

/* Eight servers' parts are well below what is split: at just that, noise decides when the last split is. */
static void load_battery_promoted(struct world *world, uint32_t second)
{
    char row[64];
    points_clear(world);
    for (uint32_t user = 0; user < 1000; user++) {
        (void)snprintf(row, sizeof row, "BATTERY#user%04u#%013llu", user,
                       UINT64_C(1426535612000) + (unsigned long long)second * 1000);
        points_add(world, row, 0, 100, 18e3, user + 1);
    }
}

/* QUOTE: 5 000 symbols, of which 300 are 90 % of the messages. */
static void load_quote(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 5000; i++) {
        bool busy = i * 7919 % 5000 < 300;
        (void)snprintf(row, sizeof row, "NASDAQ#S%04u#1426535612156", i);
        points_add(world, row, 0, busy ? 900 : 300000.0 * 0.1 / 4700, 20e3, 0);
    }
}

/* One row takes most of what a server can do. */
static void load_celebrity(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(row, sizeof row, "%010llu", (unsigned long long)i * 10000000 + 5);
        points_add(world, row, i == 503 ? 40000 : 50, 0, 20e3, 0);
    }
}

/* A hot range that goes somewhere else every minute. */
static void load_moving(struct world *world, uint32_t second)
{
    char row[64];
    uint64_t at = (uint64_t)(second / 60) * 7919 % 90;
    if (second % 60 != 0 && second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(row, sizeof row, "%010llu",
                       (unsigned long long)(at * 100000000 + i * 100000));
        points_add(world, row, 60, 0, 20e3, 0);
    }
}

static void load_even(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 10000; i++) {
        (void)snprintf(row, sizeof row, "%010llu", (unsigned long long)i * 1000000);
        points_add(world, row, 30, 10, 10e3, 0);
    }
}

/* Primaries stand together at first: a third of the rows is read more often. */
static void load_uneven(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 9000; i++) {
        (void)snprintf(row, sizeof row, "%010llu", (unsigned long long)i * 1111111);
        points_add(world, row, i % 300 < 25 ? 40 : 10, 5, 20e3, 0);
    }
}

/* A hot afternoon, and nobody after it. */
static void load_evening(struct world *world, uint32_t second)
{
    if (second == 600) {
        points_clear(world);
    }
    load_even(world, second);
}

/* Scans that touch everything. */
static void load_wide(struct world *world, uint32_t second)
{
    load_even(world, second);
}

/* A hundred thousand tablets, some ten times as busy as others, and a hundred servers with twice as much. */
static void load_thousand(struct world *world, uint32_t second)
{
    char row[64];
    if (second > 1) {
        return;
    }
    points_clear(world);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t busy = 1 + (uint32_t)prng_below(&world->prng, 10);
        busy *= i % 1000 < 100 ? 2 : 1; /* all of them on the first hundred servers */
        (void)snprintf(row, sizeof row, "%010llu", (unsigned long long)i * 100000 + 5);
        points_add(world, row, 20.0 * busy, 20.0 * busy, 20e3, 0);
    }
}

static void servers_come_and_go(struct world *world, uint32_t second)
{
    if (second == 120) {
        world_add_servers(world, 4);
    } else if (second == 400) {
        world_drain(world, 1);
        world_drain(world, 2);
    }
}

const struct scenario scenarios[] = {
    {"metric", "100 000 machines, 2 M cells/s, from four tablets on 100 servers", 100, 4, 1, 900, 0,
     load_metric, NULL, start_number, 1.2, 240, 300, 2000, 2000, 0, 0, BALANCE_FAR_OVER},
    {"sensor_by_day", "DATE#METER: every five minutes all meters write into a new day", 20, 100, 1,
     1500, 0, load_sensor_by_day, NULL, start_day, 1.4, 0, 0, 400, 500, 8, 0, BALANCE_FAR_OVER},
    {"sensor_by_meter", "METER#DATE: it is even from the first second on", 20, 100, 1, 900, 0,
     load_sensor_by_meter, NULL, start_number, 1.1, 1, 899, 0, 0, 0, 0, 0},
    {"battery_time", "BATTERY#TS: everything is appended at the end", 8, 1, 1, 600, 0,
     load_battery_time, NULL, start_number, 0, 0, 0, 60, 60, 10, BALANCE_MONOTONIC, BALANCE_AHEAD},
    {"battery_salted", "BATTERY#SALT#TS, three salts", 8, 1, 1, 600, 0, load_battery_salted, NULL,
     start_number, 3.5, 0, 0, 190, 240, 20, BALANCE_MONOTONIC, BALANCE_AHEAD},
    {"battery_promoted", "BATTERY#USER#TS, a thousand users", 8, 1, 1, 900, 0,
     load_battery_promoted, NULL, start_number, 1.25, 60, 300, 60, 80, 2, 0, BALANCE_FAR_OVER},
    {"quote", "5 000 symbols, 300 of them take 90 %", 16, 1, 1, 900, 0, load_quote, NULL,
     start_number, 1.25, 120, 300, 120, 160, 2, 0, BALANCE_FAR_OVER},
    {"celebrity", "one row takes 80 % of a server's time", 8, 40, 1, 900, 0, load_celebrity, NULL,
     start_number, 0, 0, 300, 10, 60, 2, BALANCE_POPULAR_KEY, 0},
    {"moving", "a hot range that goes elsewhere every minute", 16, 64, 1, 1200, 0, load_moving,
     NULL, start_number, 0, 0, 0, 600, 600, 60, 0, BALANCE_FAR_OVER},
    {"servers", "four servers join, later two leave", 12, 96, 1, 900, 0, load_even,
     servers_come_and_go, start_number, 1.3, 600, 300, 0, 120, 4, 0, 0},
    {"replicas", "three replicas, some primaries busier: leading is handed over", 9, 90, 3, 900, 0,
     load_uneven, NULL, start_number, 1.2, 200, 300, 60, 60, 2, 0, 0},
    {"wide", "scans that touch both sides of every cut", 8, 4, 1, 300, 0.8, load_wide, NULL,
     start_number, 0, 0, 200, 0, 20, 0, BALANCE_TOO_WIDE, 0},
    {"evening", "hot for ten minutes, then nothing for two hours: what was split is merged", 8, 1,
     1, 7200, 0, load_evening, NULL, start_number, 0, 0, 600, 80, 80, 2, 0, BALANCE_FAR_OVER, 1},
    {"thousand", "1 000 servers, 100 000 tablets, every tenth server twice as busy", 1000, 100000,
     1, 300, 0, load_thousand, NULL, start_number, 1.15, 150, 60, 0, WHATEVER, 0, 0, 0},
};

const size_t scenario_count = sizeof scenarios / sizeof *scenarios;
