#include "master/core/state/transaction.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/core/catalog_parts.h"

#define TRANSACTION_BLOCK_BYTES 16384

/* --- staging ---------------------------------------------------------------------------------- */

static struct staged *stage(struct transaction *transaction, enum staged_kind kind, uint64_t number)
{
    if (transaction->failed) {
        return NULL;
    }
    if (transaction->change_count == transaction->change_capacity) {
        size_t capacity = transaction->change_capacity * 2 + 8;
        struct staged *grown = memory_resize(transaction->changes,
                                             capacity * sizeof(struct staged));
        if (grown == NULL) {
            transaction->failed = true;
            return NULL;
        }
        transaction->changes = grown;
        transaction->change_capacity = capacity;
    }
    struct staged *change = &transaction->changes[transaction->change_count++];
    *change = (struct staged){.kind = kind, .number = number};
    return change;
}

/* One put; the value (or NULL for a removal) is copied and reset. */
static void stage_put(struct transaction *transaction,
                      char kind,
                      uint64_t number,
                      struct buffer *value)
{
    struct record_key key = record_key_of(kind, number);

    if (transaction->put_count == transaction->put_capacity) {
        size_t capacity = transaction->put_capacity * 2 + 8;
        struct catalog_put *grown = memory_resize(transaction->puts,
                                                  capacity * sizeof(struct catalog_put));
        if (grown == NULL) {
            transaction->failed = true;
            return;
        }
        transaction->puts = grown;
        transaction->put_capacity = capacity;
    }
    struct catalog_put put = {
        .key = arena_copy(&transaction->arena, record_key_bytes(&key)),
        .value = BYTES_EMPTY,
        .removed = value == NULL,
    };
    if (value != NULL) {
        transaction->failed = transaction->failed || value->failed;
        put.value = arena_copy(&transaction->arena, buffer_bytes(value));
        transaction->failed = transaction->failed || put.value.data == NULL;
        buffer_deinit(value);
    }
    transaction->failed = transaction->failed || put.key.data == NULL;
    transaction->puts[transaction->put_count++] = put;
}

static void stage_tablet_put(struct transaction *transaction, const struct tablet_record *record)
{
    struct buffer value = BUFFER_INIT;
    tablet_record_encode(record, &value);
    stage_put(transaction, RECORD_KIND_TABLET, record->number, &value);
    buffer_deinit(&value);
}

static void stage_table_put(struct transaction *transaction, const struct table *table)
{
    struct buffer value = BUFFER_INIT;
    struct table_record record = {transaction->counters.version, *table};
    table_record_encode(&record, &value);
    stage_put(transaction, RECORD_KIND_TABLE, table->number, &value);
    buffer_deinit(&value);
}

struct transaction *transaction_begin(struct catalog *catalog, struct open_request *request)
{
    ASSERT(catalog->pending == NULL);
    struct transaction *transaction = memory_allocate_zeroed(1, sizeof *transaction);
    if (transaction != NULL) {
        transaction->request = request;
        transaction->counters = catalog->counters;
        transaction->counters.version++;
        transaction->batch = ++catalog->batch;
        list_init(&transaction->proposals);
        arena_init(&transaction->arena, TRANSACTION_BLOCK_BYTES, SIZE_MAX);
    }
    return transaction;
}

uint64_t transaction_next_table(struct transaction *transaction)
{
    return transaction->counters.table_next++;
}

uint64_t transaction_next_tablet(struct transaction *transaction)
{
    return transaction->counters.tablet_next++;
}

uint64_t transaction_next_documents(struct transaction *transaction, size_t count)
{
    uint64_t first = transaction->counters.version;
    ASSERT(transaction->change_count == 0);
    transaction->counters.version += count > 0 ? count - 1 : 0;
    return first;
}

void transaction_add_tablet(struct transaction *transaction, const struct tablet_record *record)
{
    struct staged *change = stage(transaction, STAGED_ADD_TABLET, record->number);
    if (change == NULL) {
        return;
    }
    change->tablet = state_tablet_create(record);
    if (change->tablet == NULL) {
        transaction->failed = true;
        return;
    }
    change->tablet->record.changed_version = transaction->counters.version;
    stage_tablet_put(transaction, &change->tablet->record);
}

void transaction_update_tablet(struct transaction *transaction,
                               struct tablet *tablet,
                               const struct tablet_record *record)
{
    struct staged *change = stage(transaction, STAGED_UPDATE_TABLET, record->number);
    if (change == NULL) {
        return;
    }
    ASSERT(!transaction_has(transaction, tablet));
    tablet->batch = transaction->batch;
    if (!state_copy_row(&record->goal, &change->row)) {
        transaction->failed = true;
        return;
    }
    change->record = *record;
    change->record.changed_version = transaction->counters.version;
    stage_tablet_put(transaction, &change->record);
    change->record.goal.row.data = change->row;
}

