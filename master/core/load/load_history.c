#include "master/core/load/load_history.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* A tablet that was hot: for a minute that is over, or in the running one. */
struct load_entry {
    struct list_link link;
    struct hot_tablet hot; /* its keys lie behind the struct */
    size_t size_bytes;
};

/* A server's running minute. */
struct load_server {
    struct list_link link;
    uint64_t number;
    uint64_t incarnation;
    uint64_t report;  /* number of the last one taken */
    int64_t start_us; /* of the first report's time in this minute */
    int64_t end_us;   /* of the last one's */
    uint64_t capacity_ns;
    struct list running;           /* of struct load_entry: hot in some report of this minute */
    struct number_map running_map; /* the same by tablet */
};

static bool is_hot(const struct load_figures *figures, uint64_t capacity_ns)
{
    uint64_t cpu_ns = figures->read_cpu_ns + figures->write_cpu_ns;
    return cpu_ns > 0 && cpu_ns >= capacity_ns / 100 * LOAD_HOT_PERCENT;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void load_figures_add(struct load_figures *sum, const struct load_figures *added)
{
    sum->reads += added->reads;
    sum->read_rows += added->read_rows;
    sum->read_bytes += added->read_bytes;
    sum->read_cpu_ns += added->read_cpu_ns;
    sum->writes += added->writes;
    sum->write_cells += added->write_cells;
    sum->write_bytes += added->write_bytes;
    sum->write_cpu_ns += added->write_cpu_ns;
    sum->read_wait_ns += added->read_wait_ns;
    sum->read_latency_ns += added->read_latency_ns;
    sum->read_latency_max_ns = larger(sum->read_latency_max_ns, added->read_latency_max_ns);
    sum->write_wait_ns += added->write_wait_ns;
    sum->write_latency_ns += added->write_latency_ns;
    sum->write_latency_max_ns = larger(sum->write_latency_max_ns, added->write_latency_max_ns);
}

/* --- entries ------------------------------------------------------------------------------------ */

static struct bytes copy_key(uint8_t *at, struct bytes key)
{
    if (key.size_bytes > 0) {
        memcpy(at, key.data, key.size_bytes);
    }
    return bytes_of(at, key.size_bytes);
}

/* NULL without memory. */
static struct load_entry *entry_create(uint64_t server,
                                       uint64_t tablet,
                                       const struct load_place *place)
{
    size_t start_bytes = place->range.start.size_bytes;
    size_t size_bytes = sizeof(struct load_entry) + start_bytes + place->range.end.size_bytes;
    struct load_entry *entry = memory_allocate(size_bytes);
    if (entry == NULL) {
        return NULL;
    }
    uint8_t *keys = (uint8_t *)(entry + 1);
    *entry = (struct load_entry){
        .hot = {.table = place->table,
                .tablet = tablet,
                .server = server,
                .range = {copy_key(keys, place->range.start),
                          copy_key(keys + start_bytes, place->range.end)}},
        .size_bytes = size_bytes,
    };
    return entry;
}

static void drop(struct load_history *history, struct load_entry *entry)
{
    list_remove(&entry->link);
    history->entry_count -= 1;
    history->entry_bytes -= entry->size_bytes;
    memory_free(entry);
}

/* What a clock that was ahead has dated: it would be the newest until that time has come. */
static void drop_what_is_to_come(struct load_history *history, int64_t now_us)
{
    LIST_FOREACH(struct load_entry, entry, &history->entries) {
        if (entry->hot.start_us > now_us) {
            drop(history, entry);
        }
    }
}

static bool is_too_much(const struct load_history *history, int64_t now_us)
{
    const struct load_entry *oldest = list_first(&history->entries);
    return oldest != NULL && (history->entry_count > history->entries_max ||
                              history->entry_bytes > history->bytes_max ||
                              oldest->hot.end_us < now_us - LOAD_AGE_MAX_US);
}

/* Is there no room to follow one more of so many bytes? */
static bool is_full(const struct load_history *history, size_t size_bytes)
{
    return history->running_count >= history->entries_max ||
           history->running_bytes + size_bytes > history->bytes_max;
}

/* Takes the entry over. */
static void write_down(struct load_history *history, struct load_entry *entry)
{
    entry->hot.number = ++history->last_number;
    list_append(&history->entries, &entry->link, entry);
    history->entry_count += 1;
    history->entry_bytes += entry->size_bytes;
}

/* --- minutes ------------------------------------------------------------------------------------ */

/* The minute that runs, as far as it has come. */
static void tell_time(const struct load_server *server, struct hot_tablet *hot)
{
    hot->start_us = server->start_us;
    hot->end_us = server->end_us;
    hot->capacity_ns = server->capacity_ns;
}

static void end_minute(struct load_history *history, struct load_server *server)
{
    LIST_FOREACH(struct load_entry, entry, &server->running) {
        list_remove(&entry->link);
        (void)number_map_remove(&server->running_map, entry->hot.tablet);
        history->running_count -= 1;
        history->running_bytes -= entry->size_bytes;
        if (is_hot(&entry->hot.figures, server->capacity_ns)) {
            tell_time(server, &entry->hot);
            write_down(history, entry);
        } else {
            memory_free(entry);
        }
    }
    server->capacity_ns = 0;
}

static void look_at_clock(struct load_history *history, int64_t now_us)
{
    int64_t minute_us = now_us - now_us % LOAD_MINUTE_US;
    if (minute_us != history->minute_us) {
        LIST_FOREACH(struct load_server, server, &history->servers) {
            end_minute(history, server);
        }
        if (minute_us < history->minute_us) {
            drop_what_is_to_come(history, now_us);
        }
        history->minute_us = minute_us;
    }
    while (is_too_much(history, now_us)) {
        drop(history, list_first(&history->entries));
    }
}

/* --- servers ------------------------------------------------------------------------------------ */

/* NULL without memory. */
static struct load_server *find_server(struct load_history *history, uint64_t number)
{
    struct load_server *server = number_map_get(&history->server_map, number);
    if (server != NULL) {
        return server;
    }
    if (number_map_reserve(&history->server_map, 1) != STATUS_OK) {
        return NULL;
    }
    server = memory_allocate_zeroed(1, sizeof *server);
    if (server != NULL) {
        server->number = number;
        list_init(&server->running);
        number_map_init(&server->running_map);
        list_append(&history->servers, &server->link, server);
        (void)number_map_put(&history->server_map, number, server);
    }
    return server;
}

/* Follow a tablet from now to the end of the minute.  NULL if it is gone, or without room for it. */
static struct load_entry *follow(struct load_history *history,
                                 struct load_server *server,
                                 uint64_t tablet,
                                 load_find find,
                                 void *context)
{
    struct load_place place;

    if (tablet == 0 || !find(context, tablet, &place) ||
        number_map_reserve(&server->running_map, 1) != STATUS_OK) {
        return NULL;
    }
    struct load_entry *entry = entry_create(server->number, tablet, &place);
    if (entry != NULL && is_full(history, entry->size_bytes)) {
        memory_free(entry);
        return NULL;
    }
    if (entry != NULL) {
        list_append(&server->running, &entry->link, entry);
        (void)number_map_put(&server->running_map, tablet, entry);
        history->running_count += 1;
        history->running_bytes += entry->size_bytes;
    }
    return entry;
}

/* Did its tablets use no more than there was?  Clocks are not looked at in one moment, so up to
 * LOAD_CAPACITY_TIMES of it is taken. */
static bool is_possible(const struct load_report *report)
{
    if (report->capacity_ns == 0 || report->capacity_ns > LOAD_CAPACITY_MAX_NS) {
        return false;
    }
    uint64_t left_ns = report->capacity_ns * LOAD_CAPACITY_TIMES;
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct load_figures *figures = &report->tablets[i].figures;
        if (figures->read_cpu_ns > left_ns ||
            figures->write_cpu_ns > left_ns - figures->read_cpu_ns) {
            return false;
        }
        left_ns -= figures->read_cpu_ns + figures->write_cpu_ns;
    }
    return true;
}

