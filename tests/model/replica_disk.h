/*
 * The disk of a store in a world of replicas: a log of records that loses its unsynced end in a crash.
 */
#ifndef TESTS_MODEL_REPLICA_DISK_H
#define TESTS_MODEL_REPLICA_DISK_H

#include "tests/model/replica_world.h"

static inline struct record *disk_append(struct disk *disk, enum record_kind kind)
{
    if (disk->count == disk->capacity) {
        disk->capacity = disk->capacity == 0 ? 64 : disk->capacity * 2;
        disk->records = realloc(disk->records, disk->capacity * sizeof *disk->records);
    }
    struct record *record = &disk->records[disk->count++];
    *record = (struct record){.kind = kind};
    return record;
}

static inline void disk_replay(struct world *world, struct disk *disk, const struct record *record)
{
    switch (record->kind) {
    case RECORD_ENTRY:
        MUST(world, record->sequence == disk->end + 1);
        disk->end = record->sequence;
        disk->cells[record->sequence] = record->cell;
        break;
    case RECORD_CONFIGURATION:
        /* What a learner was being taught by another reign is void. */
        MUST(world, record->sequence >= disk->committed || disk->role == REPLICA_LEARNER);
        disk->committed = record->sequence < disk->committed ? record->committed : disk->committed;
        disk->end = record->sequence < disk->end ? record->sequence : disk->end;
        disk->configuration = record->configuration;
        disk->role = record->role;
        disk->flags = record->flags;
        world->dirty = true;
        break;
    case RECORD_TAUGHT:
        memcpy(disk->cells, record->taught, (record->sequence + 1) * sizeof *disk->cells);
        disk->end = record->sequence;
        disk->committed = record->sequence;
        world->dirty = true;
        break;
    }
    if (record->committed > disk->committed) {
        disk->committed = record->committed;
    }
}

/* The first `count` records are durable from now on. */
static inline void disk_sync(struct world *world, struct disk *disk, uint32_t count)
{
    while (disk->durable < count) {
        disk_replay(world, disk, &disk->records[disk->durable++]);
    }
}

/* Of what is not synced some may be there all the same, in the log's order. */
static inline void disk_crash(struct world *world, struct disk *disk)
{
    uint64_t unsynced = disk->count - disk->durable;
    uint32_t kept = disk->durable + (uint32_t)prng_below(&world->prng, unsynced + 1);
    while (disk->count > kept) {
        free(disk->records[--disk->count].taught);
    }
    disk_sync(world, disk, kept);
}

static inline void disk_wipe(struct disk *disk)
{
    for (uint32_t i = 0; i < disk->count; i++) {
        free(disk->records[i].taught);
    }
    free(disk->records);
    *disk = (struct disk){0};
}

/* An earlier copy of it is put back: its first `count` records are all that it has. */
static inline void disk_go_back(struct world *world, struct disk *disk, uint32_t count)
{
    struct record *records = disk->records;
    uint32_t capacity = disk->capacity;
    for (uint32_t i = count; i < disk->count; i++) {
        free(records[i].taught);
    }
    *disk = (struct disk){.records = records, .count = count, .capacity = capacity};
    disk_sync(world, disk, count);
}

static inline bool disk_has(const struct disk *disk, uint64_t sequence, struct cell cell)
{
    return sequence <= disk->end && disk->cells[sequence].version == cell.version &&
           disk->cells[sequence].id == cell.id;
}

#endif /* TESTS_MODEL_REPLICA_DISK_H */
