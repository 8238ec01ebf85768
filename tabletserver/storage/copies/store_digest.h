/*
 * What a tablet's copy shows, in 128 bits: to be compared with another copy's (docs/replication.md, section 9).
 *
 * Digested is what a reader of the table sees at one sequence and time: rows, columns, timestamps, values; so
 * nothing depends on how chunks are cut, what is in memory, and what of expired cells was erased when; nor on the
 * order in which sketches were folded (common/aggregate/aggregate_form.h).  Not in it: stamps, and exactly-once
 * records (which of them are still there depends on whom a copy has answered).
 *
 * Thread rule: begun on the loop; run and ended by any thread that may wait for the disk.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_DIGEST_H
#define TABLETSERVER_STORAGE_COPIES_STORE_DIGEST_H

#include "common/base/buffer.h"
#include "tabletserver/storage/store/store.h"

struct store_digesting;

struct store_digest {
    uint64_t halves[2];
    uint64_t rows;
    uint64_t size_bytes; /* that went into it */
    struct buffer last;  /* the last row that went into it, `after` if none did; the next range
                            begins behind.  buffer_deinit() */
    bool is_end;         /* there is none behind it */
};

/* A read is opened at what is committed now.  now_us: what rules have expired then is not shown.
 * Errors: STATUS_FAILED_PRECONDITION (the schema here is of another version), STATUS_NO_MEMORY, STATUS_IO,
 * STATUS_LIMIT, STATUS_NOT_OWNER. */
enum status store_digest_begin(struct store_tablet *tablet,
                               uint64_t schema_version,
                               int64_t now_us,
                               struct store_digesting **ret_digesting);

/* The version of the schema that is known here; 0 = none.  The loop. */
uint64_t store_digest_schema_version(struct store_tablet *tablet);
/* As of when copies are to be compared, if it is now_us here: not before what was said to have expired (another
 * server's clock, that of who led before, may be ahead of this one's).  The loop. */
int64_t store_digest_time_us(struct store_tablet *tablet, int64_t now_us);

/* Rows behind `after` (empty: from the first one on), to the end of the first at which there are bytes_max.
 * ret_digest->last is set whatever comes of it.  Errors: STATUS_CORRUPT, STATUS_IO, STATUS_NO_MEMORY. */
enum status store_digest_run(struct store_digesting *digesting,
                             struct bytes after,
                             uint64_t bytes_max,
                             struct store_digest *ret_digest);

void store_digest_end(struct store_digesting *digesting); /* NULL is fine */

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_DIGEST_H */
