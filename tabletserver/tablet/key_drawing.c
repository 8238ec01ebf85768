#include "tabletserver/tablet/key_drawing.h"

#include "common/base/memory.h"

/* Of a row's weight against the mean: what is less is gone. */
#define NEGLIGIBLE 0.0001

enum status sampled_rows_init(struct sampled_rows *list, size_t rows_max)
{
    *list = (struct sampled_rows){.rows = memory_allocate(rows_max * sizeof *list->rows),
                                  .keys = BUFFER_INIT};
    return list->rows == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

void sampled_rows_deinit(struct sampled_rows *list)
{
    memory_free(list->rows);
    buffer_deinit(&list->keys);
}

void sampled_rows_swap(struct sampled_rows *a, struct sampled_rows *b)
{
    struct sampled_rows old = *a;
    *a = *b;
    *b = old;
}

bool key_drawing_begin(struct key_drawing *drawing,
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
            double own = sampled_row_weight(row) * (part == 0 ? factor : 1);
            weight += own;
            weighted_bytes += own * (double)row_bytes;
            size_bytes += row_bytes;
        }
    }
    size_t count = old->count + fresh_count;
    drawing->negligible = count > 0 ? weight / (double)count * NEGLIGIBLE : 0;
    if (count > drawing->rows_max || size_bytes > KEY_DRAWING_BYTES_MAX) {
        double fit = weighted_bytes > 0 ? KEY_DRAWING_BYTES_MAX / (weighted_bytes / weight) : 1;
        double target = fit < (double)drawing->rows_max ? fit : (double)drawing->rows_max;
        drawing->step = weight / (target > 1 ? target - 1 : 1);
        drawing->until = drawing->step * (double)prng_below(prng, 1024) / 1024;
    }
    drawing->to->count = 0;
    buffer_reset(&drawing->to->keys);
    size_t room = size_bytes < KEY_DRAWING_BYTES_MAX ? size_bytes : KEY_DRAWING_BYTES_MAX;
    return buffer_reserve(&drawing->to->keys, room + 1) != NULL;
}

static struct bytes keep(struct buffer *keys, struct bytes bytes)
{
    const uint8_t *at = keys->data + keys->size_bytes;
    buffer_append_bytes(keys, bytes);
    return bytes_of(at, bytes.size_bytes);
}

void key_drawing_add(struct key_drawing *drawing, struct sampled_row row)
{
    double weight = sampled_row_weight(&row);
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
    if (sampled_row_weight(&row) <= drawing->negligible || to->count == drawing->rows_max ||
        size_bytes > KEY_DRAWING_BYTES_MAX - to->keys.size_bytes) {
        return;
    }
    row.row = keep(&to->keys, row.row);
    row.end = keep(&to->keys, row.end);
    to->rows[to->count++] = row;
}
