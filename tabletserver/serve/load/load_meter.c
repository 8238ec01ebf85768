#include "tabletserver/serve/load/load_meter.h"

#include <pthread.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/processors.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync/served_list.h"
#include "tabletserver/tablet/load_share.h"

/* CPU time used since the start. */
struct cpu_times {
    int64_t process_ns;
    int64_t own_ns; /* by what the server does for itself: background threads, this one */
    int64_t loops_ns[SERVER_STORES_MAX];
};

struct load_meter {
    struct server *server;
    struct cpu_times before;
    int64_t begun_ns; /* of the period that is being counted; 0 = none yet */
    struct load_item *items;
    struct tablet_load *tablets;
    uint32_t *places; /* in the sampling, of each */
    size_t capacity;  /* of all three */
    struct load_report report;
    int64_t report_ns; /* when it was made */
};

/* --- CPU time ----------------------------------------------------------------------------------- */

static void look_at_clocks(const struct server *server, struct cpu_times *ret_times)
{
    struct cpu_times times = {.own_ns = clock_thread_cpu_ns(pthread_self())};
    for (uint32_t i = 0; i < server->loop_count; i++) {
        times.loops_ns[i] = store_loop_cpu_ns(server->loops[i]);
        times.own_ns += store_background_cpu_ns(store_loop_store(server->loops[i]));
    }
    times.process_ns = clock_process_cpu_ns();
    *ret_times = times;
}

static uint64_t since(int64_t before_ns, int64_t now_ns)
{
    return now_ns > before_ns ? (uint64_t)(now_ns - before_ns) : 0;
}

/* --- counts ------------------------------------------------------------------------------------- */

/* All of it or none: the report that waits lies in what there is. */
static bool make_room(struct load_meter *meter, size_t count)
{
    if (count <= meter->capacity) {
        return true;
    }
    struct load_item *items = memory_allocate(count * sizeof *items);
    struct tablet_load *tablets = memory_allocate(count * sizeof *tablets);
    uint32_t *places = memory_allocate(count * sizeof *places);
    if (items == NULL || tablets == NULL || places == NULL) {
        memory_free(items);
        memory_free(tablets);
        memory_free(places);
        return false;
    }
    memory_free(meter->items);
    memory_free(meter->tablets);
    memory_free(meter->places);
    meter->items = items;
    meter->tablets = tablets;
    meter->places = places;
    meter->capacity = count;
    return true;
}

static uint32_t loop_index(const struct server *server, const struct store_loop *loop)
{
    uint32_t index = 0;
    while (index < server->loop_count && server->loops[index] != loop) {
        index += 1;
    }
    return index;
}

/* A scan counts as one read, but is busy for as long as it goes on. */
static bool is_idle(const struct load_counts *counts)
{
    return counts->read.reads + counts->read.busy_ns + counts->read.evaluate_ns +
               counts->write.writes ==
           0;
}

/* There is room. */
static void collect(struct load_meter *meter, const struct served *served)
{
    size_t at = meter->report.tablet_count;
    uint32_t loop = loop_index(meter->server, served->loop);

    if (loop == meter->server->loop_count) {
        return;
    }
    struct load_counts counts = load_counters_take(store_tablet_load(served->tablet));
    uint32_t place = load_sampling_see(meter->server->sampling, served->tablet, &counts);
    if (is_idle(&counts)) {
        return;
    }
    meter->places[at] = place;
    meter->items[at] = (struct load_item){.loop = loop, .counts = counts};
    meter->tablets[at] = (struct tablet_load){
        .tablet = store_tablet_describe(served->tablet)->tablet,
        .figures = {.reads = counts.read.reads,
                    .read_rows = counts.read.rows,
                    .read_bytes = counts.read.bytes,
                    .writes = counts.write.writes,
                    .write_cells = counts.write.cells,
                    .write_bytes = counts.write.bytes,
                    .read_wait_ns = counts.read.wait_ns,
                    .read_latency_ns = counts.read.latency_ns,
                    .read_latency_max_ns = counts.read.latency_max_ns,
                    .write_wait_ns = counts.write.wait_ns,
                    .write_latency_ns = counts.write.latency_ns,
                    .write_latency_max_ns = counts.write.latency_max_ns},
    };
    meter->report.tablet_count += 1;
}

