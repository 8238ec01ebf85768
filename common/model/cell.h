/*
 * A cell as reads hand it out, and the source of a row's cells that filters pull from.
 */
#ifndef COMMON_MODEL_CELL_H
#define COMMON_MODEL_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"

struct cell {
    uint32_t family; /* number; the schema gives the name */
    struct bytes qualifier;
    int64_t timestamp_us;
    struct bytes value;
    struct bytes label; /* empty = none */
};

/* What a consumer wants next after taking a cell. */
enum cell_demand {
    CELL_NEXT,        /* the next cell */
    CELL_NEXT_COLUMN, /* nothing more of this column: seek past it */
    CELL_ROW_DONE,    /* nothing more of this row */
};

/*
 * The cells of one row, in order (family number, qualifier, timestamp descending), as visible at
 * one sequence and time.  Restartable, because a condition reads its row more than once.
 *
 *   rewind  Back, or forward, to the first cell of [family, qualifier] and after: family 0 = the
 *           row's start.  Called before the first next(), and again whenever a reader can skip far.
 *   next    *ret_found = false at the end of the row.  The cell is good until the next call.
 *           `demand` says what the caller no longer wants of what came before; after a rewind it
 *           is CELL_NEXT.  A source may ignore it.  A caller that wants nothing more just stops.
 *
 * Errors are those of storage: STATUS_CORRUPT, STATUS_IO, STATUS_NO_MEMORY,
 * STATUS_DEADLINE_EXCEEDED, STATUS_CANCELLED.
 */
struct cell_source {
    void *context;
    enum status (*rewind)(void *context, uint32_t family, struct bytes qualifier);
    enum status (*next)(void *context,
                        enum cell_demand demand,
                        struct cell *ret_cell,
                        bool *ret_found);
};

#endif /* COMMON_MODEL_CELL_H */
