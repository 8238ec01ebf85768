#include "client/core/location_cache.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

struct location_cache_table {
    uint64_t number;
    struct location_entry *entries;
    size_t count;
    size_t capacity;
};

#define ENTRIES_CAPACITY_FIRST 8

void location_cache_init(struct location_cache *cache)
{
    *cache = (struct location_cache){0};
}

static void entry_free(struct location_entry *entry)
{
    /* Start and end share one piece of memory, which begins with the start. */
    memory_free((void *)(uintptr_t)entry->range.start.data);
}

static void table_free(struct location_cache_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        entry_free(&table->entries[i]);
    }
    memory_free(table->entries);
}

void location_cache_deinit(struct location_cache *cache)
{
    for (size_t i = 0; i < cache->table_count; i++) {
        table_free(&cache->tables[i]);
    }
    for (uint32_t i = 0; i < cache->address_count; i++) {
        memory_free(cache->addresses[i]);
    }
    memory_free(cache->tables);
    memory_free(cache->addresses);
    *cache = (struct location_cache){0};
}

/* --- addresses -------------------------------------------------------------------------------- */

enum status location_cache_intern(struct location_cache *cache,
                                  struct bytes address,
                                  uint32_t *ret_address)
{
    for (uint32_t i = 0; i < cache->address_count; i++) {
        if (bytes_equal(bytes_of_text(cache->addresses[i]), address)) {
            *ret_address = i;
            return STATUS_OK;
        }
    }
    if (cache->address_count == cache->address_capacity) {
        uint32_t capacity = cache->address_capacity == 0 ? 8 : 2 * cache->address_capacity;
        char **addresses = memory_resize(cache->addresses, capacity * sizeof *addresses);
        if (addresses == NULL) {
            return STATUS_NO_MEMORY;
        }
        cache->addresses = addresses;
        cache->address_capacity = capacity;
    }
    char *text = memory_copy_text(address);
    if (text == NULL) {
        return STATUS_NO_MEMORY;
    }
    cache->addresses[cache->address_count] = text;
    *ret_address = cache->address_count++;
    return STATUS_OK;
}

