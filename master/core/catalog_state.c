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

/* The goal's row is what the tablet owns. */
static void adopt_row(struct tablet *tablet, uint8_t *row)
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
    adopt_row(tablet, row);
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

/* Count the tablet's copies in (or out) where its configuration says they are. */
static void count_copies(struct catalog *catalog, struct tablet *tablet, bool in)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    size_t one = in ? 1 : SIZE_MAX; /* adding SIZE_MAX takes one away */

    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct server *server = state_server(catalog, configuration->members[i].server);
        struct store *store = number_map_get(&catalog->stores, configuration->members[i].store);
        ASSERT(server != NULL);
        ASSERT(store != NULL);
        server->tablet_count += one;
        store->tablet_count += in ? 1 : UINT32_MAX;
        if (in) {
            list_append(&server->tablets, &tablet->copies[i].on_server, tablet);
        } else {
            list_remove(&tablet->copies[i].on_server);
        }
    }
}

uint64_t state_wanted_leader(const struct tablet_record *record)
{
    return record->goal.leader != 0 ? record->goal.leader : tablet_record_leader(record).store;
}

/* The same for what is wished. */
static void count_goal(struct catalog *catalog, const struct tablet_record *record, bool in)
{
    uint32_t one = in ? 1 : UINT32_MAX;

    for (uint32_t i = 0; i < record->goal.store_count; i++) {
        struct store *store = number_map_get(&catalog->stores, record->goal.stores[i]);
        ASSERT(store != NULL);
        store->wanted_count += one;
    }
    struct store *lead = number_map_get(&catalog->stores, state_wanted_leader(record));
    lead->lead_count += one;
}

size_t state_children_to_come(const struct tablet_record *record)
{
    return record->state == TABLET_SPLITTING ? 1 : record->goal.wish == GOAL_SPLIT ? 2 : 0;
}

static void count_tablet(struct catalog *catalog, struct tablet *tablet, bool in)
{
    const struct tablet_record *record = &tablet->record;
    struct table_entry *entry = number_map_get(&catalog->tables, record->table);
    struct server *leader = state_server(catalog, tablet_record_leader(record).server);
    size_t one = in ? 1 : SIZE_MAX;

    count_copies(catalog, tablet, in);
    count_goal(catalog, record, in);
    entry->by_state[record->state] += one;
    leader->leading_count += one;
    leader->unsettled_count += state_is_unsettled(record->state) ? one : 0;
    leader->splitting_count += state_children_to_come(record) * one;
}

static void settle(struct catalog *catalog, struct tablet *tablet)
{
    if (state_is_unsettled(tablet->record.state)) {
        tablet->unsettled_ns = catalog->now_ns;
        list_append(&catalog->unsettled, &tablet->unsettled, tablet);
    } else {
        list_remove(&tablet->unsettled);
    }
    if (tablet_record_is_at_goal(&tablet->record)) {
        list_remove(&tablet->astray);
        tablet->hurried = false;
    } else if (!list_is_linked(&tablet->astray)) {
        list_append(&catalog->astray, &tablet->astray, tablet);
    }
}

