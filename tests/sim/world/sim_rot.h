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
 *
 * A log turns bad (sim_rot_log.c): a bit of a batch that was synced is another one, while the server runs or is down.
 *
 *   the next start meets it --> the log is cut, all copies of the store are marked (sim_relearn.c)
 *                           --> removed, taught anew, whole
 *                           --> or refused, where the base knows of no other copy: the operator replaces the store
 *
 * That is fair where the store could be lost as a whole; it is looked at when the log turns bad, so that others are not lost
 * meanwhile, and once more at the start: who is healthy may have removed the others.  If it is not fair then, the bit
 * is turned back.
 */
#ifndef TESTS_SIM_WORLD_SIM_ROT_H
#define TESTS_SIM_WORLD_SIM_ROT_H

#include "tests/sim/sim.h"
#include "tests/sim/store/sim_store.h"

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

/* --- logs ------------------------------------------------------------------------------------------ */

/* Of a generator of its own. */
void sim_rot_log_draw(struct sim *sim);
/* The fault maker's turn; a server that is about to start. */
void sim_rot_log_begin(struct sim *sim);
void sim_rot_log_start(struct sim *sim, uint32_t node);
/* A start has cut it: half of them are killed before they can have marked what is there. */
void sim_rot_log_was_cut(struct sim *sim, uint32_t node);
/* A record of that batch cannot be read back: it, or one before it, is bad. */
bool sim_rot_log_hides(struct sim_store *store, uint64_t position);

#endif /* TESTS_SIM_WORLD_SIM_ROT_H */
