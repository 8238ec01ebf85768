/*
 * A master made of a script, for tests of a tablet server.
 *
 * It is level-triggered as the real master is: the test says what tables and tablets there are, the
 * server syncs until it knows, and what it reports as held is there to be waited for.
 */
#ifndef TESTS_SUPPORT_SERVER_SCRIPT_H
#define TESTS_SUPPORT_SERVER_SCRIPT_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/io/transport/transport.h"
#include "tests/support/own_address.h"
#include "tests/support/wait_for.h"

#define FIXTURE_TABLETS_MAX 64
#define FIXTURE_TABLE       1

static struct family fixture_families[] = {
    {.number = 1, .name = {(const uint8_t *)"f", 1}, .gc = {.kind = GC_VERSIONS, .versions = 1}},
    {.number = 2, .name = {(const uint8_t *)"sum", 3}, .aggregate = AGGREGATE_INTSUM},
    {.number = 3, .name = {(const uint8_t *)"late", 4}}, /* from version 2 on */
};

struct script {
    struct transport_listener *listener;
    char address[64];
    pthread_mutex_t lock;
    uint64_t generation;
    uint64_t predecessor;
    uint64_t version;
    struct table table;
    bool table_dropped;
    struct assigned_tablet tablets[FIXTURE_TABLETS_MAX];
    bool elsewhere[FIXTURE_TABLETS_MAX]; /* on another server */
    size_t tablet_count;
    uint64_t held[FIXTURE_TABLETS_MAX]; /* as last reported */
    size_t held_count;
    uint32_t unopened_count; /* stores, as last reported */
    bool silent;             /* answer nothing */
    uint64_t load_number;    /* of the last load report that was heard, answered or not */
    uint64_t load_capacity_ns;
    size_t detail_points; /* of the last detail that had any */
    uint32_t detail_appended;
    uint64_t detail_crossing; /* of its last point */
    char detail_key[64];      /* the most frequent row, and how often */
    uint64_t detail_key_reads;
    uint64_t detail_key_writes;
    struct load_figures load; /* of all tablets, all reports */
    atomic_uint syncs;
};

static void script_answer(struct script *script,
                          const struct sync_request *request,
                          struct buffer *message)
{
    struct assigned_tablet tablets[FIXTURE_TABLETS_MAX];
    uint64_t dropped = FIXTURE_TABLE;
    bool other = request->known_generation != script->generation;
    bool changed = other || request->known_version != script->version;
    struct sync_response response = {
        .generation = script->generation,
        .version = script->version,
        .reset = other,
        .tablets = tablets,
        .tablet_count = changed ? script->tablet_count : 0,
        .tables = &script->table,
        .table_count = changed && !script->table_dropped ? 1 : 0,
        .dropped_tables = &dropped,
        .dropped_table_count = changed && script->table_dropped ? 1 : 0,
        .interval_ms = 5,
        .newest_version = script->version,
        .predecessor = script->predecessor,
    };
    for (size_t i = 0; i < script->tablet_count; i++) {
        tablets[i] = script->tablets[i];
        bool elsewhere = script->elsewhere[i];
        tablets[i].location.server = elsewhere ? request->server.number + 1
                                               : request->server.number;
        tablets[i].location.address = elsewhere ? bytes_of_text("tcp://127.0.0.1:1")
                                                : request->server.address;
        tablets[i].location.state = elsewhere ? TABLET_SERVING : tablets[i].location.state;
        tablets[i].store = request->server.stores[0].number;
    }
    script->unopened_count = request->server.unopened_count;
    script->held_count = 0;
    for (size_t i = 0; i < request->held_count && i < FIXTURE_TABLETS_MAX; i++) {
        script->held[script->held_count++] = request->held[i].tablet;
    }
    response_head_encode(&(struct response_head){.status = STATUS_OK}, message);
    sync_response_encode(&response, message);
}

static void script_hear_detail(struct script *script, const struct load_detail *detail)
{
    if (detail->point_count > 0) {
        script->detail_points = detail->point_count;
        script->detail_appended = detail->appended_permille;
        script->detail_crossing = detail->points[detail->point_count - 1].crossing;
        script->detail_key_reads = detail->key_count > 0 ? detail->keys[0].reads : 0;
        script->detail_key_writes = detail->key_count > 0 ? detail->keys[0].writes : 0;
    }
    if (detail->key_count > 0) {
        (void)snprintf(script->detail_key, sizeof script->detail_key, "%.*s",
                       (int)detail->keys[0].row.size_bytes, (const char *)detail->keys[0].row.data);
    }
}

/* As a master does: what was heard already is passed over. */
static void script_hear_load(struct script *script, const struct load_report *report)
{
    if (report->number <= script->load_number) {
        return;
    }
    script->load_number = report->number;
    script->load_capacity_ns += report->capacity_ns;
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct load_figures *figures = &report->tablets[i].figures;
        script->load.reads += figures->reads;
        script->load.read_rows += figures->read_rows;
        script->load.read_bytes += figures->read_bytes;
        script->load.read_cpu_ns += figures->read_cpu_ns;
        script->load.writes += figures->writes;
        script->load.write_cells += figures->write_cells;
        script->load.write_bytes += figures->write_bytes;
        script->load.write_cpu_ns += figures->write_cpu_ns;
        script->load.read_wait_ns += figures->read_wait_ns;
        script->load.read_latency_ns += figures->read_latency_ns;
        script->load.write_wait_ns += figures->write_wait_ns;
        script->load.write_latency_ns += figures->write_latency_ns;
        script_hear_detail(script, &report->tablets[i].detail);
    }
}

