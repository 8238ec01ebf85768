#include "master/console/heat_store.h"

#include <stdio.h>
#include <string.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/kv.h"
#include "common/io/logger.h"

#define KEY_BYTES   17
#define HEAD_BYTES  16
#define FORMAT      UINT64_C(1)
#define FORMAT_KEY  "format"
#define MAP_BYTES   (UINT64_C(4) << 30)
#define ASIDE_TRIES 100

struct gone {
    struct gone *next;
    uint8_t key[KEY_BYTES];
};

struct heat_store {
    struct kv *kv;
    int lock;
    struct gone *gone;
    bool failed; /* the last save did: said once */
};

/* --- the format --------------------------------------------------------------------------------- */

static void make_key(uint8_t key[KEY_BYTES], uint64_t table, size_t layer, int64_t start_us)
{
    key[0] = (uint8_t)layer;
    store_be64(key + 1, table);
    store_be64(key + 9, (uint64_t)start_us);
}

static void make_value(const uint8_t key[KEY_BYTES],
                       const struct heat_column *column,
                       struct buffer *out)
{
    const uint8_t head[HEAD_BYTES] = {0};
    buffer_append(out, head, HEAD_BYTES);
    buffer_append(out, column->packed, column->packed_bytes);
    if (!out->failed) {
        store_be64(out->data + 8, (uint64_t)column->end_us);
        store_be64(out->data,
                   checksum64(out->data + 8, out->size_bytes - 8, checksum64(key, KEY_BYTES, 0)));
    }
}

static struct heat_column *read_column(struct bytes key, struct bytes value)
{
    struct heat_column *column = NULL;
    if (key.size_bytes != KEY_BYTES || value.size_bytes < HEAD_BYTES ||
        load_be64(value.data) !=
            checksum64(value.data + 8, value.size_bytes - 8, checksum64(key.data, KEY_BYTES, 0))) {
        return NULL;
    }
    int64_t start_us = (int64_t)load_be64(key.data + 9);
    int64_t end_us = (int64_t)load_be64(value.data + 8);
    struct bytes packed = {value.data + HEAD_BYTES, value.size_bytes - HEAD_BYTES};
    return heat_column_unpack(packed, start_us, end_us, &column) == STATUS_OK ? column : NULL;
}

/* --- opening ------------------------------------------------------------------------------------ */

static enum status write_format(struct kv *kv)
{
    struct kv_write *write = NULL;
    uint8_t format[8];
    enum status status = kv_write_begin(kv, &write);

    if (status != STATUS_OK) {
        return status;
    }
    store_be64(format, FORMAT);
    status = kv_write_put(write, bytes_of_text(FORMAT_KEY), bytes_of(format, sizeof format));
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

static enum status open_kv(const char *path, struct kv **ret_kv, struct error *ret_error)
{
    const struct kv_options options = {.map_size_bytes = MAP_BYTES, .readers_max = 8};
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

static void warn(const char *path, const char *event, const struct error *error)
{
    LOG_EVENT(LOG_LEVEL_WARN, event, LOG_TEXT("folder", path), LOG_TEXT("error", error->text));
}

struct heat_store *heat_store_open(const char *folder)
{
    char path[FILE_PATH_SIZE_MAX];
    struct error error = {0};
    struct heat_store *store = memory_allocate_zeroed(1, sizeof *store);

