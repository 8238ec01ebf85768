/*
 * Balance: what servers report of load goes into each tablet's averages; once a second a snapshot of
 * all is looked at (master/placement/balance.h), and what is decided becomes orders
 * (catalog_order_load.c) and events.
 */
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/placement/balance_cut.h"

#define ROUND_NS      INT64_C(1000000000)
#define ROUND_IDLE_NS INT64_C(10000000000) /* while nobody has anything to do */
#define IDLE_AFTER_NS INT64_C(60000000000)
#define LOOKED_AFTER  0.01 /* of its server's time */
/* A second: from so many on servers sample a tablet. */
#define BUSY_OPERATIONS 100

/* --- what is reported --------------------------------------------------------------------------- */

/* In the second in which a server begins to sample a tablet, it does not tell where its load is. */
static bool is_busy(const struct load_report *report, const struct tablet_load *load)
{
    double operations = (double)load->figures.reads + (double)load->figures.writes;
    return load->detail.point_count > 0 ||
           operations * 1e9 / (double)report->elapsed_ns >= BUSY_OPERATIONS;
}

void balance_take(struct catalog *catalog, struct server *server, const struct load_report *report)
{
    if (report->elapsed_ns == 0) {
        return;
    }
    server->capacity_ns = (double)report->capacity_ns * 1e9 / (double)report->elapsed_ns;
    server->told_us = catalog->now_us;
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct tablet_load *load = &report->tablets[i];
        struct tablet *tablet = number_map_get(&catalog->tablets, load->tablet);
        if (tablet == NULL || tablet_record_leader(&tablet->record).server != server->number) {
            continue; /* what a secondary does follows from what the primary does */
        }
        balance_tablet_measure(&tablet->balance, &load->figures, load->detail.observations,
                               report->elapsed_ns, catalog->now_ns);
        if (is_busy(report, load)) {
            tablet->busy_us = catalog->now_us;
        }
        if (load->detail.point_count > 0) {
            tablet->reported_operations = load->figures.reads + load->figures.writes;
            tablet->reported_ns = report->elapsed_ns;
        }
        catalog->loaded_ns = catalog->now_ns;
    }
}

bool balance_is_busier(const struct catalog *catalog,
                       const struct server *other,
                       const struct server *server)
{
    double idle = catalog->settings.balance.idle_percent / 100.0;

    if (!catalog->settings.balance.enabled || other->capacity_ns <= 0 || server->capacity_ns <= 0) {
        return false;
    }
    double use = other->load_ns / other->capacity_ns;
    return use > idle && use > server->load_ns / server->capacity_ns;
}

bool balance_looks_after(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct server *leader = state_server(catalog,
                                               tablet_record_leader(&tablet->record).server);
    const struct balance_settings *settings = &catalog->settings.balance;
    bool stays = tablet->balance.moved_ns != 0 &&
                 catalog->now_ns - tablet->balance.moved_ns < settings->move_pause_ns;

    return settings->enabled &&
           (stays || balance_cost(&tablet->balance.slow) > leader->capacity_ns * LOOKED_AFTER);
}

/* --- what a new tablet is known by -------------------------------------------------------------- */

/* Where its load was told to be; false: it was not.  Nothing is cut by what was told of another one. */
static bool find_detail(const struct catalog *catalog,
                        const struct tablet *tablet,
                        struct balance_detail *ret_detail)
{
    const struct load_entry_detail *entry = load_details_find(&catalog->load_details,
                                                              tablet->record.number);
    if (entry == NULL || entry->inherited) {
        return false;
    }
    *ret_detail = (struct balance_detail){entry->detail, tablet->reported_operations,
                                          tablet->reported_ns};
    return true;
}

static void inherit_part(const struct catalog *catalog,
                         const struct tablet *parent,
                         struct tablet *made)
{
    const struct row_range *range = &made->record.range;
    bool is_left = bytes_equal(range->start, parent->record.range.start);
    struct balance_detail detail;
    struct balance_tablet other;
    double reads = 0.5;
    double writes = 0.5;

    if (find_detail(catalog, parent, &detail)) {
        cut_shares_before(&detail, is_left ? range->end : range->start, &reads, &writes);
    }
    balance_tablet_split(&parent->balance, reads, writes, parent->ahead, catalog->now_ns,
                         is_left ? &made->balance : &other, is_left ? &other : &made->balance);
}

