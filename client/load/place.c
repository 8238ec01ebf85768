#include "client/load/place.h"

#include "client/load/files.h"
#include "client/load/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct load_idler {
    struct edubba_client *client;
    struct edubba_table *table;
    struct edubba_scan *scan;
};

static enum edubba_code no_memory(struct edubba_error *error)
{
    error->code = EDUBBA_RESOURCE_EXHAUSTED;
    (void)snprintf(error->text, sizeof error->text, "out of memory");
    return error->code;
}

/* --- the table -------------------------------------------------------------------------------- */

static bool is_ours(const struct edubba_schema *schema)
{
    bool data = false;
    bool sum = false;
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct edubba_family *family = &schema->families[i];
        data = data ||
               (strcmp(family->name, LOAD_FAMILY) == 0 && family->aggregate == EDUBBA_PLAIN);
        sum = sum ||
              (strcmp(family->name, LOAD_SUM_FAMILY) == 0 && family->aggregate == EDUBBA_INTSUM);
    }
    return data && sum && schema->family_count == 2;
}

/* Is the table there, and one that edubba-load has made? */
static enum edubba_code check_table(struct edubba_client *client,
                                    const char *name,
                                    struct edubba_error *error)
{
    struct edubba_schema *schema = NULL;
    enum edubba_code code = edubba_get_table(client, name, &schema, error);
    if (code == EDUBBA_OK && !is_ours(schema)) {
        code = EDUBBA_FAILED_PRECONDITION;
        error->code = code;
        (void)snprintf(
            error->text, sizeof error->text,
            "table %s was not made by edubba-load (its families are not just " LOAD_FAMILY
            " and " LOAD_SUM_FAMILY "): name another with --table",
            name);
    }
    edubba_schema_free(schema);
    return code;
}

static enum edubba_code create_table(struct edubba_client *client,
                                     const struct load_options *options,
                                     struct edubba_error *error)
{
    const struct edubba_family families[] = {
        {LOAD_FAMILY, EDUBBA_PLAIN, {.kind = EDUBBA_GC_VERSIONS, .versions = 1}},
        {LOAD_SUM_FAMILY, EDUBBA_INTSUM, {.kind = EDUBBA_GC_NONE}},
    };
    struct edubba_schema schema = {
        .name = options->table,
        .families = families,
        .family_count = 2,
    };
    uint64_t count = options->presplit - 1;
    uint8_t(*keys)[LOAD_ROW_KEY_BYTES_MAX] = calloc(count + 1, sizeof *keys);
    struct edubba_bytes *splits = calloc(count + 1, sizeof *splits);
    enum edubba_code code = EDUBBA_RESOURCE_EXHAUSTED;
    if (keys == NULL || splits == NULL) {
        (void)no_memory(error);
    } else {
        for (uint64_t i = 0; i < count; i++) {
            size_t size = load_row_key_split((enum load_key_form)options->keys, options->hosts,
                                             options->records, i + 1, options->presplit, keys[i]);
            splits[i] = edubba_bytes_of(keys[i], size);
        }
        code = edubba_create_table(client, &schema, splits, count, error);
    }
    free(keys);
    free(splits);
    return code;
}

/* --- clients ---------------------------------------------------------------------------------- */

static enum edubba_code open_client(const struct load_options *options,
                                    struct edubba_client **ret_client,
                                    struct edubba_error *error)
{
    return load_open(options, "edubba-load/" EDUBBA_VERSION, options->batch, ret_client, error);
}

/* Another load that began with ours may have made it meanwhile.  Then its rows are not there yet, so
 * it counts as new: both write the same rows. */
static enum edubba_code make_table(struct load_place *place, struct edubba_error *error)
{
    const struct load_options *options = place->options;
    struct edubba_client *client = place->clients[0].client;
    enum edubba_code code = create_table(client, options, error);
    if (code == EDUBBA_ALREADY_EXISTS) {
        code = check_table(client, options->table, error);
    }
    place->table_is_new = code == EDUBBA_OK;
    return code;
}

static enum edubba_code open_first(struct load_place *place,
                                   bool create,
                                   struct edubba_error *error)
{
    const struct load_options *options = place->options;
    struct load_client *first = &place->clients[0];
    enum edubba_code code = open_client(options, &first->client, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    place->client_count = 1;
    code = check_table(first->client, options->table, error);
    if (code == EDUBBA_NOT_FOUND && create) {
        code = make_table(place, error);
    }
    return code == EDUBBA_OK
               ? edubba_table_open(first->client, options->table, &first->table, error)
               : code;
}

enum edubba_code load_place_open(struct load_place *place,
                                 const struct load_options *options,
                                 bool create,
                                 struct edubba_error *error)
{
    *place = (struct load_place){.options = options};
    place->clients = calloc(options->clients, sizeof *place->clients);
    if (place->clients == NULL) {
        return no_memory(error);
    }
    enum edubba_code code = load_files_check(options->clients, options->clients, error);
    return code == EDUBBA_OK ? open_first(place, create, error) : code;
}

enum edubba_code load_place_open_others(struct load_place *place, struct edubba_error *error)
{
    const struct load_options *options = place->options;
    enum edubba_code code = EDUBBA_OK;
    while (code == EDUBBA_OK && place->client_count < options->clients) {
        struct load_client *client = &place->clients[place->client_count];
        code = open_client(options, &client->client, error);
        if (code == EDUBBA_OK) {
            place->client_count++;
            code = edubba_table_open(client->client, options->table, &client->table, error);
        }
    }
    return code;
}

enum edubba_code load_place_idle(struct load_place *place, struct edubba_error *error)
{
    uint64_t count = place->options->never_read;
    enum edubba_code code = EDUBBA_OK;
    place->idlers = calloc(count + 1, sizeof *place->idlers);
    if (place->idlers == NULL) {
        return no_memory(error);
    }
    for (uint64_t i = 0; code == EDUBBA_OK && i < count; i++) {
        struct load_idler *idler = &place->idlers[i];
        code = open_client(place->options, &idler->client, error);
        if (code == EDUBBA_OK) {
            place->idler_count = i + 1;
            code = edubba_table_open(idler->client, place->options->table, &idler->table, error);
        }
        if (code == EDUBBA_OK) {
            code = edubba_scan_open(idler->table, NULL, &idler->scan, error);
        }
    }
    return code;
}

enum edubba_code load_place_drop(struct load_place *place, struct edubba_error *error)
{
    return edubba_delete_table(place->clients[0].client, place->options->table, error);
}

void load_place_close(struct load_place *place)
{
    for (uint64_t i = 0; i < place->idler_count; i++) {
        edubba_scan_close(place->idlers[i].scan);
        edubba_table_close(place->idlers[i].table);
        edubba_client_close(place->idlers[i].client);
    }
    for (uint64_t i = 0; i < place->client_count; i++) {
        edubba_table_close(place->clients[i].table);
        edubba_client_close(place->clients[i].client);
    }
    free(place->idlers);
    free(place->clients);
    *place = (struct load_place){0};
}
