#include "client/load/lab/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum edubba_code add_up(struct edubba_table *table,
                               const struct lab_variant *variant,
                               int64_t *sums,
                               struct edubba_error *error)
{
    struct edubba_scan *scan = NULL;
    const struct edubba_row *row = NULL;
    enum edubba_code code = edubba_scan_open(table, NULL, &scan, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    while ((code = edubba_scan_next(scan, &row, error)) == EDUBBA_OK && row != NULL) {
        for (size_t i = 0; i < row->cell_count; i++) {
            struct lab_sum_cell sum;
            if (variant->sum_of_cell(row, &row->cells[i], &sum)) {
                sums[sum.index] += sum.amount;
            }
        }
    }
    edubba_scan_close(scan);
    return code;
}

static void compare(const int64_t *sums,
                    const int64_t *given,
                    const int64_t *doubted,
                    struct lab_variant_result *result)
{
    for (size_t i = 0; i < LAB_SUMS_MAX; i++) {
        result->sums_checked += sums[i] != 0 || given[i] != 0 ? 1 : 0;
        if (sums[i] >= given[i] && sums[i] <= given[i] + doubted[i]) {
            continue;
        }
        if (result->sums_wrong++ == 0) {
            (void)snprintf(result->sums_example, sizeof result->sums_example,
                           "sum %zu is %" PRId64 ", and %" PRId64 " were given", i, sums[i],
                           given[i]);
        }
    }
}

enum edubba_code lab_audit(struct edubba_table *table,
                           const int64_t *given,
                           const int64_t *doubted,
                           struct lab_variant_result *result,
                           struct edubba_error *error)
{
    int64_t *sums = calloc(LAB_SUMS_MAX, sizeof *sums);
    if (sums == NULL) {
        error->code = EDUBBA_RESOURCE_EXHAUSTED;
        (void)snprintf(error->text, sizeof error->text, "out of memory");
        return error->code;
    }
    enum edubba_code code = add_up(table, result->variant, sums, error);
    if (code == EDUBBA_OK) {
        compare(sums, given, doubted, result);
    }
    free(sums);
    return code;
}
