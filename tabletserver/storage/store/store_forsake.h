/*
 * A tablet that was split, and nothing of what came of it is wanted any more (store_forsake.c).  Work thread.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_FORSAKE_H
#define TABLETSERVER_STORAGE_STORE_STORE_FORSAKE_H

#include "tabletserver/storage/store/store_internal.h"

/* Is all that came of it being dropped?  Then nobody needs what it has in memory: it need not be flushed, and cannot be
 * where it waits for a damaged row. */
bool store_is_forsaken(struct store_tablet *parent);

/* End it in the base without its memtables, in a transaction of its own.  Errors: STATUS_NO_MEMORY, and the base's;
 * then nothing has changed. */
enum status store_forsake(struct store_tablet *parent);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_FORSAKE_H */
