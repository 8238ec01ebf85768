/*
 * The course of a phase: it is started, looked at from moment to moment, stopped, and summed up.
 *
 * At each look the tablets are listed, and what was counted since the last belongs to the map that was
 * valid then.  Listing blocks for as long as a master takes; the load goes on meanwhile.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_COURSE_H
#define CLIENT_LOAD_LAB_COURSE_H

#include "client/load/lab/flight.h"
#include "client/load/lab/stand.h"

struct lab_course {
    struct lab_stand *stand;
    struct lab_flight *flight; /* initialised, not started */
    double duration_s;         /* 0 = until the flight's count is reached */
    const char *label;         /* of the line of progress */
    bool is_live;              /* show it */
};

/* Run it to its end, or to the first signal.  False: no memory, or no thread. */
bool lab_course_run(struct lab_course *course, struct lab_phase *ret_phase);

#endif /* CLIENT_LOAD_LAB_COURSE_H */
