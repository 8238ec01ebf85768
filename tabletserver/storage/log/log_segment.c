#include "tabletserver/storage/log/log_segment.h"

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"

#define NUMBER_DIGITS 16
#define NAME_SUFFIX   ".log"

enum status log_segment_path(char ret_path[FILE_PATH_SIZE_MAX],
                             const char *folder,
                             const char *prefix,
                             uint64_t number,
                             struct error *ret_error)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s%0*llx%s", prefix, NUMBER_DIGITS,
                   (unsigned long long)number, NAME_SUFFIX);
    return file_path_join(ret_path, folder, name, ret_error);
}

static bool read_digit(char c, uint64_t *number)
{
    const char *digits = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    if (at == NULL) {
        return false;
    }
    *number = *number * 16 + (uint64_t)(at - digits);
    return true;
}

bool log_segment_number(const char *name, const char *prefix, uint64_t *ret_number)
{
    size_t prefix_length = strlen(prefix);
    uint64_t number = 0;
    if (strncmp(name, prefix, prefix_length) != 0 ||
        strlen(name) != prefix_length + NUMBER_DIGITS + strlen(NAME_SUFFIX) ||
        strcmp(name + prefix_length + NUMBER_DIGITS, NAME_SUFFIX) != 0) {
        return false;
    }
    for (size_t i = 0; i < NUMBER_DIGITS; i++) {
        if (!read_digit(name[prefix_length + i], &number)) {
            return false;
        }
    }
    *ret_number = number;
    return true;
}

