#include "tabletserver/storage/store/store_held.h"

#include <stdio.h>

#include "common/base/memory.h"

struct store_held_row {
    struct store_held_row *next;
    uint64_t tablet;
    uint64_t table;
    struct buffer row;
};

static void destroy(struct store_held_row *held)
{
    buffer_deinit(&held->row);
    memory_free(held);
}

/* Where the tablet's stands, or the list's end.  With the mutex. */
static struct store_held_row **find(struct store *store, uint64_t tablet, uint32_t *ret_before)
{
    struct store_held_row **link = &store->held;
    *ret_before = 0;
    while (*link != NULL && (*link)->tablet != tablet) {
        link = &(*link)->next;
        *ret_before += 1;
    }
    return link;
}

/* Without memory it is kept at the next attempt.  With the mutex. */
static void keep(struct store_tablet *tablet, struct bytes row)
{
    uint32_t before = 0;
    struct store_held_row **link = find(tablet->store, tablet->descriptor.tablet, &before);
    if (*link == NULL && before < STORE_HELD_MAX) {
        *link = memory_allocate_zeroed(1, sizeof **link);
    }
    struct store_held_row *held = *link;
    if (held == NULL) {
        return;
    }
    held->tablet = tablet->descriptor.tablet;
    held->table = tablet->descriptor.table;
    buffer_reset(&held->row);
    buffer_append_bytes(&held->row, row);
    if (held->row.failed) {
        *link = held->next;
        destroy(held);
    }
}

static void say(struct store_tablet *tablet, struct bytes row)
{
    struct store *store = tablet->store;
    struct store_schema *schema = store_schema_find(store, tablet->descriptor.table);
    char table[BYTES_PRINTABLE_SIZE_MAX];
    char text[BYTES_PRINTABLE_SIZE_MAX];
    (void)bytes_printable(schema != NULL ? schema->table.id : BYTES_EMPTY, table);
    (void)pthread_mutex_lock(&store->mutex);
    (void)snprintf(
        store->trouble.text, sizeof store->trouble.text,
        "%s: stored data is corrupt: a flush waits until this row is deleted (whole in /status, "
        "stores[].held): table %s, row %s",
        store->folder, table, bytes_printable(row, text));
    (void)pthread_mutex_unlock(&store->mutex);
    if (schema != NULL) {
        store_schema_unref(schema);
    }
}

void store_held_note(struct store_tablet *tablet, struct bytes row)
{
    struct store *store = tablet->store;
    if (row.size_bytes == 0) {
        (void)store_trouble_note(store, STATUS_CORRUPT, "base");
        return;
    }
    (void)pthread_mutex_lock(&store->mutex);
    keep(tablet, row);
    (void)pthread_mutex_unlock(&store->mutex);
    if (atomic_load(&store->condition) == STORE_HEALTHY) {
        say(tablet, row);
    }
}

void store_held_forget(struct store *store, uint64_t tablet)
{
    uint32_t before = 0;
    (void)pthread_mutex_lock(&store->mutex);
    struct store_held_row **link = find(store, tablet, &before);
    struct store_held_row *held = *link;
    if (held != NULL) {
        *link = held->next;
    }
    (void)pthread_mutex_unlock(&store->mutex);
    if (held != NULL) {
        destroy(held);
    }
}

void store_held_clear(struct store *store)
{
    while (store->held != NULL) {
        struct store_held_row *held = store->held;
        store->held = held->next;
        destroy(held);
    }
}

void store_visit_held(struct store *store, store_held_function visit, void *context)
{
    (void)pthread_mutex_lock(&store->mutex);
    for (const struct store_held_row *held = store->held; held != NULL; held = held->next) {
        visit(context, held->table, held->tablet, buffer_bytes(&held->row));
    }
    (void)pthread_mutex_unlock(&store->mutex);
}
