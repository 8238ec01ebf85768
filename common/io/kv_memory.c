/*
 * kv.h in memory, for the simulator and for tests: simple and right rather than fast.
 *
 * A sorted list of leaves of sorted items.  Items, leaves and the list are counted references and
 * never change while more than one holds them: a writer copies the list when it begins and a leaf
 * before it first changes it, so a reader's snapshot is one reference to the list.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/kv_implementation.h"

#define LEAF_ITEMS_MAX 64

struct item {
    atomic_uint references;
    size_t key_size_bytes;
    size_t value_size_bytes;
    uint8_t data[]; /* key, value */
};

struct leaf {
    atomic_uint references;
    size_t count; /* never 0 */
    struct item *items[LEAF_ITEMS_MAX];
};

struct list {
    atomic_uint references;
    size_t count;
    size_t capacity;
    struct leaf **leaves;
};

struct memory_kv {
    struct kv kv;
    pthread_mutex_t write_lock; /* held through a write transaction */
    pthread_mutex_t list_lock;  /* guards current */
    struct list *current;
};

struct memory_read {
    struct kv_read read;
    struct list *list;
};

struct memory_write {
    struct kv_write write;
    struct memory_kv *kv;
    struct list *list; /* private until the commit */
    uint64_t dirty_bytes;
};

struct memory_cursor {
    struct kv_cursor cursor;
    struct list *const *list; /* of the transaction, which may exchange it */
    size_t leaf;
    size_t item;
    bool past_end;
};

static const struct kv_operations MEMORY_OPERATIONS;

/* --- items, leaves, lists --------------------------------------------------------------------- */

static struct bytes item_key(const struct item *item)
{
    return bytes_of(item->data, item->key_size_bytes);
}

static struct bytes item_value(const struct item *item)
{
    return bytes_of(item->data + item->key_size_bytes, item->value_size_bytes);
}

static struct item *item_create(struct bytes key, struct bytes value)
{
    struct item *item = memory_allocate(sizeof *item + key.size_bytes + value.size_bytes);
    if (item == NULL) {
        return NULL;
    }
    atomic_init(&item->references, 1);
    item->key_size_bytes = key.size_bytes;
    item->value_size_bytes = value.size_bytes;
    memcpy(item->data, key.data, key.size_bytes);
    if (value.size_bytes > 0) {
        memcpy(item->data + key.size_bytes, value.data, value.size_bytes);
    }
    return item;
}

static void item_unref(struct item *item)
{
    if (atomic_fetch_sub(&item->references, 1) == 1) {
        memory_free(item);
    }
}

