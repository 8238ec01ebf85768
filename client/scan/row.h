/* Rows as callers see them, out of row blocks. */
#ifndef CLIENT_SCAN_ROW_H
#define CLIENT_SCAN_ROW_H

#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/wire/message.h"

/* Take the next row off a block: as row_block_next(); cells in the arena, bytes in the block. */
enum status row_take(struct bytes *block,
                     struct arena *arena,
                     struct edubba_row *ret_row,
                     bool *ret_found,
                     struct error *ret_error);

/* A copy in one piece of memory, for edubba_row_free(); NULL without memory. */
struct edubba_row *row_copy(const struct edubba_row *row);

#endif /* CLIENT_SCAN_ROW_H */
