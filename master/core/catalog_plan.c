#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_state.h"
#include "master/core/placement.h"
#include "master/core/transaction.h"

#define PLAN_RETRY_NS INT64_C(1000000000)
#define PLAN_LOOK_NS  INT64_C(250000000) /* how often placements that take long are looked at */

/* --- servers ---------------------------------------------------------------------------------- */

/* Is it the server's own?  What it says that it has is, and what nobody has while it is its owner. */
static bool is_its_own(const struct server *server, const struct store *store)
{
    return store->seen_on == server || (store->seen_on == NULL && store->owner == server);
}

/* What it says now, and stores that nobody names any more but that still have tablets: those stay
 * its own, shown as failed, until a server comes with the disk. */
enum status plan_server_record(struct catalog *catalog,
                               const struct server *server,
                               struct server_record *ret_record)
{
    const struct server_record *image = server->image == NULL ? NULL : &server->image->record;
    const struct server_record *seen = server->seen == NULL ? image : &server->seen->record;
    size_t image_count = image == NULL ? 0 : image->store_count;
    size_t count = 0;

    ASSERT(seen != NULL);
    struct store_record *stores = arena_allocate_array(
        &catalog->scratch, seen->store_count + image_count + 1, sizeof *stores);
    if (stores == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < seen->store_count; i++) {
        if (is_its_own(server, number_map_get(&catalog->stores, seen->stores[i].number))) {
            stores[count++] = seen->stores[i];
        }
    }
    for (size_t i = 0; i < image_count && server->seen != NULL; i++) {
        const struct store *store = number_map_get(&catalog->stores, image->stores[i].number);
        if (is_its_own(server, store) && store->tablet_count > 0 &&
            !server_record_lists(seen, store->number) && count < RECORD_STORES_MAX) {
            stores[count++] = image->stores[i];
        }
    }
    *ret_record = *seen;
    ret_record->stores = stores;
    ret_record->store_count = count;
    return STATUS_OK;
}

/* A store comes to a server with the server's record, even if that reads as it did before. */
static bool owns_all(const struct catalog *catalog,
                     const struct server *server,
                     const struct server_record *record)
{
    for (size_t i = 0; i < record->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, record->stores[i].number);
        if (store->owner != server) {
            return false;
        }
    }
    return true;
}

bool plan_server_differs(const struct server_record *a, const struct server_record *b)
{
    if (a->incarnation != b->incarnation || !bytes_equal(a->address, b->address) ||
        !bytes_equal(a->http_address, b->http_address) || !bytes_equal(a->zone, b->zone) ||
        a->store_count != b->store_count) {
        return true;
    }
    for (size_t i = 0; i < a->store_count; i++) {
        if (a->stores[i].number != b->stores[i].number ||
            !bytes_equal(a->stores[i].folder, b->stores[i].folder)) {
            return true;
        }
    }
    return false;
}

static void plan_servers(struct catalog *catalog, struct transaction *transaction)
{
    if (!catalog->servers_dirty) {
        return;
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        struct server *server = catalog->servers[i];
        struct server_record record;
        if (!server->dirty) {
            continue;
        }
        if (plan_server_record(catalog, server, &record) != STATUS_OK) {
            transaction->failed = true;
            return;
        }
        server->dirty = false;
        if (server->image == NULL || plan_server_differs(&record, &server->image->record) ||
            !owns_all(catalog, server, &record)) {
            transaction_put_server(transaction, &record);
        }
    }
    catalog->servers_dirty = false;
}

/* --- tablets ---------------------------------------------------------------------------------- */

static void note_state(struct catalog *catalog, const struct tablet_record *record, uint32_t state)
{
    static const char *const events[] = {
        [TABLET_CREATING] = "tablet_creating",
        [TABLET_SERVING] = "tablet_serving",
        [TABLET_UNAVAILABLE] = "tablet_unavailable",
        [TABLET_SPLITTING] = "tablet_splitting",
    };
    if (record->state != state) {
        emit_note(catalog,
                  &(struct catalog_note){.event = events[state],
                                         .warning = state == TABLET_UNAVAILABLE,
                                         .table = record->table,
                                         .tablet = record->number,
                                         .server = record->server,
                                         .store = record->store},
                  "%s", "");
    }
}

