#include "master/core/catalog_state.h"

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

struct tablet *state_tablet_create(const struct tablet_record *record)
{
    struct bytes start = record->range.start;
    struct bytes end = record->range.end;
    struct tablet *tablet = memory_allocate(sizeof *tablet + start.size_bytes + end.size_bytes);

    if (tablet == NULL) {
        return NULL;
    }
    uint8_t *keys = (uint8_t *)(tablet + 1);
    *tablet = (struct tablet){.record = *record};
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

/* --- linking ---------------------------------------------------------------------------------- */

void state_touch(struct catalog *catalog, struct changed *changed, uint64_t version)
{
    changed->version = version;
    list_append(&catalog->changed, &changed->link, changed);
}

void state_link_table(struct catalog *catalog, struct table_entry *entry)
{
    const struct table_record *record = &entry->image->record;
    size_t index = state_name_index(catalog, record->table.id);

    ASSERT(catalog->table_count < catalog->table_capacity);
    memmove(catalog->by_name + index + 1, catalog->by_name + index,
            (catalog->table_count - index) * sizeof(struct table_entry *));
    catalog->by_name[index] = entry;
    catalog->table_count++;
    void *replaced = number_map_put(&catalog->tables, record->table.number, entry);
    ASSERT(replaced == NULL);
    state_touch(catalog, &entry->changed, record->changed_version);
}

/* Count the tablet in (or out) where its record says it is. */
static void count_tablet(struct catalog *catalog, struct tablet *tablet, bool in)
{
    const struct tablet_record *record = &tablet->record;
    struct table_entry *entry = number_map_get(&catalog->tables, record->table);
    struct server *server = state_server(catalog, record->server);
    struct store *store = number_map_get(&catalog->stores, record->store);
    size_t one = in ? 1 : SIZE_MAX; /* adding SIZE_MAX takes one away */

    ASSERT(server != NULL);
    ASSERT(store != NULL);
    entry->by_state[record->state] += one;
    server->tablet_count += one;
    store->tablet_count += in ? 1 : UINT32_MAX;
    server->unsettled_count += state_is_unsettled(record->state) ? one : 0;
    server->splitting_count += record->state == TABLET_SPLITTING ? one : 0;
    if (in) {
        list_append(&server->tablets, &tablet->on_server, tablet);
    } else {
        list_remove(&tablet->on_server);
    }
}

static void settle(struct catalog *catalog, struct tablet *tablet)
{
    if (state_is_unsettled(tablet->record.state)) {
        tablet->unsettled_ns = catalog->now_ns;
        list_append(&catalog->unsettled, &tablet->unsettled, tablet);
    } else {
        list_remove(&tablet->unsettled);
    }
}

void state_link_tablet(struct catalog *catalog, struct tablet *tablet)
{
    void *replaced = number_map_put(&catalog->tablets, tablet->record.number, tablet);
    ASSERT(replaced == NULL);
    count_tablet(catalog, tablet, true);
    settle(catalog, tablet);
    state_touch(catalog, &tablet->changed, tablet->record.changed_version);
}

void state_unlink_tablet(struct catalog *catalog, struct tablet *tablet)
{
    void *removed = number_map_remove(&catalog->tablets, tablet->record.number);
    ASSERT(removed == tablet);
    count_tablet(catalog, tablet, false);
    list_remove(&tablet->changed.link);
    list_remove(&tablet->unsettled);
    list_remove(&tablet->dirty);
    memory_free(tablet);
}

void state_entry_remove(struct table_entry *entry, const struct tablet *tablet)
{
    size_t index = state_tablet_index(entry, tablet->record.range.start);
    ASSERT(entry->tablets[index] == tablet);
    entry->tablet_count--;
    memmove(entry->tablets + index, entry->tablets + index + 1,
            (entry->tablet_count - index) * sizeof(struct tablet *));
}

void state_entry_insert(struct table_entry *entry, struct tablet *tablet)
{
    struct bytes start = tablet->record.range.start;
    size_t index = 0;

    ASSERT(entry->tablet_count < entry->tablet_capacity);
    if (entry->tablet_count > 0) {
        index = state_tablet_index(entry, start);
        index += bytes_compare(entry->tablets[index]->record.range.start, start) < 0;
    }
    memmove(entry->tablets + index + 1, entry->tablets + index,
            (entry->tablet_count - index) * sizeof(struct tablet *));
    entry->tablets[index] = tablet;
    entry->tablet_count++;
}

void state_update_tablet(struct catalog *catalog,
                         struct tablet *tablet,
                         const struct tablet_record *record)
{
    struct row_range range = tablet->record.range;
    bool moved = tablet->record.server != record->server || tablet->record.store != record->store;

    ASSERT(tablet->record.number == record->number);
    ASSERT(tablet->record.table == record->table);
    count_tablet(catalog, tablet, false);
    tablet->record = *record;
    tablet->record.range = range;
    if (moved && tablet->record.state == TABLET_CREATING) {
        tablet->holding = HOLDING_UNKNOWN; /* what the old server held is no longer meant */
    }
    count_tablet(catalog, tablet, true);
    settle(catalog, tablet);
    state_touch(catalog, &tablet->changed, record->changed_version);
}

struct gone *state_gone_create(enum changed_kind kind,
                               uint64_t number,
                               uint64_t table,
                               uint64_t version,
                               const struct number_range *ranges,
                               size_t range_count)
{
    struct gone *gone = memory_allocate(sizeof *gone + range_count * sizeof *ranges);
    if (gone == NULL) {
        return NULL;
    }
    *gone = (struct gone){.number = number, .table = table, .range_count = range_count};
    gone->changed.kind = kind;
    gone->changed.version = version;
    gone->changed.object = gone;
    if (range_count > 0) {
        memcpy(gone->ranges, ranges, range_count * sizeof *ranges);
    }
    return gone;
}

void state_add_gone(struct catalog *catalog, struct gone *gone)
{
    state_touch(catalog, &gone->changed, gone->changed.version);
    if (gone->changed.kind != CHANGED_TABLET_GONE) {
        return;
    }
    catalog->gone_tablet_count++;
    if (catalog->gone_tablet_count <= CATALOG_GONE_MAX) {
        return;
    }
    LIST_FOREACH(struct changed, changed, &catalog->changed) {
        if (changed->kind == CHANGED_TABLET_GONE) {
            /* whoever knows less than this would never hear of it */
            catalog->changed_floor = changed->version;
            catalog->gone_tablet_count--;
            list_remove(&changed->link);
            memory_free(changed->object);
            return;
        }
    }
}

void state_mark_dirty(struct catalog *catalog, struct tablet *tablet)
{
    if (!list_is_linked(&tablet->dirty)) {
        list_append(&catalog->dirty, &tablet->dirty, tablet);
    }
}
