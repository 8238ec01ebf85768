#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/* While loading, tablets wait in catalog->dirty until servers and tables are known. */

static enum status no_memory(struct error *ret_error)
{
    return error_set(ret_error, STATUS_NO_MEMORY, "no memory to load the catalog");
}

/* --- one record ------------------------------------------------------------------------------- */

static enum status load_identity(struct catalog *catalog,
                                 struct bytes value,
                                 struct error *ret_error)
{
    enum status status = identity_record_decode(value, &catalog->identity, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (catalog->identity.format > CATALOG_FORMAT) {
        return error_set(ret_error, STATUS_VERSION,
                         "the catalog has format %u; this version reads up to %d: use a newer "
                         "edubba-master",
                         catalog->identity.format, CATALOG_FORMAT);
    }
    catalog->has_identity = true;
    return STATUS_OK;
}

static enum status load_server(struct catalog *catalog,
                               uint64_t number,
                               struct bytes value,
                               struct error *ret_error)
{
    struct server_record record;
    struct server *server = NULL;
    enum status status = server_record_decode(number, value, &catalog->scratch, &record, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    server = state_server_make(catalog, number);
    if (server == NULL) {
        return no_memory(ret_error);
    }
    server->image = state_server_image_create(&record);
    if (server->image == NULL) {
        return no_memory(ret_error);
    }
    server->replicates = record.replicates;
    for (size_t i = 0; i < record.store_count; i++) {
        struct store *store = state_store_make(catalog, record.stores[i].number);
        if (store == NULL) {
            return no_memory(ret_error);
        }
        /* Two servers name it if the master ended between their transactions: the later has it. */
        if (store->owner == NULL ||
            store->owner->image->record.changed_version < record.changed_version) {
            store->owner = server;
        }
    }
    return STATUS_OK;
}

static enum status load_table(struct catalog *catalog,
                              uint64_t number,
                              struct bytes value,
                              struct error *ret_error)
{
    struct table_record record;
    enum status status = table_record_decode(number, value, &catalog->scratch, &record, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    if (state_table_by_name(catalog, record.table.id) != NULL) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog names two tables '%.*s'",
                         (int)record.table.id.size_bytes, (const char *)record.table.id.data);
    }
    struct table_image *image = state_table_image_create(&record.table, record.changed_version);
    struct table_entry *entry = image == NULL ? NULL : state_entry_create(image);
    if (entry == NULL || state_names_reserve(catalog) != STATUS_OK ||
        number_map_reserve(&catalog->tables, 1) != STATUS_OK) {
        if (entry == NULL) {
            state_table_image_destroy(image);
        }
        state_entry_destroy(entry);
        return no_memory(ret_error);
    }
    state_link_table(catalog, entry);
    return STATUS_OK;
}

static enum status load_tablet(struct catalog *catalog,
                               uint64_t number,
                               struct bytes value,
                               struct error *ret_error)
{
    struct tablet_record record;
    enum status status = tablet_record_decode(number, value, &record, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    struct tablet *tablet = state_tablet_create(&record);
    if (tablet == NULL) {
        return no_memory(ret_error);
    }
    list_append(&catalog->dirty, &tablet->dirty, tablet);
    return STATUS_OK;
}

/* Of a table that had very many tablets there are several: each is told as the table, which is as good as once. */
static enum status load_dropped(struct catalog *catalog,
                                char kind,
                                uint64_t number,
                                struct bytes value,
                                struct error *ret_error)
{
    struct dropped_record record;
    enum status status = (kind == RECORD_KIND_DROPPED ? dropped_record_decode
                                                      : dropped_more_record_decode)(
        number, value, &catalog->scratch, &record, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    struct gone *gone = state_gone_create(CHANGED_TABLE_GONE, record.number, record.number,
                                          record.changed_version, record.tablets,
                                          record.tablet_range_count);
    if (gone == NULL) {
        return no_memory(ret_error);
    }
    list_append(&catalog->dropped, &gone->beside, gone);
    state_add_gone(catalog, gone);
    return STATUS_OK;
}

static enum status load_document(struct catalog *catalog,
                                 uint64_t number,
                                 struct bytes value,
                                 struct error *ret_error)
{
    struct document_record record;
    enum status status = document_record_decode(number, value, &record, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    struct document_entry *entry = document_entry_create(&record);
    if (entry == NULL || document_map_reserve(&catalog->documents, 1) != STATUS_OK) {
        document_entry_destroy(entry);
        return no_memory(ret_error);
    }
    document_map_append(&catalog->documents, entry);
    return STATUS_OK;
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum status tablet_trouble(const struct tablet_record *record,
                                  const char *what,
                                  struct error *ret_error)
{
    return error_set(ret_error, STATUS_CORRUPT, "tablet %llu of table %llu %s",
                     (unsigned long long)record->number, (unsigned long long)record->table, what);
}

/* Are all servers and stores known that its configuration and its goal name? */
static bool is_placed(const struct catalog *catalog, const struct tablet_record *record)
{
    for (uint32_t i = 0; i < record->configuration.member_count; i++) {
        struct replica_member member = record->configuration.members[i];
        const struct server *server = state_server(catalog, member.server);
        if (server == NULL || server->image == NULL || state_owner(catalog, member.store) == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < record->goal.store_count; i++) {
        if (state_owner(catalog, record->goal.stores[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool numbers_were_given(const struct catalog *catalog, const struct tablet_record *record)
{
    uint64_t next = catalog->counters.tablet_next;
    const struct tablet_goal *goal = &record->goal;
    return record->number < next && goal->left < next && goal->right < next && goal->merged < next;
}

static enum status link_loaded_tablet(struct catalog *catalog,
                                      struct tablet *tablet,
                                      struct error *ret_error)
{
    const struct tablet_record *record = &tablet->record;
    struct table_entry *entry = number_map_get(&catalog->tables, record->table);
    if (entry == NULL) {
        return tablet_trouble(record, "has no table", ret_error);
    }
    if (!is_placed(catalog, record)) {
        return tablet_trouble(record, "is on a server or store that is not known", ret_error);
    }
    if (!numbers_were_given(catalog, record)) {
        return tablet_trouble(record, "has a number that was never given out", ret_error);
    }
    if (number_map_reserve(&catalog->tablets, 1) != STATUS_OK ||
        number_map_reserve(&catalog->origins, 2) != STATUS_OK ||
        state_entry_reserve(entry, 1) != STATUS_OK) {
        return no_memory(ret_error);
    }
    list_remove(&tablet->dirty);
    entry->tablets[entry->tablet_count++] = tablet;
    state_link_tablet(catalog, tablet);
    state_note_origin(catalog, tablet);
    state_follow_store(catalog, tablet);
    return STATUS_OK;
}

static enum status link_loaded_tablets(struct catalog *catalog, struct error *ret_error)
{
    struct list loaded;

    list_init(&loaded);
    LIST_FOREACH(struct tablet, waiting, &catalog->dirty) {
        list_append(&loaded, &waiting->dirty, waiting);
    }
    LIST_FOREACH(struct tablet, tablet, &loaded) {
        enum status status = link_loaded_tablet(catalog, tablet, ret_error);
        if (status != STATUS_OK) {
            LIST_FOREACH(struct tablet, left, &loaded) {
                list_append(&catalog->dirty, &left->dirty, left);
            }
            return status;
        }
    }
    return STATUS_OK;
}

static int compare_tablets(const void *a, const void *b)
{
    const struct tablet *left = *(struct tablet *const *)a;
    const struct tablet *right = *(struct tablet *const *)b;
    int order = bytes_compare(left->record.range.start, right->record.range.start);
    if (order != 0) {
        return order;
    }
    return (left->record.number > right->record.number) -
           (left->record.number < right->record.number);
}

/* A parent is gone when its children come. */
static enum status check_parents(const struct catalog *catalog,
                                 const struct table_entry *entry,
                                 struct error *ret_error)
{
    for (size_t i = 0; i < entry->tablet_count; i++) {
        const struct tablet_record *record = &entry->tablets[i]->record;
        if (number_map_get(&catalog->tablets, record->parent) != NULL ||
            number_map_get(&catalog->tablets, record->absorbed) != NULL) {
            return tablet_trouble(record, "is there together with its parent", ret_error);
        }
    }
    return STATUS_OK;
}

/* Invariant (8) for what came from the coordinator. */
static enum status check_wishes(const struct catalog *catalog,
                                const struct table_entry *entry,
                                struct error *ret_error)
{
    for (size_t i = 0; i < entry->tablet_count; i++) {
        if (!state_wish_is_sound(catalog, entry->tablets[i])) {
            return tablet_trouble(&entry->tablets[i]->record,
                                  "is wished to be split or merged in a way that cannot be",
                                  ret_error);
        }
    }
    return STATUS_OK;
}

/* Invariant (1) for what came from the coordinator: here it is an error, not an assertion. */
static enum status order_tablets(struct table_entry *entry, struct error *ret_error)
{
    struct bytes end = BYTES_EMPTY;

    if (entry->tablet_count == 0) {
        return error_set(ret_error, STATUS_CORRUPT, "table %llu has no tablet",
                         (unsigned long long)entry->image->record.table.number);
    }
    qsort(entry->tablets, entry->tablet_count, sizeof(struct tablet *), compare_tablets);
    for (size_t i = 0; i < entry->tablet_count; i++) {
        const struct tablet_record *record = &entry->tablets[i]->record;
        if (!bytes_equal(record->range.start, end) || (i > 0 && end.size_bytes == 0)) {
            return tablet_trouble(record, "does not begin where the one before it ends", ret_error);
        }
        end = record->range.end;
    }
    if (end.size_bytes != 0) {
        return tablet_trouble(&entry->tablets[entry->tablet_count - 1]->record,
                              "is the last, but ends before the end of the table", ret_error);
    }
    return STATUS_OK;
}

static int compare_changed(const void *a, const void *b)
{
    const struct changed *left = *(struct changed *const *)a;
    const struct changed *right = *(struct changed *const *)b;
    return (left->version > right->version) - (left->version < right->version);
}

static enum status order_changed(struct catalog *catalog, struct error *ret_error)
{
    size_t count = 0;
    size_t used = 0;

    LIST_FOREACH(struct changed, counted, &catalog->changed) {
        count += counted->version <= catalog->counters.version;
        used++;
    }
    if (count != used) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "the catalog holds records of a version above its counter");
    }
    struct changed **all = memory_allocate((count + 1) * sizeof(struct changed *));
    if (all == NULL) {
        return no_memory(ret_error);
    }
    used = 0;
    LIST_FOREACH(struct changed, changed, &catalog->changed) {
        all[used++] = changed;
    }
    qsort(all, count, sizeof(struct changed *), compare_changed);
    for (size_t i = 0; i < count; i++) {
        list_append(&catalog->changed, &all[i]->link, all[i]);
    }
    memory_free(all);
    return STATUS_OK;
}

static enum status order_documents(struct catalog *catalog, struct error *ret_error)
{
    for (size_t i = 0; i < catalog->documents.count; i++) {
        if (catalog->documents.entries[i]->record.changed_version > catalog->counters.version) {
            return error_set(ret_error, STATUS_CORRUPT,
                             "the catalog holds a document of a version above its counter");
        }
    }
    if (!document_map_sort(&catalog->documents)) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog holds two documents of one name");
    }
    return STATUS_OK;
}

/* Who decided them is gone, and would have taken them back when they take too long. */
static void adopt_merges(struct catalog *catalog)
{
    LIST_FOREACH(const struct tablet, tablet, &catalog->astray) {
        const struct tablet_goal *goal = &tablet->record.goal;
        if (goal->wish == GOAL_MERGE && !goal->by_hand && goal->left == tablet->record.number) {
            load_order_adopt_merge(catalog, tablet);
        }
    }
}

enum status catalog_load(struct catalog *catalog,
                         struct bytes key,
                         struct bytes value,
                         struct error *ret_error)
{
    char kind = '\0';
    uint64_t number = 0;
    enum status status = record_key_decode(key, &kind, &number, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    arena_reset(&catalog->scratch);
    switch (kind) {
    case RECORD_KIND_IDENTITY:
        return load_identity(catalog, value, ret_error);
    case RECORD_KIND_COUNTERS:
        status = counters_record_decode(value, &catalog->counters, ret_error);
        catalog->has_counters = status == STATUS_OK;
        return status;
    case RECORD_KIND_SERVER:
        return load_server(catalog, number, value, ret_error);
    case RECORD_KIND_TABLE:
        return load_table(catalog, number, value, ret_error);
    case RECORD_KIND_TABLET:
        return load_tablet(catalog, number, value, ret_error);
    case RECORD_KIND_DROPPED:
    case RECORD_KIND_DROPPED_MORE:
        return load_dropped(catalog, kind, number, value, ret_error);
    case RECORD_KIND_DOCUMENT:
        return load_document(catalog, number, value, ret_error);
    default:
        UNREACHABLE();
    }
}

enum status catalog_load_end(struct catalog *catalog, int64_t now_ns, struct error *ret_error)
{
    enum status status = STATUS_OK;

    if (!catalog->has_identity || !catalog->has_counters) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog has no %s record",
                         catalog->has_identity ? "counters" : "identity");
    }
    catalog->now_ns = now_ns;
    LIST_FOREACH(struct store, store, &catalog->all_stores) {
        store->heard_ns = now_ns; /* every server has its time to come */
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        catalog->servers[i]->heard_ns = now_ns;
    }
    status = link_loaded_tablets(catalog, ret_error);
    for (size_t i = 0; i < catalog->table_count && status == STATUS_OK; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        if (entry->image->record.table.number >= catalog->counters.table_next) {
            status = error_set(ret_error, STATUS_CORRUPT, "table %llu has a number not given out",
                               (unsigned long long)entry->image->record.table.number);
        } else {
            status = order_tablets(catalog->by_name[i], ret_error);
        }
        if (status == STATUS_OK) {
            status = check_parents(catalog, entry, ret_error);
        }
        if (status == STATUS_OK) {
            status = check_wishes(catalog, entry, ret_error);
        }
    }
    if (status == STATUS_OK) {
        status = order_changed(catalog, ret_error);
    }
    if (status == STATUS_OK) {
        status = order_documents(catalog, ret_error);
    }
    if (status == STATUS_OK) {
        adopt_merges(catalog);
    }
    catalog->changed_floor = catalog->counters.version;
    return status;
}
