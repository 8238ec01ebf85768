#include "master/placement/placement.h"

/* What one candidate would mean, in order of importance: smaller is better. */
struct score {
    bool avoided;
    bool low; /* on space */
    bool zone_taken;
    uint64_t zone_table_tablets;
    uint64_t server_table_tablets;
    uint64_t server_tablets;
    uint64_t order;
    uint64_t store_tablets;
    uint64_t used_space; /* ~free_bytes: more free is better */
    uint64_t server;
    uint64_t store;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool score_is_better(const struct score *a, const struct score *b)
{
    const uint64_t left[] = {a->avoided,
                             a->low,
                             a->zone_taken,
                             a->zone_table_tablets,
                             a->server_table_tablets,
                             a->server_tablets,
                             a->order,
                             a->store_tablets,
                             a->used_space,
                             a->server,
                             a->store};
    const uint64_t right[] = {b->avoided,
                              b->low,
                              b->zone_taken,
                              b->zone_table_tablets,
                              b->server_table_tablets,
                              b->server_tablets,
                              b->order,
                              b->store_tablets,
                              b->used_space,
                              b->server,
                              b->store};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        int order = compare_numbers(left[i], right[i]);
        if (order != 0) {
            return order < 0;
        }
    }
    return false;
}

/* Tablets of the table per server of the zone, so that zones of different size share fairly;
 * scaled to avoid fractions. */
static uint64_t zone_load(const struct placement_store *stores, size_t count, struct bytes zone)
{
    uint64_t tablets = 0;
    uint64_t servers = 0;
    uint64_t last_server = 0;

    for (size_t i = 0; i < count; i++) {
        if (!stores[i].usable || !bytes_equal(stores[i].zone, zone)) {
            continue;
        }
        tablets += stores[i].table_tablets;
        servers += stores[i].server != last_server;
        last_server = stores[i].server;
    }
    return servers == 0 ? 0 : tablets * 1000 / servers;
}

static struct score score_of(const struct placement_store *stores,
                             size_t count,
                             size_t index,
                             uint64_t avoid_server)
{
    const struct placement_store *store = &stores[index];
    struct score score = {
        .avoided = store->server == avoid_server,
        .low = store->free_bytes < PLACEMENT_FREE_BYTES_LOW,
        .zone_taken = store->zone_taken,
        .zone_table_tablets = zone_load(stores, count, store->zone),
        .order = store->order,
        .store_tablets = store->tablet_count,
        .used_space = ~store->free_bytes,
        .server = store->server,
        .store = store->store,
    };

    for (size_t i = 0; i < count; i++) {
        if (stores[i].server == store->server) {
            score.server_table_tablets += stores[i].table_tablets;
            score.server_tablets += stores[i].tablet_count;
        }
    }
    return score;
}

static uint64_t order_of(uint64_t server, uint64_t salt)
{
    uint64_t mixed = (server * UINT64_C(0x9e3779b97f4a7c15)) ^
                     (salt * UINT64_C(0xc2b2ae3d27d4eb4f));
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return salt == 0 ? 0 : mixed ^ (mixed >> 32);
}

void placement_begin(struct placement_store *stores, size_t store_count, uint64_t salt)
{
    for (size_t i = 0; i < store_count; i++) {
        stores[i].order = order_of(stores[i].server, salt);
        stores[i].taken = false;
        stores[i].zone_taken = false;
    }
}

void placement_take(struct placement_store *stores, size_t store_count, uint64_t server)
{
    struct bytes zone = BYTES_EMPTY;
    for (size_t i = 0; i < store_count; i++) {
        if (stores[i].server == server) {
            stores[i].taken = true;
            zone = stores[i].zone;
        }
    }
    for (size_t i = 0; i < store_count && zone.size_bytes > 0; i++) {
        stores[i].zone_taken = stores[i].zone_taken || bytes_equal(stores[i].zone, zone);
    }
}

bool placement_choose(struct placement_store *stores,
                      size_t store_count,
                      uint64_t avoid_server,
                      size_t *ret_index)
{
    struct score best = {0};
    size_t best_index = store_count;

    for (size_t i = 0; i < store_count; i++) {
        if (!stores[i].usable || stores[i].taken) {
            continue;
        }
        struct score score = score_of(stores, store_count, i, avoid_server);
        if (best_index == store_count || score_is_better(&score, &best)) {
            best = score;
            best_index = i;
        }
    }
    if (best_index == store_count) {
        return false;
    }
    stores[best_index].tablet_count++;
    stores[best_index].table_tablets++;
    *ret_index = best_index;
    return true;
}

static uint64_t leads_of(const struct placement_store *stores, size_t count, uint64_t server)
{
    uint64_t leads = 0;
    for (size_t i = 0; i < count; i++) {
        leads += stores[i].server == server ? stores[i].lead_count : 0;
    }
    return leads;
}

void placement_lead(struct placement_store *stores,
                    size_t store_count,
                    size_t *chosen,
                    size_t chosen_count)
{
    size_t best = 0;
    uint64_t best_leads = UINT64_MAX;

    for (size_t i = 0; i < chosen_count; i++) {
        uint64_t leads = leads_of(stores, store_count, stores[chosen[i]].server);
        if (leads < best_leads) {
            best = i;
            best_leads = leads;
        }
    }
    size_t leader = chosen[best];
    chosen[best] = chosen[0];
    chosen[0] = leader;
    stores[leader].lead_count++;
}
