/*
 * The rows of one call: where each lies in the bytes that were encoded, and what became of it.
 *
 *                 +--> TOGETHER <--> AGAIN    in a slice, with other rows of one server
 *      NEW -------|        |
 *                 |        v
 *                 +--> ALONE --> ENDED         not located, or not there any more
 *
 * Rows are added, then routed: each learns its server, and row_table_slice() cuts them into slices
 * of one server, in the order of the rows.  What the server could not do yet (AGAIN) stays in its
 * slice for another attempt; a row may leave its slice and go alone.  Failures are kept in memory
 * that is there from the beginning, so that telling them cannot fail; a call whose rows all succeed
 * never touches it.
 *
 * Invariants:
 *   (1) Each row ends once; `left` counts those that have not.
 *   (2) A row is in at most one slice, and rows of one server are in slices in ascending order.
 *
 * This module is pure.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_ROW_TABLE_H
#define CLIENT_CORE_ROW_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/include/edubba.h"
#include "common/base/buffer.h"

enum row_state {
    ROW_NEW,
    ROW_TOGETHER,
    ROW_AGAIN,
    ROW_ALONE,
    ROW_ENDED,
};

struct row_place {
    size_t begin; /* in the encoded bytes; it ends where the next begins */
    uint32_t address;
    uint16_t key_size;
    uint8_t key_offset; /* from begin */
    uint8_t state;      /* enum row_state */
};

struct row_table {
    struct buffer encoded; /* of all rows; owned */
    uint32_t count;
    uint32_t left;
    uint32_t next;            /* none before it is to be cut into a slice any more */
    uint32_t ordered;         /* so much of order is filled */
    struct row_place *places; /* count + 1 of them: the last says where the bytes end */
    uint32_t *order;
    struct edubba_row_failure *failures;
    uint32_t failure_count;
};

struct row_slice {
    uint32_t address;
    uint32_t first; /* in order */
    uint32_t count;
    size_t size_bytes; /* encoded */
};

/* Memory for a table of so many rows, which row_table_init() divides; it stays the caller's. */
size_t row_table_memory_bytes(size_t capacity);
void row_table_init(struct row_table *table, void *memory, size_t capacity);

/* Frees the encoded bytes and the failures' texts. */
void row_table_deinit(struct row_table *table);

/* One more, whose bytes, and nothing else, were appended to table->encoded since the last was
 * added; its key lies key_offset bytes behind their beginning.  The number of rows stays below the
 * capacity given. */
void row_table_add(struct row_table *table, size_t key_offset, size_t key_size);

struct bytes row_table_key(const struct row_table *table, uint32_t row);
struct bytes row_table_encoded(const struct row_table *table, uint32_t row);

/* The next rows for one server: the first that is still NEW, and those after it of the same
 * address, at most rows_max and bytes_max, but at least one.  False when none is NEW. */
bool row_table_slice(struct row_table *table,
                     uint32_t rows_max,
                     size_t bytes_max,
                     struct row_slice *ret_slice);

/* A row's number from its place in the slice. */
static inline uint32_t row_slice_row(const struct row_table *table,
                                     const struct row_slice *slice,
                                     uint32_t index)
{
    return table->order[slice->first + index];
}

void row_table_write(const struct row_table *table,
                     const struct row_slice *slice,
                     struct buffer *out);

/* The slice's rows that are AGAIN are TOGETHER once more, and all that is left of the slice. */
void row_table_keep_again(struct row_table *table, struct row_slice *slice);

/* It ended well. */
static inline void row_table_succeed(struct row_table *table, uint32_t row)
{
    table->places[row].state = ROW_ENDED;
    table->left--;
}

/* It failed; without memory for the text, the text is left out. */
void row_table_fail(struct row_table *table,
                    uint32_t row,
                    enum edubba_code code,
                    struct bytes text);

/* All rows have ended: the outcome, whose failures live as long as the table. */
struct edubba_rows_result row_table_result(struct row_table *table);

#endif /* CLIENT_CORE_ROW_TABLE_H */
