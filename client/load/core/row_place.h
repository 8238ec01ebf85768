/*
 * Where rows of an answer stand: a read brings the row that was asked for, and a scan brings its rows
 * in the order of their keys, each once, none before where it begins nor from where it ends on.
 *
 * Values tell whether they were written to the row that came (value.h), and so say nothing of one
 * that came in another's place, or twice.
 *
 * Pure; thread rule: a place belongs to who began it.
 */
#ifndef CLIENT_LOAD_CORE_ROW_PLACE_H
#define CLIENT_LOAD_CORE_ROW_PLACE_H

#include "client/load/core/row_key.h"

/* How far it is: the last row that came, or before that the one that was asked for, where a scan
 * begins.  Of a key that is longer than ours are it has what fits. */
struct load_row_place {
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    size_t size;
    bool has_begun; /* a row has come */
};

void load_row_place_begin(struct load_row_place *place, const uint8_t *key, size_t size);

/* Is it the row that was asked for, or where the scan begins?  Before one is taken. */
bool load_row_place_is(const struct load_row_place *place, const uint8_t *key, size_t size);

/* The next row of a scan that ends before `end`.  False: it has no place here, and changes nothing. */
bool load_row_place_take(struct load_row_place *place,
                         const uint8_t *key,
                         size_t size,
                         const uint8_t *end,
                         size_t end_size);

/* For people, of a row that has no place in a read, or in a scan. */
#define LOAD_PLACE_BYTES 320
void load_row_place_text(const struct load_row_place *place,
                         const uint8_t *key,
                         size_t size,
                         bool is_scan,
                         char out[LOAD_PLACE_BYTES]);

#endif /* CLIENT_LOAD_CORE_ROW_PLACE_H */
