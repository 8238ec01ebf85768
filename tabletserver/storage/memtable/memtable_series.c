#include "tabletserver/storage/memtable/memtable_series.h"

#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable_rows.h"

#define ENDING_BYTES  8 /* of a key: what tells rows of a series apart */
#define FINGER_COUNT  4096
#define LEVELS        10    /* higher rows are rare, and linked after a search */
#define FETCH_LEVELS  3     /* a row is higher than that in one case of eight */
#define ROW_COUNT_MIN 16384 /* a smaller table is in the cache anyway */
#define TRIAL_COUNT   4096
#define HITS_MIN      1024 /* of a trial's finds; fewer and it is not worth its memory */
#define HASH_SEED     UINT64_C(0x736572696573)

struct finger {
    uint64_t hash;
    struct memtable_row *row; /* NULL = none */
    struct memtable_link *before[LEVELS];
};

struct memtable_series {
    uint32_t tries; /* of this trial */
    uint32_t hits;
    bool given_up;
    struct finger fingers[];
};

static void count_bytes(struct memtable *memtable, size_t bytes)
{
    atomic_store_explicit(&memtable->series_bytes, bytes, memory_order_relaxed);
}

/* NULL when there is none and need not be, cannot, or is of no use. */
static struct memtable_series *series_of(struct memtable *memtable)
{
    if (memtable->series == NULL && memtable_row_count(memtable) >= ROW_COUNT_MIN) {
        size_t bytes = sizeof *memtable->series + FINGER_COUNT * sizeof(struct finger);
        memtable->series = memory_allocate_zeroed(1, bytes);
        count_bytes(memtable, memtable->series != NULL ? bytes : 0);
    }
    return memtable->series != NULL && !memtable->series->given_up ? memtable->series : NULL;
}

/* The key's finger, whatever it holds; NULL when the key is too short to be of a series. */
static struct finger *finger_of(struct memtable *memtable, struct bytes key, uint64_t *ret_hash)
{
    struct memtable_series *series = series_of(memtable);
    if (series == NULL || key.size_bytes <= ENDING_BYTES) {
        return NULL;
    }
    *ret_hash = checksum64(key.data, key.size_bytes - ENDING_BYTES, HASH_SEED);
    return &series->fingers[*ret_hash % FINGER_COUNT];
}

bool memtable_series_fetch(struct memtable *memtable, struct bytes key)
{
    uint64_t hash = 0;
    const struct finger *finger = finger_of(memtable, key, &hash);
    if (finger == NULL || finger->hash != hash || finger->row == NULL) {
        return false;
    }
    memtable_row_fetch(finger->row);
    for (unsigned level = 1; level < FETCH_LEVELS; level++) {
        __builtin_prefetch(finger->before[level]);
    }
    return true;
}

/* Does the level's next row lie behind the key? */
static bool is_last_before(const struct memtable_link *link, uint64_t prefix, struct bytes key)
{
    const struct memtable_row *next = atomic_load_explicit(&link->row, memory_order_relaxed);
    uint64_t next_prefix = atomic_load_explicit(&link->prefix, memory_order_relaxed);
    return next == NULL || next_prefix > prefix ||
           (next_prefix == prefix && bytes_compare(memtable_row_key(next), key) > 0);
}

/* Shrinks to nothing where keys have no series; what was allocated stays small. */
static void count_try(struct memtable *memtable, bool hit)
{
    struct memtable_series *series = memtable->series;
    series->tries++;
    series->hits += hit;
    if (series->tries < TRIAL_COUNT) {
        return;
    }
    if (series->hits < HITS_MIN) {
        struct memtable_series *rest = memory_resize(series, sizeof *series);
        memtable->series = rest != NULL ? rest : series;
        count_bytes(memtable, sizeof *series);
        memtable->series->given_up = true;
    }
    memtable->series->tries = 0;
    memtable->series->hits = 0;
}

/* The row finger stands on the series' row; where a level is not known, at the head. */
static void stand_on(struct memtable *memtable, const struct finger *finger)
{
    struct memtable_row_finger *to = &memtable->row_finger;
    struct memtable_row *row = finger->row;
    to->row = row;
    for (unsigned level = 0; level < MEMTABLE_HEIGHT_MAX; level++) {
        to->before[level] = level < row->height ? row->links
                            : level < LEVELS    ? finger->before[level]
                                                : memtable->heads;
    }
}

bool memtable_series_find(struct memtable *memtable, struct bytes key)
{
    uint64_t hash = 0;
    const struct finger *finger = finger_of(memtable, key, &hash);
    if (finger == NULL) {
        return false;
    }
    bool hit = false;
    if (finger->hash == hash && finger->row != NULL) {
        int order = bytes_compare(memtable_row_key(finger->row), key);
        hit = order == 0 || (order < 0 && is_last_before(&finger->row->links[0],
                                                         memtable_key_prefix(memtable, key), key));
    }
    if (hit) {
        stand_on(memtable, finger);
    }
    count_try(memtable, hit);
    return hit;
}

void memtable_series_note(struct memtable *memtable, struct bytes key)
{
    uint64_t hash = 0;
    struct finger *finger = finger_of(memtable, key, &hash);
    if (finger == NULL) {
        return;
    }
    finger->hash = hash;
    finger->row = memtable->row_finger.row;
    for (unsigned level = 0; level < LEVELS; level++) {
        finger->before[level] = memtable->row_finger.before[level];
    }
}

void memtable_series_deinit(struct memtable *memtable)
{
    memory_free(memtable->series);
    memtable->series = NULL;
}
