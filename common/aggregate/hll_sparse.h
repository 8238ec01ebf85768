/*
 * Lists of sparse encodings: ascending, one entry for each sparse index, written as minimal
 * unsigned varints of the first value and then of the differences.
 *
 * Lists are borrowed bytes.  The functions that say "checked" rely on hll_sparse_check(); given
 * other bytes they stay within memory and may answer false, or with another list of no use.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_HLL_SPARSE_H
#define COMMON_AGGREGATE_HLL_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/hll.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

struct hll_sparse_list {
    struct bytes data;
    uint32_t count; /* entries; what a state calls sparse_size */
};

/* Walks a list.  Start with hll_sparse_reader_of(). */
struct hll_sparse_reader {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t encoding; /* the entry last read; 0 before the first */
};

struct hll_sparse_reader hll_sparse_reader_of(struct bytes data);

/* Read the next entry into reader->encoding.  False at the end (reader->at == reader->end then)
 * and at bytes that no list holds (it stays before them). */
bool hll_sparse_read(struct hll_sparse_reader *reader);

/* From this many bytes on a sketch turns normal: three quarters of its registers. */
size_t hll_sparse_size_limit_bytes(uint32_t precision);

/* Is it a list of this precision, with that count?
 * Errors: STATUS_INVALID_ARGUMENT, text says what is wrong; ret_error may be NULL. */
enum status hll_sparse_check(struct hll_sparse_list list,
                             struct hll_precision precision,
                             struct error *ret_error);

/* The union of two checked lists of one precision, written to ret_data, which has room for the
 * bytes of both and is neither's.  False when one is no list. */
bool hll_sparse_unite(struct hll_precision precision,
                      struct hll_sparse_list a,
                      struct hll_sparse_list b,
                      uint8_t *ret_data,
                      struct hll_sparse_list *ret_list);

/* A checked list brought down to a lower precision; its bytes are appended to out, which
 * *ret_list borrows.
 * Errors: STATUS_NO_MEMORY; STATUS_INVALID_ARGUMENT for what is no list. */
enum status hll_sparse_downgrade(struct hll_sparse_list list,
                                 struct hll_precision from,
                                 struct hll_precision to,
                                 struct buffer *out,
                                 struct hll_sparse_list *ret_list);

#endif /* COMMON_AGGREGATE_HLL_SPARSE_H */
