/*
 * Which deletes cover a position of the row that is being read.
 *
 * Deletes are added in entry_compare() order, as a row's stream yields them, from one layer or from
 * several merged; then every position of the row asks for the largest stamp that covers it.  A
 * cell is dead if and only if that stamp is larger than its own.
 *
 * A column's range deletes are kept as disjoint segments, descending, each with its largest stamp:
 *
 *      timestamps   <--- larger
 *      deletes      [----- 7 -----)          [-- 4 --)
 *                        [---- 9 ----)
 *      segments     [ 7 )[--- 9 -----)       [-- 4 --)
 *
 * Those of one column only are held, and what another covers or continues with the same stamp is
 * joined, so memory is bounded by what can differ within one column.  No allocation for rows
 * without column deletes.
 *
 * Many deletes may reach over many others that are younger (who drops the last day again and again, or all from some
 * time on).  So each segment knows the nearest one above it that is older: those between need not be looked at for a
 * delete that is older than they are.
 *
 * Thread rule: one owner at a time.
 */
#ifndef TABLETSERVER_STORAGE_ROWS_DELETE_COVER_H
#define TABLETSERVER_STORAGE_ROWS_DELETE_COVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/rows/entry.h"

struct delete_segment {
    int64_t start_us; /* [start_us, end_us) */
    int64_t end_us;   /* INT64_MAX = for ever */
    struct stamp stamp;
    size_t top; /* the first of those that it continues without a gap: itself, if it begins anew */
    size_t above; /* of these the nearest one with a smaller stamp; SIZE_MAX = there is none */
};

struct delete_segments {
    struct delete_segment *items;
    size_t count;
    size_t capacity;
};

struct delete_cover {
    struct stamp row;
    uint32_t family; /* of family_stamp; 0 = none */
    struct stamp family_stamp;
    uint32_t column_family; /* of segments; 0 = none */
    struct buffer column_qualifier;
    struct delete_segments segments;
    struct delete_segments scratch;
};

void delete_cover_init(struct delete_cover *cover);
void delete_cover_deinit(struct delete_cover *cover);

/* Forget all, keep the memory.  `row` covers everything from the start (a range delete, or
 * STAMP_OLDEST). */
void delete_cover_reset(struct delete_cover *cover, struct stamp row);

/* Add a ROW_DELETE, FAMILY_DELETE or COLUMN_DELETE, not before an earlier one in position order.
 * Errors: STATUS_NO_MEMORY. */
enum status delete_cover_add(struct delete_cover *cover, const struct entry *entry);

/* The largest stamp that covers the position; STAMP_OLDEST when none does. */
struct stamp delete_cover_at(const struct delete_cover *cover,
                             uint32_t family,
                             struct bytes qualifier,
                             int64_t timestamp_us);

#endif /* TABLETSERVER_STORAGE_ROWS_DELETE_COVER_H */
