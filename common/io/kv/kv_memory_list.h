/*
 * A sorted list of leaves of sorted items: what kv_memory.c keeps.
 *
 * Items, leaves and the list are counted references and never change while more than one holds them:
 * a writer copies the list when it begins, and a leaf before it first changes it, so a reader's
 * snapshot is one reference to the list.
 *
 * Thread rule: a list that is written to is its writer's alone; one that is shared is not written to.
 */
#ifndef COMMON_IO_KV_KV_MEMORY_LIST_H
#define COMMON_IO_KV_KV_MEMORY_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/status.h"

#define KV_LEAF_ITEMS_MAX 64

struct kv_item {
    atomic_uint references;
    size_t key_size_bytes;
    size_t value_size_bytes;
    uint8_t data[]; /* key, value */
};

struct kv_leaf {
    atomic_uint references;
    size_t count; /* never 0 */
    struct kv_item *items[KV_LEAF_ITEMS_MAX];
};

struct kv_list {
    atomic_uint references;
    uint64_t version; /* one more than that of the list which it is a copy of */
    size_t count;
    size_t capacity;
    struct kv_leaf **leaves;
};

/* Borrowed from the item. */
struct bytes kv_item_key(const struct kv_item *item);
struct bytes kv_item_value(const struct kv_item *item);

/* A copy of both, with one reference; NULL without memory. */
struct kv_item *kv_item_create(struct bytes key, struct bytes value);
void kv_item_unref(struct kv_item *item);

/* A list of the same leaves with one reference; of none for NULL.  NULL without memory. */
struct kv_list *kv_list_copy(const struct kv_list *from);
void kv_list_unref(struct kv_list *list);

/* The last leaf whose first key is at most key; 0 when there is none. */
size_t kv_list_find_leaf(const struct kv_list *list, struct bytes key);

/* The first item at or after key. */
size_t kv_leaf_find(const struct kv_leaf *leaf, struct bytes key);

/* *ret_value borrows from the list, and is there only when found. */
void kv_list_get(const struct kv_list *list,
                 struct bytes key,
                 struct bytes *ret_value,
                 bool *ret_found);

/* In place of one with the same key.  Takes over item when it succeeds.  Errors: STATUS_NO_MEMORY. */
enum status kv_list_insert(struct kv_list *list, struct kv_item *item);

/* Errors: STATUS_NO_MEMORY; the list is as it was. */
enum status kv_list_remove(struct kv_list *list, struct bytes key, bool *ret_found);

#endif /* COMMON_IO_KV_KV_MEMORY_LIST_H */
