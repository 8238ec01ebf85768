/*
 * A copy turns bad: what is in the base, synced and believed, cannot be read any more.
 *
 *   the disk rots --> the scrub comes by, or a read or a lesson meets it --> the replica is told (host_damaged)
 *                 --> removed, taught anew, whole (docs/replication.md, section 9)
 *
 * It is a word on the base's tablet, not changed bytes: what production's checksums tell is taken as given.
 * It stays with what the copy becomes (children, merged ones, flushes), over restarts, and goes with the first
 * lesson.
 *
 * A copy turns bad only while there are other members, all of them sound, and the scrub comes at once; and
 * not of one that is not sure of what became of a removal: it may be the last one then, and what that has lost is
 * not promised back.
 */
#ifndef TESTS_SIM_SIM_ROT_H
#define TESTS_SIM_SIM_ROT_H

#include "tests/sim/sim.h"
#include "tests/sim/sim_store.h"

/* Some copy of some tablet, if any may. */
void sim_rot_begin(struct sim *sim);
/* All members' copies are whole. */
bool sim_rot_is_over(const struct sim *sim);

/* Is it one of those that there are? */
bool sim_rot_has_disk(const struct sim *sim, uint64_t store);
/* Is what that store has of the tablet to be relied on? */
bool sim_rot_is_sound(const struct sim *sim, uint64_t store, uint64_t tablet);

/* Somebody has tried to read what cannot be read.  Its host is told at the end of the step. */
void sim_rot_meet(struct sim_tablet *tablet);
void sim_rot_tell(struct sim_server *server);

/* The scrub will come to what is bad in what was just opened; it meets all that is. */
void sim_rot_expect_scrub(struct sim_server *server);
void sim_rot_scrub(struct sim_server *server);

#endif /* TESTS_SIM_SIM_ROT_H */
