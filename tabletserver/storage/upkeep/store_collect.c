#include "tabletserver/storage/upkeep/store_collect.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 16384
#define NEWER_ENTRIES_MAX 4096 /* looked at on the loop for one row */

/* --- back and forth ------------------------------------------------------------------------------- */

bool store_collection_is_free(struct store *store)
{
    if (store->collection == NULL) {
        store->collection = memory_allocate_zeroed(1, sizeof *store->collection);
        if (store->collection == NULL) {
            return false;
        }
        arena_init(&store->collection->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    }
    return !atomic_load(&store->collection->busy);
}

bool store_collection_may_doom(const struct store *store)
{
    return atomic_load(&store->doomed_bytes) < STORE_COLLECT_DOOMED_BYTES;
}

void store_collection_begin(struct store_collection *collection, struct store_tablet *tablet)
{
    ASSERT(!atomic_load(&collection->busy));
    store_tablet_ref(tablet);
    collection->tablet = tablet;
    collection->horizon_count = 0;
    collection->row_count = 0;
    collection->change_count = 0;
    collection->doomed_bytes = 0;
    (void)pthread_mutex_lock(&tablet->mutex);
    collection->cut_count = tablet->cut_count;
    (void)pthread_mutex_unlock(&tablet->mutex);
    arena_reset(&collection->arena);
    atomic_store(&collection->busy, true);
}

void store_collection_send(struct store_collection *collection)
{
    struct store *store = collection->tablet->store;
    collection->event = (struct store_event){.kind = STORE_EVENT_COLLECT, .subject = collection};
    store_tell(store, &collection->event);
}

void store_collection_end(struct store_collection *collection)
{
    struct store_tablet *tablet = collection->tablet;
    collection->tablet = NULL;
    atomic_store(&collection->busy, false);
    store_tablet_unref(tablet);
}

void store_collect_clear(struct store *store)
{
    if (store->collection != NULL) {
        if (store->collection->tablet != NULL) {
            store_tablet_unref(store->collection->tablet);
        }
        arena_deinit(&store->collection->arena);
        memory_free(store->collection);
    }
}

/* --- finding -------------------------------------------------------------------------------------- */

struct finder {
    struct store_collection *collection;
    struct store_collect_state *state;
    const struct table *table;
    int64_t now_us;
    uint32_t cells_left;
    /* Of the column at hand. */
    uint32_t family;
    struct buffer qualifier;
    uint64_t index;
    bool dropping; /* the last change of the collection is this column's, and grows */
    uint32_t damaged_rows;
};

static bool is_same_column(const struct finder *finder, const struct cell *cell)
{
    return finder->index > 0 && finder->family == cell->family &&
           bytes_equal(buffer_bytes(&finder->qualifier), cell->qualifier);
}

static bool is_full(const struct finder *finder, uint32_t row_changes)
{
    return finder->cells_left == 0 ||
           finder->collection->doomed_bytes >= STORE_COLLECT_DOOMED_BYTES ||
           finder->collection->change_count >= STORE_COLLECT_CHANGES_MAX ||
           (row_changes == 0 && finder->collection->row_count >= STORE_COLLECT_ROWS_MAX);
}

/* A delete of this cell, or the one before stretched over it: cells come newest first. */
static enum status drop_cell(struct finder *finder, const struct cell *cell)
{
    struct store_collection *collection = finder->collection;
    collection->doomed_bytes += cell->value.size_bytes + cell->qualifier.size_bytes;
    if (finder->dropping) {
        collection->changes[collection->change_count - 1].start_us = cell->timestamp_us;
        return STATUS_OK;
    }
    struct bytes qualifier = arena_copy(&collection->arena, cell->qualifier);
    if (qualifier.size_bytes != cell->qualifier.size_bytes) {
        return STATUS_NO_MEMORY;
    }
    collection->changes[collection->change_count++] = (struct change){
        .kind = CHANGE_DELETE_CELLS,
        .family = cell->family,
        .qualifier = qualifier,
        .start_us = cell->timestamp_us,
        .end_us = cell->timestamp_us < INT64_MAX ? cell->timestamp_us + 1 : INT64_MAX,
    };
    finder->dropping = true;
    return STATUS_OK;
}

/* Judge one cell; *ret_over: the step ends before it, at the start of its column. */
static enum status judge(struct finder *finder,
                         const struct cell *cell,
                         uint32_t first_change,
                         bool *ret_over)
{
    if (!is_same_column(finder, cell)) {
        if (is_full(finder, finder->collection->change_count - first_change)) {
            *ret_over = true;
            return STATUS_OK;
        }
        buffer_reset(&finder->qualifier);
        buffer_append_bytes(&finder->qualifier, cell->qualifier);
        finder->family = cell->family;
        finder->index = 0;
        finder->dropping = false;
    }
    finder->cells_left -= finder->cells_left > 0 ? 1 : 0;
    const struct family *family = table_family_by_number(finder->table, cell->family);
    bool dropped = family != NULL &&
                   gc_rule_drops(&family->gc, finder->index, cell->timestamp_us, finder->now_us);
    finder->index++;
    if (!dropped) {
        finder->dropping = false;
        return finder->qualifier.failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (!finder->dropping && finder->collection->change_count >= STORE_COLLECT_CHANGES_MAX) {
        return STATUS_OK; /* a column of many runs: the rest of it is for the next pass */
    }
    return drop_cell(finder, cell);
}

static enum status keep_place(struct store_collect_state *state,
                              struct bytes row,
                              const struct cell *cell)
{
    buffer_reset(&state->row);
    buffer_reset(&state->qualifier);
    buffer_append_bytes(&state->row, row);
    state->family = cell != NULL ? cell->family : 0;
    if (cell != NULL) {
        buffer_append_bytes(&state->qualifier, cell->qualifier);
    }
    return state->row.failed || state->qualifier.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status find_in_row(struct finder *finder,
                               struct row_reader *reader,
                               struct bytes row,
                               bool *ret_over)
{
    struct store_collection *collection = finder->collection;
    struct store_collect_state *state = finder->state;
    struct cell_source source = row_reader_source(reader);
    uint32_t first_change = collection->change_count;
    uint64_t doomed_before = collection->doomed_bytes;
    bool resumed = state->family != 0 && bytes_equal(row, buffer_bytes(&state->row));
    struct cell cell;
    bool found = true;
    finder->index = 0;
    enum status status = source.rewind(source.context, resumed ? state->family : 0,
                                       resumed ? buffer_bytes(&state->qualifier) : BYTES_EMPTY);
    while (status == STATUS_OK && found && !*ret_over) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
        if (status == STATUS_OK && found) {
            status = judge(finder, &cell, first_change, ret_over);
        }
    }
    if (status == STATUS_CORRUPT && ++finder->damaged_rows <= STORE_DAMAGED_ROWS_MAX) {
        /* It is noted when the read ends.  Those behind the row have their turn. */
        collection->change_count = first_change;
        collection->doomed_bytes = doomed_before;
        return STATUS_OK;
    }
    if (status == STATUS_OK && *ret_over) {
        status = keep_place(state, row, &cell);
    }
    if (status != STATUS_OK || collection->change_count == first_change) {
        return status;
    }
    struct bytes copy = arena_copy(&collection->arena, row);
    if (copy.size_bytes != row.size_bytes) {
        return STATUS_NO_MEMORY;
    }
    collection->rows[collection->row_count++] = (struct store_collect_row){
        copy, first_change, collection->change_count - first_change,
        collection->doomed_bytes - doomed_before};
    return STATUS_OK;
}

static enum status find(struct finder *finder, struct row_reader *reader, bool *ret_over)
{
    struct buffer row = BUFFER_INIT;
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, buffer_bytes(&finder->state->row),
                                         &found_row, &found);
    while (status == STATUS_OK && found && !*ret_over) {
        buffer_reset(&row);
        buffer_append_bytes(&row, found_row);
        status = row.failed ? STATUS_NO_MEMORY
                            : find_in_row(finder, reader, buffer_bytes(&row), ret_over);
        if (status == STATUS_OK && !*ret_over) {
            status = row_reader_seek(reader, ROW_AFTER, buffer_bytes(&row), &found_row, &found);
        }
    }
    buffer_deinit(&row);
    return status;
}

/* The table as the reader shall see it: the same families, no rules. */
static enum status without_rules(struct arena *arena,
                                 const struct table *table,
                                 struct table *ret_table)
{
    *ret_table = *table;
    ret_table->families = arena_allocate_array(arena, table->family_count + 1U,
                                               sizeof *ret_table->families);
    if (ret_table->families == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < table->family_count; i++) {
        ret_table->families[i] = table->families[i];
        ret_table->families[i].gc = (struct gc_rule){.kind = GC_NONE};
    }
    return STATUS_OK;
}

enum status store_collect_versions(struct store_tablet *tablet,
                                   const struct table *table,
                                   int64_t now_us,
                                   uint32_t step_cells,
                                   bool *ret_more)
{
    struct store_collection *collection = tablet->store->collection;
    struct finder finder = {.collection = collection,
                            .state = &tablet->collect,
                            .table = table,
                            .now_us = now_us,
                            .cells_left = step_cells};
    struct table bare;
    struct store_read *read = NULL;
    bool over = false;
    store_collection_begin(collection, tablet);
    enum status status = without_rules(&collection->arena, table, &bare);
    if (status == STATUS_OK) {
        status = store_read_begin(tablet, &bare, STORE_READ_PREPARED, now_us, &read);
    }
    if (status == STATUS_OK) {
        collection->sequence = read->sequence;
        collection->clock = read->clock;
        collection->rule_version = table->version;
        status = find(&finder, store_read_reader(read), &over);
        store_read_end(read);
    }
    buffer_deinit(&finder.qualifier);
    if (status == STATUS_OK && collection->row_count > 0) {
        store_collection_send(collection);
    } else {
        store_collection_end(collection);
    }
    *ret_more = over;
    /* A tablet that has gone meanwhile is no trouble. */
    return status == STATUS_NOT_OWNER ? STATUS_OK : status;
}

/* --- appending, on the loop ------------------------------------------------------------------------ */

/* Is there anything of the row in the layer that the read has not seen? */
static enum status is_newer_in(struct store_layer *layer,
                               const struct store_collection *collection,
                               struct bytes row,
                               bool *ret_newer)
{
    struct layer_cursor *cursor = NULL;
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    enum status status = memtable_cursor_open(layer->memtable, UINT64_MAX, &cursor);
    if (status != STATUS_OK) {
        return status;
    }
    status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, row, &found_row, &found);
    if (status == STATUS_OK && found && bytes_equal(found_row, row)) {
        status = cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
        for (int i = 0; status == STATUS_OK && found && !*ret_newer; i++) {
            struct entry entry;
            status = cursor->operations->next_entry(cursor, &entry, &found);
            *ret_newer = status == STATUS_OK && found &&
                         (entry.stamp.clock > collection->clock || i >= NEWER_ENTRIES_MAX);
        }
    }
    cursor->operations->close(cursor);
    return status;
}