static bool is_news(struct load_server *server,
                    const struct load_source *source,
                    const struct load_report *report)
{
    if (report->number == 0 || source->incarnation < server->incarnation ||
        (source->incarnation == server->incarnation && report->number <= server->report)) {
        return false;
    }
    server->incarnation = source->incarnation;
    server->report = report->number;
    return true;
}

static void take_time(struct load_server *server,
                      const struct load_report *report,
                      int64_t minute_us,
                      int64_t now_us)
{
    if (server->capacity_ns == 0) {
        /* The first report's time began before the minute mostly, and so do its figures: with less than
         * all of its time they would be rates that never were. */
        int64_t least_us = minute_us - LOAD_MINUTE_US;
        int64_t start_us = now_us -
                           (int64_t)(report->elapsed_ns / 1000 % (uint64_t)LOAD_AGE_MAX_US);
        server->start_us = start_us > least_us ? start_us : least_us;
    }
    server->end_us = now_us;
    server->capacity_ns += report->capacity_ns;
}

bool load_history_take(struct load_history *history,
                       const struct load_source *source,
                       const struct load_report *report,
                       load_find find,
                       void *context)
{
    look_at_clock(history, source->now_us);
    if (report->number == 0) {
        return false;
    }
    struct load_server *server = find_server(history, source->server);
    if (server == NULL || !is_news(server, source, report) || !is_possible(report)) {
        return false;
    }
    take_time(server, report, history->minute_us, source->now_us);
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct tablet_load *load = &report->tablets[i];
        struct load_entry *entry = number_map_get(&server->running_map, load->tablet);
        if (entry == NULL && is_hot(&load->figures, report->capacity_ns)) {
            entry = follow(history, server, load->tablet, find, context);
        }
        if (entry != NULL) {
            load_figures_add(&entry->hot.figures, &load->figures);
        }
    }
    return true;
}

/* --- listing ------------------------------------------------------------------------------------ */

