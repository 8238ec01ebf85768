/*
 * The window of a tablet that follows: entries in its log that are not in its memtables, because they
 * are not committed (store_replica.h).  Decoded on arrival, so that one that cannot be applied is
 * refused before anybody counts on it.
 *
 * For the store's own files only.  Bounded by who pushes.  Thread rule: the loop.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_WINDOW_H
#define TABLETSERVER_STORAGE_COPIES_STORE_WINDOW_H

#include "common/base/arena.h"
#include "tabletserver/storage/copies/store_replica.h"

struct store_window_entry {
    struct store_entry entry; /* its payload lies behind the struct */
    uint64_t position;        /* of its batch in the log */
    size_t size_bytes;        /* about what it takes */
    struct arena arena;
    struct record_write write; /* WRITE: decoded */
};

struct store_window {
    struct store_window_entry **entries; /* a ring of a power of two */
    uint32_t capacity;
    uint32_t head;
    uint32_t count;
    uint64_t bytes;
};

/* A copy, decoded.  Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
enum status store_window_entry_create(const struct store_entry *entry,
                                      const struct row_range *range,
                                      struct store_window_entry **ret_entry,
                                      struct error *ret_error);
void store_window_entry_destroy(struct store_window_entry *entry); /* NULL is fine */

/* Room for one more, so that pushing cannot fail.  Errors: STATUS_NO_MEMORY. */
enum status store_window_reserve(struct store_window *window);
void store_window_push(struct store_window *window,
                       struct store_window_entry *entry); /* takes it */
void store_window_pop(struct store_window *window);       /* the first */
void store_window_drop_above(struct store_window *window, uint64_t sequence);
void store_window_deinit(struct store_window *window);

/* index below count; 0 is the oldest. */
static inline struct store_window_entry *store_window_at(const struct store_window *window,
                                                         uint32_t index)
{
    return window->entries[(window->head + index) & (window->capacity - 1)];
}

/* The oldest, the newest; NULL when it is empty. */
static inline struct store_window_entry *store_window_first(const struct store_window *window)
{
    return window->count > 0 ? store_window_at(window, 0) : NULL;
}

static inline struct store_window_entry *store_window_last(const struct store_window *window)
{
    return window->count > 0 ? store_window_at(window, window->count - 1) : NULL;
}

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_WINDOW_H */
