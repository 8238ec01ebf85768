/* Connecting clients and servers before a phase: by operations that change nothing and find nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/complaint.h"
#include "client/load/files.h"
#include "client/load/place.h"

/* A server gives the place of a connection that has asked nothing for 5 s to one that comes: without
 * a question now and then the last clients would displace the first, and the figures would be those
 * of connections made again and again.  So no try may take long either. */
#define KEEP_NS      (INT64_C(1) * 1000 * 1000 * 1000)
#define TRY_MS       2000
#define NS_PER_MS    INT64_C(1000000)
#define FIRST_TRY_MS 3000 /* of the first client, which displaces nobody */
#define PATIENCE_NS  (INT64_C(5) * 1000 * 1000 * 1000) /* of all but the first client */

#define PROBE_TEXT_BYTES 400

/* What a phase uses; a server has connections of each kind. */
struct ways {
    bool reads;
    bool changes;
    bool scans;
};

/* Operations on their way; the first that fails is kept, with the server that it went to. */
struct probe {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t left;
    enum edubba_code code;
    char text[PROBE_TEXT_BYTES];
};

/* One that has tablets of the table. */
struct server {
    const char *address;
    struct edubba_bytes row; /* of a tablet of its own */
    struct probe *probe;     /* counts what is on its way to it */
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

/* The error says which server refused a connection, but not which one sent nothing. */
static void say_where(const struct server *server, const char *why, char *out, size_t out_bytes)
{
    bool is_said = strstr(why, "://") != NULL;
    (void)snprintf(out, out_bytes, "%s%s%s", is_said ? "" : server->address, is_said ? "" : ": ",
                   why);
}

static void on_end(void *context, const struct edubba_result *result)
{
    const struct server *server = context;
    struct probe *probe = server->probe;
    pthread_mutex_lock(&probe->lock);
    if (probe->code == EDUBBA_OK && result->code != EDUBBA_OK) {
        probe->code = result->code;
        say_where(server, result->text, probe->text, sizeof probe->text);
    }
    probe->left--;
    if (probe->left == 0) {
        pthread_cond_signal(&probe->changed);
    }
    pthread_mutex_unlock(&probe->lock);
}

/* The same operation on as many connections as there are: it goes to one that is idle. */
static void submit_all(struct server *server,
                       const struct load_client *client,
                       const struct edubba_operation *operation,
                       uint64_t connections)
{
    struct probe *probe = server->probe;
    for (uint64_t i = 0; i < connections; i++) {
        struct edubba_error error = {.code = EDUBBA_OK};
        pthread_mutex_lock(&probe->lock);
        probe->left++;
        pthread_mutex_unlock(&probe->lock);
        enum edubba_code code = edubba_submit(client->table, operation, on_end, server, &error);
        if (code != EDUBBA_OK) {
            const struct edubba_result refused = {.code = code, .text = error.text};
            on_end(server, &refused);
        }
    }
}

static enum edubba_code wait_all(struct probe *probe, struct edubba_error *error)
{
    pthread_mutex_lock(&probe->lock);
    while (probe->left > 0) {
        pthread_cond_wait(&probe->changed, &probe->lock);
    }
    pthread_mutex_unlock(&probe->lock);
    if (probe->code != EDUBBA_OK) {
        error->code = probe->code;
        (void)snprintf(error->text, sizeof error->text, "%s", probe->text);
    }
    return probe->code;
}

static enum edubba_code try_scan(const struct load_client *client,
                                 const struct server *server,
                                 uint32_t deadline_ms,
                                 struct edubba_error *error)
{
    struct edubba_scan_options options = {
        .keys = &server->row, .key_count = 1, .deadline_ms = deadline_ms};
    struct edubba_scan *scan = NULL;
    const struct edubba_row *found = NULL;
    enum edubba_code code = edubba_scan_open(client->table, &options, &scan, error);
    if (code == EDUBBA_OK) {
        code = edubba_scan_next(scan, &found, error);
        edubba_scan_close(scan);
    }
    if (code != EDUBBA_OK) {
        struct edubba_error why = *error;
        say_where(server, why.text, error->text, sizeof error->text);
    }
    return code;
}

/* Send one operation by each kind of connection that the load will use, but for scans'. */
static void submit_ways(struct server *server,
                        const struct load_client *client,
                        const struct ways *ways,
                        uint64_t connections,
                        uint32_t deadline_ms)
{
    const struct edubba_mutation never = edubba_delete_from_row();
    struct edubba_filter *nothing = edubba_filter_block_all();
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = server->row,
        .filter = nothing,
        .deadline_ms = deadline_ms,
    };
    if (ways->reads) {
        submit_all(server, client, &operation, connections);
    }
    if (ways->changes) { /* to be made if the filter finds anything */
        operation.kind = EDUBBA_OPERATION_CHECK_AND_MUTATE;
        operation.mutations = &never;
        operation.mutation_count = nothing != NULL ? 1 : 0;
        submit_all(server, client, &operation, connections);
    }
    edubba_filter_free(nothing);
}

