#include "master/console/console_file.h"

#include <stdio.h>

#include "common/base/endian.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/logger.h"

#define FORMAT      UINT64_C(1)
#define MAP_BYTES   (UINT64_C(4) << 30)
#define ASIDE_TRIES 100

static enum status write_format(struct kv *kv)
{
    struct kv_write *write = NULL;
    uint8_t format[8];
    enum status status = kv_write_begin(kv, &write);

    if (status != STATUS_OK) {
        return status;
    }
    store_be64(format, FORMAT);
    status = kv_write_put(write, bytes_of_text(CONSOLE_FILE_FORMAT_KEY),
                          bytes_of(format, sizeof format));
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return status;
    }
    return kv_write_commit(write);
}

/* Is it ours, and of a format that we read?  An empty one becomes so. */
static enum status check_format(struct kv *kv, struct error *ret_error)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    bool any = false;
    bool found = false;
    enum status status = kv_read_begin(kv, &read);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "cannot be read");
    }
    status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        status = kv_cursor_move(cursor, KV_LAST, BYTES_EMPTY, &key, &value, &any);
        kv_cursor_close(cursor);
    }
    if (status == STATUS_OK) {
        status = kv_read_get(read, bytes_of_text(CONSOLE_FILE_FORMAT_KEY), &value, &found);
    }
    bool ours = found && value.size_bytes == 8 && load_be64(value.data) == FORMAT;
    kv_read_end(read);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "cannot be read");
    }
    if (any && !ours) {
        return error_set(ret_error, STATUS_VERSION, "is of another format");
    }
    status = any ? STATUS_OK : write_format(kv);
    return status == STATUS_OK ? STATUS_OK : error_set(ret_error, status, "cannot be written");
}

static enum status open_kv(const char *path, struct kv **ret_kv, struct error *ret_error)
{
    const struct kv_options options = {
        .map_size_bytes = MAP_BYTES, .readers_max = 8, .looks_first = true};
    enum status status = kv_open(path, &options, ret_kv, ret_error);

    if (status == STATUS_OK) {
        status = check_format(*ret_kv, ret_error);
        if (status != STATUS_OK) {
            kv_close(*ret_kv);
            *ret_kv = NULL;
        }
    }
    return status;
}

static bool is_there(const char *path)
{
    struct file file = FILE_CLOSED;
    struct error error = {0};
    bool there = file_open_read(path, &file, &error) == STATUS_OK;
    file_close(&file);
    return there;
}

/* data.mdb becomes damaged-N.mdb: the folder, and its lock, stay. */
static bool set_aside(const char *path)
{
    char from[FILE_PATH_SIZE_MAX];
    char to[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    struct error error = {0};
    int i = 0;

    do {
        i++;
        (void)snprintf(to, sizeof to, "%.900s/damaged-%d.mdb", path, i);
    } while (i < ASIDE_TRIES && is_there(to));
    (void)snprintf(from, sizeof from, "%.900s/data.mdb", path);
    bool moved = file_open_read(from, &file, &error) == STATUS_OK &&
                 file_rename(&file, to, &error) == STATUS_OK;
    file_close(&file);
    return moved;
}

static void warn(const char *folder, const char *name, const char *event, const struct error *error)
{
    LOG_EVENT(LOG_LEVEL_WARN, event, LOG_TEXT("folder", folder), LOG_TEXT("what", name),
              LOG_TEXT("error", error->text));
}

bool console_file_open(const char *folder, const char *name, struct console_file *ret_file)
{
    char path[FILE_PATH_SIZE_MAX];
    struct error error = {0};
    struct console_file file = {0};

    if (file_path_join(path, folder, name, &error) != STATUS_OK ||
        daemon_lock_folder(path, &file.lock, &error) != STATUS_OK) {
        warn(folder, name, "not_kept", &error);
        return false;
    }
    enum status status = open_kv(path, &file.kv, &error);
    if (status == STATUS_CORRUPT || status == STATUS_VERSION) {
        warn(folder, name, "set_aside", &error);
        status = set_aside(path) ? open_kv(path, &file.kv, &error) : status;
    }
    if (status != STATUS_OK) {
        warn(folder, name, "not_kept", &error);
        daemon_unlock_folder(file.lock);
        return false;
    }
    *ret_file = file;
    return true;
}

void console_file_close(struct console_file *file)
{
    kv_close(file->kv);
    daemon_unlock_folder(file->lock);
}
