#include "master/console/event_store.h"

#include <stdlib.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/logger.h"

#define KEY_BYTES   8
#define HEAD_BYTES  8
#define ARENA_BYTES ((size_t)65536)
#define ARENA_MAX   ((size_t)4 * EVENT_LOG_BYTES_MAX)

struct event_store {
    struct console_file file;
    uint64_t kept;
    enum status trouble; /* how the last save failed: said once; STATUS_OK = it did not */
};

/* --- the format --------------------------------------------------------------------------------- */

static void make_value(const uint8_t key[KEY_BYTES], const struct event *event, struct buffer *out)
{
    const uint8_t head[HEAD_BYTES] = {0};
    const struct list_events_response one = {.events = event, .event_count = 1};
    buffer_append(out, head, HEAD_BYTES);
    list_events_response_encode(&one, out);
    if (!out->failed) {
        store_be64(out->data, checksum64(out->data + HEAD_BYTES, out->size_bytes - HEAD_BYTES,
                                         checksum64(key, KEY_BYTES, 0)));
    }
}

/* It lies in the arena, and in what it was read from.  False: it is damaged. */
static bool read_event(struct bytes key,
                       struct bytes value,
                       struct arena *arena,
                       struct event *ret_event)
{
    struct list_events_response one = {0};
    struct error error = {0};
    if (key.size_bytes != KEY_BYTES || value.size_bytes < HEAD_BYTES ||
        load_be64(value.data) != checksum64(value.data + HEAD_BYTES, value.size_bytes - HEAD_BYTES,
                                            checksum64(key.data, KEY_BYTES, 0))) {
        return false;
    }
    struct bytes body = bytes_of(value.data + HEAD_BYTES, value.size_bytes - HEAD_BYTES);
    if (list_events_response_decode(body, arena, &one, &error) != STATUS_OK ||
        one.event_count != 1 || one.events->number != load_be64(key.data)) {
        return false;
    }
    *ret_event = *one.events;
    return true;
}

/* --- life --------------------------------------------------------------------------------------- */

struct event_store *event_store_open(const char *folder, const struct console_owner *owner)
{
    struct event_store *store = memory_allocate_zeroed(1, sizeof *store);

    if (store == NULL || !console_file_open(folder, "events", owner, &store->file)) {
        memory_free(store);
        return NULL;
    }
    return store;
}

const char *event_store_trouble(const struct event_store *store)
{
    return store->trouble == STATUS_OK ? NULL : status_text(store->trouble);
}

void event_store_close(struct event_store *store)
{
    if (store != NULL) {
        console_file_close(&store->file);
        memory_free(store);
    }
}

/* --- loading ------------------------------------------------------------------------------------ */

static int by_change(const void *a, const void *b)
{
    const struct event *left = a;
    const struct event *right = b;
    return left->change < right->change ? -1 : left->change > right->change;
}

struct loading {
    struct event *events;
    size_t capacity;
    size_t count;
    uint64_t damaged;
};

static enum status collect(struct event_store *store,
                           struct kv_cursor *cursor,
                           struct arena *arena,
                           struct loading *loading)
{
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    bool found = false;
    enum status status = kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found);

    while (status == STATUS_OK && found) {
        if (!console_file_has_own(key)) {
            store->kept++;
            if (loading->count == loading->capacity ||
                !read_event(key, value, arena, &loading->events[loading->count])) {
                loading->damaged++;
            } else {
                loading->count++;
            }
        }
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
    return status;
}

/* While the read is open: events lie in the file. */
static enum status load(struct event_store *store,
                        struct kv_read *read,
                        struct loading *loading,
                        struct event_log *log)
{
    struct kv_cursor *cursor = NULL;
    struct arena arena;
    enum status status = kv_cursor_open_read(read, &cursor);

    if (status != STATUS_OK) {
        return status;
    }
    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    status = collect(store, cursor, &arena, loading);
    qsort(loading->events, loading->count, sizeof *loading->events, by_change);
    for (size_t i = 0; i < loading->count; i++) {
        (void)event_log_take(log, &loading->events[i]);
    }
    arena_deinit(&arena);
    kv_cursor_close(cursor);
    return status;
}

void event_store_load(struct event_store *store, struct event_log *log)
{
    struct kv_read *read = NULL;
    struct loading loading = {.capacity = 2 * EVENT_LOG_MAX};

    loading.events = memory_allocate_zeroed(loading.capacity, sizeof *loading.events);
    enum status status = loading.events == NULL ? STATUS_NO_MEMORY
                                                : kv_read_begin(store->file.kv, &read);
    if (status == STATUS_OK) {
        status = load(store, read, &loading, log);
        kv_read_end(read);
    }
    memory_free(loading.events);
    LOG_EVENT(loading.damaged > 0 || status != STATUS_OK ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
              "events_restored", LOG_U64("events", loading.count),
              LOG_U64("damaged", loading.damaged));
}

/* --- saving ------------------------------------------------------------------------------------- */

static enum status put(struct kv_write *write, const struct event *event, uint64_t *kept)
{
    uint8_t key[KEY_BYTES];
    struct buffer value = BUFFER_INIT;
    bool found = false;

    store_be64(key, event->number);
    make_value(key, event, &value);
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : kv_write_delete(write, bytes_of(key, sizeof key), &found);
    if (status == STATUS_OK) {
        status = kv_write_put(write, bytes_of(key, sizeof key), buffer_bytes(&value));
    }
    buffer_deinit(&value);
    *kept += found ? 0 : 1;
    return status;
}

/* The oldest: numbers rise. */
static enum status delete_first(struct kv_write *write)
{
    struct kv_cursor *cursor = NULL;
    struct bytes key = BYTES_EMPTY;
    struct bytes value = BYTES_EMPTY;
    uint8_t copy[KEY_BYTES];
    bool found = false;
    enum status status = kv_cursor_open_write(write, &cursor);

    if (status != STATUS_OK) {
        return status;
    }
    status = kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found);
    bool is_event = status == STATUS_OK && found && key.size_bytes == KEY_BYTES;
    for (size_t i = 0; i < KEY_BYTES && is_event; i++) {
        copy[i] = key.data[i];
    }
    kv_cursor_close(cursor);
    return is_event ? kv_write_delete(write, bytes_of(copy, sizeof copy), &found) : status;
}

static enum status save(struct event_store *store,
                        const struct event *events,
                        size_t count,
                        uint64_t *kept)
{
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(store->file.kv, &write);

    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = put(write, &events[i], kept);
    }
    for (; *kept > EVENT_LOG_MAX && status == STATUS_OK; --*kept) {
        status = delete_first(write);
    }
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return status;
    }
    return kv_write_commit(write);
}

bool event_store_save(struct event_store *store, const struct event *events, size_t count)
{
    uint64_t kept = store->kept;
    enum status status = save(store, events, count, &kept);

    if (status != STATUS_OK && store->trouble == STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "events_not_saved", LOG_TEXT("status", status_name(status)));
    }
    store->trouble = status;
    store->kept = status == STATUS_OK ? kept : store->kept;
    return status == STATUS_OK;
}
