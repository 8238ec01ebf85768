/*
 * Keeps, on a store's disk, how far the catalog is (storage/store/store_catalog.h): a thread a store, so that the sync
 * thread waits for a disk that hangs only once, and for a second.  A disk that does not take the note costs its store that
 * note; the server's other stores, whose replicas speak to masters through the same thread, must not stand still for it.
 *
 * Thread rule: the sync thread, which alone looks at the struct store_catalog; the keeper's thread works on a copy.
 */
#ifndef TABLETSERVER_SERVE_SYNC_CATALOG_KEEPER_H
#define TABLETSERVER_SERVE_SYNC_CATALOG_KEEPER_H

#include "tabletserver/storage/store/store_catalog.h"

#define CATALOG_KEEPER_PATIENCE_NS (INT64_C(1000) * 1000 * 1000)

struct catalog_keeper;

/* catalog must be there until the keeper is destroyed.  Errors: STATUS_NO_MEMORY. */
enum status catalog_keeper_create(struct store_catalog *catalog,
                                  struct catalog_keeper **ret_keeper);

/* Waits for a note that is under way.  NULL is fine. */
void catalog_keeper_destroy(struct catalog_keeper *keeper);

/* As store_catalog_note().  Errors besides: STATUS_UNAVAILABLE: the disk has not answered yet; the mark is as it was.
 * Until it answers this is said at once. */
enum status catalog_keeper_note(struct catalog_keeper *keeper,
                                const struct store_catalog_mark *mark,
                                struct error *ret_error);

#endif /* TABLETSERVER_SERVE_SYNC_CATALOG_KEEPER_H */
