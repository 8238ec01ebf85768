#include "tabletserver/serve/sync/sync_parts.h"

#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync/served_list.h"

#define SYNC_MIDDLES_MAX 4 /* tablets whose middle is looked for in one round */

static bool is_over_limit(const struct sync *sync, const struct held_tablet *tablet)
{
    uint64_t limit = assignment_soft_limit_bytes(sync->assignments, tablet->tablet);
    bool decides = tablet->role == HELD_AS_UNKNOWN || tablet->role == HELD_AS_PRIMARY;
    return decides && limit > 0 && tablet->size_bytes > limit;
}

static void look_for_cut(struct sync *sync, struct held_tablet *tablet, struct store_tablet *stored)
{
    struct buffer row = BUFFER_INIT;
    bool found = false;

    if (store_tablet_middle(stored, &row, &found) == STATUS_OK && found) {
        tablet->split_row = arena_copy(&sync->arena, buffer_bytes(&row));
        tablet->wants_split = tablet->split_row.data != NULL;
    }
    buffer_deinit(&row);
}

/* Where to cut those over their soft limit: a few a round, for it takes some milliseconds, and in
 * turn, so that one that cannot be cut keeps nobody from it. */
static void look_for_cuts(struct sync *sync,
                          const struct served_list *held,
                          struct held_tablet *tablets)
{
    size_t first = sync->next_middle;
    uint32_t looked = 0;

    for (size_t i = 0; i < held->count && looked < SYNC_MIDDLES_MAX; i++) {
        size_t at = (first + i) % held->count;
        if (is_over_limit(sync, &tablets[at])) {
            look_for_cut(sync, &tablets[at], held->items[at].tablet);
            looked += 1;
            sync->next_middle = at + 1;
        }
    }
}

/* Who is named primary but has not opened all members leads nobody yet. */
static void describe_replica(struct serving_view view, struct held_tablet *tablet)
{
    static const enum held_role roles[] = {
        [REPLICA_OUTSIDER] = HELD_AS_OUTSIDER,
        [REPLICA_LEARNER] = HELD_AS_LEARNER,
        [REPLICA_SECONDARY] = HELD_AS_SECONDARY,
        [REPLICA_PRIMARY] = HELD_AS_PRIMARY,
    };
    bool waits = view.role == REPLICA_PRIMARY && !view.leads;
    tablet->version = view.version;
    tablet->role = waits ? HELD_AS_SECONDARY : roles[view.role];
    tablet->state = view.version == 0 || view.empty ? HELD_CREATED : HELD_SERVING;
    tablet->damaged = view.damaged;
}

static struct held_tablet *describe_held(struct sync *sync, const struct served_list *held)
{
    struct held_tablet *tablets = arena_allocate_array(&sync->arena, held->count + 1,
                                                       sizeof *tablets);
    for (size_t i = 0; tablets != NULL && i < held->count; i++) {
        struct store_tablet *stored = held->items[i].tablet;
        struct store_tablet_statistics statistics;
        store_tablet_statistics(stored, &statistics);
        tablets[i] = (struct held_tablet){
            .tablet = store_tablet_describe(stored)->tablet,
            .store = store_number(store_loop_store(held->items[i].loop)),
            .state = HELD_SERVING,
            .size_bytes = statistics.base_bytes + statistics.memtable_bytes,
            .committed = store_tablet_committed(stored),
        };
        if (held->items[i].serving != NULL) {
            describe_replica(serving_look(held->items[i].serving), &tablets[i]);
        }
    }
    if (tablets != NULL) {
        look_for_cuts(sync, held, tablets);
    }
    return tablets;
}

static struct store_information *describe_stores(struct sync *sync)
{
    struct server *server = sync->server;
    struct store_information *stores = arena_allocate_array(&sync->arena, server->loop_count + 1,
                                                            sizeof *stores);

    for (uint32_t i = 0; stores != NULL && i < server->loop_count; i++) {
        struct store *store = store_loop_store(server->loops[i]);
        struct store_statistics statistics;
        store_loop_statistics(server->loops[i], &statistics);
        stores[i] = (struct store_information){
            .number = store_number(store),
            .folder = bytes_of_text(store_loop_folder(server->loops[i])),
            .condition = statistics.condition,
            .used_bytes = statistics.base_used_bytes + statistics.log_bytes,
            .free_bytes = statistics.disk_free_bytes,
            .catalog = store_loop_catalog(server->loops[i])->mark.generation,
            .catalog_version = store_loop_catalog(server->loops[i])->mark.version,
        };
    }
    return stores;
}

void sync_encode_request(struct sync *sync, struct buffer *message)
{
    struct server *server = sync->server;
    struct served_list held = {0};
    struct sync_request request = {
        .server = {.number = server->number,
                   .address = bytes_of_text(server->address),
                   .http_address = bytes_of_text(server->http_address),
                   .zone = bytes_of_text(server->settings->zone),
                   .incarnation = server->incarnation,
                   .alive = true,
                   .store_count = server->loop_count,
                   .unopened_count = server->unopened_count},
        .known_version = atomic_load(&sync->version),
        .known_generation = sync->catalog_generation,
        .full = true,
        .replicates = server->peers != NULL,
        .leaving = atomic_load(&sync->leaving),
        .load = load_meter_report(sync->meter),
    };

    sync->load_asked = request.load.number;
    request.server.stores = describe_stores(sync);
    if (request.server.stores == NULL || served_list_make(server->served, &held) != STATUS_OK) {
        message->failed = true;
        return;
    }
    request.held = describe_held(sync, &held);
    request.held_count = held.count;
    request.server.tablet_count = (uint32_t)held.count;
    if (request.held == NULL) {
        message->failed = true;
    } else {
        request_head_encode(&(struct request_head){.deadline_ms = 3000}, message);
        sync_request_encode(&request, message);
    }
    served_list_release(&held);
}
