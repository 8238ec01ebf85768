#include "tabletserver/serve/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "common/base/memory_large.h"
#include "common/io/clock.h"
#include "common/io/entropy.h"
#include "common/io/file.h"
#include "common/io/logger.h"
#include "common/io/transport/transport_budget.h"
#include "tabletserver/serve/record_metrics.h"
#include "tabletserver/serve/requests.h"
#include "tabletserver/serve/status_report.h"

#define LISTENER_GRACE_MS       3000
#define LEAVE_GRACE_NS          (INT64_C(2) * 1000 * 1000 * 1000)
#define WRITES_GRACE_NS         (INT64_C(3) * 1000 * 1000 * 1000)
#define WRITES_LOOK_US          1000
#define REQUESTS_PER_CONNECTION 1024
#define CONNECTION_BYTES_MAX    (UINT64_C(32) << 20)
#define IDENTITY_BYTES_MAX      256
#define MEMORY_KEPT_SHARE       4 /* of memory_limit, once used, for memtables to come */

bool server_redirects(struct server *server,
                      uint64_t table,
                      struct bytes row,
                      struct arena *arena,
                      struct location *ret_location)
{
    struct served served;
    if (!location_map_find(server->locations, table, row, arena, ret_location)) {
        return false;
    }
    if (ret_location->server != server->number ||
        !served_map_find(server->served, table, row, &served)) {
        return true;
    }
    bool holds = served_holds(&served);
    served_release(&served);
    return holds;
}

/* --- identity ----------------------------------------------------------------------------------- */

/* <folder>/SERVER: "server NUMBER incarnation TIME\nchecksum HEX\n"; of an older version without the second
 * line.  The number is for life; the incarnation says
 * which of two starts is the later one.  It is the time of the start, so that it rises even where
 * a full disk kept the last one from being written, and above the one before, should the clock
 * have been set back. */
static uint64_t identity_checksum(const char *text, size_t size_bytes)
{
    return checksum64(text, size_bytes, 0);
}

static bool is_as_written(const char *text)
{
    const char *end = strchr(text, '\n');
    uint64_t checksum = 0;
    if (end == NULL || end[1] == '\0') {
        return end != NULL;
    }
    return sscanf(end + 1, "checksum %" SCNx64, &checksum) == 1 &&
           checksum == identity_checksum(text, (size_t)(end + 1 - text));
}

static enum status read_identity(struct server *server, const char *path, struct error *ret_error)
{
    struct buffer text = BUFFER_INIT;
    enum status status = file_read_whole(path, IDENTITY_BYTES_MAX, &text, ret_error);

    if (status == STATUS_NOT_FOUND) {
        server->number = entropy_u64() >> 1 | 1; /* never 0 */
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        buffer_append_u8(&text, '\0');
        if (text.failed ||
            sscanf((const char *)text.data, "server %" SCNu64 " incarnation %" SCNu64,
                   &server->number, &server->incarnation) != 2 ||
            server->number == 0 || !is_as_written((const char *)text.data)) {
            status = error_set(
                ret_error, STATUS_CORRUPT,
                "%s: not the identity of a server. With its number, as ebt servers has "
                "it, it is one again (docs/operations.md, \"Files that say who is "
                "who\")",
                path);
        }
    }
    buffer_deinit(&text);
    return status;
}

