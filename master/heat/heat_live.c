#include "master/heat/heat_live.h"

#include <string.h>

#include "common/base/memory.h"
#include "master/core/load/load_history.h"

#define SERVERS_MAX 4096
#define NS_A_SECOND 1e9

void heat_live_init(struct heat_live *live)
{
    *live = (struct heat_live){0};
    list_init(&live->servers);
    number_map_init(&live->by_number);
    number_map_init(&live->tablets);
}

static void drop_tablet(struct heat_live *live, struct heat_live_tablet *tablet)
{
    (void)number_map_remove(&live->tablets, tablet->tablet);
    list_remove(&tablet->link);
    memory_free(tablet->keys);
    memory_free(tablet);
}

static void drop_server(struct heat_live *live, struct heat_live_server *server)
{
    LIST_FOREACH(struct heat_live_tablet, tablet, &server->tablets) {
        drop_tablet(live, tablet);
    }
    (void)number_map_remove(&live->by_number, server->number);
    list_remove(&server->link);
    live->server_count -= 1;
    memory_free(server);
}

void heat_live_deinit(struct heat_live *live)
{
    LIST_FOREACH(struct heat_live_server, server, &live->servers) {
        drop_server(live, server);
    }
    number_map_deinit(&live->by_number);
    number_map_deinit(&live->tablets);
}

double heat_rates_cpu(const struct heat_rates *rates)
{
    return rates->read_cpu + rates->write_cpu;
}

/* --- finding ------------------------------------------------------------------------------------ */

static struct heat_live_server *server_make(struct heat_live *live, uint64_t number)
{
    struct heat_live_server *server = number == 0 ? NULL : number_map_get(&live->by_number, number);

    if (server != NULL || number == 0 || live->server_count >= SERVERS_MAX ||
        number_map_reserve(&live->by_number, 1) != STATUS_OK) {
        return server;
    }
    server = memory_allocate_zeroed(1, sizeof *server);
    if (server != NULL) {
        server->number = number;
        list_init(&server->tablets);
        list_append(&live->servers, &server->link, server);
        (void)number_map_put(&live->by_number, number, server);
        live->server_count += 1;
    }
    return server;
}

/* Its range may have changed: a tablet that was split keeps its number on one side. */
static bool place_tablet(struct heat_live_tablet *tablet, const struct row_range *range)
{
    if (tablet->keys != NULL && bytes_equal(tablet->range.start, range->start) &&
        bytes_equal(tablet->range.end, range->end)) {
        return true;
    }
    uint8_t *keys = memory_allocate(range->start.size_bytes + range->end.size_bytes + 1);
    if (keys == NULL) {
        return false;
    }
    if (range->start.size_bytes > 0) {
        memcpy(keys, range->start.data, range->start.size_bytes);
    }
    if (range->end.size_bytes > 0) {
        memcpy(keys + range->start.size_bytes, range->end.data, range->end.size_bytes);
    }
    memory_free(tablet->keys);
    tablet->keys = keys;
    tablet->range = (struct row_range){
        bytes_of(keys, range->start.size_bytes),
        bytes_of(keys + range->start.size_bytes, range->end.size_bytes),
    };
    return true;
}

static struct heat_live_tablet *tablet_make(struct heat_live *live, const struct located_load *load)
{
    struct heat_live_tablet *tablet = number_map_get(&live->tablets, load->tablet);

    if (tablet == NULL) {
        if (live->tablets.count >= HEAT_LIVE_TABLETS_MAX ||
            number_map_reserve(&live->tablets, 1) != STATUS_OK) {
            return NULL;
        }
        tablet = memory_allocate_zeroed(1, sizeof *tablet);
        if (tablet == NULL) {
            return NULL;
        }
        tablet->tablet = load->tablet;
        (void)number_map_put(&live->tablets, load->tablet, tablet);
    }
    tablet->table = load->table;
    if (!place_tablet(tablet, &load->range)) {
        drop_tablet(live, tablet);
        return NULL;
    }
    return tablet;
}

/* --- taking ------------------------------------------------------------------------------------- */

static void blend(double *rate, uint64_t count, double seconds, double weight, double unit)
{
    *rate += ((double)count / unit / seconds - *rate) * weight;
}

