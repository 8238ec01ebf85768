#include "master/core/state/catalog_state.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define IMAGE_BLOCK_BYTES 1024

/* --- finding ---------------------------------------------------------------------------------- */

size_t state_name_index(const struct catalog *catalog, struct bytes name)
{
    size_t low = 0;
    size_t high = catalog->table_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(catalog->by_name[middle]->image->record.table.id, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct table_entry *state_table_by_name(const struct catalog *catalog, struct bytes name)
{
    size_t index = state_name_index(catalog, name);
    if (index == catalog->table_count) {
        return NULL;
    }
    struct table_entry *entry = catalog->by_name[index];
    return bytes_equal(entry->image->record.table.id, name) ? entry : NULL;
}

/* Where the server is, or would be. */
static size_t server_index(const struct catalog *catalog, uint64_t number)
{
    size_t low = 0;
    size_t high = catalog->server_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (catalog->servers[middle]->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct server *state_server(const struct catalog *catalog, uint64_t number)
{
    size_t index = server_index(catalog, number);
    bool found = index < catalog->server_count && catalog->servers[index]->number == number;
    return found ? catalog->servers[index] : NULL;
}

bool state_may_live(const struct catalog *catalog, const struct server *server)
{
    return server->alive ||
           (server->seen == NULL && server->image != NULL &&
            catalog->now_ns - server->heard_ns < catalog->settings.server_timeout_ns);
}

/* The last tablet whose start is at or before row. */
size_t state_tablet_index(const struct table_entry *entry, struct bytes row)
{
    size_t low = 0;
    size_t high = entry->tablet_count;
    ASSERT(high > 0);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(entry->tablets[middle]->record.range.start, row) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* --- making ----------------------------------------------------------------------------------- */

struct server *state_server_make(struct catalog *catalog, uint64_t number)
{
    size_t index = server_index(catalog, number);
    struct server *server = state_server(catalog, number);

    if (server != NULL) {
        return server;
    }
    if (catalog->server_count == catalog->server_capacity) {
        size_t capacity = catalog->server_capacity * 2 + 8;
        struct server **grown = memory_resize(catalog->servers, capacity * sizeof(struct server *));
        if (grown == NULL) {
            return NULL;
        }
        catalog->servers = grown;
        catalog->server_capacity = capacity;
    }
    server = memory_allocate_zeroed(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    server->number = number;
    list_init(&server->tablets);
    memmove(catalog->servers + index + 1, catalog->servers + index,
            (catalog->server_count - index) * sizeof(struct server *));
    catalog->servers[index] = server;
    catalog->server_count++;
    return server;
}

struct store *state_store_make(struct catalog *catalog, uint64_t number)
{
    struct store *store = number_map_get(&catalog->stores, number);

    if (store != NULL) {
        return store;
    }
    if (number_map_reserve(&catalog->stores, 1) != STATUS_OK) {
        return NULL;
    }
    store = memory_allocate_zeroed(1, sizeof *store);
    if (store != NULL) {
        store->number = number;
        (void)number_map_put(&catalog->stores, number, store);
        list_append(&catalog->all_stores, &store->link, store);
    }
    return store;
}

struct server *state_owner(const struct catalog *catalog, uint64_t store)
{
    const struct store *found = number_map_get(&catalog->stores, store);
    return found == NULL ? NULL : found->owner;
}

struct copy *state_copy_on(struct tablet *tablet, uint64_t server)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        if (configuration->members[i].server == server) {
            return &tablet->copies[i];
        }
    }
    return NULL;
}

bool state_copy_row(const struct tablet_goal *goal, uint8_t **ret_row)
{
    uint8_t *row = NULL;
    if (goal->wish == GOAL_SPLIT) {
        row = memory_allocate(goal->row.size_bytes);
        if (row == NULL) {
            return false;
        }
        memcpy(row, goal->row.data, goal->row.size_bytes);
    }
    *ret_row = row;
    return true;
}

void state_tablet_adopt_row(struct tablet *tablet, uint8_t *row)
{
    struct tablet_goal *goal = &tablet->record.goal;
    ASSERT((goal->wish == GOAL_SPLIT) == (row != NULL));
    tablet->row = row;
    goal->row = row == NULL ? BYTES_EMPTY : bytes_of(row, goal->row.size_bytes);
}

void state_tablet_destroy(struct tablet *tablet)
{
    if (tablet != NULL) {
        memory_free(tablet->row);
        memory_free(tablet);
    }
}

struct tablet *state_tablet_create(const struct tablet_record *record)
{
    struct bytes start = record->range.start;
    struct bytes end = record->range.end;
    uint8_t *row = NULL;
    struct tablet *tablet = memory_allocate(sizeof *tablet + start.size_bytes + end.size_bytes);

    if (tablet == NULL || !state_copy_row(&record->goal, &row)) {
        memory_free(tablet);
        return NULL;
    }
    uint8_t *keys = (uint8_t *)(tablet + 1);
    *tablet = (struct tablet){.record = *record};
    state_tablet_adopt_row(tablet, row);
    if (start.size_bytes > 0) {
        memcpy(keys, start.data, start.size_bytes);
    }
    if (end.size_bytes > 0) {
        memcpy(keys + start.size_bytes, end.data, end.size_bytes);
    }
    tablet->record.range.start = bytes_of(keys, start.size_bytes);
    tablet->record.range.end = bytes_of(keys + start.size_bytes, end.size_bytes);
    tablet->changed.kind = CHANGED_TABLET;
    tablet->changed.object = tablet;
    return tablet;
}

struct table_image *state_table_image_create(const struct table *table, uint64_t changed_version)
{
    struct table_image *image = memory_allocate_zeroed(1, sizeof *image);
    if (image == NULL) {
        return NULL;
    }
    arena_init(&image->arena, IMAGE_BLOCK_BYTES, SIZE_MAX);
    image->record.changed_version = changed_version;
    if (table_copy(&image->arena, table, &image->record.table) != STATUS_OK) {
        state_table_image_destroy(image);
        return NULL;
    }
    return image;
}

void state_table_image_destroy(struct table_image *image)
{
    if (image != NULL) {
        arena_deinit(&image->arena);
        memory_free(image);
    }
}

static bool copy_bytes(struct arena *arena, struct bytes *bytes)
{
    *bytes = arena_copy(arena, *bytes);
    return bytes->data != NULL;
}

static bool copy_server(struct arena *arena,
                        const struct server_record *from,
                        struct server_record *to)
{
    *to = *from;
    struct store_record *stores = arena_allocate_array(arena, from->store_count + 1,
                                                       sizeof *stores);
    if (stores == NULL || !copy_bytes(arena, &to->address) ||
        !copy_bytes(arena, &to->http_address) || !copy_bytes(arena, &to->zone)) {
        return false;
    }
    for (size_t i = 0; i < from->store_count; i++) {
        stores[i] = from->stores[i];
        if (!copy_bytes(arena, &stores[i].folder)) {
            return false;
        }
    }
    to->stores = stores;
    return true;
}

struct server_image *state_server_image_create(const struct server_record *record)
{
    struct server_image *image = memory_allocate_zeroed(1, sizeof *image);
    if (image == NULL) {
        return NULL;
    }
    arena_init(&image->arena, IMAGE_BLOCK_BYTES, SIZE_MAX);
    if (!copy_server(&image->arena, record, &image->record)) {
        state_server_image_destroy(image);
        return NULL;
    }
    return image;
}

void state_server_image_destroy(struct server_image *image)
{
    if (image != NULL) {
        arena_deinit(&image->arena);
        memory_free(image);
    }
}

struct table_entry *state_entry_create(struct table_image *image)
{
    struct table_entry *entry = memory_allocate_zeroed(1, sizeof *entry);
    if (entry != NULL) {
        entry->image = image;
        entry->recount = true;
        entry->changed.kind = CHANGED_TABLE;
        entry->changed.object = entry;
    }
    return entry;
}

void state_entry_destroy(struct table_entry *entry)
{
    if (entry != NULL) {
        state_table_image_destroy(entry->image);
        memory_free(entry->tablets);
        memory_free(entry);
    }
}

enum status state_entry_reserve(struct table_entry *entry, size_t count)
{
    size_t wanted = entry->tablet_count + count;
    if (wanted <= entry->tablet_capacity) {
        return STATUS_OK;
    }
    wanted += wanted / 2;
    struct tablet **grown = memory_resize(entry->tablets, wanted * sizeof(struct tablet *));
    if (grown == NULL) {
        return STATUS_NO_MEMORY;
    }
    entry->tablets = grown;
    entry->tablet_capacity = wanted;
    return STATUS_OK;
}

enum status state_names_reserve(struct catalog *catalog)
{
    if (catalog->table_count < catalog->table_capacity) {
        return STATUS_OK;
    }
    size_t capacity = catalog->table_capacity * 2 + 16;
    struct table_entry **grown = memory_resize(catalog->by_name,
                                               capacity * sizeof(struct table_entry *));
    if (grown == NULL) {
        return STATUS_NO_MEMORY;
    }
    catalog->by_name = grown;
    catalog->table_capacity = capacity;
    return STATUS_OK;
}