void balance_inherit(const struct catalog *catalog, struct tablet *made)
{
    const struct tablet *parent = number_map_get(&catalog->tablets, made->record.parent);
    const struct tablet *absorbed = number_map_get(&catalog->tablets, made->record.absorbed);

    if (parent != NULL && absorbed != NULL) {
        balance_tablet_merge(&parent->balance, &absorbed->balance, &made->balance);
        made->hurried = parent->hurried || absorbed->hurried;
    } else if (parent != NULL) {
        inherit_part(catalog, parent, made);
        made->hurried = parent->hurried;
    }
}

/* --- the snapshot ------------------------------------------------------------------------------- */

static bool has_usable_store(const struct catalog *catalog,
                             const struct server *server,
                             uint64_t free_bytes_min)
{
    for (size_t i = 0; i < server->image->record.store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores,
                                                   server->image->record.stores[i].number);
        if (store->owner == server && store->seen_on == server && store->condition == 0 &&
            store->free_bytes >= free_bytes_min) {
            return true;
        }
    }
    return false;
}

/* Equal for servers of one zone: the place of the first of them. */
static uint32_t zone_of(const struct catalog *catalog, size_t index)
{
    struct bytes zone = catalog->servers[index]->image->record.zone;
    for (size_t i = 0; i < index; i++) {
        const struct server *other = catalog->servers[i];
        if (other->image != NULL && bytes_equal(other->image->record.zone, zone)) {
            return (uint32_t)i;
        }
    }
    return (uint32_t)index;
}

static struct balance_server_input *put_servers(struct catalog *catalog,
                                                struct balance_snapshot *snapshot)
{
    struct balance_server_input *servers = arena_allocate_array(
        &catalog->scratch, catalog->server_count + 1, sizeof *servers);

    for (size_t i = 0; i < catalog->server_count && servers != NULL; i++) {
        struct server *server = catalog->servers[i];
        server->place = UINT32_MAX;
        server->load_ns = 0;
        if (server->image == NULL) {
            continue;
        }
        server->place = (uint32_t)snapshot->server_count;
        servers[snapshot->server_count++] = (struct balance_server_input){
            .server = server->number,
            .state = &server->balance,
            .capacity_ns = server->capacity_ns,
            .zone = zone_of(catalog, i),
            .usable = server->alive && !server->leaving && server->replicates &&
                      !server->image->record.draining && has_usable_store(catalog, server, 0),
            .full = !has_usable_store(catalog, server, PLACEMENT_FREE_BYTES_LOW),
        };
    }
    return servers;
}

static void put_member(struct balance_members *members, const struct server *server, bool leads)
{
    if (server == NULL || server->place == UINT32_MAX || members->count == REPLICA_MEMBERS_MAX) {
        return;
    }
    members->leader = leads ? members->count : members->leader;
    members->servers[members->count++] = server->place;
}

static bool is_settled(const struct tablet *tablet)
{
    return tablet->record.state == TABLET_SERVING && tablet->record.goal.wish == GOAL_STAY &&
           tablet_record_is_at_goal(&tablet->record) && !list_is_linked(&tablet->dirty) &&
           !tablet->ordered;
}

/* The tablet of the entry with that index.  False without memory. */
static bool put_tablet(struct catalog *catalog,
                       const struct table_entry *entry,
                       size_t index,
                       struct balance_tablet_input *ret_input)
{
    struct tablet *tablet = entry->tablets[index];
    const struct tablet_record *record = &tablet->record;
    const struct replica_configuration *configuration = &record->configuration;
    struct server *leader = state_server(catalog, tablet_record_leader(record).server);
    bool proposes = leader->replicates && leader->alive;
    uint64_t wanted_leader = state_wanted_leader(record);
    struct balance_detail detail;

    *ret_input = (struct balance_tablet_input){
        .tablet = record->number,
        .table = record->table,
        .range = record->range,
        .size_bytes = tablet->size_bytes,
        .soft_limit_bytes = record->soft_limit_bytes,
        .state = &tablet->balance,
        .start_by_hand = (record->flags & TABLET_FLAG_START_BY_HAND) != 0,
        .apart = index > 0 && order_are_apart(catalog, entry->tablets[index - 1], tablet),
        .lost = record->state == TABLET_UNAVAILABLE,
        .pinned = entry->image->record.table.pinned,
        .settled = is_settled(tablet),
        .may_split = leader->alive && plan_may_split(catalog, tablet),
        .may_merge = proposes,
        .may_move = proposes,
    };
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        put_member(&ret_input->now, state_server(catalog, configuration->members[i].server),
                   i == configuration->leader);
    }
    for (uint32_t i = 0; i < record->goal.store_count; i++) {
        put_member(&ret_input->wanted, state_owner(catalog, record->goal.stores[i]),
                   record->goal.stores[i] == wanted_leader);
    }
    leader->load_ns += balance_cost(&tablet->balance.slow);
    if (balance_cost(&tablet->balance.quick) > 0 && find_detail(catalog, tablet, &detail)) {
        struct balance_detail *copy = arena_allocate(&catalog->scratch, sizeof *copy);
        if (copy == NULL) {
            return false;
        }
        *copy = detail;
        ret_input->detail = copy;
    }
    return true;
}

