/*
 * The store's own records beside the data, in the base's meta keys.
 *
 *   key                      value
 *   'S'                      the store: number, highest clock, log position known synced
 *   'T' tablet               a tablet: descriptor, pieces, what of its log is in the base
 *   'A' tablet               its applied map (applied_map.h), bare, for it is read with every read
 *   'D' tablet piece         its exactly-once records, cut in pieces
 *   'E' number               a dropped range of an extent, still to be erased
 *   'G' tablet               up to where the log is about an earlier life of the tablet (store_grave.c)
 *
 * Numbers in keys are big-endian.  Values (but 'A') end with a checksum seeded by their key, so a
 * record in another's place fails.  docs/storage-format.md has the offset tables.
 *
 * Pure.  Decoding trusts nothing; decoded bytes borrow, arrays are in the arena.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_META_H
#define TABLETSERVER_STORAGE_STORE_STORE_META_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "tabletserver/storage/base/base.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/record/horizon.h"
#include "tabletserver/storage/rows/row_reader.h"
#include "tabletserver/storage/store/store.h"

#define STORE_META_KEY_BYTES_MAX      16
#define STORE_META_DEDUPE_PIECE_BYTES (15 * 4096 - 64) /* whole pages, with LMDB's own header */

enum store_meta_kind {
    STORE_META_STORE = 'S',
    STORE_META_TABLET = 'T',
    STORE_META_APPLIED = 'A',
    STORE_META_DEDUPE = 'D',
    STORE_META_ERASURE = 'E',
    STORE_META_GRAVE = 'G',
};

struct store_meta_key {
    uint8_t data[STORE_META_KEY_BYTES_MAX];
    uint8_t size_bytes;
};

/* number and piece are used by the kinds that have them. */
struct store_meta_key store_meta_key(enum store_meta_kind kind, uint64_t number, uint32_t piece);
static inline struct bytes store_meta_key_bytes(const struct store_meta_key *key)
{
    return (struct bytes){key->data, key->size_bytes};
}
/* Seeds the checksum of the value under that key. */
uint64_t store_meta_seed(const struct store_meta_key *key);
/* The number in a key of that kind; false for another key. */
bool store_meta_key_number(struct bytes key, enum store_meta_kind kind, uint64_t *ret_number);

struct store_meta_tablet {
    struct store_tablet_descriptor descriptor;
    uint64_t sequence; /* records up to it need no replay, but for the applied map's exceptions */
    uint64_t clock;    /* highest stamp clock up to it */
    uint64_t row_estimate;
    uint32_t dedupe_piece_count;
    const struct base_piece *pieces;
    uint32_t piece_count;
    const struct range_delete *range_deletes;
    uint32_t range_delete_count;
    const struct horizon *horizons;
    uint32_t horizon_count;
    bool half_taught;                         /* only a part is there (store_slice.h) */
    struct store_configuration configuration; /* members.version 0 = none is known; else the same as
                                                 the descriptor's */
    /* The entry at `sequence`, where that is a barrier; its own sequence is 0 where it is none.
     * The stamp is not kept. */
    struct store_entry barrier;
};

struct store_meta_store {
    uint64_t store_number;
    uint64_t clock;
    uint64_t synced_position;
};

struct store_meta_erasure {
    uint64_t extent;
    struct row_range range;
};

/* Append the value (out->failed tells). */
void store_meta_encode_tablet(const struct store_meta_tablet *tablet, struct buffer *out);
void store_meta_encode_store(const struct store_meta_store *store, struct buffer *out);
void store_meta_encode_erasure(uint64_t number,
                               const struct store_meta_erasure *erasure,
                               struct buffer *out);

void store_meta_encode_grave(uint64_t tablet, uint64_t position, struct buffer *out);

/* Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
enum status store_meta_decode_grave(uint64_t tablet,
                                    struct bytes value,
                                    uint64_t *ret_position,
                                    struct error *ret_error);
enum status store_meta_decode_tablet(uint64_t tablet,
                                     struct bytes value,
                                     struct arena *arena,
                                     struct store_meta_tablet *ret_tablet,
                                     struct error *ret_error);
enum status store_meta_decode_store(struct bytes value,
                                    struct store_meta_store *ret_store,
                                    struct error *ret_error);
enum status store_meta_decode_erasure(uint64_t number,
                                      struct bytes value,
                                      struct store_meta_erasure *ret_erasure,
                                      struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_META_H */
