#include "master/heat/heat_column.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/endian.h"
#include "common/base/memory.h"

/* --- packing ------------------------------------------------------------------------------------ */

static void put_varint(struct buffer *out, uint64_t value)
{
    uint8_t bytes[VARINT_SIZE_MAX];
    buffer_append(out, bytes, varint_store(bytes, value));
}

static bool is_quiet(const struct heat_values *values)
{
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        if (i != HEAT_SIZE_BYTES && values->of[i] != 0) {
            return false;
        }
    }
    return true;
}

static void pack_row(struct buffer *out,
                     struct bytes before,
                     struct bytes key,
                     const struct heat_values *values)
{
    size_t common = 0;
    uint64_t which = 0;

    while (common < before.size_bytes && common < key.size_bytes &&
           before.data[common] == key.data[common]) {
        common++;
    }
    put_varint(out, common);
    put_varint(out, key.size_bytes - common);
    buffer_append(out, key.data + common, key.size_bytes - common);
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        which |= values->of[i] != 0 ? UINT64_C(1) << i : 0;
    }
    put_varint(out, which);
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        if (values->of[i] != 0) {
            put_varint(out, values->of[i]);
        }
    }
}

static void pack_rows(const struct heat_rows *rows, struct buffer *out)
{
    struct bytes before = BYTES_EMPTY;
    size_t at = 0;

    while (at < rows->count) {
        struct bytes key = heat_rows_range(rows, at).start;
        struct heat_values values = rows->rows[at]->values;
        bool quiet = is_quiet(&values);
        at++;
        while (quiet && at < rows->count && is_quiet(&rows->rows[at]->values)) {
            values.of[HEAT_SIZE_BYTES] += rows->rows[at]->values.of[HEAT_SIZE_BYTES];
            at++;
        }
        pack_row(out, before, key, &values);
        before = key;
    }
}

static struct heat_column *create(struct bytes packed, int64_t start_us, int64_t end_us)
{
    struct heat_column *column = memory_allocate(sizeof *column + packed.size_bytes);
    if (column != NULL) {
        *column = (struct heat_column){
            .start_us = start_us, .end_us = end_us, .packed_bytes = packed.size_bytes};
        if (packed.size_bytes > 0) {
            memcpy(column->packed, packed.data, packed.size_bytes);
        }
    }
    return column;
}

struct heat_column *heat_column_pack(const struct heat_rows *rows, int64_t start_us, int64_t end_us)
{
    struct buffer packed = BUFFER_INIT;
    struct heat_column *column = NULL;

    pack_rows(rows, &packed);
    if (!packed.failed) {
        column = create(buffer_bytes(&packed), start_us, end_us);
    }
    buffer_deinit(&packed);
    return column;
}

enum status heat_column_unpack(struct bytes packed,
                               int64_t start_us,
                               int64_t end_us,
                               struct heat_column **ret_column)
{
    struct heat_walk walk;
    size_t count = 0;

    if (packed.size_bytes > HEAT_COLUMN_BYTES_MAX || start_us < 0 || end_us <= start_us) {
        return STATUS_CORRUPT;
    }
    heat_walk_begin(&walk, packed);
    while (heat_walk_next(&walk)) {
        count++;
    }
    if (walk.broken || count == 0) {
        return STATUS_CORRUPT;
    }
    *ret_column = create(packed, start_us, end_us);
    return *ret_column == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

void heat_column_destroy(struct heat_column *column)
{
    memory_free(column);
}

size_t heat_column_size_bytes(const struct heat_column *column)
{
    return sizeof *column + column->packed_bytes;
}

/* --- walking ------------------------------------------------------------------------------------ */

static uint64_t take_varint(struct heat_walk *walk)
{
    uint64_t value = 0;
    size_t size_bytes = walk->broken ? 0 : varint_load(walk->at, walk->end, &value);
    walk->broken = size_bytes == 0;
    walk->at += size_bytes;
    return value;
}

/* The key of the row that begins here becomes keys[slot], made of the other one. */
static void take_key(struct heat_walk *walk, unsigned slot)
{
    const uint8_t *before = walk->keys[1 - slot];
    uint64_t common = take_varint(walk);
    uint64_t more = take_varint(walk);

    if (walk->broken || common > walk->key_bytes[1 - slot] || more > HEAT_KEY_BYTES_MAX - common ||
        more > (uint64_t)(walk->end - walk->at)) {
        walk->broken = true;
        return;
    }
    memcpy(walk->keys[slot], before, common);
    memcpy(walk->keys[slot] + common, walk->at, more);
    walk->key_bytes[slot] = common + more;
    walk->at += more;
}

static void take_values(struct heat_walk *walk)
{
    uint64_t which = take_varint(walk);

    walk->values = (struct heat_values){0};
    for (size_t i = 0; i < 64 && which != 0; i++, which >>= 1) {
        if ((which & 1) != 0) {
            uint64_t value = take_varint(walk);
            if (i < HEAT_VALUES) { /* a newer version may have counted more */
                walk->values.of[i] = value;
            }
        }
    }
}

void heat_walk_begin(struct heat_walk *walk, struct bytes packed)
{
    walk->at = packed.data;
    walk->end = packed.data + packed.size_bytes;
    walk->broken = false;
    walk->which = 0;
    walk->key_bytes[0] = 0;
    walk->key_bytes[1] = 0;
    walk->ended = packed.size_bytes == 0;
    walk->range = (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
    if (!walk->ended) {
        take_key(walk, 0);
        walk->broken = walk->broken || walk->key_bytes[0] != 0;
    }
}

bool heat_walk_next(struct heat_walk *walk)
{
    unsigned start = walk->which;
    unsigned end = 1 - start;

    if (walk->ended || walk->broken) {
        return false;
    }
    take_values(walk);
    walk->ended = walk->at >= walk->end;
    walk->range.start = bytes_of(walk->keys[start], walk->key_bytes[start]);
    walk->range.end = BYTES_EMPTY;
    if (!walk->ended && !walk->broken) {
        take_key(walk, end);
        walk->range.end = bytes_of(walk->keys[end], walk->key_bytes[end]);
        walk->broken = walk->broken || bytes_compare(walk->range.start, walk->range.end) >= 0;
        walk->which = end;
    }
    return !walk->broken;
}

/* --- adding ------------------------------------------------------------------------------------- */

void heat_column_add_to(const struct heat_column *column, struct heat_rows *rows)
{
    struct heat_walk walk;

    for (size_t i = 0; i < rows->count; i++) {
        rows->rows[i]->values.of[HEAT_SIZE_BYTES] = 0;
    }
    heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
    while (heat_walk_next(&walk)) {
        heat_rows_cut(rows, walk.range.start);
    }
    heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
    while (heat_walk_next(&walk)) {
        struct heat_values values = heat_rows_clip(rows, &walk.range, &walk.values);
        heat_rows_add(rows, &walk.range, &values);
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct heat_row *row = rows->rows[i];
        row->width = row->values.of[HEAT_SIZE_BYTES] > 0 ? row->values.of[HEAT_SIZE_BYTES]
                                                         : row->width;
    }
}
