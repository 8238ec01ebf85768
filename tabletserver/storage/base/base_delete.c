#include "tabletserver/storage/base/base_internal.h"

struct base_position base_delete_start(const struct entry *entry)
{
    struct base_position position = {entry->family, entry->qualifier, INT64_MAX};
    if (entry->kind == ENTRY_ROW_DELETE) {
        return BASE_POSITION_ROW_START;
    }
    if (entry->kind == ENTRY_FAMILY_DELETE) {
        position.qualifier = BYTES_EMPTY;
    }
    return position;
}

bool base_delete_reaches(const struct entry *entry, const struct base_position *start)
{
    if (entry->kind == ENTRY_ROW_DELETE || start->family < entry->family) {
        return true;
    }
    if (start->family > entry->family) {
        return false;
    }
    if (entry->kind == ENTRY_FAMILY_DELETE) {
        return true;
    }
    struct base_position last = {entry->family, entry->qualifier, entry->start_us};
    return base_position_compare(start, &last) <= 0;
}

static bool drops(const struct base_drop *drop, const struct chunk_cell *cell, struct stamp stamp)
{
    return drop->everything ||
           (drop->tombstone != NULL && base_tombstone_kills(drop->tombstone, cell, stamp)) ||
           (drop->tombstones != NULL && base_tombstones_kill(drop->tombstones, cell, stamp));
}

static bool is_row_delete_above(const struct entry *tombstone, struct stamp stamp)
{
    return tombstone->kind == ENTRY_ROW_DELETE && stamp_compare(stamp, tombstone->stamp) < 0;
}

bool base_row_is_dead(const struct entry *tombstone,
                      const struct base_tombstones *tombstones,
                      struct stamp stamp)
{
    return (tombstone != NULL && is_row_delete_above(tombstone, stamp)) ||
           (tombstones != NULL && tombstones->count > 0 &&
            is_row_delete_above(&tombstones->entries[0], stamp)); /* it stands first */
}

/* Is there any delete that is younger than the chunk? */
static bool may_drop(const struct base_drop *drop, struct stamp stamp)
{
    if (drop->everything ||
        (drop->tombstone != NULL && stamp_compare(stamp, drop->tombstone->stamp) < 0)) {
        return true;
    }
    return drop->tombstones != NULL && stamp_compare(stamp, drop->tombstones->youngest) < 0;
}

enum status base_drop_kept(struct base_writer *writer, const struct base_drop *drop)
{
    struct base_cells *list = &writer->kept;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!drops(drop, &list->cells[i], list->stamps[i])) {
            list->cells[kept] = list->cells[i];
            list->stamps[kept] = list->stamps[i];
            kept++;
            continue;
        }
        enum status status = base_writer_drop_value(writer, &list->cells[i]);
        if (status != STATUS_OK) {
            return status;
        }
    }
    list->count = kept;
    return STATUS_OK;
}

/* Put what is kept in the chunk's place, under the same stamp: nothing was added. */
static enum status rewrite(struct base_writer *writer, size_t replaced_bytes)
{
    struct bytes stored_key;
    bool found = false;
    enum status status = base_walk_resolve(&writer->data, buffer_bytes(&writer->dropped_key), true,
                                           &stored_key, &found);
    if (status != STATUS_OK) {
        return status;
    }
    buffer_reset(&writer->chunk);
    chunk_encode(writer->kept.cells, writer->kept.count, writer->kept.stamps[0],
                 base_seed(stored_key), &writer->chunk);
    if (writer->chunk.failed) {
        return STATUS_NO_MEMORY;
    }
    writer->kept_bytes = stored_key.size_bytes + writer->chunk.size_bytes;
    return base_walk_put(&writer->data, stored_key, buffer_bytes(&writer->chunk), replaced_bytes);
}

static enum status erase_unread(struct base_writer *writer, size_t stored_bytes, size_t value_bytes)
{
    struct bytes key = buffer_bytes(&writer->dropped_key);
    enum status status = base_walk_delete(&writer->data, key, value_bytes);
    return status == STATUS_OK ? base_sample_update(&writer->samples, key, stored_bytes, 0)
                               : status;
}

