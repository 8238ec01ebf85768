#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

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
        if (is_its_own(server, store) && state_store_is_needed(store) &&
            !server_record_lists(seen, store->number) && count < RECORD_STORES_MAX) {
            stores[count++] = image->stores[i];
        }
    }
    *ret_record = *seen;
    ret_record->draining = image != NULL && image->draining;
    ret_record->replicates = server->replicates;
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
    if (a->incarnation != b->incarnation || a->replicates != b->replicates ||
        !bytes_equal(a->address, b->address) || !bytes_equal(a->http_address, b->http_address) ||
        !bytes_equal(a->zone, b->zone) || a->store_count != b->store_count) {
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
        if (server->image == NULL || plan_server_differs(&record, &server->image->record) ||
            !owns_all(catalog, server, &record)) {
            transaction_put_server(transaction, &record);
        }
        if (transaction->failed) {
            return; /* this one was not staged: it is still to be done */
        }
        server->dirty = false;
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
                                         .server = tablet_record_leader(record).server,
                                         .store = tablet_record_leader(record).store},
                  "%s", "");
    }
}

static void plan_tablets(struct catalog *catalog, struct transaction *transaction)
{
    LIST_FOREACH(struct tablet, tablet, &catalog->dirty) {
        struct tablet_record record = tablet->record;
        struct replica_configuration *configuration = &record.configuration;
        const struct server *owner = state_owner(catalog, tablet_record_leader(&record).store);
        if (transaction->change_count >= CATALOG_CHANGES_MAX || transaction->failed) {
            return;
        }
        list_remove(&tablet->dirty);
        record.state = report_desired_state(tablet);
        if (configuration->member_count == 1 && owner->number != configuration->members[0].server) {
            configuration->members[0]
                .server = owner->number; /* its disk is in another machine now */
            configuration->version++;
        }
        if (record.state != tablet->record.state ||
            configuration->version != tablet->record.configuration.version) {
            note_state(catalog, &tablet->record, record.state);
            transaction_update_tablet(transaction, tablet, &record);
        }
        if (transaction->failed) {
            state_mark_dirty(catalog, tablet); /* it was not staged: it is still to be done */
            return;
        }
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

/* The two that come of it; the numbers, the configuration and the state are the caller's. */
void plan_children(const struct tablet_record *parent,
                   struct bytes row,
                   bool by_hand,
                   const struct catalog_settings *settings,
                   struct tablet_record ret_children[2])
{
    uint64_t soft_limit = parent->soft_limit_bytes;
    struct tablet_record child = *parent;

    if (!by_hand && soft_limit < settings->soft_limit_max_bytes) {
        soft_limit = soft_limit > settings->soft_limit_max_bytes / 2
                         ? settings->soft_limit_max_bytes
                         : soft_limit * 2;
    }
    child.configuration.version++;
    child.parent = parent->number;
    child.absorbed = 0;
    child.soft_limit_bytes = soft_limit;
    tablet_goal_wish_nothing(&child.goal);
    ret_children[0] = child;
    ret_children[0].range.end = row;
    ret_children[1] = child;
    ret_children[1].range.start = row;
    ret_children[1].flags = by_hand ? TABLET_FLAG_START_BY_HAND : 0;
}

/* A server that proposes is asked to; for one that does not the master splits by itself. */
void plan_stage_split(struct catalog *catalog,
                      struct transaction *transaction,
                      struct tablet *tablet,
                      struct bytes row,
                      bool by_hand,
                      uint64_t ret_children[2])
{
    struct tablet_record children[2];
    struct tablet_heirs heirs = {.left = transaction_next_tablet(transaction)};

    heirs.right = transaction_next_tablet(transaction);
    tablet->ahead = false;
    ret_children[0] = heirs.left;
    ret_children[1] = heirs.right;
    if (state_leads_by_proposal(catalog, tablet)) {
        struct tablet_record record = tablet->record;
        tablet_goal_wish_split(&record.goal, row, heirs.left, heirs.right, by_hand);
        transaction_update_tablet(transaction, tablet, &record);
        return;
    }
    plan_children(&tablet->record, row, by_hand, &catalog->settings, children);
    children[0].number = heirs.left;
    children[0].state = TABLET_SPLITTING;
    children[1].number = heirs.right;
    children[1].state = TABLET_SPLITTING;
    transaction_remove_tablet(transaction, tablet, &heirs);
    transaction_add_tablet(transaction, &children[0]);
    transaction_add_tablet(transaction, &children[1]);
}

bool plan_may_split(const struct catalog *catalog, const struct tablet *tablet)
{
    return tablet->record.state == TABLET_SERVING && tablet->record.goal.wish == GOAL_STAY &&
           (tablet->record.configuration.member_count == 1 ||
            state_leads_by_proposal(catalog, tablet));
}

/* Two children a split; those staged before in this transaction count too. */
bool plan_may_split_on(const struct catalog *catalog,
                       const struct transaction *transaction,
                       const struct server *server)
{
    size_t children = server->splitting_count;
    for (size_t i = 0; i < transaction->change_count; i++) {
        const struct staged *change = &transaction->changes[i];
        const struct tablet_record *record = change->kind == STAGED_ADD_TABLET
                                                 ? &change->tablet->record
                                                 : &change->record;
        bool counts = change->kind == STAGED_ADD_TABLET || change->kind == STAGED_UPDATE_TABLET;
        if (counts && tablet_record_leader(record).server == server->number) {
            children += state_children_to_come(record);
        }
    }
    return children / 2 < catalog->settings.splits_per_server &&
           catalog->tablets.count < catalog->settings.tablets_max;
}

/* There may be no more tablets for long, or ever: once for each that waits. */
static void say_why_it_waits(struct catalog *catalog, struct tablet *tablet)
{
    if (!tablet->limited && catalog->tablets.count >= catalog->settings.tablets_max) {
        tablet->limited = true;
        balance_note_limit(catalog, tablet);
    }
}

static void plan_splits(struct catalog *catalog, struct transaction *transaction)
{
    size_t index = 0;
    while (index < catalog->wish_count && !transaction->failed &&
           transaction->change_count + 3 <= CATALOG_CHANGES_MAX) {
        const struct split_wish *wish = &catalog->wishes[index];
        struct bytes row = {wish->row, wish->row_bytes};
        struct tablet *tablet = number_map_get(&catalog->tablets, wish->tablet);
        uint64_t children[2];
        if (tablet == NULL || !plan_may_split(catalog, tablet) || list_is_linked(&tablet->dirty) ||
            transaction_has(transaction, tablet) ||
            !tablet_record_may_split_at(&tablet->record, row)) {
            forget_wish(catalog, index);
            continue;
        }
        struct replica_member leader = tablet_record_leader(&tablet->record);
        if (!plan_may_split_on(catalog, transaction, state_server(catalog, leader.server))) {
            say_why_it_waits(catalog, tablet);
            index++;
            continue;
        }
        plan_stage_split(catalog, transaction, tablet, row, false, children);
        emit_note(catalog,
                  &(struct catalog_note){.event = "tablet_split",
                                         .table = tablet->record.table,
                                         .tablet = tablet->record.number,
                                         .server = leader.server,
                                         .store = leader.store},
                  "into %llu and %llu at %llu bytes", (unsigned long long)children[0],
                  (unsigned long long)children[1], (unsigned long long)tablet->size_bytes);
        balance_note_size(catalog, tablet, row);
        forget_wish(catalog, index);
    }
}

/* --- the planner's transaction ---------------------------------------------------------------- */

bool plan_begin(struct catalog *catalog)
{
    if (catalog->now_ns < catalog->plan_not_before_ns) {
        return false;
    }
    balance_decide(catalog);
    bool work = catalog->servers_dirty || !list_is_empty(&catalog->dirty) ||
                !list_is_empty(&catalog->unsettled) || catalog->wish_count > 0 ||
                load_order_deadline_ns(catalog) <= catalog->now_ns ||
                goal_deadline_ns(catalog) <= catalog->now_ns;
    if (!work) {
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
    goal_plan(catalog, transaction);
    load_order_plan(catalog, transaction);
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
    int64_t goal_ns = goal_deadline_ns(catalog);
    goal_ns = goal_ns < catalog->plan_not_before_ns ? catalog->plan_not_before_ns : goal_ns;
    deadline_ns = goal_ns < deadline_ns ? goal_ns : deadline_ns;
    int64_t balance_ns = balance_deadline_ns(catalog);
    deadline_ns = balance_ns < deadline_ns ? balance_ns : deadline_ns;
    return deadline_ns;
}
