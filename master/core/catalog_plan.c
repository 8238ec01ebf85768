#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/catalog_state.h"
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
    }
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Can a copy be put there now? */
static bool is_usable(const struct server *server, const struct store *store)
{
    return store->owner == server && store->seen_on == server && store->condition == 0 &&
           !server->image->record.draining;
}

size_t plan_candidate(const struct catalog *catalog,
                      const struct placement_store *stores,
                      size_t count,
                      uint64_t store)
{
    const struct store *found = number_map_get(&catalog->stores, store);
    size_t index = found->candidate;
    return index < count && stores[index].store == store ? index : count;
}

void plan_count_table(const struct catalog *catalog,
                      uint64_t table,
                      struct placement_store *stores,
                      size_t count)
{
    const struct table_entry *entry = number_map_get(&catalog->tables, table);

    for (size_t i = 0; i < count; i++) {
        stores[i].table_tablets = 0;
    }
    for (size_t i = 0; entry != NULL && i < entry->tablet_count; i++) {
        const struct tablet_goal *goal = &entry->tablets[i]->record.goal;
        for (uint32_t j = 0; j < goal->store_count; j++) {
            size_t at = plan_candidate(catalog, stores, count, goal->stores[j]);
            if (at < count) {
                stores[at].table_tablets++;
            }
        }
    }
}

struct placement_store *plan_candidates(struct catalog *catalog,
                                        bool replicating,
                                        size_t *ret_count)
{
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
        if (server->image == NULL || !server->alive || (replicating && !server->replicates)) {
            continue;
        }
        const struct server_record *record = &server->image->record;
        for (size_t j = 0; j < record->store_count; j++) {
            struct store *store = number_map_get(&catalog->stores, record->stores[j].number);
            store->candidate = *ret_count;
            stores[(*ret_count)++] = (struct placement_store){
                .server = server->number,
                .store = store->number,
                .zone = record->zone,
                .usable = is_usable(server, store),
                .free_bytes = store->free_bytes,
                .tablet_count = store->wanted_count,
                .lead_count = store->lead_count,
            };
        }
    }
    return stores;
}

/* Servers with a store that may take a copy; those of one server stand together. */
static size_t count_usable_servers(const struct placement_store *stores, size_t count)
{
    uint64_t last = 0;
    size_t servers = 0;
    for (size_t i = 0; i < count; i++) {
        servers += stores[i].usable && stores[i].server != last;
        last = stores[i].usable ? stores[i].server : last;
    }
    return servers;
}

static enum status no_place(const struct catalog *catalog,
                            uint32_t copies,
                            const struct placement_store *stores,
                            size_t count,
                            struct error *ret_error)
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
    if (copies > 1) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "%u replicas need healthy stores on %u tablet servers with replicate = "
                         "true that are not drained: of %zu that are alive %zu have one. Start "
                         "more, or ask for fewer replicas",
                         copies, copies, alive, count_usable_servers(stores, count));
    }
    return error_set(ret_error, STATUS_UNAVAILABLE,
                     "none of the %zu stores of %zu living tablet servers is healthy and has space",
                     count, alive);
}

/* One tablet: as many stores as it has copies, on different servers; first the one that leads. */
static bool place_one(const struct catalog *catalog,
                      struct placement_store *stores,
                      size_t store_count,
                      const struct plan_wanted *wanted,
                      uint64_t salt,
                      struct store **ret_stores)
{
    size_t chosen[LIMIT_REPLICAS];

    placement_begin(stores, store_count, wanted->copies > 1 ? salt : 0);
    for (uint32_t i = 0; i < wanted->copies; i++) {
        if (!placement_choose(stores, store_count, wanted->avoid_server, &chosen[i])) {
            return false;
        }
        placement_take(stores, store_count, stores[chosen[i]].server);
    }
    placement_lead(stores, store_count, chosen, wanted->copies);
    for (uint32_t i = 0; i < wanted->copies; i++) {
        ret_stores[i] = number_map_get(&catalog->stores, stores[chosen[i]].store);
    }
    return true;
}

enum status plan_place(struct catalog *catalog,
                       const struct plan_wanted *wanted,
                       struct store **ret_stores,
                       struct error *ret_error)
{
    size_t store_count = 0;
    struct placement_store *stores = plan_candidates(catalog, wanted->copies > 1, &store_count);

    if (stores == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to place tablets");
    }
    plan_count_table(catalog, wanted->table, stores, store_count);
    for (size_t i = 0; i < wanted->tablets; i++) {
        if (!place_one(catalog, stores, store_count, wanted,
                       wanted->table * LIMIT_SPLITS_PER_CREATE + i + 1,
                       ret_stores + i * wanted->copies)) {
            return no_place(catalog, wanted->copies, stores, store_count, ret_error);
        }
    }
    return STATUS_OK;
}

void plan_put_copies(struct tablet_record *record, struct store *const *stores, uint32_t copies)
{
    struct replica_member first = {stores[0]->owner->number, stores[0]->number};
    struct tablet_goal *goal = &record->goal;
    uint64_t version = record->configuration.version + 1;

    tablet_record_place(record, version, first);
    for (uint32_t i = 1; i < copies; i++) {
        struct replica_member member = {stores[i]->owner->number, stores[i]->number};
        record->configuration = replica_configuration_add(&record->configuration, member);
        tablet_goal_add(goal, member.store);
    }
    record->configuration.version = version;
}