enum status base_drop_cells(struct base_writer *writer, const struct base_drop *drop)
{
    struct base_walk *walk = &writer->data;
    struct stamp stamp;
    bool has_large = false;
    size_t value_bytes = walk->value.size_bytes;
    size_t stored_bytes = walk->stored_key.size_bytes + value_bytes;

    buffer_reset(&writer->dropped_key);
    buffer_append_bytes(&writer->dropped_key, walk->key);
    buffer_reset(&writer->dropped_data);
    buffer_append_bytes(&writer->dropped_data, walk->value);
    if (writer->dropped_key.failed || writer->dropped_data.failed) {
        return STATUS_NO_MEMORY;
    }
    struct bytes key = buffer_bytes(&writer->dropped_key);
    if (!chunk_peek(walk->value, &stamp, &has_large)) {
        return drop->damaged_too ? erase_unread(writer, stored_bytes, value_bytes) : STATUS_CORRUPT;
    }
    if (!may_drop(drop, stamp) && !drop->damaged_too) {
        return STATUS_OK;
    }
    base_cells_reset(&writer->kept);
    enum status status = STATUS_OK;
    if (!drop->everything || has_large) {
        status = base_cells_decode(&writer->kept, &writer->reader,
                                   buffer_bytes(&writer->dropped_data),
                                   base_seed(walk->stored_key));
        if (status == STATUS_CORRUPT &&
            (drop->damaged_too || base_row_is_dead(drop->tombstone, drop->tombstones, stamp))) {
            base_cells_reset(&writer->kept);
            return erase_unread(writer, stored_bytes, value_bytes);
        }
    }
    size_t before = writer->kept.count;
    uint64_t weight = stored_bytes + base_cells_large_bytes(&writer->kept);
    if (status == STATUS_OK) {
        status = base_drop_kept(writer, drop);
    }
    if (status != STATUS_OK || (!drop->everything && writer->kept.count == before)) {
        return status;
    }
    bool gone = writer->kept.count == 0;
    status = gone ? base_walk_delete(walk, key, value_bytes) : rewrite(writer, stored_bytes);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t after = gone ? 0 : writer->kept_bytes + base_cells_large_bytes(&writer->kept);
    return base_sample_update(&writer->samples, key, weight, after);
}

/* --- deletes as they come --------------------------------------------------------------------- */

/* Is the walk on a chunk of the current row that the delete reaches? */
static enum status is_reached(struct base_writer *writer,
                              const struct entry *entry,
                              bool *ret_reached)
{
    struct base_position start;
    const struct base_walk *walk = &writer->data;
    *ret_reached = false;
    if (!walk->found || !base_row_key_equal(walk->row, buffer_bytes(&writer->window.row_key))) {
        return STATUS_OK;
    }
    if (!base_key_position(walk->key, &writer->qualifier, &start)) {
        return writer->qualifier.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
    }
    *ret_reached = base_delete_reaches(entry, &start);
    return *ret_reached && walk->barred ? STATUS_CORRUPT : STATUS_OK;
}

/* To the first chunk behind the one in memory that the delete may have to do with.  One of some versions passes over the
 * younger ones of its column: each of many deletes of old versions in a long column costs the chunks that these are in,
 * and is not stored because of what lies before them. */
static enum status go_first(struct base_writer *writer,
                            const struct entry *entry,
                            bool *ret_reached)
{
    struct base_walk *walk = &writer->data;
    struct bytes end_key = buffer_bytes(&writer->window.end_key);
    enum status status = STATUS_OK;
    bool is_behind = false;
    if (entry->kind == ENTRY_COLUMN_DELETE && entry->end_us != INT64_MAX) {
        struct base_position youngest = {entry->family, entry->qualifier, entry->end_us - 1};
        status = base_window_walk_to(writer, &youngest);
        is_behind = status == STATUS_OK && walk->found && bytes_compare(walk->key, end_key) > 0;
    }
    if (status == STATUS_OK && !is_behind) {
        status = base_walk_seek(walk, end_key);
    }
    return status == STATUS_OK ? is_reached(writer, entry, ret_reached) : status;
}

