#include "client/load/lab/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client/load/complaint.h"
#include "client/load/files.h"
#include "client/load/lab/core/cuts.h"
#include "client/load/open.h"
#include "client/load/run.h"
#include "client/load/signals.h"

#define AGENT          "edubba-load-lab/" EDUBBA_VERSION
#define SERVED_NS      (INT64_C(20) * 1000 * 1000 * 1000)
#define SERVED_LOOK_NS 50000000
#define PATIENCE_MS    2000
#define SERVERS_S      10
#define SERVERS_MS     100 /* from look to look */

static enum edubba_code fail(struct edubba_error *error, enum edubba_code code, const char *text)
{
    error->code = code;
    (void)snprintf(error->text, sizeof error->text, "%s", text);
    return code;
}

/* --- clients ---------------------------------------------------------------------------------- */

enum edubba_code lab_stand_open(struct lab_stand *stand,
                                const struct load_options *options,
                                struct edubba_error *error)
{
    *stand = (struct lab_stand){.options = options};
    stand->clients = calloc(options->clients, sizeof *stand->clients);
    if (stand->clients == NULL) {
        return fail(error, EDUBBA_RESOURCE_EXHAUSTED, "out of memory");
    }
    enum edubba_code code = load_files_check(options->clients, options->clients, error);
    if (code == EDUBBA_OK) {
        code = load_open(options, AGENT, LAB_ROWS_MAX, &stand->observer, error);
    }
    while (code == EDUBBA_OK && stand->client_count < options->clients) {
        code = load_open(options, AGENT, LAB_ROWS_MAX, &stand->clients[stand->client_count].client,
                         error);
        stand->client_count += code == EDUBBA_OK ? 1 : 0;
    }
    return code;
}

static void close_tables(struct lab_stand *stand)
{
    for (uint64_t i = 0; i < stand->client_count; i++) {
        edubba_table_close(stand->clients[i].table);
        stand->clients[i].table = NULL;
    }
    edubba_table_close(stand->observed);
    stand->observed = NULL;
}

void lab_stand_close(struct lab_stand *stand)
{
    close_tables(stand);
    for (uint64_t i = 0; i < stand->client_count; i++) {
        edubba_client_close(stand->clients[i].client);
    }
    edubba_client_close(stand->observer);
    free(stand->clients);
    *stand = (struct lab_stand){0};
}

static int by_address(const void *a, const void *b)
{
    const struct lab_server *left = a;
    const struct lab_server *right = b;
    return strcmp(left->address, right->address);
}

static enum edubba_code list_alive(struct lab_stand *stand,
                                   struct lab_server *servers,
                                   size_t max,
                                   size_t *ret_count,
                                   struct edubba_error *error)
{
    struct edubba_server *listed = NULL;
    size_t count = 0;
    *ret_count = 0;
    enum edubba_code code = edubba_list_servers(stand->observer, &listed, &count, error);
    for (size_t i = 0; code == EDUBBA_OK && i < count && *ret_count < max; i++) {
        if (listed[i].alive) {
            struct lab_server *server = &servers[(*ret_count)++];
            server->number = listed[i].number;
            (void)snprintf(server->address, sizeof server->address, "%s", listed[i].address);
        }
    }
    edubba_free(listed);
    return code;
}

/* Each look has a pause behind it. */
static enum edubba_code await_servers(struct lab_stand *stand,
                                      size_t least,
                                      struct lab_server *servers,
                                      size_t max,
                                      size_t *ret_count,
                                      struct edubba_error *error)
{
    const struct timespec pause = {.tv_nsec = SERVERS_MS * 1000000};
    enum edubba_code code = EDUBBA_OK;
    char warning[LAB_ERROR_BYTES];
    (void)snprintf(warning, sizeof warning,
                   "%zu of %zu tablet servers are there: up to %d s are waited for the others",
                   *ret_count, least, SERVERS_S);
    load_warn(warning);
    for (int look = 0; code == EDUBBA_OK && *ret_count < least && !load_was_interrupted() &&
                       look < SERVERS_S * 1000 / SERVERS_MS;
         look++) {
        (void)nanosleep(&pause, NULL);
        code = list_alive(stand, servers, max, ret_count, error);
    }
    return code;
}

enum edubba_code lab_stand_servers(struct lab_stand *stand,
                                   size_t least,
                                   struct lab_server *servers,
                                   size_t max,
                                   size_t *ret_count,
                                   struct edubba_error *error)
{
    enum edubba_code code = list_alive(stand, servers, max, ret_count, error);
    if (code == EDUBBA_OK && *ret_count < least) {
        code = await_servers(stand, least, servers, max, ret_count, error);
    }
    qsort(servers, *ret_count, sizeof *servers, by_address);
    return code;
}