static enum status take_identity(struct server *server, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    char text[IDENTITY_BYTES_MAX];

    enum status status = file_make_folders(server->settings->folder, ret_error);
    if (status == STATUS_OK) {
        status = file_path_join(path, server->settings->folder, "SERVER", ret_error);
    }
    if (status == STATUS_OK) {
        status = read_identity(server, path, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    bool is_first_start = server->incarnation == 0;
    uint64_t now_us = (uint64_t)clock_wall_us();
    server->incarnation = now_us > server->incarnation ? now_us : server->incarnation + 1;
    int length = snprintf(text, sizeof text, "server %" PRIu64 " incarnation %" PRIu64 "\n",
                          server->number, server->incarnation);
    length += snprintf(text + length, sizeof text - (size_t)length, "checksum %016" PRIx64 "\n",
                       identity_checksum(text, (size_t)length));
    status = file_write_atomic(path, text, (size_t)length, ret_error);
    if (status == STATUS_NO_SPACE && !is_first_start) {
        LOG_EVENT(LOG_LEVEL_WARN, "identity_not_saved", LOG_TEXT("error", ret_error->text));
        error_clear(ret_error);
        status = STATUS_OK; /* reads and deletes are to go on */
    }
    return status;
}

/* --- stores ------------------------------------------------------------------------------------- */

static struct store_settings share_of(const struct server_settings *settings, size_t store_count)
{
    struct store_settings store = settings->store;
    store.memory_limit_bytes /= store_count;
    if (store.memtable_limit_bytes > store.memory_limit_bytes / 2) {
        store.memtable_limit_bytes = store.memory_limit_bytes / 2;
    }
    return store;
}

static void note_unopened(struct server *server, const char *folder, const struct error *error)
{
    struct unopened_store *unopened = &server->unopened[server->unopened_count++];
    unopened->folder = folder;
    (void)snprintf(unopened->text, sizeof unopened->text, "%s", error->text);
    LOG_EVENT(LOG_LEVEL_ERROR, "store_not_opened", LOG_TEXT("store", folder),
              LOG_TEXT("error", error->text));
}

static enum status open_stores(struct server *server, struct error *ret_error)
{
    const struct server_settings *settings = server->settings;
    char only[FILE_PATH_SIZE_MAX];
    const char *only_item = only;
    const char **folders = settings->stores.items;
    size_t count = settings->stores.count;
    enum status status = file_path_join(only, settings->folder, "store", ret_error);

    if (count == 0) {
        folders = &only_item;
        count = 1;
    }
    ASSERT(count <= SERVER_STORES_MAX); /* server_settings_check() */
    struct store_settings share = share_of(settings, count);
    memory_large_keep(settings->store.memory_limit_bytes / MEMORY_KEPT_SHARE);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct store_loop *loop = NULL;
        status = file_make_folders(folders[i], ret_error);
        if (status == STATUS_OK) {
            status = store_loop_open(server, folders[i], &share, &loop, ret_error);
        }
        if (status == STATUS_OK) {
            server->loops[server->loop_count++] = loop;
        } else if (count > 1) {
            /* One bad store does not stop the others. */
            note_unopened(server, folders[i], ret_error);
            status = STATUS_OK;
        }
    }
    if (status == STATUS_OK && server->loop_count == 0) {
        return error_prefix(ret_error, "no store could be opened");
    }
    return status;
}

/* --- network ------------------------------------------------------------------------------------ */

/* What first attempts are judged by is the clock of the store that they come to, which is ahead of
 * ours where a clock of before was. */
static int64_t now_us(void *context)
{
    struct server *server = context;
    int64_t now_us = server_clock_now_us(&server->clock);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        struct store_statistics statistics;
        store_loop_statistics(server->loops[i], &statistics);
        now_us = statistics.clock_us > now_us ? statistics.clock_us : now_us;
    }
    return now_us;
}

/* What was bound, for address ":0": scheme and host as configured, the port as given. */
static void name_address(char *out, size_t size, const char *configured, uint16_t port)
{
    const char *colon = strrchr(configured, ':');
    int head = colon != NULL ? (int)(colon - configured) : (int)strlen(configured);
    (void)snprintf(out, size, "%.*s:%u", head, configured, (unsigned)port);
}