static void plan_tablets(struct catalog *catalog, struct transaction *transaction)
{
    LIST_FOREACH(struct tablet, tablet, &catalog->dirty) {
        const struct store *store = number_map_get(&catalog->stores, tablet->record.store);
        struct tablet_record record = tablet->record;
        if (transaction->change_count >= CATALOG_CHANGES_MAX || transaction->failed) {
            return;
        }
        list_remove(&tablet->dirty);
        record.state = report_desired_state(tablet);
        if (store->owner->number != record.server) { /* the disk is in another machine now */
            record.server = store->owner->number;
            record.configuration++;
        }
        if (record.state != tablet->record.state || record.server != tablet->record.server) {
            note_state(catalog, &tablet->record, record.state);
            transaction_update_tablet(transaction, &record);
        }
    }
}

/* --- placing ---------------------------------------------------------------------------------- */

static uint32_t tablets_of_table_on(const struct table_entry *entry, uint64_t store)
{
    uint32_t count = 0;
    for (size_t i = 0; entry != NULL && i < entry->tablet_count; i++) {
        count += entry->tablets[i]->record.store == store;
    }
    return count;
}

/* Every store of every living server, in order of number. */
static struct placement_store *candidates(struct catalog *catalog,
                                          uint64_t table,
                                          size_t *ret_count)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, table);
    size_t count = 0;

    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        count += server->image == NULL ? 0 : server->image->record.store_count;
    }
    struct placement_store *stores = arena_allocate_array(&catalog->scratch, count + 1,
                                                          sizeof *stores);
    *ret_count = 0;
    for (size_t i = 0; i < catalog->server_count && stores != NULL; i++) {
        const struct server *server = catalog->servers[i];
        if (server->image == NULL || !server->alive) {
            continue;
        }
        const struct server_record *record = &server->image->record;
        for (size_t j = 0; j < record->store_count; j++) {
            const struct store *store = number_map_get(&catalog->stores, record->stores[j].number);
            stores[(*ret_count)++] = (struct placement_store){
                .server = server->number,
                .store = store->number,
                .zone = record->zone,
                .usable = store->owner == server && store->seen_on == server &&
                          store->condition == 0,
                .free_bytes = store->free_bytes,
                .tablet_count = store->tablet_count,
                .table_tablets = tablets_of_table_on(entry, store->number),
            };
        }
    }
    return stores;
}

static enum status no_place(const struct catalog *catalog, size_t count, struct error *ret_error)
{
    size_t alive = 0;
    for (size_t i = 0; i < catalog->server_count; i++) {
        alive += catalog->servers[i]->alive;
    }
    if (alive == 0) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "no tablet server is alive (%zu known): start one, then try again",
                         catalog->server_count);
    }
    return error_set(ret_error, STATUS_UNAVAILABLE,
                     "none of the %zu stores of %zu living tablet servers is healthy and has space",
                     count, alive);
}

enum status plan_place(struct catalog *catalog,
                       uint64_t table,
                       uint64_t avoid_server,
                       size_t count,
                       struct store **ret_stores,
                       struct error *ret_error)
{
    size_t store_count = 0;
    struct placement_store *stores = candidates(catalog, table, &store_count);

    if (stores == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to place tablets");
    }
    for (size_t i = 0; i < count; i++) {
        size_t index = 0;
        if (!placement_choose(stores, store_count, avoid_server, &index)) {
            return no_place(catalog, store_count, ret_error);
        }
        ret_stores[i] = number_map_get(&catalog->stores, stores[index].store);
    }
    return STATUS_OK;
}

/* Has the server had its chance to create it? */
static bool waits_too_long(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct server *server = state_server(catalog, tablet->record.server);
    return !server->alive || tablet->holding == HOLDING_FAILED ||
           catalog->now_ns - tablet->unsettled_ns >= catalog->settings.place_timeout_ns;
}