const char *location_cache_address(const struct location_cache *cache, uint32_t address)
{
    ASSERT(address < cache->address_count);
    return cache->addresses[address];
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Where the table is, or would be. */
static size_t table_position(const struct location_cache *cache, uint64_t number)
{
    size_t low = 0;
    size_t high = cache->table_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cache->tables[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct location_cache_table *table_find(const struct location_cache *cache, uint64_t number)
{
    size_t at = table_position(cache, number);
    bool found = at < cache->table_count && cache->tables[at].number == number;
    return found ? &cache->tables[at] : NULL;
}

static struct location_cache_table *table_find_or_make(struct location_cache *cache,
                                                       uint64_t number)
{
    size_t at = table_position(cache, number);
    if (at < cache->table_count && cache->tables[at].number == number) {
        return &cache->tables[at];
    }
    if (cache->table_count == cache->table_capacity) {
        size_t capacity = cache->table_capacity == 0 ? 4 : 2 * cache->table_capacity;
        struct location_cache_table *tables = memory_resize(cache->tables,
                                                            capacity * sizeof *tables);
        if (tables == NULL) {
            return NULL;
        }
        cache->tables = tables;
        cache->table_capacity = capacity;
    }
    struct location_cache_table *place = &cache->tables[at];
    memmove(place + 1, place, (cache->table_count - at) * sizeof *place);
    *place = (struct location_cache_table){.number = number};
    cache->table_count++;
    return place;
}

void location_cache_forget_table(struct location_cache *cache, uint64_t number)
{
    struct location_cache_table *table = table_find(cache, number);
    if (table == NULL) {
        return;
    }
    table_free(table);
    size_t at = (size_t)(table - cache->tables);
    memmove(table, table + 1, (cache->table_count - at - 1) * sizeof *table);
    cache->table_count--;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* How many entries start at or before row. */
static size_t entries_up_to(const struct location_cache_table *table, struct bytes row)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(table->entries[middle].range.start, row) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct location_entry *entry_find(const struct location_cache *cache,
                                         uint64_t number,
                                         struct bytes row)
{
    const struct location_cache_table *table = table_find(cache, number);
    if (table == NULL) {
        return NULL;
    }
    size_t count = entries_up_to(table, row);
    if (count == 0 || !row_range_contains(&table->entries[count - 1].range, row)) {
        return NULL;
    }
    return &table->entries[count - 1];
}

const struct location_entry *location_cache_find(const struct location_cache *cache,
                                                 uint64_t table,
                                                 struct bytes row)
{
    const struct location_entry *entry = entry_find(cache, table, row);
    return entry != NULL && !entry->doubted ? entry : NULL;
}

const struct location_entry *location_cache_recall(const struct location_cache *cache,
                                                   uint64_t table,
                                                   struct bytes row)
{
    return entry_find(cache, table, row);
}

void location_cache_invalidate(struct location_cache *cache,
                               uint64_t table,
                               struct bytes row,
                               uint32_t address)
{
    struct location_entry *entry = entry_find(cache, table, row);
    if (entry != NULL && entry->address == address) {
        entry->doubted = true;
    }
}

/* The entries that overlap range: [*ret_first, return value). */
static size_t overlapping(const struct location_cache_table *table,
                          const struct row_range *range,
                          size_t *ret_first)
{
    size_t first = entries_up_to(table, range->start);
    if (first > 0 && row_range_contains(&table->entries[first - 1].range, range->start)) {
        first--;
    }
    size_t end = first;
    while (end < table->count && (range->end.size_bytes == 0 ||
                                  bytes_compare(table->entries[end].range.start, range->end) < 0)) {
        end++;
    }
    *ret_first = first;
    return end;
}

void location_cache_doubt(struct location_cache *cache,
                          uint64_t number,
                          const struct row_range *range)
{
    struct location_cache_table *table = table_find(cache, number);
    size_t at = 0;
    size_t end = table == NULL ? 0 : overlapping(table, range, &at);
    for (; at < end; at++) {
        table->entries[at].doubted = true;
    }
}

static bool may_replace(const struct location_entry *known,
                        const struct location *location,
                        bool from_master)
{
    return location->configuration >= known->configuration || (known->doubted && from_master);
}

static enum status range_copy(const struct row_range *range, struct row_range *ret_copy)
{
    size_t start_bytes = range->start.size_bytes;
    size_t end_bytes = range->end.size_bytes;
    uint8_t *memory = memory_allocate(start_bytes + end_bytes + 1);
    if (memory == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (start_bytes > 0) {
        memcpy(memory, range->start.data, start_bytes);
    }
    if (end_bytes > 0) {
        memcpy(memory + start_bytes, range->end.data, end_bytes);
    }
    *ret_copy = (struct row_range){{memory, start_bytes}, {memory + start_bytes, end_bytes}};
    return STATUS_OK;
}

/* Put entry in the place of entries [first, end). */
static enum status entries_replace(struct location_cache_table *table,
                                   size_t first,
                                   size_t end,
                                   const struct location_entry *entry)
{
    if (first == end && table->count == table->capacity) {
        size_t capacity = table->capacity == 0 ? ENTRIES_CAPACITY_FIRST : 2 * table->capacity;
        struct location_entry *entries = memory_resize(table->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return STATUS_NO_MEMORY;
        }
        table->entries = entries;
        table->capacity = capacity;
    }
    for (size_t i = first; i < end; i++) {
        entry_free(&table->entries[i]);
    }
    memmove(&table->entries[first + 1], &table->entries[end],
            (table->count - end) * sizeof *table->entries);
    table->entries[first] = *entry;
    table->count = table->count - (end - first) + 1;
    return STATUS_OK;
}

/* Without memory there is one fewer to ask. */
static void learn_others(struct location_cache *cache,
                         const struct location *location,
                         struct location_entry *entry)
{
    for (size_t i = 0; i < location->other_count && entry->other_count < LOCATION_OTHERS_MAX; i++) {
        uint32_t address = 0;
        if (location_cache_intern(cache, location->others[i], &address) == STATUS_OK) {
            entry->others[entry->other_count++] = address;
        }
    }
}

/* Who tells only the primary does not deny what is known of the same configuration. */
static void keep_others(const struct location_entry *known, struct location_entry *entry)
{
    if (entry->other_count == 0 && known->tablet == entry->tablet &&
        known->configuration == entry->configuration) {
        entry->other_count = known->other_count;
        memcpy(entry->others, known->others, sizeof entry->others);
    }
}

enum status location_cache_put(struct location_cache *cache,
                               const struct location *location,
                               bool from_master)
{
    struct location_entry entry = {
        .tablet = location->tablet,
        .configuration = location->configuration,
        .address = LOCATION_NOT_SERVED,
    };
    struct location_cache_table *table = table_find_or_make(cache, location->table);
    if (table == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t first = 0;
    size_t end = overlapping(table, &location->range, &first);
    for (size_t i = first; i < end; i++) {
        if (!may_replace(&table->entries[i], location, from_master)) {
            return STATUS_OK;
        }
    }
    if (location->server != 0 && location->address.size_bytes > 0) {
        enum status status = location_cache_intern(cache, location->address, &entry.address);
        if (status != STATUS_OK) {
            return status;
        }
    }
    learn_others(cache, location, &entry);
    for (size_t i = first; i < end; i++) {
        keep_others(&table->entries[i], &entry);
    }
    enum status status = range_copy(&location->range, &entry.range);
    if (status != STATUS_OK) {
        return status;
    }
    status = entries_replace(table, first, end, &entry);
    if (status != STATUS_OK) {
        entry_free(&entry);
    }
    return status;
}

void location_cache_check(const struct location_cache *cache)
{
    for (size_t t = 0; t < cache->table_count; t++) {
        const struct location_cache_table *table = &cache->tables[t];
        ASSERT(t == 0 || cache->tables[t - 1].number < table->number);
        for (size_t i = 1; i < table->count; i++) {
            const struct row_range *left = &table->entries[i - 1].range;
            ASSERT(left->end.size_bytes > 0);
            ASSERT(bytes_compare(left->end, table->entries[i].range.start) <= 0);
        }
    }
}
