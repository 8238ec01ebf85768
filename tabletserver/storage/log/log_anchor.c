/*
 * Opening the anchor: by it a log is known, whose it is and where it begins.
 *
 * Without it nothing tells which segments are to be replayed: those that were kept for other copies look like those
 * that are needed.  So a log that lacks it is refused, unless it is a new one; and log_repair() takes all of it for
 * lost and begins it anew, where nothing of before can be taken for a part of it: with a number that no file of it has
 * had, and far behind the position up to which it was synced, which is only known to be at least so high.  So what the
 * base hears of the new one speaks against the old one, should that come back: a disk that is mounted after all.
 */
#include <string.h>

#include "tabletserver/storage/log/log_state.h"

#define POSITION_MAX (UINT64_MAX / 4)    /* as far as anybody will ever come */
#define POSITION_GAP (UINT64_C(1) << 40) /* more than a log takes until the base hears of it */

/* The number in the name of any file of a log but the anchor; 0 = it is none. */
static uint64_t number_of(const char *name)
{
    uint64_t number = 0;
    bool is_one = log_segment_number(name, LOG_SEGMENT_PREFIX, &number) ||
                  log_segment_number(name, LOG_SPARE_PREFIX, &number) ||
                  log_segment_number(name, LOG_LOST_PREFIX, &number);
    return is_one ? number : 0;
}

static uint64_t highest_number(const struct log_listing *listing)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < listing->count; i++) {
        uint64_t number = number_of(listing->names[i]);
        highest = number > highest ? number : highest;
    }
    return highest;
}

static struct log_anchor first_anchor(const struct log *log, uint64_t segment, uint64_t position)
{
    return (struct log_anchor){
        .store_number = log->options.store_number,
        .counter = 1,
        .start_segment = segment,
        .start_position = position,
        .epoch = 0,
        .epoch_position = position,
        .synced_position = position,
    };
}

static enum status refuse(const struct log *log, bool is_empty, struct error *ret_error)
{
    if (is_empty) {
        return error_set(
            ret_error, STATUS_CORRUPT,
            "%s/%s is missing, and all else, yet there has been a log: if it is on a disk of its own, "
            "is that mounted? If it is lost, " LOG_ADVICE " --synced %llu",
            log->folder, LOG_ANCHOR_NAME, (unsigned long long)log->options.synced_position_hint);
    }
    return error_set(ret_error, STATUS_CORRUPT,
                     "%s/%s is missing, yet there has been a log; " LOG_ADVICE " --synced %llu",
                     log->folder, LOG_ANCHOR_NAME,
                     (unsigned long long)log->options.synced_position_hint);
}

/* There is none: a new log, or one that was lost. */
static enum status create(struct log *log,
                          const struct log_listing *listing,
                          struct error *ret_error)
{
    bool is_empty = highest_number(listing) == 0;
    if (!is_empty || log->options.expected ||
        log->options.synced_position_hint > LOG_POSITION_FIRST) {
        return refuse(log, is_empty, ret_error);
    }
    struct log_anchor anchor = first_anchor(log, 1, LOG_POSITION_FIRST);
    return log_anchor_create(log->folder, &anchor, ret_error);
}

/* A repair goes on without it: with one in memory that is written when all has been judged. */
static enum status do_without(struct log *log,
                              const struct log_listing *listing,
                              const struct error *why,
                              struct error *ret_error)
{
    struct log_repairing *repair = log->repair;
    uint64_t hint = log->options.synced_position_hint;
    uint64_t highest = highest_number(listing);
    if (why->status == STATUS_NOT_FOUND && !repair->options.begins_anew) {
        return error_set(ret_error, STATUS_NOT_FOUND, "%.600s", why->text);
    }
    if (log->options.store_number == 0) {
        return error_set(
            ret_error, STATUS_FAILED_PRECONDITION,
            "%.600s, and there is no file STORE beside the log that would tell whose it is: repair it "
            "where it lies",
            why->text);
    }
    if (hint > POSITION_MAX || highest == UINT64_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "no log comes to position %llu, segment %llu", (unsigned long long)hint,
                         (unsigned long long)highest);
    }
    uint64_t proven = hint > LOG_POSITION_FIRST ? hint : LOG_POSITION_FIRST;
    log->anchor = first_anchor(log, highest + 1, log_align(proven) + POSITION_GAP);
    repair->anchor_lost = true;
    repair->lost_from = 1;
    repair->result.cut = true;
    repair->result.proven_position = proven;
    memcpy(repair->result.reason, why->text, sizeof why->text);
    return STATUS_OK;
}

static enum status read(struct log *log, const char *path, struct error *ret_error)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct error error = {.status = STATUS_OK};
    uint64_t wanted = log->options.store_number;
    enum status status = file_read_at(&log->anchor_file, 0, slots, sizeof slots, &error);
    if (status == STATUS_OK) {
        status = log_anchor_decode(slots, 0, &log->anchor, &error);
    } else if (status == STATUS_OUT_OF_RANGE) {
        status = error_set(&error, STATUS_CORRUPT, "it is too short");
    } else {
        return error_set(ret_error, status, "%s", error.text); /* it names the file */
    }
    if (status == STATUS_CORRUPT && log->repair == NULL) {
        return error_set(ret_error, status, "%s: %s; " LOG_ADVICE " --synced %llu", path,
                         error.text, (unsigned long long)log->options.synced_position_hint);
    }
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "%s: %s", path, error.text);
    }
    /* One of another store is whole, and not for us to replay or to repair. */
    if (wanted != 0 && log->anchor.store_number != wanted) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "%s: it belongs to store %llx, not to %llx", path,
                         (unsigned long long)log->anchor.store_number, (unsigned long long)wanted);
    }
    log->options.store_number = log->anchor.store_number;
    return STATUS_OK;
}

enum status log_anchor_open(struct log *log,
                            const struct log_listing *listing,
                            struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct error error = {.status = STATUS_OK};
    enum status status = file_path_join(path, log->folder, LOG_ANCHOR_NAME, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    status = file_open(path, &log->anchor_file, &error);
    if (status == STATUS_NOT_FOUND && log->repair == NULL) {
        status = create(log, listing, &error);
        if (status == STATUS_OK) {
            status = file_open(path, &log->anchor_file, &error);
        }
    }
    if (status == STATUS_OK) {
        status = file_lock(&log->anchor_file, &error);
    }
    if (status == STATUS_OK) {
        status = read(log, path, &error);
    }
    if (log->repair != NULL && (status == STATUS_CORRUPT || status == STATUS_NOT_FOUND)) {
        return do_without(log, listing, &error, ret_error);
    }
    return status == STATUS_OK ? status : error_set(ret_error, status, "%s", error.text);
}
