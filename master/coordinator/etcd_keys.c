#include "master/coordinator/etcd_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"

static void join(char *ret_key, const char *prefix, uint64_t cluster, const char *name)
{
    (void)snprintf(ret_key, ETCD_KEY_BYTES_MAX, "%s/%" PRIu64 "/%s", prefix, cluster, name);
}

enum status etcd_keys_make(const char *prefix,
                           uint64_t cluster,
                           struct etcd_keys *ret_keys,
                           struct error *ret_error)
{
    size_t size = strlen(prefix);

    if (size < 2 || size > ETCD_PREFIX_BYTES_MAX || prefix[0] != '/' || prefix[size - 1] == '/') {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT,
            "etcd.prefix = \"%.60s\": must begin with '/', not end with it, and have 2 "
            "to %d bytes",
            prefix, ETCD_PREFIX_BYTES_MAX);
    }
    join(ret_keys->leader, prefix, cluster, "leader");
    join(ret_keys->mark, prefix, cluster, "mark");
    join(ret_keys->stage, prefix, cluster, "stage/");
    join(ret_keys->stage_end, prefix, cluster, "stage0"); /* '0' comes after '/' */
    join(ret_keys->record, prefix, cluster, "record/");
    join(ret_keys->record_end, prefix, cluster, "record0");
    return STATUS_OK;
}

struct etcd_key etcd_key_of_record(const struct etcd_keys *keys, struct bytes key)
{
    struct etcd_key full = {.size_bytes = strlen(keys->record)};
    ASSERT(key.size_bytes > 0);
    ASSERT(key.size_bytes <= RECORD_KEY_BYTES_MAX);
    memcpy(full.data, keys->record, full.size_bytes);
    memcpy(full.data + full.size_bytes, key.data, key.size_bytes);
    full.size_bytes += key.size_bytes;
    return full;
}

struct etcd_key etcd_key_of_stage(const struct etcd_keys *keys, uint32_t piece)
{
    struct etcd_key full;
    int size = snprintf((char *)full.data, sizeof full.data, "%s%08" PRIu32, keys->stage, piece);
    full.size_bytes = (size_t)size;
    return full;
}

bool etcd_key_to_record(const struct etcd_keys *keys, struct bytes key, struct bytes *ret_key)
{
    struct bytes prefix = bytes_of_text(keys->record);
    if (!bytes_starts_with(key, prefix) || key.size_bytes == prefix.size_bytes ||
        key.size_bytes > prefix.size_bytes + RECORD_KEY_BYTES_MAX) {
        return false;
    }
    *ret_key = bytes_drop_front(key, prefix.size_bytes);
    return true;
}
