/*
 * Rows that were touched in a tablet, one in so many: left here by whoever touches them, until whoever
 * reports takes them out (serve/load/load_sampling.h).
 *
 *    reads, writes, scans --- one in `every` ---> ring, bounded ---> drained each second
 *
 * COST.  Who touches a row asks key_ring_wants(), which is a multiplication; one in `every` is copied,
 * under a lock that is only tried: where it is taken, or the ring is full, the sample is left out.  What
 * did not fit is counted, so that those which did can stand for it.
 *
 * Rings outlive the tablets that they serve, and go from one to the next: a sample names its owner, and
 * that of a former one falls away.
 *
 * Thread rule: key_ring_wants() and key_ring_put() any thread; the others the one who reports.
 */
#ifndef TABLETSERVER_STORAGE_STORE_KEY_RING_H
#define TABLETSERVER_STORAGE_STORE_KEY_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"

#define KEY_RING_BYTES       (64 * 1024)
#define KEY_RING_SAMPLES_MAX 4096
#define KEY_RING_EVERY_MAX   (1U << 20)

enum key_touch {
    KEY_READ,    /* a row: asked for, or looked at by a scan */
    KEY_WRITTEN, /* a row */
    KEY_SCANNED, /* the rows from one to another, both touched by one scan */
};
#define KEY_TOUCH_COUNT 3

struct key_ring;

struct key_sample {
    struct bytes row;
    struct bytes end; /* KEY_SCANNED: the last row */
    enum key_touch touch;
};

struct key_samples {
    struct key_sample samples[KEY_RING_SAMPLES_MAX]; /* rows lie in bytes */
    uint32_t count;
    uint32_t offered[KEY_TOUCH_COUNT]; /* of each: those that were left out, too */
    uint8_t bytes[KEY_RING_BYTES];
};

/* Errors: STATUS_NO_MEMORY. */
enum status key_ring_create(struct key_ring **ret_ring);
void key_ring_destroy(struct key_ring *ring); /* NULL is fine */

/* From now on it takes this owner's samples, and has none yet; NULL = nobody's. */
void key_ring_assign(struct key_ring *ring, const void *owner);

/* One in so many is wanted: a power of two up to KEY_RING_EVERY_MAX. */
void key_ring_set_every(struct key_ring *ring, enum key_touch touch, uint32_t every);
uint32_t key_ring_every(const struct key_ring *ring, enum key_touch touch);

/* Take out what came since the call before. */
void key_ring_drain(struct key_ring *ring, struct key_samples *ret_samples);

/* Shall this touch be told?  entropy: anything that is another each time, such as a clock. */
static inline bool key_ring_wants(uint32_t every, uint64_t entropy)
{
    return ((entropy * UINT64_C(0x9e3779b97f4a7c15)) >> 40 & (every - 1)) == 0;
}

/* Of many touches in a row: the first to be told, before which so many are passed over; then each
 * `every`th. */
static inline uint32_t key_ring_first(uint32_t every, uint64_t entropy)
{
    return (uint32_t)((entropy * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (every - 1);
}

/* end: empty but for KEY_SCANNED. */
void key_ring_put(struct key_ring *ring,
                  const void *owner,
                  enum key_touch touch,
                  struct bytes row,
                  struct bytes end);

#endif /* TABLETSERVER_STORAGE_STORE_KEY_RING_H */
