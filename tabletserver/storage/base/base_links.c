#include "tabletserver/storage/base/base_links.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "tabletserver/storage/base/base_walk.h"

_Static_assert(BASE_TRAIL_MAX <= BASE_DEPTH_MAX, "a path kept is one that a walk can be on");

void base_links_init(struct base_links *links)
{
    memset(links, 0, sizeof *links);
    for (size_t i = 0; i < BASE_LINKS_PLACES; i++) {
        ASSERT(pthread_mutex_init(&links->places[i].lock, NULL) == 0);
    }
}

void base_links_deinit(struct base_links *links)
{
    for (size_t i = 0; i < BASE_LINKS_PLACES; i++) {
        buffer_deinit(&links->places[i].path);
        ASSERT(pthread_mutex_destroy(&links->places[i].lock) == 0);
    }
}

void base_links_distrust(struct base_links *links)
{
    atomic_store(&links->distrusted, true);
}

static void lock(struct base_links_place *place)
{
    ASSERT(pthread_mutex_lock(&place->lock) == 0);
}

static void unlock(struct base_links_place *place)
{
    ASSERT(pthread_mutex_unlock(&place->lock) == 0);
}

static struct base_links_place *place_of(struct base_links *links, uint64_t hash)
{
    return &links->places[(hash >> 32) % BASE_LINKS_PLACES]; /* the lowest bit is always set */
}

static void make_trail(const struct base_walk *walk, struct bytes key, struct base_trail *ret_trail)
{
    uint64_t hash = walk->extent * 256 + (uint64_t)walk->space;
    uint32_t depth = 0;
    while (depth < BASE_TRAIL_MAX && key.size_bytes >= base_path_bytes(depth + 1)) {
        size_t start = base_path_bytes(depth);
        hash = checksum64(key.data + start, base_path_bytes(depth + 1) - start, hash) | 1;
        ret_trail->hashes[depth] = hash;
        depth++;
    }
    ret_trail->depth = depth;
    ret_trail->recalled = 0;
}

/* --- recalling -------------------------------------------------------------------------------- */

/* Under the place's lock: is this its path, to the byte? */
static bool holds(const struct base_links_place *place,
                  const struct base_walk *walk,
                  const uint8_t *path,
                  uint32_t depth,
                  uint64_t hash)
{
    return atomic_load_explicit(&place->hash, memory_order_relaxed) == hash &&
           place->depth == depth && place->extent == walk->extent &&
           place->space == (uint8_t)walk->space &&
           memcmp(place->path.data, path, base_path_bytes(depth)) == 0;
}

static bool recall(struct base_links_place *place,
                   struct base_walk *walk,
                   struct bytes key,
                   uint32_t depth,
                   uint64_t hash)
{
    bool found = false;
    lock(place);
    if (holds(place, walk, key.data, depth, hash)) {
        memcpy(walk->numbers, place->numbers, depth * sizeof *walk->numbers);
        memcpy(walk->row_bytes_known, place->row_bytes_known,
               depth * sizeof *walk->row_bytes_known);
        found = true;
    }
    unlock(place);
    if (found) {
        buffer_reset(&walk->path);
        buffer_append(&walk->path, key.data, base_path_bytes(depth));
        found = !walk->path.failed;
    }
    return found;
}

void base_links_recall(struct base_links *links,
                       struct base_walk *walk,
                       struct bytes key,
                       struct base_trail *ret_trail)
{
    ASSERT(walk->depth == 0);
    make_trail(walk, key, ret_trail);
    for (uint32_t depth = ret_trail->depth; depth > 0 && !atomic_load(&links->distrusted);
         depth--) {
        uint64_t hash = ret_trail->hashes[depth - 1];
        struct base_links_place *place = place_of(links, hash);
        if (atomic_load_explicit(&place->hash, memory_order_relaxed) == hash &&
            recall(place, walk, key, depth, hash)) {
            walk->depth = depth;
            walk->layer_moves++;
            ret_trail->recalled = depth;
            return;
        }
    }
}

/* --- learning --------------------------------------------------------------------------------- */

/* Under the place's lock. */
static void keep(struct base_links_place *place,
                 const struct base_walk *walk,
                 uint32_t depth,
                 uint64_t hash)
{
    buffer_reset(&place->path);
    buffer_append(&place->path, walk->path.data, base_path_bytes(depth));
    if (place->path.failed) {
        atomic_store_explicit(&place->hash, 0, memory_order_relaxed);
        return;
    }
    place->space = (uint8_t)walk->space;
    place->extent = walk->extent;
    place->depth = depth;
    memcpy(place->numbers, walk->numbers, depth * sizeof *walk->numbers);
    memcpy(place->row_bytes_known, walk->row_bytes_known, depth * sizeof *walk->row_bytes_known);
    atomic_store_explicit(&place->hash, hash, memory_order_relaxed);
}

static void learn(struct base_links_place *place,
                  const struct base_walk *walk,
                  uint32_t depth,
                  uint64_t hash)
{
    bool is_kept = atomic_load_explicit(&place->hash, memory_order_relaxed) == hash;
    if (!is_kept && atomic_exchange_explicit(&place->missed, hash, memory_order_relaxed) != hash) {
        return;
    }
    lock(place);
    if (!holds(place, walk, walk->path.data, depth, hash) ||
        memcmp(place->numbers, walk->numbers, depth * sizeof *walk->numbers) != 0) {
        keep(place, walk, depth, hash);
    }
    unlock(place);
}

/* What led nowhere in this snapshot is dropped: if it does in others, they learn it again. */
static void forget(struct base_links_place *place, uint64_t hash)
{
    lock(place);
    if (atomic_load_explicit(&place->hash, memory_order_relaxed) == hash) {
        atomic_store_explicit(&place->hash, 0, memory_order_relaxed);
    }
    unlock(place);
}

void base_links_learn(struct base_links *links,
                      const struct base_walk *walk,
                      const struct base_trail *trail,
                      uint32_t missed)
{
    uint32_t end = walk->depth < trail->depth ? walk->depth : trail->depth;
    for (uint32_t depth = trail->recalled + 1; depth <= end; depth++) {
        uint64_t hash = trail->hashes[depth - 1];
        learn(place_of(links, hash), walk, depth, hash);
    }
    if (missed > end) {
        uint64_t hash = trail->hashes[missed - 1];
        forget(place_of(links, hash), hash);
    }
}