static bool may_delete(const struct store_collection *collection, struct bytes row)
{
    struct store_tablet *tablet = collection->tablet;
    bool newer = false;
    for (uint32_t i = 0; i < tablet->layer_count && !newer; i++) {
        struct store_layer *layer = tablet->layers[i];
        if (layer->frozen && layer->last_sequence <= collection->sequence) {
            break; /* the older ones hold nothing newer */
        }
        if (is_newer_in(layer, collection, row, &newer) != STATUS_OK) {
            return false;
        }
    }
    return !newer;
}

/* The loop is told of new rules, and appends writes: no write came under others than these; and what they
 * were applied to is still there. */
static bool may_still_be_judged(struct store *store, const struct store_collection *collection)
{
    struct store_schema *schema = store_schema_find(store, collection->tablet->descriptor.table);
    struct store_tablet *tablet = collection->tablet;
    bool same = schema != NULL && schema->table.version == collection->rule_version;
    (void)pthread_mutex_lock(&tablet->mutex);
    same = same && !horizon_is_outdated(&tablet->horizons, &schema->table) &&
           tablet->cut_count == collection->cut_count;
    (void)pthread_mutex_unlock(&tablet->mutex);
    if (schema != NULL) {
        store_schema_unref(schema);
    }
    return same;
}

