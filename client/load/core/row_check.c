#include "client/load/core/row_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/excerpt.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct load_field *)a)->name, ((const struct load_field *)b)->name);
}

void load_fields_make(enum load_key_form form, struct load_field *fields, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct load_field *field = &fields[i];
        field->size = load_field_name(form, i, field->name);
        field->hash = load_value_key_hash((const uint8_t *)field->name, field->size);
    }
    qsort(fields, count, sizeof *fields, compare_names);
}

struct load_row_check load_row_check_begin(const struct load_shape *shape,
                                           uint64_t count,
                                           const uint8_t *key,
                                           size_t key_size)
{
    return (struct load_row_check){
        .shape = shape,
        .key_hash = load_value_key_hash(key, key_size),
        .count = count,
    };
}

static void count_fault(struct load_row_check *check,
                        enum load_fault fault,
                        const uint8_t *column,
                        size_t column_size,
                        size_t value_size)
{
    if (check->wrong == 0) {
        check->fault = fault;
        check->column = column;
        check->column_size = column_size;
        check->value_size = value_size;
    }
    check->wrong++;
}

/* As cells are ordered: by bytes, the shorter first. */
static int compare_to(const struct load_field *field, const uint8_t *column, size_t size)
{
    int order = memcmp(field->name, column, field->size < size ? field->size : size);
    if (order != 0) {
        return order;
    }
    return field->size < size ? -1 : field->size > size;
}

static void miss_next(struct load_row_check *check)
{
    const struct load_field *field = &check->shape->fields[check->next++];
    check->checked++;
    count_fault(check, LOAD_CELL_MISSING, (const uint8_t *)field->name, field->size, 0);
}

void load_row_check_cell(struct load_row_check *check,
                         const uint8_t *column,
                         size_t column_size,
                         const uint8_t *value,
                         size_t value_size)
{
    const struct load_shape *shape = check->shape;
    int order = 1;
    while (check->next < check->count &&
           (order = compare_to(&shape->fields[check->next], column, column_size)) < 0) {
        miss_next(check);
    }
    if (check->next == check->count || order != 0) {
        load_row_check_stranger(check, column, column_size);
        return;
    }
    const struct load_field *field = &shape->fields[check->next++];
    check->checked++;
    if (value_size != shape->value_bytes) {
        count_fault(check, LOAD_VALUE_SIZE, column, column_size, value_size);
    } else if (!load_value_is_right(shape->pool, check->key_hash, field->hash, value, value_size)) {
        count_fault(check, LOAD_VALUE_WRONG, column, column_size, value_size);
    }
}

void load_row_check_stranger(struct load_row_check *check,
                             const uint8_t *column,
                             size_t column_size)
{
    check->checked++;
    count_fault(check, LOAD_CELL_UNEXPECTED, column, column_size, 0);
}

void load_row_check_end(struct load_row_check *check)
{
    while (check->next < check->count) {
        miss_next(check);
    }
}

void load_row_check_text(const struct load_row_check *check,
                         const uint8_t *key,
                         size_t key_size,
                         char out[LOAD_FAULT_BYTES])
{
    char row[LOAD_PLAIN_BYTES];
    char column[LOAD_PLAIN_BYTES];
    int size = snprintf(out, LOAD_FAULT_BYTES,
                        "row %s, column %s: ", load_plain(key, key_size, row),
                        load_plain(check->column, check->column_size, column));
    char *rest = out + size;
    size_t left = LOAD_FAULT_BYTES - (size_t)size;
    switch (check->fault) {
    case LOAD_RIGHT:
        break;
    case LOAD_CELL_MISSING:
        (void)snprintf(rest, left, "not there, expected %" PRIu64 " bytes",
                       check->shape->value_bytes);
        break;
    case LOAD_CELL_UNEXPECTED:
        (void)snprintf(rest, left, "there, expected are %" PRIu64 " other columns, each once",
                       check->count);
        break;
    case LOAD_VALUE_SIZE:
        (void)snprintf(rest, left, "%zu bytes, expected %" PRIu64, check->value_size,
                       check->shape->value_bytes);
        break;
    case LOAD_VALUE_WRONG:
        (void)snprintf(rest, left, "%zu bytes that were never written there", check->value_size);
        break;
    }
}
