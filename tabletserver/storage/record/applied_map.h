/*
 * The applied map: up to which sequence each part of a tablet's key space is in the base.
 *
 *   position   start          P1                  P2               end
 *              |---- seq 90 --|------ seq 40 -----|---- seq 70 ----|
 *
 * A flush goes through a memtable in position order, in many transactions; each of them records how
 * far it came, here, in the same transaction as the data.  So after a crash the base and the map
 * agree to the byte, and replay applies to each position exactly what is not there yet.  That is
 * what keeps a counter exact: adds are not idempotent.
 *
 * Invariants: (1) segments ascend strictly; the first starts at the start of everything;
 *             (2) neighbours have different sequences.
 *
 * Maps are immutable values in an arena: an operation makes a new one there, which may share bytes
 * with the old.  Pure.  Thread rule: values; any thread.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_APPLIED_MAP_H
#define TABLETSERVER_STORAGE_RECORD_APPLIED_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "tabletserver/storage/rows/entry.h"
#include "tabletserver/storage/rows/row_reader.h"

#define APPLIED_MAP_SEGMENTS_MAX 65536 /* decoding refuses more */

struct applied_segment {
    struct tablet_position from; /* to the next segment's */
    uint64_t sequence;           /* everything up to it is in the base */
};

struct applied_map {
    const struct applied_segment *segments;
    uint32_t count; /* >= 1 */
};

/* Negative, 0 or positive: the order of positions, `everything` last. */
int tablet_position_compare(const struct tablet_position *a, const struct tablet_position *b);

/* Where an entry of a row stands.  Deletes stand at the start of what they cover. */
struct tablet_position tablet_position_of(struct bytes row, const struct entry *entry);

/* The start of a row: all of the row lies above it. */
struct tablet_position tablet_position_of_row(struct bytes row);

/* One segment.  Errors of all that make maps: STATUS_NO_MEMORY. */
enum status applied_map_whole(struct arena *arena, uint64_t sequence, struct applied_map *ret_map);

uint64_t applied_map_at(const struct applied_map *map, const struct tablet_position *position);
uint64_t applied_map_highest(const struct applied_map *map);

/* The lowest and highest sequence anywhere in a row: equal unless a flush was cut inside it. */
void applied_map_span_of_row(const struct applied_map *map,
                             struct bytes row,
                             uint64_t *ret_lowest,
                             uint64_t *ret_highest);

/* Sequences in [from, to) become at least `sequence`; none goes back. */
enum status applied_map_raise(struct arena *arena,
                              const struct applied_map *map,
                              const struct tablet_position *from,
                              const struct tablet_position *to,
                              uint64_t sequence,
                              struct applied_map *ret_map);

/* The first position whose sequence is below `sequence`: all before it has been applied. */
struct tablet_position applied_map_prefix(const struct applied_map *map, uint64_t sequence);

/* Stored form, appended (out->failed tells).  docs/storage-format.md has the bytes. */
void applied_map_encode(const struct applied_map *map, struct buffer *out);

/* Bytes of the result borrow from image.  Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
enum status applied_map_decode(struct bytes image,
                               struct arena *arena,
                               struct applied_map *ret_map,
                               struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_RECORD_APPLIED_MAP_H */
