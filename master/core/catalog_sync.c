#include "common/base/assert.h"
#include "common/base/limits.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

#define ADDRESS_BYTES_MAX 512
#define FOLDER_BYTES_MAX  4096
#define STORE_FAILED      2 /* as stores report it; also shown for a store that is not there */

/* --- is this server who it says? -------------------------------------------------------------- */

static enum status check_stores(const struct server_information *from, struct error *ret_error)
{
    if (from->store_count > RECORD_STORES_MAX / 2) {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT, "server %llu names %zu stores: at most %d",
            (unsigned long long)from->number, from->store_count, RECORD_STORES_MAX / 2);
    }
    for (size_t i = 0; i < from->store_count; i++) {
        bool twice = false;
        for (size_t j = 0; j < i; j++) {
            twice = twice || from->stores[j].number == from->stores[i].number;
        }
        if (from->stores[i].number == 0 || twice ||
            from->stores[i].folder.size_bytes > FOLDER_BYTES_MAX) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "server %llu: store number %llu is 0, named twice, or its folder's "
                             "name is too long",
                             (unsigned long long)from->number,
                             (unsigned long long)from->stores[i].number);
        }
    }
    return STATUS_OK;
}

static enum status check_description(const struct server_information *from, struct error *ret_error)
{
    if (from->number == 0 || from->incarnation == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "a tablet server needs a number and an incarnation above 0");
    }
    if (from->address.size_bytes == 0 || from->address.size_bytes > ADDRESS_BYTES_MAX ||
        from->http_address.size_bytes > ADDRESS_BYTES_MAX ||
        from->zone.size_bytes > LIMIT_ZONE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "server %llu: its address is missing, or address or zone is too long",
                         (unsigned long long)from->number);
    }
    return check_stores(from, ret_error);
}

/* Two processes with one number: of two starts of one folder the later one stays.  At another address
 * it is a copy of the folder while the former process is heard; or it was moved, and waits a little.
 * Who is refused here serves nobody (PERMISSION_DENIED is said of nothing else). */
static enum status check_incarnation(const struct catalog *catalog,
                                     const struct server *server,
                                     const struct server_information *from,
                                     struct error *ret_error)
{
    const struct server_image *known = server->seen != NULL ? server->seen : server->image;
    char address[BYTES_PRINTABLE_SIZE_MAX];

    if (known == NULL) {
        return STATUS_OK;
    }
    if (from->incarnation < known->record.incarnation) {
        return error_set(
            ret_error, STATUS_PERMISSION_DENIED,
            "server %llu at %s was started again (incarnation %llu): this older "
            "process (incarnation %llu) must end",
            (unsigned long long)from->number, bytes_printable(known->record.address, address),
            (unsigned long long)known->record.incarnation, (unsigned long long)from->incarnation);
    }
    if (state_may_live(catalog, server) && !bytes_equal(from->address, known->record.address)) {
        char own[BYTES_PRINTABLE_SIZE_MAX];
        return error_set(ret_error, STATUS_PERMISSION_DENIED,
                         "server number %llu is in use by the process at %s: the one at %s must "
                         "end if its folder is a copy; if it was moved it is let in when the other "
                         "one was not heard of for %lld ms",
                         (unsigned long long)from->number,
                         bytes_printable(known->record.address, address),
                         bytes_printable(from->address, own),
                         (long long)(catalog->settings.server_timeout_ns / 1000000));
    }
    return STATUS_OK;
}

bool sync_knows_process(const struct catalog *catalog, uint64_t number, uint64_t incarnation)
{
    const struct server *server = state_server(catalog, number);
    const struct server_image *known = server == NULL         ? NULL
                                       : server->seen != NULL ? server->seen
                                                              : server->image;
    return known != NULL && (incarnation == 0 || known->record.incarnation == incarnation);
}

/* The living server that listed it last, or may list it again soon; NULL = none. */
static const struct server *user_of(const struct catalog *catalog, const struct store *store)
{
    const struct server *user = store->seen_on;

    if (user == NULL && store->owner != NULL && store->owner->seen == NULL) {
        user = store->owner;
    }
    return user != NULL && state_may_live(catalog, user) ? user : NULL;
}

/* A disk may move to another server, but not away from one that lives and still has it. */
static enum status check_store_owners(const struct catalog *catalog,
                                      const struct server *server,
                                      const struct server_information *from,
                                      struct error *ret_error)
{
    for (size_t i = 0; i < from->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, from->stores[i].number);
        const struct server *user = store == NULL ? NULL : user_of(catalog, store);
        if (user != NULL && user != server) {
            char folder[BYTES_PRINTABLE_SIZE_MAX];
            return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                             "store %llu (%s) is in use by the living server %llu: is this folder "
                             "a copy?",
                             (unsigned long long)store->number,
                             bytes_printable(from->stores[i].folder, folder),
                             (unsigned long long)user->number);
        }
    }
    return STATUS_OK;
}

/* --- taking it in ----------------------------------------------------------------------------- */

/* The description as a record; arrays in scratch, bytes borrowed.  NULL stores: no memory. */
static struct server_record record_of(struct catalog *catalog,
                                      const struct server_information *from)
{
    struct store_record *stores = arena_allocate_array(&catalog->scratch, from->store_count + 1,
                                                       sizeof *stores);
    for (size_t i = 0; i < from->store_count && stores != NULL; i++) {
        stores[i] = (struct store_record){from->stores[i].number, from->stores[i].folder};
    }
    return (struct server_record){
        .number = from->number,
        .incarnation = from->incarnation,
        .address = from->address,
        .http_address = from->http_address,
        .zone = from->zone,
        .stores = stores,
        .store_count = from->store_count,
    };
}

