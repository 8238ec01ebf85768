#include "master/heat/heat_layers.h"

#include <string.h>

#include "common/base/memory.h"

#define SECOND_US       INT64_C(1000000)
#define JOINED_ROWS     1024 /* of a column that is made of others */
#define DROPPED_AT_ONCE 64

static const struct {
    int64_t width_us;
    int64_t kept_us;
} layers[HEAT_LAYERS] = {
    {5 * SECOND_US, 600 * SECOND_US},
    {60 * SECOND_US, 6 * 3600 * SECOND_US},
    {600 * SECOND_US, 4 * 86400 * SECOND_US},
    {3600 * SECOND_US, 14 * 86400 * SECOND_US},
};

static int64_t floor_to(int64_t time_us, int64_t width_us)
{
    return time_us - time_us % width_us;
}

/* --- columns of a layer ------------------------------------------------------------------------- */

bool heat_table_put(struct heat_table *table, size_t index, struct heat_column *column)
{
    struct heat_layer *layer = &table->layers[index];
    size_t at = layer->count;

    while (at > 0 && layer->columns[at - 1]->start_us > column->start_us) {
        at--;
    }
    if (at > 0 && layer->columns[at - 1]->start_us == column->start_us) {
        return false;
    }
    if (layer->count == layer->capacity) {
        size_t capacity = layer->capacity == 0 ? 16 : layer->capacity * 2;
        struct heat_column **grown = memory_resize(layer->columns, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        layer->columns = grown;
        layer->capacity = capacity;
    }
    memmove(&layer->columns[at + 1], &layer->columns[at],
            (layer->count - at) * sizeof(struct heat_column *));
    layer->columns[at] = column;
    layer->count += 1;
    table->column_bytes += heat_column_size_bytes(column);
    return true;
}

static void drop(struct heat_table *table,
                 size_t index,
                 size_t from,
                 size_t count,
                 const struct heat_gone_to *gone)
{
    struct heat_layer *layer = &table->layers[index];

    if (count == 0) {
        return; /* it may have no array at all */
    }
    for (size_t i = from; i < from + count; i++) {
        struct heat_column *column = layer->columns[i];
        if (column->stored) {
            gone->gone(gone->context, table, index, column->start_us);
        }
        table->column_bytes -= heat_column_size_bytes(column);
        heat_column_destroy(column);
    }
    memmove(&layer->columns[from], &layer->columns[from + count],
            (layer->count - from - count) * sizeof(struct heat_column *));
    layer->count -= count;
}

/* --- ageing ------------------------------------------------------------------------------------- */

/* One column of many; NULL without memory. */
static struct heat_column *join(struct heat_column *const *columns, size_t count)
{
    const struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    struct heat_rows rows;
    struct heat_column *joined = NULL;

    if (heat_rows_init(&rows, &all, 2 * JOINED_ROWS) != STATUS_OK) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        heat_column_add_to(columns[i], &rows);
    }
    heat_rows_join(&rows, JOINED_ROWS);
    joined = heat_column_pack(&rows, columns[0]->start_us, columns[count - 1]->end_us);
    heat_rows_deinit(&rows);
    return joined;
}

/* Columns of a layer that began in [from, to). */
static size_t columns_in(const struct heat_layer *layer,
                         int64_t from_us,
                         int64_t to_us,
                         size_t *ret_first)
{
    size_t first = 0;
    size_t count = 0;

    while (first < layer->count && layer->columns[first]->start_us < from_us) {
        first++;
    }
    while (first + count < layer->count && layer->columns[first + count]->start_us < to_us) {
        count++;
    }
    *ret_first = first;
    return count;
}

/* What cannot be joined, for want of memory, is lost: it is older than it may be. */
static bool join_into(struct heat_table *table, size_t index, size_t first, size_t count)
{
    struct heat_column *joined = join(&table->layers[index].columns[first], count);
    if (joined != NULL && !heat_table_put(table, index + 1, joined)) {
        heat_column_destroy(joined);
        return false;
    }
    return joined != NULL;
}

/* The running rows become a fine column. */
static void end_column(struct heat_table *table, int64_t now_us)
{
    if (table->busy) {
        struct heat_column *column = heat_column_pack(&table->rows, table->start_us, now_us);
        if (column != NULL && !heat_table_put(table, 0, column)) {
            heat_column_destroy(column);
        }
        heat_rows_rest(&table->rows);
    }
    table->busy = false;
    table->start_us = now_us;
}

void heat_table_skip(struct heat_table *table, int64_t from_us, int64_t to_us)
{
    if (table->start_us < from_us) {
        end_column(table, from_us);
    }
    table->start_us = to_us;
}

