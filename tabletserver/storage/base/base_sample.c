#include "tabletserver/storage/base/base_sample.h"

#include "common/base/endian.h"

#define STEP_BYTES  131072 /* a power of two: one mark in so many bytes */
#define VALUE_BYTES 8

static bool is_marked(struct bytes key, uint64_t extent, uint64_t weight)
{
    return checksum64(key.data, key.size_bytes, extent) % STEP_BYTES < weight;
}

static uint64_t stands_for(uint64_t weight)
{
    return weight > STEP_BYTES ? weight : STEP_BYTES;
}

/* A mark behind a link that is damaged is let go: nothing waits for an estimate. */
static enum status pass_bar(const struct base_walk *samples, enum status status)
{
    return status == STATUS_CORRUPT && samples->barred ? STATUS_OK : status;
}

enum status base_sample_update(struct base_walk *samples,
                               struct bytes key,
                               uint64_t before,
                               uint64_t after)
{
    bool was_marked = is_marked(key, samples->extent, before);
    bool marked = is_marked(key, samples->extent, after);
    struct bytes stored_key;
    uint8_t value[VALUE_BYTES];
    bool found = false;
    enum status status = STATUS_OK;
    if (!marked) {
        status = was_marked ? base_walk_delete(samples, key, VALUE_BYTES) : STATUS_OK;
        return pass_bar(samples, status);
    }
    if (was_marked && stands_for(before) == stands_for(after)) {
        return STATUS_OK;
    }
    status = base_walk_resolve(samples, key, true, &stored_key, &found);
    if (status != STATUS_OK) {
        return pass_bar(samples, status);
    }
    store_le64(value, stands_for(after));
    return base_walk_put(samples, stored_key, bytes_of(value, sizeof value),
                         was_marked ? stored_key.size_bytes + sizeof value : 0);
}

uint64_t base_sample_weight(struct bytes value)
{
    return value.size_bytes == VALUE_BYTES ? load_le64(value.data) : 0;
}
