/*
 * Teaching a learner what the log does not give any more: the primary's side (docs/replication.md, section 6).
 *
 *   OFFERED --- LEARNED: the log is enough --------------------------------> TAUGHT
 *      | TEACH 1                                                               ^
 *      v                                                                       | LEARNED
 *   READING --- read --> GIVEN --- TEACH of the same: again                    |
 *      ^                   |  '----------------------------------- the last ---'
 *      '--- TEACH next ----'
 *
 * One lesson is one learner's walk through the tablet, under one reign.  The learner asks, slice by slice, so it
 * cannot be overrun, and a message that is lost is asked for again.  TEACH 1 of a later walk, by the learner's
 * count, begins anew.  Slices say which walk they are of: those of two do not go together, for each begins
 * with the exactly-once records as they were then, in pieces, and these go while sequences stand still.  That
 * its log goes on (TEACHING) is said when it has what the log follows on, durably.
 *
 * Invariants, checked by teach_check(): (1) a slice is read only when the one before was asked beyond;
 * (2) sequences of slices do not fall within a walk; (3) TAUGHT comes once, and after TEACHING.
 *
 * Pure: no clock (now_ns is handed in), no I/O, no randomness.  Thread rule: the loop of its store.
 */
#ifndef TABLETSERVER_REPLICA_TEACH_H
#define TABLETSERVER_REPLICA_TEACH_H

#include <stdbool.h>
#include <stdint.h>

#define TEACH_EFFECTS_MAX 3
#define TEACH_SLICE_BITS  32

/* A slice's number, as it travels: the walk, by the learner's count, and the slice in it, from 1 on. */
static inline uint64_t teach_number(uint64_t walk, uint64_t slice)
{
    return (walk << TEACH_SLICE_BITS) | slice;
}

static inline uint64_t teach_walk_of(uint64_t number)
{
    return number >> TEACH_SLICE_BITS;
}

static inline uint64_t teach_slice_of(uint64_t number)
{
    return number & ((UINT64_C(1) << TEACH_SLICE_BITS) - 1);
}

struct teach_settings {
    int64_t resend_ns;   /* the offer again, while nothing is heard of it */
    int64_t patience_ns; /* nothing heard for so long: the lesson is over */
    /* The next slice is not asked for within so long: what is open for it is let go.  Twice as long each time, six
     * times: who is slow gets there. */
    int64_t hold_ns;
    uint64_t bytes_per_second; /* of slices; 0 = as they are asked for */
};

enum teach_state {
    TEACH_OFFERED,
    TEACH_READING, /* a slice is being read, or will be when its time has come */
    TEACH_GIVEN,   /* the slice `given` was sent, and is kept */
    TEACH_OVER,    /* taught, or given up */
};

enum teach_event_type {
    TEACH_EVENT_TICK,
    TEACH_EVENT_ASKED, /* TEACH: number, at_least, sequence (what its log follows on; 0 = nothing yet) */
    TEACH_EVENT_LEARNED, /* it has all, and its log goes on behind sequence */
    TEACH_EVENT_READ,    /* the slice: sequence, size_bytes, last, free_ns */
    TEACH_EVENT_UNREAD,  /* not now; again: the walk must begin anew, else from where it stands */
};

struct teach_event {
    enum teach_event_type type;
    int64_t now_ns;
    uint64_t number;
    uint64_t at_least;
    uint64_t sequence;
    uint64_t size_bytes;
    int64_t free_ns; /* nothing more is to be read before, whatever bytes_per_second allows */
    bool last;
    bool again;
};

enum teach_effect_type {
    TEACH_EFFECT_OFFER, /* send LESSON */
    TEACH_EFFECT_BEGIN, /* a walk begins: read its first slice, of at_least or later; then READ or UNREAD */
    TEACH_EFFECT_READ,   /* its next slice */
    TEACH_EFFECT_GIVE,   /* send the slice `number`, the one that was read last */
    TEACH_EFFECT_LET_GO, /* nothing is to stay open for the next slice: it may have to begin anew */
    TEACH_EFFECT_TEACHING, /* the log goes on behind sequence */
    TEACH_EFFECT_TAUGHT,
    TEACH_EFFECT_END, /* nothing is heard of it: let it go */
};

struct teach_effect {
    enum teach_effect_type type;
    uint64_t number;
    uint64_t sequence;
};

struct teach_effects {
    struct teach_effect items[TEACH_EFFECTS_MAX];
    uint32_t count;
};

struct teach {
    struct teach_settings settings;
    enum teach_state state;
    int64_t offered_ns;
    int64_t heard_ns;
    int64_t free_ns;   /* from then on more may be read */
    bool begins;       /* READING: the first of a walk */
    bool under_way;    /* READING: it is being read */
    uint64_t walk;     /* the learner's last that was heard of */
    uint64_t at_least; /* of the first */
    uint64_t given;    /* the slice read last; 0 = none in this walk */
    uint64_t sequence; /* of it */
    bool last;         /* it is */
    int64_t given_ns;  /* when it was read */
    bool let_go;       /* nothing is open for the next one */
    uint32_t let_gos;  /* so often that was so, in this lesson */
    uint64_t teaching; /* was said last; UINT64_MAX = nothing was */
};

/* Offers at once. */
void teach_begin(struct teach *teach,
                 const struct teach_settings *settings,
                 int64_t now_ns,
                 struct teach_effects *ret_effects);
void teach_step(struct teach *teach,
                const struct teach_event *event,
                struct teach_effects *ret_effects);
/* INT64_MAX = it wants no TICK. */
int64_t teach_deadline_ns(const struct teach *teach);
void teach_check(const struct teach *teach);

#endif /* TABLETSERVER_REPLICA_TEACH_H */
