#include "tabletserver/storage/memtable/memtable_rows.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "tabletserver/storage/memtable/memtable_series.h"

#define CACHE_LINE_BYTES 64

uint64_t memtable_key_prefix(const struct memtable *memtable, struct bytes key)
{
    size_t expected = memtable->expected_size;
    if (expected > 0) {
        size_t size = key.size_bytes < expected ? key.size_bytes : expected;
        int order = size > 0 ? memcmp(key.data, memtable->expected, size) : 0;
        if (order != 0 || size < expected) {
            return order <= 0 ? 0 : UINT64_MAX;
        }
        key = bytes_drop_front(key, expected);
    }
    if (key.size_bytes >= 8) {
        return load_be64(key.data);
    }
    uint8_t padded[8] = {0};
    if (key.size_bytes > 0) {
        memcpy(padded, key.data, key.size_bytes);
    }
    return load_be64(padded);
}

void memtable_row_fetch(const struct memtable_row *row)
{
    const char *at = (const char *)row;
    __builtin_prefetch(at);
    __builtin_prefetch(at + CACHE_LINE_BYTES);
}

static size_t key_offset(unsigned height)
{
    return offsetof(struct memtable_row, links) + height * sizeof(struct memtable_link);
}

struct bytes memtable_row_key(const struct memtable_row *row)
{
    return bytes_of((const uint8_t *)row + key_offset(row->height), row->key_size);
}

size_t memtable_row_size_bytes(struct bytes key, unsigned height)
{
    return (key_offset(height) + key.size_bytes + 7) & ~(size_t)7;
}

struct memtable_cell *memtable_row_first_cell(const struct memtable_row *row)
{
    uintptr_t address = (uintptr_t)row +
                        memtable_row_size_bytes(memtable_row_key(row), row->height);
    return (struct memtable_cell *)address;
}

/* The row that the link leads to if it lies before key (or at it, with at); else NULL. */
static struct memtable_row *row_if_before(const struct memtable_link *link,
                                          uint64_t prefix,
                                          struct bytes key,
                                          bool at)
{
    struct memtable_row *row = atomic_load_explicit(&link->row, memory_order_acquire);
    if (row == NULL || atomic_load_explicit(&link->prefix, memory_order_relaxed) > prefix) {
        return NULL;
    }
    int order = bytes_compare(memtable_row_key(row), key);
    return order < 0 || (at && order == 0) ? row : NULL;
}

/* The last row before key (or at it, with at); NULL when there is none. */
static struct memtable_row *find_before(const struct memtable *memtable, struct bytes key, bool at)
{
    uint64_t prefix = memtable_key_prefix(memtable, key);
    struct memtable_row *found = NULL;
    const struct memtable_link *links = memtable->heads;
    for (unsigned level = atomic_load_explicit(&memtable->height, memory_order_relaxed);
         level-- > 0;) {
        struct memtable_row *row = row_if_before(&links[level], prefix, key, at);
        while (row != NULL) {
            found = row;
            links = row->links;
            row = row_if_before(&links[level], prefix, key, at);
        }
    }
    return found;
}

struct bytes memtable_shared_prefix(const struct memtable *memtable)
{
    const struct memtable_row *first = atomic_load_explicit(&memtable->heads[0].row,
                                                            memory_order_acquire);
    const struct memtable_row *last = memtable_row_last(memtable, UINT64_MAX);
    if (first == NULL || first == last) {
        return BYTES_EMPTY; /* one row tells nothing of the others */
    }
    struct bytes a = memtable_row_key(first);
    struct bytes b = memtable_row_key(last);
    size_t shared = 0;
    while (shared < a.size_bytes && shared < b.size_bytes && shared < MEMTABLE_EXPECTED_BYTES_MAX &&
           a.data[shared] == b.data[shared]) {
        shared++;
    }
    return bytes_of(a.data, shared);
}

static const struct memtable_row *first_visible(const struct memtable_row *row, uint64_t sequence)
{
    while (row != NULL && memtable_row_first_sequence(row) > sequence) {
        row = atomic_load_explicit(&row->links[0].row, memory_order_acquire);
    }
    return row;
}

const struct memtable_row *memtable_row_next(const struct memtable_row *row, uint64_t sequence)
{
    const struct memtable_row *next = atomic_load_explicit(&row->links[0].row,
                                                           memory_order_acquire);
    if (next != NULL) {
        /* Whoever walks will want the one behind it, and it is somewhere else in memory. */
        memtable_row_fetch(atomic_load_explicit(&next->links[0].row, memory_order_relaxed));
    }
    return first_visible(next, sequence);
}

