#include "tabletserver/tablet/key_sampler.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* Of a row's weight against the mean: what is less is gone. */
#define NEGLIGIBLE 0.0001

/* --- life --------------------------------------------------------------------------------------- */

static enum status rows_init(struct sampled_rows *list, size_t rows_max)
{
    *list = (struct sampled_rows){.rows = memory_allocate(rows_max * sizeof *list->rows),
                                  .keys = BUFFER_INIT};
    return list->rows == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

static void rows_deinit(struct sampled_rows *list)
{
    memory_free(list->rows);
    buffer_deinit(&list->keys);
}

enum status key_sampler_init(struct key_sampler *sampler, uint64_t seed)
{
    *sampler = (struct key_sampler){
        .prng = prng_of_seed(seed), .top = SAMPLED_TOP_INIT, .top_before = SAMPLED_TOP_INIT};
    frequent_keys_init(&sampler->frequent);
    if (rows_init(&sampler->known, KEY_SAMPLER_ROWS_MAX) != STATUS_OK ||
        rows_init(&sampler->spare, KEY_SAMPLER_ROWS_MAX) != STATUS_OK ||
        rows_init(&sampler->scans, KEY_SAMPLER_SCANS_MAX) != STATUS_OK ||
        rows_init(&sampler->spare_scans, KEY_SAMPLER_SCANS_MAX) != STATUS_OK) {
        key_sampler_deinit(sampler);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void key_sampler_deinit(struct key_sampler *sampler)
{
    rows_deinit(&sampler->known);
    rows_deinit(&sampler->spare);
    rows_deinit(&sampler->scans);
    rows_deinit(&sampler->spare_scans);
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

/* --- drawing ------------------------------------------------------------------------------------ */

static double weight_of(const struct sampled_row *row)
{
    return row->reads + row->writes;
}

/* What a list that is being made may become. */
struct drawing {
    struct sampled_rows *to;
    size_t rows_max;
    double step;  /* one is drawn every so many units of weight; 0 = all are taken */
    double until; /* the next one that is drawn: so much weight lies before it */
    double done;
    double negligible;
};

/* Together a and what is new: are they too many, or too long?  to's keys have room then. */
static bool begin_drawing(struct drawing *drawing,
                          const struct sampled_rows *old,
                          double factor,
                          const struct sampled_row *fresh,
                          size_t fresh_count,
                          struct prng *prng)
{
    const struct sampled_row *parts[] = {old->rows, fresh};
    const size_t counts[] = {old->count, fresh_count};
    double weight = 0;
    double weighted_bytes = 0;
    size_t size_bytes = 0;

    for (size_t part = 0; part < 2; part++) {
        for (size_t i = 0; i < counts[part]; i++) {
            const struct sampled_row *row = &parts[part][i];
            size_t row_bytes = row->row.size_bytes + row->end.size_bytes;
            double own = weight_of(row) * (part == 0 ? factor : 1);
            weight += own;
            weighted_bytes += own * (double)row_bytes;
            size_bytes += row_bytes;
        }
    }
    size_t count = old->count + fresh_count;
    drawing->negligible = count > 0 ? weight / (double)count * NEGLIGIBLE : 0;
    if (count > drawing->rows_max || size_bytes > KEY_SAMPLER_BYTES_MAX) {
        double fit = weighted_bytes > 0 ? KEY_SAMPLER_BYTES_MAX / (weighted_bytes / weight) : 1;
        double target = fit < (double)drawing->rows_max ? fit : (double)drawing->rows_max;
        drawing->step = weight / (target > 1 ? target - 1 : 1);
        drawing->until = drawing->step * (double)prng_below(prng, 1024) / 1024;
    }
    drawing->to->count = 0;
    buffer_reset(&drawing->to->keys);
    size_t room = size_bytes < KEY_SAMPLER_BYTES_MAX ? size_bytes : KEY_SAMPLER_BYTES_MAX;
    return buffer_reserve(&drawing->to->keys, room + 1) != NULL;
}

static struct bytes keep(struct buffer *keys, struct bytes bytes)
{
    const uint8_t *at = keys->data + keys->size_bytes;
    buffer_append_bytes(keys, bytes);
    return bytes_of(at, bytes.size_bytes);
}

/* Its weight becomes that of as many draws as fell on it. */
static void draw(struct drawing *drawing, struct sampled_row row)
{
    double weight = weight_of(&row);
    struct sampled_rows *to = drawing->to;

    if (drawing->step > 0) {
        uint64_t draws = 0;
        drawing->done += weight;
        if (drawing->done > drawing->until) {
            draws = 1 + (uint64_t)((drawing->done - drawing->until) / drawing->step);
            drawing->until += (double)draws * drawing->step;
        }
        double drawn = (double)draws * drawing->step / weight;
        row.reads *= drawn;
        row.writes *= drawn;
    }
    size_t size_bytes = row.row.size_bytes + row.end.size_bytes;
    if (weight_of(&row) <= drawing->negligible || to->count == drawing->rows_max ||
        size_bytes > KEY_SAMPLER_BYTES_MAX - to->keys.size_bytes) {
        return;
    }
    row.row = keep(&to->keys, row.row);
    row.end = keep(&to->keys, row.end);
    to->rows[to->count++] = row;
}

static struct sampled_row decayed(struct sampled_row row, double factor)
{
    row.reads *= factor;
    row.writes *= factor;
    return row;
}

static void swap(struct sampled_rows *a, struct sampled_rows *b)
{
    struct sampled_rows old = *a;
    *a = *b;
    *b = old;
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

/* When a window is over another one is begun. */
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
    struct drawing drawing = {.to = &sampler->spare, .rows_max = KEY_SAMPLER_ROWS_MAX};
    if (!begin_drawing(&drawing, old, factor, fresh, count, &sampler->prng)) {
        return;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < old->count; i++) {
        struct sampled_row row = decayed(old->rows[i], factor);
        while (at < count && bytes_compare(fresh[at].row, row.row) < 0) {
            draw(&drawing, fresh[at++]);
        }
        if (at < count && bytes_equal(fresh[at].row, row.row)) {
            row.reads += fresh[at].reads;
            row.writes += fresh[at++].writes;
        }
        draw(&drawing, row);
    }
    while (at < count) {
        draw(&drawing, fresh[at++]);
    }
    swap(&sampler->known, &sampler->spare);
}

static void merge_scans(struct key_sampler *sampler,
                        const struct sampled_row *fresh,
                        size_t count,
                        double factor)
{
    const struct sampled_rows *old = &sampler->scans;
    struct drawing drawing = {.to = &sampler->spare_scans, .rows_max = KEY_SAMPLER_SCANS_MAX};
    if (!begin_drawing(&drawing, old, factor, fresh, count, &sampler->prng)) {
        return;
    }
    for (uint32_t i = 0; i < old->count; i++) {
        draw(&drawing, decayed(old->rows[i], factor));
    }
    for (size_t i = 0; i < count; i++) {
        draw(&drawing, fresh[i]);
    }
    swap(&sampler->scans, &sampler->spare_scans);
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

/* --- the detail --------------------------------------------------------------------------------- */

static void sum_known(const struct sampled_rows *known, double *ret_reads, double *ret_writes)
{
    *ret_reads = 0;
    *ret_writes = 0;
    for (uint32_t i = 0; i < known->count; i++) {
        *ret_reads += known->rows[i].reads;
        *ret_writes += known->rows[i].writes;
    }
}

/* What makes of a weight a part of all that the period had. */
static double scale_of(uint64_t figure, double weight)
{
    return weight > 0 ? (double)figure / weight : 0;
}

static uint64_t scaled(double weight, double scale)
{
    return (uint64_t)(weight * scale + 0.5);
}

/* A row that no sample between them has reached: as short as can be, above before, up to row. */
static struct bytes cut_between(struct bytes before, struct bytes row)
{
    size_t common = 0;
    while (common < before.size_bytes && common < row.size_bytes &&
           before.data[common] == row.data[common]) {
        common += 1;
    }
    return bytes_of(row.data, common < row.size_bytes ? common + 1 : row.size_bytes);
}

/* Is what is gathered nearer to its aim without this one than with it? */
static bool is_enough(double gathered, double aim, double weight)
{
    return gathered > 0 && gathered + weight - aim > aim - gathered;
}

static size_t make_points(struct key_sampler *sampler,
                          struct bytes start,
                          double read_scale,
                          double write_scale)
{
    const struct sampled_rows *known = &sampler->known;
    struct sampled_row sum = {.reads = 0};
    double left = 0;
    double aim = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < known->count; i++) {
        left += weight_of(&known->rows[i]);
    }
    for (uint32_t i = 0; i < known->count; i++) {
        const struct sampled_row *row = &known->rows[i];
        double weight = weight_of(row);
        if (count == 0 || (count < LOAD_POINTS_MAX && is_enough(weight_of(&sum), aim, weight))) {
            struct bytes cut = i == 0 ? start : cut_between(known->rows[i - 1].row, row->row);
            aim = left / (double)(LOAD_POINTS_MAX - count);
            sampler->points[count++] = (struct load_point){.row = cut};
            sum = (struct sampled_row){.reads = 0};
        }
        sum.reads += row->reads;
        sum.writes += row->writes;
        left -= weight;
        sampler->points[count - 1].reads = scaled(sum.reads, read_scale);
        sampler->points[count - 1].writes = scaled(sum.writes, write_scale);
    }
    return count;
}

static void count_crossing(struct key_sampler *sampler, size_t point_count, uint64_t elapsed_ns)
{
    double scale = scale_of(elapsed_ns, sampler->elapsed_ns);
    for (size_t i = 0; i < point_count; i++) {
        double crossing = 0;
        for (uint32_t j = 0; j < sampler->scans.count; j++) {
            const struct sampled_row *scan = &sampler->scans.rows[j];
            if (bytes_compare(scan->row, sampler->points[i].row) < 0 &&
                bytes_compare(scan->end, sampler->points[i].row) >= 0) {
                crossing += scan->reads;
            }
        }
        sampler->points[i].crossing = scaled(crossing, scale);
    }
}

/* What a row must weigh, of all that weigh so much, to be frequent. */
static double frequent_weight_min(const struct key_sampler *sampler, double weight)
{
    double seen_min = weight * KEY_SAMPLER_KEY_SEEN_MIN / fmax(sampler->observations, 1);
    return fmax(weight * KEY_SAMPLER_KEY_SHARE, seen_min);
}

static size_t make_keys(struct key_sampler *sampler,
                        double weight,
                        double read_scale,
                        double write_scale)
{
    const struct frequent_key *found[LOAD_KEYS_MAX];
    size_t count = frequent_keys_list(&sampler->frequent, frequent_weight_min(sampler, weight),
                                      found, LOAD_KEYS_MAX);
    for (size_t i = 0; i < count; i++) {
        double sure = 1 - found[i]->error / (found[i]->reads + found[i]->writes);
        sampler->keys[i] = (struct load_key){
            .row = buffer_bytes(&found[i]->row),
            .reads = scaled(found[i]->reads * sure, read_scale),
            .writes = scaled(found[i]->writes * sure, write_scale),
        };
    }
    return count;
}

struct load_detail key_sampler_detail(struct key_sampler *sampler,
                                      const struct key_sampler_period *period)
{
    double reads = 0;
    double writes = 0;
    if (!sampler->can_tell) {
        return (struct load_detail){0};
    }
    sum_known(&sampler->known, &reads, &writes);
    double read_scale = scale_of(period->reads, reads);
    double write_scale = scale_of(period->writes, writes);
    size_t point_count = make_points(sampler, period->start, read_scale, write_scale);

    count_crossing(sampler, point_count, period->elapsed_ns);
    return (struct load_detail){
        .points = sampler->points,
        .point_count = point_count,
        .keys = sampler->keys,
        .key_count = make_keys(sampler, reads + writes, read_scale, write_scale),
        .observations = (uint64_t)sampler->observations,
        .appended_permille = (uint32_t)scaled(sampler->appended,
                                              sampler->judged > 0 ? 1000 / sampler->judged : 0),
        .window_ns = (uint64_t)sampler->elapsed_ns,
    };
}

void key_sampler_check(const struct key_sampler *sampler)
{
    const struct sampled_rows *known = &sampler->known;
    ASSERT(known->count <= KEY_SAMPLER_ROWS_MAX);
    ASSERT(known->keys.size_bytes <= KEY_SAMPLER_BYTES_MAX);
    ASSERT(sampler->scans.count <= KEY_SAMPLER_SCANS_MAX);
    ASSERT(sampler->scans.keys.size_bytes <= KEY_SAMPLER_BYTES_MAX);
    for (uint32_t i = 0; i < known->count; i++) {
        ASSERT(known->rows[i].reads >= 0 && known->rows[i].writes >= 0);
        ASSERT(i == 0 || bytes_compare(known->rows[i - 1].row, known->rows[i].row) < 0);
    }
}
