/*
 * Row filters: all of Bigtable's, evaluated cell by cell.
 *
 *   struct filter           the tree as it came from the wire or from ebt
 *   struct filter_program   checked and compiled against one table; reusable for many rows
 *
 * Evaluation is streaming: a row of ten million columns is never held.  Counters, labels and
 * interleaved copies are state of the program; a condition reads its row once more, at most once
 * per level of conditions that wait for one another (README.md).  The program tells the source
 * early when it needs no more of a column or of the row, and seeks to the columns that it names.
 * Memory is bounded: by LIMIT_FILTER_BYTES, and 8 MiB for all regexes of a filter.
 *
 * A struct filter borrows or is in an arena.  A program owns its memory.
 * Thread rule: a program belongs to one thread at a time.
 */
#ifndef COMMON_MODEL_FILTER_H
#define COMMON_MODEL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/limits.h"
#include "common/model/cell.h"
#include "common/model/schema.h"

/* Numbers are sent: never reuse one. */
enum filter_kind {
    FILTER_PASS_ALL = 1,
    FILTER_BLOCK_ALL = 2,
    FILTER_CHAIN = 3,
    FILTER_INTERLEAVE = 4,
    FILTER_CONDITION = 5, /* children: predicate, true branch, false branch; see has_* */
    FILTER_SINK = 6,
    FILTER_ROW_KEY_REGEX = 7,
    FILTER_ROW_SAMPLE = 8,
    FILTER_FAMILY_REGEX = 9,
    FILTER_QUALIFIER_REGEX = 10,
    FILTER_VALUE_REGEX = 11,
    FILTER_COLUMN_RANGE = 12,
    FILTER_TIMESTAMP_RANGE = 13,
    FILTER_VALUE_RANGE = 14,
    FILTER_CELLS_PER_ROW_OFFSET = 15,
    FILTER_CELLS_PER_ROW_LIMIT = 16,
    FILTER_CELLS_PER_COLUMN_LIMIT = 17,
    FILTER_STRIP_VALUE = 18,
    FILTER_APPLY_LABEL = 19,
    FILTER_VALUE_BITMASK = 20,
};

struct filter_bound {
    bool present; /* absent = unbounded on that side */
    bool closed;  /* includes the bytes */
    struct bytes bytes;
};

struct filter {
    enum filter_kind kind;
    bool flag;          /* PASS_ALL, BLOCK_ALL, SINK, STRIP_VALUE: the value given; must be true */
    double probability; /* ROW_SAMPLE */
    int64_t count;      /* CELLS_PER_* */
    int64_t start_us;   /* TIMESTAMP_RANGE: [start_us, end_us), end_us 0 = for ever */
    int64_t end_us;
    struct bytes bytes;        /* regexes, label, bitmask; COLUMN_RANGE: the family's name */
    struct filter_bound start; /* COLUMN_RANGE, VALUE_RANGE */
    struct filter_bound end;
    bool has_true; /* CONDITION */
    bool has_false;
    /* CHAIN, INTERLEAVE: child_count of them.  CONDITION: always 3, of which absent ones are not
     * used. */
    const struct filter *children;
    size_t child_count;
};

struct filter_program;

/*
 * LIMIT_FILTER_BYTES is about Bigtable's encoding.  On our wire most filters take less, some a
 * quarter more (a value range with both bounds: two bytes); none takes more than twice as much.
 */
#define FILTER_WIRE_BYTES_MAX (2 * LIMIT_FILTER_BYTES)

/*
 * Check and compile.  filter NULL = pass everything.  encoded_bytes is the size the filter had on
 * the wire (0 = unknown), held against FILTER_WIRE_BYTES_MAX.  seed makes ROW_SAMPLE repeatable.
 *
 * Errors: STATUS_INVALID_ARGUMENT (in Bigtable's words: size, depth over 20, bad regex
 * "Error in field '<name>' : ...", fewer than two members, false flags, empty row key regex, sink
 * inside condition, labels, counts <= 0, probability outside (0,1), `:` in a family regex,
 * negative timestamps or a start behind the end; and, ours, more than 20 conditions that wait for one another or
 * copies without bound), STATUS_NOT_FOUND (a column range or an exact family name that the table
 * does not have), STATUS_NO_MEMORY.
 */
enum status filter_compile(const struct filter *filter,
                           size_t encoded_bytes,
                           const struct table *table,
                           uint64_t seed,
                           struct filter_program **ret_program,
                           struct error *ret_error);
void filter_destroy(struct filter_program *program); /* NULL is fine */

/*
 * Called for every cell of the result, in result order.  The cell is good for the call only.
 * An error ends the evaluation and is returned by filter_run().
 */
typedef enum status (*filter_output)(void *context, const struct cell *cell);

/*
 * Run one row through the program (NULL: everything passes).  *ret_any = whether anything came out.  output may be NULL:
 * then evaluation ends at the first cell that would come out (a predicate).
 * *ret_cells_seen counts cells pulled from the source, also on failure; may be NULL.
 * Errors: those of the source and of output; STATUS_NO_MEMORY.
 */
enum status filter_run(struct filter_program *program,
                       struct bytes row,
                       const struct cell_source *source,
                       filter_output output,
                       void *context,
                       bool *ret_any,
                       uint64_t *ret_cells_seen);

/* Can this row key be dropped without looking at its cells (row key regex, sample)? */
bool filter_skips_row(struct filter_program *program, struct bytes row);

/* A filter, checked or not, as one line of text, for people: tests say by it which filter fails. */
void filter_format(const struct filter *filter, struct buffer *out);

#endif /* COMMON_MODEL_FILTER_H */