/* Do more chunks than may be touched at once follow in the delete's reach? */
static enum status is_wide(struct base_writer *writer, const struct entry *entry, bool *ret_wide)
{
    uint32_t count = 0;
    bool reached = false;
    enum status status = go_first(writer, entry, &reached);
    while (status == STATUS_OK && reached && count <= BASE_DELETE_CHUNKS_MAX) {
        count++;
        status = base_walk_next(&writer->data);
        if (status == STATUS_OK) {
            status = is_reached(writer, entry, &reached);
        }
    }
    *ret_wide = count > BASE_DELETE_CHUNKS_MAX;
    return status;
}

static enum status store_tombstone(struct base_writer *writer, const struct entry *entry)
{
    struct base_window *window = &writer->window;
    struct base_walk *walk = &writer->tombstones.walk;
    struct bytes stored_key;
    struct bytes before;
    uint8_t value[BASE_TOMBSTONE_VALUE_BYTES_MAX];
    bool found = false;

    buffer_reset(&writer->seek);
    base_tombstone_append_key(&writer->seek, buffer_bytes(&window->row), entry);
    if (writer->seek.failed) {
        return STATUS_NO_MEMORY;
    }
    enum status status = base_walk_resolve(walk, buffer_bytes(&writer->seek), true, &stored_key,
                                           &found);
    if (status == STATUS_OK) {
        status = kv_write_get(writer->write, stored_key, &before, &found);
    }
    if (status == STATUS_OK) {
        size_t size = base_tombstone_encode(stored_key, entry->stamp, value);
        size_t replaced = found ? stored_key.size_bytes + before.size_bytes : 0;
        status = base_walk_put(walk, stored_key, bytes_of(value, size), replaced);
    }
    if (status == STATUS_OK) {
        base_tombstone_finder_forget(&writer->tombstones, window->extent);
        status = base_tombstones_add(&window->tombstones, entry);
    }
    return status;
}

/* Apply the delete to the chunks that follow the one in memory. */
static enum status drop_following(struct base_writer *writer,
                                  const struct entry *entry,
                                  bool is_youngest)
{
    struct base_drop drop = {.tombstone = entry, .damaged_too = is_youngest};
    bool reached = false;
    enum status status = go_first(writer, entry, &reached);
    while (status == STATUS_OK && reached) {
        status = base_drop_cells(writer, &drop);
        buffer_append_u8(&writer->dropped_key, 0); /* the least key above */
        if (status == STATUS_OK && writer->dropped_key.failed) {
            status = STATUS_NO_MEMORY;
        }
        if (status == STATUS_OK) {
            status = base_walk_seek(&writer->data, buffer_bytes(&writer->dropped_key));
        }
        if (status == STATUS_OK) {
            status = is_reached(writer, entry, &reached);
        }
    }
    return status == STATUS_OK ? base_window_find_end(writer) : status;
}

/* Apply the delete to those cells of the stored chunk, too, that are in memory. */
static enum status drop_old(struct base_writer *writer, const struct entry *entry)
{
    struct base_window *window = &writer->window;
    struct base_cells *old = &window->old;
    size_t kept = window->old_next;
    for (size_t i = window->old_next; i < old->count; i++) {
        if (!base_tombstone_kills(entry, &old->cells[i], old->stamps[i])) {
            old->cells[kept] = old->cells[i];
            old->stamps[kept] = old->stamps[i];
            kept++;
            continue;
        }
        window->changed = true;
        enum status status = base_writer_drop_value(writer, &old->cells[i]);
        if (status != STATUS_OK) {
            return status;
        }
    }
    old->count = kept;
    return STATUS_OK;
}

/* One that is stored already, or a younger one in its place, does all that it could: it may have come before, as what
 * is left of a range delete does with each flush of the row. */
