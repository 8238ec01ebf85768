/*
 * Sync: the tablet server's side of the sync protocol (common/wire/message.h).
 *
 * A thread of its own tells the active master what this server holds and makes the server match
 * what the master answers: locations and schemas go to their maps; tablets assigned here and not
 * there are created, split from their parent, or dropped, by commands to the store loops.  All of
 * it is level-triggered: what did not happen is asked for again.
 *
 * Masters are tried in turn; while none answers, the server serves what it has, and logs
 * master_not_reached with the address and the cause: a second after the start, then every minute.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SYNC_H
#define TABLETSERVER_SERVE_SYNC_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/replica_configuration.h"
#include "tabletserver/serve/sync/sync_masters.h"

struct host_proposal;
struct server;
struct sync;

/* Ready for sync_hurry(), which the store loops call; the thread comes with sync_start(). */
enum status sync_create(struct server *server, struct sync **ret_sync, struct error *ret_error);
enum status sync_start(struct sync *sync, struct error *ret_error);

/* End the thread; sync_hurry() may still be called.  NULL is fine. */
void sync_stop(struct sync *sync);
void sync_destroy(struct sync *sync); /* NULL is fine */

/* The process is about to end, and masters are to give it nothing more.  Any thread. */
void sync_leave(struct sync *sync);

/* Something changed that the master should hear now.  Any thread. */
void sync_hurry(struct sync *sync);

/* Any thread: tablets have come that the master has told of; what it told is looked at again. */
void sync_look_again(struct sync *sync);

/* What a replica wants of the catalog: kept, the newest of each tablet, and sent as soon as a master is
 * there; its answer comes by store_loop_word().  May be lost: replicas ask again.  Any thread. */
void sync_propose(struct sync *sync,
                  uint64_t tablet,
                  struct replica_member self,
                  const struct host_proposal *proposal);

/* There is a newer configuration than this server was told of, or than it took.  Any thread. */
void sync_ask(struct sync *sync, uint64_t tablet);

/* Where a master answered last, or else is looked for.  Any thread. */
void sync_master_address(struct sync *sync, char ret_address[SYNC_ADDRESS_BYTES]);

/* Has a master answered in the last interval?  For /health and the status report. */
bool sync_is_connected(const struct sync *sync);
/* Has it refused this server, or the server it: another catalog, an old copy, a copied folder? */
bool sync_is_barred(const struct sync *sync);

/* Another process has this server's number: this one is a copy, or was replaced while it stood still.  It answers
 * nobody until it is let in. */
bool sync_is_usurped(const struct sync *sync);
/* Has the server's own folder not taken for 10 s what is to be noted there? */
bool sync_is_folder_stuck(const struct sync *sync);
uint64_t sync_catalog_version(const struct sync *sync);

#endif /* TABLETSERVER_SERVE_SYNC_SYNC_H */