/* --- the table -------------------------------------------------------------------------------- */

static void name_table(struct lab_stand *stand,
                       const struct lab_experiment *experiment,
                       const struct lab_variant *variant)
{
    (void)snprintf(stand->table, sizeof stand->table, "LAB_%s_%s", experiment->name, variant->name);
    for (char *at = stand->table; *at != '\0'; at++) {
        *at = *at == ' ' ? '-' : *at;
    }
}

static size_t families_of(const struct lab_variant *variant,
                          struct edubba_family families[LAB_FAMILIES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < LAB_FAMILIES_MAX && variant->families[i].name != NULL; i++) {
        const struct lab_family *family = &variant->families[i];
        families[count++] = (struct edubba_family){
            .name = family->name,
            .aggregate = family->aggregate,
            .gc = {.kind = family->versions > 0 ? EDUBBA_GC_VERSIONS : EDUBBA_GC_NONE,
                   .versions = family->versions},
        };
    }
    return count;
}

/* A table of the lab has the copies that the lab wants, whatever the masters are set to; a majority of them
 * has each write. */
static struct edubba_schema schema_of(const struct lab_stand *stand,
                                      const struct lab_variant *variant,
                                      const char *name,
                                      struct edubba_family families[LAB_FAMILIES_MAX])
{
    uint32_t replicas = (uint32_t)stand->options->replicas;
    return (struct edubba_schema){
        .name = name,
        .families = families,
        .family_count = families_of(variant, families),
        .replicas = replicas,
        .min_in_sync = replicas / 2 + 1,
    };
}

static bool is_ours(const struct edubba_schema *schema, const struct lab_variant *variant)
{
    struct edubba_family families[LAB_FAMILIES_MAX];
    size_t count = families_of(variant, families);
    bool is_same = schema->family_count == count;
    for (size_t i = 0; is_same && i < count; i++) {
        bool is_there = false;
        for (size_t j = 0; j < count; j++) {
            is_there = is_there || (strcmp(schema->families[j].name, families[i].name) == 0 &&
                                    schema->families[j].aggregate == families[i].aggregate);
        }
        is_same = is_there;
    }
    return is_same;
}

/* What an earlier run has left. */
static enum edubba_code drop_old(struct lab_stand *stand,
                                 const struct lab_variant *variant,
                                 const char *name,
                                 struct edubba_error *error)
{
    struct edubba_schema *schema = NULL;
    enum edubba_code code = edubba_get_table(stand->observer, name, &schema, error);
    if (code == EDUBBA_NOT_FOUND) {
        return EDUBBA_OK;
    }
    if (code == EDUBBA_OK && !is_ours(schema, variant)) {
        code = EDUBBA_FAILED_PRECONDITION;
        error->code = code;
        (void)snprintf(error->text, sizeof error->text,
                       "there is a table %s that the lab did not make: its families are others",
                       name);
    }
    edubba_schema_free(schema);
    return code == EDUBBA_OK ? edubba_delete_table(stand->observer, name, error) : code;
}

static enum edubba_code create(struct lab_stand *stand,
                               const struct lab_experiment *experiment,
                               const struct lab_variant *variant,
                               const struct lab_world *world,
                               size_t tablets,
                               struct edubba_error *error)
{
    struct edubba_family families[LAB_FAMILIES_MAX];
    struct edubba_schema schema = schema_of(stand, variant, stand->table, families);
    struct lab_cut *cuts = calloc(tablets, sizeof *cuts);
    struct edubba_bytes *splits = calloc(tablets, sizeof *splits);
    size_t count = 0;
    enum edubba_code code = EDUBBA_RESOURCE_EXHAUSTED;
    if (cuts == NULL || splits == NULL ||
        !lab_cuts_make(experiment, variant, world, tablets, cuts, &count)) {
        (void)fail(error, code, "out of memory");
    } else {
        for (size_t i = 0; i < count; i++) {
            splits[i] = edubba_bytes_of(cuts[i].key, cuts[i].size);
        }
        code = edubba_create_table(stand->observer, &schema, splits, count, error);
    }
    free(cuts);
    free(splits);
    return code;
}

static bool all_are_served(const struct lab_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        if (map->tablets[i].server == 0) {
            return false;
        }
    }
    return true;
}

