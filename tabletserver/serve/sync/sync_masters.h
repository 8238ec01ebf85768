/*
 * The masters that a server dials, one after the other: those that it was given, and such as others have named since.
 *
 * A cluster's masters may come back at other addresses again and again, while a server runs for months: so of those that
 * were learned the oldest ones give place.  Those that were given stay.
 *
 * No threads of its own.  Thread rule: the owner's.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SYNC_MASTERS_H
#define TABLETSERVER_SERVE_SYNC_SYNC_MASTERS_H

#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"

#define SYNC_MASTERS_MAX   16 /* given */
#define SYNC_ADDRESS_BYTES 128

struct sync_masters {
    char addresses[SYNC_MASTERS_MAX + 1]
                  [SYNC_ADDRESS_BYTES]; /* one more: there is a place to learn */
    uint32_t count;
    uint32_t given; /* so many of them, the first */
    uint32_t turn;  /* of the place that is given away next, counted from there */
};

/* Take the setting `masters` apart: addresses with commas or blanks between; one that stands twice counts
 * once.  Errors: those of transport_address_check_dial(); STATUS_INVALID_ARGUMENT (none, or too many, or
 * too long a one: which is said). */
enum status sync_masters_parse(const char *masters,
                               struct sync_masters *ret_masters,
                               struct error *ret_error);

/* Where the address stands.  One that is new takes a place, which is not among those in use.  masters->count: it cannot
 * be dialled, or there is no such place. */
uint32_t sync_masters_learn(struct sync_masters *masters,
                            struct bytes address,
                            const uint32_t in_use[2]);

#endif /* TABLETSERVER_SERVE_SYNC_SYNC_MASTERS_H */
