#include "master/core/state/document_map.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

static struct bytes name_of(const struct document_entry *entry)
{
    return entry->record.name;
}

static uint64_t size_of(const struct document_entry *entry)
{
    return document_size_bytes(entry->record.name, entry->record.content);
}

struct document_entry *document_entry_create(const struct document_record *record)
{
    struct bytes name = record->name;
    struct bytes content = record->content;
    struct document_entry *entry = memory_allocate(sizeof *entry + name.size_bytes +
                                                   content.size_bytes);

    if (entry == NULL) {
        return NULL;
    }
    uint8_t *copy = (uint8_t *)(entry + 1);
    entry->record = *record;
    if (name.size_bytes > 0) {
        memcpy(copy, name.data, name.size_bytes);
    }
    if (content.size_bytes > 0) {
        memcpy(copy + name.size_bytes, content.data, content.size_bytes);
    }
    entry->record.name = bytes_of(copy, name.size_bytes);
    entry->record.content = bytes_of(copy + name.size_bytes, content.size_bytes);
    return entry;
}

void document_entry_destroy(struct document_entry *entry)
{
    memory_free(entry);
}

void document_map_init(struct document_map *map)
{
    *map = (struct document_map){0};
}

void document_map_deinit(struct document_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        document_entry_destroy(map->entries[i]);
    }
    memory_free(map->entries);
    document_map_init(map);
}

enum status document_map_reserve(struct document_map *map, size_t count)
{
    if (map->capacity - map->count >= count) {
        return STATUS_OK;
    }
    size_t capacity = map->capacity * 2 + 16 + count;
    struct document_entry **grown = memory_resize(map->entries,
                                                  capacity * sizeof(struct document_entry *));
    if (grown == NULL) {
        return STATUS_NO_MEMORY;
    }
    map->entries = grown;
    map->capacity = capacity;
    return STATUS_OK;
}

size_t document_map_index(const struct document_map *map, struct bytes name)
{
    size_t low = 0;
    size_t high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(name_of(map->entries[middle]), name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct document_map *map, size_t index, struct bytes name)
{
    return index < map->count && bytes_equal(name_of(map->entries[index]), name);
}

struct document_entry *document_map_get(const struct document_map *map, struct bytes name)
{
    size_t index = document_map_index(map, name);
    return is_at(map, index, name) ? map->entries[index] : NULL;
}

void document_map_put(struct document_map *map, struct document_entry *entry)
{
    size_t index = document_map_index(map, name_of(entry));

    map->size_bytes += size_of(entry);
    if (is_at(map, index, name_of(entry))) {
        map->size_bytes -= size_of(map->entries[index]);
        document_entry_destroy(map->entries[index]);
        map->entries[index] = entry;
        return;
    }
    ASSERT(map->count < map->capacity);
    memmove(map->entries + index + 1, map->entries + index,
            (map->count - index) * sizeof(struct document_entry *));
    map->entries[index] = entry;
    map->count++;
}

void document_map_remove(struct document_map *map, struct bytes name)
{
    size_t index = document_map_index(map, name);

    ASSERT(is_at(map, index, name));
    map->size_bytes -= size_of(map->entries[index]);
    document_entry_destroy(map->entries[index]);
    map->count--;
    memmove(map->entries + index, map->entries + index + 1,
            (map->count - index) * sizeof(struct document_entry *));
}

void document_map_append(struct document_map *map, struct document_entry *entry)
{
    ASSERT(map->count < map->capacity);
    map->entries[map->count++] = entry;
    map->size_bytes += size_of(entry);
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(name_of(*(struct document_entry *const *)a),
                         name_of(*(struct document_entry *const *)b));
}

bool document_map_sort(struct document_map *map)
{
    if (map->count == 0) {
        return true;
    }
    qsort(map->entries, map->count, sizeof(struct document_entry *), compare_names);
    for (size_t i = 1; i < map->count; i++) {
        if (bytes_equal(name_of(map->entries[i - 1]), name_of(map->entries[i]))) {
            return false;
        }
    }
    return true;
}

void document_map_check(const struct document_map *map)
{
    uint64_t size_bytes = 0;

    ASSERT(map->count <= map->capacity);
    for (size_t i = 0; i < map->count; i++) {
        size_bytes += size_of(map->entries[i]);
        ASSERT(i == 0 || compare_names(&map->entries[i - 1], &map->entries[i]) < 0);
    }
    ASSERT(map->size_bytes == size_bytes);
}
