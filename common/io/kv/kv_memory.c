/*
 * kv.h in memory, for tests: simple and right rather than fast.  What it keeps, and how a snapshot
 * stays as it is, is in kv_memory_list.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/kv/kv_implementation.h"
#include "common/io/kv/kv_memory_list.h"

struct memory_kv {
    struct kv kv;
    pthread_mutex_t write_lock; /* held through a write transaction */
    pthread_mutex_t list_lock;  /* guards current */
    struct kv_list *current;
};

struct memory_read {
    struct kv_read read;
    struct kv_list *list;
};

struct memory_write {
    struct kv_write write;
    struct memory_kv *kv;
    struct kv_list *list; /* private until the commit */
    uint64_t dirty_bytes;
};

struct memory_cursor {
    struct kv_cursor cursor;
    struct kv_list *const *list; /* of the transaction, which may exchange it */
    size_t leaf;
    size_t item;
    bool past_end;
};

static const struct kv_operations MEMORY_OPERATIONS;

/* --- the file --------------------------------------------------------------------------------- */

enum status kv_create_in_memory(struct kv **ret_kv)
{
    struct memory_kv *kv = memory_allocate_zeroed(1, sizeof *kv);
    struct kv_list *list = kv != NULL ? kv_list_copy(NULL) : NULL;
    if (list == NULL) {
        memory_free(kv);
        return STATUS_NO_MEMORY;
    }
    kv->kv.operations = &MEMORY_OPERATIONS;
    kv->current = list;
    ASSERT(pthread_mutex_init(&kv->write_lock, NULL) == 0);
    ASSERT(pthread_mutex_init(&kv->list_lock, NULL) == 0);
    *ret_kv = &kv->kv;
    return STATUS_OK;
}

static void memory_close(struct kv *base)
{
    struct memory_kv *kv = (struct memory_kv *)base;
    kv_list_unref(kv->current);
    ASSERT(pthread_mutex_destroy(&kv->write_lock) == 0);
    ASSERT(pthread_mutex_destroy(&kv->list_lock) == 0);
    memory_free(kv);
}

static struct kv_list *take_current(struct memory_kv *kv)
{
    ASSERT(pthread_mutex_lock(&kv->list_lock) == 0);
    struct kv_list *list = kv->current;
    atomic_fetch_add(&list->references, 1);
    ASSERT(pthread_mutex_unlock(&kv->list_lock) == 0);
    return list;
}

static void memory_statistics(struct kv *base, struct kv_statistics *ret_statistics)
{
    struct kv_list *list = take_current((struct memory_kv *)base);
    uint64_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (size_t j = 0; j < list->leaves[i]->count; j++) {
            const struct kv_item *item = list->leaves[i]->items[j];
            used += item->key_size_bytes + item->value_size_bytes;
        }
    }
    kv_list_unref(list);
    *ret_statistics = (struct kv_statistics){used, used, 0, UINT64_MAX};
}

static enum status memory_read_begin(struct kv *base, struct kv_read **ret_read)
{
    struct memory_read *read = memory_allocate_zeroed(1, sizeof *read);
    if (read == NULL) {
        return STATUS_NO_MEMORY;
    }
    read->read.operations = &MEMORY_OPERATIONS;
    read->list = take_current((struct memory_kv *)base);
    *ret_read = &read->read;
    return STATUS_OK;
}

static void memory_read_end(struct kv_read *base)
{
    struct memory_read *read = (struct memory_read *)base;
    kv_list_unref(read->list);
    memory_free(read);
}

static enum status memory_read_get(struct kv_read *base,
                                   struct bytes key,
                                   struct bytes *ret_value,
                                   bool *ret_found)
{
    kv_list_get(((struct memory_read *)base)->list, key, ret_value, ret_found);
    return STATUS_OK;
}

static uint64_t memory_read_version(const struct kv_read *base)
{
    return ((const struct memory_read *)base)->list->version;
}

static enum status memory_write_begin(struct kv *base, struct kv_write **ret_write)
{
    struct memory_kv *kv = (struct memory_kv *)base;
    struct memory_write *write = memory_allocate_zeroed(1, sizeof *write);
    if (write == NULL) {
        return STATUS_NO_MEMORY;
    }
    ASSERT(pthread_mutex_lock(&kv->write_lock) == 0);
    write->list = kv_list_copy(kv->current); /* only a writer exchanges it, and that is us */
    if (write->list == NULL) {
        ASSERT(pthread_mutex_unlock(&kv->write_lock) == 0);
        memory_free(write);
        return STATUS_NO_MEMORY;
    }
    write->write.operations = &MEMORY_OPERATIONS;
    write->kv = kv;
    *ret_write = &write->write;
    return STATUS_OK;
}

static void memory_write_abort(struct kv_write *base)
{
    struct memory_write *write = (struct memory_write *)base;
    kv_list_unref(write->list);
    ASSERT(pthread_mutex_unlock(&write->kv->write_lock) == 0);
    memory_free(write);
}

static enum status memory_write_commit(struct kv_write *base)
{
    struct memory_write *write = (struct memory_write *)base;
    struct memory_kv *kv = write->kv;

    ASSERT(pthread_mutex_lock(&kv->list_lock) == 0);
    struct kv_list *before = kv->current;
    kv->current = write->list;
    ASSERT(pthread_mutex_unlock(&kv->list_lock) == 0);
    kv_list_unref(before);
    ASSERT(pthread_mutex_unlock(&kv->write_lock) == 0);
    memory_free(write);
    return STATUS_OK;
}

