/*
 * The most frequent of a stream, in little memory (Space-Saving: Metwally, Agrawal, El Abbadi, "Efficient
 * computation of frequent and top-k elements in data streams", 2005).
 *
 * Each of a few places counts one id.  An id that has no place takes that of the rarest, and its count,
 * which may be too much by what the other had: by `error` at most.  So count - error is sure.
 *
 * Pure; thread rule: the caller's.
 */
#ifndef CLIENT_LOAD_LAB_CORE_FREQUENT_H
#define CLIENT_LOAD_LAB_CORE_FREQUENT_H

#include <stddef.h>
#include <stdint.h>

#define LAB_FREQUENT_PLACES     48
#define LAB_FREQUENT_TEXT_BYTES 128

struct lab_frequent_place {
    uint64_t id;
    uint64_t count;
    uint64_t error;
    size_t text_size;
    char text[LAB_FREQUENT_TEXT_BYTES]; /* of the id, cut to fit */
};

struct lab_frequent {
    uint64_t total;
    size_t place_count; /* taken */
    struct lab_frequent_place places[LAB_FREQUENT_PLACES];
};

/* One more of it.  text is kept with it, and may be of no bytes. */
void lab_frequent_add(struct lab_frequent *frequent,
                      uint64_t id,
                      const void *text,
                      size_t text_size);

/* That of which most are sure; NULL of nothing. */
const struct lab_frequent_place *lab_frequent_top(const struct lab_frequent *frequent);

/* How many of it are sure, of all: from 0 to 1. */
double lab_frequent_share(const struct lab_frequent *frequent,
                          const struct lab_frequent_place *place);

#endif /* CLIENT_LOAD_LAB_CORE_FREQUENT_H */
