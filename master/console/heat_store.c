#include "master/console/heat_store.h"

#include <string.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/logger.h"

#define KEY_BYTES  17
#define HEAD_BYTES 16

struct gone {
    struct gone *next;
    uint8_t key[KEY_BYTES];
};

struct heat_store {
    struct console_file file;
    struct gone *gone;
    enum status trouble; /* how the last save failed: said once; STATUS_OK = it did not */
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

/* --- life --------------------------------------------------------------------------------------- */

struct heat_store *heat_store_open(const char *folder, const struct console_owner *owner)
{
    struct heat_store *store = memory_allocate_zeroed(1, sizeof *store);

    if (store == NULL || !console_file_open(folder, "heat", owner, &store->file)) {
        memory_free(store);
        return NULL;
    }
    return store;
}

const char *heat_store_trouble(const struct heat_store *store)
{
    return store->trouble == STATUS_OK ? NULL : status_text(store->trouble);
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
    console_file_close(&store->file);
    memory_free(store);
}

static void note_gone(struct heat_store *store, const uint8_t key[KEY_BYTES])
{
    struct gone *gone = memory_allocate(sizeof *gone);
    if (gone != NULL) { /* else it is dropped after the next start, being old */
        memcpy(gone->key, key, KEY_BYTES);
        gone->next = store->gone;
        store->gone = gone;
    }
}

/* --- loading ------------------------------------------------------------------------------------ */

/* Or it would lie there, and be warned of, for ever. */
static void note_damaged(struct heat_store *store, struct bytes key)
{
    if (key.size_bytes == KEY_BYTES) {
        note_gone(store, key.data);
    }
}

void heat_store_load(struct heat_store *store, struct heat_map *map)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    uint64_t restored = 0;
    uint64_t damaged = 0;

    if (kv_read_begin(store->file.kv, &read) != STATUS_OK) {
        return;
    }
    enum status status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        status = kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found);
    }
    while (status == STATUS_OK && found) {
        struct heat_column *column = read_column(key, value);
        if (column != NULL) {
            restored += heat_map_restore(map, load_be64(key.data + 1), key.data[0], column);
        } else if (!console_file_has_own(key)) {
            note_damaged(store, key);
            damaged += 1;
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
    uint8_t key[KEY_BYTES];
    make_key(key, table, layer, start_us);
    note_gone(store, key);
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
    enum status status = kv_write_begin(store->file.kv, &write);

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

    bool is_new = store->trouble == STATUS_OK;
    store->trouble = status;
    if (status != STATUS_OK) {
        if (is_new) {
            LOG_EVENT(LOG_LEVEL_WARN, "heat_not_saved", LOG_TEXT("status", status_name(status)));
        }
        return;
    }
    (void)each_new(map, NULL);
    while (store->gone != NULL) {
        struct gone *gone = store->gone;
        store->gone = gone->next;
        memory_free(gone);
    }
}
