/*
 * Exactly-once records of one tablet (RIFL, SOSP 2015): which requests of which client have been
 * applied, and what they answered.
 *
 * A record is kept only above its client's lowest unfinished sequence, which every request carries,
 * so a client in good order holds about as many records as it has requests in flight.  Age is
 * measured by log stamps, never by a local clock: a client not heard of for LIMIT_DEDUPE_WINDOW_US
 * of stamp time is forgotten, and any attempt that says it first ran longer ago than that is
 * refused, because what would prove it a duplicate may be gone.
 *
 * Differences from RIFL: no lease server; the age rule above takes its place.
 *
 * This module is pure.  Thread rule: the store's loop only.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_DEDUPE_H
#define TABLETSERVER_STORAGE_RECORD_DEDUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "tabletserver/storage/record/record.h"

struct dedupe;

enum dedupe_verdict {
    DEDUPE_NEW,     /* go on; call dedupe_record() when it is appended to the log */
    DEDUPE_PENDING, /* the same request is logged but not committed: wait for it */
    DEDUPE_DONE,    /* applied before: answer with the result */
    DEDUPE_EXPIRED, /* too old to tell: refuse, never apply */
    DEDUPE_FULL,    /* too many clients or records: push back */
};

struct dedupe_limits {
    uint32_t clients_max;
    uint32_t records_max;      /* over all clients */
    uint64_t result_bytes_max; /* over all records; see dedupe_has_room() */
};

enum status dedupe_create(const struct dedupe_limits *limits, struct dedupe **ret_dedupe);
void dedupe_destroy(struct dedupe *dedupe); /* NULL is fine */

/* May a result of this size be kept beside the others?  Old ones are forgotten first.  Where there is
 * no room the request is recorded with a short result that says so: no request is refused for what it
 * answers, however large that is, and however many clients have left large results behind. */
bool dedupe_has_room(struct dedupe *dedupe, size_t result_bytes, uint64_t now_clock);

/* now_clock is the stamp clock.  *ret_result lives until the next call; *ret_sequence is the log
 * sequence of a PENDING one (answer when that is committed). client 0 is always NEW.
 * EXPIRED: the first attempt is older than the window (or claims to come from more than a window
 * ahead), or the client has said, here or earlier, that it no longer waits for this sequence. */
enum dedupe_verdict dedupe_check(struct dedupe *dedupe,
                                 const struct request_id *request,
                                 uint64_t now_clock,
                                 struct bytes *ret_result,
                                 uint64_t *ret_sequence);

/* The request was appended (or replayed) at log sequence with this stamp clock.  What the log says
 * is taken whatever the limits are; those bind dedupe_has_room(), dedupe_check() and
 * dedupe_reserve().  A request that is on record already stays as it is.
 * Errors: STATUS_NO_MEMORY; call dedupe_reserve() first where failing is no longer allowed. */
enum status dedupe_record(struct dedupe *dedupe,
                          const struct request_id *request,
                          uint64_t sequence,
                          uint64_t clock,
                          struct bytes result);

/* Make sure the next `records` calls of dedupe_record with these result bytes, all in all, cannot
 * fail.  One call for all of a batch: reservations do not add up.
 * Errors: STATUS_NO_MEMORY, STATUS_RESOURCE_EXHAUSTED (too many records). */
enum status dedupe_reserve(struct dedupe *dedupe, uint32_t records, size_t result_bytes);

/* Everything up to this log sequence is committed. */
void dedupe_commit(struct dedupe *dedupe, uint64_t sequence);

/* What lay above this log sequence was dropped from the log: its requests are new again.  (What a
 * client has said no longer to wait for stays said.) */
void dedupe_drop_above(struct dedupe *dedupe, uint64_t sequence);

/* Versioned, checksummed-by-the-caller image of all committed records, appended to out (check
 * out->failed); and back.  An uncommitted record is not in it: its log entry may yet be lost.
 * Loading adds to what is there (a merge unites two tablets' records; a split loads one image
 * twice), whatever the limits are, and changes nothing when it fails.
 * Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
void dedupe_encode(const struct dedupe *dedupe, struct buffer *out);
enum status dedupe_load(struct dedupe *dedupe, struct bytes image, struct error *ret_error);

/* These two for tests. */
uint32_t dedupe_record_count(const struct dedupe *dedupe);
uint32_t dedupe_client_count(const struct dedupe *dedupe);

#endif /* TABLETSERVER_STORAGE_RECORD_DEDUPE_H */