void transaction_remove_tablet(struct transaction *transaction,
                               struct tablet *tablet,
                               const struct tablet_heirs *heirs)
{
    uint64_t number = tablet->record.number;
    struct staged *change = stage(transaction, STAGED_REMOVE_TABLET, number);
    if (change == NULL) {
        return;
    }
    change->gone = state_gone_create(CHANGED_TABLET_GONE, number, tablet->record.table,
                                     transaction->counters.version, NULL, 0);
    if (change->gone == NULL) {
        transaction->failed = true;
        return;
    }
    change->gone->heirs = *heirs;
    tablet->batch = transaction->batch;
    stage_put(transaction, RECORD_KIND_TABLET, number, NULL);
}

void transaction_add_table(struct transaction *transaction,
                           const struct table *table,
                           size_t tablet_count)
{
    struct staged *change = stage(transaction, STAGED_ADD_TABLE, table->number);
    if (change == NULL) {
        return;
    }
    struct table_image *image = state_table_image_create(table, transaction->counters.version);
    change->entry = image == NULL ? NULL : state_entry_create(image);
    if (change->entry == NULL) {
        state_table_image_destroy(image);
        transaction->failed = true;
        return;
    }
    transaction->failed = state_entry_reserve(change->entry, tablet_count) != STATUS_OK;
    stage_table_put(transaction, table);
}

void transaction_update_table(struct transaction *transaction, const struct table *table)
{
    struct staged *change = stage(transaction, STAGED_UPDATE_TABLE, table->number);
    if (change == NULL) {
        return;
    }
    change->table = state_table_image_create(table, transaction->counters.version);
    if (change->table == NULL) {
        transaction->failed = true;
        return;
    }
    stage_table_put(transaction, table);
}

static int compare_ranges(const void *a, const void *b)
{
    uint64_t left = ((const struct number_range *)a)->first;
    uint64_t right = ((const struct number_range *)b)->first;
    return (left > right) - (left < right);
}

/* The numbers of a table's tablets, as few ranges; in the transaction's arena. */
static struct number_range *tablet_numbers(struct transaction *transaction,
                                           const struct table_entry *entry,
                                           size_t *ret_count)
{
    struct number_range *ranges = arena_allocate_array(&transaction->arena, entry->tablet_count,
                                                       sizeof *ranges);
    size_t count = 0;

    if (ranges == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < entry->tablet_count; i++) {
        ranges[i] = (struct number_range){entry->tablets[i]->record.number, 1};
    }
    qsort(ranges, entry->tablet_count, sizeof *ranges, compare_ranges);
    for (size_t i = 1; i < entry->tablet_count; i++) {
        if (ranges[count].first + ranges[count].count == ranges[i].first) {
            ranges[count].count++;
        } else {
            ranges[++count] = ranges[i];
        }
    }
    *ret_count = count + 1;
    return ranges;
}

/* A record has so many ranges and no more. */
static void stage_dropped(struct transaction *transaction, const struct dropped_record *dropped)
{
    for (size_t at = 0; at == 0 || at < dropped->tablet_range_count;
         at += RECORD_DROPPED_RANGES_MAX) {
        struct buffer value = BUFFER_INIT;
        struct dropped_record part = *dropped;
        part.tablets += at;
        part.tablet_range_count -= at;
        if (part.tablet_range_count > RECORD_DROPPED_RANGES_MAX) {
            part.tablet_range_count = RECORD_DROPPED_RANGES_MAX;
        }
        if (at == 0) {
            dropped_record_encode(&part, &value);
            stage_put(transaction, RECORD_KIND_DROPPED, part.number, &value);
        } else {
            dropped_more_record_encode(&part, &value);
            stage_put(transaction, RECORD_KIND_DROPPED_MORE, part.tablets[0].first, &value);
        }
        buffer_deinit(&value);
    }
}

void transaction_remove_table(struct transaction *transaction, const struct table_entry *entry)
{
    uint64_t number = entry->image->record.table.number;
    struct staged *change = stage(transaction, STAGED_REMOVE_TABLE, number);
    struct dropped_record dropped = {.number = number,
                                     .changed_version = transaction->counters.version};

    if (change == NULL) {
        return;
    }
    dropped.tablets = tablet_numbers(transaction, entry, &dropped.tablet_range_count);
    if (dropped.tablets != NULL) {
        change->gone = state_gone_create(CHANGED_TABLE_GONE, number, number,
                                         dropped.changed_version, dropped.tablets,
                                         dropped.tablet_range_count);
    }
    if (change->gone == NULL) {
        transaction->failed = true;
        return;
    }
    stage_put(transaction, RECORD_KIND_TABLE, number, NULL);
    for (size_t i = 0; i < entry->tablet_count && !transaction->failed; i++) {
        stage_put(transaction, RECORD_KIND_TABLET, entry->tablets[i]->record.number, NULL);
    }
    stage_dropped(transaction, &dropped);
}