const struct memtable_row *memtable_row_at_or_after(const struct memtable *memtable,
                                                    uint64_t sequence,
                                                    struct bytes key,
                                                    bool after)
{
    const struct memtable_row *before = find_before(memtable, key, after);
    const struct memtable_link *link = before != NULL ? before->links : memtable->heads;
    const struct memtable_row *row = atomic_load_explicit(&link->row, memory_order_acquire);
    /* A row may have been linked between the two looks; it may even lie before key. */
    row = first_visible(row, sequence);
    return row;
}

/* Go back from row until one is visible.  Rows too new are few: those of the last moments. */
static const struct memtable_row *last_visible(const struct memtable *memtable,
                                               const struct memtable_row *row,
                                               uint64_t sequence)
{
    while (row != NULL && memtable_row_first_sequence(row) > sequence) {
        row = find_before(memtable, memtable_row_key(row), false);
    }
    return row;
}

const struct memtable_row *memtable_row_before(const struct memtable *memtable,
                                               uint64_t sequence,
                                               struct bytes key,
                                               bool at)
{
    return last_visible(memtable, find_before(memtable, key, at), sequence);
}

const struct memtable_row *memtable_row_last(const struct memtable *memtable, uint64_t sequence)
{
    const struct memtable_row *last = NULL;
    const struct memtable_link *links = memtable->heads;
    for (unsigned level = atomic_load_explicit(&memtable->height, memory_order_relaxed);
         level-- > 0;) {
        const struct memtable_row *row = atomic_load_explicit(&links[level].row,
                                                              memory_order_acquire);
        while (row != NULL) {
            last = row;
            links = row->links;
            row = atomic_load_explicit(&links[level].row, memory_order_acquire);
        }
    }
    return last_visible(memtable, last, sequence);
}

/* As row_if_before() with at, for the writer, to whom a lower prefix says that the row lies before
 * the key without looking at it. */
static struct memtable_row *row_if_not_after(const struct memtable_link *link,
                                             uint64_t prefix,
                                             struct bytes key)
{
    struct memtable_row *row = atomic_load_explicit(&link->row, memory_order_relaxed);
    uint64_t row_prefix = atomic_load_explicit(&link->prefix, memory_order_relaxed);
    if (row == NULL || row_prefix > prefix) {
        return NULL;
    }
    return row_prefix < prefix || bytes_compare(memtable_row_key(row), key) <= 0 ? row : NULL;
}

/* The level from which to search down from the finger; 0 = the finger is right already.  Looks at
 * prefixes only, which the writer sees exactly, so it costs no cache miss. */
static unsigned climb(const struct memtable *memtable, uint64_t prefix)
{
    const struct memtable_row_finger *finger = &memtable->row_finger;
    unsigned height = atomic_load_explicit(&memtable->height, memory_order_relaxed);
    unsigned level = 0;
    while (level < height) {
        const struct memtable_link *link = &finger->before[level][level];
        if (atomic_load_explicit(&link->row, memory_order_relaxed) == NULL ||
            atomic_load_explicit(&link->prefix, memory_order_relaxed) > prefix) {
            break;
        }
        level++;
    }
    return level;
}

/* Does a key with this prefix go right behind the finger's row?  (As far as prefixes can tell.) */
static bool is_next(const struct memtable_row *row, int order, uint64_t prefix)
{
    const struct memtable_link *link = &row->links[0];
    return order < 0 && (atomic_load_explicit(&link->row, memory_order_relaxed) == NULL ||
                         atomic_load_explicit(&link->prefix, memory_order_relaxed) > prefix);
}

struct memtable_row *memtable_row_find(struct memtable *memtable, struct bytes key)
{
    struct memtable_row_finger *finger = &memtable->row_finger;
    uint64_t prefix = memtable_key_prefix(memtable, key);
    unsigned height = atomic_load_explicit(&memtable->height, memory_order_relaxed);
    unsigned level = height;
    struct memtable_link *links = memtable->heads;
    struct memtable_row *found = NULL;

