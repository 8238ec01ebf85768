/*
 * Keeps what the server notes in its own folder (TABLES: schema_cache.h; GRACE: grace_note.h): a thread, so that the sync
 * thread waits for a disk that hangs only once, and for a second.  The stores, which may well lie on other disks, speak to
 * masters through the sync thread, and must not be taken for dead because nothing can be noted.
 *
 *   sync thread: folder_keeper_save() --> wanted --> thread: schema_cache_save() --> tried
 *                                                    thread: now and then peers_settle_grace()
 *
 * What could not be written is tried again every FOLDER_KEEPER_RETRY_NS, and once more at the end where it was not tried.
 *
 * Thread rule: as said at each function.
 */
#ifndef TABLETSERVER_SERVE_SYNC_FOLDER_KEEPER_H
#define TABLETSERVER_SERVE_SYNC_FOLDER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "tabletserver/serve/sync/schema_cache.h"

#define FOLDER_KEEPER_PATIENCE_NS (INT64_C(1000) * 1000 * 1000)
#define FOLDER_KEEPER_STUCK_NS    (INT64_C(10) * 1000 * 1000 * 1000)
#define FOLDER_KEEPER_RETRY_NS    (INT64_C(5) * 1000 * 1000 * 1000)

struct folder_keeper;
struct peers;

/* folder: to be named.  peers: NULL where there is no grace to be noted.  All of them outlive the keeper.  Errors:
 * STATUS_NO_MEMORY. */
enum status folder_keeper_create(const char *folder,
                                 struct schema_cache *schemas,
                                 struct peers *peers,
                                 struct folder_keeper **ret_keeper);

/* Waits for what is under way.  NULL is fine. */
void folder_keeper_destroy(struct folder_keeper *keeper);

/* Write the tables as they are now.  The sync thread.  Errors: those of schema_cache_save(); STATUS_UNAVAILABLE: the disk
 * has not answered yet.  Until it answers this is said at once. */
enum status folder_keeper_save(struct folder_keeper *keeper, struct error *ret_error);

/* Has something been under way for FOLDER_KEEPER_STUCK_NS?  Any thread. */
bool folder_keeper_is_stuck(struct folder_keeper *keeper);

#endif /* TABLETSERVER_SERVE_SYNC_FOLDER_KEEPER_H */
