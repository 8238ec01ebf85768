/* A catalog's life: settings, made empty, taken apart; the events that outlive it (catalog.h). */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

#define SCRATCH_BLOCK_BYTES 65536
#define SCRATCH_LIMIT_BYTES (UINT64_C(512) << 20)

#define MILLISECOND_NS INT64_C(1000000)

void catalog_settings_default(struct catalog_settings *settings)
{
    *settings = (struct catalog_settings){
        .server_timeout_ns = 3000 * MILLISECOND_NS,
        .sync_hold_ns = 250 * MILLISECOND_NS,
        .sync_interval_ms = 250,
        .sync_interval_quick_ms = 10,
        .place_timeout_ns = 5000 * MILLISECOND_NS,
        .request_timeout_ns = 30000 * MILLISECOND_NS,
        .soft_limit_start_bytes = UINT64_C(16) << 20,
        .soft_limit_max_bytes = UINT64_C(512) << 20,
        .splits_per_server = 2,
        .replicas = 1,
        .min_in_sync = 1,
        .replace_after_ns = 60000 * MILLISECOND_NS,
        .keep_outsiders_ns = 600000 * MILLISECOND_NS,
        .moves_per_server = 6,
        .requests_max = 1024,
        .tables_max = 10000,
        .tablets_max = 1000000,
    };
    balance_settings_default(&settings->balance);
}

enum status catalog_create(const struct catalog_settings *settings, struct catalog **ret_catalog)
{
    struct catalog *catalog = memory_allocate_zeroed(1, sizeof *catalog);

    if (catalog == NULL) {
        return STATUS_NO_MEMORY;
    }
    ASSERT(settings->server_timeout_ns > settings->sync_hold_ns);
    ASSERT(settings->soft_limit_start_bytes <= settings->soft_limit_max_bytes);
    ASSERT(settings->splits_per_server > 0);
    ASSERT(settings->replicas >= 1);
    ASSERT(settings->replicas <= LIMIT_REPLICAS);
    ASSERT(settings->min_in_sync >= 1);
    ASSERT(settings->min_in_sync <= settings->replicas);
    ASSERT(settings->moves_per_server > 0);
    catalog->settings = *settings;
    number_map_init(&catalog->tables);
    number_map_init(&catalog->tablets);
    number_map_init(&catalog->stores);
    document_map_init(&catalog->documents);
    load_history_init(&catalog->load);
    load_details_init(&catalog->load_details);
    event_log_init(&catalog->events);
    list_init(&catalog->all_stores);
    list_init(&catalog->changed);
    list_init(&catalog->dropped);
    list_init(&catalog->gone);
    number_map_init(&catalog->gone_tablets);
    number_map_init(&catalog->origins);
    list_init(&catalog->unsettled);
    list_init(&catalog->dirty);
    list_init(&catalog->astray);
    list_init(&catalog->queue);
    list_init(&catalog->proposals);
    list_init(&catalog->waiters);
    arena_init(&catalog->scratch, SCRATCH_BLOCK_BYTES, SCRATCH_LIMIT_BYTES);
    *ret_catalog = catalog;
    return STATUS_OK;
}

static void destroy_tables(struct catalog *catalog)
{
    LIST_FOREACH(struct tablet, tablet, &catalog->dirty) {
        if (!list_is_linked(&tablet->changed.link)) { /* left over from a failed load */
            state_tablet_destroy(tablet);
        }
    }
    for (size_t i = 0; i < catalog->table_count; i++) {
        struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count; j++) {
            state_tablet_destroy(entry->tablets[j]);
        }
    }
}

static void destroy_servers(struct catalog *catalog)
{
    LIST_FOREACH(struct store, store, &catalog->all_stores) {
        memory_free(store);
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        struct server *server = catalog->servers[i];
        state_server_image_destroy(server->image);
        state_server_image_destroy(server->seen);
        memory_free(server->held);
        memory_free(server);
    }
}

void catalog_destroy(struct catalog *catalog)
{
    if (catalog == NULL) {
        return;
    }
    if (catalog->pending != NULL) {
        if (catalog->pending->request != NULL) {
            request_destroy(catalog, catalog->pending->request);
        }
        LIST_FOREACH(struct open_request, staged, &catalog->pending->proposals) {
            request_destroy(catalog, staged);
        }
        transaction_destroy(catalog->pending);
    }
    LIST_FOREACH(struct open_request, queued, &catalog->queue) {
        request_destroy(catalog, queued);
    }
    LIST_FOREACH(struct open_request, proposal, &catalog->proposals) {
        request_destroy(catalog, proposal);
    }
    LIST_FOREACH(struct open_request, waiter, &catalog->waiters) {
        request_destroy(catalog, waiter);
    }
    LIST_FOREACH(struct changed, changed, &catalog->changed) {
        if (changed->kind == CHANGED_TABLET_GONE || changed->kind == CHANGED_TABLE_GONE) {
            memory_free(changed->object);
        }
    }
    for (size_t i = 0; i < catalog->wish_count; i++) {
        memory_free(catalog->wishes[i].row);
    }
    destroy_tables(catalog);
    for (size_t i = 0; i < catalog->table_count; i++) {
        state_entry_destroy(catalog->by_name[i]);
    }
    destroy_servers(catalog);
    number_map_deinit(&catalog->tables);
    number_map_deinit(&catalog->tablets);
    number_map_deinit(&catalog->stores);
    number_map_deinit(&catalog->gone_tablets);
    number_map_deinit(&catalog->origins);
    document_map_deinit(&catalog->documents);
    load_history_deinit(&catalog->load);
    load_details_deinit(&catalog->load_details);
    event_log_deinit(&catalog->events);
    load_order_forget_all(catalog);
    memory_free(catalog->by_name);
    memory_free(catalog->servers);
    memory_free(catalog->effects);
    arena_deinit(&catalog->scratch);
    memory_free(catalog);
}

/* --- events of other reigns ----------------------------------------------------------------------- */

void catalog_take_events(struct catalog *catalog, struct event_log *events, int64_t now_us)
{
    event_log_move(&catalog->events, events);
    event_log_begin(&catalog->events, now_us);
}

void catalog_give_events(struct catalog *catalog, struct event_log *ret_events)
{
    event_log_move(ret_events, &catalog->events);
}

const struct event_log *catalog_events(const struct catalog *catalog)
{
    return &catalog->events;
}
