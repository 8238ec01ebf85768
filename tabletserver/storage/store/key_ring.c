#include "tabletserver/storage/store/key_ring.h"

#include <pthread.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/limits.h"
#include "common/base/memory.h"

/* Of a sample before its rows: touch 1, size of row 2, size of end 2. */
#define HEAD_BYTES 5

struct key_ring {
    pthread_mutex_t mutex;
    const void *owner;
    atomic_uint every[KEY_TOUCH_COUNT];
    uint32_t offered[KEY_TOUCH_COUNT];
    uint32_t used_bytes;
    uint32_t count;
    uint8_t bytes[KEY_RING_BYTES];
};

enum status key_ring_create(struct key_ring **ret_ring)
{
    struct key_ring *ring = memory_allocate_zeroed(1, sizeof *ring);
    if (ring == NULL) {
        return STATUS_NO_MEMORY;
    }
    (void)pthread_mutex_init(&ring->mutex, NULL);
    for (int i = 0; i < KEY_TOUCH_COUNT; i++) {
        atomic_init(&ring->every[i], 1);
    }
    *ret_ring = ring;
    return STATUS_OK;
}

void key_ring_destroy(struct key_ring *ring)
{
    if (ring != NULL) {
        (void)pthread_mutex_destroy(&ring->mutex);
        memory_free(ring);
    }
}

static void empty(struct key_ring *ring)
{
    memset(ring->offered, 0, sizeof ring->offered);
    ring->used_bytes = 0;
    ring->count = 0;
}

void key_ring_assign(struct key_ring *ring, const void *owner)
{
    (void)pthread_mutex_lock(&ring->mutex);
    ring->owner = owner;
    empty(ring);
    (void)pthread_mutex_unlock(&ring->mutex);
}

void key_ring_set_every(struct key_ring *ring, enum key_touch touch, uint32_t every)
{
    ASSERT(every > 0 && every <= KEY_RING_EVERY_MAX && (every & (every - 1)) == 0);
    atomic_store_explicit(&ring->every[touch], every, memory_order_relaxed);
}

uint32_t key_ring_every(const struct key_ring *ring, enum key_touch touch)
{
    return atomic_load_explicit(&ring->every[touch], memory_order_relaxed);
}

static uint8_t *put_size(uint8_t *at, size_t size_bytes)
{
    at[0] = (uint8_t)size_bytes;
    at[1] = (uint8_t)(size_bytes >> 8);
    return at + 2;
}

static uint8_t *put_bytes(uint8_t *at, struct bytes bytes)
{
    if (bytes.size_bytes > 0) {
        memcpy(at, bytes.data, bytes.size_bytes);
    }
    return at + bytes.size_bytes;
}

static void put(struct key_ring *ring, enum key_touch touch, struct bytes row, struct bytes end)
{
    size_t size_bytes = HEAD_BYTES + row.size_bytes + end.size_bytes;
    ring->offered[touch] += 1;
    if (ring->count == KEY_RING_SAMPLES_MAX || size_bytes > KEY_RING_BYTES - ring->used_bytes) {
        return;
    }
    uint8_t *at = &ring->bytes[ring->used_bytes];
    *at++ = (uint8_t)touch;
    at = put_size(at, row.size_bytes);
    at = put_size(at, end.size_bytes);
    at = put_bytes(at, row);
    (void)put_bytes(at, end);
    ring->used_bytes += (uint32_t)size_bytes;
    ring->count += 1;
}

void key_ring_put(struct key_ring *ring,
                  const void *owner,
                  enum key_touch touch,
                  struct bytes row,
                  struct bytes end)
{
    if (row.size_bytes > LIMIT_ROW_KEY_BYTES || end.size_bytes > LIMIT_ROW_KEY_BYTES ||
        pthread_mutex_trylock(&ring->mutex) != 0) {
        return;
    }
    if (ring->owner == owner) {
        put(ring, touch, row, end);
    }
    (void)pthread_mutex_unlock(&ring->mutex);
}

static size_t take_size(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8;
}

void key_ring_drain(struct key_ring *ring, struct key_samples *ret_samples)
{
    (void)pthread_mutex_lock(&ring->mutex);
    ret_samples->count = ring->count;
    memcpy(ret_samples->offered, ring->offered, sizeof ring->offered);
    memcpy(ret_samples->bytes, ring->bytes, ring->used_bytes);
    empty(ring);
    (void)pthread_mutex_unlock(&ring->mutex);

    const uint8_t *at = ret_samples->bytes;
    for (uint32_t i = 0; i < ret_samples->count; i++) {
        size_t row_bytes = take_size(at + 1);
        size_t end_bytes = take_size(at + 3);
        const uint8_t *row = at + HEAD_BYTES;
        ret_samples->samples[i] = (struct key_sample){
            .row = bytes_of(row, row_bytes),
            .end = bytes_of(row + row_bytes, end_bytes),
            .touch = (enum key_touch)at[0],
        };
        at = row + row_bytes + end_bytes;
    }
}
