#include "tabletserver/storage/base/base_internal.h"

/* Together they leave an eighth free, so that the next cell does not part them again. */
static bool fits(const struct base_writer *writer, size_t size_bytes)
{
    size_t budget = base_window_budget(writer->window.key.size_bytes);
    return base_window_walk_is_in_row(writer) &&
           writer->data.value.size_bytes + size_bytes <= budget - budget / 8;
}

/* Move the cells of the chunk that the walk stands on to writer->kept, erase its record.  A damaged
 * one stays where it is: nothing was asked of it. */
static enum status take_in(struct base_writer *writer, bool *ret_taken)
{
    struct base_drop drop = {.tombstones = &writer->window.tombstones};
    struct base_walk *walk = &writer->data;
    uint64_t seed = base_seed(walk->stored_key);
    size_t value_bytes = walk->value.size_bytes;
    uint64_t weight = walk->stored_key.size_bytes + value_bytes;

    base_cells_reset(&writer->kept);
    enum status status = base_buffer_set(&writer->dropped_key, walk->key);
    if (status == STATUS_OK) {
        status = base_buffer_set(&writer->dropped_data, walk->value);
    }
    if (status == STATUS_OK) {
        status = base_cells_decode(&writer->kept, &writer->reader,
                                   buffer_bytes(&writer->dropped_data), seed);
    }
    *ret_taken = status == STATUS_OK;
    if (status == STATUS_CORRUPT || status == STATUS_VERSION) {
        return STATUS_OK;
    }
    if (status != STATUS_OK) {
        return status;
    }
    weight += base_cells_large_bytes(&writer->kept);
    struct bytes key = buffer_bytes(&writer->dropped_key);
    status = base_walk_delete(walk, key, value_bytes);
    if (status == STATUS_OK) {
        status = base_sample_update(&writer->samples, key, weight, 0);
    }
    return status == STATUS_OK ? base_drop_kept(writer, &drop) : status;
}

enum status base_absorb_own(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct bytes key = buffer_bytes(&window->key);
    enum status status = base_walk_delete(&writer->data, key, window->stored_value_bytes);
    window->stored = false;
    return status != STATUS_OK
               ? status
               : base_sample_update(&writer->samples, key, window->stored_weight, 0);
}

enum status base_absorb_next(struct base_writer *writer, size_t size_bytes)
{
    struct base_window *window = &writer->window;
    enum status status = base_walk_seek(&writer->data, buffer_bytes(&window->end_key));
    if (status != STATUS_OK || !fits(writer, size_bytes)) {
        return status;
    }
    bool taken = false;
    status = take_in(writer, &taken);
    if (status != STATUS_OK || !taken) {
        return status;
    }
    for (size_t i = 0; status == STATUS_OK && i < writer->kept.count; i++) {
        status = base_cells_add_copy(&window->out, &writer->kept.cells[i], writer->kept.stamps[i]);
    }
    window->has_end = false; /* not known any more, and not asked for before the next chunk */
    return status;
}

/* spare := the cells taken in, then those of out; then they change places. */
static enum status prepend(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct base_cells *spare = &window->spare;
    enum status status = STATUS_OK;
    base_cells_reset(spare);
    for (size_t i = 0; status == STATUS_OK && i < writer->kept.count; i++) {
        status = base_cells_add_copy(spare, &writer->kept.cells[i], writer->kept.stamps[i]);
    }
    for (size_t i = 0; status == STATUS_OK && i < window->out.count; i++) {
        status = base_cells_add(spare, &window->out.cells[i], window->out.stamps[i]);
    }
    struct base_cells out = window->out;
    window->out = *spare; /* its cells still borrow from the other's arena */
    window->spare = out;
    return status;
}

enum status base_absorb_previous(struct base_writer *writer, size_t size_bytes, size_t *ret_count)
{
    struct base_window *window = &writer->window;
    enum status status = base_walk_seek(&writer->data, buffer_bytes(&window->key));
    if (status == STATUS_OK) {
        status = base_walk_previous(&writer->data);
    }
    if (status != STATUS_OK || !fits(writer, size_bytes)) {
        return status;
    }
    bool taken = false;
    status = take_in(writer, &taken);
    if (status != STATUS_OK || !taken) {
        return status;
    }
    if (window->stored) {
        status = base_absorb_own(writer);
    }
    if (status == STATUS_OK) {
        status = base_buffer_set(&window->key, buffer_bytes(&writer->dropped_key));
    }
    if (status != STATUS_OK) {
        return status;
    }
    *ret_count = writer->kept.count;
    return prepend(writer);
}
