#include "tabletserver/serve/status_report.h"

#include <inttypes.h>

#include "common/base/json_text.h"
#include "common/io/http.h"
#include "common/io/metrics.h"
#include "common/io/transport/transport_budget.h"
#include "common/wire/writer.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync/served_list.h"

static const char *condition_text(enum store_condition condition)
{
    switch (condition) {
    case STORE_HEALTHY:
        return "healthy";
    case STORE_FULL:
        return "full";
    case STORE_FAILED:
        return "failed";
    }
    return "unknown";
}

static void append_text_member(struct buffer *out, const char *name, const char *value)
{
    buffer_append_format(out, "\"%s\":", name);
    json_text(out, bytes_of_text(value));
    buffer_append_u8(out, ',');
}

struct held_list {
    struct buffer *out;
    uint32_t count;
};

static void append_held(void *context, uint64_t table, uint64_t tablet, struct bytes row)
{
    struct held_list *list = context;
    struct buffer *out = list->out;
    buffer_append_format(out, "%s{\"tablet\":\"%" PRIu64 "\",\"table\":\"%" PRIu64 "\",\"row\":",
                         list->count > 0 ? "," : "", tablet, table);
    json_key(out, row); /* people are to delete it, by `ebt --escaped` */
    buffer_append_u8(out, '}');
    list->count++;
}

static void append_store(struct buffer *out, struct store_loop *loop)
{
    struct store *store = store_loop_store(loop);
    struct store_statistics statistics;

    store_loop_statistics(loop, &statistics);
    buffer_append_format(out, "{\"number\":\"%" PRIu64 "\",", store_number(store));
    append_text_member(out, "folder", store_loop_folder(loop));
    append_text_member(out, "condition", condition_text(statistics.condition));
    append_text_member(out, "trouble", statistics.trouble);
    buffer_append_format(out, "\"lacks_descriptors\":%s,",
                         statistics.lacks_descriptors ? "true" : "false");
    buffer_append_format(
        out,
        "\"memory_bytes\":%" PRIu64 ",\"log_bytes\":%" PRIu64 ",\"log_syncs\":%" PRIu64
        ",\"records\":%" PRIu64 ",\"flushes\":%" PRIu64 ",\"flushes_pending\":%" PRIu64
        ",\"flush_bytes\":%" PRIu64 ",\"base_used_bytes\":%" PRIu64 ",\"base_file_bytes\":%" PRIu64
        ",\"base_reusable_bytes\":%" PRIu64 ",\"disk_free_bytes\":%" PRIu64
        ",\"recovered_records\":%" PRIu64 ",\"torn_bytes\":%" PRIu64 ",\"bad_chunks\":%" PRIu64
        ",\"tablets_held\":%" PRIu64 ",\"held\":[",
        statistics.memory_bytes, statistics.log_bytes, statistics.log_syncs, statistics.records,
        statistics.flushes, statistics.flushes_pending, statistics.flush_bytes,
        statistics.base_used_bytes, statistics.base_file_bytes, statistics.base_reusable_bytes,
        statistics.disk_free_bytes, statistics.recovered_records, statistics.torn_bytes,
        statistics.bad_chunks, statistics.tablets_held);
    struct held_list list = {.out = out};
    store_visit_held(store, append_held, &list);
    buffer_append_format(out, "]}");
}

static void append_tablet(struct buffer *out, const struct served *served)
{
    const struct store_tablet_descriptor *descriptor = store_tablet_describe(served->tablet);
    struct store_tablet_statistics statistics;

    store_tablet_statistics(served->tablet, &statistics);
    struct load_counts load = load_counters_get(store_tablet_load(served->tablet));
    buffer_append_format(out, "{\"number\":\"%" PRIu64 "\",\"table\":\"%" PRIu64 "\",\"start\":",
                         descriptor->tablet, descriptor->table);
    json_text(out, descriptor->range.start);
    buffer_append_format(out, ",\"end\":");
    json_text(out, descriptor->range.end);
    buffer_append_format(
        out,
        ",\"base_bytes\":%" PRIu64 ",\"memtable_bytes\":%" PRIu64 ",\"flushes\":%" PRIu64
        ",\"reads\":%" PRIu64 ",\"read_rows\":%" PRIu64 ",\"read_bytes\":%" PRIu64
        ",\"writes\":%" PRIu64 ",\"write_bytes\":%" PRIu64 "}",
        statistics.base_bytes, statistics.memtable_bytes, statistics.flush_count, load.read.reads,
        load.read.rows, load.read.bytes, load.write.writes, load.write.bytes);
}

