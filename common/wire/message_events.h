/*
 * Messages about what was decided about load: part of message.h, which every user includes.
 *
 * How it is decided stands in docs/hotspots.md.
 */
#ifndef COMMON_WIRE_MESSAGE_EVENTS_H
#define COMMON_WIRE_MESSAGE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/model/row_set.h"

/* The numbers behind a decision; 0 where it does not apply. */
struct event_figures {
    uint32_t share_permille;    /* of its server's time, that the tablet takes */
    uint32_t limit_permille;    /* the bound that it is above (or, to be merged, below) */
    uint64_t operations;        /* a second */
    uint64_t observations;      /* behind where its load is */
    uint32_t key_permille;      /* popular key: of the tablet's load */
    uint32_t crossing_permille; /* operations that a cut would part */
    uint32_t appended_permille; /* of the writes */
    uint32_t off_permille;      /* how unequal a split's parts are, 0 = equal */
    uint32_t from_permille;     /* lead, move: of its time, that the server uses which loses */
    uint32_t to_permille;       /* the same of the one which gains: before */
    uint32_t mean_permille;     /* of all */
    uint64_t size_bytes;        /* split by size: what is stored in the tablet */
    uint64_t limit_bytes;       /* and the bound that it is above */
};

/* A decision, and what came of it; or a refusal.  Names are words: more may come. */
struct event {
    uint64_t number;
    uint64_t change;  /* rises with every event, and with every outcome: who asks for those after it
                        hears of both */
    int64_t time_us;  /* wall clock of the master */
    int64_t ended_us; /* 0 = under way */
    struct bytes kind; /* split, merge, lead, move, refuse */
    /* hot, far_over, ahead, size, cold, imbalance; of a refusal popular_key, monotonic, too_few,
     * cooling_down, too_wide, alone, limit. */
    struct bytes reason;
    struct bytes outcome; /* under_way, done, given_up, unknown; of a refusal: refused */
    struct bytes text;    /* a sentence, with its numbers */
    struct bytes why;     /* given_up: what was in the way; unknown: why */
    uint64_t table;
    struct bytes table_name;
    uint64_t tablet;
    uint64_t right; /* merge: the other one */
    uint64_t from;  /* lead, move: servers */
    uint64_t to;
    struct row_range range; /* of the tablet, as it was then */
    struct bytes row;       /* split: the first cut */
    uint32_t row_count;     /* split: how many cuts */
    struct bytes key;       /* popular_key: the row */
    struct event_figures figures;
};

struct list_events_request {
    struct bytes table; /* name; empty = all */
    uint64_t after;     /* change: later ones alone */
    uint32_t count_max; /* 0 = as many as fit */
};

struct list_events_response {
    const struct event *events; /* ascending by change */
    size_t event_count;
    bool more; /* others follow: ask again, after the last one's change */
};

#endif /* COMMON_WIRE_MESSAGE_EVENTS_H */