/* --- reports ------------------------------------------------------------------------------------ */

static void share_out(struct load_meter *meter, const struct cpu_times *now)
{
    const struct cpu_times *before = &meter->before;
    uint64_t loops_ns[SERVER_STORES_MAX] = {0};
    uint64_t process_ns = since(before->process_ns, now->process_ns);
    uint64_t own_ns = since(before->own_ns, now->own_ns);

    for (uint32_t i = 0; i < meter->server->loop_count; i++) {
        loops_ns[i] = since(before->loops_ns[i], now->loops_ns[i]);
    }
    const struct load_period period = {
        .requests_ns = process_ns > own_ns ? process_ns - own_ns : 0,
        .loops_ns = loops_ns,
        .loop_count = meter->server->loop_count,
    };
    load_share(&period, meter->items, meter->report.tablet_count);
    for (size_t i = 0; i < meter->report.tablet_count; i++) {
        meter->tablets[i].figures.read_cpu_ns = meter->items[i].read_cpu_ns;
        meter->tablets[i].figures.write_cpu_ns = meter->items[i].write_cpu_ns;
    }
}

static void add_details(struct load_meter *meter)
{
    struct load_sampling *sampling = meter->server->sampling;
    load_sampling_end(sampling);
    for (size_t i = 0; i < meter->report.tablet_count; i++) {
        meter->tablets[i].detail = load_sampling_detail(sampling, meter->places[i]);
    }
}

/* Look how much processor there is, and tell the stores, whose background work keeps to its share of it. */
static uint64_t tell_processors(const struct server *server)
{
    uint64_t permille = processors_permille();
    for (uint32_t i = 0; i < server->loop_count; i++) {
        store_set_processors(store_loop_store(server->loops[i]), permille);
    }
    return permille;
}

/* The first one is empty: nobody knows since when its counts are. */
static void make_report(struct load_meter *meter, const struct served_list *served, int64_t now_ns)
{
    bool first = meter->begun_ns == 0;
    struct cpu_times times;

    look_at_clocks(meter->server, &times);
    meter->report.elapsed_ns = first ? 0 : since(meter->begun_ns, now_ns);
    load_sampling_begin(meter->server->sampling, now_ns, meter->report.elapsed_ns);
    meter->report.tablets = meter->tablets;
    meter->report.tablet_count = 0;
    for (size_t i = 0; i < served->count; i++) {
        collect(meter, &served->items[i]);
    }
    meter->report.tablet_count = first ? 0 : meter->report.tablet_count;
    add_details(meter);
    share_out(meter, &times);
    meter->report.number += 1;
    meter->report.capacity_ns = meter->report.elapsed_ns / 1000 * tell_processors(meter->server);
    meter->before = times;
    meter->begun_ns = now_ns;
    meter->report_ns = now_ns;
}

void load_meter_tick(struct load_meter *meter, int64_t now_ns)
{
    bool told = meter->report_ns == 0;
    bool stale = now_ns - meter->report_ns > LOAD_REPORT_AGE_MAX_NS;
    struct served_list served = {.items = NULL};

    if ((told || stale) && served_list_make(meter->server->served, &served) == STATUS_OK &&
        make_room(meter, served.count)) {
        make_report(meter, &served, now_ns);
    }
    served_list_release(&served);
}

struct load_report load_meter_report(const struct load_meter *meter)
{
    return meter->report_ns != 0 ? meter->report : (struct load_report){0};
}

void load_meter_told(struct load_meter *meter, uint64_t number)
{
    if (number == meter->report.number) {
        meter->report_ns = 0;
    }
}

enum status load_meter_create(struct server *server, struct load_meter **ret_meter)
{
    struct load_meter *meter = memory_allocate_zeroed(1, sizeof *meter);
    if (meter == NULL) {
        return STATUS_NO_MEMORY;
    }
    meter->server = server;
    *ret_meter = meter;
    return STATUS_OK;
}

void load_meter_destroy(struct load_meter *meter)
{
    if (meter != NULL) {
        memory_free(meter->items);
        memory_free(meter->tablets);
        memory_free(meter->places);
        memory_free(meter);
    }
}
