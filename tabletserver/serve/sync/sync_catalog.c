#include "tabletserver/serve/sync/sync_parts.h"

#include "common/io/clock.h"
#include "common/io/logger.h"
#include "tabletserver/serve/server.h"

/* Is the master's catalog the one that the stores belong to?  (storage/store/store_catalog.h) */

#define NOTE_COMPLAINT_NS (INT64_C(60) * 1000 * 1000 * 1000)

static enum status check(const struct server *server,
                         const struct store_catalog_offer *offer,
                         struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < server->loop_count && status == STATUS_OK; i++) {
        status = store_catalog_check(store_loop_catalog(server->loops[i]), offer, ret_error);
    }
    return status;
}

/* A store whose disk does not take it is in trouble enough, and keeps what it had noted: its fellows
 * must not stand still for it. */
static void note(struct sync *sync, const struct store_catalog_mark *mark)
{
    int64_t now_ns = clock_monotonic_ns();

    for (uint32_t i = 0; i < sync->server->loop_count; i++) {
        struct error error = {.status = STATUS_OK};
        if (catalog_keeper_note(sync->keepers[i], mark, &error) != STATUS_OK &&
            now_ns >= sync->next_note_complaint_ns) {
            LOG_EVENT(LOG_LEVEL_ERROR, "catalog_not_noted",
                      LOG_TEXT("store", store_loop_folder(sync->server->loops[i])),
                      LOG_TEXT("error", error.text));
            sync->next_note_complaint_ns = now_ns + NOTE_COMPLAINT_NS;
        }
    }
}

enum status sync_settle_catalog(struct sync *sync,
                                const struct sync_response *response,
                                struct error *ret_error)
{
    const struct store_catalog_offer offer = {
        .generation = response->generation,
        .version = response->newest_version,
        .predecessor = response->predecessor,
    };
    enum status status = check(sync->server, &offer, ret_error);

    if (status == STATUS_OK && response->generation != 0) {
        note(sync, &(struct store_catalog_mark){response->generation,
                                                response->newest_version > response->version
                                                    ? response->newest_version
                                                    : response->version});
    }
    return status;
}