static enum status listen_for_requests(struct server *server, struct error *ret_error)
{
    const struct server_settings *settings = server->settings;
    const struct transport_listener_options options = {
        .address = settings->address,
        .agent = "edubba-tabletserver",
        .process = server->number,
        .insecure = settings->insecure,
        .connections_max = (uint32_t)settings->connections_max,
        .requests_max = REQUESTS_PER_CONNECTION,
        .connection_bytes_max = CONNECTION_BYTES_MAX,
        .context = server,
        .on_request = requests_on_request,
        .on_progress = requests_on_progress,
        .now_us = now_us,
    };
    enum status status = transport_listen(&options, &server->listener, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (settings->advertise[0] != '\0') {
        (void)snprintf(server->address, sizeof server->address, "%s", settings->advertise);
    } else if (strncmp(settings->address, "ipc:", 4) == 0) {
        (void)snprintf(server->address, sizeof server->address, "%s", settings->address);
    } else {
        name_address(server->address, sizeof server->address, settings->address,
                     transport_listener_port(server->listener));
    }
    return STATUS_OK;
}

static enum status listen_for_http(struct server *server, struct error *ret_error)
{
    const struct server_settings *settings = server->settings;
    if (settings->http_address[0] == '\0') {
        return STATUS_OK;
    }
    enum status status = http_server_open(settings->http_address, settings->insecure, &server->http,
                                          ret_error);
    if (status == STATUS_OK) {
        status = http_server_handle(server->http, "/health", status_report_on_health, server);
    }
    if (status == STATUS_OK) {
        status = http_server_handle(server->http, "/status", status_report_on_status, server);
    }
    if (status != STATUS_OK) {
        return ret_error->status == STATUS_OK
                   ? error_set(ret_error, status, "http: %s", status_text(status))
                   : status;
    }
    name_address(server->http_address, sizeof server->http_address, settings->http_address,
                 http_server_port(server->http));
    return STATUS_OK;
}

/* --- life --------------------------------------------------------------------------------------- */

static enum status open_maps(struct server *server, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    int64_t threads = server->settings->worker_threads;

    if (threads == 0) {
        threads = sysconf(_SC_NPROCESSORS_ONLN);
        threads = threads > 0 ? threads : 1;
    }
    enum status status = file_path_join(path, server->settings->folder, "TABLES", ret_error);
    if (status == STATUS_OK) {
        status = schema_cache_open(path, &server->schemas, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    load_counters_are_wanted = server->settings->measure_load;
    if (load_sampling_create((uint64_t)clock_monotonic_ns(), &server->sampling) != STATUS_OK ||
        served_map_create(&server->served) != STATUS_OK ||
        location_map_create(&server->locations) != STATUS_OK ||
        worker_pool_create((uint32_t)threads, &server->workers) != STATUS_OK) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to start");
    }
    return sync_create(server, &server->sync, ret_error);
}

enum status server_open(const struct server_settings *settings,
                        struct server **ret_server,
                        struct error *ret_error)
{
    struct server *server = memory_allocate_zeroed(1, sizeof *server);
    if (server == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to start");
    }
    server->settings = settings;
    request_budget_init(&server->budget, settings->request_bytes_max);
    atomic_init(&server->open, false);
    server_clock_init(&server->clock);
    record_metrics_init(settings->slow_operation_us);
    transport_budget_set(&(struct transport_budget){
        .unfinished_bytes_max = BUDGET_UNFINISHED_BYTES_DEFAULT,
        .queued_bytes_max = settings->answer_bytes_max,
    });
    enum status status = take_identity(server, ret_error);
    if (status == STATUS_OK) {
        status = open_maps(server, ret_error);
    }
    if (status == STATUS_OK && settings->reads_confirmed) {
        status = read_confirm_create(server->workers, &server->confirm);
        if (status != STATUS_OK) {
            (void)error_set(ret_error, status, "no memory to start");
        }
    }
    if (status == STATUS_OK && settings->replicate) {
        status = peers_create(server, &server->peers, ret_error);
    }
    if (status == STATUS_OK) {
        status = open_stores(server, ret_error);
    }
    if (status == STATUS_OK && server->peers != NULL) {
        status = peers_start(server->peers, ret_error);
    }
    if (status == STATUS_OK) {
        status = listen_for_requests(server, ret_error);
    }
    if (status == STATUS_OK) {
        status = listen_for_http(server, ret_error);
    }
    if (status == STATUS_OK) {
        status = sync_start(server->sync, ret_error);
    }
    if (status != STATUS_OK) {
        server_close(server);
        return status;
    }
    atomic_store(&server->open, true);
    *ret_server = server;
    return STATUS_OK;
}

/* Nobody is to wait for a lease to run out because a server is stopped on purpose. */
static void leave(const struct server *server)
{
    int64_t until_ns = clock_monotonic_ns() + LEAVE_GRACE_NS;
    sync_leave(server->sync);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        store_loop_leave(server->loops[i]);
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        while (!store_loop_has_left(server->loops[i]) && clock_monotonic_ns() < until_ns) {
            clock_sleep_us(WRITES_LOOK_US);
        }
    }
}

/* What replicas have under way needs the peers' answers, which come over the listener. */
static void wait_for_writes(const struct server *server)
{
    int64_t until_ns = clock_monotonic_ns() + WRITES_GRACE_NS;
    for (uint32_t i = 0; server->peers != NULL && i < server->loop_count; i++) {
        while (store_loop_is_busy(server->loops[i]) && clock_monotonic_ns() < until_ns) {
            clock_sleep_us(WRITES_LOOK_US);
        }
    }
}

void server_close(struct server *server)
{
    if (server->peers != NULL && atomic_load(&server->open)) {
        leave(server);
    }
    atomic_store(&server->open, false);
    http_server_close(server->http);
    sync_stop(server->sync); /* it looks after the listener */
    wait_for_writes(server);
    if (server->listener != NULL) {
        transport_listener_close(server->listener, LISTENER_GRACE_MS);
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        store_loop_stop(server->loops[i]);
    }
    peers_stop(server->peers);
    read_confirm_stop(server->confirm);
    worker_pool_destroy(server->workers);
    read_confirm_destroy(server->confirm);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        store_loop_close(server->loops[i]);
    }
    peers_destroy(server->peers);
    sync_destroy(server->sync);
    served_map_destroy(server->served);
    location_map_destroy(server->locations);
    load_sampling_destroy(server->sampling);
    schema_cache_close(server->schemas);
    server_clock_deinit(&server->clock);
    memory_free(server);
}