/* Count bytes that deletes in the active memtable doom; where all memtables doom too many, have them flushed. */
static void doom(struct store *store, struct store_tablet *tablet, uint64_t bytes)
{
    atomic_fetch_add(&tablet->layers[0]->doomed_bytes, bytes);
    atomic_fetch_add(&store->doomed_bytes, bytes);
    if (store_collection_may_doom(store)) {
        return;
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (atomic_load(&store->tablets[i]->layers[0]->doomed_bytes) > 0) {
            store_flush_soon(store->tablets[i]);
        }
    }
}

void store_collect_forget(struct store *store, struct store_layer *layer)
{
    atomic_fetch_sub(&store->doomed_bytes, atomic_exchange(&layer->doomed_bytes, 0));
}

static void append_rows(struct store *store, const struct store_collection *collection)
{
    struct record_entry entries[STORE_COLLECT_ROWS_MAX];
    size_t count = 0;
    uint64_t doomed_bytes = 0;
    for (uint32_t i = 0; i < collection->row_count; i++) {
        const struct store_collect_row *row = &collection->rows[i];
        if (may_delete(collection, row->row)) {
            doomed_bytes += row->doomed_bytes;
            entries[count++] = (struct record_entry){
                .row = row->row,
                .changes = &collection->changes[row->first_change],
                .change_count = row->change_count};
        }
    }
    if (count > 0) {
        struct record_write write = {entries, count};
        uint64_t sequence = 0;
        if (store_append_write(collection->tablet, &write, store_next_clock(store), &sequence) ==
            STATUS_OK) {
            doom(store, collection->tablet, doomed_bytes);
        } /* else pushed back or refused: the next pass finds the same cells again */
    }
}

void store_collect_append(struct store *store)
{
    struct store_collection *collection = store->collection;
    /* Who does not lead, or not any more, is refused. */
    for (uint32_t i = 0; i < collection->horizon_count; i++) {
        uint64_t sequence = 0;
        (void)store_append_gc_horizon(collection->tablet, &collection->horizons[i],
                                      store_next_clock(store), &sequence);
    }
    if (collection->row_count > 0 && may_still_be_judged(store, collection)) {
        append_rows(store, collection);
    }
    store_collection_end(collection);
    store_commit(store);
    store_work_wake(store);
}
