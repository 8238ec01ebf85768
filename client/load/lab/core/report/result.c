#include "client/load/lab/core/report/result.h"

#include <stdio.h>

#define SECOND_LEAST 1e-9

const char *lab_fault_name(enum lab_fault fault)
{
    switch (fault) {
    case LAB_MONOTONIC:
        return "monotonic";
    case LAB_POPULAR_ROW:
        return "popular_row";
    case LAB_POPULAR_SERIES:
        return "popular_series";
    case LAB_HOT_RANGE:
        return "hot_range";
    case LAB_GROWING_ROW:
        return "growing_row";
    case LAB_READS_FIRST:
        return "reads_first";
    case LAB_HEAVY:
        return "heavy";
    case LAB_LOOKS_AT_MUCH:
        return "looks_at_much";
    case LAB_LOOKS_AT_CELLS:
        return "looks_at_cells";
    case LAB_GIVES_MUCH:
        return "gives_much";
    case LAB_NO_ANSWER:
        return "no_answer";
    case LAB_WRONG_SUMS:
        return "wrong_sums";
    }
    return "";
}

bool lab_result_init(struct lab_result *result, const struct lab_experiment *experiment)
{
    bool good = true;
    *result = (struct lab_result){.experiment = experiment};
    for (size_t i = 0; i < experiment->variant_count; i++) {
        struct lab_variant_result *variant = &result->variants[i];
        variant->variant = &experiment->variants[i];
        good = lab_timeline_init(&variant->write.timeline) && good;
        for (size_t j = 0; j < LAB_QUERIES_MAX; j++) {
            good = lab_timeline_init(&variant->queries[j].timeline) && good;
        }
    }
    return good;
}

void lab_result_deinit(struct lab_result *result)
{
    for (size_t i = 0; i < LAB_VARIANTS_MAX; i++) {
        lab_timeline_deinit(&result->variants[i].write.timeline);
        for (size_t j = 0; j < LAB_QUERIES_MAX; j++) {
            lab_timeline_deinit(&result->variants[i].queries[j].timeline);
        }
    }
}

void lab_result_keep(struct lab_result *result, const char *table)
{
    if (result->kept_count < LAB_KEPT_MAX) {
        (void)snprintf(result->kept[result->kept_count++], LAB_TABLE_BYTES, "%s", table);
    }
}

double lab_phase_rate(const struct lab_phase *phase)
{
    return phase->length_s > SECOND_LEAST ? (double)phase->operations / phase->length_s : 0;
}

double lab_phase_looked_at_cells(const struct lab_phase *phase)
{
    return phase->operations > 0 ? (double)phase->cells_seen / (double)phase->operations : 0;
}

double lab_phase_given(const struct lab_phase *phase)
{
    return phase->operations > 0 ? (double)phase->bytes_given / (double)phase->operations : 0;
}

const char *lab_result_address(const struct lab_result *result, uint64_t server)
{
    for (size_t i = 0; i < result->server_count; i++) {
        if (result->servers[i].number == server) {
            return result->servers[i].address;
        }
    }
    return "";
}

double lab_worth(const struct lab_result *result,
                 const struct lab_variant_result *variant,
                 size_t phase)
{
    const struct lab_phase *of = phase == LAB_WRITES ? &variant->write : &variant->queries[phase];
    if (!variant->has_run) {
        return 0;
    }
    if (result->rate > 0) {
        return of->p99_ns > 0 ? 1e9 / (double)of->p99_ns : 0;
    }
    return lab_phase_rate(of);
}

bool lab_is_hot(const struct lab_variant_result *variant)
{
    for (size_t i = 0; i < variant->fault_count; i++) {
        enum lab_fault fault = variant->faults[i];
        if (fault == LAB_MONOTONIC || fault == LAB_POPULAR_ROW || fault == LAB_POPULAR_SERIES ||
            fault == LAB_HOT_RANGE) {
            return true;
        }
    }
    return false;
}
