/*
 * The store's own records beside the data: META, key -> checksum (4) seeded with the key, value.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_META_H
#define TABLETSERVER_STORAGE_BASE_BASE_META_H

#include "common/base/buffer.h"
#include "common/io/kv/kv.h"

/* scratch is for putting the record together. */
enum status base_meta_store(struct kv_write *write,
                            struct bytes key,
                            struct bytes value,
                            struct buffer *scratch);
enum status base_meta_remove(struct kv_write *write, struct bytes key);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_META_H */
