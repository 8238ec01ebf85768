/*
 * Where things lie in etcd.  CLUSTER is the cluster's number, so several may share one etcd:
 *
 *   <prefix>/<CLUSTER>/leader            the address of the active master; lives as long as its lease.
 *                                        Its create_revision is the number of the REIGN: every
 *                                        transaction compares it, so who lost it changes nothing
 *   <prefix>/<CLUSTER>/mark              how far commits have come (etcd_parcel.h)
 *   <prefix>/<CLUSTER>/stage/<8 digits>  pieces of a commit that one transaction cannot hold
 *   <prefix>/<CLUSTER>/record/<key>      the catalog's records (master/core/record/record.h), key as it is
 */
#ifndef MASTER_COORDINATOR_ETCD_KEYS_H
#define MASTER_COORDINATOR_ETCD_KEYS_H

#include <stdbool.h>

#include "common/base/error.h"
#include "master/coordinator/etcd_codec.h"
#include "master/core/record/record.h"

#define ETCD_PREFIX_BYTES_MAX 200
#define ETCD_KEY_BYTES_MAX    256

struct etcd_keys {
    char leader[ETCD_KEY_BYTES_MAX];
    char mark[ETCD_KEY_BYTES_MAX];
    char stage[ETCD_KEY_BYTES_MAX];      /* ends in '/' */
    char stage_end[ETCD_KEY_BYTES_MAX];  /* the first key after all that begin so */
    char record[ETCD_KEY_BYTES_MAX];     /* likewise */
    char record_end[ETCD_KEY_BYTES_MAX]; /* likewise */
};

/* A full key; data owned by the struct. */
struct etcd_key {
    uint8_t data[ETCD_KEY_BYTES_MAX + RECORD_KEY_BYTES_MAX];
    size_t size_bytes;
};

/* Errors: STATUS_INVALID_ARGUMENT: a prefix begins with '/', does not end with it, and is no longer
 * than ETCD_PREFIX_BYTES_MAX. */
enum status etcd_keys_make(const char *prefix,
                           uint64_t cluster,
                           struct etcd_keys *ret_keys,
                           struct error *ret_error);

/* Of a record; key is at most RECORD_KEY_BYTES_MAX long. */
struct etcd_key etcd_key_of_record(const struct etcd_keys *keys, struct bytes key);
struct etcd_key etcd_key_of_stage(const struct etcd_keys *keys, uint32_t piece);

/* The record's own key.  False: it is none. */
bool etcd_key_to_record(const struct etcd_keys *keys, struct bytes key, struct bytes *ret_key);

static inline struct bytes etcd_key_bytes(const struct etcd_key *key)
{
    return bytes_of(key->data, key->size_bytes);
}

#endif /* MASTER_COORDINATOR_ETCD_KEYS_H */
