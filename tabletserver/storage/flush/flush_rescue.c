#include "tabletserver/storage/flush/flush_rescue.h"

static enum status open_cursor(struct flush_rescue_part *part, const struct store_layer *layer)
{
    enum status status = memtable_cursor_open(layer->memtable, part->read.sequence,
                                              &part->cursors[part->cursor_count]);
    part->cursor_count += status == STATUS_OK ? 1 : 0;
    return status;
}

/* Of its own layers those newer than `flushed`; NULL = all.  Those of what it came of stand behind its own. */
static enum status open_part(struct flush_rescue_part *part,
                             struct store_tablet *tablet,
                             const struct store_layer *flushed)
{
    struct store_layer *layers[STORE_LAYERS_MAX];
    uint32_t count = 0;
    (void)pthread_mutex_lock(&tablet->mutex);
    part->was_split = atomic_load(&tablet->state) == STORE_TABLET_SPLIT && tablet->reads == NULL;
    part->read.tablet = tablet;
    part->read.sequence = store_read_floor(tablet);
    store_read_register(&part->read);
    part->deletes = store_range_deletes_ref(tablet->range_deletes);
    while (count < tablet->layer_count && tablet->layers[count] != flushed &&
           tablet->layers[count]->owner == tablet->descriptor.tablet) {
        layers[count] = store_layer_ref(tablet->layers[count]);
        count++;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        status = status == STATUS_OK ? open_cursor(part, layers[i]) : status;
        store_layer_unref(tablet->store, layers[i]); /* the cursor holds its memtable */
    }
    return status;
}

/* What a tablet was split into is there for as long as the tablet is. */
enum status flush_rescue_open(struct flush_rescue *rescue,
                              struct store_tablet *tablet,
                              const struct store_layer *flushed)
{
    enum status status = open_part(&rescue->parts[rescue->part_count++], tablet, flushed);
    for (uint32_t i = 0; i < rescue->part_count; i++) {
        const struct flush_rescue_part *parent = &rescue->parts[i];
        for (int j = 0; j < 2 && status == STATUS_OK && parent->was_split &&
                        rescue->part_count < FLUSH_RESCUE_TABLETS_MAX;
             j++) {
            status = open_part(&rescue->parts[rescue->part_count++],
                               parent->read.tablet->split.children[j], NULL);
        }
    }
    return status;
}

void flush_rescue_close(struct flush_rescue *rescue)
{
    for (uint32_t i = 0; i < rescue->part_count; i++) {
        struct flush_rescue_part *part = &rescue->parts[i];
        for (uint32_t j = 0; j < part->cursor_count; j++) {
            part->cursors[j]->operations->close(part->cursors[j]);
        }
        store_range_deletes_unref(part->deletes);
        store_read_unregister(&part->read);
        *part = (struct flush_rescue_part){.cursor_count = 0};
    }
    rescue->part_count = 0;
}

void flush_rescue_note_stuck(struct store_tablet *tablet)
{
    struct store_tablet *behind[FLUSH_RESCUE_TABLETS_MAX] = {tablet};
    uint32_t count = 1;
    for (uint32_t i = 0; i < count; i++) {
        atomic_store(&behind[i]->flush_stuck, true);
        (void)pthread_mutex_lock(&behind[i]->mutex);
        bool was_split = atomic_load(&behind[i]->state) == STORE_TABLET_SPLIT;
        (void)pthread_mutex_unlock(&behind[i]->mutex);
        for (int j = 0; j < 2 && was_split && count < FLUSH_RESCUE_TABLETS_MAX; j++) {
            behind[count++] = behind[i]->split.children[j];
        }
    }
}

static void take(struct stamp stamp,
                 const struct range_delete *of_range,
                 struct flush_rescue_delete *ret_delete,
                 bool *ret_found)
{
    if (!*ret_found || stamp_compare(stamp, ret_delete->stamp) > 0) {
        *ret_delete = (struct flush_rescue_delete){stamp, of_range};
        *ret_found = true;
    }
}

/* A delete of the row stands before all else of it. */
static enum status look(struct layer_cursor *cursor,
                        struct bytes row,
                        struct flush_rescue_delete *ret_delete,
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
        take(entry.stamp, NULL, ret_delete, ret_found);
    }
    return status;
}

static enum status find_in(struct flush_rescue_part *part,
                           struct bytes row,
                           struct flush_rescue_delete *ret_delete,
                           bool *ret_found)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < part->cursor_count && status == STATUS_OK; i++) {
        status = look(part->cursors[i], row, ret_delete, ret_found);
    }
    for (uint32_t i = 0; i < part->deletes->count; i++) {
        const struct range_delete *each = &part->deletes->deletes[i];
        if (each->sequence <= part->read.sequence && row_range_contains(&each->range, row)) {
            take(each->stamp, each, ret_delete, ret_found);
        }
    }
    return status;
}

enum status flush_rescue_find(struct flush_rescue *rescue,
                              struct bytes row,
                              struct flush_rescue_delete *ret_delete,
                              bool *ret_found)
{
    enum status status = STATUS_OK;
    *ret_found = false;
    for (uint32_t i = 0; i < rescue->part_count && status == STATUS_OK; i++) {
        status = find_in(&rescue->parts[i], row, ret_delete, ret_found);
    }
    return status;
}