static void script_on_request(void *context,
                              const struct transport_request *request,
                              struct transport_reply *reply)
{
    struct script *script = context;
    struct buffer message = BUFFER_INIT;
    struct sync_request sync;
    struct arena arena;

    arena_init(&arena, 4096, SIZE_MAX);
    pthread_mutex_lock(&script->lock);
    bool heard = request->method == METHOD_SYNC &&
                 sync_request_decode(request->body, &arena, &sync, NULL) == STATUS_OK;
    if (heard) {
        script_hear_load(script, &sync.load);
    }
    if (!heard || script->silent) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "not now");
    } else {
        script_answer(script, &sync, &message);
        transport_reply_send(reply, &message, true);
        atomic_fetch_add(&script->syncs, 1);
    }
    pthread_mutex_unlock(&script->lock);
    arena_deinit(&arena);
}

static void script_start(struct script *script)
{
    struct error error = {.status = STATUS_OK};
    const struct transport_listener_options options = {
        .address = own_address(0, script->address, sizeof script->address),
        .agent = "script",
        .process = 1,
        .connections_max = 8,
        .requests_max = 8,
        .connection_bytes_max = 1 << 20,
        .context = script,
        .on_request = script_on_request,
    };
    pthread_mutex_init(&script->lock, NULL);
    script->generation = 77;
    script->version = 1;
    script->table = (struct table){.number = FIXTURE_TABLE,
                                   .version = 1,
                                   .id = bytes_of_text("t"),
                                   .granularity = GRANULARITY_MICROS,
                                   .family_number_next = 4,
                                   .families = fixture_families,
                                   .family_count = 2};
    cr_assert_eq(transport_listen(&options, &script->listener, &error), STATUS_OK, "%s",
                 error.text);
    (void)own_address(transport_listener_port(script->listener), script->address,
                      sizeof script->address);
}

/* Replaces what was said of the tablet before. */
static void assign_locked(struct script *script,
                          const struct assigned_tablet *assigned,
                          bool elsewhere)
{
    size_t at = 0;
    while (at < script->tablet_count &&
           script->tablets[at].location.tablet != assigned->location.tablet) {
        at++;
    }
    script->tablets[at] = *assigned;
    script->elsewhere[at] = elsewhere;
    script->tablet_count = at < script->tablet_count ? script->tablet_count : at + 1;
}

static struct assigned_tablet tablet_of(uint64_t tablet,
                                        struct bytes start,
                                        struct bytes end,
                                        uint64_t parent)
{
    return (struct assigned_tablet){
        .location = {.tablet = tablet,
                     .table = FIXTURE_TABLE,
                     .configuration = 1,
                     .range = {start, end},
                     .state = parent == 0 ? TABLET_CREATING : TABLET_SPLITTING},
        .parent = parent,
    };
}

/* A tablet that is to be created. */
__attribute__((unused)) static void script_assign(
    struct script *script, uint64_t tablet, const char *start, const char *end, bool elsewhere)
{
    struct assigned_tablet assigned = tablet_of(tablet, bytes_of_text(start), bytes_of_text(end),
                                                0);
    pthread_mutex_lock(&script->lock);
    assign_locked(script, &assigned, elsewhere);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

static void remove_locked(struct script *script, uint64_t tablet)
{
    for (size_t i = 0; i < script->tablet_count; i++) {
        if (script->tablets[i].location.tablet == tablet) {
            script->tablets[i].removed = true;
        }
    }
}

__attribute__((unused)) static void script_remove(struct script *script, uint64_t tablet)
{
    pthread_mutex_lock(&script->lock);
    remove_locked(script, tablet);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

/* Both children, and the parent gone, at once. */
__attribute__((unused)) static void script_split(
    struct script *script, uint64_t parent, const char *key, uint64_t left, uint64_t right)
{
    pthread_mutex_lock(&script->lock);
    struct row_range range = {BYTES_EMPTY, BYTES_EMPTY};
    for (size_t i = 0; i < script->tablet_count; i++) {
        if (script->tablets[i].location.tablet == parent) {
            range = script->tablets[i].location.range;
        }
    }
    struct assigned_tablet first = tablet_of(left, range.start, bytes_of_text(key), parent);
    struct assigned_tablet second = tablet_of(right, bytes_of_text(key), range.end, parent);
    remove_locked(script, parent);
    assign_locked(script, &first, false);
    assign_locked(script, &second, false);
    script->version += 1;
    pthread_mutex_unlock(&script->lock);
}

/* The server says that it holds exactly these. */
__attribute__((unused)) static bool script_sees(struct script *script,
                                                const uint64_t *tablets,
                                                size_t count)
{
    size_t found = 0;
    pthread_mutex_lock(&script->lock);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < script->held_count; j++) {
            found += script->held[j] == tablets[i];
        }
    }
    bool sees = found == count && script->held_count == count;
    pthread_mutex_unlock(&script->lock);
    return sees;
}

#define SCRIPT_WAIT_FOR(script, ...)                                                \
    do {                                                                            \
        const uint64_t wanted_[] = {__VA_ARGS__};                                   \
        WAIT_FOR(script_sees((script), wanted_, sizeof wanted_ / sizeof *wanted_)); \
    } while (0)

#endif /* TESTS_SUPPORT_SERVER_SCRIPT_H */
