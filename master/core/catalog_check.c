#include "common/base/assert.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/* The invariants at the head of catalog.h, by number; and that every count and index agrees. */

/* (3), (7) */
static void check_copies(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;

    replica_configuration_check(configuration);
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct replica_member member = configuration->members[i];
        const struct server *server = state_server(catalog, member.server);
        const struct server *owner = state_owner(catalog, member.store);
        ASSERT(server != NULL);
        ASSERT(server->image != NULL);
        ASSERT(owner != NULL);
        ASSERT(server_record_lists(&owner->image->record, member.store));
        ASSERT(IMPLIES(owner != server && configuration->member_count == 1,
                       list_is_linked(&tablet->dirty) || catalog->pending != NULL));
        ASSERT(list_is_linked(&tablet->copies[i].on_server));
    }
    for (uint32_t i = configuration->member_count; i < REPLICA_MEMBERS_MAX; i++) {
        ASSERT(!list_is_linked(&tablet->copies[i].on_server));
    }
}

/* (8) */
static void check_goal(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;

    ASSERT(goal->store_count > 0);
    ASSERT(goal->leader == 0 || tablet_goal_names(goal, goal->leader));
    for (uint32_t i = 0; i < goal->store_count; i++) {
        ASSERT(i == 0 || goal->stores[i - 1] < goal->stores[i]);
        ASSERT(state_owner(catalog, goal->stores[i]) != NULL);
    }
    ASSERT(goal->left < catalog->counters.tablet_next);
    ASSERT(goal->right < catalog->counters.tablet_next);
    ASSERT(goal->merged < catalog->counters.tablet_next);
    ASSERT((goal->wish == GOAL_SPLIT) == (tablet->row != NULL));
    if (goal->wish == GOAL_SPLIT) {
        ASSERT(goal->row.data == tablet->row);
        ASSERT(tablet_record_may_split_at(&tablet->record, goal->row));
    }
    ASSERT(state_wish_is_sound(catalog, tablet));
    ASSERT(list_is_linked(&tablet->astray) != tablet_record_is_at_goal(&tablet->record));
}

static void check_tablet(const struct catalog *catalog,
                         const struct table_entry *entry,
                         const struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    ASSERT(record->table == entry->image->record.table.number);
    ASSERT(record->number < catalog->counters.tablet_next); /* (2) */
    ASSERT(number_map_get(&catalog->tablets, record->number) == tablet);
    ASSERT(record->soft_limit_bytes > 0);
    check_copies(catalog, tablet);
    check_goal(catalog, tablet);
    ASSERT(list_is_linked(&tablet->changed.link));
    ASSERT(list_is_linked(&tablet->unsettled) == state_is_unsettled(record->state));
    ASSERT(IMPLIES(record->state == TABLET_SPLITTING, record->parent != 0));
    ASSERT(number_map_get(&catalog->tablets, record->parent) == NULL);
    ASSERT(number_map_get(&catalog->tablets, record->absorbed) == NULL);
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
    size_t leading = 0;
    size_t unsettled = 0;
    size_t splitting = 0;

    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        bool leads = tablet_record_leader(&tablet->record).server == server->number;
        ASSERT(state_copy_on(tablet, server->number) != NULL);
        count++;
        leading += leads;
        unsettled += leads && state_is_unsettled(tablet->record.state);
        splitting += leads ? state_children_to_come(&tablet->record) : 0;
    }
    ASSERT(server->tablet_count == count);
    ASSERT(server->leading_count == leading);
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
    size_t proposals = 0;
    if (catalog->pending != NULL) {
        LIST_FOREACH(const struct open_request, staged, &catalog->pending->proposals) {
            ASSERT(staged->waiting_for == WAITING_COMMIT);
            proposals++;
        }
    }
    LIST_FOREACH(const struct open_request, waiting, &catalog->proposals) {
        ASSERT(waiting->waiting_for == WAITING_TURN);
        ASSERT(waiting->method == METHOD_PROPOSE);
        proposals++;
    }
    ASSERT(catalog->proposal_count == proposals);
    count += proposals;
    LIST_FOREACH(const struct open_request, waiter, &catalog->waiters) {
        ASSERT(waiter->waiting_for > WAITING_COMMIT);
        count++;
    }
    ASSERT(catalog->request_count == count);
    /* (5) whoever waits for a turn waits for a transaction */
    ASSERT(IMPLIES(!list_is_empty(&catalog->queue), catalog->pending != NULL));
    ASSERT(IMPLIES(!list_is_empty(&catalog->proposals), catalog->pending != NULL));
}

void catalog_check(const struct catalog *catalog)
{
    size_t tablets = 0;
    size_t copies = 0;
    size_t on_servers = 0;

    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        ASSERT(i == 0 || bytes_compare(catalog->by_name[i - 1]->image->record.table.id,
                                       entry->image->record.table.id) < 0);
        check_table(catalog, entry);
        tablets += entry->tablet_count;
        for (size_t j = 0; j < entry->tablet_count; j++) {
            copies += entry->tablets[j]->record.configuration.member_count;
        }
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        ASSERT(i == 0 || catalog->servers[i - 1]->number < catalog->servers[i]->number);
        on_servers += check_server(catalog->servers[i]);
    }
    ASSERT(catalog->counters.tablet_first <= catalog->counters.tablet_next);
    ASSERT(catalog->tablets.count == tablets);
    ASSERT(catalog->tables.count == catalog->table_count);
    ASSERT(on_servers == copies);
    check_changed(catalog);
    state_check_origins(catalog);
    check_documents(catalog);
    check_requests(catalog);
    load_history_check(&catalog->load);
    load_details_check(&catalog->load_details);
    LIST_FOREACH(const struct load_entry_detail, detail, &catalog->load_details.entries) {
        ASSERT(number_map_get(&catalog->tablets, detail->tablet) != NULL);
    }
    event_log_check(&catalog->events);
}
