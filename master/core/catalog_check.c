#include "common/base/assert.h"
#include "master/core/catalog_state.h"
#include "master/core/transaction.h"

/* The invariants at the head of catalog.h, by number; and that every count and index agrees. */

static void check_tablet(const struct catalog *catalog,
                         const struct table_entry *entry,
                         const struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    const struct server *server = state_server(catalog, record->server);
    const struct store *store = number_map_get(&catalog->stores, record->store);

    ASSERT(record->table == entry->image->record.table.number);
    ASSERT(record->number < catalog->counters.tablet_next); /* (2) */
    ASSERT(number_map_get(&catalog->tablets, record->number) == tablet);
    ASSERT(record->configuration > 0);
    ASSERT(record->soft_limit_bytes > 0);
    ASSERT(server != NULL); /* (3) */
    ASSERT(server->image != NULL);
    ASSERT(store != NULL);
    ASSERT(store->owner != NULL);
    ASSERT(server_record_lists(&store->owner->image->record, store->number));
    ASSERT(IMPLIES(store->owner != server,
                   list_is_linked(&tablet->dirty) || catalog->pending != NULL));
    ASSERT(list_is_linked(&tablet->on_server));
    ASSERT(list_is_linked(&tablet->changed.link));
    ASSERT(list_is_linked(&tablet->unsettled) == state_is_unsettled(record->state));
    ASSERT(IMPLIES(record->state == TABLET_SPLITTING, record->parent != 0));
    ASSERT(IMPLIES(record->parent != 0, number_map_get(&catalog->tablets, record->parent) == NULL));
}

static void check_table(const struct catalog *catalog, const struct table_entry *entry)
{
    size_t by_state[TABLET_SPLITTING + 1] = {0};
    struct bytes end = BYTES_EMPTY;

    ASSERT(entry->image->record.table.number < catalog->counters.table_next); /* (2) */
    ASSERT(number_map_get(&catalog->tables, entry->image->record.table.number) == entry);
    ASSERT(entry->tablet_count > 0);
    for (size_t i = 0; i < entry->tablet_count; i++) { /* (1) */
        const struct tablet *tablet = entry->tablets[i];
        const struct row_range *range = &tablet->record.range;
        bool last = i + 1 == entry->tablet_count;
        ASSERT(bytes_equal(range->start, end));
        ASSERT(last == (range->end.size_bytes == 0));
        ASSERT(last || bytes_compare(range->start, range->end) < 0);
        end = range->end;
        by_state[tablet->record.state]++;
        check_tablet(catalog, entry, tablet);
    }
    for (size_t state = 0; state <= TABLET_SPLITTING; state++) {
        ASSERT(entry->by_state[state] == by_state[state]);
    }
}

static size_t check_server(const struct server *server)
{
    size_t count = 0;
    size_t unsettled = 0;
    size_t splitting = 0;

    LIST_FOREACH(const struct tablet, tablet, &server->tablets) {
        ASSERT(tablet->record.server == server->number);
        count++;
        unsettled += state_is_unsettled(tablet->record.state);
        splitting += tablet->record.state == TABLET_SPLITTING;
    }
    ASSERT(server->tablet_count == count);
    ASSERT(server->unsettled_count == unsettled);
    ASSERT(server->splitting_count == splitting);
    ASSERT(IMPLIES(server->tablet_count > 0, server->image != NULL));
    return count;
}

static void check_changed(const struct catalog *catalog)
{
    uint64_t version = 0;
    LIST_FOREACH(const struct changed, changed, &catalog->changed) {
        ASSERT(changed->version >= version);
        ASSERT(changed->version <= catalog->counters.version); /* (4): nothing pending is there */
        version = changed->version;
    }
}

static void check_documents(const struct catalog *catalog)
{
    document_map_check(&catalog->documents);
    for (size_t i = 0; i < catalog->documents.count; i++) {
        const struct document_record *record = &catalog->documents.entries[i]->record;
        ASSERT(record->number > 0);
        ASSERT(record->number <= record->changed_version);
        ASSERT(record->changed_version <= catalog->counters.version); /* (4) */
        ASSERT(record->content.size_bytes > 0);
    }
}

static void check_requests(const struct catalog *catalog)
{
    size_t count = catalog->pending != NULL && catalog->pending->request != NULL;
    LIST_FOREACH(const struct open_request, queued, &catalog->queue) {
        ASSERT(queued->waiting_for == WAITING_TURN);
        count++;
    }
    LIST_FOREACH(const struct open_request, waiter, &catalog->waiters) {
        ASSERT(waiter->waiting_for > WAITING_COMMIT);
        count++;
    }
    ASSERT(catalog->request_count == count);
    /* (5) whoever waits for a turn waits for a transaction */
    ASSERT(IMPLIES(!list_is_empty(&catalog->queue), catalog->pending != NULL));
}

void catalog_check(const struct catalog *catalog)
{
    size_t tablets = 0;
    size_t on_servers = 0;

    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        ASSERT(i == 0 || bytes_compare(catalog->by_name[i - 1]->image->record.table.id,
                                       entry->image->record.table.id) < 0);
        check_table(catalog, entry);
        tablets += entry->tablet_count;
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        ASSERT(i == 0 || catalog->servers[i - 1]->number < catalog->servers[i]->number);
        on_servers += check_server(catalog->servers[i]);
    }
    ASSERT(catalog->tablets.count == tablets);
    ASSERT(catalog->tables.count == catalog->table_count);
    ASSERT(on_servers == tablets);
    check_changed(catalog);
    check_documents(catalog);
    check_requests(catalog);
    load_history_check(&catalog->load);
}
