/*
 * Results of an experiment of the lab, made up: figures of four tablets on two servers, and what is looked for in what
 * the lab says of them.
 */
#ifndef TESTS_SUPPORT_LAB_RESULTS_H
#define TESTS_SUPPORT_LAB_RESULTS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/lab/core/report/verdict.h"

/* Operations of the four tablets: spread, or nearly all in the last one. */
static const uint64_t EVEN[] = {250, 250, 250, 250};
static const uint64_t ONE[] = {10, 10, 10, 970};

/* Write figures of four tablets on two servers, so many operations each. */
static inline void set_writes(struct lab_variant_result *variant, const uint64_t operations[4])
{
    static const char *const STARTS[] = {"", "b", "c", "d"};
    struct edubba_tablet_replicas tablets[4] = {0};
    struct edubba_replica copies[4] = {0};
    struct lab_phase *write = &variant->write;
    struct lab_moment moment = {.to_s = 1, .p99_ns = 2000000};
    for (size_t i = 0; i < 4; i++) {
        tablets[i].number = i + 1;
        copies[i] = (struct edubba_replica){
            .server = i % 2 + 1, .is_member = true, .is_primary = true, .is_wanted = true};
        tablets[i].state = "serving";
        tablets[i].replicas = &copies[i];
        tablets[i].replica_count = 1;
        tablets[i].start = edubba_bytes_of_text(STARTS[i]);
        tablets[i].end = edubba_bytes_of_text(i < 3 ? STARTS[i + 1] : "");
        moment.total += operations[i];
    }
    (void)lab_timeline_look(&write->timeline, lab_map_create(tablets, 4), 0);
    cr_assert(lab_timeline_add(&write->timeline, &moment, operations, 4));
    variant->has_run = true;
    variant->tablets_before = 4;
    variant->tablets_after = 4;
    variant->event_bytes = 50;
    write->has_run = true;
    write->length_s = 1;
    write->operations = moment.total;
    write->p99_ns = 2000000;
    write->judged = moment.total;
}

/* The caller drops it. */
static inline struct lab_result *result_of(const struct lab_experiment *experiment)
{
    struct lab_result *result = malloc(sizeof *result);
    cr_assert(result != NULL && lab_result_init(result, experiment));
    result->server_count = 2;
    for (size_t i = 0; i < 2; i++) {
        result->servers[i].number = i + 1;
        (void)snprintf(result->servers[i].address, LAB_ADDRESS_BYTES, "tcp://127.0.0.1:%zu", i + 1);
    }
    return result;
}

static inline void drop(struct lab_result *result)
{
    lab_result_deinit(result);
    free(result);
}

static inline bool has_fault(const struct lab_variant_result *variant, enum lab_fault fault)
{
    for (size_t i = 0; i < variant->fault_count; i++) {
        if (variant->faults[i] == fault) {
            return true;
        }
    }
    return false;
}

/* Refusals of the cluster, while the writes ran. */
static inline void refuse(struct lab_variant_result *variant, const char *reason, int times)
{
    struct edubba_event event = {.kind = "refuse", .reason = reason, .outcome = "refused"};
    for (int i = 0; i < times; i++) {
        lab_decided_add(&variant->decided, &event);
        lab_decided_add(&variant->decided_of_writes, &event);
    }
}

#define SAYS(text, part) \
    cr_assert(strstr((text), (part)) != NULL, "\"%s\" does not say \"%s\"", (text), (part))

#endif /* TESTS_SUPPORT_LAB_RESULTS_H */
