/*
 * A commit on its way through etcd: the mark that says how far commits have come, and the parcel of
 * one that a single transaction cannot hold.
 *
 * MARK   text, so that people can read it: "1 REIGN NUMBER PARCEL_BYTES PARCEL_CHECKSUM DONE"
 *   1                layout; a higher one is refused as STATUS_VERSION
 *   REIGN, NUMBER    of the last commit: the NUMBER-th of its reign.  No two marks are alike
 *   PARCEL_BYTES     0, or: its parcel lies in stage/, has so many bytes, and this checksum
 *   DONE             so many of the parcel's puts are in record/ already
 *
 * PARCEL   puts, one after the other, cut anywhere into pieces:
 *   varint   key size * 2, + 1 where the key is removed
 *   bytes    key
 *   varint   value size, and the value: where it is not removed
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef MASTER_COORDINATOR_ETCD_PARCEL_H
#define MASTER_COORDINATOR_ETCD_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "master/core/catalog.h"

#define ETCD_MARK_LAYOUT    1
#define ETCD_MARK_TEXT_SIZE 128

struct etcd_mark {
    uint64_t reign; /* 0 = there was no commit yet */
    uint64_t number;
    uint64_t parcel_bytes;
    uint64_t parcel_checksum;
    uint64_t done;
};

/* NUL-terminated. */
void etcd_mark_encode(const struct etcd_mark *mark, char ret_text[ETCD_MARK_TEXT_SIZE]);

/* Errors: STATUS_CORRUPT, STATUS_VERSION. */
enum status etcd_mark_decode(struct bytes text,
                             struct etcd_mark *ret_mark,
                             struct error *ret_error);

static inline bool etcd_mark_is_staged(const struct etcd_mark *mark)
{
    return mark->parcel_bytes > 0;
}

/* Append; a failed buffer says that memory ran out. */
void etcd_parcel_put(const struct catalog_put *put, struct buffer *parcel);

/* The put at *position, which is moved on; bytes borrow from the parcel.  False: the parcel's end.
 * Errors, in *ret_status: STATUS_CORRUPT. */
bool etcd_parcel_next(struct bytes parcel,
                      size_t *position,
                      struct catalog_put *ret_put,
                      enum status *ret_status);

#endif /* MASTER_COORDINATOR_ETCD_PARCEL_H */
