/* What is durable becomes what the catalog knows, which cannot fail: room for it was made when it was sealed.  What could not
 * be made durable is abandoned. */
#include <string.h>

#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/transaction.h"

static void apply_add_tablet(struct catalog *catalog, struct staged *change)
{
    struct table_entry *entry = number_map_get(&catalog->tables, change->tablet->record.table);
    ASSERT(entry != NULL);
    state_entry_insert(entry, change->tablet);
    state_link_tablet(catalog, change->tablet);
    state_note_origin(catalog, change->tablet);
    state_follow_store(catalog, change->tablet);
    change->tablet = NULL;
}

static void apply_update_tablet(struct catalog *catalog, struct staged *change)
{
    struct tablet *tablet = number_map_get(&catalog->tablets, change->number);
    state_update_tablet(catalog, tablet, &change->record, change->row);
    change->row = NULL;
    /* Servers come before tablets in a transaction: the store may have found another owner in the
     * very one that brings the tablet to the owner before. */
    state_follow_store(catalog, tablet);
}

static void apply_remove_tablet(struct catalog *catalog, struct staged *change)
{
    struct tablet *tablet = number_map_get(&catalog->tablets, change->number);
    struct table_entry *entry = number_map_get(&catalog->tables, tablet->record.table);
    state_entry_remove(entry, tablet);
    state_forget_origin(catalog, tablet);
    state_unlink_tablet(catalog, tablet);
    (void)number_map_put(&catalog->gone_tablets, change->gone->number, change->gone);
    state_add_gone(catalog, change->gone);
    change->gone = NULL;
}

static void apply_update_table(struct catalog *catalog, struct staged *change)
{
    struct table_entry *entry = number_map_get(&catalog->tables, change->number);
    state_table_image_destroy(entry->image);
    entry->image = change->table;
    entry->recount = true;
    state_touch(catalog, &entry->changed, entry->image->record.changed_version);
    change->table = NULL;
}

static void apply_remove_table(struct catalog *catalog, struct staged *change)
{
    struct table_entry *entry = number_map_get(&catalog->tables, change->number);
    size_t index = state_name_index(catalog, entry->image->record.table.id);

    for (size_t i = 0; i < entry->tablet_count; i++) {
        state_forget_origin(catalog, entry->tablets[i]);
        state_unlink_tablet(catalog, entry->tablets[i]);
    }
    ASSERT(catalog->by_name[index] == entry);
    catalog->table_count--;
    memmove(catalog->by_name + index, catalog->by_name + index + 1,
            (catalog->table_count - index) * sizeof(struct table_entry *));
    (void)number_map_remove(&catalog->tables, change->number);
    list_remove(&entry->changed.link);
    state_entry_destroy(entry);
    list_append(&catalog->dropped, &change->gone->beside, change->gone);
    state_add_gone(catalog, change->gone);
    change->gone = NULL;
}

/* Its tablets are where they were, but at another address: everybody must hear of it. */
static void touch_tablets_of(struct catalog *catalog, struct server *server)
{
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        state_touch(catalog, &tablet->changed, server->image->record.changed_version);
    }
}

/* Stores that the server names no more are free, but for those with tablets: what another server's
 * record in this very transaction says of them is not known yet. */
static void release_stores(struct catalog *catalog, struct server *server)
{
    for (size_t i = 0; server->image != NULL && i < server->image->record.store_count; i++) {
        struct store *store = number_map_get(&catalog->stores,
                                             server->image->record.stores[i].number);
        if (store->owner == server && !state_store_is_needed(store)) {
            store->owner = NULL;
        }
    }
}

/* A store belongs to whoever described it last, durably; its tablets follow it. */
static void apply_put_server(struct catalog *catalog, struct staged *change)
{
    struct server *server = state_server(catalog, change->number);
    const struct server_record *record = &change->server->record;

    release_stores(catalog, server);
    for (size_t i = 0; i < record->store_count; i++) {
        struct store *store = number_map_get(&catalog->stores, record->stores[i].number);
        ASSERT(store != NULL);
        if (store->owner == server) {
            continue;
        }
        if (store->owner != NULL) {
            LIST_FOREACH(struct tablet, tablet, &store->owner->tablets) {
                bool lost = tablet->record.configuration.member_count == 1 &&
                            tablet_record_leader(&tablet->record).store == store->number;
                if (lost) {
                    state_mark_dirty(catalog, tablet);
                }
            }
            store->owner->dirty = true; /* it names a store that is no longer its own */
            catalog->servers_dirty = true;
        }
        store->owner = server;
    }
    bool moved = server->image == NULL ||
                 !bytes_equal(server->image->record.address, record->address);
    state_server_image_destroy(server->image);
    server->image = change->server;
    change->server = NULL;
    if (moved) {
        touch_tablets_of(catalog, server);
    }
}

static void apply_change(struct catalog *catalog, struct staged *change)
{
    switch (change->kind) {
    case STAGED_ADD_TABLET:
        apply_add_tablet(catalog, change);
        break;
    case STAGED_UPDATE_TABLET:
        apply_update_tablet(catalog, change);
        break;
    case STAGED_REMOVE_TABLET:
        apply_remove_tablet(catalog, change);
        break;
    case STAGED_ADD_TABLE:
        state_link_table(catalog, change->entry);
        change->entry = NULL;
        break;
    case STAGED_UPDATE_TABLE:
        apply_update_table(catalog, change);
        break;
    case STAGED_REMOVE_TABLE:
        apply_remove_table(catalog, change);
        break;
    case STAGED_PUT_SERVER:
        apply_put_server(catalog, change);
        break;
    case STAGED_PUT_DOCUMENT:
        document_map_put(&catalog->documents, change->document);
        change->document = NULL;
        break;
    case STAGED_REMOVE_DOCUMENT:
        document_map_remove(&catalog->documents, change->document_name);
        break;
    }
}

void transaction_apply(struct catalog *catalog)
{
    struct transaction *transaction = catalog->pending;

    ASSERT(transaction != NULL);
    ASSERT(transaction->counters.version > catalog->counters.version);
    for (size_t i = 0; i < transaction->change_count; i++) {
        if (transaction->changes[i].kind == STAGED_ADD_TABLET) {
            hot_inherit(catalog, &transaction->changes[i].tablet->record);
        }
    }
    for (size_t i = 0; i < transaction->change_count; i++) {
        apply_change(catalog, &transaction->changes[i]);
    }
    catalog->counters = transaction->counters;
    catalog->pending = NULL;
    transaction_destroy(transaction);
}

void transaction_abandon(struct catalog *catalog)
{
    struct transaction *transaction = catalog->pending;

    ASSERT(transaction != NULL);
    /* Nobody has seen its numbers, but never giving one twice is worth more than a gap. */
    catalog->counters.table_next = transaction->counters.table_next;
    catalog->counters.tablet_next = transaction->counters.tablet_next;
    catalog->pending = NULL;
    transaction_destroy(transaction);
}