static enum status read_header(struct log_segment *segment,
                               uint64_t store_number,
                               struct error *ret_error)
{
    uint8_t block[LOG_BLOCK_BYTES];
    uint64_t size = 0;
    enum status status = file_read_at(&segment->file, 0, block, sizeof block, ret_error);
    if (status == STATUS_OUT_OF_RANGE) { /* file_read_at has named the file */
        ret_error->status = STATUS_CORRUPT;
        return STATUS_CORRUPT;
    }
    if (status == STATUS_OK) {
        status = file_size(&segment->file, &size, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = log_segment_header_decode(block, store_number, &segment->header, ret_error);
    if (status == STATUS_OK && size != segment->header.segment_bytes) {
        status = error_set(ret_error, STATUS_CORRUPT, "the file has %llu bytes, its header says %u",
                           (unsigned long long)size, segment->header.segment_bytes);
    }
    return status == STATUS_OK ? status
                               : error_prefix(ret_error, "%s, offset 0", segment->file.path);
}

static struct log_segment *segment_create(void)
{
    struct log_segment *segment = memory_allocate(sizeof *segment);
    if (segment != NULL) {
        *segment = (struct log_segment){.file = FILE_CLOSED};
    }
    return segment;
}

enum status log_segment_open(const char *folder,
                             uint64_t number,
                             uint64_t store_number,
                             struct log_segment **ret_segment,
                             struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct error error = {0}; /* read_header() needs one that is there */
    enum status status = log_segment_path(path, folder, LOG_SEGMENT_PREFIX, number, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct log_segment *segment = segment_create();
    if (segment == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "%s: no memory to open it", path);
    }
    status = file_open(path, &segment->file, &error);
    if (status == STATUS_OK) {
        status = read_header(segment, store_number, &error);
    }
    if (status != STATUS_OK) {
        log_segment_destroy(segment);
        return error_set(ret_error, status, "%s", error.text);
    }
    *ret_segment = segment;
    return STATUS_OK;
}

/* An open file of the right size, under a name of no meaning. */
static enum status provide_file(const char *folder,
                                uint64_t spare_number,
                                uint32_t segment_bytes,
                                struct file *ret_file,
                                struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = STATUS_OK;
    if (spare_number != 0) {
        status = log_segment_path(path, folder, LOG_SPARE_PREFIX, spare_number, ret_error);
        return status == STATUS_OK ? file_open(path, ret_file, ret_error) : status;
    }
    status = file_path_join(path, folder, LOG_PREPARING_NAME, ret_error);
    if (status == STATUS_OK) {
        status = file_unlink(path, ret_error);
        status = status == STATUS_NOT_FOUND ? STATUS_OK : status;
    }
    if (status == STATUS_OK) {
        status = file_create(path, ret_file, ret_error);
    }
    return status == STATUS_OK ? file_preallocate(ret_file, segment_bytes, ret_error) : status;
}

/* Write the header and sync it, then give the file its name and sync that: a named segment has its header. */
static enum status name_file(struct log_segment *segment,
                             const char *folder,
                             bool *ret_named,
                             struct error *ret_error)
{
    uint8_t block[LOG_BLOCK_BYTES];
    char path[FILE_PATH_SIZE_MAX];
    log_segment_header_encode(&segment->header, block);
    enum status status = file_write_at(&segment->file, 0, block, sizeof block, ret_error);
    if (status == STATUS_OK) {
        status = file_sync(&segment->file, ret_error);
    }
    if (status == STATUS_OK) {
        status = log_segment_path(path, folder, LOG_SEGMENT_PREFIX, segment->header.generation,
                                  ret_error);
    }
    if (status == STATUS_OK) {
        status = file_rename(&segment->file, path, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_named = true;
        status = file_sync_folder(folder, ret_error);
    }
    return status;
}

enum status log_segment_prepare(const char *folder,
                                const struct log_segment_header *header,
                                uint64_t spare_number,
                                struct log_segment **ret_segment,
                                bool *ret_named,
                                struct error *ret_error)
{
    *ret_named = false;
    struct log_segment *segment = segment_create();
    if (segment == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a log segment");
    }
    segment->header = *header;
    enum status status = provide_file(folder, spare_number, header->segment_bytes, &segment->file,
                                      ret_error);
    if (status == STATUS_OK) {
        status = name_file(segment, folder, ret_named, ret_error);
    }
    if (status != STATUS_OK) {
        if (segment->file.descriptor >= 0 && !*ret_named) {
            /* Best effort: a file of no meaning, removed again at the next attempt or opening. */
            (void)file_unlink(segment->file.path, NULL);
        }
        log_segment_destroy(segment);
        return status;
    }
    *ret_segment = segment;
    return STATUS_OK;
}

void log_segment_destroy(struct log_segment *segment)
{
    if (segment != NULL) {
        file_close(&segment->file);
        memory_free(segment);
    }
}

enum status log_segment_put_aside(const char *folder,
                                  uint64_t number,
                                  const char *prefix,
                                  struct error *ret_error)
{
    struct file file = FILE_CLOSED;
    char to[FILE_PATH_SIZE_MAX];
    enum status status = log_segment_path(file.path, folder, LOG_SEGMENT_PREFIX, number, ret_error);
    if (status == STATUS_OK) {
        status = log_segment_path(to, folder, prefix, number, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_rename(&file, to, ret_error);
    }
    return status == STATUS_OK ? file_sync_folder(folder, ret_error) : status;
}

enum status log_segment_remove(const char *folder,
                               const char *prefix,
                               uint64_t number,
                               struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = log_segment_path(path, folder, prefix, number, ret_error);
    if (status == STATUS_OK) {
        status = file_unlink(path, ret_error);
    }
    return status == STATUS_OK ? file_sync_folder(folder, ret_error) : status;
}

enum status log_anchor_create(const char *folder,
                              const struct log_anchor *anchor,
                              struct error *ret_error)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, LOG_ANCHOR_NAME, ret_error);
    log_anchor_encode(anchor, slots);
    log_anchor_encode(anchor, slots + LOG_BLOCK_BYTES);
    return status == STATUS_OK ? file_write_atomic(path, slots, sizeof slots, ret_error) : status;
}

enum status log_anchor_write(const struct file *file,
                             const struct log_anchor *anchor,
                             struct error *ret_error)
{
    uint8_t slot[LOG_BLOCK_BYTES];
    log_anchor_encode(anchor, slot);
    enum status status = file_write_at(file, anchor->counter % 2 * LOG_BLOCK_BYTES, slot,
                                       sizeof slot, ret_error);
    return status == STATUS_OK ? file_sync(file, ret_error) : status;
}
