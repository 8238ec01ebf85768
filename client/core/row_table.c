#include "client/core/row_table.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

size_t row_table_memory_bytes(size_t capacity)
{
    return (capacity + 1) * sizeof(struct row_place) +
           capacity * (sizeof(struct edubba_row_failure) + sizeof(uint32_t));
}

void row_table_init(struct row_table *table, void *memory, size_t capacity)
{
    struct row_place *places = memory;
    struct edubba_row_failure *failures = (void *)(places + capacity + 1);
    *table = (struct row_table){
        .encoded = BUFFER_INIT,
        .places = places,
        .failures = failures,
        .order = (void *)(failures + capacity),
    };
    places[0] = (struct row_place){0};
}

void row_table_deinit(struct row_table *table)
{
    for (uint32_t i = 0; i < table->failure_count; i++) {
        if (table->failures[i].text[0] != '\0') {
            memory_free((void *)(uintptr_t)table->failures[i].text);
        }
    }
    buffer_deinit(&table->encoded);
}

void row_table_add(struct row_table *table, size_t key_offset, size_t key_size)
{
    ASSERT(key_offset <= UINT8_MAX);
    ASSERT(key_size <= UINT16_MAX);
    struct row_place *place = &table->places[table->count];
    place->key_offset = (uint8_t)key_offset;
    place->key_size = (uint16_t)key_size;
    table->count++;
    table->left++;
    place[1] = (struct row_place){.begin = table->encoded.size_bytes};
}

struct bytes row_table_key(const struct row_table *table, uint32_t row)
{
    const struct row_place *place = &table->places[row];
    return bytes_of(table->encoded.data + place->begin + place->key_offset, place->key_size);
}

static size_t size_of(const struct row_table *table, uint32_t row)
{
    return table->places[row + 1].begin - table->places[row].begin;
}

struct bytes row_table_encoded(const struct row_table *table, uint32_t row)
{
    return bytes_of(table->encoded.data + table->places[row].begin, size_of(table, row));
}

bool row_table_slice(struct row_table *table,
                     uint32_t rows_max,
                     size_t bytes_max,
                     struct row_slice *ret_slice)
{
    while (table->next < table->count && table->places[table->next].state != ROW_NEW) {
        table->next++;
    }
    if (table->next == table->count) {
        return false;
    }
    struct row_slice slice = {.address = table->places[table->next].address,
                              .first = table->ordered};
    for (uint32_t row = table->next; row < table->count; row++) {
        struct row_place *place = &table->places[row];
        if (place->state != ROW_NEW || place->address != slice.address) {
            continue;
        }
        size_t size_bytes = size_of(table, row);
        if (slice.count > 0 &&
            (slice.count == rows_max || slice.size_bytes + size_bytes > bytes_max)) {
            break;
        }
        place->state = ROW_TOGETHER;
        table->order[table->ordered++] = row;
        slice.count++;
        slice.size_bytes += size_bytes;
    }
    *ret_slice = slice;
    return true;
}

void row_table_write(const struct row_table *table,
                     const struct row_slice *slice,
                     struct buffer *out)
{
    const uint32_t *rows = table->order + slice->first;
    if (rows[slice->count - 1] - rows[0] == slice->count - 1) { /* neighbours: in one piece */
        buffer_append(out, table->encoded.data + table->places[rows[0]].begin, slice->size_bytes);
        return;
    }
    for (uint32_t i = 0; i < slice->count; i++) {
        buffer_append_bytes(out, row_table_encoded(table, rows[i]));
    }
}

void row_table_keep_again(struct row_table *table, struct row_slice *slice)
{
    uint32_t *rows = table->order + slice->first;
    uint32_t kept = 0;
    slice->size_bytes = 0;
    for (uint32_t i = 0; i < slice->count; i++) {
        if (table->places[rows[i]].state == ROW_AGAIN) {
            table->places[rows[i]].state = ROW_TOGETHER;
            slice->size_bytes += size_of(table, rows[i]);
            rows[kept++] = rows[i];
        }
    }
    slice->count = kept;
}

/* --- outcomes --------------------------------------------------------------------------------- */

void row_table_fail(struct row_table *table, uint32_t row, enum edubba_code code, struct bytes text)
{
    ASSERT(code != EDUBBA_OK);
    ASSERT(table->places[row].state != ROW_ENDED);
    char *copy = text.size_bytes > 0 ? memory_copy_text(text) : NULL;
    if (copy != NULL && copy[0] == '\0') {
        memory_free(copy);
        copy = NULL;
    }
    table->failures[table->failure_count++] = (struct edubba_row_failure){
        .entry = row,
        .code = code,
        .text = copy != NULL ? copy : "",
    };
    table->places[row].state = ROW_ENDED;
    table->left--;
}

static int compare_failures(const void *a, const void *b)
{
    const struct edubba_row_failure *left = a;
    const struct edubba_row_failure *right = b;
    return left->entry < right->entry ? -1 : left->entry > right->entry;
}

struct edubba_rows_result row_table_result(struct row_table *table)
{
    ASSERT(table->left == 0);
    struct edubba_rows_result result = {.code = EDUBBA_OK, .entry_count = table->count};
    if (table->failure_count > 0) {
        qsort(table->failures, table->failure_count, sizeof *table->failures, compare_failures);
        result.code = table->failures[0].code;
        result.failures = table->failures;
        result.failure_count = table->failure_count;
    }
    return result;
}
