#include "tabletserver/tablet/key_sampler.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* --- life --------------------------------------------------------------------------------------- */

enum status key_sampler_init(struct key_sampler *sampler, uint64_t seed)
{
    *sampler = (struct key_sampler){
        .prng = prng_of_seed(seed), .top = SAMPLED_TOP_INIT, .top_before = SAMPLED_TOP_INIT};
    frequent_keys_init(&sampler->frequent);
    if (sampled_rows_init(&sampler->known, KEY_SAMPLER_ROWS_MAX) != STATUS_OK ||
        sampled_rows_init(&sampler->spare, KEY_SAMPLER_ROWS_MAX) != STATUS_OK ||
        sampled_rows_init(&sampler->scans, KEY_SAMPLER_SCANS_MAX) != STATUS_OK ||
        sampled_rows_init(&sampler->spare_scans, KEY_SAMPLER_SCANS_MAX) != STATUS_OK) {
        key_sampler_deinit(sampler);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void key_sampler_deinit(struct key_sampler *sampler)
{
    sampled_rows_deinit(&sampler->known);
    sampled_rows_deinit(&sampler->spare);
    sampled_rows_deinit(&sampler->scans);
    sampled_rows_deinit(&sampler->spare_scans);
    buffer_deinit(&sampler->top.row);
    buffer_deinit(&sampler->top_before.row);
    frequent_keys_deinit(&sampler->frequent);
}

void key_sampler_forget(struct key_sampler *sampler)
{
    sampler->known.count = 0;
    sampler->scans.count = 0;
    frequent_keys_forget(&sampler->frequent);
    sampler->elapsed_ns = 0;
    sampler->observations = 0;
    sampler->appended = 0;
    sampler->judged = 0;
    sampler->top.count = 0;
    sampler->top_before.count = 0;
    sampler->top_ns = 0;
}

/* --- taking ------------------------------------------------------------------------------------- */

/* What is left of a weight after so long: nine tenths of each second. */
static double decay_factor(uint64_t elapsed_ns)
{
    const uint64_t step_ns = KEY_SAMPLER_WINDOW_NS / 10;
    double factor = 1 - 0.1 * (double)(elapsed_ns % step_ns) / (double)step_ns;
    for (uint64_t i = 0; i < elapsed_ns / step_ns && i < 200; i++) {
        factor *= 0.9;
    }
    return factor;
}

static int by_row(const void *a, const void *b)
{
    const struct key_sample *left = a;
    const struct key_sample *right = b;
    if ((left->touch == KEY_SCANNED) != (right->touch == KEY_SCANNED)) {
        return left->touch == KEY_SCANNED ? 1 : -1;
    }
    return bytes_compare(left->row, right->row);
}

/* One of each row; scans, which come last, each by itself.  Returns how many; *ret_rows of them are rows. */
static size_t gather(const struct key_sample *samples,
                     size_t count,
                     const double weights[KEY_TOUCH_COUNT],
                     struct sampled_row *out,
                     size_t *ret_rows)
{
    size_t gathered = 0;
    *ret_rows = 0;
    for (size_t i = 0; i < count; i++) {
        const struct key_sample *sample = &samples[i];
        bool scan = sample->touch == KEY_SCANNED;
        double weight = weights[sample->touch];
        if (scan || gathered == 0 || !bytes_equal(out[gathered - 1].row, sample->row)) {
            out[gathered++] = (struct sampled_row){.row = sample->row, .end = sample->end};
        }
        out[gathered - 1].reads += sample->touch != KEY_WRITTEN ? weight : 0;
        out[gathered - 1].writes += sample->touch == KEY_WRITTEN ? weight : 0;
        *ret_rows = scan ? *ret_rows : gathered;
    }
    return gathered;
}

static bool is_above(struct bytes row, const struct sampled_top *top)
{
    return top->count == 0 || bytes_compare(row, buffer_bytes(&top->row)) > 0;
}

/* Without memory what was known is forgotten: a row that is too low would make others appended. */
static void raise_top(struct sampled_top *top, struct bytes row, uint32_t count)
{
    if (is_above(row, top)) {
        buffer_reset(&top->row);
        buffer_append_bytes(&top->row, row);
    }
    top->count = top->row.failed ? 0 : top->count + count;
}

/* Of the list, which has both windows, each row is a sample at least. */
void key_sampler_look(const struct key_sampler *sampler,
                      const struct row_range *range,
                      struct sampled_top *top)
{
    const struct sampled_rows *known = &sampler->known;
    const struct sampled_top *tops[] = {&sampler->top, &sampler->top_before};
    for (uint32_t i = 0; i < known->count; i++) {
        if (known->rows[i].writes > 0 && row_range_contains(range, known->rows[i].row)) {
            raise_top(top, known->rows[i].row, 1);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (tops[i]->count > 0 && row_range_contains(range, buffer_bytes(&tops[i]->row))) {
            raise_top(top, buffer_bytes(&tops[i]->row), 1);
        }
    }
}

void key_sampler_begin(struct key_sampler *sampler, struct sampled_top *top)
{
    key_sampler_forget(sampler);
    buffer_deinit(&sampler->top.row);
    sampler->top = *top;
    *top = SAMPLED_TOP_INIT;
}

/* Time goes on: when a window is over, its top becomes the one of the window before. */
static void pass_tops(struct key_sampler *sampler, uint64_t elapsed_ns)
{
    sampler->top_ns += elapsed_ns;
    if (sampler->top_ns >= KEY_SAMPLER_WINDOW_NS) {
        struct sampled_top over = sampler->top_before;
        sampler->top_before = sampler->top;
        sampler->top = over;
        sampler->top.count = 0;
        sampler->top_ns = 0;
    }
}

static void judge_appends(struct key_sampler *sampler, const struct sampled_row *rows, size_t count)
{
    uint64_t known = (uint64_t)sampler->top.count + sampler->top_before.count;
    bool can_judge = known >= KEY_SAMPLER_JUDGED_MIN;
    double reads = 0;
    double writes = 0;
    for (size_t i = 0; i < count; i++) {
        reads += rows[i].reads;
        writes += rows[i].writes;
        if (can_judge && is_above(rows[i].row, &sampler->top) &&
            is_above(rows[i].row, &sampler->top_before)) {
            sampler->appended += rows[i].writes;
        }
    }
    sampler->judged += can_judge ? writes : 0;
    sampler->can_tell = can_judge || writes <= reads;
}

static void note_written(struct key_sampler *sampler,
                         const struct key_sample *samples,
                         size_t count,
                         uint64_t elapsed_ns)
{
    pass_tops(sampler, elapsed_ns);
    for (size_t i = 0; i < count; i++) {
        if (samples[i].touch == KEY_WRITTEN) {
            raise_top(&sampler->top, samples[i].row, 1);
        }
    }
}

static void merge_rows(struct key_sampler *sampler,
                       const struct sampled_row *fresh,
                       size_t count,
                       double factor)
{
    const struct sampled_rows *old = &sampler->known;
    struct key_drawing drawing = {.to = &sampler->spare, .rows_max = KEY_SAMPLER_ROWS_MAX};
    if (!key_drawing_begin(&drawing, old, factor, fresh, count, &sampler->prng)) {
        return;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < old->count; i++) {
        struct sampled_row row = sampled_row_decayed(old->rows[i], factor);
        while (at < count && bytes_compare(fresh[at].row, row.row) < 0) {
            key_drawing_add(&drawing, fresh[at++]);
        }
        if (at < count && bytes_equal(fresh[at].row, row.row)) {
            row.reads += fresh[at].reads;
            row.writes += fresh[at++].writes;
        }
        key_drawing_add(&drawing, row);
    }
    while (at < count) {
        key_drawing_add(&drawing, fresh[at++]);
    }
    sampled_rows_swap(&sampler->known, &sampler->spare);
}

static void merge_scans(struct key_sampler *sampler,
                        const struct sampled_row *fresh,
                        size_t count,
                        double factor)
{
    const struct sampled_rows *old = &sampler->scans;
    struct key_drawing drawing = {.to = &sampler->spare_scans, .rows_max = KEY_SAMPLER_SCANS_MAX};
    if (!key_drawing_begin(&drawing, old, factor, fresh, count, &sampler->prng)) {
        return;
    }
    for (uint32_t i = 0; i < old->count; i++) {
        key_drawing_add(&drawing, sampled_row_decayed(old->rows[i], factor));
    }
    for (size_t i = 0; i < count; i++) {
        key_drawing_add(&drawing, fresh[i]);
    }
    sampled_rows_swap(&sampler->scans, &sampler->spare_scans);
}

static void decay_sums(struct key_sampler *sampler, double factor, uint64_t elapsed_ns)
{
    frequent_keys_decay(&sampler->frequent, factor);
    sampler->elapsed_ns = sampler->elapsed_ns * factor + (double)elapsed_ns;
    sampler->observations *= factor;
    sampler->appended *= factor;
    sampler->judged *= factor;
}

void key_sampler_take(struct key_sampler *sampler,
                      struct key_sample *samples,
                      size_t count,
                      const double weights[KEY_TOUCH_COUNT],
                      uint64_t elapsed_ns)
{
    double factor = decay_factor(elapsed_ns);
    struct sampled_row *fresh = memory_allocate((count + 1) * sizeof *fresh);
    size_t row_count = 0;
    size_t fresh_count = 0;

    decay_sums(sampler, factor, elapsed_ns);
    if (fresh != NULL && count > 0) {
        qsort(samples, count, sizeof *samples, by_row);
        fresh_count = gather(samples, count, weights, fresh, &row_count);
    }
    for (size_t i = 0; i < row_count; i++) {
        frequent_keys_add(&sampler->frequent, fresh[i].row, fresh[i].reads, fresh[i].writes);
    }
    for (size_t i = 0; i < count && fresh != NULL; i++) {
        sampler->observations += samples[i].touch == KEY_SCANNED ? 0 : 1;
    }
    judge_appends(sampler, fresh, row_count);
    note_written(sampler, samples, count, elapsed_ns);
    merge_rows(sampler, fresh, row_count, factor);
    merge_scans(sampler, fresh == NULL ? NULL : fresh + row_count, fresh_count - row_count, factor);
    memory_free(fresh);
}

/* --- what must hold ----------------------------------------------------------------------------- */

void key_sampler_check(const struct key_sampler *sampler)
{
    const struct sampled_rows *known = &sampler->known;
    ASSERT(known->count <= KEY_SAMPLER_ROWS_MAX);
    ASSERT(known->keys.size_bytes <= KEY_DRAWING_BYTES_MAX);
    ASSERT(sampler->scans.count <= KEY_SAMPLER_SCANS_MAX);
    ASSERT(sampler->scans.keys.size_bytes <= KEY_DRAWING_BYTES_MAX);
    for (uint32_t i = 0; i < known->count; i++) {
        ASSERT(known->rows[i].reads >= 0 && known->rows[i].writes >= 0);
        ASSERT(i == 0 || bytes_compare(known->rows[i - 1].row, known->rows[i].row) < 0);
    }
}
