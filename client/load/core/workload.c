#include "client/load/core/workload.h"

#include <stdio.h>
#include <string.h>

#define YCSB_ROW .keys = LOAD_KEY_HASHED, .records = 100000, .fields = 10, .value_bytes = 100
#define ROW_1K                                                                                 \
    .keys = LOAD_KEY_ORDERED, .records = 100000, .fields = 1, .value_bytes = 1000, .batch = 1, \
    .in_flight = 64
#define SHARE(kind, share) [kind] = (share)

const struct load_workload LOAD_WORKLOADS[] = {
    {.name = "write",
     .summary = "rows at random, or in order",
     .details =
         "One value of 1 000 bytes a row.  --batch N sends N rows a request; --keys series with\n"
         "--distribution sequential writes time series of --hosts machines in arrival order.",
     .percent = {SHARE(LOAD_WRITE, 100)},
     .distribution = LOAD_UNIFORM,
     ROW_1K},
    {.name = "read",
     .summary = "single rows at random",
     .details = "",
     .percent = {SHARE(LOAD_READ, 100)},
     .distribution = LOAD_UNIFORM,
     .needs_rows = true,
     ROW_1K},
    {.name = "add",
     .summary = "add 1 to a sum; to one cell, or --records N of them",
     .details =
         "AddToCell on an aggregate family: nothing is read.  With --verify the sums are read before\n"
         "and after, and must have grown by exactly what was acknowledged.",
     .percent = {SHARE(LOAD_ADD, 100)},
     .distribution = LOAD_UNIFORM,
     .keys = LOAD_KEY_COUNTER,
     .records = 1,
     .fields = 1,
     .value_bytes = 8,
     .batch = 1,
     .in_flight = 64},
    {.name = "scan",
     .summary = "the whole table, row by row",
     .details =
         "One pass by one scan; --operations N makes N passes, --in-flight N so many at once,\n"
         "--scan-rows N short ones from random rows.",
     .percent = {SHARE(LOAD_SCAN, 100)},
     .distribution = LOAD_UNIFORM,
     .keys = LOAD_KEY_ORDERED,
     .records = 100000,
     .operations = 1,
     .fields = 1,
     .value_bytes = 1000,
     .batch = 1,
     .in_flight = 1,
     .needs_rows = true},
    {.name = "ycsb-a",
     .summary = "half reads, half updates: a session store",
     .details = "",
     .percent = {SHARE(LOAD_READ, 50), SHARE(LOAD_UPDATE, 50)},
     .distribution = LOAD_ZIPFIAN,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "ycsb-b",
     .summary = "95 % reads, 5 % updates: photo tags",
     .details = "",
     .percent = {SHARE(LOAD_READ, 95), SHARE(LOAD_UPDATE, 5)},
     .distribution = LOAD_ZIPFIAN,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "ycsb-c",
     .summary = "reads only: a cache of profiles",
     .details = "",
     .percent = {SHARE(LOAD_READ, 100)},
     .distribution = LOAD_ZIPFIAN,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "ycsb-d",
     .summary = "95 % reads of the latest rows, 5 % inserts: status updates",
     .details = "",
     .percent = {SHARE(LOAD_READ, 95), SHARE(LOAD_INSERT, 5)},
     .distribution = LOAD_LATEST,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "ycsb-e",
     .summary = "95 % scans of up to 100 rows, 5 % inserts: threaded talks",
     .details = "",
     .percent = {SHARE(LOAD_SCAN, 95), SHARE(LOAD_INSERT, 5)},
     .distribution = LOAD_ZIPFIAN,
     .batch = 1,
     .scan_rows = 100,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "ycsb-f",
     .summary = "half reads, half read-modify-writes: a user database",
     .details =
         "A read-modify-write reads the row and then writes one field; its latency is that of both.",
     .percent = {SHARE(LOAD_READ, 50), SHARE(LOAD_RMW, 50)},
     .distribution = LOAD_ZIPFIAN,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true,
     YCSB_ROW},
    {.name = "random-read",
     .summary = "Bigtable paper: rows at random",
     .details =
         "The paper's rows are many more than memory holds: say a --records for which that is so;\n"
         "100 000 rows are soon in memory.",
     .percent = {SHARE(LOAD_READ, 100)},
     .distribution = LOAD_UNIFORM,
     .needs_rows = true,
     .each_once = true,
     ROW_1K},
    {.name = "random-read-memory",
     .summary = "Bigtable paper: rows at random from memory",
     .details =
         "As random-read, with so few rows (10 000) that the servers' memory holds all of them.",
     .percent = {SHARE(LOAD_READ, 100)},
     .distribution = LOAD_UNIFORM,
     .keys = LOAD_KEY_ORDERED,
     .records = 10000,
     .operations = 100000,
     .fields = 1,
     .value_bytes = 1000,
     .batch = 1,
     .in_flight = 64,
     .needs_rows = true},
    {.name = "random-write",
     .summary = "Bigtable paper: rows at random",
     .details = "",
     .percent = {SHARE(LOAD_WRITE, 100)},
     .distribution = LOAD_UNIFORM,
     .each_once = true,
     ROW_1K},
    {.name = "sequential-read",
     .summary = "Bigtable paper: every row once, in order",
     .details = "",
     .percent = {SHARE(LOAD_READ, 100)},
     .distribution = LOAD_SEQUENTIAL,
     .needs_rows = true,
     .each_once = true,
     ROW_1K},
    {.name = "sequential-write",
     .summary = "Bigtable paper: every row once, in order",
     .details = "",
     .percent = {SHARE(LOAD_WRITE, 100)},
     .distribution = LOAD_SEQUENTIAL,
     .each_once = true,
     ROW_1K},
    {.name = "paper-scan",
     .summary = "Bigtable paper: every row once, through the scan call",
     .details =
         "An operation is a scan of the whole table: --operations N makes N passes.  Rows are counted\n"
         "apart.",
     .percent = {SHARE(LOAD_SCAN, 100)},
     .distribution = LOAD_UNIFORM,
     .keys = LOAD_KEY_ORDERED,
     .records = 100000,
     .operations = 1,
     .fields = 1,
     .value_bytes = 1000,
     .batch = 1,
     .in_flight = 1,
     .needs_rows = true},
};
const size_t LOAD_WORKLOAD_COUNT = sizeof LOAD_WORKLOADS / sizeof LOAD_WORKLOADS[0];

