/*
 * Where events are kept across restarts: folder/events (console_file.h).
 *
 *   key:   number (8), big-endian
 *   value: checksum of key and rest (8), a list_events_response with that one event
 *
 * As many as an event log has are kept, the newest.
 *
 * Thread rule: one owner.
 */
#ifndef MASTER_CONSOLE_EVENT_STORE_H
#define MASTER_CONSOLE_EVENT_STORE_H

#include "master/console/console_file.h"
#include "master/core/load/event_log.h"

struct event_store;

/* Never fails: NULL = nothing is kept, and the log says why. */
struct event_store *event_store_open(const char *folder, const struct console_owner *owner);
void event_store_close(struct event_store *store); /* NULL is fine */

/* Everything that is there into the log, which must be new; what is damaged is left out. */
void event_store_load(struct event_store *store, struct event_log *log);

/* Keep these, whatever was kept under their numbers.  False: nothing was done, and the log says why, once. */
bool event_store_save(struct event_store *store, const struct event *events, size_t count);

/* Why the last save failed, a literal; NULL = it did not. */
const char *event_store_trouble(const struct event_store *store);

#endif /* MASTER_CONSOLE_EVENT_STORE_H */