/* Mark tablets about which an order is open: something is under way with them. */
static void mark_ordered(struct catalog *catalog, bool ordered)
{
    for (size_t i = 0; i < catalog->load_order_count; i++) {
        const struct load_order *order = &catalog->load_orders[i];
        const uint64_t numbers[] = {order->tablet, order->right};
        const struct table_entry *entry = number_map_get(&catalog->tables, order->table);
        if (order->kind == BALANCE_SPLIT && entry != NULL) {
            const struct bytes row = {order->row, order->row_bytes};
            entry->tablets[state_tablet_index(entry, row)]->ordered = ordered;
        }
        for (size_t j = 0; j < 2; j++) {
            struct tablet *tablet = number_map_get(&catalog->tablets, numbers[j]);
            if (tablet != NULL) {
                tablet->ordered = ordered;
            }
        }
    }
}

/* False without memory. */
static bool take_snapshot(struct catalog *catalog, struct balance_snapshot *ret_snapshot)
{
    struct balance_tablet_input *tablets = arena_allocate_array(
        &catalog->scratch, catalog->tablets.count + 1, sizeof *tablets);

    *ret_snapshot = (struct balance_snapshot){
        .tablets = tablets,
        .tablets_max = (size_t)catalog->settings.tablets_max,
        .now_ns = catalog->now_ns,
    };
    ret_snapshot->servers = put_servers(catalog, ret_snapshot);
    if (ret_snapshot->servers == NULL || tablets == NULL) {
        return false;
    }
    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count; j++) {
            if (!put_tablet(catalog, entry, j, &tablets[ret_snapshot->tablet_count++])) {
                return false;
            }
        }
    }
    return true;
}

/* --- the round ---------------------------------------------------------------------------------- */

static uint64_t note(struct catalog *catalog, const struct balance_decision *decision)
{
    const struct tablet *tablet = number_map_get(&catalog->tablets, decision->tablet);
    const struct table_entry *entry = number_map_get(&catalog->tables, decision->table);
    bool refused = decision->kind == BALANCE_REFUSE;
    const struct event event = {
        .time_us = catalog->now_us,
        .ended_us = refused ? catalog->now_us : 0,
        .kind = bytes_of_text(balance_kind_name(decision->kind)),
        .reason = bytes_of_text(balance_reason_name(decision->reason)),
        .outcome = bytes_of_text(refused ? "refused" : "under_way"),
        .text = bytes_of_text(decision->text),
        .table = decision->table,
        .table_name = entry->image->record.table.id,
        .tablet = decision->tablet,
        .right = decision->right,
        .from = decision->from,
        .to = decision->to,
        .range = tablet->record.range,
        .row = decision->row_count > 0 ? decision->rows[0] : BYTES_EMPTY,
        .row_count = (uint32_t)decision->row_count,
        .key = decision->sampled ? BYTES_EMPTY : decision->key,
        .figures = decision->figures,
    };

    emit_note(catalog,
              &(struct catalog_note){.event = refused ? "load_refused" : "load_decided",
                                     .table = decision->table,
                                     .tablet = decision->tablet,
                                     .server = decision->to},
              "%s: %s", balance_reason_name(decision->reason), decision->text);
    if (!catalog->events.begun) { /* nobody has moved those of the reign before here */
        event_log_begin(&catalog->events, catalog->now_us);
    }
    return event_log_add(&catalog->events, &event);
}

/* Cuts in the middle first: what comes of them can be cut at once. */
static void order_cuts(struct catalog *catalog,
                       const struct load_order *order,
                       const struct bytes *rows,
                       size_t count)
{
    if (count == 0) {
        return;
    }
    size_t middle = count / 2;
    load_order_add(catalog, order, rows[middle]);
    order_cuts(catalog, order, rows, middle);
    order_cuts(catalog, order, rows + middle + 1, count - middle - 1);
}

