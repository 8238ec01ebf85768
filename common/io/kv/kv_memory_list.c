#include "common/io/kv/kv_memory_list.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

struct bytes kv_item_key(const struct kv_item *item)
{
    return bytes_of(item->data, item->key_size_bytes);
}

struct bytes kv_item_value(const struct kv_item *item)
{
    return bytes_of(item->data + item->key_size_bytes, item->value_size_bytes);
}

struct kv_item *kv_item_create(struct bytes key, struct bytes value)
{
    struct kv_item *item = memory_allocate(sizeof *item + key.size_bytes + value.size_bytes);
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

void kv_item_unref(struct kv_item *item)
{
    if (atomic_fetch_sub(&item->references, 1) == 1) {
        memory_free(item);
    }
}

static void leaf_unref(struct kv_leaf *leaf)
{
    if (atomic_fetch_sub(&leaf->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < leaf->count; i++) {
        kv_item_unref(leaf->items[i]);
    }
    memory_free(leaf);
}

static struct kv_leaf *leaf_create(struct kv_item *const *items, size_t count)
{
    struct kv_leaf *leaf = memory_allocate(sizeof *leaf);
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

void kv_list_unref(struct kv_list *list)
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

struct kv_list *kv_list_copy(const struct kv_list *from)
{
    struct kv_list *list = memory_allocate_zeroed(1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    atomic_init(&list->references, 1);
    list->version = from != NULL ? from->version + 1 : 1;
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
size_t kv_list_find_leaf(const struct kv_list *list, struct bytes key)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(kv_item_key(list->leaves[middle]->items[0]), key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? low - 1 : 0;
}

/* The first item at or after key. */
size_t kv_leaf_find(const struct kv_leaf *leaf, struct bytes key)
{
    size_t low = 0;
    size_t high = leaf->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bytes_compare(kv_item_key(leaf->items[middle]), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool leaf_has(const struct kv_leaf *leaf, size_t index, struct bytes key)
{
    return index < leaf->count && bytes_equal(kv_item_key(leaf->items[index]), key);
}

void kv_list_get(const struct kv_list *list,
                 struct bytes key,
                 struct bytes *ret_value,
                 bool *ret_found)
{
    *ret_found = false;
    if (list->count == 0) {
        return;
    }
    const struct kv_leaf *leaf = list->leaves[kv_list_find_leaf(list, key)];
    size_t index = kv_leaf_find(leaf, key);
    if (leaf_has(leaf, index, key)) {
        *ret_value = kv_item_value(leaf->items[index]);
        *ret_found = true;
    }
}

/* A leaf that this writer alone holds, in place of the one at index; NULL without memory. */
static struct kv_leaf *own_leaf(struct kv_list *list, size_t index)
{
    struct kv_leaf *leaf = list->leaves[index];
    if (atomic_load(&leaf->references) == 1) {
        return leaf;
    }
    struct kv_leaf *copy = leaf_create(leaf->items, leaf->count);
    if (copy != NULL) {
        list->leaves[index] = copy;
        leaf_unref(leaf);
    }
    return copy;
}

static bool list_insert_leaf(struct kv_list *list, size_t index, struct kv_leaf *leaf)
{
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity;
        struct kv_leaf **leaves = memory_resize(list->leaves, capacity * sizeof *leaves);
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
static bool split_leaf(struct kv_list *list, size_t index)
{
    struct kv_leaf *leaf = list->leaves[index];
    size_t half = leaf->count / 2;
    struct kv_leaf *upper = leaf_create(leaf->items + half, leaf->count - half);
    if (upper == NULL) {
        return false;
    }
    if (!list_insert_leaf(list, index + 1, upper)) {
        leaf_unref(upper);
        return false;
    }
    for (size_t i = half; i < leaf->count; i++) {
        kv_item_unref(leaf->items[i]);
    }
    leaf->count = half;
    return true;
}

static enum status insert_first(struct kv_list *list, struct kv_item *item)
{
    struct kv_leaf *leaf = leaf_create(&item, 1);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    kv_item_unref(item); /* the leaf holds its own reference */
    ASSERT(list_insert_leaf(list, 0, leaf));
    return STATUS_OK;
}

/* Takes over item when it succeeds. */
enum status kv_list_insert(struct kv_list *list, struct kv_item *item)
{
    if (list->count == 0) {
        return insert_first(list, item);
    }
    struct bytes key = kv_item_key(item);
    size_t leaf_index = kv_list_find_leaf(list, key);
    struct kv_leaf *leaf = own_leaf(list, leaf_index);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t index = kv_leaf_find(leaf, key);
    if (leaf_has(leaf, index, key)) {
        kv_item_unref(leaf->items[index]);
        leaf->items[index] = item;
        return STATUS_OK;
    }
    if (leaf->count == KV_LEAF_ITEMS_MAX) {
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

enum status kv_list_remove(struct kv_list *list, struct bytes key, bool *ret_found)
{
    *ret_found = false;
    if (list->count == 0) {
        return STATUS_OK;
    }
    size_t leaf_index = kv_list_find_leaf(list, key);
    size_t index = kv_leaf_find(list->leaves[leaf_index], key);
    if (!leaf_has(list->leaves[leaf_index], index, key)) {
        return STATUS_OK;
    }
    struct kv_leaf *leaf = own_leaf(list, leaf_index);
    if (leaf == NULL) {
        return STATUS_NO_MEMORY;
    }
    kv_item_unref(leaf->items[index]);
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
