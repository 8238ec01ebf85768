/*
 * Numbers given out in ascending order and finished in any order; the lowest unfinished one.
 *
 *        base          next
 *          v             v
 *   ... 41 42 43 44 45 46      42 and 45 unfinished, 43 and 44 finished: lowest unfinished 42
 *
 * That lowest number travels with every message: servers forget the exactly-once records below it.
 * A number costs one bit; begin and finish are O(1) amortised, for many numbers in a row O(1) for
 * every 64 of them.
 *
 * This module is pure.  Thread rule: one owner, or the owner's lock.
 */
#ifndef CLIENT_CORE_SEQUENCE_WINDOW_H
#define CLIENT_CORE_SEQUENCE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

struct sequence_window {
    uint64_t base; /* every number below is finished; the one at base is not, unless base == next */
    uint64_t next; /* the next number given out */
    uint64_t *finished; /* a ring of bits, number n at n % (64 * word_count) */
    size_t word_count;  /* 0 or a power of two */
};

/* The first number is 1. */
void sequence_window_init(struct sequence_window *window);
void sequence_window_deinit(struct sequence_window *window);

/* Errors: STATUS_NO_MEMORY. */
enum status sequence_window_begin(struct sequence_window *window, uint64_t *ret_sequence);

/* Requires: begun, and not finished yet. */
void sequence_window_finish(struct sequence_window *window, uint64_t sequence);

/* The same for count numbers in a row; without memory none is begun. */
enum status sequence_window_begin_many(struct sequence_window *window,
                                       uint64_t count,
                                       uint64_t *ret_first);
void sequence_window_finish_many(struct sequence_window *window, uint64_t first, uint64_t count);

/* The next number to be given out when all are finished. */
uint64_t sequence_window_lowest_unfinished(const struct sequence_window *window);

#endif /* CLIENT_CORE_SEQUENCE_WINDOW_H */
