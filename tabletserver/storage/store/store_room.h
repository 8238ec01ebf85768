/*
 * Is there room to go on?  Pure: from what was measured to a verdict.
 *
 * Room is found in three places, and they are not worth the same:
 *
 *   the disk      pays for everything
 *   data.mdb      LMDB's file never shrinks: pages freed in it pay for the base only
 *   the log       segments are preallocated and recycled: they pay for the log only
 *
 *            short               some                  enough
 *   |----------------------|----------------|--------------------------> room
 *                          ^ low            ^ high
 *
 * Below low, what is in memory might not fit into the base any more, or the next memtable not into
 * the log: writes are refused while the ballast is still whole.  Above high, a whole memtable more
 * can be logged and flushed: writes are let in again.  Between them all stays as it is, so that a
 * store does not go to and fro.
 *
 * Flushing what is in memory moves room from one place to another (the log shrinks, data.mdb
 * grows).  So high also looks at the sum, with the log as large as it gets: the sum does not rise by flushing,
 * only by what is deleted or given.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_ROOM_H
#define TABLETSERVER_STORAGE_STORE_STORE_ROOM_H

#include <stdint.h>

#include "tabletserver/storage/store/store.h"

/* As measured. */
struct store_room {
    uint64_t disk_free_bytes;     /* what the ballast file takes is not free */
    uint64_t base_file_bytes;     /* data.mdb */
    uint64_t base_freed_bytes;    /* pages in it that are not in use: of no worth yet */
    uint64_t base_reusable_bytes; /* those of them that the next transaction may take */
    uint64_t base_limit_bytes;    /* it grows no larger, whatever the disk has: the map */
    uint64_t log_file_bytes;      /* segments and spares */
    uint64_t log_peak_bytes;      /* the most of that since writes are refused; 0 = they are not */
    uint64_t unflushed_bytes;     /* in memory, promised */
    uint64_t ballast_bytes;       /* of the ballast file; 0 = there is none */
};

enum store_room_verdict {
    STORE_ROOM_SHORT,  /* refuse writes */
    STORE_ROOM_SOME,   /* leave it as it is */
    STORE_ROOM_ENOUGH, /* let writes in */
};

/* *ret_wanted_bytes: so much more on the disk (or as pages freed, where those do) would make it
 * enough; 0 when it is. */
enum store_room_verdict store_room_judge(const struct store_room *room,
                                         const struct store_settings *settings,
                                         uint64_t *ret_wanted_bytes);

/* So much may be in memory that its log and its flush still find room: the limit that is set, or less
 * on a disk that is nearly full, but one memtable.  Writers then wait for flushes as they do when
 * memory is short, where they would be refused otherwise. */
uint64_t store_room_memory_bytes(const struct store_room *room,
                                 const struct store_settings *settings);

/*
 * Memory that writers leave alone while memtables are written to the base, of the one whose turn it is
 * flushed_bytes being there.  All of it comes free at once when its last row is; to those who have waited for
 * that it would be a standstill of a second, with a rush behind it:
 *
 *   limit |------------- . ' |------ . ' |---      in use + due: at its limit all the time
 *         |        . '       |    . '    |         in use: rises as rows reach the base
 *         |  . '             |. '        | . '
 *         '------------------+-----------+--> bytes flushed
 *                            a memtable is let go
 *
 * While small memtables have their turn it is as much as for the largest there is, or that one would bring the
 * standstill back; but a sixth of the limit at most, so that large ones do not stop who would have found room.
 */
uint64_t store_room_due_bytes(uint64_t flushed_bytes,
                              uint64_t largest_bytes,
                              uint64_t memory_limit_bytes);

/* How large a ballast file may be, counting the one that is there, without anything else lacking
 * for it; at most the size that is set.  What is missing of it is kept free in data.mdb. */
uint64_t store_room_ballast_bytes(const struct store_room *room,
                                  const struct store_settings *settings);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_ROOM_H */