void state_link_tablet(struct catalog *catalog, struct tablet *tablet)
{
    void *replaced = number_map_put(&catalog->tablets, tablet->record.number, tablet);
    ASSERT(replaced == NULL);
    tablet->members_ns = catalog->now_ns;
    tablet->led_ns = catalog->now_ns;
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
    list_remove(&tablet->astray);
    load_details_drop(&catalog->load_details, tablet->record.number);
    state_tablet_destroy(tablet);
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

/* What was said of members that stay is still so; of the others nothing is known yet. */
static void carry_copies(struct tablet *tablet, const struct tablet_record *record)
{
    const struct replica_configuration *before = &tablet->record.configuration;
    const struct replica_configuration *after = &record->configuration;
    struct copy copies[REPLICA_MEMBERS_MAX] = {0};

    for (uint32_t i = 0; i < after->member_count; i++) {
        uint32_t at = replica_configuration_find(before, after->members[i].store);
        /* one that is to be created elsewhere is not there, whatever the old server held */
        bool same = at < before->member_count &&
                    (before->members[at].server == after->members[i].server ||
                     record->state != TABLET_CREATING);
        if (same) {
            copies[i] = tablet->copies[at];
        }
        if (copies[i].holding == HOLDING_LEADING && before->version != after->version) {
            copies[i].holding = HOLDING_SERVING;
        }
    }
    memcpy(tablet->copies, copies, sizeof copies);
}

void state_update_tablet(struct catalog *catalog,
                         struct tablet *tablet,
                         const struct tablet_record *record,
                         uint8_t *row)
{
    const struct replica_configuration *before = &tablet->record.configuration;
    const struct replica_configuration *after = &record->configuration;
    struct row_range range = tablet->record.range;

    ASSERT(tablet->record.number == record->number);
    ASSERT(tablet->record.table == record->table);
    ASSERT(after->version >= before->version);
    ASSERT(IMPLIES(after->version == before->version, replica_configuration_equal(after, before)));
    count_tablet(catalog, tablet, false);
    carry_copies(tablet, record);
    if (!replica_configuration_same_members(before, after)) {
        tablet->members_ns = catalog->now_ns;
    }
    if (after->version > before->version) {
        tablet->led_ns = catalog->now_ns; /* whoever proposed it lives */
    }
    memory_free(tablet->row);
    tablet->record = *record;
    tablet->record.range = range;
    adopt_row(tablet, row);
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

void state_follow_store(struct catalog *catalog, struct tablet *tablet)
{
    struct replica_member leader = tablet_record_leader(&tablet->record);
    if (tablet->record.configuration.member_count == 1 &&
        state_owner(catalog, leader.store)->number != leader.server) {
        state_mark_dirty(catalog, tablet);
    }
}

/* --- wishes ----------------------------------------------------------------------------------- */

static bool are_to_merge(const struct tablet *left, const struct tablet *right)
{
    const struct tablet_goal *a = &left->record.goal;
    const struct tablet_goal *b = &right->record.goal;
    return a->wish == GOAL_MERGE && b->wish == GOAL_MERGE && a->left == b->left &&
           a->right == b->right && a->merged == b->merged &&
           left->record.table == right->record.table && left->record.range.end.size_bytes > 0 &&
           bytes_equal(left->record.range.end, right->record.range.start);
}

bool state_wish_is_sound(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    const struct tablet *left = number_map_get(&catalog->tablets, goal->left);
    const struct tablet *right = number_map_get(&catalog->tablets, goal->right);

    switch (goal->wish) {
    case GOAL_STAY:
        return true;
    case GOAL_SPLIT:
        return left == NULL && right == NULL;
    case GOAL_MERGE:
        return left != NULL && right != NULL && are_to_merge(left, right) &&
               number_map_get(&catalog->tablets, goal->merged) == NULL;
    }
    return false;
}

/* --- what became of a number ------------------------------------------------------------------ */

static bool was_in(const struct gone *gone, uint64_t tablet)
{
    for (size_t i = 0; i < gone->range_count; i++) {
        if (tablet >= gone->ranges[i].first &&
            tablet - gone->ranges[i].first < gone->ranges[i].count) {
            return true;
        }
    }
    return false;
}

/* Take in what the tablet says of where it came from. */
static void see_origin(const struct tablet_record *record,
                       uint64_t from,
                       struct tablet_heirs *heirs,
                       bool *ret_split)
{
    if (record->absorbed == from || (record->absorbed != 0 && record->parent == from)) {
        heirs->merged = record->number;
    } else if (record->parent == from && *ret_split) {
        heirs->right = record->number;
    } else if (record->parent == from) {
        heirs->left = record->number;
        *ret_split = true;
    }
}

/* The memory of what went is lost with the process, or given up; but tablets know what they came
 * from.  When only one child is left it is not known which one it was. */
static enum proposed_outcome find_heirs(const struct catalog *catalog,
                                        uint64_t tablet,
                                        struct tablet_heirs *ret_heirs)
{
    struct tablet_heirs heirs = {0};
    bool split = false;

    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count; j++) {
            see_origin(&entry->tablets[j]->record, tablet, &heirs, &split);
        }
    }
    if (heirs.right == 0) {
        heirs.left = 0;
    }
    *ret_heirs = heirs;
    if (heirs.merged != 0) {
        return PROPOSED_MERGED;
    }
    return split ? PROPOSED_SPLIT : PROPOSED_UNKNOWN;
}

enum proposed_outcome state_fate(const struct catalog *catalog,
                                 uint64_t tablet,
                                 struct tablet_heirs *ret_heirs)
{
    *ret_heirs = (struct tablet_heirs){0};
    if (number_map_get(&catalog->tablets, tablet) != NULL) {
        return PROPOSED_CONFIGURATION;
    }
    LIST_FOREACH(const struct changed, changed, &catalog->changed) {
        const struct gone *gone = changed->object;
        if (changed->kind == CHANGED_TABLE_GONE && was_in(gone, tablet)) {
            return PROPOSED_DROPPED;
        }
        if (changed->kind == CHANGED_TABLET_GONE && gone->number == tablet) {
            *ret_heirs = gone->heirs;
            return gone->heirs.merged != 0 ? PROPOSED_MERGED : PROPOSED_SPLIT;
        }
    }
    return find_heirs(catalog, tablet, ret_heirs);
}
