#include "tabletserver/tablet/row_lock.h"

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"

#define BUCKET_COUNT 1024 /* locks are held for microseconds: few at a time */

struct row_lock {
    struct row_lock *next; /* in the bucket */
    uint64_t tablet;
    struct row_waiter *first;
    struct row_waiter *last;
    size_t row_bytes;
    uint8_t row[];
};

struct row_lock_table {
    struct row_lock *buckets[BUCKET_COUNT];
};

enum status row_lock_table_create(struct row_lock_table **ret_table)
{
    struct row_lock_table *table = memory_allocate_zeroed(1, sizeof *table);
    if (table == NULL) {
        return STATUS_NO_MEMORY;
    }
    *ret_table = table;
    return STATUS_OK;
}

void row_lock_table_destroy(struct row_lock_table *table)
{
    if (table == NULL) {
        return;
    }
    for (uint32_t i = 0; i < BUCKET_COUNT; i++) {
        ASSERT(table->buckets[i] == NULL);
    }
    memory_free(table);
}

static uint32_t bucket_of(uint64_t tablet, struct bytes row)
{
    return checksum32(row.data, row.size_bytes, tablet) % BUCKET_COUNT;
}

static bool is_lock(const struct row_lock *lock, uint64_t tablet, struct bytes row)
{
    return lock->tablet == tablet && bytes_equal(bytes_of(lock->row, lock->row_bytes), row);
}

/* The link that points at the lock, or at the bucket's end. */
static struct row_lock **find(struct row_lock_table *table, uint64_t tablet, struct bytes row)
{
    struct row_lock **link = &table->buckets[bucket_of(tablet, row)];
    while (*link != NULL && !is_lock(*link, tablet, row)) {
        link = &(*link)->next;
    }
    return link;
}

bool row_lock_is_held(const struct row_lock_table *table, uint64_t tablet, struct bytes row)
{
    const struct row_lock *lock = table->buckets[bucket_of(tablet, row)];
    while (lock != NULL && !is_lock(lock, tablet, row)) {
        lock = lock->next;
    }
    return lock != NULL;
}

enum status row_lock_acquire(struct row_lock_table *table, uint64_t tablet, struct bytes row)
{
    struct row_lock **link = find(table, tablet, row);
    ASSERT(*link == NULL);
    struct row_lock *lock = memory_allocate(sizeof *lock + row.size_bytes);
    if (lock == NULL) {
        return STATUS_NO_MEMORY;
    }
    *lock = (struct row_lock){.tablet = tablet, .row_bytes = row.size_bytes};
    memcpy(lock->row, row.data, row.size_bytes);
    *link = lock;
    return STATUS_OK;
}

void row_lock_wait(struct row_lock_table *table,
                   uint64_t tablet,
                   struct bytes row,
                   struct row_waiter *waiter)
{
    struct row_lock *lock = *find(table, tablet, row);
    ASSERT(lock != NULL);
    waiter->next = NULL;
    if (lock->last == NULL) {
        lock->first = waiter;
    } else {
        lock->last->next = waiter;
    }
    lock->last = waiter;
}

struct row_waiter *row_lock_next(struct row_lock_table *table, uint64_t tablet, struct bytes row)
{
    struct row_lock **link = find(table, tablet, row);
    struct row_lock *lock = *link;
    ASSERT(lock != NULL);

    struct row_waiter *waiter = lock->first;
    if (waiter == NULL) {
        *link = lock->next;
        memory_free(lock);
        return NULL;
    }
    lock->first = waiter->next;
    if (lock->first == NULL) {
        lock->last = NULL;
    }
    waiter->next = NULL;
    return waiter;
}
