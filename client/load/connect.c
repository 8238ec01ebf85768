/* Connecting clients and servers before a phase: by operations that change nothing and find nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/files.h"
#include "client/load/place.h"

#define PATIENCE_MS      5000 /* of all but the first client, which may have to wait for the table */
#define PROBE_TEXT_BYTES 400

/* What a phase uses; a server has connections of each kind. */
struct ways {
    bool reads;
    bool changes;
    bool scans;
};

/* Operations on their way; the first that fails is kept. */
struct probe {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t left;
    enum edubba_code code;
    char text[PROBE_TEXT_BYTES];
};

static struct ways ways_of(const struct load_workload *workload, bool is_load)
{
    const uint8_t *percent = workload->percent;
    if (is_load) {
        return (struct ways){.changes = true};
    }
    return (struct ways){
        .reads = percent[LOAD_READ] + percent[LOAD_RMW] > 0,
        .changes = percent[LOAD_READ] + percent[LOAD_SCAN]<100, .scans = percent[LOAD_SCAN]> 0,
    };
}

/* --- one client and one server ---------------------------------------------------------------- */

static void on_end(void *context, const struct edubba_result *result)
{
    struct probe *probe = context;
    pthread_mutex_lock(&probe->lock);
    if (probe->code == EDUBBA_OK && result->code != EDUBBA_OK) {
        probe->code = result->code;
        (void)snprintf(probe->text, sizeof probe->text, "%s", result->text);
    }
    probe->left--;
    if (probe->left == 0) {
        pthread_cond_signal(&probe->changed);
    }
    pthread_mutex_unlock(&probe->lock);
}

/* The same operation on as many connections as there are: it goes to one that is idle. */
static enum edubba_code try_all(const struct load_client *client,
                                const struct edubba_operation *operation,
                                uint64_t connections,
                                struct edubba_error *error)
{
    struct probe probe = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    enum edubba_code code = EDUBBA_OK;
    for (uint64_t i = 0; code == EDUBBA_OK && i < connections; i++) {
        pthread_mutex_lock(&probe.lock);
        probe.left++;
        pthread_mutex_unlock(&probe.lock);
        code = edubba_submit(client->table, operation, on_end, &probe, error);
        if (code != EDUBBA_OK) {
            pthread_mutex_lock(&probe.lock);
            probe.left--;
            pthread_mutex_unlock(&probe.lock);
        }
    }
    pthread_mutex_lock(&probe.lock);
    while (probe.left > 0) {
        pthread_cond_wait(&probe.changed, &probe.lock);
    }
    pthread_mutex_unlock(&probe.lock);
    if (code == EDUBBA_OK && probe.code != EDUBBA_OK) {
        code = probe.code;
        error->code = code;
        (void)snprintf(error->text, sizeof error->text, "%s", probe.text);
    }
    return code;
}

static enum edubba_code try_scan(const struct load_client *client,
                                 struct edubba_bytes row,
                                 uint32_t deadline_ms,
                                 struct edubba_error *error)
{
    struct edubba_scan_options options = {.keys = &row, .key_count = 1, .deadline_ms = deadline_ms};
    struct edubba_scan *scan = NULL;
    const struct edubba_row *found = NULL;
    enum edubba_code code = edubba_scan_open(client->table, &options, &scan, error);
    if (code == EDUBBA_OK) {
        code = edubba_scan_next(scan, &found, error);
        edubba_scan_close(scan);
    }
    return code;
}

/* Each way to the server that has the row. */
static enum edubba_code try_ways(const struct load_client *client,
                                 const struct ways *ways,
                                 uint64_t connections,
                                 struct edubba_bytes row,
                                 uint32_t deadline_ms,
                                 struct edubba_error *error)
{
    const struct edubba_mutation never = edubba_delete_from_row();
    struct edubba_filter *nothing = edubba_filter_block_all();
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = row,
        .filter = nothing,
        .deadline_ms = deadline_ms,
    };
    enum edubba_code code = EDUBBA_OK;
    if (ways->reads) {
        code = try_all(client, &operation, connections, error);
    }
    if (code == EDUBBA_OK && ways->changes) { /* to be made if the filter finds anything */
        operation.kind = EDUBBA_OPERATION_CHECK_AND_MUTATE;
        operation.mutations = &never;
        operation.mutation_count = nothing != NULL ? 1 : 0;
        code = try_all(client, &operation, connections, error);
    }
    if (code == EDUBBA_OK && ways->scans) {
        code = try_scan(client, row, deadline_ms, error);
    }
    edubba_filter_free(nothing);
    return code;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Is this the first of the server's tablets? */
static bool is_new_server(const struct edubba_tablet *tablets, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (tablets[i].server == tablets[index].server) {
            return false;
        }
    }
    return tablets[index].address[0] != '\0';
}

static uint64_t count_servers(const struct edubba_tablet *tablets, size_t count)
{
    uint64_t servers = 0;
    for (size_t i = 0; i < count; i++) {
        servers += is_new_server(tablets, i) ? 1 : 0;
    }
    return servers;
}

static enum edubba_code check_files(const struct load_options *options,
                                    const struct ways *ways,
                                    uint64_t servers,
                                    struct edubba_error *error)
{
    uint64_t each = (ways->reads ? options->connections : 0) +
                    (ways->changes ? options->connections : 0) + (ways->scans ? 1 : 0);
    uint64_t clients = options->clients + options->never_read;
    return load_files_check(
        clients, clients + servers * (options->clients * each + options->never_read), error);
}

static void say_which(const struct load_place *place, uint64_t index, struct edubba_error *error)
{
    struct edubba_error why = *error;
    (void)snprintf(error->text, sizeof error->text,
                   "client %" PRIu64 " of %" PRIu64 " could not connect: %.400s", index + 1,
                   place->client_count, why.text);
}

enum edubba_code load_place_connect(struct load_place *place,
                                    const struct load_workload *workload,
                                    bool is_load,
                                    struct edubba_error *error)
{
    const struct load_options *options = place->options;
    const struct ways ways = ways_of(workload, is_load);
    struct edubba_tablet *tablets = NULL;
    size_t count = 0;
    enum edubba_code code = edubba_list_tablets(place->clients[0].client, options->table, &tablets,
                                                &count, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    code = check_files(options, &ways, count_servers(tablets, count), error);
    for (uint64_t i = 0; code == EDUBBA_OK && i < place->client_count; i++) {
        uint32_t deadline_ms = i == 0 || options->timeout_s > 0 ? 0 : PATIENCE_MS;
        for (size_t j = 0; code == EDUBBA_OK && j < count; j++) {
            struct edubba_bytes row = tablets[j].start.size > 0 ? tablets[j].start
                                                                : edubba_bytes_of("", 1);
            if (is_new_server(tablets, j)) {
                code = try_ways(&place->clients[i], &ways, options->connections, row, deadline_ms,
                                error);
                if (code != EDUBBA_OK) {
                    say_which(place, i, error);
                }
            }
        }
    }
    edubba_free(tablets);
    return code;
}