static enum status memory_write_get(struct kv_write *base,
                                    struct bytes key,
                                    struct bytes *ret_value,
                                    bool *ret_found)
{
    kv_list_get(((struct memory_write *)base)->list, key, ret_value, ret_found);
    return STATUS_OK;
}

static enum status memory_write_put(struct kv_write *base, struct bytes key, struct bytes value)
{
    struct memory_write *write = (struct memory_write *)base;
    struct kv_item *item = kv_item_create(key, value);
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    write->dirty_bytes += key.size_bytes + value.size_bytes;
    enum status status = kv_list_insert(write->list, item);
    if (status != STATUS_OK) {
        kv_item_unref(item);
    }
    return status;
}

static enum status memory_write_delete(struct kv_write *base, struct bytes key, bool *ret_found)
{
    struct memory_write *write = (struct memory_write *)base;
    write->dirty_bytes += key.size_bytes;
    return kv_list_remove(write->list, key, ret_found);
}

static uint64_t memory_write_dirty_bytes(const struct kv_write *base)
{
    return ((const struct memory_write *)base)->dirty_bytes;
}

/* --- cursors ---------------------------------------------------------------------------------- */

static enum status cursor_open(struct kv_list *const *list, struct kv_cursor **ret_cursor)
{
    struct memory_cursor *cursor = memory_allocate_zeroed(1, sizeof *cursor);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    cursor->cursor.operations = &MEMORY_OPERATIONS;
    cursor->list = list;
    cursor->past_end = true;
    *ret_cursor = &cursor->cursor;
    return STATUS_OK;
}

static enum status memory_cursor_open_read(struct kv_read *read, struct kv_cursor **ret_cursor)
{
    return cursor_open(&((struct memory_read *)read)->list, ret_cursor);
}

static enum status memory_cursor_open_write(struct kv_write *write, struct kv_cursor **ret_cursor)
{
    return cursor_open(&((struct memory_write *)write)->list, ret_cursor);
}

static void memory_cursor_close(struct kv_cursor *base)
{
    memory_free(base);
}

static void step_forward_over_leaf_end(struct memory_cursor *cursor)
{
    const struct kv_list *list = *cursor->list;
    if (cursor->item >= list->leaves[cursor->leaf]->count) {
        cursor->leaf++;
        cursor->item = 0;
        cursor->past_end = cursor->leaf >= list->count;
    }
}

static void go_last(struct memory_cursor *cursor)
{
    const struct kv_list *list = *cursor->list;
    cursor->leaf = list->count - 1;
    cursor->item = list->leaves[cursor->leaf]->count - 1;
    cursor->past_end = false;
}

static void go_previous(struct memory_cursor *cursor)
{
    if (cursor->past_end) {
        go_last(cursor);
    } else if (cursor->item > 0) {
        cursor->item--;
    } else if (cursor->leaf > 0) {
        cursor->leaf--;
        cursor->item = (*cursor->list)->leaves[cursor->leaf]->count - 1;
    } else {
        cursor->past_end = true;
    }
}

static void go(struct memory_cursor *cursor, enum kv_move move, struct bytes key)
{
    const struct kv_list *list = *cursor->list;
    switch (move) {
    case KV_SEEK:
        cursor->past_end = false;
        cursor->leaf = kv_list_find_leaf(list, key);
        cursor->item = kv_leaf_find(list->leaves[cursor->leaf], key);
        step_forward_over_leaf_end(cursor);
        break;
    case KV_NEXT:
        if (!cursor->past_end) {
            cursor->item++;
            step_forward_over_leaf_end(cursor);
        }
        break;
    case KV_PREVIOUS:
        go_previous(cursor);
        break;
    case KV_LAST:
        go_last(cursor);
        break;
    }
}

static enum status memory_cursor_move(struct kv_cursor *base,
                                      enum kv_move move,
                                      struct bytes key,
                                      struct bytes *ret_key,
                                      struct bytes *ret_value,
                                      bool *ret_found)
{
    struct memory_cursor *cursor = (struct memory_cursor *)base;
    const struct kv_list *list = *cursor->list;
    if (list->count == 0) {
        cursor->past_end = true;
    } else {
        go(cursor, move, key);
    }
    *ret_found = !cursor->past_end;
    if (!cursor->past_end) {
        const struct kv_item *item = list->leaves[cursor->leaf]->items[cursor->item];
        *ret_key = kv_item_key(item);
        *ret_value = kv_item_value(item);
    }
    return STATUS_OK;
}

static const struct kv_operations MEMORY_OPERATIONS = {
    .close = memory_close,
    .statistics = memory_statistics,
    .read_begin = memory_read_begin,
    .read_end = memory_read_end,
    .read_get = memory_read_get,
    .read_version = memory_read_version,
    .write_begin = memory_write_begin,
    .write_abort = memory_write_abort,
    .write_commit = memory_write_commit,
    .write_get = memory_write_get,
    .write_put = memory_write_put,
    .write_delete = memory_write_delete,
    .write_dirty_bytes = memory_write_dirty_bytes,
    .cursor_open_read = memory_cursor_open_read,
    .cursor_open_write = memory_cursor_open_write,
    .cursor_close = memory_cursor_close,
    .cursor_move = memory_cursor_move,
};
