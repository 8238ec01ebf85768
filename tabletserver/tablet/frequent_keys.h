/*
 * The most frequent of very many keys, in little memory.
 *
 * Space-Saving (Metwally, Agrawal, El Abbadi 2005): FREQUENT_KEYS_COUNTERS keys are counted.  Another one
 * takes the place of the least counted, and its count with it as what it may be too much by.  So a key that
 * is more than 1 / FREQUENT_KEYS_COUNTERS of all is always among them, and its count less that error is not
 * more than is true.  Counts decay: they are about what happened lately.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef TABLETSERVER_TABLET_FREQUENT_KEYS_H
#define TABLETSERVER_TABLET_FREQUENT_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"

#define FREQUENT_KEYS_COUNTERS 64

struct frequent_key {
    struct buffer row; /* its memory stays for the next one */
    uint64_t hash;
    double reads;
    double writes;
    double error; /* of reads and writes together: they may be too much by so much */
};

struct frequent_keys {
    struct frequent_key keys[FREQUENT_KEYS_COUNTERS]; /* those counted first; in no order */
    uint32_t count;
};

void frequent_keys_init(struct frequent_keys *frequent);
void frequent_keys_deinit(struct frequent_keys *frequent);
/* Nothing was counted. */
void frequent_keys_forget(struct frequent_keys *frequent);

/* All counts become so much of what they were: 0 to 1. */
void frequent_keys_decay(struct frequent_keys *frequent, double factor);

/* Without memory for the row it is not counted. */
void frequent_keys_add(struct frequent_keys *frequent,
                       struct bytes row,
                       double reads,
                       double writes);

/* Those whose count, less the error, is weight_min or more: the most frequent first, up to count_max.
 * Good until the next change. */
size_t frequent_keys_list(const struct frequent_keys *frequent,
                          double weight_min,
                          const struct frequent_key **ret_keys,
                          size_t count_max);

#endif /* TABLETSERVER_TABLET_FREQUENT_KEYS_H */