/* Everything that needs memory, before anything is changed. */
static enum status prepare(struct catalog *catalog,
                           struct server *server,
                           const struct server_information *from,
                           struct server_image **ret_image)
{
    struct server_record record = record_of(catalog, from);
    struct server_image *image = NULL;

    if (record.stores == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < from->store_count; i++) {
        if (state_store_make(catalog, from->stores[i].number) == NULL) {
            return STATUS_NO_MEMORY;
        }
    }
    if (server->seen == NULL || plan_server_differs(&record, &server->seen->record)) {
        image = state_server_image_create(&record);
        if (image == NULL) {
            return STATUS_NO_MEMORY;
        }
    }
    *ret_image = image;
    return STATUS_OK;
}

/* Does it bring a store that it had not got before? */
static bool brings_store(const struct catalog *catalog,
                         const struct server *server,
                         const struct server_information *from)
{
    for (size_t i = 0; i < from->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, from->stores[i].number);
        if (store->seen_on != server) {
            return true;
        }
    }
    return false;
}

static void take_stores(struct catalog *catalog,
                        struct server *server,
                        const struct server_information *from)
{
    for (size_t i = 0; server->seen != NULL && i < server->seen->record.store_count; i++) {
        struct store *store = number_map_get(&catalog->stores,
                                             server->seen->record.stores[i].number);
        if (store->seen_on == server) {
            store->seen_on = NULL;
            store->condition = STORE_FAILED;
        }
    }
    for (size_t i = 0; i < from->store_count; i++) {
        struct store *store = number_map_get(&catalog->stores, from->stores[i].number);
        store->seen_on = server;
        store->condition = from->stores[i].condition;
        store->heard_ns = store->condition == STORE_FAILED ? store->heard_ns : catalog->now_ns;
        store->used_bytes = from->stores[i].used_bytes;
        store->free_bytes = from->stores[i].free_bytes;
    }
}

static void take_description(struct catalog *catalog,
                             struct server *server,
                             const struct server_information *from,
                             struct server_image *image)
{
    bool changed = image != NULL || brings_store(catalog, server, from);

    take_stores(catalog, server, from);
    if (image != NULL) {
        state_server_image_destroy(server->seen);
        server->seen = image;
    }
    if (changed) {
        server->dirty = true;
        catalog->servers_dirty = true;
    }
    server->unopened_count = from->unopened_count;
    server->heard_ns = catalog->now_ns;
    server->heard_us = catalog->now_us;
    if (!server->alive) {
        char address[BYTES_PRINTABLE_SIZE_MAX];
        emit_note(catalog,
                  &(struct catalog_note){.event = "server_alive", .server = server->number}, "%s",
                  bytes_printable(from->address, address));
    }
    server->alive = true;
}

static enum status check(struct catalog *catalog,
                         const struct sync_request *sync,
                         struct error *ret_error)
{
    const struct server_information *from = &sync->server;
    const struct server *server = state_server(catalog, from->number);
    enum status status = check_description(from, ret_error);

    if (status == STATUS_OK && server != NULL) {
        status = check_incarnation(catalog, server, from, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_store_owners(catalog, server, from, ret_error);
    }
    if (status != STATUS_OK) {
        sync_note_refused(catalog, from->number, "sync_refused", ret_error);
        return status;
    }
    return identity_check(catalog, sync, ret_error);
}

enum status sync_receive(struct catalog *catalog,
                         const struct catalog_event *event,
                         const struct sync_request *sync)
{
    struct error error = {0};
    struct server_image *image = NULL;

    if (check(catalog, sync, &error) != STATUS_OK) {
        emit_error(catalog, event->number, &error);
        return STATUS_OK;
    }
    struct server *server = state_server_make(catalog, sync->server.number);
    if (server == NULL || effects_reserve(catalog) != STATUS_OK ||
        prepare(catalog, server, &sync->server, &image) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    if (server->sync.parked) {
        delta_unpark(catalog, server); /* it asks anew: it has waited long enough */
    }
    take_description(catalog, server, &sync->server, image);
    if (server->replicates != sync->replicates) {
        server->replicates = sync->replicates;
        server->dirty = true;
        catalog->servers_dirty = true;
    }
    server->leaving = sync->leaving;
    report_take(catalog, server, sync);
    hot_take(catalog, server, sync);
    server->known_version = sync->known_generation == catalog->identity.generation
                                ? sync->known_version
                                : 0;
    if (delta_is_due(catalog, server) || server->unsettled_count > 0 || server->stale_count > 0 ||
        catalog->settings.sync_hold_ns == 0) {
        delta_reply(catalog, server, event->number, false);
        return STATUS_OK;
    }
    int64_t until_ns = catalog->now_ns + catalog->settings.sync_hold_ns;
    bool hurried = event->deadline_ns != 0 && event->deadline_ns < until_ns;
    server->sync = (struct parked_sync){
        .parked = true,
        .request = event->number,
        .deadline_ns = hurried ? event->deadline_ns : until_ns,
    };
    return STATUS_OK;
}