static void leaf_unref(struct leaf *leaf)
{
    if (atomic_fetch_sub(&leaf->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < leaf->count; i++) {
        item_unref(leaf->items[i]);
    }
    memory_free(leaf);
}

static struct leaf *leaf_create(struct item *const *items, size_t count)
{
    struct leaf *leaf = memory_allocate(sizeof *leaf);
    if (leaf == NULL) {
        return NULL;
    }
    atomic_init(&leaf->references, 1);
    leaf->count = count;
    for (size_t i = 0; i < count; i++) {
        leaf->items[i] = items[i];
        atomic_fetch_add(&items[i]->references, 1);
    }
    return leaf;
}

static void list_unref(struct list *list)
{
    if (atomic_fetch_sub(&list->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        leaf_unref(list->leaves[i]);
    }
    memory_free(list->leaves);
    memory_free(list);
}

static struct list *list_copy(const struct list *from)
{
    struct list *list = memory_allocate_zeroed(1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    atomic_init(&list->references, 1);
    list->capacity = from != NULL && from->count > 0 ? 2 * from->count : 8;
    list->leaves = memory_allocate_zeroed(list->capacity, sizeof *list->leaves);
    if (list->leaves == NULL) {
        memory_free(list);
        return NULL;
    }
    for (size_t i = 0; from != NULL && i < from->count; i++) {
        list->leaves[i] = from->leaves[i];
        atomic_fetch_add(&list->leaves[i]->references, 1);
        list->count++;
    }
    return list;
}

/* The last leaf whose first key is at most key; 0 when there is none. */
static size_t list_find_leaf(const struct list *list, struct bytes key)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(item_key(list->leaves[middle]->items[0]), key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? low - 1 : 0;
}

/* The first item at or after key. */
static size_t leaf_find(const struct leaf *leaf, struct bytes key)
{
    size_t low = 0;
    size_t high = leaf->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(item_key(leaf->items[middle]), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool leaf_has(const struct leaf *leaf, size_t index, struct bytes key)
{
    return index < leaf->count && bytes_equal(item_key(leaf->items[index]), key);
}

static void get(const struct list *list, struct bytes key, struct bytes *ret_value, bool *ret_found)
{
    *ret_found = false;
    if (list->count == 0) {
        return;
    }
    const struct leaf *leaf = list->leaves[list_find_leaf(list, key)];
    size_t index = leaf_find(leaf, key);
    if (leaf_has(leaf, index, key)) {
        *ret_value = item_value(leaf->items[index]);
        *ret_found = true;
    }
}

/* A leaf that this writer alone holds, in place of the one at index; NULL without memory. */
static struct leaf *own_leaf(struct list *list, size_t index)
{
    struct leaf *leaf = list->leaves[index];
    if (atomic_load(&leaf->references) == 1) {
        return leaf;
    }
    struct leaf *copy = leaf_create(leaf->items, leaf->count);
    if (copy != NULL) {
        list->leaves[index] = copy;
        leaf_unref(leaf);
    }
    return copy;
}

static bool list_insert_leaf(struct list *list, size_t index, struct leaf *leaf)
{
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity;
        struct leaf **leaves = memory_resize(list->leaves, capacity * sizeof *leaves);
        if (leaves == NULL) {
            return false;
        }
        list->leaves = leaves;
        list->capacity = capacity;
    }
    memmove(list->leaves + index + 1, list->leaves + index,
            (list->count - index) * sizeof *list->leaves);
    list->leaves[index] = leaf;
    list->count++;
    return true;
}

/* Move the upper half of a full leaf into a new one behind it. */
static bool split_leaf(struct list *list, size_t index)
{
    struct leaf *leaf = list->leaves[index];
    size_t half = leaf->count / 2;
    struct leaf *upper = leaf_create(leaf->items + half, leaf->count - half);
    if (upper == NULL) {
        return false;
    }
    if (!list_insert_leaf(list, index + 1, upper)) {
        leaf_unref(upper);
        return false;
    }
    for (size_t i = half; i < leaf->count; i++) {
        item_unref(leaf->items[i]);
    }
    leaf->count = half;
    return true;
}

static enum status insert_first(struct list *list, struct item *item)
{
    struct leaf *leaf = leaf_create(&item, 1);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    item_unref(item); /* the leaf holds its own reference */
    ASSERT(list_insert_leaf(list, 0, leaf));
    return STATUS_OK;
}

/* Takes over item when it succeeds. */
static enum status list_insert(struct list *list, struct item *item)
{
    if (list->count == 0) {
        return insert_first(list, item);
    }
    struct bytes key = item_key(item);
    size_t leaf_index = list_find_leaf(list, key);
    struct leaf *leaf = own_leaf(list, leaf_index);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t index = leaf_find(leaf, key);
    if (leaf_has(leaf, index, key)) {
        item_unref(leaf->items[index]);
        leaf->items[index] = item;
        return STATUS_OK;
    }
    if (leaf->count == LEAF_ITEMS_MAX) {
        if (!split_leaf(list, leaf_index)) {
            return STATUS_NO_MEMORY;
        }
        if (index > leaf->count) {
            index -= leaf->count;
            leaf = list->leaves[leaf_index + 1];
        }
    }
    memmove(leaf->items + index + 1, leaf->items + index,
            (leaf->count - index) * sizeof *leaf->items);
    leaf->items[index] = item;
    leaf->count++;
    return STATUS_OK;
}

static enum status list_remove(struct list *list, struct bytes key, bool *ret_found)
{
    *ret_found = false;
    if (list->count == 0) {
        return STATUS_OK;
    }
    size_t leaf_index = list_find_leaf(list, key);
    size_t index = leaf_find(list->leaves[leaf_index], key);
    if (!leaf_has(list->leaves[leaf_index], index, key)) {
        return STATUS_OK;
    }
    struct leaf *leaf = own_leaf(list, leaf_index);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    item_unref(leaf->items[index]);
    leaf->count--;
    memmove(leaf->items + index, leaf->items + index + 1,
            (leaf->count - index) * sizeof *leaf->items);
    if (leaf->count == 0) {
        leaf_unref(leaf);
        list->count--;
        memmove(list->leaves + leaf_index, list->leaves + leaf_index + 1,
                (list->count - leaf_index) * sizeof *list->leaves);
    }
    *ret_found = true;
    return STATUS_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

enum status kv_create_in_memory(struct kv **ret_kv)
{
    struct memory_kv *kv = memory_allocate_zeroed(1, sizeof *kv);
    struct list *list = kv != NULL ? list_copy(NULL) : NULL;
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
    list_unref(kv->current);
    ASSERT(pthread_mutex_destroy(&kv->write_lock) == 0);
    ASSERT(pthread_mutex_destroy(&kv->list_lock) == 0);
    memory_free(kv);
}

static struct list *take_current(struct memory_kv *kv)
{
    ASSERT(pthread_mutex_lock(&kv->list_lock) == 0);
    struct list *list = kv->current;
    atomic_fetch_add(&list->references, 1);
    ASSERT(pthread_mutex_unlock(&kv->list_lock) == 0);
    return list;
}

static void memory_statistics(struct kv *base, struct kv_statistics *ret_statistics)
{
    struct list *list = take_current((struct memory_kv *)base);
    uint64_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (size_t j = 0; j < list->leaves[i]->count; j++) {
            const struct item *item = list->leaves[i]->items[j];
            used += item->key_size_bytes + item->value_size_bytes;
        }
    }
    list_unref(list);
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
    list_unref(read->list);
    memory_free(read);
}

static enum status memory_read_get(struct kv_read *base,
                                   struct bytes key,
                                   struct bytes *ret_value,
                                   bool *ret_found)
{
    get(((struct memory_read *)base)->list, key, ret_value, ret_found);
    return STATUS_OK;
}

static enum status memory_write_begin(struct kv *base, struct kv_write **ret_write)
{
    struct memory_kv *kv = (struct memory_kv *)base;
    struct memory_write *write = memory_allocate_zeroed(1, sizeof *write);
    if (write == NULL) {
        return STATUS_NO_MEMORY;
    }
    ASSERT(pthread_mutex_lock(&kv->write_lock) == 0);
    write->list = list_copy(kv->current); /* only a writer exchanges it, and that is us */
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
    list_unref(write->list);
    ASSERT(pthread_mutex_unlock(&write->kv->write_lock) == 0);
    memory_free(write);
}

static enum status memory_write_commit(struct kv_write *base)
{
    struct memory_write *write = (struct memory_write *)base;
    struct memory_kv *kv = write->kv;

    ASSERT(pthread_mutex_lock(&kv->list_lock) == 0);
    struct list *before = kv->current;
    kv->current = write->list;
    ASSERT(pthread_mutex_unlock(&kv->list_lock) == 0);
    list_unref(before);
    ASSERT(pthread_mutex_unlock(&kv->write_lock) == 0);
    memory_free(write);
    return STATUS_OK;
}

static enum status memory_write_get(struct kv_write *base,
                                    struct bytes key,
                                    struct bytes *ret_value,
                                    bool *ret_found)
{
    get(((struct memory_write *)base)->list, key, ret_value, ret_found);
    return STATUS_OK;
}

static enum status memory_write_put(struct kv_write *base, struct bytes key, struct bytes value)
{
    struct memory_write *write = (struct memory_write *)base;
    struct item *item = item_create(key, value);
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    write->dirty_bytes += key.size_bytes + value.size_bytes;
    enum status status = list_insert(write->list, item);
    if (status != STATUS_OK) {
        item_unref(item);
    }
    return status;
}

static enum status memory_write_delete(struct kv_write *base, struct bytes key, bool *ret_found)
{
    struct memory_write *write = (struct memory_write *)base;
    write->dirty_bytes += key.size_bytes;
    return list_remove(write->list, key, ret_found);
}

static uint64_t memory_write_dirty_bytes(const struct kv_write *base)
{
    return ((const struct memory_write *)base)->dirty_bytes;
}

/* --- cursors ---------------------------------------------------------------------------------- */

static enum status cursor_open(struct list *const *list, struct kv_cursor **ret_cursor)
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
    const struct list *list = *cursor->list;
    if (cursor->item >= list->leaves[cursor->leaf]->count) {
        cursor->leaf++;
        cursor->item = 0;
        cursor->past_end = cursor->leaf >= list->count;
    }
}

static void go_last(struct memory_cursor *cursor)
{
    const struct list *list = *cursor->list;
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
    const struct list *list = *cursor->list;
    switch (move) {
    case KV_SEEK:
        cursor->past_end = false;
        cursor->leaf = list_find_leaf(list, key);
        cursor->item = leaf_find(list->leaves[cursor->leaf], key);
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
    const struct list *list = *cursor->list;
    if (list->count == 0) {
        cursor->past_end = true;
    } else {
        go(cursor, move, key);
    }
    *ret_found = !cursor->past_end;
    if (!cursor->past_end) {
        const struct item *item = list->leaves[cursor->leaf]->items[cursor->item];
        *ret_key = item_key(item);
        *ret_value = item_value(item);
    }
    return STATUS_OK;
}

static const struct kv_operations MEMORY_OPERATIONS = {
    .close = memory_close,
    .statistics = memory_statistics,
    .read_begin = memory_read_begin,
    .read_end = memory_read_end,
    .read_get = memory_read_get,
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