/* A tablet that no server ever reported was never served: nobody can have written to it. */
static void plan_place_again(struct catalog *catalog, struct transaction *transaction)
{
    LIST_FOREACH(struct tablet, tablet, &catalog->unsettled) {
        struct store *store = NULL;
        struct tablet_record record = tablet->record;
        bool candidate = record.state == TABLET_CREATING && tablet->holding != HOLDING_CREATED &&
                         tablet->holding != HOLDING_SERVING && !list_is_linked(&tablet->dirty) &&
                         waits_too_long(catalog, tablet);
        if (transaction->change_count >= CATALOG_CHANGES_MAX || transaction->failed) {
            return;
        }
        if (!candidate ||
            plan_place(catalog, record.table, record.server, 1, &store, NULL) != STATUS_OK) {
            continue;
        }
        tablet->unsettled_ns = catalog->now_ns;
        if (store->number == record.store) {
            continue; /* there is no better place */
        }
        record.server = store->owner->number;
        record.store = store->number;
        record.configuration++;
        transaction_update_tablet(transaction, &record);
        emit_note(catalog,
                  &(struct catalog_note){.event = "tablet_placed_again",
                                         .warning = true,
                                         .table = record.table,
                                         .tablet = record.number,
                                         .server = record.server,
                                         .store = record.store},
                  "server %llu did not create it", (unsigned long long)tablet->record.server);
    }
}

/* --- splits ----------------------------------------------------------------------------------- */

static void forget_wish(struct catalog *catalog, size_t index)
{
    memory_free(catalog->wishes[index].row);
    catalog->wish_count--;
    memmove(&catalog->wishes[index], &catalog->wishes[index + 1],
            (catalog->wish_count - index) * sizeof catalog->wishes[0]);
}

void plan_wish_split(struct catalog *catalog, const struct tablet *tablet, struct bytes row)
{
    for (size_t i = 0; i < catalog->wish_count; i++) {
        if (catalog->wishes[i].tablet == tablet->record.number) {
            return;
        }
    }
    if (catalog->wish_count == CATALOG_WISHES_MAX) {
        return; /* it will be reported again */
    }
    uint8_t *copy = memory_allocate(row.size_bytes);
    if (copy != NULL) {
        memcpy(copy, row.data, row.size_bytes);
        catalog->wishes[catalog->wish_count++] = (struct split_wish){tablet->record.number, copy,
                                                                     row.size_bytes};
    }
}

void plan_stage_split(struct transaction *transaction,
                      const struct tablet *tablet,
                      struct bytes row,
                      bool by_hand,
                      const struct catalog_settings *settings,
                      uint64_t ret_children[2])
{
    uint64_t soft_limit = tablet->record.soft_limit_bytes;
    struct tablet_record left = tablet->record;

    if (!by_hand && soft_limit < settings->soft_limit_max_bytes) {
        soft_limit = soft_limit > settings->soft_limit_max_bytes / 2
                         ? settings->soft_limit_max_bytes
                         : soft_limit * 2;
    }
    left.number = transaction_next_tablet(transaction);
    left.configuration++;
    left.state = TABLET_SPLITTING;
    left.parent = tablet->record.number;
    left.soft_limit_bytes = soft_limit;
    left.range.end = row;
    struct tablet_record right = left;
    right.number = transaction_next_tablet(transaction);
    right.flags = by_hand ? TABLET_FLAG_START_BY_HAND : 0;
    right.range = (struct row_range){row, tablet->record.range.end};
    ret_children[0] = left.number;
    ret_children[1] = right.number;
    transaction_remove_tablet(transaction, tablet, ret_children);
    transaction_add_tablet(transaction, &left);
    transaction_add_tablet(transaction, &right);
}

static bool is_inside(const struct row_range *range, struct bytes row)
{
    return bytes_compare(range->start, row) < 0 &&
           (range->end.size_bytes == 0 || bytes_compare(row, range->end) < 0);
}

/* Two children a split; those staged before in this transaction count too. */
static bool may_split_on(const struct catalog *catalog,
                         const struct transaction *transaction,
                         const struct server *server)
{
    size_t children = server->splitting_count;
    for (size_t i = 0; i < transaction->change_count; i++) {
        const struct staged *change = &transaction->changes[i];
        children += change->kind == STAGED_ADD_TABLET && change->tablet != NULL &&
                    change->tablet->record.server == server->number;
    }
    return children / 2 < catalog->settings.splits_per_server &&
           catalog->tablets.count < catalog->settings.tablets_max;
}