const struct load_workload *load_workload_find(const char *name)
{
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        if (strcmp(LOAD_WORKLOADS[i].name, name) == 0) {
            return &LOAD_WORKLOADS[i];
        }
    }
    return NULL;
}

const char *load_kind_name(enum load_kind kind)
{
    static const char *const NAMES[LOAD_KINDS] = {"read", "write", "update", "insert",
                                                  "rmw",  "scan",  "add"};
    return NAMES[kind];
}

const char *load_distribution_name(enum load_distribution distribution)
{
    static const char *const NAMES[] = {"", "uniform", "zipfian", "latest", "sequential"};
    return NAMES[distribution];
}

const char *load_key_form_name(enum load_key_form form)
{
    static const char *const NAMES[] = {"", "ordered", "hashed", "series", "counter"};
    return NAMES[form];
}

enum load_kind load_workload_kind(const struct load_workload *workload, uint64_t dice)
{
    uint64_t below = 0;
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        below += workload->percent[kind];
        if (dice < below) {
            return (enum load_kind)kind;
        }
    }
    return LOAD_READ;
}

size_t load_field_name(enum load_key_form form, uint64_t index, char out[LOAD_FIELD_NAME_BYTES_MAX])
{
    static const char *const METRICS[] = {
        "CPU/CPU1_USR",      "CPU/CPU1_SYS",      "CPU/CPU1_IDLE",       "CPU/CPU2_USR",
        "CPU/CPU2_SYS",      "CPU/CPU2_IDLE",     "IO/BLK_READ",         "IO/BLK_WRITE",
        "IO/WAITING",        "MEM/FREE",          "MEM/CACHED",          "MEM/ANONYMOUS",
        "NET/ETH0_RX_BYTES", "NET/ETH0_TX_BYTES", "NET/ETH0_RX_PACKETS", "NET/ETH0_TX_PACKETS",
        "LOAD/1MIN",         "LOAD/5MIN",         "PROCESS/RUNNING",     "PROCESS/BLOCKED",
    };
    const uint64_t count = sizeof METRICS / sizeof METRICS[0];
    int size = 0;
    if (form == LOAD_KEY_SERIES && index < count) {
        size = snprintf(out, LOAD_FIELD_NAME_BYTES_MAX, "%s", METRICS[index]);
    } else if (form == LOAD_KEY_COUNTER) {
        size = snprintf(out, LOAD_FIELD_NAME_BYTES_MAX, "n");
    } else {
        size = snprintf(out, LOAD_FIELD_NAME_BYTES_MAX, "field%llu", (unsigned long long)index);
    }
    return (size_t)size;
}