static void blend_all(struct heat_rates *rates,
                      const struct load_figures *figures,
                      double seconds,
                      bool first)
{
    double weight = first ? 1 : seconds / (seconds + HEAT_LIVE_SECONDS);
    blend(&rates->reads, figures->reads, seconds, weight, 1);
    blend(&rates->read_rows, figures->read_rows, seconds, weight, 1);
    blend(&rates->read_bytes, figures->read_bytes, seconds, weight, 1);
    blend(&rates->read_cpu, figures->read_cpu_ns, seconds, weight, NS_A_SECOND);
    blend(&rates->writes, figures->writes, seconds, weight, 1);
    blend(&rates->write_cells, figures->write_cells, seconds, weight, 1);
    blend(&rates->write_bytes, figures->write_bytes, seconds, weight, 1);
    blend(&rates->write_cpu, figures->write_cpu_ns, seconds, weight, NS_A_SECOND);
}

/* The detail's figures are of the report's time. */
static void take_detail(struct heat_live_tablet *tablet,
                        const struct load_detail *detail,
                        double seconds)
{
    double all = 0;

    tablet->appended = (double)detail->appended_permille / 1000;
    tablet->frequent_count = 0;
    for (size_t i = 0; i < detail->point_count; i++) {
        all += (double)detail->points[i].reads + (double)detail->points[i].writes;
    }
    for (size_t i = 0; i < detail->key_count && i < HEAT_LIVE_KEYS; i++) {
        const struct load_key *key = &detail->keys[i];
        struct heat_live_key *frequent = &tablet->frequent[tablet->frequent_count++];
        size_t key_bytes = key->row.size_bytes < HEAT_LIVE_KEY_BYTES ? key->row.size_bytes
                                                                     : HEAT_LIVE_KEY_BYTES;
        double operations = (double)key->reads + (double)key->writes;
        frequent->reads = (double)key->reads / seconds;
        frequent->writes = (double)key->writes / seconds;
        frequent->share = all > operations ? operations / all : 1;
        frequent->key_bytes = key_bytes;
        if (key_bytes > 0) {
            memcpy(frequent->key, key->row.data, key_bytes);
        }
    }
}

/* Tablets that did nothing are not in the report: their rates fade all the same. */
static void fade_others(struct heat_live_server *server, double seconds, int64_t now_us)
{
    const struct load_figures nothing = {0};
    LIST_FOREACH(struct heat_live_tablet, tablet, &server->tablets) {
        if (tablet->heard_us != now_us) {
            blend_all(&tablet->rates, &nothing, seconds, false);
        }
    }
}

void heat_live_take(struct heat_live *live, const struct located_report *report, int64_t now_us)
{
    struct heat_live_server *server = server_make(live, report->server);
    double seconds = (double)report->elapsed_ns / NS_A_SECOND;
    struct load_figures sum = {0};

    if (server == NULL || report->elapsed_ns == 0) {
        return;
    }
    for (size_t i = 0; i < report->load_count; i++) {
        const struct located_load *load = &report->loads[i];
        struct heat_live_tablet *tablet = tablet_make(live, load);
        load_figures_add(&sum, &load->figures);
        if (tablet != NULL) {
            blend_all(&tablet->rates, &load->figures, seconds, tablet->heard_us == 0);
            take_detail(tablet, &load->detail, seconds);
            tablet->heard_us = now_us;
            tablet->server = server->number;
            list_append(&server->tablets, &tablet->link, tablet);
        }
    }
    fade_others(server, seconds, now_us);
    blend_all(&server->rates, &sum, seconds, server->heard_us == 0);
    server->capacity = (double)report->capacity_ns / (double)report->elapsed_ns;
    server->heard_us = now_us;
}

void heat_live_age(struct heat_live *live, int64_t now_us)
{
    LIST_FOREACH(struct heat_live_server, server, &live->servers) {
        LIST_FOREACH(struct heat_live_tablet, tablet, &server->tablets) {
            if (now_us - tablet->heard_us > HEAT_LIVE_GONE_US || tablet->heard_us > now_us) {
                drop_tablet(live, tablet);
            }
        }
        if (now_us - server->heard_us > HEAT_LIVE_GONE_US || server->heard_us > now_us) {
            drop_server(live, server);
        }
    }
}
