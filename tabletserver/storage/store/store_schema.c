/* The tables whose tablets a store has, or may get: as the loop was told last, for every thread. */
#include "common/base/memory.h"
#include "tabletserver/storage/store/store_internal.h"

void store_schema_unref(struct store_schema *schema)
{
    if (atomic_fetch_sub(&schema->references, 1) == 1) {
        arena_deinit(&schema->arena);
        memory_free(schema);
    }
}

enum status store_set_table(struct store *store, const struct table *table)
{
    struct store_schema *schema = memory_allocate_zeroed(1, sizeof *schema);
    if (schema == NULL) {
        return STATUS_NO_MEMORY;
    }
    atomic_init(&schema->references, 1);
    arena_init(&schema->arena, 4096, SIZE_MAX);
    enum status status = table_copy(&schema->arena, table, &schema->table);
    uint32_t capacity = store->schema_count + 1;
    if (status == STATUS_OK && capacity > store->schema_capacity) {
        (void)pthread_mutex_lock(&store->mutex);
        void *more = memory_resize(store->schemas, 2 * capacity * sizeof(struct store_schema *));
        if (more != NULL) {
            store->schemas = more;
            store->schema_capacity = 2 * capacity;
        }
        (void)pthread_mutex_unlock(&store->mutex);
        status = more == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (status != STATUS_OK) {
        store_schema_unref(schema);
        return status;
    }
    struct store_schema *old = NULL;
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->schema_count && old == NULL; i++) {
        if (store->schemas[i]->table.number == table->number) {
            old = store->schemas[i];
            store->schemas[i] = schema;
        }
    }
    if (old == NULL) {
        store->schemas[store->schema_count++] = schema;
    }
    store->schema_count_ever++;
    (void)pthread_mutex_unlock(&store->mutex);
    if (old != NULL) {
        store_schema_unref(old);
    }
    return STATUS_OK;
}

static bool has_tablet_of(const struct store *store, uint64_t table)
{
    for (uint32_t i = 0; i < store_tablet_count(store); i++) {
        if (store_tablet_describe(store_tablet_at(store, i))->table == table) {
            return true;
        }
    }
    return false;
}

void store_forget_tables(struct store *store,
                         bool (*is_known)(void *context, uint64_t table),
                         void *context)
{
    for (uint32_t i = store->schema_count; i-- > 0;) {
        struct store_schema *schema = store->schemas[i];
        uint64_t table = schema->table.number;
        if (!is_known(context, table) && !has_tablet_of(store, table)) {
            (void)pthread_mutex_lock(&store->mutex);
            store->schemas[i] = store->schemas[--store->schema_count];
            (void)pthread_mutex_unlock(&store->mutex);
            store_schema_unref(schema);
        }
    }
}

struct store_schema *store_schema_find(struct store *store, uint64_t table)
{
    struct store_schema *found = NULL;
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->schema_count && found == NULL; i++) {
        if (store->schemas[i]->table.number == table) {
            found = store->schemas[i];
            atomic_fetch_add(&found->references, 1);
        }
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return found;
}
