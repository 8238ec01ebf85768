/*
 * Learning a tablet that the log does not give any more: the learner's side of teach.h.
 *
 *   IDLE -- LESSON --> whole, and the log follows: LEARNED
 *    |
 *    '--> ASKING -- slice --> WRITING -- durable --> LEVELLING -- all up to it applied --> ASKING next
 *            ^                   |                       '--- it was the last: ENDING -- durable --> LEARNED
 *            '--- refused: 1, or, if that may pass, the same again in a while
 *
 * It asks for one slice at a time, again while none comes, says now and then that it works on what came, and for the next when what the log has up to the
 * last one's sequence is applied: so memory is bounded, and a counter is neither missed nor doubled
 * (storage/copies/store_slice.h).  Another lesson (another process, reign or walk of the primary's) begins at the
 * beginning.
 *
 * Invariants, checked by learn_check(): (1) a slice is taken only when it was asked for; (2) LEARNED is said
 * only of what is whole and durable.
 *
 * Pure, as teach.h.  Thread rule: the loop of its store.
 */
#ifndef TABLETSERVER_REPLICA_LEARN_H
#define TABLETSERVER_REPLICA_LEARN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

#define LEARN_EFFECTS_MAX 2

/* Which one: of a process, under a version. */
struct learn_lesson {
    uint64_t incarnation;
    uint64_t version;
    uint64_t number; /* rises; 0 = none */
};

enum learn_state {
    LEARN_IDLE,
    LEARN_ASKING,
    LEARN_WRITING,
    LEARN_LEVELLING,
    LEARN_ENDING,
    LEARN_DONE, /* LEARNED is said again for a while, and when the offer comes again; the next walk is another lesson's */
};

enum learn_event_type {
    LEARN_EVENT_TICK,
    LEARN_EVENT_OFFERED, /* LESSON: lesson; sequence: the log goes on behind it; committed, appended, half: of
                            this replica */
    LEARN_EVENT_SLICE, /* lesson, number, last */
    LEARN_EVENT_WRITTEN, /* the slice, or the end, is durable; sequence: the log goes on behind it, 0 = not
                            yet */
    LEARN_EVENT_REFUSED, /* it is not, and nothing has changed; status, appended */
    LEARN_EVENT_LEVEL,   /* all up to the last slice is applied */
};

struct learn_event {
    enum learn_event_type type;
    int64_t now_ns;
    struct learn_lesson lesson;
    uint64_t sequence;
    uint64_t committed;
    uint64_t appended;
    uint64_t number;
    bool last;
    bool half; /* taught: it has a part only */
    enum status status;
};

enum learn_effect_type {
    LEARN_EFFECT_ASK,     /* send TEACH: number, at_least, sequence */
    LEARN_EFFECT_WRITE,   /* the slice of the event; then WRITTEN or REFUSED */
    LEARN_EFFECT_END,     /* it is whole: then WRITTEN or REFUSED */
    LEARN_EFFECT_LEARNED, /* send LEARNED: sequence */
};

struct learn_effect {
    enum learn_effect_type type;
    uint64_t number;
    uint64_t at_least;
    uint64_t sequence;
};

struct learn_effects {
    struct learn_effect items[LEARN_EFFECTS_MAX];
    uint32_t count;
};

struct learn {
    int64_t resend_ns;
    enum learn_state state;
    struct learn_lesson lesson;
    uint64_t walk;     /* rises: of all lessons */
    uint64_t number;   /* of it: the slice that is asked for, or written */
    uint64_t at_least; /* of the first */
    uint64_t follows;  /* the log goes on behind it; 0 = nothing is written yet */
    bool last;
    uint32_t refusals; /* of the slice that is asked for */
    int64_t spoken_ns; /* when it said something last, or was given a slice */
    int64_t given_ns;
};

void learn_begin(struct learn *learn, int64_t resend_ns);
void learn_step(struct learn *learn,
                const struct learn_event *event,
                struct learn_effects *ret_effects);
int64_t learn_deadline_ns(const struct learn *learn); /* INT64_MAX = it wants no TICK */
void learn_check(const struct learn *learn);

#endif /* TABLETSERVER_REPLICA_LEARN_H */
