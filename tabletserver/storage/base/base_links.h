/*
 * Where long keys lead, remembered across snapshots.
 *
 * A key of n slices is n lookups away: one a link.  A walk that comes afresh to the same slices, as
 * every point read in a snapshot of its own does, would look each of them up again.  So paths of
 * links are kept here, by the hash of their slices, for all readers of a base.
 *
 * Nothing here is ever invalidated, because whoever follows a path proves it in its own snapshot:
 *
 *   In every committed state a sublayer with a record has its link, and numbers of sublayers are
 *   never given twice.  So when the snapshot has a record in the sublayer that the path ends in,
 *   the path is its path, link for link.  When it has none - the link is gone, or was made anew
 *   under another number, or is of a commit younger than the snapshot - the path is passed over
 *   and the links are read.
 *
 * There is one exception: the link is damaged, and what it led to is deleted (base_walk_erase_bar()).
 * Its sublayer stays with records and without a link, and a path that led there would be proved.  So
 * from then on nothing is recalled, for as long as the base is open: it happens once in a disk's life.
 *
 * Only readers may learn paths: a number given in a transaction that is aborted is given
 * again.  An extent that is erased as a whole loses its links before its sublayers; nobody reads it
 * then (base_erase_step()).
 *
 * A path is kept when it is missed for the second time in its place, so that keys read once each
 * push nothing out.  Memory: a path has its place or none, and is at most BASE_TRAIL_MAX links long
 * (5 000 bytes): about 350 KB at the worst.
 *
 * Thread rule: struct base_links may be used from any thread; each place has a lock of its own, held
 * for a comparison and a copy.  A trail belongs to the thread of its walk.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_LINKS_H
#define TABLETSERVER_STORAGE_BASE_BASE_LINKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/base/buffer.h"

#define BASE_TRAIL_MAX    24 /* links: a row key of 5 000 bytes, escapes counted */
#define BASE_LINKS_PLACES 64

struct base_walk;

struct base_links_place {
    atomic_uint_fast64_t hash;   /* of the path kept; 0 = none.  Read without the lock as a hint */
    atomic_uint_fast64_t missed; /* hash of the path last missed here */

    pthread_mutex_t lock; /* of all that follows, and of writing hash */
    uint8_t space;
    uint64_t extent;
    uint32_t depth;
    uint64_t numbers[BASE_TRAIL_MAX];
    uint32_t row_bytes_known[BASE_TRAIL_MAX];
    struct buffer path;
};

struct base_links {
    atomic_bool distrusted;
    struct base_links_place places[BASE_LINKS_PLACES];
};

/* One search: what its key's slices hash to, and what of its path was recalled, not read. */
struct base_trail {
    uint32_t depth;    /* of hashes */
    uint32_t recalled; /* links; 0 = none */
    uint64_t hashes[BASE_TRAIL_MAX];
};

void base_links_init(struct base_links *links);
void base_links_deinit(struct base_links *links);

/* A link is being erased without what it leads to: before that is committed. */
void base_links_distrust(struct base_links *links);

/* Put a walk that is at depth 0 as far on the path to key as is remembered (trail->recalled). */
void base_links_recall(struct base_links *links,
                       struct base_walk *walk,
                       struct bytes key,
                       struct base_trail *ret_trail);

/* The walk has come to its depth by links that it read, or recalled and proved.  `missed` is how
 * deep a recalled path led that proved wrong; 0 = none did. */
void base_links_learn(struct base_links *links,
                      const struct base_walk *walk,
                      const struct base_trail *trail,
                      uint32_t missed);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_LINKS_H */
