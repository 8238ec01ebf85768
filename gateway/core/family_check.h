/*
 * Do mutations go with the families that they name?  Asked of all entries of a MutateRows before any
 * is sent: one that does not go fails them all, as on Bigtable, where tablets would refuse only it.
 *
 * What is answered is what the servers would say of that entry (common/model/mutation.c); what they
 * check beside it is theirs.
 *
 * Pure.  Thread rule: one owner, or any number of readers.
 */
#ifndef GATEWAY_CORE_FAMILY_CHECK_H
#define GATEWAY_CORE_FAMILY_CHECK_H

#include <stdint.h>

#include "client/include/edubba.h"
#include "common/base/limits.h"
#include "common/base/status.h"

struct family_type {
    enum edubba_aggregate aggregate;
    uint8_t name_bytes;
    char name[LIMIT_FAMILY_NAME_BYTES];
};

struct family_types {
    struct family_type *types;
    size_t count;
};

/* Copies.  Errors: STATUS_NO_MEMORY. */
enum status family_types_init(struct family_types *types,
                              const struct edubba_family *families,
                              size_t count);
void family_types_deinit(struct family_types *types); /* also one that is zeroed */

/* The later, the worse. */
enum family_verdict {
    FAMILY_FITS,
    FAMILY_IS_UNKNOWN, /* perhaps it is new; else "Requested column family not found": all fail */
    FAMILY_IS_OTHER_TYPE, /* "Column family type mismatch": all entries fail */
    FAMILY_ADDS_INT64,    /* AddToCell with another input: the request is malformed */
    FAMILY_ADDS_BYTES,    /* the same */
};

/* The worst of a list, with the first element of which it is so. */
enum family_verdict family_check(const struct family_types *types,
                                 const struct edubba_mutation *mutations,
                                 size_t count,
                                 size_t *ret_element);

#endif /* GATEWAY_CORE_FAMILY_CHECK_H */
