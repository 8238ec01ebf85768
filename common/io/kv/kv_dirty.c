#include "common/io/kv/kv_dirty.h"

#define PAGE_BYTES     4096
#define OVERFLOW_BYTES 2000 /* about where a value leaves its leaf for pages of its own */

void kv_dirty_note(struct kv_dirty *dirty, const void *address, size_t size_bytes)
{
    if (size_bytes > OVERFLOW_BYTES) {
        dirty->overflow_bytes += (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        return;
    }
    uintptr_t block = (uintptr_t)address / PAGE_BYTES;
    uintptr_t *place = &dirty->blocks[block % KV_DIRTY_BLOCKS_MAX];
    dirty->block_count += *place != block;
    *place = block;
}

uint64_t kv_dirty_bytes(const struct kv_dirty *dirty)
{
    return dirty->overflow_bytes + dirty->block_count * PAGE_BYTES;
}
