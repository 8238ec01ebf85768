/*
 * A server's disk: files with a page cache over them.
 *
 *   write --> cache --sync--> durable
 *
 * A killed process loses nothing that it wrote: the cache outlives it.  A power cut takes the cache
 * away: of each 512-byte sector written since the last sync, what reached the disk is the new
 * bytes, the old ones, or garbage.
 */
#ifndef TESTS_SIM_WORLD_SIM_DISK_H
#define TESTS_SIM_WORLD_SIM_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/prng.h"

#define SIM_DISK_WRITES_MAX 16 /* not synced, of a file */

struct sim_file {
    uint8_t *cache;
    uint8_t *durable;
    size_t size_bytes;
    uint32_t write_count; /* since the last sync; merged beyond the maximum */
    struct sim_file_write {
        size_t offset;
        size_t size_bytes;
    } writes[SIM_DISK_WRITES_MAX];
};

/* Zeroed, and durably so. */
void sim_file_init(struct sim_file *file, size_t size_bytes);
void sim_file_deinit(struct sim_file *file);

void sim_file_write(struct sim_file *file, size_t offset, const void *data, size_t size_bytes);
void sim_file_sync(struct sim_file *file);
void sim_file_cut_power(struct sim_file *file, struct prng *prng);

#endif /* TESTS_SIM_WORLD_SIM_DISK_H */
