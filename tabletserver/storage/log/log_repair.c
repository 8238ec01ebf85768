#include "tabletserver/storage/log/log_repair.h"

#include <string.h>

#include "tabletserver/storage/log/log_state.h"

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
    const struct log_repair_judge *judge = repairing->options.judge;
    return judge == NULL || judge->look == NULL ? STATUS_OK
                                                : judge->look(judge->context, record, ret_error);
}

enum status log_repair(const struct log_repair_options *what,
                       struct log_repair *ret_repair,
                       struct error *ret_error)
{
    struct log_repairing repairing = {.options = *what};
    struct error error = {.status = STATUS_OK};
    const struct log_options options = {
        .folder = what->folder,
        .store_number = what->store_number,
        .segment_bytes = LOG_SEGMENT_BYTES_MIN, /* none is made */
        .synced_position_hint = what->synced_position_hint,
        .expected = true,
        .context = &repairing,
        .on_synced = ignore_synced,
        .on_failed = ignore_failed,
        .on_replay = count_record,
    };
    if (strlen(what->folder) >= FILE_PATH_SIZE_MAX) {
        return error_set(ret_error, STATUS_LIMIT, "%s: the path is too long", what->folder);
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