static void order(struct catalog *catalog, const struct balance_decision *decision)
{
    const struct load_order made = {
        .kind = decision->kind,
        .reason = decision->reason,
        .staged = decision->reason == BALANCE_SIZE, /* by whoever has noted it */
        .event = note(catalog, decision),
        .table = decision->table,
        .tablet = decision->tablet,
        .right = decision->right,
        .from = decision->from,
        .to = decision->to,
        .decided_ns = catalog->now_ns,
    };

    if (decision->kind == BALANCE_SPLIT) {
        order_cuts(catalog, &made, decision->rows, decision->row_count);
    } else if (decision->kind != BALANCE_REFUSE) {
        load_order_add(catalog, &made, BYTES_EMPTY);
    }
}

/* Splits by size are looked after all the same. */
static bool is_off(const struct catalog *catalog)
{
    return !catalog->settings.balance.enabled && catalog->load_order_count == 0;
}

static struct balance_decision of_size(const struct tablet *tablet,
                                       enum balance_kind kind,
                                       enum balance_reason reason)
{
    return (struct balance_decision){
        .kind = kind,
        .reason = reason,
        .table = tablet->record.table,
        .tablet = tablet->record.number,
        .key = BYTES_EMPTY,
        .figures = {.size_bytes = tablet->size_bytes,
                    .limit_bytes = tablet->record.soft_limit_bytes,
                    .operations = (uint64_t)tablet->balance.quick.operations},
    };
}

void balance_note_limit(struct catalog *catalog, const struct tablet *tablet)
{
    struct balance_decision decision = of_size(tablet, BALANCE_REFUSE, BALANCE_LIMIT);
    balance_describe(&decision);
    order(catalog, &decision);
}

void balance_note_size(struct catalog *catalog, const struct tablet *tablet, struct bytes row)
{
    struct balance_decision decision = of_size(tablet, BALANCE_SPLIT, BALANCE_SIZE);
    decision.rows = &row;
    decision.row_count = 1;
    balance_describe(&decision);
    order(catalog, &decision);
    /* When it is done is looked at in rounds. */
    int64_t soon_ns = catalog->now_ns + ROUND_NS;
    catalog->balance_ns = catalog->balance_ns < soon_ns ? catalog->balance_ns : soon_ns;
}

void balance_decide(struct catalog *catalog)
{
    struct balance_snapshot snapshot;
    struct balance_decisions decisions;

    if (is_off(catalog) || catalog->now_ns < catalog->balance_ns) {
        return;
    }
    bool idle = catalog->load_order_count == 0 &&
                catalog->now_ns - catalog->loaded_ns >= IDLE_AFTER_NS;
    catalog->balance_ns = catalog->now_ns + (idle ? ROUND_IDLE_NS : ROUND_NS);
    load_order_look(catalog);
    if (!catalog->settings.balance.enabled) {
        return;
    }
    mark_ordered(catalog, true);
    bool taken = take_snapshot(catalog, &snapshot);
    mark_ordered(catalog, false);
    if (!taken || balance_round(&catalog->settings.balance, &snapshot, &catalog->scratch,
                                &decisions) != STATUS_OK) {
        return; /* without memory: the next one may have some */
    }
    for (size_t i = 0; i < decisions.count; i++) {
        order(catalog, &decisions.items[i]);
    }
}

int64_t balance_deadline_ns(const struct catalog *catalog)
{
    if (is_off(catalog)) {
        return CATALOG_NEVER;
    }
    int64_t orders_ns = load_order_deadline_ns(catalog);
    int64_t due_ns = orders_ns < catalog->balance_ns ? orders_ns : catalog->balance_ns;
    return due_ns > catalog->plan_not_before_ns ? due_ns : catalog->plan_not_before_ns;
}

/* --- listing ------------------------------------------------------------------------------------ */

void read_list_events(struct catalog *catalog,
                      uint64_t request,
                      const struct list_events_request *list)
{
    struct list_events_response response;

    if (event_log_list(&catalog->events, list, &catalog->scratch, &response) != STATUS_OK) {
        struct error error = {0};
        (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        emit_error(catalog, request, &error);
        return;
    }
    if (list->after == 0 && response.event_count == 0 && list->table.size_bytes > 0 &&
        state_table_by_name(catalog, list->table) == NULL) {
        struct error error = {0};
        char text[BYTES_PRINTABLE_SIZE_MAX];
        (void)error_set(&error, STATUS_NOT_FOUND, "no table is named '%s', and no event is of one",
                        bytes_printable(list->table, text));
        emit_error(catalog, request, &error);
        return;
    }
    struct buffer message = effects_begin_message();
    list_events_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}