/* Minutes of fine columns; they stay for a while. */
static void make_minute(struct heat_table *table, int64_t now_us, bool ending)
{
    const struct heat_layer *fine = &table->layers[0];
    size_t first = 0;
    size_t rest = columns_in(fine, table->minutes_made_us, INT64_MAX, &first);

    if (rest == 0) {
        return;
    }
    int64_t minute_us = floor_to(fine->columns[first]->start_us, layers[1].width_us);
    int64_t end_us = minute_us + layers[1].width_us;
    if (now_us >= end_us || ending) {
        size_t count = columns_in(fine, table->minutes_made_us, end_us, &first);
        (void)join_into(table, 0, first, count);
        table->minutes_made_us = ending ? fine->columns[first + count - 1]->start_us + 1 : end_us;
    }
}

static void drop_old(struct heat_table *table,
                     size_t index,
                     int64_t before_us,
                     const struct heat_gone_to *gone)
{
    size_t first = 0;
    size_t count = columns_in(&table->layers[index], INT64_MIN, before_us, &first);
    drop(table, index, 0, count < DROPPED_AT_ONCE ? count : DROPPED_AT_ONCE, gone);
}

static void age_layer(struct heat_table *table,
                      size_t index,
                      int64_t now_us,
                      const struct heat_gone_to *gone)
{
    const struct heat_layer *layer = &table->layers[index];
    int64_t width_us = layers[index + 1].width_us;
    size_t first = 0;

    if (layer->count == 0) {
        return;
    }
    int64_t from_us = floor_to(layer->columns[0]->start_us, width_us);
    if (from_us + width_us + layers[index].kept_us > now_us) {
        return;
    }
    size_t count = columns_in(layer, from_us, from_us + width_us, &first);
    (void)join_into(table, index, first, count);
    drop(table, index, first, count, gone);
}

void heat_table_age(struct heat_table *table,
                    int64_t now_us,
                    bool ending,
                    const struct heat_gone_to *gone)
{
    int64_t due_us = floor_to(table->start_us, layers[0].width_us) + layers[0].width_us;
    int64_t fine_us = now_us - layers[0].kept_us;

    if (now_us >= due_us || (ending && now_us > table->start_us)) {
        end_column(table, now_us);
    }
    make_minute(table, now_us, ending);
    drop_old(table, 0, fine_us < table->minutes_made_us ? fine_us : table->minutes_made_us, gone);
    age_layer(table, 1, now_us, gone);
    age_layer(table, 2, now_us, gone);
    drop_old(table, HEAT_LAYERS - 1, now_us - layers[HEAT_LAYERS - 1].kept_us, gone);
}

/* --- letting go --------------------------------------------------------------------------------- */

/* Index of the layer that has the oldest column; HEAT_LAYERS = none has any. */
static size_t oldest_layer(const struct heat_table *table)
{
    size_t oldest = HEAT_LAYERS;
    for (size_t i = HEAT_LAYERS; i-- > 0;) {
        const struct heat_layer *layer = &table->layers[i];
        if (layer->count > 0 &&
            (oldest == HEAT_LAYERS ||
             layer->columns[0]->start_us < table->layers[oldest].columns[0]->start_us)) {
            oldest = i;
        }
    }
    return oldest;
}

int64_t heat_table_oldest_us(const struct heat_table *table)
{
    size_t layer = oldest_layer(table);
    return layer == HEAT_LAYERS ? INT64_MAX : table->layers[layer].columns[0]->start_us;
}

bool heat_table_drop_oldest(struct heat_table *table, const struct heat_gone_to *gone)
{
    size_t layer = oldest_layer(table);
    if (layer < HEAT_LAYERS) {
        drop(table, layer, 0, 1, gone);
    }
    return layer < HEAT_LAYERS;
}

void heat_table_drop_after(struct heat_table *table,
                           int64_t now_us,
                           const struct heat_gone_to *gone)
{
    for (size_t i = 0; i < HEAT_LAYERS; i++) {
        size_t first = 0;
        size_t count = columns_in(&table->layers[i], now_us + 1, INT64_MAX, &first);
        drop(table, i, first, count, gone);
    }
}

void heat_table_destroy(struct heat_table *table, const struct heat_gone_to *gone)
{
    for (size_t i = 0; i < HEAT_LAYERS; i++) {
        drop(table, i, 0, table->layers[i].count, gone);
        memory_free(table->layers[i].columns);
    }
    heat_rows_deinit(&table->rows);
    memory_free(table);
}
