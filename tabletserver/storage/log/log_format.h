/*
 * The log's bytes: segment headers, anchors, batch headers, records.  Pure encode and decode; the
 * offset tables are in log_format.c and docs/storage-format.md.
 *
 * SEGMENT   A file: one block of header, then a piece of the stream.  Its number, in its name, is
 *           its generation: a recycled file gets the next number, a new header and a new salt.
 * STREAM    The concatenation of the segments' pieces.  Batches begin at multiples of 8 and may
 *           cross from one segment into the next, any number of times: a record may be larger than
 *           a segment.
 * BATCH     A header with a checksum of its own and the checksum of the payload.  Both are seeded
 *           with the salt and generation of the segment in which the batch begins and with its
 *           position.  So what an earlier life of the file left behind never passes, wherever it
 *           lies, and a client who stores the image of a batch in a value cannot forge one.
 *           The part of a batch that lies in later segments needs no seed of theirs: it is covered
 *           by the batch's checksum, and that those segments are the right ones is said by their
 *           headers (next number, next position).
 * FORMAT    Of records: said by each batch for its own, because a log that a program of format 1
 *           wrote goes on in the same segment.  Such a program is stopped by the anchor, which is
 *           written, in today's format, before anything else is.
 * EPOCH     Each opening of the log is one.  A batch carries the epoch that wrote it; epochs never
 *           fall along the stream.  See log_replay.h.
 * ANCHOR    A small file with two slots written in turn: from where on the log is kept, the
 *           current epoch and where it began.  It needs no space when it is changed, so a full
 *           disk can always be given room by releasing segments.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_FORMAT_H
#define TABLETSERVER_STORAGE_LOG_LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/byte_reader.h"
#include "common/base/error.h"
#include "common/base/limits.h"
#include "tabletserver/storage/log/log.h"

#define LOG_FORMAT_VERSION 2 /* 1 is read, and written no more: its records had no `behind` */
#define LOG_FEATURES_KNOWN 0u

#define LOG_BLOCK_BYTES        4096 /* a segment's header; a slot of the anchor */
#define LOG_ALIGNMENT_BYTES    8    /* of batches in the stream */
#define LOG_BATCH_HEADER_BYTES 56

/* The stream does not begin at 0, so that 0 can mean "no position". */
#define LOG_POSITION_FIRST UINT64_C(4096)
#define LOG_POSITION_NONE  UINT64_C(0)

/* One batch is all that replay holds in memory. */
#define LOG_BATCH_PAYLOAD_BYTES_MAX (UINT32_C(320) * 1024 * 1024)
_Static_assert(LOG_BATCH_PAYLOAD_BYTES_MAX > LIMIT_MESSAGE_BYTES + 16 * 1024 * 1024,
               "the largest request, resolved into a record, must fit a batch");

#define LOG_SEGMENT_BYTES_MIN (4 * LOG_BLOCK_BYTES)

struct log_segment_header {
    uint64_t store_number;
    uint64_t generation;     /* = the segment's number; from 1, rising by 1 along the stream */
    uint64_t first_position; /* of the stream's first byte in this file */
    uint64_t salt;           /* drawn anew with each generation */
    uint32_t segment_bytes;  /* of the file, header included */
};

/* Just behind the last byte of the stream in this file. */
static inline uint64_t log_segment_end(const struct log_segment_header *header)
{
    return header->first_position + header->segment_bytes - LOG_BLOCK_BYTES;
}

struct log_anchor {
    uint64_t store_number;
    uint64_t counter;         /* rises with each write; slot = counter % 2 */
    uint64_t start_segment;   /* replay begins here: a batch begins at start_position */
    uint64_t start_position;  /* or the log ends there */
    uint64_t epoch;           /* of the latest opening */
    uint64_t epoch_position;  /* where it began to write */
    uint64_t synced_position; /* known synced when this was written */
    bool cut;                 /* log_repair() cut the log: hints of before speak of what is lost */
};

enum log_batch_flag {
    LOG_BATCH_CLEAN_END = 1, /* the log was closed after this batch */
    LOG_BATCH_FORMAT_2 = 2,  /* of its records; the header's encoder and decoder deal with it */
};

struct log_batch_header {
    uint32_t payload_bytes; /* a multiple of 8 */
    uint32_t record_count;
    uint32_t flags;
    uint32_t format; /* of its records, as decoded; encoded is LOG_FORMAT_VERSION */
    uint64_t position;
    uint64_t synced_position; /* everything below it was durable before this was written */
    uint64_t epoch;
    uint64_t payload_checksum;
};

static inline uint64_t log_align(uint64_t size_bytes)
{
    return (size_bytes + LOG_ALIGNMENT_BYTES - 1) / LOG_ALIGNMENT_BYTES * LOG_ALIGNMENT_BYTES;
}

void log_segment_header_encode(const struct log_segment_header *header,
                               uint8_t ret_block[LOG_BLOCK_BYTES]);

/* Errors: STATUS_CORRUPT, STATUS_VERSION (a newer version or an unknown feature), with what is
 * wrong; the caller names the file.  A header of another store is corrupt. */
enum status log_segment_header_decode(const uint8_t block[LOG_BLOCK_BYTES],
                                      uint64_t store_number,
                                      struct log_segment_header *ret_header,
                                      struct error *ret_error);

void log_anchor_encode(const struct log_anchor *anchor, uint8_t ret_slot[LOG_BLOCK_BYTES]);

/* The newer of the two slots that are whole; store_number 0 takes any.  Errors as above. */
enum status log_anchor_decode(const uint8_t slots[2 * LOG_BLOCK_BYTES],
                              uint64_t store_number,
                              struct log_anchor *ret_anchor,
                              struct error *ret_error);

/* What the checksums of a batch beginning at position in a segment are seeded with. */
uint64_t log_batch_seed(uint64_t salt, uint64_t generation, uint64_t position);

uint64_t log_payload_checksum(const void *payload, size_t size_bytes, uint64_t seed);

void log_batch_header_encode(const struct log_batch_header *header,
                             uint64_t seed,
                             uint8_t ret_bytes[LOG_BATCH_HEADER_BYTES]);

/* Worth the price of a checksum?  For scans. */
bool log_batch_header_is_likely(const uint8_t bytes[LOG_BATCH_HEADER_BYTES], uint64_t position);

/* NULL, or what is wrong with it, in words. */
const char *log_batch_header_decode(const uint8_t bytes[LOG_BATCH_HEADER_BYTES],
                                    uint64_t position,
                                    uint64_t seed,
                                    struct log_batch_header *ret_header);

/* An upper bound of what log_record_encode() appends. */
size_t log_record_size_bytes_max(const struct log_record *record);

void log_record_encode(const struct log_record *record, struct buffer *out);

/* A record of a batch in that format.  False when it does not decode.  The payload borrows. */
bool log_record_decode(struct byte_reader *reader, uint32_t format, struct log_record *ret_record);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_FORMAT_H */