static enum status apply(struct base_writer *writer, const struct entry *entry, bool is_youngest)
{
    struct base_window *window = &writer->window;
    struct base_position position = base_delete_start(entry);
    window->row_delete = entry->kind == ENTRY_ROW_DELETE ? entry : NULL;
    window->row_delete_is_youngest = is_youngest;
    enum status status = base_window_go(writer, &position);
    window->row_delete = NULL;
    window->row_delete_is_youngest = false;
    if (status == STATUS_OK && window->has_end && base_delete_reaches(entry, &window->end) &&
        !base_tombstones_have(&window->tombstones, entry)) {
        bool wide = false;
        status = is_wide(writer, entry, &wide);
        if (status == STATUS_OK) {
            status = wide ? store_tombstone(writer, entry)
                          : drop_following(writer, entry, is_youngest);
        }
    }
    return status == STATUS_OK ? drop_old(writer, entry) : status;
}

/* --- where a damaged link is in the way -------------------------------------------------------- */

/* Does it lead to nothing but the writer's row, or rows of the range? */
static enum status is_bar_dead(const struct base_writer *writer,
                               const struct base_walk *walk,
                               const struct row_range *also,
                               bool *ret_dead)
{
    struct buffer start = BUFFER_INIT;
    struct buffer end = BUFFER_INIT;
    struct bytes row_key = buffer_bytes(&writer->window.row_key);
    buffer_append_bytes(&end, row_key);
    buffer_append_u8(&end, 1); /* the least row' above */
    bool failed = end.failed;
    *ret_dead = !failed && base_walk_bars_only(walk, row_key, buffer_bytes(&end));
    if (!*ret_dead && also != NULL) {
        buffer_reset(&end);
        base_key_append_row(&start, also->start);
        base_key_append_row(&end, also->end);
        failed = failed || start.failed || end.failed;
        *ret_dead = !failed && base_walk_bars_only(walk, buffer_bytes(&start), buffer_bytes(&end));
    }
    buffer_deinit(&start);
    buffer_deinit(&end);
    return failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* Erase the link that bars the walk, if it leads to nothing else; then the walk stands nowhere. */
static enum status erase_dead_bar(struct base_writer *writer,
                                  struct base_walk *walk,
                                  const struct row_range *also,
                                  bool *ret_erased)
{
    enum status status = is_bar_dead(writer, walk, also, ret_erased);
    if (status != STATUS_OK || !*ret_erased) {
        return status;
    }
    base_links_distrust(&writer->base->links);
    return base_walk_erase_bar(walk);
}

enum status base_delete_stored(struct base_writer *writer, const struct row_range *also)
{
    struct base_tombstone_finder *finder = &writer->tombstones;
    struct bytes row_key = buffer_bytes(&writer->window.row_key);
    enum status status = base_tombstone_erase(finder, row_key);
    bool erased = true;
    while (status == STATUS_CORRUPT && erased && finder->walk.barred) {
        status = erase_dead_bar(writer, &finder->walk, also, &erased);
        if (status == STATUS_OK) {
            status = erased ? base_tombstone_erase(finder, row_key) : STATUS_CORRUPT;
        }
    }
    return status;
}

/* What cannot be reached cannot be deleted: that the row is deleted is stored instead, for whoever gets there. */
static enum status keep_for_later(struct base_writer *writer, const struct entry *row_delete)
{
    enum status status = base_tombstones_have(&writer->window.tombstones, row_delete)
                             ? STATUS_OK
                             : store_tombstone(writer, row_delete);
    return status == STATUS_OK && writer->window.chunk_open ? drop_old(writer, row_delete) : status;
}

/* A delete of the row comes before all else of it, so nothing new of the row is lost where it cannot be opened. */
enum status base_delete_apply(struct base_writer *writer,
                              const struct entry *entry,
                              bool is_youngest,
                              const struct row_range *also)
{
    enum status status = apply(writer, entry, is_youngest);
    bool erased = is_youngest;
    while (status == STATUS_CORRUPT && erased && base_writer_is_barred(writer)) {
        status = erase_dead_bar(writer, &writer->data, also, &erased);
        if (status == STATUS_OK) {
            status = erased ? apply(writer, entry, is_youngest) : STATUS_CORRUPT;
        }
    }
    return status == STATUS_CORRUPT && base_writer_is_barred(writer) &&
                   entry->kind == ENTRY_ROW_DELETE
               ? keep_for_later(writer, entry)
               : status;
}
