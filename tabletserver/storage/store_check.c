/* What must hold between the parts of a store, and the halving of a tablet. */
#include "common/base/assert.h"
#include "tabletserver/storage/store_internal.h"

#define MIDDLE_ROWS_MAX 4096 /* walked when nothing is in the base yet */

/* --- store_check ---------------------------------------------------------------------------------- */

static void check_layers(struct store_tablet *tablet)
{
    ASSERT(tablet->layer_count >= 1 && tablet->layer_count <= STORE_LAYERS_MAX);
    ASSERT(!tablet->layers[0]->frozen);
    uint32_t own = 0;
    for (uint32_t i = 1; i < tablet->layer_count; i++) {
        struct store_layer *layer = tablet->layers[i];
        ASSERT(layer->frozen);
        ASSERT(memtable_last_sequence(layer->memtable) <= layer->last_sequence);
        ASSERT(IMPLIES(i > 1, tablet->layers[i - 1]->last_sequence > layer->last_sequence));
        /* Nothing that may still be needed has been let go in the log. */
        ASSERT(atomic_load(&layer->first_position) >= tablet->store->log_released);
        own += layer->owner == tablet->descriptor.tablet ? 1 : 0;
    }
    /* One that is flushed may wait for the loop to forget it, but none may be missing. */
    ASSERT(own >= tablet->progress.frozen_count);
    flush_progress_check(&tablet->progress);
}

static void check_tablet(struct store_tablet *tablet)
{
    uint64_t prepared = store_tablet_prepared(tablet);
    uint64_t committed = store_tablet_committed(tablet);
    ASSERT(committed <= prepared);
    (void)pthread_mutex_lock(&tablet->mutex);
    check_layers(tablet);
    ASSERT(IMPLIES(tablet->progress.blocked, tablet->lineage_count > 0));
    for (struct store_read *read = tablet->reads; read != NULL; read = read->older) {
        ASSERT(read->sequence <= prepared);
    }
    for (uint32_t i = 0; i < tablet->range_deletes->count; i++) {
        ASSERT(tablet->range_deletes->deletes[i].sequence <= prepared);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    ASSERT(IMPLIES(tablet->pending_count > 0, tablet->pending_listed));
    ASSERT(IMPLIES(tablet->pending_count == 0, prepared == committed));
}

void store_check(struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        check_tablet(tablet);
        ASSERT(store_tablet_find(store, tablet->descriptor.tablet) == tablet);
        enum store_tablet_state state = atomic_load(&tablet->state);
        ASSERT(state == STORE_TABLET_LIVE || state == STORE_TABLET_BARRIER);
    }
    for (struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        enum store_tablet_state state = atomic_load(&t->state);
        ASSERT(state == STORE_TABLET_SPLIT || state == STORE_TABLET_DROPPING);
        check_tablet(t);
    }
}

/* --- the middle of a tablet ------------------------------------------------------------------------ */

/* Rows of the tablet from the start, up to `count`; the last one is left in row. */
static enum status walk_rows(struct row_reader *reader,
                             uint64_t count,
                             struct buffer *row,
                             uint64_t *ret_walked)
{
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    uint64_t walked = 0;
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &found_row, &found);
    while (status == STATUS_OK && found) {
        walked++;
        buffer_reset(row);
        buffer_append_bytes(row, found_row);
        if (walked == count) {
            break;
        }
        status = row_reader_seek(reader, ROW_AFTER, buffer_bytes(row), &found_row, &found);
    }
    *ret_walked = walked;
    return status == STATUS_OK && row->failed ? STATUS_NO_MEMORY : status;
}

/* A tablet so young that its rows are in memory: count them. */
static enum status middle_of_rows(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    static const struct table no_table;
    struct store_read *read = NULL;
    enum status status = store_read_begin(tablet, &no_table, STORE_READ_COMMITTED, 0, &read);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t walked = 0;
    uint64_t again = 0;
    status = walk_rows(store_read_reader(read), MIDDLE_ROWS_MAX, row, &walked);
    bool found = status == STATUS_OK && walked >= 2;
    if (found) {
        status = walk_rows(store_read_reader(read), walked / 2 + 1, row, &again);
    }
    store_read_end(read);
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}

enum status store_tablet_middle(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    struct base_snapshot *snapshot = NULL;
    buffer_reset(row);
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_pieces *pieces = store_pieces_ref(tablet->pieces);
    (void)pthread_mutex_unlock(&tablet->mutex);
    bool found = false;
    enum status status = base_snapshot_begin(tablet->store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_middle_row(snapshot, pieces->pieces, pieces->count, row, &found);
        base_snapshot_end(snapshot);
    }
    store_pieces_unref(pieces);
    if (status == STATUS_OK && !found) {
        buffer_reset(row);
        status = middle_of_rows(tablet, row, &found);
    }
    /* Strictly inside: a split there leaves both sides something. */
    found = found && bytes_compare(buffer_bytes(row), tablet->descriptor.range.start) > 0 &&
            row_range_contains(&tablet->descriptor.range, buffer_bytes(row));
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}
