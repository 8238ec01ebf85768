#include "tabletserver/storage/memtable/memtable_warmup.h"

#include <string.h>

#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable_rows.h"
#include "tabletserver/storage/memtable/memtable_series.h"

#define KEY_BYTES_MAX 40    /* what is longer is compared so far */
#define ROW_COUNT_MIN 16384 /* a smaller table is in the cache anyway */
#define STEPS_MAX     128   /* more than a search ever takes, but for the worst of luck */

struct search {
    const struct memtable_link *links; /* of the last row known to lie before key */
    const struct memtable_row *next;   /* fetched, to be looked at; NULL at the start */
    bool is_before;                    /* next lies before key: its prefix is lower */
    const struct memtable_row *bound;  /* known not to lie before key */
    uint64_t prefix;
    uint32_t level; /* the one being searched, + 1; 0 = done */
    uint32_t key_size;
    uint8_t key[KEY_BYTES_MAX];
};

struct memtable_warmup {
    uint64_t oldest; /* searches [oldest, newest), by number; slot = number mod max */
    uint64_t newest;
    uint64_t undone; /* all before it are done */
    struct search searches[MEMTABLE_FORESEEN_MAX];
};

static bool is_key_before(const struct search *search, const struct memtable_row *row)
{
    struct bytes key = memtable_row_key(row);
    key.size_bytes = key.size_bytes < KEY_BYTES_MAX ? key.size_bytes : KEY_BYTES_MAX;
    return bytes_compare(key, bytes_of(search->key, search->key_size)) < 0;
}

/* Look at the row that was fetched, and fetch the next one. */
static void step(struct search *search)
{
    const struct memtable_row *row = search->next;
    if (row != NULL) {
        if (search->is_before || is_key_before(search, row)) {
            search->links = row->links;
        } else {
            search->bound = row;
            search->level--;
        }
    }
    for (; search->level > 0; search->level--) {
        const struct memtable_link *link = &search->links[search->level - 1];
        row = atomic_load_explicit(&link->row, memory_order_relaxed);
        uint64_t prefix = atomic_load_explicit(&link->prefix, memory_order_relaxed);
        if (row != NULL && row != search->bound && prefix <= search->prefix) {
            search->next = row;
            search->is_before = prefix < search->prefix;
            memtable_row_fetch(row);
            return;
        }
    }
}

static void step_all(struct memtable_warmup *warmup)
{
    for (uint64_t i = warmup->undone; i < warmup->newest; i++) {
        struct search *search = &warmup->searches[i % MEMTABLE_FORESEEN_MAX];
        if (search->level > 0) {
            step(search);
        }
    }
    while (warmup->undone < warmup->newest &&
           warmup->searches[warmup->undone % MEMTABLE_FORESEEN_MAX].level == 0) {
        warmup->undone++;
    }
}

/* NULL when there is none and need not be, or cannot. */
static struct memtable_warmup *warmup_of(struct memtable *memtable)
{
    if (memtable->warmup == NULL && memtable_row_count(memtable) >= ROW_COUNT_MIN) {
        memtable->warmup = memory_allocate_zeroed(1, sizeof *memtable->warmup);
    }
    return memtable->warmup;
}

/* Behind all rows there are: no search at all. */
static bool is_append(const struct memtable *memtable, struct bytes key)
{
    const struct memtable_row *row = memtable->row_finger.row;
    return row != NULL && atomic_load_explicit(&row->links[0].row, memory_order_relaxed) == NULL &&
           bytes_compare(key, memtable_row_key(row)) > 0;
}

void memtable_warmup_push(struct memtable *memtable, struct bytes key)
{
    struct memtable_warmup *warmup = warmup_of(memtable);
    if (warmup == NULL) {
        return;
    }
    struct search *search = &warmup->searches[warmup->newest % MEMTABLE_FORESEEN_MAX];
    if (warmup->newest - warmup->oldest == MEMTABLE_FORESEEN_MAX) {
        return;
    }
    search->links = memtable->heads;
    search->next = NULL;
    search->bound = NULL;
    search->prefix = memtable_key_prefix(memtable, key);
    search->level = is_append(memtable, key) || memtable_series_fetch(memtable, key)
                        ? 0
                        : atomic_load_explicit(&memtable->height, memory_order_relaxed);
    search->key_size = (uint32_t)(key.size_bytes < KEY_BYTES_MAX ? key.size_bytes : KEY_BYTES_MAX);
    memcpy(search->key, key.data, search->key_size);
    warmup->newest++;
    step_all(warmup);
}

void memtable_warmup_pop(struct memtable *memtable)
{
    struct memtable_warmup *warmup = memtable->warmup;
    if (warmup == NULL || warmup->oldest == warmup->newest) {
        return;
    }
    /* It is needed now.  Small batches have not taken all the steps yet: while others can go on at
     * the same time, going on costs less than the misses that are left. */
    const struct search *oldest = &warmup->searches[warmup->oldest % MEMTABLE_FORESEEN_MAX];
    for (int i = 0; i < STEPS_MAX && oldest->level > 0 && warmup->newest - warmup->undone > 1;
         i++) {
        step_all(warmup);
    }
    warmup->oldest++;
    warmup->undone = warmup->undone < warmup->oldest ? warmup->oldest : warmup->undone;
    step_all(warmup);
}

void memtable_warmup_deinit(struct memtable *memtable)
{
    memory_free(memtable->warmup);
    memtable->warmup = NULL;
}
