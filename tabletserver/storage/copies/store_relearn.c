#include "tabletserver/storage/copies/store_relearn.h"

#include <stdio.h>

#include "common/base/assert.h"
#include "common/io/file.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_replay.h"

#define NOTE_NAME      "RELEARN"
#define NOTE_BYTES_MAX 4096

static const char NOTE[] =
    "The log was cut where it was damaged: the copies here are taught anew by others.\n";

enum status store_relearn_note(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, NOTE_NAME, ret_error);
    return status == STATUS_OK ? file_write_atomic(path, NOTE, sizeof NOTE - 1, ret_error) : status;
}

enum status store_relearn_find(struct store *store, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct buffer text = BUFFER_INIT;
    enum status status = file_path_join(path, store->folder, NOTE_NAME, ret_error);
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

/* --- may it be cut? ------------------------------------------------------------------------------- */

/* Do these members name this store's copy alone? */
static bool is_lone(const struct store *store, const struct replica_configuration *members)
{
    return members->member_count == 1 && members->members[0].store == store->identity.store_number;
}

bool store_has_other_copies(const struct store *store, const struct replica_configuration *members)
{
    return members->version != 0 && !is_lone(store, members);
}

/* What is known of a tablet: by the base, then by what can be read of the log, which says more. */
struct last_known {
    uint64_t tablet;
    bool only; /* or it has not been told */
};

struct judging {
    const struct store *store;
    struct buffer known; /* struct last_known each */
};

static struct last_known *known_of(struct judging *judging, uint64_t tablet)
{
    struct last_known *known = (struct last_known *)(void *)judging->known.data;
    size_t count = judging->known.size_bytes / sizeof *known;
    for (size_t i = 0; i < count; i++) {
        if (known[i].tablet == tablet) {
            return &known[i];
        }
    }
    return NULL;
}

static enum status learn_of(struct judging *judging,
                            uint64_t tablet,
                            const struct replica_configuration *members)
{
    const struct last_known now = {tablet,
                                   members->member_count == 0 || is_lone(judging->store, members)};
    struct last_known *before = known_of(judging, tablet);
    if (before != NULL) {
        *before = now;
    } else {
        buffer_append(&judging->known, &now, sizeof now);
    }
    return judging->known.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status look(void *context, const struct log_record *record, struct error *ret_error)
{
    struct judging *judging = context;
    struct record_configuration decoded;
    enum status status = STATUS_OK;
    if (record->type == RECORD_CONFIGURATION || record->type == RECORD_CONVERSION) {
        status = record_decode_configuration(record->payload, &decoded, ret_error);
        if (status == STATUS_OK) {
            status = learn_of(judging, record->tablet, &decoded.configuration);
        }
    }
    return status;
}

static enum status decide(void *context, struct error *ret_error)
{
    const struct judging *judging = context;
    const struct last_known *known = (const struct last_known *)(const void *)judging->known.data;
    size_t count = judging->known.size_bytes / sizeof *known;
    for (size_t i = 0; i < count; i++) {
        if (known[i].only) {
            return error_set(ret_error, STATUS_CORRUPT,
                             "it is not cut by itself, as tablet %llu may have no other copy; "
                             "edubba-repair-log cuts it all the same",
                             (unsigned long long)known[i].tablet);
        }
    }
    return store_relearn_note(judging->store->folder, ret_error);
}

static enum status cut(const struct store *store,
                       const char *log_folder,
                       uint64_t synced_position,
                       struct error *ret_error)
{
    struct judging judging = {store, BUFFER_INIT};
    const struct log_repair_judge judge = {&judging, look, decide};
    const struct log_repair_options options = {.folder = log_folder,
                                               .store_number = store->identity.store_number,
                                               .synced_position_hint = synced_position,
                                               .judge = &judge};
    struct log_repair repair;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store->tablet_count && status == STATUS_OK; i++) {
        const struct store_tablet *tablet = store->tablets[i];
        status = learn_of(&judging, tablet->descriptor.tablet, &tablet->durable.members);
    }
    status = status == STATUS_OK ? log_repair(&options, &repair, ret_error)
                                 : error_set(ret_error, status, "no memory to judge it");
    buffer_deinit(&judging.known);
    return status;
}

enum status store_relearn_cut(struct store *store,
                              const char *log_folder,
                              uint64_t synced_position,
                              struct error *ret_error)
{
    struct error refused = *ret_error;
    if (!store->settings.relearns) {
        return STATUS_CORRUPT;
    }
    enum status status = cut(store, log_folder, synced_position, ret_error);
    if (status == STATUS_NOT_FOUND) { /* no anchor: a person has to say that it is lost */
        *ret_error = refused;
        return refused.status;
    }
    if (status != STATUS_OK) {
        struct error why = *ret_error;
        return error_set(ret_error, status, "%.600s; %.300s", refused.text, why.text);
    }
    store->relearns = true;
    (void)snprintf(store->trouble.text, sizeof store->trouble.text,
                   "%s: the log was cut, the copies here are taught anew by others: %.400s",
                   store->folder, refused.text);
    error_clear(ret_error);
    return STATUS_OK;
}

/* --- until the copies say so themselves ----------------------------------------------------------- */

/* Those that have others.  One of no configuration counts for nothing as it is.  Of the only copy a person has cut
 * the log. */
bool store_relearns(const struct store_tablet *tablet)
{
    return tablet->configuration.flags.damaged ||
           (tablet->store->relearns &&
            store_has_other_copies(tablet->store, &tablet->configuration.members));
}

enum status store_relearn_lift(struct store *store, struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store->tablet_count && status == STATUS_OK && store->relearns; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (store_tablet_is_torn(tablet) && !store_relearns(tablet)) {
            status = store_replay_lift(tablet, ret_error);
        }
    }
    return status;
}

bool store_tablet_is_torn(const struct store_tablet *tablet)
{
    return !tablet->learn.begun && store_tablet_prepared(tablet) < tablet->hold_until;
}

enum status store_relearn_mark(struct store *store, struct error *ret_error)
{
    for (uint32_t i = 0; i < store->tablet_count && store->relearns; i++) {
        struct store_tablet *tablet = store->tablets[i];
        struct store_configuration configuration = tablet->configuration;
        if (!store_has_other_copies(store, &configuration.members)) {
            continue;
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
                !store_has_other_copies(store, &tablet->durable.members);
        (void)pthread_mutex_unlock(&tablet->mutex);
    }
    return noted;
}

void store_relearn_end(struct store *store)
{
    char path[FILE_PATH_SIZE_MAX];
    if (!store->relearns || !is_noted(store) ||
        file_path_join(path, store->folder, NOTE_NAME, NULL) != STATUS_OK) {
        return;
    }
    enum status status = file_unlink(path, NULL);
    if (status == STATUS_OK ||
        status == STATUS_NOT_FOUND) { /* the folder could not be synced then */
        store->relearns = file_sync_folder(store->folder, NULL) != STATUS_OK;
    }
}