static void append_tablets(struct buffer *out, struct served_map *map)
{
    struct served_list served = {.items = NULL};
    if (served_list_make(map, &served) != STATUS_OK) {
        out->failed = true;
        return;
    }
    buffer_append_format(out, ",\"tablets\":[");
    for (size_t i = 0; i < served.count; i++) {
        buffer_append_format(out, "%s", i > 0 ? "," : "");
        append_tablet(out, &served.items[i]);
    }
    buffer_append_u8(out, ']');
    served_list_release(&served);
}

/* brief: without the tablets. */
static void append_report(struct server *server, bool brief, struct buffer *out)
{
    buffer_append_format(out, "{\"server\":\"%" PRIu64 "\",\"incarnation\":\"%" PRIu64 "\",",
                         server->number, server->incarnation);
    append_text_member(out, "address", server->address);
    append_text_member(out, "http_address", server->http_address);
    append_text_member(out, "zone", server->settings->zone);
    int64_t apart_us = 0;
    bool doubted = server_clock_is_doubted(&server->clock, &apart_us);
    buffer_append_format(out, "\"clock\":{\"doubted\":%s,\"ahead_us\":%" PRId64 "},",
                         doubted ? "true" : "false", apart_us);
    buffer_append_format(
        out, "\"master_connected\":%s,\"catalog_version\":%" PRIu64 ",\"stores\":[",
        sync_is_connected(server->sync) ? "true" : "false", sync_catalog_version(server->sync));
    for (uint32_t i = 0; i < server->loop_count; i++) {
        buffer_append_format(out, "%s", i > 0 ? "," : "");
        append_store(out, server->loops[i]);
    }
    buffer_append_format(out, "],\"unopened_stores\":[");
    for (uint32_t i = 0; i < server->unopened_count; i++) {
        buffer_append_format(out, "%s{", i > 0 ? "," : "");
        append_text_member(out, "folder", server->unopened[i].folder);
        buffer_append_format(out, "\"error\":");
        json_text(out, bytes_of_text(server->unopened[i].text));
        buffer_append_u8(out, '}');
    }
    buffer_append_u8(out, ']');
    if (!brief) {
        append_tablets(out, server->served);
    }
    buffer_append_u8(out, '}');
}

void status_report_write(struct server *server, bool brief, struct buffer *out)
{
    struct buffer report = BUFFER_INIT;
    append_report(server, brief, &report);
    if (report.failed) {
        out->failed = true;
    } else {
        wire_write_bytes(out, buffer_bytes(&report));
    }
    buffer_deinit(&report);
}

void status_report_on_status(void *context, const char *path, struct http_response *response)
{
    (void)path;
    if (!atomic_load(&((struct server *)context)->open)) {
        response->status = 503;
        return;
    }
    response->content_type = "application/json";
    append_report(context, false, &response->body);
    buffer_append_u8(&response->body, '\n');
}

void status_report_on_health(void *context, const char *path, struct http_response *response)
{
    struct server *server = context;
    (void)path;
    if (!atomic_load(&server->open)) {
        response->status = 503;
        buffer_append_format(&response->body, "starting or stopping\n");
        return;
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        struct store_statistics statistics;
        store_loop_statistics(server->loops[i], &statistics);
        if (statistics.condition != STORE_HEALTHY) {
            response->status = 503;
            buffer_append_format(&response->body, "store %s: %s: %s\n",
                                 store_loop_folder(server->loops[i]),
                                 condition_text(statistics.condition), statistics.trouble);
        } else if (statistics.lacks_descriptors) {
            response->status = 503;
            buffer_append_format(
                &response->body,
                "store %s: writes wait: as many files are open as may be (LimitNOFILE, "
                "ulimit -n), and the log wants another one\n",
                store_loop_folder(server->loops[i]));
        }
    }
    if (sync_is_folder_stuck(server->sync)) {
        response->status = 503;
        buffer_append_format(&response->body,
                             "folder %s: the disk stands still: for 10 s it has not taken what the "
                             "server notes there\n",
                             server->settings->folder);
    }
    for (uint32_t i = 0; i < server->unopened_count; i++) {
        response->status = 503;
        buffer_append_format(&response->body, "store %s: not opened: %s\n",
                             server->unopened[i].folder, server->unopened[i].text);
    }
    if (response->status != 503) {
        buffer_append_format(&response->body, "ok\n");
    }
}

static void set(const char *name, const char *help, uint64_t value)
{
    metric_set(metric_gauge(name, "", help), (int64_t)value);
}

static void count(const char *name, const char *help, uint64_t more)
{
    metric_add(metric_counter(name, "", help), (int64_t)more);
}

