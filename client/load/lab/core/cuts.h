/*
 * Where to cut a table that is made: so that its history lies in about equal parts, as it would after a
 * cluster had split it for some time.
 *
 * Pure but for the heap.
 */
#ifndef CLIENT_LOAD_LAB_CORE_CUTS_H
#define CLIENT_LOAD_LAB_CORE_CUTS_H

#include "client/load/lab/core/experiments/experiment.h"

#define LAB_CUTS_MAX 1000

struct lab_cut {
    uint8_t key[LAB_KEY_BYTES_MAX];
    size_t size;
};

/* At most tablets - 1 keys, ascending, none twice; fewer where the history has fewer rows.  cuts has
 * room for them, tablets is at most LAB_CUTS_MAX + 1.  False: no memory. */
bool lab_cuts_make(const struct lab_experiment *experiment,
                   const struct lab_variant *variant,
                   const struct lab_world *world,
                   size_t tablets,
                   struct lab_cut *cuts,
                   size_t *ret_count);

/* Bytes that an event of the history takes, on average: see lab_change_bytes().  False: an event does
 * not fit a change (no schema of ours is so). */
bool lab_event_bytes(const struct lab_experiment *experiment,
                     const struct lab_variant *variant,
                     const struct lab_world *world,
                     double *ret_bytes);

#endif /* CLIENT_LOAD_LAB_CORE_CUTS_H */
