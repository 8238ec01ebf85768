/*
 * Comparing the copies of a tablet, range by range, over days: the primary's side (docs/replication.md, section 9).
 *
 *   WAITING -- due --> COMPARING -- all have answered, all the same --------> WAITING, the next range
 *      ^                  |  |
 *      |                  |  '-- one has not, or could not: the same range, later -----.
 *      |                  |                                                           |
 *      |                  '-- they differ: once more; differ again --> CONDEMNING ----+
 *      '------------------------------------------------------------------------------'
 *
 * A range is what follows on a row, so much of it.  Each copy says where it ended: that is part of the digest,
 * for a row that one copy lacks moves its end.  Who differs from more than half of three or more is damaged;
 * otherwise what the primary has is kept, and the first that differs from it is.  One at a time: it is told
 * until it is no member any more, and the range is compared again when there are others.
 *
 * Invariants, checked by scrub_check(): (1) a verdict only when every member has answered for the same number;
 * (2) nobody is condemned by one comparison; (3) at most one at a time.
 *
 * Pure: no clock (now_ns is handed in), no I/O, no randomness.  Thread rule: the loop of its store.
 */
#ifndef TABLETSERVER_REPLICA_SCRUB_H
#define TABLETSERVER_REPLICA_SCRUB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/replica_configuration.h"
#include "tabletserver/replica/replica.h"

#define SCRUB_EFFECTS_MAX 2

struct scrub_settings {
    int64_t period_ns;    /* all of a tablet is compared in about so long; 0 = never */
    uint64_t range_bytes; /* of content, in one comparison */
    int64_t patience_ns;  /* who has not answered by then will not */
    int64_t resend_ns;    /* a verdict again */
};

enum scrub_state {
    SCRUB_WAITING,
    SCRUB_COMPARING,
    SCRUB_CONDEMNING,
};

enum scrub_event_type {
    SCRUB_EVENT_TICK,
    SCRUB_EVENT_ANSWER, /* store, number, digest */
};

struct scrub_event {
    enum scrub_event_type type;
    int64_t now_ns;
    /* All: how it stands.  peer_count 0: it does not lead, or has nobody to compare with; settled: all of the
     * members are, and nothing is in doubt. */
    struct replica_union peers; /* members but itself */
    uint64_t self;              /* store */
    uint64_t tablet_bytes;      /* about */
    bool settled;
    uint64_t store;
    uint64_t number;
    const struct replica_digest *digest; /* borrowed */
};

enum scrub_effect_type {
    SCRUB_EFFECT_COMPARE, /* ask all members, and itself, for number: what follows on scrub_after() */
    SCRUB_EFFECT_DIFFER, /* to be logged: scrub->answers say what each has.  store: the damaged one's,
                             outvoted: by majority; else the primary's is kept, because it is the primary's */
    SCRUB_EFFECT_CONDEMN, /* tell store that its copy is damaged */
};

struct scrub_effect {
    enum scrub_effect_type type;
    uint64_t number;
    uint64_t store;
    bool outvoted;
};

struct scrub_effects {
    struct scrub_effect items[SCRUB_EFFECTS_MAX];
    uint32_t count;
};

struct scrub_answer {
    uint64_t store;
    bool answered;
    bool missed;
    uint64_t halves[2];
    uint64_t end; /* of its range, hashed */
};

struct scrub {
    struct scrub_settings settings;
    enum scrub_state state;
    uint32_t phase; /* of SCRUB_PHASES: tablets do not begin all at once */
    bool begun;     /* due_ns is set */
    int64_t due_ns; /* WAITING: the next; COMPARING: patience ends; CONDEMNING: to say it again */
    uint64_t number;
    uint32_t differed; /* how often the range at hand has, in a row */
    struct scrub_answer answers[1 + REPLICA_MEMBERS_MAX]; /* its own first */
    uint32_t answer_count;
    uint64_t condemned;  /* store */
    struct buffer after; /* the range at hand begins behind this row */
    struct buffer next;  /* its own answer: the last row; whether it is the end */
    bool is_end;
    uint64_t compared; /* ranges that were the same, so far */
    uint64_t passes;   /* through all of the tablet */
};

#define SCRUB_PHASES 64

void scrub_begin(struct scrub *scrub, const struct scrub_settings *settings, uint32_t phase);
void scrub_end(struct scrub *scrub);

void scrub_step(struct scrub *scrub,
                const struct scrub_event *event,
                struct scrub_effects *ret_effects);

struct bytes scrub_after(const struct scrub *scrub);

/* INT64_MAX = it wants no TICK. */
int64_t scrub_deadline_ns(const struct scrub *scrub);
void scrub_check(const struct scrub *scrub);

#endif /* TABLETSERVER_REPLICA_SCRUB_H */
