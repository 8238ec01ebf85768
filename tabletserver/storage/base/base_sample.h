/*
 * The sample: marks on some chunks, so that bytes can be estimated and halved without reading them.
 *
 * An ordered file tells no one how much lies between two keys.  So a chunk is marked with a chance
 * of its weight (with key and large values) over 128 KiB, and the mark stands for the larger of the
 * two.  Whether a chunk is marked follows from the hash of its key and its weight alone: a rewrite
 * knows without looking.  512 MiB have about 4 000 marks, found side by side in a space of their
 * own; a sum over n of them is off by about 1 / sqrt(n).  Marks behind a link that is damaged are neither set nor
 * counted.
 *
 *   stored key   SAMPLE, extent, the chunk's key (by base_walk.h)
 *   value        weight (8), little-endian; unchecked: at worst an estimate is wrong
 *
 * Thread rule: that of the walk's transaction.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_SAMPLE_H
#define TABLETSERVER_STORAGE_BASE_BASE_SAMPLE_H

#include <stdint.h>

#include "tabletserver/storage/base/base_walk.h"

/* The chunk at key weighed `before` (0 = was not there) and now weighs `after` (0 = is gone).
 * key must not be memory of the file or of the walk. */
enum status base_sample_update(struct base_walk *samples,
                               struct bytes key,
                               uint64_t before,
                               uint64_t after);

/* What the mark stands for. */
uint64_t base_sample_weight(struct bytes value);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_SAMPLE_H */
