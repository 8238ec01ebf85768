/*
 * Is a row that was read what the load writes: each of its fields once, of the size that is asked
 * for, with a value made for it, and nothing besides?
 *
 * Every change that the load makes writes all fields of a row, or one of a row that has them, and a
 * row changes at once.  So a row that is there has all of them, whatever is under way.
 *
 * Pure; thread rule: a check belongs to who began it.
 */
#ifndef CLIENT_LOAD_CORE_ROW_CHECK_H
#define CLIENT_LOAD_CORE_ROW_CHECK_H

#include "client/load/core/value.h"
#include "client/load/core/workload.h"

struct load_field {
    char name[LOAD_FIELD_NAME_BYTES_MAX];
    size_t size; /* of the name */
    uint64_t hash;
};

/* Name fields 0 to count - 1, ascending by name: the order in which a row has its cells. */
void load_fields_make(enum load_key_form form, struct load_field *fields, uint64_t count);

struct load_shape {
    const uint8_t *pool;             /* of values */
    const struct load_field *fields; /* ascending by name */
    uint64_t value_bytes;
};

enum load_fault {
    LOAD_RIGHT,
    LOAD_CELL_MISSING,
    LOAD_CELL_UNEXPECTED, /* no column of the load's, or one more version of it */
    LOAD_VALUE_SIZE,
    LOAD_VALUE_WRONG,
};

struct load_row_check {
    const struct load_shape *shape;
    uint64_t key_hash;
    uint64_t count; /* of fields that were asked for: the first of the shape's */
    uint64_t next;  /* of these, the first not seen yet */
    uint64_t checked;
    uint64_t wrong; /* of these */
    /* of the first that is wrong; what points lasts as long as the row does */
    enum load_fault fault;
    const uint8_t *column;
    size_t column_size;
    size_t value_size;
};

struct load_row_check load_row_check_begin(const struct load_shape *shape,
                                           uint64_t count,
                                           const uint8_t *key,
                                           size_t key_size);

/* The next cell of the row, in its order. */
void load_row_check_cell(struct load_row_check *check,
                         const uint8_t *column,
                         size_t column_size,
                         const uint8_t *value,
                         size_t value_size);

/* A cell of another family than the load's. */
void load_row_check_stranger(struct load_row_check *check,
                             const uint8_t *column,
                             size_t column_size);

/* There are no more cells. */
void load_row_check_end(struct load_row_check *check);

/* The first that is wrong, for people: row, column, what was expected and what was found. */
#define LOAD_FAULT_BYTES 320
void load_row_check_text(const struct load_row_check *check,
                         const uint8_t *key,
                         size_t key_size,
                         char out[LOAD_FAULT_BYTES]);

#endif /* CLIENT_LOAD_CORE_ROW_CHECK_H */