static void plan_splits(struct catalog *catalog, struct transaction *transaction)
{
    size_t index = 0;
    while (index < catalog->wish_count && !transaction->failed &&
           transaction->change_count + 3 <= CATALOG_CHANGES_MAX) {
        const struct split_wish *wish = &catalog->wishes[index];
        struct bytes row = {wish->row, wish->row_bytes};
        const struct tablet *tablet = number_map_get(&catalog->tablets, wish->tablet);
        uint64_t children[2];
        if (tablet == NULL || tablet->record.state != TABLET_SERVING ||
            list_is_linked(&tablet->dirty) || !is_inside(&tablet->record.range, row)) {
            forget_wish(catalog, index);
            continue;
        }
        if (!may_split_on(catalog, transaction, state_server(catalog, tablet->record.server))) {
            index++;
            continue;
        }
        plan_stage_split(transaction, tablet, row, false, &catalog->settings, children);
        emit_note(catalog,
                  &(struct catalog_note){.event = "tablet_split",
                                         .table = tablet->record.table,
                                         .tablet = tablet->record.number,
                                         .server = tablet->record.server,
                                         .store = tablet->record.store},
                  "into %llu and %llu at %llu bytes", (unsigned long long)children[0],
                  (unsigned long long)children[1], (unsigned long long)tablet->size_bytes);
        forget_wish(catalog, index);
    }
}

/* --- the planner's transaction ---------------------------------------------------------------- */

bool plan_begin(struct catalog *catalog)
{
    if (catalog->now_ns < catalog->plan_not_before_ns ||
        (!catalog->servers_dirty && list_is_empty(&catalog->dirty) &&
         list_is_empty(&catalog->unsettled) && catalog->wish_count == 0)) {
        return false;
    }
    struct transaction *transaction = transaction_begin(catalog, NULL);
    if (transaction == NULL) {
        catalog->plan_not_before_ns = catalog->now_ns + PLAN_RETRY_NS;
        return false;
    }
    plan_servers(catalog, transaction);
    plan_tablets(catalog, transaction);
    plan_place_again(catalog, transaction);
    plan_splits(catalog, transaction);
    if (transaction->change_count == 0 && !transaction->failed) {
        transaction_destroy(transaction);
        return false;
    }
    if (transaction_seal(catalog, transaction) != STATUS_OK) {
        plan_failed(catalog, transaction);
        transaction_destroy(transaction);
        return false;
    }
    return true;
}

void plan_failed(struct catalog *catalog, const struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->change_count; i++) {
        const struct staged *change = &transaction->changes[i];
        struct tablet *tablet = number_map_get(&catalog->tablets, change->number);
        struct server *server = state_server(catalog, change->number);
        if (change->kind == STAGED_UPDATE_TABLET && tablet != NULL) {
            state_mark_dirty(catalog, tablet);
        } else if (change->kind == STAGED_PUT_SERVER && server != NULL) {
            server->dirty = true;
            catalog->servers_dirty = true;
        }
    }
    catalog->plan_not_before_ns = catalog->now_ns + PLAN_RETRY_NS;
}

int64_t plan_deadline_ns(const struct catalog *catalog)
{
    bool work = catalog->servers_dirty || !list_is_empty(&catalog->dirty) ||
                catalog->wish_count > 0;
    int64_t deadline_ns = CATALOG_NEVER;

    if (catalog->pending != NULL) {
        return CATALOG_NEVER; /* its end is an event of its own */
    }
    if (work && catalog->now_ns < catalog->plan_not_before_ns) {
        deadline_ns = catalog->plan_not_before_ns;
    }
    if (!list_is_empty(&catalog->unsettled) && catalog->now_ns + PLAN_LOOK_NS < deadline_ns) {
        deadline_ns = catalog->now_ns + PLAN_LOOK_NS;
    }
    return deadline_ns;
}
