/*
 * The mark on an embedded catalog whose records were brought into etcd: <folder>/catalog/MOVED.  A
 * catalog with it is not served any more, or two catalogs would pass out the same tablets.
 *
 * The mark is made before the records are brought over, so that there is no moment without it.
 */
#ifndef MASTER_COORDINATOR_CATALOG_MOVED_H
#define MASTER_COORDINATOR_CATALOG_MOVED_H

#include "common/base/error.h"

/* Errors: STATUS_FAILED_PRECONDITION (it was moved: says where to, and what to do), STATUS_IO. */
enum status catalog_moved_check(const char *folder, struct error *ret_error);

/* where: for people.  Durable when it returns; a mark that says the same may be there, of an import that was cut off.
 * Errors: STATUS_FAILED_PRECONDITION (it was moved elsewhere, and must not be in two places), STATUS_IO. */
enum status catalog_moved_mark(const char *folder, const char *where, struct error *ret_error);

/* It was not moved after all.  No mark is fine. */
enum status catalog_moved_unmark(const char *folder, struct error *ret_error);

#endif /* MASTER_COORDINATOR_CATALOG_MOVED_H */
