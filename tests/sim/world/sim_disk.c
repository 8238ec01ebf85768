#include "tests/sim/world/sim_disk.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SECTOR_BYTES 512

void sim_file_init(struct sim_file *file, size_t size_bytes)
{
    *file = (struct sim_file){
        .cache = memory_allocate_zeroed(1, size_bytes),
        .durable = memory_allocate_zeroed(1, size_bytes),
        .size_bytes = size_bytes,
    };
    ASSERT(file->cache != NULL && file->durable != NULL);
}

void sim_file_deinit(struct sim_file *file)
{
    memory_free(file->cache);
    memory_free(file->durable);
}

void sim_file_write(struct sim_file *file, size_t offset, const void *data, size_t size_bytes)
{
    ASSERT(offset <= file->size_bytes && size_bytes <= file->size_bytes - offset);
    if (size_bytes == 0) {
        return;
    }
    memcpy(file->cache + offset, data, size_bytes);
    if (file->write_count < SIM_DISK_WRITES_MAX) {
        file->writes[file->write_count++] = (struct sim_file_write){offset, size_bytes};
        return;
    }
    struct sim_file_write *last = &file->writes[SIM_DISK_WRITES_MAX - 1];
    size_t start = offset < last->offset ? offset : last->offset;
    size_t end = offset + size_bytes;
    end = last->offset + last->size_bytes > end ? last->offset + last->size_bytes : end;
    *last = (struct sim_file_write){start, end - start};
}

void sim_file_sync(struct sim_file *file)
{
    for (uint32_t i = 0; i < file->write_count; i++) {
        const struct sim_file_write *write = &file->writes[i];
        memcpy(file->durable + write->offset, file->cache + write->offset, write->size_bytes);
    }
    file->write_count = 0;
}

/* One sector's part of a write. */
static void cut_sector(struct sim_file *file, size_t start, size_t end, struct prng *prng)
{
    switch (prng_below(prng, 5)) {
    case 0:
    case 1:
        memcpy(file->durable + start, file->cache + start, end - start);
        break;
    case 2:
        for (size_t i = start; i < end; i++) {
            file->durable[i] = (uint8_t)prng_next(prng);
        }
        break;
    default:
        break; /* as it was */
    }
}

void sim_file_cut_power(struct sim_file *file, struct prng *prng)
{
    for (uint32_t i = 0; i < file->write_count; i++) {
        size_t at = file->writes[i].offset;
        size_t end = at + file->writes[i].size_bytes;
        while (at < end) {
            size_t sector_end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
            sector_end = sector_end < end ? sector_end : end;
            cut_sector(file, at, sector_end, prng);
            at = sector_end;
        }
    }
    if (file->write_count > 0) {
        memcpy(file->cache, file->durable, file->size_bytes);
    }
    file->write_count = 0;
}