    if (finger->row != NULL) {
        int order = bytes_compare(memtable_row_key(finger->row), key);
        if (order == 0) {
            return finger->row;
        }
        if (!is_next(finger->row, order, prefix) && memtable_series_find(memtable, key)) {
            return bytes_equal(memtable_row_key(finger->row), key) ? finger->row : NULL;
        }
        if (order < 0) {
            found = finger->row;
            level = climb(memtable, prefix);
            links = NULL; /* as long as nothing moves, the finger's own */
        }
    }
    while (level-- > 0) {
        links = links == NULL || found == finger->row ? finger->before[level] : links;
        struct memtable_row *row = row_if_not_after(&links[level], prefix, key);
        while (row != NULL) {
            found = row;
            links = row->links;
            row = row_if_not_after(&links[level], prefix, key);
        }
        finger->before[level] = links;
    }
    finger->row = found;
    return found != NULL && bytes_equal(memtable_row_key(found), key) ? found : NULL;
}

struct memtable_row *memtable_row_make(void *memory,
                                       struct bytes key,
                                       unsigned height,
                                       uint64_t sequence)
{
    struct memtable_row *row = memory;
    atomic_init(&row->cells, NULL);
    atomic_init(&row->first_sequence, sequence);
    row->key_size = (uint16_t)key.size_bytes;
    row->height = (uint8_t)height;
    memcpy((uint8_t *)memory + key_offset(height), key.data, key.size_bytes);
    return row;
}

/* The link of the level that the row goes behind, from links somewhere before it. */
static struct memtable_link *last_before(struct memtable_link *links,
                                         unsigned level,
                                         const struct memtable_row *row,
                                         uint64_t prefix)
{
    struct bytes key = memtable_row_key(row);
    for (;;) {
        struct memtable_row *next = row_if_not_after(&links[level], prefix, key);
        if (next == NULL) {
            return &links[level];
        }
        links = next->links;
    }
}

/* One more, or one less. */
static void count_row(struct memtable *memtable, uint64_t difference)
{
    uint64_t count = atomic_load_explicit(&memtable->row_count, memory_order_relaxed);
    atomic_store_explicit(&memtable->row_count, count + difference, memory_order_relaxed);
}

void memtable_row_link(struct memtable *memtable, struct memtable_row *row)
{
    struct memtable_row_finger *finger = &memtable->row_finger;
    uint64_t prefix = memtable_key_prefix(memtable, memtable_row_key(row));
    unsigned height = atomic_load_explicit(&memtable->height, memory_order_relaxed);
    for (; height < row->height; height++) {
        finger->before[height] = memtable->heads;
        atomic_store_explicit(&memtable->height, height + 1, memory_order_relaxed);
    }
    for (unsigned level = 0; level < row->height; level++) {
        struct memtable_link *before = last_before(finger->before[level], level, row, prefix);
        struct memtable_link *link = &row->links[level];
        atomic_init(&link->row, atomic_load_explicit(&before->row, memory_order_relaxed));
        atomic_init(&link->prefix, atomic_load_explicit(&before->prefix, memory_order_relaxed));
        atomic_store_explicit(&before->prefix, prefix, memory_order_relaxed);
        atomic_store_explicit(&before->row, row, memory_order_release);
        finger->before[level] = row->links;
    }
    finger->row = row;
    count_row(memtable, 1);
    memtable_series_note(memtable, memtable_row_key(row));
}

void memtable_row_drop(struct memtable *memtable, struct memtable_row *row)
{
    atomic_store_explicit(&row->first_sequence, MEMTABLE_ROW_GONE, memory_order_relaxed);
    count_row(memtable, UINT64_MAX);
}

void memtable_row_revive(struct memtable *memtable, struct memtable_row *row, uint64_t sequence)
{
    atomic_store_explicit(&row->first_sequence, sequence, memory_order_relaxed);
    count_row(memtable, 1);
}

static bool check_level(const struct memtable *memtable, unsigned level)
{
    const struct memtable_link *link = &memtable->heads[level];
    const struct memtable_row *last = NULL;
    const struct memtable_row *row = NULL;
    while ((row = atomic_load_explicit(&link->row, memory_order_acquire)) != NULL) {
        struct bytes key = memtable_row_key(row);
        if ((last != NULL && bytes_compare(memtable_row_key(last), key) >= 0) ||
            atomic_load_explicit(&link->prefix, memory_order_relaxed) !=
                memtable_key_prefix(memtable, key) ||
            row->height <= level) {
            return false;
        }
        last = row;
        link = &row->links[level];
    }
    return true;
}

bool memtable_rows_check(const struct memtable *memtable)
{
    for (unsigned level = 0; level < MEMTABLE_HEIGHT_MAX; level++) {
        if (!check_level(memtable, level)) {
            return false;
        }
    }
    return true;
}
