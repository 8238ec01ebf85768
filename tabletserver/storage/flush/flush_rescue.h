/*
 * What frees a flush that damage holds up.
 *
 * What is written to a row has to be merged with what is stored of it.  Where that is damaged the flush waits, and all
 * that came to its tablet since, with the log that has it.  A delete of the row takes the damage along; but it comes
 * later, so its memtable is behind the one that waits.  Hence a flush that has met damage looks for such deletes in what
 * came after, memtables and range deletes, and lets them go first.  What they kill is dead already, for whoever reads
 * from now on; when their turn comes they come again, and find nothing.
 *
 * Only such as every open read sees: else one would find a row gone that it must not miss yet.
 *
 * Of a tablet that was split such deletes come to what came of it, whose flushes wait for its own.  They are later than
 * all that it has, so nothing may read it any more.
 *
 * Part of the store; the work thread.
 */
#ifndef TABLETSERVER_STORAGE_FLUSH_FLUSH_RESCUE_H
#define TABLETSERVER_STORAGE_FLUSH_FLUSH_RESCUE_H

#include <stdbool.h>

#include "tabletserver/storage/store/store_internal.h"

/* The tablet, and what came of it: nearest first, and of what is split again and again not all. */
#define FLUSH_RESCUE_TABLETS_MAX 7

/* What came to one of them. */
struct flush_rescue_part {
    struct store_read read; /* only registered */
    bool was_split;         /* and nothing reads it any more */
    struct store_range_deletes *deletes;
    struct layer_cursor *cursors[STORE_LAYERS_MAX];
    uint32_t cursor_count;
};

/* All zero: there is nothing in it. */
struct flush_rescue {
    struct flush_rescue_part parts[FLUSH_RESCUE_TABLETS_MAX];
    uint32_t part_count;
};

/* What came after the layer that is flushed.  To be closed, also after an error: STATUS_NO_MEMORY. */
enum status flush_rescue_open(struct flush_rescue *rescue,
                              struct store_tablet *tablet,
                              const struct store_layer *flushed);
void flush_rescue_close(struct flush_rescue *rescue);

/* What came of the tablet waits with it, until it is in the base: it takes deletes alone, too, and is not split. */
void flush_rescue_note_stuck(struct store_tablet *tablet);

struct flush_rescue_delete {
    struct stamp stamp;
    const struct range_delete
        *of_range; /* the rescue's; NULL = it is of the row alone, and came later */
};

/* The youngest delete of the whole row in it.  A range may have been deleted before what is flushed. */
enum status flush_rescue_find(struct flush_rescue *rescue,
                              struct bytes row,
                              struct flush_rescue_delete *ret_delete,
                              bool *ret_found);

#endif /* TABLETSERVER_STORAGE_FLUSH_FLUSH_RESCUE_H */
