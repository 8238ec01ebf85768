#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/kv/kv.h"
#include "master/coordinator/coordinator.h"

/* One LMDB file: each record a key.  A catalog of a million tablets is some 200 MiB. */

#define PATH_SIZE_MAX    4096
#define MAP_SIZE_BYTES   (UINT64_C(16) << 30)
#define READERS_MAX      8
#define MARKER_BYTES_MAX 4096

struct embedded {
    struct coordinator base;
    struct kv *kv;
    char path[PATH_SIZE_MAX]; /* the folder of its file */
};

static struct embedded *embedded_of(struct coordinator *coordinator)
{
    return (struct embedded *)coordinator;
}

static enum status cannot_read(enum status status, struct error *ret_error)
{
    return error_set(ret_error, status, "cannot read the catalog: %s", status_text(status));
}

/* It may be the last word of the process. */
static enum status cannot_write(const struct embedded *embedded,
                                enum status status,
                                struct error *ret_error)
{
    bool is_disk = status == STATUS_IO;
    return error_set(ret_error, status, "cannot write the catalog, %s/data.mdb: %s%s",
                     embedded->path, status_text(status),
                     is_disk ? "; see whether its disk is well, and its file system is not "
                               "read-only (dmesg, findmnt)"
                             : "");
}

static enum status walk(struct kv_cursor *cursor,
                        coordinator_take take,
                        void *context,
                        struct error *ret_error)
{
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    enum status status = kv_cursor_move(cursor, KV_SEEK, bytes_of_text("\x01"), &key, &value,
                                        &found);

    while (status == STATUS_OK && found) {
        status = take(context, key, value, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
    return status == STATUS_OK ? STATUS_OK : cannot_read(status, ret_error);
}

static enum status embedded_load(struct coordinator *coordinator,
                                 coordinator_take take,
                                 void *context,
                                 struct error *ret_error)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    enum status status = kv_read_begin(embedded_of(coordinator)->kv, &read);

    if (status != STATUS_OK) {
        return cannot_read(status, ret_error);
    }
    status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        status = walk(cursor, take, context, ret_error);
        kv_cursor_close(cursor);
    } else {
        status = cannot_read(status, ret_error);
    }
    kv_read_end(read);
    return status;
}

static enum status embedded_commit(struct coordinator *coordinator,
                                   const struct catalog_put *puts,
                                   size_t put_count,
                                   struct error *ret_error)
{
    const struct embedded *embedded = embedded_of(coordinator);
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(embedded->kv, &write);

    if (status != STATUS_OK) {
        return cannot_write(embedded, status, ret_error);
    }
    for (size_t i = 0; i < put_count && status == STATUS_OK; i++) {
        bool found = false;
        status = puts[i].removed ? kv_write_delete(write, puts[i].key, &found)
                                 : kv_write_put(write, puts[i].key, puts[i].value);
    }
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return cannot_write(embedded, status, ret_error);
    }
    status = kv_write_commit(write);
    return status == STATUS_OK ? STATUS_OK : cannot_write(embedded, status, ret_error);
}

static void embedded_close(struct coordinator *coordinator)
{
    struct embedded *embedded = embedded_of(coordinator);
    kv_close(embedded->kv);
    memory_free(embedded);
}

static const struct coordinator_methods embedded_methods = {
    .load = embedded_load,
    .commit = embedded_commit,
    .close = embedded_close,
};

/* Is there any record? */
static enum status has_records(struct kv *kv, bool *ret_any, struct error *ret_error)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    enum status status = kv_read_begin(kv, &read);

    if (status != STATUS_OK) {
        return cannot_read(status, ret_error);
    }
    status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        status = kv_cursor_move(cursor, KV_SEEK, bytes_of_text("\x01"), &key, &value, ret_any);
        kv_cursor_close(cursor);
    }
    kv_read_end(read);
    return status == STATUS_OK ? STATUS_OK : cannot_read(status, ret_error);
}

/*
 * <folder>/catalog/CATALOG says that there is a catalog here: a data file that is missing or empty
 * beside it has been lost, and must not be taken for a new cluster.
 */
static enum status check_marker(struct kv *kv, const char *marker, struct error *ret_error)
{
    struct buffer text = BUFFER_INIT;
    bool any = false;
    enum status status = has_records(kv, &any, ret_error);
    if (status != STATUS_OK || any) {
        return status;
    }
    status = file_read_whole(marker, MARKER_BYTES_MAX, &text, NULL);
    buffer_deinit(&text);
    if (status == STATUS_NOT_FOUND) {
        return STATUS_OK; /* the first start */
    }
    return error_set(ret_error, STATUS_CORRUPT,
                     "data.mdb holds no catalog although there was one: put it back from a copy, "
                     "or remove %s to begin an empty cluster",
                     marker);
}

/* It is written once: a catalog that is there must be served on a full disk, too. */
static enum status leave_marker(const char *marker, struct error *ret_error)
{
    static const char text[] = "A catalog is kept here, in data.mdb.\n";
    return access(marker, F_OK) == 0 ? STATUS_OK
                                     : file_write_atomic(marker, text, sizeof text - 1, ret_error);
}

/* Open the file, tell a lost catalog from a new one, settle whose it is, leave the marker. */
static enum status open_catalog(struct embedded *embedded,
                                const char *path,
                                const struct coordinator_identity *identity,
                                struct error *ret_error)
{
    const struct kv_options options = {.map_size_bytes = MAP_SIZE_BYTES,
                                       .readers_max = READERS_MAX};
    char marker[FILE_PATH_SIZE_MAX];

    enum status status = file_path_join(marker, path, "CATALOG", ret_error);
    if (status == STATUS_OK) {
        status = kv_open(path, &options, &embedded->kv, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = check_marker(embedded->kv, marker, ret_error);
    if (status == STATUS_OK) {
        status = coordinator_settle_identity(&embedded->base, identity, ret_error);
    }
    if (status != STATUS_OK) {
        return error_prefix(ret_error, "%s", path);
    }
    return leave_marker(marker, ret_error);
}

enum status coordinator_open_embedded(const char *folder,
                                      const struct coordinator_identity *identity,
                                      struct coordinator **ret_coordinator,
                                      struct error *ret_error)
{
    char path[PATH_SIZE_MAX];
    int size = snprintf(path, sizeof path, "%s/catalog", folder);

    if (size <= 0 || (size_t)size >= sizeof path) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "folder name too long: %s", folder);
    }
    enum status status = file_make_folders(path, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct embedded *embedded = memory_allocate_zeroed(1, sizeof *embedded);
    if (embedded == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to open the catalog");
    }
    embedded->base.methods = &embedded_methods;
    memcpy(embedded->path, path, (size_t)size + 1);
    status = open_catalog(embedded, path, identity, ret_error);
    if (status != STATUS_OK) {
        embedded_close(&embedded->base);
        return status;
    }
    *ret_coordinator = &embedded->base;
    return STATUS_OK;
}
