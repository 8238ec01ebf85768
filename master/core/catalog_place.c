/* Where tablets go: stores for new ones, and another for one that has never served where it should. */
#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/* Can a copy be put there now? */
static bool is_usable(const struct server *server, const struct store *store)
{
    return store->owner == server && store->seen_on == server && store->condition == 0 &&
           !server->image->record.draining && !server->leaving;
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

static size_t count_living(const struct catalog *catalog)
{
    size_t living = 0;
    for (size_t i = 0; i < catalog->server_count; i++) {
        living += catalog->servers[i]->alive;
    }
    return living;
}

/* Those that would take a copy if their processes were not about to end. */
static size_t count_leaving(const struct catalog *catalog, bool replicating)
{
    size_t leaving = 0;
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        leaving += server->image != NULL && server->alive && server->leaving &&
                   !server->image->record.draining && (!replicating || server->replicates);
    }
    return leaving;
}

static enum status no_place(const struct catalog *catalog,
                            uint32_t copies,
                            const struct placement_store *stores,
                            size_t count,
                            struct error *ret_error)
{
    size_t alive = count_living(catalog);
    size_t leaving = count_leaving(catalog, copies > 1);
    size_t usable = count_usable_servers(stores, count);
    if (alive == 0) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "no tablet server is alive (%zu known): start one, then try again",
                         catalog->server_count);
    }
    if (usable < copies && usable + leaving >= copies) {
        return error_set(
            ret_error, STATUS_UNAVAILABLE,
            "each tablet is to have %u %s, on as many tablet servers: of %zu that are "
            "alive %zu can take one, and %zu %s being stopped just now. Try again when "
            "%s back, or start more",
            copies, copies == 1 ? "copy" : "copies", alive, usable, leaving,
            leaving == 1 ? "is" : "are", leaving == 1 ? "it is" : "they are");
    }
    if (copies > 1) {
        return error_set(ret_error, STATUS_UNAVAILABLE,
                         "%u replicas need healthy stores on %u tablet servers with replicate = "
                         "true that are not drained: of %zu that are alive %zu have one. Start "
                         "more, or ask for fewer replicas",
                         copies, copies, alive, usable);
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

/* The store of a secondary that may lead: it is there, and whole, and knows of a version: one that does not may have
 * known it, and lost its log (simulator, seed 13159792).  NULL if there is none. */
static struct store *fit_secondary(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    struct store *fit = NULL;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct store *store = store_of(catalog, configuration->members[i]);
        const struct copy *copy = &tablet->copies[i];
        bool may = i != configuration->leader && store != NULL && store->seen_on == store->owner &&
                   store->condition == 0 && copy->holding == HOLDING_SERVING && !copy->damaged;
        fit = fit == NULL && may ? store : fit;
    }
    return fit;
}

/*
 * Whoever was to lead may have begun to, unheard of: it cannot without each of its secondaries.  So one of these
 * leads, which waits for what it has granted (rule 11 of docs/replication.md), and they alone are members, for
 * they have whatever was written; a new one might remove them, and serve at once.  The others are to be taught.
 * Requires: one of them may lead now; else what began stays as it is.
 */
static void lead_by_secondary(const struct catalog *catalog,
                              const struct tablet *tablet,
                              struct tablet_record *record,
                              struct store **stores,
                              uint32_t count)
{
    struct store *secondary = fit_secondary(catalog, tablet);
    ASSERT(secondary != NULL);
    for (uint32_t i = 1; i < count; i++) {
        if (stores[i]->owner == secondary->owner) {
            stores[i] = stores[0];
        }
    }
    stores[0] = secondary;
    plan_put_copies(record, stores, count);
    record->configuration = replica_configuration_lead(&tablet->record.configuration,
                                                       secondary->number, true);
}

/* One that was to be alone serves by the catalog's word only (rule 21), so it may be any other; but one that has
 * removed its secondaries has that word.  Of several whose disks are all gone none serves, or will. */
static bool may_begin_anew(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    return (record->goal.store_count == 1 && record->configuration.member_count == 1) ||
           are_all_gone(catalog, &record->configuration);
}

static void place_anew(const struct catalog *catalog,
                       const struct tablet *tablet,
                       struct tablet_record *record,
                       struct store **stores,
                       uint32_t count)
{
    if (may_begin_anew(catalog, tablet)) {
        plan_put_copies(record, stores, count);
    } else {
        lead_by_secondary(catalog, tablet, record, stores, count);
    }
}

/* Is it time to place it elsewhere, and may that be?  Else no place is looked for, which is linear in its table
 * and in all stores, and comes with every step. */
static bool is_to_be_placed(const struct catalog *catalog,
                            const struct transaction *transaction,
                            struct tablet *tablet)
{
    return tablet->record.state == TABLET_CREATING && !state_is_there(state_leader_copy(tablet)) &&
           !list_is_linked(&tablet->dirty) && !transaction_has(transaction, tablet) &&
           waits_too_long(catalog, tablet) &&
           (may_begin_anew(catalog, tablet) || fit_secondary(catalog, tablet) != NULL);
}

/* Where it was made already, as far as was heard; else wherever there is room. */
static enum status place_again(struct catalog *catalog,
                               const struct tablet *tablet,
                               const struct plan_wanted *wanted,
                               struct store **ret_stores)
{
    struct store *made_in = tablet->made_in == 0
                                ? NULL
                                : number_map_get(&catalog->stores, tablet->made_in);
    if (made_in != NULL && wanted->copies == 1 && made_in->seen_on == made_in->owner &&
        made_in->condition == 0) {
        ret_stores[0] = made_in;
        return STATUS_OK;
    }
    return plan_place(catalog, wanted, ret_stores, NULL);
}

/* A tablet that clients were never told of was never served: nobody can have written to it.  So its
 * first configuration may be made anew, without asking anybody (docs/replication.md, section 10). */
void plan_place_again(struct catalog *catalog, struct transaction *transaction)
{
    uint32_t too_many =
        UINT32_MAX; /* copies: for so many there are no servers, whatever the tablet */

    LIST_FOREACH(struct tablet, tablet, &catalog->unsettled) {
        struct store *stores[REPLICA_MEMBERS_MAX];
        struct tablet_record record = tablet->record;
        struct replica_member before = tablet_record_leader(&record);
        const struct plan_wanted wanted = {record.table, before.server, 1, record.goal.store_count};
        if (transaction->change_count >= CATALOG_CHANGES_MAX || transaction->failed) {
            return;
        }
        if (wanted.copies >= too_many || !is_to_be_placed(catalog, transaction, tablet)) {
            continue;
        }
        if (place_again(catalog, tablet, &wanted, stores) != STATUS_OK) {
            too_many = wanted.copies;
            continue;
        }
        place_anew(catalog, tablet, &record, stores, wanted.copies);
        tablet->unsettled_ns = catalog->now_ns;
        tablet->made_in = 0;
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