void transaction_put_server(struct transaction *transaction, const struct server_record *record)
{
    struct staged *change = stage(transaction, STAGED_PUT_SERVER, record->number);
    if (change == NULL) {
        return;
    }
    change->server = state_server_image_create(record);
    if (change->server == NULL) {
        transaction->failed = true;
        return;
    }
    struct buffer value = BUFFER_INIT;
    change->server->record.changed_version = transaction->counters.version;
    server_record_encode(&change->server->record, &value);
    stage_put(transaction, RECORD_KIND_SERVER, record->number, &value);
    buffer_deinit(&value);
}

void transaction_put_document(struct transaction *transaction, const struct document_record *record)
{
    struct staged *change = stage(transaction, STAGED_PUT_DOCUMENT, record->number);
    if (change == NULL) {
        return;
    }
    change->document = document_entry_create(record);
    if (change->document == NULL) {
        transaction->failed = true;
        return;
    }
    struct buffer value = BUFFER_INIT;
    change->document->record.changed_version = transaction->counters.version;
    document_record_encode(&change->document->record, &value);
    stage_put(transaction, RECORD_KIND_DOCUMENT, record->number, &value);
    buffer_deinit(&value);
}

void transaction_remove_document(struct transaction *transaction,
                                 const struct document_entry *entry)
{
    struct staged *change = stage(transaction, STAGED_REMOVE_DOCUMENT, entry->record.number);
    if (change == NULL) {
        return;
    }
    change->document_name = arena_copy(&transaction->arena, entry->record.name);
    if (change->document_name.data == NULL) {
        transaction->failed = true;
        return;
    }
    stage_put(transaction, RECORD_KIND_DOCUMENT, entry->record.number, NULL);
}

/* --- sealing ---------------------------------------------------------------------------------- */

/* Room in the indexes for all that will be linked. */
static enum status reserve(struct catalog *catalog, const struct transaction *transaction)
{
    size_t tablets = 0;
    size_t gone = 0;
    size_t documents = 0;
    enum status status = number_map_reserve(&catalog->tables, 1);

    for (size_t i = 0; i < transaction->change_count && status == STATUS_OK; i++) {
        const struct staged *change = &transaction->changes[i];
        if (change->kind == STAGED_ADD_TABLE) {
            status = state_names_reserve(catalog);
        } else if (change->kind == STAGED_PUT_DOCUMENT) {
            status = document_map_reserve(&catalog->documents, ++documents);
        } else if (change->kind == STAGED_REMOVE_TABLET) {
            gone++;
        } else if (change->kind == STAGED_ADD_TABLET) {
            struct table_entry *entry = number_map_get(&catalog->tables,
                                                       change->tablet->record.table);
            tablets++;
            status = entry == NULL ? STATUS_OK : state_entry_reserve(entry, tablets);
        }
    }
    if (status == STATUS_OK) {
        status = number_map_reserve(&catalog->gone_tablets, gone);
    }
    if (status == STATUS_OK) {
        status = number_map_reserve(&catalog->origins, 2 * tablets);
    }
    return status != STATUS_OK ? status : number_map_reserve(&catalog->tablets, tablets);
}

enum status transaction_seal(struct catalog *catalog, struct transaction *transaction)
{
    struct buffer value = BUFFER_INIT;

    ASSERT(catalog->pending == NULL);
    counters_record_encode(&transaction->counters, &value);
    stage_put(transaction, RECORD_KIND_COUNTERS, 0, &value);
    buffer_deinit(&value);
    if (transaction->failed || reserve(catalog, transaction) != STATUS_OK) {
        transaction->failed = true;
        return STATUS_NO_MEMORY;
    }
    transaction->number = ++catalog->transactions;
    catalog->pending = transaction;
    for (size_t i = 0; i < transaction->change_count; i++) {
        if (transaction->changes[i].kind == STAGED_ADD_TABLET) {
            balance_inherit(catalog, transaction->changes[i].tablet);
        }
    }
    emit_persist(catalog, transaction);
    return STATUS_OK;
}

/* --- the end ----------------------------------------------------------------------------------- */

void transaction_destroy(struct transaction *transaction)
{
    ASSERT(list_is_empty(&transaction->proposals));
    for (size_t i = 0; i < transaction->change_count; i++) {
        struct staged *change = &transaction->changes[i];
        state_tablet_destroy(change->tablet);
        memory_free(change->row);
        state_entry_destroy(change->entry);
        state_table_image_destroy(change->table);
        state_server_image_destroy(change->server);
        memory_free(change->gone);
        document_entry_destroy(change->document);
    }
    memory_free(transaction->changes);
    memory_free(transaction->puts);
    arena_deinit(&transaction->arena);
    memory_free(transaction);
}
