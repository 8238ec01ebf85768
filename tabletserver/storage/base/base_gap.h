/*
 * A stretch of rows of which nothing is stored, as a writer came to know it: the rows between one
 * that it opened and the one that follows in the file.
 *
 *     start   exclusive: the last row opened in there
 *     end     exclusive: the stored row that follows; none = the end of the extent
 *
 * Time series fill such a gap row by row, each host's new rows before the next host's old ones.
 * For a row in there the file need not be searched, which is a sixth of a flush of short rows.
 *
 * Invariant: nothing is stored in the gap, and rows outside of it do not matter.  So whoever opens a
 * row in it says so (base_gap_enter()).  Rows are row' (base_key.h).
 *
 * Thread rule: the writer's.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_GAP_H
#define TABLETSERVER_STORAGE_BASE_BASE_GAP_H

#include <stdbool.h>

#include "common/base/buffer.h"
#include "common/base/status.h"

struct base_gap {
    bool known;
    bool has_end;
    struct buffer start;
    struct buffer end;
};

void base_gap_deinit(struct base_gap *gap);

/* Nothing is stored behind row and before end (NULL = to the end of the extent).
 * Errors: STATUS_NO_MEMORY; nothing is known then. */
enum status base_gap_learn(struct base_gap *gap, struct bytes row, const struct bytes *end);
void base_gap_forget(struct base_gap *gap);

/* Is the row in the gap?  *ret_inside; then the gap begins behind it from now on.
 * Errors: as base_gap_learn(). */
enum status base_gap_enter(struct base_gap *gap, struct bytes row, bool *ret_inside);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_GAP_H */