/* A page being filled, or counted while it has no room. */
struct filling {
    const struct list_hot_tablets_request *request;
    size_t count_max;
    size_t size_bytes;
    struct load_page page;
};

static bool overlaps(const struct list_hot_tablets_request *request,
                     int64_t start_us,
                     int64_t end_us)
{
    return end_us > request->start_us && start_us < request->end_us;
}

/* False: the page is full, and this one is left for the next. */
static bool put(struct filling *filling, const struct hot_tablet *hot)
{
    size_t size_bytes = sizeof *hot + hot->range.start.size_bytes + hot->range.end.size_bytes;
    if (filling->page.count == filling->count_max ||
        (filling->page.count > 0 && filling->size_bytes + size_bytes > LOAD_PAGE_BYTES_MAX)) {
        filling->page.next = hot->number - 1;
        return false;
    }
    filling->page.tablets[filling->page.count++] = *hot;
    filling->size_bytes += size_bytes;
    return true;
}

static void put_entries(const struct load_history *history, struct filling *filling)
{
    LIST_FOREACH(const struct load_entry, entry, &history->entries) {
        if (entry->hot.number > filling->request->after &&
            overlaps(filling->request, entry->hot.start_us, entry->hot.end_us) &&
            !put(filling, &entry->hot)) {
            return;
        }
    }
}

/* They have no number to go on from, so all of them are on the last page: it may be longer. */
static void put_running(const struct load_server *server, struct filling *filling)
{
    if (!overlaps(filling->request, server->start_us, server->end_us)) {
        return;
    }
    LIST_FOREACH(const struct load_entry, entry, &server->running) {
        if (is_hot(&entry->hot.figures, server->capacity_ns)) {
            struct hot_tablet *hot = &filling->page.tablets[filling->page.count++];
            *hot = entry->hot;
            tell_time(server, hot);
        }
    }
}

enum status load_history_list(struct load_history *history,
                              const struct list_hot_tablets_request *request,
                              int64_t now_us,
                              struct arena *arena,
                              struct load_page *ret_page)
{
    struct filling filling = {.request = request, .count_max = LOAD_PAGE_ENTRIES_MAX};
    size_t room = 0;

    look_at_clock(history, now_us);
    if (request->count_max > 0 && request->count_max < filling.count_max) {
        filling.count_max = request->count_max;
    }
    LIST_FOREACH(const struct load_server, server, &history->servers) {
        room += server->running_map.count;
    }
    room += history->entry_count < filling.count_max ? history->entry_count : filling.count_max;
    filling.page.tablets = arena_allocate_array(arena, room + 1, sizeof *filling.page.tablets);
    if (filling.page.tablets == NULL) {
        return STATUS_NO_MEMORY;
    }
    put_entries(history, &filling);
    if (filling.page.next == 0) {
        LIST_FOREACH(const struct load_server, server, &history->servers) {
            put_running(server, &filling);
        }
    }
    ASSERT(filling.page.count <= room);
    *ret_page = filling.page;
    return STATUS_OK;
}

/* --- life --------------------------------------------------------------------------------------- */

void load_history_init(struct load_history *history)
{
    *history = (struct load_history){.entries_max = LOAD_ENTRIES_MAX, .bytes_max = LOAD_BYTES_MAX};
    list_init(&history->servers);
    list_init(&history->entries);
    number_map_init(&history->server_map);
}

void load_history_deinit(struct load_history *history)
{
    LIST_FOREACH(struct load_server, server, &history->servers) {
        LIST_FOREACH(struct load_entry, entry, &server->running) {
            memory_free(entry);
        }
        number_map_deinit(&server->running_map);
        memory_free(server);
    }
    LIST_FOREACH(struct load_entry, entry, &history->entries) {
        memory_free(entry);
    }
    number_map_deinit(&history->server_map);
}

void load_history_check(const struct load_history *history)
{
    size_t count = 0;
    size_t size_bytes = 0;
    uint64_t number = 0;

    LIST_FOREACH(const struct load_entry, entry, &history->entries) {
        ASSERT(entry->hot.number > number);
        ASSERT(is_hot(&entry->hot.figures, entry->hot.capacity_ns));
        number = entry->hot.number;
        count += 1;
        size_bytes += entry->size_bytes;
    }
    ASSERT(number <= history->last_number);
    ASSERT(count == history->entry_count);
    ASSERT(size_bytes == history->entry_bytes);
    count = 0;
    size_bytes = 0;
    LIST_FOREACH(const struct load_server, server, &history->servers) {
        ASSERT(number_map_get(&history->server_map, server->number) == server);
        size_t running = 0;
        LIST_FOREACH(const struct load_entry, entry, &server->running) {
            ASSERT(number_map_get(&server->running_map, entry->hot.tablet) == entry);
            running += 1;
            size_bytes += entry->size_bytes;
        }
        ASSERT(running == server->running_map.count);
        count += running;
    }
    ASSERT(count == history->running_count && count <= history->entries_max);
    ASSERT(size_bytes == history->running_bytes && size_bytes <= history->bytes_max);
}
