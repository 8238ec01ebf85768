#include "tabletserver/storage/flush/flush_rescue.h"

static enum status open_cursor(struct flush_rescue *rescue, const struct store_layer *layer)
{
    enum status status = memtable_cursor_open(layer->memtable, rescue->read.sequence,
                                              &rescue->cursors[rescue->cursor_count]);
    rescue->cursor_count += status == STATUS_OK ? 1 : 0;
    return status;
}

enum status flush_rescue_open(struct flush_rescue *rescue,
                              struct store_tablet *tablet,
                              const struct store_layer *flushed)
{
    struct store_layer *layers[STORE_LAYERS_MAX];
    uint32_t count = 0;
    (void)pthread_mutex_lock(&tablet->mutex);
    rescue->read.tablet = tablet;
    rescue->read.sequence = store_read_floor(tablet);
    store_read_register(&rescue->read);
    rescue->deletes = store_range_deletes_ref(tablet->range_deletes);
    while (count < tablet->layer_count && tablet->layers[count] != flushed) {
        layers[count] = store_layer_ref(tablet->layers[count]);
        count++;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        status = status == STATUS_OK ? open_cursor(rescue, layers[i]) : status;
        store_layer_unref(tablet->store, layers[i]); /* the cursor holds its memtable */
    }
    return status;
}

void flush_rescue_close(struct flush_rescue *rescue)
{
    if (rescue->read.tablet == NULL) {
        return;
    }
    for (uint32_t i = 0; i < rescue->cursor_count; i++) {
        rescue->cursors[i]->operations->close(rescue->cursors[i]);
    }
    store_range_deletes_unref(rescue->deletes);
    store_read_unregister(&rescue->read);
    *rescue = (struct flush_rescue){.cursor_count = 0};
}

static void take(struct stamp stamp, struct stamp *ret_stamp, bool *ret_found)
{
    if (!*ret_found || stamp_compare(stamp, *ret_stamp) > 0) {
        *ret_stamp = stamp;
        *ret_found = true;
    }
}

/* A delete of the row stands before all else of it. */
static enum status look(struct layer_cursor *cursor,
                        struct bytes row,
                        struct stamp *ret_stamp,
                        bool *ret_found)
{
    struct bytes at = BYTES_EMPTY;
    struct entry entry;
    bool found = false;
    enum status status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, row, &at, &found);
    if (status != STATUS_OK || !found || !bytes_equal(at, row)) {
        return status;
    }
    status = cursor->operations->seek_entry(cursor, 0, BYTES_EMPTY);
    if (status == STATUS_OK) {
        status = cursor->operations->next_entry(cursor, &entry, &found);
    }
    if (status == STATUS_OK && found && entry.kind == ENTRY_ROW_DELETE) {
        take(entry.stamp, ret_stamp, ret_found);
    }
    return status;
}

enum status flush_rescue_find(struct flush_rescue *rescue,
                              struct bytes row,
                              struct stamp *ret_stamp,
                              bool *ret_found)
{
    enum status status = STATUS_OK;
    *ret_found = false;
    for (uint32_t i = 0; i < rescue->cursor_count && status == STATUS_OK; i++) {
        status = look(rescue->cursors[i], row, ret_stamp, ret_found);
    }
    for (uint32_t i = 0; rescue->deletes != NULL && i < rescue->deletes->count; i++) {
        const struct range_delete *each = &rescue->deletes->deletes[i];
        if (each->sequence <= rescue->read.sequence && row_range_contains(&each->range, row)) {
            take(each->stamp, ret_stamp, ret_found);
        }
    }
    return status;
}
