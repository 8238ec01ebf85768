#include "tabletserver/storage/log_repair.h"

#include <string.h>

#include "tabletserver/storage/log_state.h"

/* Nothing runs, so nothing is reported. */
static void ignore_synced(void *context, uint64_t position)
{
    (void)context;
    (void)position;
}

static void ignore_failed(void *context, const struct error *error)
{
    (void)context;
    (void)error;
}

static enum status count_record(void *context,
                                const struct log_record *record,
                                uint64_t position,
                                struct error *ret_error)
{
    struct log_repairing *repairing = context;
    (void)position;
    repairing->result.records++;
    return repairing->judge == NULL || repairing->judge->look == NULL
               ? STATUS_OK
               : repairing->judge->look(repairing->judge->context, record, ret_error);
}

enum status log_repair(const char *folder,
                       uint64_t synced_position_hint,
                       const struct log_repair_judge *judge,
                       struct log_repair *ret_repair,
                       struct error *ret_error)
{
    struct log_repairing repairing = {.judge = judge};
    struct error error = {.status = STATUS_OK};
    const struct log_options options = {
        .folder = folder,
        .segment_bytes = LOG_SEGMENT_BYTES_MIN, /* none is made */
        .synced_position_hint = synced_position_hint,
        .context = &repairing,
        .on_synced = ignore_synced,
        .on_failed = ignore_failed,
        .on_replay = count_record,
    };
    if (strlen(folder) >= FILE_PATH_SIZE_MAX) {
        return error_set(ret_error, STATUS_LIMIT, "%s: the path is too long", folder);
    }
    struct log *log = log_create(&options);
    if (log == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to repair the log");
    }
    log->repair = &repairing;
    enum status status = log_recover(log, &error);
    log_destroy(log);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s", error.text);
    }
    *ret_repair = repairing.result;
    return STATUS_OK;
}
