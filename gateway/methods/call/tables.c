#include "gateway/methods/call/tables.h"

#include <pthread.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define BUCKET_COUNT 256

struct tables {
    struct edubba_client *client;
    pthread_mutex_t lock;
    struct open_table *buckets[BUCKET_COUNT]; /* under lock; each is held once by its place here */
};

struct tables *tables_create(struct edubba_client *client)
{
    struct tables *tables = memory_allocate_zeroed(1, sizeof *tables);
    if (tables != NULL) {
        tables->client = client;
        ASSERT(pthread_mutex_init(&tables->lock, NULL) == 0);
    }
    return tables;
}

void tables_destroy(struct tables *tables)
{
    if (tables == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        while (tables->buckets[i] != NULL) {
            struct open_table *table = tables->buckets[i];
            tables->buckets[i] = table->next;
            table_release(table);
        }
    }
    ASSERT(pthread_mutex_destroy(&tables->lock) == 0);
    memory_free(tables);
}

static void free_table(struct open_table *table)
{
    edubba_table_close(table->handle);
    family_types_deinit(&table->families);
    memory_free(table);
}

void table_release(struct open_table *table)
{
    if (atomic_fetch_sub(&table->holders, 1) == 1) {
        free_table(table);
    }
}

/* Where the table of that name is linked, or would be; under lock. */
static struct open_table **place_of(struct tables *tables, const char *name)
{
    struct open_table **at = &tables->buckets[checksum64(name, strlen(name), 0) % BUCKET_COUNT];
    while (*at != NULL && strcmp((*at)->name, name) != 0) {
        at = &(*at)->next;
    }
    return at;
}

struct open_table *tables_find(struct tables *tables, const char *name)
{
    (void)pthread_mutex_lock(&tables->lock);
    struct open_table *table = *place_of(tables, name);
    if (table != NULL) {
        atomic_fetch_add(&table->holders, 1);
    }
    (void)pthread_mutex_unlock(&tables->lock);
    return table;
}

/* table NULL: whichever has the name. */
static void forget(struct tables *tables, const char *name, const struct open_table *table)
{
    (void)pthread_mutex_lock(&tables->lock);
    struct open_table **at = place_of(tables, name);
    struct open_table *found = table == NULL || *at == table ? *at : NULL;
    if (found != NULL) {
        *at = found->next;
    }
    (void)pthread_mutex_unlock(&tables->lock);
    if (found != NULL) {
        table_release(found);
    }
}

void tables_forget(struct tables *tables, const char *name)
{
    forget(tables, name, NULL);
}

void tables_forget_table(struct tables *tables, const struct open_table *table)
{
    forget(tables, table->name, table);
}

static enum edubba_code no_memory(struct edubba_error *error)
{
    *error = (struct edubba_error){EDUBBA_UNAVAILABLE, "No memory to open a table; try again"};
    return error->code;
}

/* Whatever is filled in is the table's also after an error. */
static enum edubba_code ask(struct tables *tables,
                            struct open_table *table,
                            struct edubba_error *error)
{
    struct edubba_schema *schema = NULL;
    table->asked_ns = clock_monotonic_ns();
    enum edubba_code code = edubba_get_table(tables->client, table->name, &schema, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    table->is_micros = schema->micros;
    enum status status = family_types_init(&table->families, schema->families,
                                           schema->family_count);
    edubba_schema_free(schema);
    return status == STATUS_OK
               ? edubba_table_open(tables->client, table->name, &table->handle, error)
               : no_memory(error);
}

/* Held by the caller. */
static enum edubba_code make_table(struct tables *tables,
                                   const char *name,
                                   struct open_table **ret_table,
                                   struct edubba_error *error)
{
    size_t size = strlen(name) + 1;
    struct open_table *table = memory_allocate(sizeof *table + size);
    if (table == NULL) {
        return no_memory(error);
    }
    *table = (struct open_table){.holders = 1};
    memcpy(table->name, name, size);
    enum edubba_code code = ask(tables, table, error);
    if (code != EDUBBA_OK) {
        free_table(table);
        return code;
    }
    *ret_table = table;
    return EDUBBA_OK;
}

enum edubba_code tables_open(struct tables *tables,
                             const char *name,
                             struct open_table **ret_table,
                             struct edubba_error *error)
{
    struct open_table *table = NULL;
    enum edubba_code code = make_table(tables, name, &table, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    (void)pthread_mutex_lock(&tables->lock);
    struct open_table **at = place_of(tables, name);
    struct open_table *before = *at;
    table->next = before != NULL ? before->next : NULL;
    *at = table;
    atomic_fetch_add(&table->holders, 1); /* by its place */
    (void)pthread_mutex_unlock(&tables->lock);
    if (before != NULL) {
        table_release(before);
    }
    *ret_table = table;
    return EDUBBA_OK;
}
