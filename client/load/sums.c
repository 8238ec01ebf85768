#include "client/load/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/row_key.h"

static enum edubba_code take_row(const struct edubba_row *row, uint64_t count, int64_t *ret_values)
{
    uint64_t number = 0;
    if (!load_row_key_parse(LOAD_KEY_COUNTER, row->key.data, row->key.size, &number) ||
        number >= count || row->cell_count == 0) {
        return EDUBBA_OK; /* of a run with more of them */
    }
    return edubba_aggregate_value(row->cells[0].value, &ret_values[number]);
}

/* All sums; 0 where there is none. */
static enum edubba_code read_sums(struct edubba_table *table,
                                  uint64_t count,
                                  int64_t *ret_values,
                                  struct edubba_error *error)
{
    struct edubba_bounds range = {.start = EDUBBA_TEXT(LOAD_COUNTER_PREFIX),
                                  .end = EDUBBA_TEXT("sum$")};
    struct edubba_scan_options options = {.ranges = &range, .range_count = 1};
    struct edubba_scan *scan = NULL;
    const struct edubba_row *row = NULL;
    enum edubba_code code = edubba_scan_open(table, &options, &scan, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    do {
        code = edubba_scan_next(scan, &row, error);
        if (code == EDUBBA_OK && row != NULL) {
            code = take_row(row, count, ret_values);
        }
    } while (code == EDUBBA_OK && row != NULL);
    edubba_scan_close(scan);
    return code;
}

enum edubba_code load_sums_begin(struct load_sums *sums,
                                 struct edubba_table *table,
                                 uint64_t count,
                                 struct edubba_error *error)
{
    sums->count = count;
    sums->before = calloc(count, sizeof *sums->before);
    sums->acknowledged = calloc(count, sizeof *sums->acknowledged);
    sums->unknown = calloc(count, sizeof *sums->unknown);
    if (sums->before == NULL || sums->acknowledged == NULL || sums->unknown == NULL) {
        error->code = EDUBBA_RESOURCE_EXHAUSTED;
        (void)snprintf(error->text, sizeof error->text, "no memory to verify %" PRIu64 " counters",
                       count);
        return error->code;
    }
    return read_sums(table, count, sums->before, error);
}

void load_sums_deinit(struct load_sums *sums)
{
    free(sums->before);
    free(sums->acknowledged);
    free(sums->unknown);
    *sums = (struct load_sums){0};
}

enum edubba_code load_sums_check(struct load_sums *sums,
                                 struct edubba_table *table,
                                 struct load_sums_verdict *ret_verdict,
                                 struct edubba_error *error)
{
    struct load_sums_verdict verdict = {.checked = sums->count};
    int64_t *after = calloc(sums->count, sizeof *after);
    if (after == NULL) {
        error->code = EDUBBA_RESOURCE_EXHAUSTED;
        (void)snprintf(error->text, sizeof error->text, "no memory to verify");
        return error->code;
    }
    enum edubba_code code = read_sums(table, sums->count, after, error);
    for (uint64_t i = 0; code == EDUBBA_OK && i < sums->count; i++) {
        int64_t grown = after[i] - sums->before[i];
        int64_t least = (int64_t)sums->acknowledged[i];
        int64_t most = least + (int64_t)sums->unknown[i];
        if (grown >= least && grown <= most) {
            continue;
        }
        if (verdict.wrong == 0) {
            int size = snprintf(verdict.example, sizeof verdict.example,
                                LOAD_COUNTER_PREFIX "%012" PRIu64 " has grown by %" PRId64
                                                    ", not by %" PRId64,
                                i, grown, least);
            if (most > least) {
                (void)snprintf(verdict.example + size, sizeof verdict.example - (size_t)size,
                               " to %" PRId64, most);
            }
        }
        verdict.wrong++;
    }
    free(after);
    if (code == EDUBBA_OK) {
        *ret_verdict = verdict;
    }
    return code;
}
