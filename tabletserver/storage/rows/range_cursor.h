/*
 * A layer cursor seen through a row range: rows outside do not exist.
 *
 * After a split both children read their parent's frozen memtables, each through its own range.
 *
 * Thread rule: as the cursor beneath.
 */
#ifndef TABLETSERVER_STORAGE_ROWS_RANGE_CURSOR_H
#define TABLETSERVER_STORAGE_ROWS_RANGE_CURSOR_H

#include "common/model/row_set.h"
#include "tabletserver/storage/rows/entry.h"

/* Takes over the cursor, on error too; range is borrowed until closed.  Errors: STATUS_NO_MEMORY. */
enum status range_cursor_open(struct layer_cursor *cursor,
                              const struct row_range *range,
                              struct layer_cursor **ret_cursor);

#endif /* TABLETSERVER_STORAGE_ROWS_RANGE_CURSOR_H */