static void gauge_clock(struct server *server)
{
    int64_t apart_us = 0;
    set("edubba_clock_doubted", "1 while the machine's clock is not where it should be.",
        server_clock_is_doubted(&server->clock, &apart_us));
    metric_set(metric_gauge("edubba_clock_ahead_us", "",
                            "How far the machine's clock is ahead of the server's time."),
               apart_us);
}

/* What only rises while the server runs. */
static void tell_counts(const struct store_statistics *now, const struct store_statistics *told)
{
    count("edubba_log_syncs_total", "Batches of records that the log has synced.",
          now->log_syncs - told->log_syncs);
    count("edubba_log_records_total", "Records appended to the log.", now->records - told->records);
    count("edubba_flushes_total", "Memtables flushed to the end.", now->flushes - told->flushes);
    count("edubba_flush_bytes_total", "Bytes that flushes have written to LMDB.",
          now->flush_bytes - told->flush_bytes);
    count("edubba_bad_chunks_total", "Chunks found damaged.", now->bad_chunks - told->bad_chunks);
    count("edubba_scrubbed_bytes_total", "Stored bytes read again by the scrub.",
          now->scrubbed_bytes - told->scrubbed_bytes);
    count("edubba_collected_cells_total", "Expired cells erased by garbage collection.",
          now->collected_cells - told->collected_cells);
}

void status_report_metrics(struct server *server)
{
    struct store_statistics sum = {0};
    uint64_t full = 0;
    uint64_t failed = 0;
    uint64_t lacking = 0;

    for (uint32_t i = 0; i < server->loop_count; i++) {
        struct store_statistics one;
        store_loop_statistics(server->loops[i], &one);
        sum.memory_bytes += one.memory_bytes;
        sum.log_bytes += one.log_bytes;
        sum.log_syncs += one.log_syncs;
        sum.records += one.records;
        sum.flushes += one.flushes;
        sum.flush_bytes += one.flush_bytes;
        sum.base_used_bytes += one.base_used_bytes;
        sum.base_reusable_bytes += one.base_reusable_bytes;
        sum.disk_free_bytes += one.disk_free_bytes;
        sum.bad_chunks += one.bad_chunks;
        sum.scrubbed_bytes += one.scrubbed_bytes;
        sum.collected_cells += one.collected_cells;
        sum.flushes_pending += one.flushes_pending;
        sum.tablets_held += one.tablets_held;
        full += one.condition == STORE_FULL;
        failed += one.condition == STORE_FAILED;
        lacking += one.condition == STORE_HEALTHY && one.lacks_descriptors;
    }
    tell_counts(&sum, &server->counts_told);
    server->counts_told = sum;
    set("edubba_memtable_bytes", "Memory of all memtables.", sum.memory_bytes);
    set("edubba_log_bytes", "Log kept.", sum.log_bytes);
    set("edubba_flushes_pending", "Memtables frozen and not yet flushed.", sum.flushes_pending);
    set("edubba_tablets_held_by_damage",
        "Tablets that cannot be flushed until a damaged row is deleted; the log grows until then.",
        sum.tablets_held);
    set("edubba_base_used_bytes", "Bytes in use in LMDB.", sum.base_used_bytes);
    set("edubba_base_reusable_bytes", "Bytes in LMDB's files that deleted rows have left free.",
        sum.base_reusable_bytes);
    set("edubba_disk_free_bytes", "Free on the stores' disks.", sum.disk_free_bytes);
    set("edubba_stores_full", "Stores in which writes have stopped for want of room.", full);
    set("edubba_stores_failed", "Stores in which everything has stopped.", failed);
    set("edubba_stores_unopened", "Stores that could not be opened at the start.",
        server->unopened_count);
    set("edubba_stores_lacking_descriptors",
        "Stores in which writes wait, as the process may open no more files.", lacking);
    set("edubba_stores_in_trouble",
        "Stores that are full, failed, not opened or short of descriptors.",
        full + failed + lacking + server->unopened_count);
    set("edubba_folder_stalled",
        "1 while the disk of the server's own folder takes nothing of what is to be noted there.",
        sync_is_folder_stuck(server->sync));
    set("edubba_sync_barred",
        "1 while the master refuses this server, or it the master: whose catalog it is, or a copied "
        "folder.",
        sync_is_barred(server->sync));
    set("edubba_tablets", "Tablets served.", served_map_count(server->served));
    set("edubba_request_bytes", "Bytes of requests under way.",
        request_budget_bytes(&server->budget));
    set("edubba_answer_bytes", "Bytes of answers that wait to be taken.",
        transport_budget_queued_bytes());
    gauge_clock(server);
}