static enum edubba_code wait_until_served(struct lab_stand *stand, struct edubba_error *error)
{
    int64_t until_ns = load_now_ns() + SERVED_NS;
    bool is_served = false;
    while (!is_served) {
        struct lab_map *map = lab_stand_look(stand, PATIENCE_MS);
        is_served = map != NULL && all_are_served(map);
        lab_map_destroy(map);
        if (!is_served && load_now_ns() > until_ns) {
            return fail(error, EDUBBA_UNAVAILABLE, "the tablets of a new table are not served");
        }
        if (!is_served) {
            (void)nanosleep(&(struct timespec){0, SERVED_LOOK_NS}, NULL);
        }
    }
    return EDUBBA_OK;
}

enum edubba_code lab_stand_make_table(struct lab_stand *stand,
                                      const struct lab_experiment *experiment,
                                      const struct lab_variant *variant,
                                      const struct lab_world *world,
                                      size_t tablets,
                                      struct edubba_error *error)
{
    name_table(stand, experiment, variant);
    enum edubba_code code = drop_old(stand, variant, stand->table, error);
    if (code == EDUBBA_OK) {
        code = create(stand, experiment, variant, world, tablets, error);
    }
    if (code != EDUBBA_OK) {
        stand->table[0] = '\0'; /* not ours to drop */
        return code;
    }
    code = wait_until_served(stand, error);
    for (uint64_t i = 0; code == EDUBBA_OK && i < stand->client_count; i++) {
        struct lab_client *client = &stand->clients[i];
        code = edubba_table_open(client->client, stand->table, &client->table, error);
    }
    return code == EDUBBA_OK
               ? edubba_table_open(stand->observer, stand->table, &stand->observed, error)
               : code;
}

enum edubba_code lab_stand_make_other(struct lab_stand *stand,
                                      const struct lab_variant *variant,
                                      const char *name,
                                      struct edubba_table **ret_table,
                                      struct edubba_error *error)
{
    struct edubba_family families[LAB_FAMILIES_MAX];
    struct edubba_schema schema = schema_of(stand, variant, name, families);
    enum edubba_code code = drop_old(stand, variant, name, error);
    if (code == EDUBBA_OK) {
        code = edubba_create_table(stand->observer, &schema, NULL, 0, error);
    }
    return code == EDUBBA_OK ? edubba_table_open(stand->clients[0].client, name, ret_table, error)
                             : code;
}

/* How much is stored of the table; none where it has no tablets. */
static enum edubba_code sample_stored(struct lab_stand *stand, uint64_t *ret_bytes)
{
    struct edubba_sample *samples = NULL;
    struct edubba_error error;
    size_t count = 0;
    edubba_thread_deadline(PATIENCE_MS);
    enum edubba_code code = edubba_sample_row_keys(stand->observed, &samples, &count, &error);
    edubba_thread_deadline(0);
    *ret_bytes = code == EDUBBA_OK && count > 0 ? samples[count - 1].offset_bytes : 0;
    edubba_free(samples);
    return code;
}

/* An open table is the one of its number: one that was made since, of the same name, is another. */
bool lab_stand_is_there(struct lab_stand *stand)
{
    uint64_t bytes = 0;
    return sample_stored(stand, &bytes) != EDUBBA_NOT_FOUND;
}

enum edubba_code lab_stand_leave_table(struct lab_stand *stand, struct edubba_error *error)
{
    bool is_ours_to_drop = stand->table[0] != '\0' && !stand->options->keep &&
                           (stand->observed == NULL || lab_stand_is_there(stand));
    close_tables(stand);
    enum edubba_code code = is_ours_to_drop
                                ? edubba_delete_table(stand->observer, stand->table, error)
                                : EDUBBA_OK;
    stand->table[0] = '\0';
    return code;
}

struct lab_map *lab_stand_look(struct lab_stand *stand, uint32_t patience_ms)
{
    struct edubba_tablet_replicas *tablets = NULL;
    struct edubba_error error;
    struct lab_map *map = NULL;
    size_t count = 0;
    edubba_thread_deadline(patience_ms);
    if (edubba_list_replicas(stand->observer, stand->table, &tablets, &count, &error) ==
        EDUBBA_OK) {
        map = lab_map_create(tablets, count);
    }
    edubba_thread_deadline(0);
    edubba_free(tablets);
    return map;
}

bool lab_stand_stored_bytes(struct lab_stand *stand, uint64_t *ret_bytes)
{
    return sample_stored(stand, ret_bytes) == EDUBBA_OK;
}