/* --- all of them ------------------------------------------------------------------------------ */

bool load_tablet_is_first(const struct edubba_tablet *tablets, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (tablets[i].server == tablets[index].server) {
            return false;
        }
    }
    return tablets[index].address[0] != '\0';
}

struct edubba_bytes load_tablet_row(const struct edubba_tablet *tablet)
{
    return tablet->start.size > 0 ? tablet->start : edubba_bytes_of("", 1);
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

/* A phase's clients, and each server. */
struct muster {
    const struct load_place *place;
    struct ways ways;
    struct server *servers;
    size_t server_count;
    int64_t kept_ns; /* when all that are connected were last heard */
};

/* Clients `begin` to `end`, at once, and every server. */
static enum edubba_code try_clients(const struct muster *muster,
                                    uint64_t begin,
                                    uint64_t end,
                                    uint32_t deadline_ms,
                                    struct edubba_error *error)
{
    const struct load_place *place = muster->place;
    struct probe probe = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    for (size_t j = 0; j < muster->server_count; j++) {
        muster->servers[j].probe = &probe;
    }
    for (uint64_t i = begin; i < end; i++) {
        for (size_t j = 0; j < muster->server_count; j++) {
            submit_ways(&muster->servers[j], &place->clients[i], &muster->ways,
                        place->options->connections, deadline_ms);
        }
    }
    enum edubba_code code = wait_all(&probe, error);
    for (uint64_t i = begin; muster->ways.scans && i < end; i++) {
        for (size_t j = 0; code == EDUBBA_OK && j < muster->server_count; j++) {
            code = try_scan(&place->clients[i], &muster->servers[j], deadline_ms, error);
        }
    }
    return code;
}

/* Each try is longer than the last: a server may just be slow. */
static enum edubba_code wait_for_server(const struct muster *muster,
                                        int64_t begun_ns,
                                        double timeout_s,
                                        struct edubba_error *error)
{
    int64_t timeout_ms = (int64_t)(timeout_s * 1000);
    for (int64_t try_ms = FIRST_TRY_MS;; try_ms *= 2) {
        int64_t left_ms = timeout_ms - (load_now_ns() - begun_ns) / NS_PER_MS;
        bool is_last = left_ms <= try_ms;
        int64_t deadline_ms = is_last ? left_ms : try_ms;
        enum edubba_code code = try_clients(muster, 0, 1,
                                            (uint32_t)(deadline_ms > 0 ? deadline_ms : 1), error);
        if (code != EDUBBA_DEADLINE_EXCEEDED || is_last) {
            return code;
        }
        char text[sizeof error->text + 200];
        (void)snprintf(text, sizeof text,
                       "waiting for %s, which has rows of table %s, %.0f s of %g s (--timeout): %s",
                       muster->servers[0].address, muster->place->options->table,
                       (double)(load_now_ns() - begun_ns) / 1e9, timeout_s, error->text);
        load_say_waiting(text);
    }
}

/* The first may wait for the table as long as any operation, and says what it waits for: so it takes
 * one server after the other. */
static enum edubba_code connect_first(const struct muster *muster, struct edubba_error *error)
{
    double timeout_s = muster->place->options->timeout_s;
    int64_t begun_ns = load_now_ns();
    enum edubba_code code = EDUBBA_OK;
    for (size_t i = 0; code == EDUBBA_OK && i < muster->server_count; i++) {
        struct muster one = *muster;
        one.servers = &muster->servers[i];
        one.server_count = 1;
        code = wait_for_server(&one, begun_ns, timeout_s > 0 ? timeout_s : LOAD_TIMEOUT_DEFAULT_S,
                               error);
    }
    return code;
}

/* Others than the first are soon taken, or not at all. */
static enum edubba_code connect_one(struct muster *muster,
                                    uint64_t index,
                                    struct edubba_error *error)
{
    const struct load_options *options = muster->place->options;
    int64_t patience_ns = options->timeout_s > 0 ? (int64_t)(options->timeout_s * 1e9)
                                                 : PATIENCE_NS;
    int64_t until_ns = load_now_ns() + patience_ns;
    enum edubba_code code = EDUBBA_OK;
    do {
        code = index == 0 ? connect_first(muster, error)
                          : try_clients(muster, index, index + 1, TRY_MS, error);
        if (code != EDUBBA_OK) {
            say_which(muster->place, index, error);
        } else if (load_now_ns() - muster->kept_ns < KEEP_NS) {
            return code;
        }
        struct edubba_error lost = {.code = EDUBBA_OK};
        if (try_clients(muster, 0, index, TRY_MS, &lost) != EDUBBA_OK) {
            (void)snprintf(error->text, sizeof error->text,
                           "a client that was connected is so no more: %.400s", lost.text);
            return error->code = lost.code;
        }
        muster->kept_ns = load_now_ns();
    } while (code != EDUBBA_OK && index > 0 && load_now_ns() < until_ns);
    return code;
}

static enum edubba_code connect_all(struct load_place *place,
                                    struct muster *muster,
                                    struct edubba_error *error)
{
    enum edubba_code code = check_files(place->options, &muster->ways, muster->server_count, error);
    if (code == EDUBBA_OK) {
        code = load_place_open_others(place, error);
    }
    for (uint64_t i = 0; code == EDUBBA_OK && i < place->client_count; i++) {
        code = connect_one(muster, i, error);
    }
    return code;
}

enum edubba_code load_place_connect(struct load_place *place,
                                    const struct load_workload *workload,
                                    bool is_load,
                                    struct edubba_error *error)
{
    struct edubba_tablet *tablets = NULL;
    size_t count = 0;
    enum edubba_code code = edubba_list_tablets(place->clients[0].client, place->options->table,
                                                &tablets, &count, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    struct muster muster = {
        .place = place,
        .ways = ways_of(workload, is_load),
        .servers = calloc(count + 1, sizeof *muster.servers),
        .kept_ns = load_now_ns(),
    };
    if (muster.servers == NULL) {
        error->code = code = EDUBBA_RESOURCE_EXHAUSTED;
        (void)snprintf(error->text, sizeof error->text, "no memory for %zu tablets", count);
    }
    for (size_t i = 0; code == EDUBBA_OK && i < count; i++) {
        if (load_tablet_is_first(tablets, i)) {
            muster.servers[muster.server_count++] = (struct server){
                .address = tablets[i].address, .row = load_tablet_row(&tablets[i])};
        }
    }
    if (code == EDUBBA_OK) {
        code = connect_all(place, &muster, error);
    }
    free(muster.servers);
    edubba_free(tablets);
    return code;
}
