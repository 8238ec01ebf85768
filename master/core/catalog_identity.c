#include <stdio.h>

#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/*
 * Is this catalog the one that tablet servers were told of before?
 *
 * Stores keep the generation of their catalog and the highest version that they were told of it.  A
 * master whose folder was emptied, or put back from an old copy, would give numbers of tables and
 * tablets a second time, and order away what it does not know; so whoever knows another catalog, or
 * more of this one, is refused before anything of what he says is taken in.
 *
 *   the store knows                          then
 *   none                                     it takes this one, if none of its numbers is above it
 *   this one, no higher version              it is ours
 *   this one, a higher version               this is an older copy: nothing is done with it any more
 *   the one that this was ordered to succeed  it takes this one
 *   another one                              it is refused
 */

#define REFUSAL_NOTES_NS INT64_C(10000000000) /* between two about the same server */

static bool knows_another(const struct catalog *catalog, const struct store_information *store)
{
    return store->catalog != 0 && store->catalog != catalog->identity.generation &&
           store->catalog != catalog->identity.predecessor;
}

static enum status check_store(const struct catalog *catalog,
                               const struct server_information *server,
                               const struct store_information *store,
                               bool *ret_outdated,
                               struct error *ret_error)
{
    char folder[BYTES_PRINTABLE_SIZE_MAX];

    if (knows_another(catalog, store)) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "store %llu (%s) of server %llu belongs to catalog %llu; this master has "
                         "catalog %llu: put that one back, or, if it is lost, order this one to "
                         "succeed it (docs/operations.md, \"A lost catalog\")",
                         (unsigned long long)store->number, bytes_printable(store->folder, folder),
                         (unsigned long long)server->number, (unsigned long long)store->catalog,
                         (unsigned long long)catalog->identity.generation);
    }
    if (store->catalog == catalog->identity.generation &&
        store->catalog_version > catalog->counters.version) {
        *ret_outdated = true;
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "this master's copy of catalog %llu is an old one, of version %llu: store "
                         "%llu (%s) of server %llu was told of version %llu. Put the newest back, "
                         "or, if it is lost, order this one to succeed it (docs/operations.md, "
                         "\"A lost catalog\")",
                         (unsigned long long)catalog->identity.generation,
                         (unsigned long long)catalog->counters.version,
                         (unsigned long long)store->number, bytes_printable(store->folder, folder),
                         (unsigned long long)server->number,
                         (unsigned long long)store->catalog_version);
    }
    return STATUS_OK;
}

/* Numbers are durable here before anybody hears of them. */
static enum status check_numbers(const struct catalog *catalog,
                                 const struct sync_request *sync,
                                 struct error *ret_error)
{
    for (size_t i = 0; i < sync->held_count; i++) {
        if (sync->held[i].tablet >= catalog->counters.tablet_next) {
            return error_set(
                ret_error, STATUS_FAILED_PRECONDITION,
                "server %llu holds tablet %llu in store %llu; catalog %llu has not given that "
                "number yet: it is another one, or an old copy. Put the newest back (docs/"
                "operations.md, \"A lost catalog\")",
                (unsigned long long)sync->server.number, (unsigned long long)sync->held[i].tablet,
                (unsigned long long)sync->held[i].store,
                (unsigned long long)catalog->identity.generation);
        }
    }
    return STATUS_OK;
}

static void note_refusal(struct catalog *catalog,
                         const struct sync_request *sync,
                         const struct error *error)
{
    (void)snprintf(catalog->dispute, sizeof catalog->dispute, "%s", error->text);
    sync_note_refused(catalog, sync->server.number, "catalog_refused", error);
}

void sync_note_refused(struct catalog *catalog,
                       uint64_t server,
                       const char *event,
                       const struct error *error)
{
    int64_t *noted_ns = &catalog->refusals_ns[server % CATALOG_REFUSALS];

    if (*noted_ns != 0 && catalog->now_ns - *noted_ns < REFUSAL_NOTES_NS) {
        return;
    }
    *noted_ns = catalog->now_ns;
    emit_note(catalog, &(struct catalog_note){.event = event, .warning = true, .server = server},
              "%s", error->text);
}

enum status identity_check(struct catalog *catalog,
                           const struct sync_request *sync,
                           struct error *ret_error)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < sync->server.store_count && status == STATUS_OK; i++) {
        status = check_store(catalog, &sync->server, &sync->server.stores[i], &catalog->outdated,
                             ret_error);
    }
    if (status == STATUS_OK) {
        status = check_numbers(catalog, sync, ret_error);
    }
    if (status != STATUS_OK) {
        note_refusal(catalog, sync, ret_error);
    } else {
        catalog->confirmed = true;
    }
    return status;
}

const char *identity_dispute(const struct catalog *catalog)
{
    bool disputed = catalog->outdated || (catalog->dispute[0] != '\0' && !catalog->confirmed);
    return disputed ? catalog->dispute : NULL;
}
