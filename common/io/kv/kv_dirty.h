/*
 * How many bytes of pages a write transaction of LMDB has made dirty, about.
 *
 * LMDB tells no one.  But every put returns the address it wrote to (MDB_RESERVE), and dirty pages
 * are copies on the heap, one after another: so the 4 KiB blocks of memory that were written to are
 * counted, each once as long as a small table remembers it.  Too low by up to a third where pages
 * are touched once each (two may share a block).  Branch pages, about one in sixty, are left out.
 *
 * Thread rule: the transaction's.
 */
#ifndef COMMON_IO_KV_KV_DIRTY_H
#define COMMON_IO_KV_KV_DIRTY_H

#include <stddef.h>
#include <stdint.h>

#define KV_DIRTY_BLOCKS_MAX 4096 /* remembered as written to; a power of two */

/* All zero at first. */
struct kv_dirty {
    uint64_t block_count;
    uint64_t overflow_bytes;
    uintptr_t blocks[KV_DIRTY_BLOCKS_MAX]; /* each in the place that its number gives */
};

/* A pair of so many bytes was written, its value at address. */
void kv_dirty_note(struct kv_dirty *dirty, const void *address, size_t size_bytes);

uint64_t kv_dirty_bytes(const struct kv_dirty *dirty);

#endif /* COMMON_IO_KV_KV_DIRTY_H */
