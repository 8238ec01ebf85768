#include "tabletserver/storage/store_relearn.h"

#include <stdio.h>

#include "common/base/assert.h"
#include "common/io/file.h"
#include "tabletserver/storage/log_repair.h"
#include "tabletserver/storage/record_replica.h"
#include "tabletserver/storage/store_internal.h"

#define NOTE_NAME      "RELEARN"
#define NOTE_BYTES_MAX 4096

static const char NOTE[] =
    "The log was cut where it was damaged: the copies here are taught anew by others.\n";

static enum status note_path(const struct store *store,
                             char ret_path[FILE_PATH_SIZE_MAX],
                             struct error *ret_error)
{
    return file_path_join(ret_path, store->folder, NOTE_NAME, ret_error);
}

enum status store_relearn_find(struct store *store, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct buffer text = BUFFER_INIT;
    enum status status = note_path(store, path, ret_error);
    if (status == STATUS_OK) {
        status = file_read_whole(path, NOTE_BYTES_MAX, &text, NULL);
        store->relearns = status == STATUS_OK;
        status = status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    buffer_deinit(&text);
    return status == STATUS_OK ? STATUS_OK
                               : error_set(ret_error, status, "%s: the file %s cannot be read",
                                           store->folder, NOTE_NAME);
}

/* By what the base says: the log, which may say more, is not to be trusted. */
static const struct store_tablet *find_only_copy(const struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->durable.members.member_count < 2) {
            return store->tablets[i];
        }
    }
    return NULL;
}

/* What the readable part of the log says since: a copy that has become the only one. */
static enum status look_for_only_copy(void *context,
                                      const struct log_record *record,
                                      struct error *ret_error)
{
    const struct store *store = context;
    struct record_configuration decoded;
    if (record->type != RECORD_CONFIGURATION ||
        record_decode_configuration(record->payload, &decoded, NULL) != STATUS_OK) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct store_tablet *tablet = store->tablets[i];
        if (tablet->descriptor.tablet == record->tablet && decoded.configuration.member_count < 2 &&
            decoded.configuration.version > tablet->durable.members.version) {
            return error_set(
                ret_error, STATUS_CORRUPT,
                "it is not cut by itself, as the log makes this the only copy of tablet "
                "%llu",
                (unsigned long long)record->tablet);
        }
    }
    return STATUS_OK;
}

/* Nothing was cut, so it speaks of nothing. */
static void take_note_back(const struct store *store, const char *path)
{
    if (!store->relearns && file_unlink(path, NULL) == STATUS_OK) {
        (void)file_sync_folder(store->folder, NULL); /* else the next opening comes here again */
    }
}

enum status store_relearn_cut(struct store *store, const char *log_folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct log_repair repair;
    struct error refused = *ret_error;
    const struct store_tablet *only = find_only_copy(store);
    if (!store->settings.relearns) {
        return STATUS_CORRUPT;
    }
    if (only != NULL) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "%.700s; it is not cut by itself, as tablet %llu may have no other copy",
                         refused.text, (unsigned long long)only->descriptor.tablet);
    }
    enum status status = note_path(store, path, ret_error);
    if (status == STATUS_OK) {
        status = file_write_atomic(path, NOTE, sizeof NOTE - 1, ret_error);
    }
    if (status == STATUS_OK) {
        const struct log_repair_judge judge = {store, look_for_only_copy};
        status = log_repair(log_folder, &judge, &repair, ret_error);
        if (status != STATUS_OK) {
            take_note_back(store, path);
            struct error why = *ret_error;
            (void)error_set(ret_error, status, "%.600s; %.300s", refused.text, why.text);
        }
    }
    if (status == STATUS_OK) {
        store->relearns = true;
        (void)snprintf(store->trouble.text, sizeof store->trouble.text,
                       "%s: the log was cut, the copies here are taught anew by others: %.400s",
                       store->folder, refused.text);
        error_clear(ret_error);
    }
    return status;
}

bool store_relearns(const struct store_tablet *tablet)
{
    return tablet->store->relearns || tablet->configuration.flags.damaged;
}

enum status store_relearn_mark(struct store *store, struct error *ret_error)
{
    for (uint32_t i = 0; i < store->tablet_count && store->relearns; i++) {
        struct store_tablet *tablet = store->tablets[i];
        struct store_configuration configuration = tablet->configuration;
        if (configuration.members.version == 0) {
            continue; /* it counts for nothing as it is */
        }
        configuration.flags.damaged = true;
        tablet->relearn_number = tablet->durable_number; /* replayed ones were durable before */
        enum status status = store_tablet_configure(tablet, &configuration, UINT64_MAX);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "%s: tablet %llu cannot be marked as damaged: %s",
                             store->folder, (unsigned long long)tablet->descriptor.tablet,
                             status_text(status));
        }
    }
    store_commit(store);
    return STATUS_OK;
}

static bool is_noted(struct store *store)
{
    bool noted = true;
    for (uint32_t i = 0; i < store->tablet_count && noted; i++) {
        struct store_tablet *tablet = store->tablets[i];
        (void)pthread_mutex_lock(&tablet->mutex);
        noted = tablet->durable_number > tablet->relearn_number ||
                tablet->durable.members.version == 0;
        (void)pthread_mutex_unlock(&tablet->mutex);
    }
    return noted;
}

void store_relearn_end(struct store *store)
{
    char path[FILE_PATH_SIZE_MAX];
    if (store->relearns && is_noted(store) && note_path(store, path, NULL) == STATUS_OK &&
        file_unlink(path, NULL) == STATUS_OK) {
        store->relearns = file_sync_folder(store->folder, NULL) != STATUS_OK;
    }
}