    if (store == NULL || snprintf(path, sizeof path, "%s/heat", folder) >= (int)sizeof path) {
        memory_free(store);
        return NULL;
    }
    if (daemon_lock_folder(path, &store->lock, &error) != STATUS_OK) {
        warn(path, "heat_not_kept", &error);
        memory_free(store);
        return NULL;
    }
    enum status status = open_kv(path, &store->kv, &error);
    if (status == STATUS_CORRUPT || status == STATUS_VERSION) {
        warn(path, "heat_set_aside", &error);
        status = set_aside(path) ? open_kv(path, &store->kv, &error) : status;
    }
    if (status != STATUS_OK) {
        warn(path, "heat_not_kept", &error);
        daemon_unlock_folder(store->lock);
        memory_free(store);
        return NULL;
    }
    return store;
}

void heat_store_close(struct heat_store *store)
{
    if (store == NULL) {
        return;
    }
    while (store->gone != NULL) {
        struct gone *gone = store->gone;
        store->gone = gone->next;
        memory_free(gone);
    }
    kv_close(store->kv);
    daemon_unlock_folder(store->lock);
    memory_free(store);
}

/* --- loading ------------------------------------------------------------------------------------ */

void heat_store_load(struct heat_store *store, struct heat_map *map)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    uint64_t restored = 0;
    uint64_t damaged = 0;

    if (kv_read_begin(store->kv, &read) != STATUS_OK) {
        return;
    }
    enum status status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        status = kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found);
    }
    while (status == STATUS_OK && found) {
        struct heat_column *column = read_column(key, value);
        if (column != NULL) {
            column->stored = true;
            restored += heat_map_restore(map, load_be64(key.data + 1), key.data[0], column);
        } else {
            damaged += !bytes_equal(key, bytes_of_text(FORMAT_KEY));
        }
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
    if (cursor != NULL) {
        kv_cursor_close(cursor);
    }
    kv_read_end(read);
    LOG_EVENT(damaged > 0 || status != STATUS_OK ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "heat_restored",
              LOG_U64("columns", restored), LOG_U64("damaged", damaged));
}

/* --- saving ------------------------------------------------------------------------------------- */

void heat_store_gone(struct heat_store *store, uint64_t table, size_t layer, int64_t start_us)
{
    struct gone *gone = memory_allocate(sizeof *gone);
    if (gone != NULL) { /* else it is dropped after the next start, being old */
        make_key(gone->key, table, layer, start_us);
        gone->next = store->gone;
        store->gone = gone;
    }
}

static enum status put_column(struct kv_write *write,
                              const struct heat_table *table,
                              size_t layer,
                              const struct heat_column *column)
{
    uint8_t key[KEY_BYTES];
    struct buffer value = BUFFER_INIT;

    make_key(key, table->number, layer, column->start_us);
    make_value(key, column, &value);
    enum status status = value.failed
                             ? STATUS_NO_MEMORY
                             : kv_write_put(write, bytes_of(key, sizeof key), buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

/* Every column that is not in the file yet; with write NULL they are marked as being there. */
static enum status each_new(struct heat_map *map, struct kv_write *write)
{
    enum status status = STATUS_OK;
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        for (size_t layer = 1; layer < HEAT_LAYERS; layer++) {
            for (size_t i = 0; i < table->layers[layer].count && status == STATUS_OK; i++) {
                struct heat_column *column = table->layers[layer].columns[i];
                if (write == NULL) {
                    column->stored = true;
                } else if (!column->stored) {
                    status = put_column(write, table, layer, column);
                }
            }
        }
    }
    return status;
}

static enum status save(struct heat_store *store, struct heat_map *map)
{
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(store->kv, &write);

    if (status != STATUS_OK) {
        return status;
    }
    for (const struct gone *gone = store->gone; gone != NULL && status == STATUS_OK;
         gone = gone->next) {
        bool found = false;
        status = kv_write_delete(write, bytes_of(gone->key, KEY_BYTES), &found);
    }
    if (status == STATUS_OK) {
        status = each_new(map, write);
    }
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return status;
    }
    return kv_write_commit(write);
}

void heat_store_save(struct heat_store *store, struct heat_map *map)
{
    enum status status = save(store, map);

    if (status != STATUS_OK) {
        if (!store->failed) {
            LOG_EVENT(LOG_LEVEL_WARN, "heat_not_saved", LOG_TEXT("status", status_name(status)));
        }
        store->failed = true;
        return;
    }
    store->failed = false;
    (void)each_new(map, NULL);
    while (store->gone != NULL) {
        struct gone *gone = store->gone;
        store->gone = gone->next;
        memory_free(gone);
    }
}
