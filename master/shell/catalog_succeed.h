/*
 * The succession: a person orders this catalog, an old copy or an empty one, to take the place of one
 * that is lost, so that tablet servers which belong to that take this one (core/catalog_identity.c).
 *
 *   generation   drawn anew if it is that of the lost one: should that turn up after all, the two are
 *                told apart
 *   predecessor  the lost one's generation
 *   counters     far ahead of all that the lost one can have given: no number is given twice.  What
 *                servers hold under numbers that are not known here is left alone
 *
 * Ordered by the setting catalog.succeeds; done once, however often it is ordered.
 *
 * Thread rule: one caller, before the catalog is loaded.
 */
#ifndef MASTER_SHELL_CATALOG_SUCCEED_H
#define MASTER_SHELL_CATALOG_SUCCEED_H

#include <stdint.h>

#include "common/base/error.h"
#include "master/coordinator/coordinator.h"

/* lost: a generation.  Errors: STATUS_OUT_OF_RANGE (no numbers left), those of the coordinator. */
enum status catalog_succeed(struct coordinator *coordinator,
                            uint64_t lost,
                            struct error *ret_error);

#endif /* MASTER_SHELL_CATALOG_SUCCEED_H */