/* Has the server had its chance to create it?  It has, too, to report to a master that has just begun. */
static bool waits_too_long(const struct catalog *catalog, struct tablet *tablet)
{
    const struct server *server = state_server(catalog,
                                               tablet_record_leader(&tablet->record).server);
    bool is_silent = catalog->now_ns - server->heard_ns >= catalog->settings.server_timeout_ns;
    return is_silent || state_leader_copy(tablet)->holding == HOLDING_FAILED ||
           catalog->now_ns - tablet->unsettled_ns >= catalog->settings.place_timeout_ns;
}

static struct store *store_of(const struct catalog *catalog, struct replica_member member)
{
    struct store *store = number_map_get(&catalog->stores, member.store);
    return store != NULL && store->owner != NULL && store->owner->alive ? store : NULL;
}

/* Its server lives, and has other stores, or none: a disk that is another one now. */
static bool is_gone(const struct catalog *catalog, struct replica_member member)
{
    const struct store *store = store_of(catalog, member);
    return store != NULL && store->seen_on != store->owner;
}

static bool are_all_gone(const struct catalog *catalog,
                         const struct replica_configuration *configuration)
{
    uint32_t gone = 0;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        gone += is_gone(catalog, configuration->members[i]) ? 1 : 0;
    }
    return gone == configuration->member_count;
}

/* The store of a secondary that may lead: it is there, and whole.  NULL if there is none. */
static struct store *fit_secondary(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    struct store *fit = NULL;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct store *store = store_of(catalog, configuration->members[i]);
        const struct copy *copy = &tablet->copies[i];
        bool may = i != configuration->leader && store != NULL && store->seen_on == store->owner &&
                   store->condition == 0 && state_is_there(copy) && !copy->damaged;
        fit = fit == NULL && may ? store : fit;
    }
    return fit;
}

/*
 * Whoever was to lead may have begun to, unheard of: it cannot without each of its secondaries.  So one of these
 * leads, which waits for what it has granted (rule 11 of docs/replication.md), and they alone are members, for
 * they have whatever was written; a new one might remove them, and serve at once.  The others are to be taught.
 * False: none of them may lead now, so what began stays as it is.
 */
static bool lead_by_secondary(const struct catalog *catalog,
                              const struct tablet *tablet,
                              struct tablet_record *record,
                              struct store **stores,
                              uint32_t count)
{
    struct store *secondary = fit_secondary(catalog, tablet);
    if (secondary == NULL) {
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (stores[i]->owner == secondary->owner) {
            stores[i] = stores[0];
        }
    }
    stores[0] = secondary;
    plan_put_copies(record, stores, count);
    record->configuration = replica_configuration_lead(&tablet->record.configuration,
                                                       secondary->number, true);
    return true;
}

/* One that was to be alone serves by the catalog's word only (rule 21), so it may be any other; but one that has
 * removed its secondaries has that word.  Of several whose disks are all gone none serves, or will. */
static bool place_anew(const struct catalog *catalog,
                       const struct tablet *tablet,
                       struct tablet_record *record,
                       struct store **stores,
                       uint32_t count)
{
    if ((count == 1 && record->configuration.member_count == 1) ||
        are_all_gone(catalog, &record->configuration)) {
        plan_put_copies(record, stores, count);
        return true;
    }
    return lead_by_secondary(catalog, tablet, record, stores, count);
}

/* A tablet that clients were never told of was never served: nobody can have written to it.  So its
 * first configuration may be made anew, without asking anybody (docs/replication.md, section 10). */
static void plan_place_again(struct catalog *catalog, struct transaction *transaction)
{
    LIST_FOREACH(struct tablet, tablet, &catalog->unsettled) {
        struct store *stores[REPLICA_MEMBERS_MAX];
        struct tablet_record record = tablet->record;
        struct replica_member before = tablet_record_leader(&record);
        const struct plan_wanted wanted = {record.table, before.server, 1, record.goal.store_count};
        bool candidate = record.state == TABLET_CREATING &&
                         !state_is_there(state_leader_copy(tablet)) &&
                         !list_is_linked(&tablet->dirty) && !transaction_has(transaction, tablet) &&
                         waits_too_long(catalog, tablet);
        if (transaction->change_count >= CATALOG_CHANGES_MAX || transaction->failed) {
            return;
        }
        if (!candidate || plan_place(catalog, &wanted, stores, NULL) != STATUS_OK ||
            !place_anew(catalog, tablet, &record, stores, wanted.copies)) {
            continue;
        }
        tablet->unsettled_ns = catalog->now_ns;
        if (tablet_record_leader(&record).store == before.store) {
            continue; /* there is no better place */
        }
        transaction_update_tablet(transaction, tablet, &record);
        emit_note(catalog,
                  &(struct catalog_note){.event = "tablet_placed_again",
                                         .warning = true,
                                         .table = record.table,
                                         .tablet = record.number,
                                         .server = tablet_record_leader(&record).server,
                                         .store = tablet_record_leader(&record).store},
                  "server %llu did not create it", (unsigned long long)before.server);
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
