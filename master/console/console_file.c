#include "master/console/console_file.h"

#include <stdio.h>
#include <string.h>

#include "common/base/endian.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/logger.h"

#define FORMAT      UINT64_C(1)
#define FORMAT_KEY  "format"
#define OWNER_KEY   "cluster"
#define OWNER_BYTES 8
#define MAP_BYTES   (UINT64_C(4) << 30)
#define ASIDE_TRIES 100

bool console_file_has_own(struct bytes key)
{
    return bytes_equal(key, bytes_of_text(FORMAT_KEY)) ||
           bytes_equal(key, bytes_of_text(OWNER_KEY));
}

static enum status put_one(struct kv *kv, const char *key, struct bytes value)
{
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(kv, &write);

    if (status != STATUS_OK) {
        return status;
    }
    status = kv_write_put(write, bytes_of_text(key), value);
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return status;
    }
    return kv_write_commit(write);
}

static enum status write_format(struct kv *kv)
{
    uint8_t format[8];
    store_be64(format, FORMAT);
    return put_one(kv, FORMAT_KEY, bytes_of(format, sizeof format));
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
        status = kv_read_get(read, bytes_of_text(FORMAT_KEY), &value, &found);
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

/* --- whose it is -------------------------------------------------------------------------------- */

static enum status write_owner(struct kv *kv, const struct console_owner *owner)
{
    struct buffer value = BUFFER_INIT;
    uint8_t cluster[OWNER_BYTES];

    store_be64(cluster, owner->cluster);
    buffer_append(&value, cluster, sizeof cluster);
    buffer_append(&value, owner->prefix, strlen(owner->prefix));
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : put_one(kv, OWNER_KEY, buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

/* What was kept beside an embedded catalog goes on when that is brought into etcd; never the other way round. */
static enum status compare(struct bytes value,
                           const struct console_owner *owner,
                           bool *ret_same,
                           struct error *ret_error)
{
    char printable[BYTES_PRINTABLE_SIZE_MAX];
    if (value.size_bytes < OWNER_BYTES) {
        return error_set(ret_error, STATUS_CORRUPT, "does not say whose it is");
    }
    uint64_t cluster = load_be64(value.data);
    struct bytes prefix = bytes_of(value.data + OWNER_BYTES, value.size_bytes - OWNER_BYTES);
    *ret_same = cluster == owner->cluster && bytes_equal(prefix, bytes_of_text(owner->prefix));
    if (*ret_same || (cluster == owner->cluster && prefix.size_bytes == 0)) {
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "is of cluster %llu%s%s, and this master of cluster %llu%s%s",
                     (unsigned long long)cluster, prefix.size_bytes > 0 ? " in etcd at " : "",
                     bytes_printable(prefix, printable), (unsigned long long)owner->cluster,
                     owner->prefix[0] != '\0' ? " in etcd at " : "", owner->prefix);
}

/* One that an older version made does not say, and is taken for ours from now on. */
static enum status check_owner(struct kv *kv,
                               const struct console_owner *owner,
                               struct error *ret_error)
{
    struct kv_read *read = NULL;
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    bool same = false;
    enum status status = kv_read_begin(kv, &read);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "cannot be read");
    }
    status = kv_read_get(read, bytes_of_text(OWNER_KEY), &value, &found);
    if (status != STATUS_OK) {
        (void)error_set(ret_error, status, "cannot be read");
    } else if (found) {
        status = compare(value, owner, &same, ret_error);
    }
    kv_read_end(read);
    if (status != STATUS_OK || same) {
        return status;
    }
    status = write_owner(kv, owner);
    return status == STATUS_OK || status == STATUS_NO_SPACE
               ? STATUS_OK /* on a full disk it is read as before; the next start says whose it is */
               : error_set(ret_error, status, "cannot be written");
}

/* --- opening ------------------------------------------------------------------------------------ */

static enum status open_kv(const char *path,
                           const struct console_owner *owner,
                           struct kv **ret_kv,
                           struct error *ret_error)
{
    const struct kv_options options = {
        .map_size_bytes = MAP_BYTES, .readers_max = 8, .looks_first = true};
    enum status status = kv_open(path, &options, ret_kv, ret_error);

    if (status == STATUS_OK) {
        status = check_format(*ret_kv, ret_error);
        if (status == STATUS_OK) {
            status = check_owner(*ret_kv, owner, ret_error);
        }
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

/* data.mdb becomes damaged-N.mdb, or other-N.mdb: the folder, and its lock, stay. */
static bool set_aside(const char *path, const char *as)
{
    char from[FILE_PATH_SIZE_MAX];
    char to[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    struct error error = {0};
    int i = 0;

    do {
        i++;
        (void)snprintf(to, sizeof to, "%.900s/%s-%d.mdb", path, as, i);
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

bool console_file_open(const char *folder,
                       const char *name,
                       const struct console_owner *owner,
                       struct console_file *ret_file)
{
    char path[FILE_PATH_SIZE_MAX];
    struct error error = {0};
    struct console_file file = {0};

    if (file_path_join(path, folder, name, &error) != STATUS_OK ||
        daemon_lock_folder(path, &file.lock, &error) != STATUS_OK) {
        warn(folder, name, "not_kept", &error);
        return false;
    }
    enum status status = open_kv(path, owner, &file.kv, &error);
    bool other = status == STATUS_FAILED_PRECONDITION;
    if (status == STATUS_CORRUPT || status == STATUS_VERSION || other) {
        warn(folder, name, "set_aside", &error);
        status = set_aside(path, other ? "other" : "damaged")
                     ? open_kv(path, owner, &file.kv, &error)
                     : status;
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
