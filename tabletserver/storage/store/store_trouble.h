/*
 * What goes wrong with a store, sorted: full (refuse writes, heal by itself), failed (promise nothing any
 * more), or passing (try again).  Part of the store; see store_internal.h for its threads.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_TROUBLE_H
#define TABLETSERVER_STORAGE_STORE_STORE_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct store;
struct store_tablet;

/* Sort an error of the work thread into full, failed, or passing; true when it may be retried. */
bool store_trouble_note(struct store *store, enum status status, const char *what);
/* Damaged chunks of a tablet were found: counted, and told unless something worse is.  Any thread. */
void store_trouble_note_damage(struct store_tablet *tablet,
                               uint64_t chunks,
                               const char *found_by,
                               const char *text);
/* What the tablet has here is no good: told by store_trouble_tell_damage().  Any thread. */
void store_trouble_mark_damaged(struct store_tablet *tablet);
/* The loop: on_damaged. */
void store_trouble_tell_damage(struct store *store);
/* Writes that the condition refuses. */
enum status store_trouble_check(struct store *store, bool deletes_only);
/* Before the work thread runs: is it still full?  A store that was has no ballast file. */
void store_trouble_open(struct store *store);
/* Work thread, now and then: refuse writes before the disk is full, let them in when there is room
 * again (store_room.h). */
void store_trouble_heal(struct store *store);
void store_trouble_fail(struct store *store, const struct error *error);
/* As the work thread has seen it last: the loop asks, and is not to wait for a disk that hangs. */
uint64_t store_disk_free_bytes(const struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_TROUBLE_H */
