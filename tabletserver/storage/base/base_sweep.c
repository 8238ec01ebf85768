/*
 * The sweep: stored tombstones are applied to the chunks that they cover, then dropped.
 *
 * A row is worked through once for all its tombstones.  resume: empty, or
 *
 *   size of row' (varint), row', stamp (16), key of the next chunk (empty = the row is done)
 *
 * The stamp is the largest among the tombstones when the row was begun: a younger one that came in
 * between steps may cover chunks already passed, so it stays for the next round.
 */
#include "common/base/endian.h"
#include "tabletserver/storage/base/base_internal.h"

#define CHUNK_COST_BYTES 64 /* of looking at a chunk at all */
#define STAMP_BYTES      16

struct sweep {
    struct base_writer *writer;
    struct buffer row_key;
    struct buffer next; /* the least key of the row still to be looked at; empty = next row */
    struct buffer end;  /* row' where the range ends; empty = open */
    struct stamp stamp;
    struct base_tombstones tombstones;
    uint64_t budget_bytes;
};

static enum status load_resume(struct sweep *sweep, const struct buffer *resume)
{
    uint64_t size = 0;
    const uint8_t *end = resume->data + resume->size_bytes;
    if (resume->size_bytes == 0) {
        return STATUS_OK;
    }
    size_t used = varint_load(resume->data, end, &size);
    if (used == 0 || resume->size_bytes - used < size + STAMP_BYTES) {
        return STATUS_INVALID_ARGUMENT;
    }
    const uint8_t *stamp = resume->data + used + size;
    const uint8_t *next = stamp + STAMP_BYTES;
    buffer_append(&sweep->row_key, resume->data + used, (size_t)size);
    buffer_append(&sweep->next, next, (size_t)(end - next));
    sweep->stamp = (struct stamp){load_le64(stamp), load_le32(stamp + 8), load_le32(stamp + 12)};
    return sweep->row_key.failed || sweep->next.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status save_resume(const struct sweep *sweep, struct buffer *resume)
{
    uint8_t data[VARINT_SIZE_MAX + STAMP_BYTES];
    buffer_reset(resume);
    buffer_append(resume, data, varint_store(data, sweep->row_key.size_bytes));
    buffer_append_bytes(resume, buffer_bytes(&sweep->row_key));
    store_le64(data, sweep->stamp.clock);
    store_le32(data + 8, sweep->stamp.cluster);
    store_le32(data + 12, sweep->stamp.index);
    buffer_append(resume, data, STAMP_BYTES);
    buffer_append_bytes(resume, buffer_bytes(&sweep->next));
    return resume->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* Begin the next row with tombstones, if there is one. */
static enum status begin_row(struct sweep *sweep, bool *ret_found)
{
    struct bytes row_key;
    bool found = false;
    if (sweep->next.size_bytes > 0) {
        *ret_found = true; /* still in one */
        return STATUS_OK;
    }
    enum status status = base_tombstone_find(&sweep->writer->tombstones,
                                             buffer_bytes(&sweep->row_key), &row_key, &found);
    if (status != STATUS_OK) {
        return status;
    }
    *ret_found = found && (sweep->end.size_bytes == 0 ||
                           bytes_compare(row_key, buffer_bytes(&sweep->end)) < 0);
    if (!*ret_found) {
        return STATUS_OK;
    }
    status = base_buffer_set(&sweep->row_key, row_key);
    if (status == STATUS_OK) {
        status = base_buffer_set(&sweep->next, buffer_bytes(&sweep->row_key));
    }
    sweep->stamp = STAMP_OLDEST;
    return status;
}

static enum status load_tombstones(struct sweep *sweep)
{
    enum status status = base_tombstone_load(&sweep->writer->tombstones,
                                             buffer_bytes(&sweep->row_key), &sweep->tombstones);
    if (stamp_compare(sweep->stamp, STAMP_OLDEST) != 0) {
        return status;
    }
    for (size_t i = 0; status == STATUS_OK && i < sweep->tombstones.count; i++) {
        struct stamp stamp = sweep->tombstones.entries[i].stamp;
        sweep->stamp = stamp_compare(stamp, sweep->stamp) > 0 ? stamp : sweep->stamp;
    }
    return status;
}

/* Is the walk on a chunk of the row that some tombstone still reaches? */
static enum status is_reached(struct sweep *sweep, bool *ret_reached)
{
    struct base_writer *writer = sweep->writer;
    struct base_position start;
    *ret_reached = false;
    if (!writer->data.found ||
        !base_row_key_equal(writer->data.row, buffer_bytes(&sweep->row_key))) {
        return STATUS_OK;
    }
    if (!base_key_position(writer->data.key, &writer->qualifier, &start)) {
        return writer->qualifier.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
    }
    for (size_t i = sweep->tombstones.count; i > 0 && !*ret_reached; i--) { /* the last reach far */
        *ret_reached = base_delete_reaches(&sweep->tombstones.entries[i - 1], &start);
    }
    return STATUS_OK;
}

static enum status sweep_chunks(struct sweep *sweep, bool *ret_done)
{
    struct base_writer *writer = sweep->writer;
    struct base_drop drop = {.tombstones = &sweep->tombstones};
    bool reached = false;
    enum status status = base_walk_seek(&writer->data, buffer_bytes(&sweep->next));
    if (status == STATUS_OK) {
        status = is_reached(sweep, &reached);
    }
    while (status == STATUS_OK && reached && sweep->budget_bytes > 0) {
        uint64_t cost = CHUNK_COST_BYTES + writer->data.value.size_bytes;
        sweep->budget_bytes -= cost < sweep->budget_bytes ? cost : sweep->budget_bytes;
        status = base_drop_cells(writer, &drop);
        if (status == STATUS_OK) {
            status = base_buffer_set(&sweep->next, buffer_bytes(&writer->dropped_key));
            buffer_append_u8(&sweep->next, 0); /* the least key above */
        }
        if (status == STATUS_OK) {
            status = sweep->next.failed ? STATUS_NO_MEMORY
                                        : base_walk_seek(&writer->data, buffer_bytes(&sweep->next));
        }
        if (status == STATUS_OK) {
            status = is_reached(sweep, &reached);
        }
    }
    *ret_done = !reached;
    return status;
}

/* The row is worked through: drop its tombstones, but for those that came meanwhile. */
static enum status drop_tombstones(struct sweep *sweep)
{
    struct base_writer *writer = sweep->writer;
    struct base_walk *walk = &writer->tombstones.walk;
    struct buffer *key = &writer->seek;
    struct buffer row = BUFFER_INIT;
    struct bytes row_bytes;
    enum status status = STATUS_OK;
    if (!base_key_unescape(buffer_bytes(&sweep->row_key), &row, &row_bytes)) {
        status = row.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
    }
    for (size_t i = 0; status == STATUS_OK && i < sweep->tombstones.count; i++) {
        const struct entry *tombstone = &sweep->tombstones.entries[i];
        uint8_t value[BASE_TOMBSTONE_VALUE_BYTES_MAX];
        if (stamp_compare(tombstone->stamp, sweep->stamp) > 0) {
            continue;
        }
        buffer_reset(key);
        base_tombstone_append_key(key, row_bytes, tombstone);
        size_t size = base_tombstone_encode(BYTES_EMPTY, tombstone->stamp, value);
        status = key->failed ? STATUS_NO_MEMORY : base_walk_delete(walk, buffer_bytes(key), size);
    }
    buffer_deinit(&row);
    base_tombstone_finder_forget(&writer->tombstones, writer->data.extent);
    buffer_reset(&sweep->next);
    buffer_append_u8(&sweep->row_key, 1); /* the least row' above */
    return status == STATUS_OK && sweep->row_key.failed ? STATUS_NO_MEMORY : status;
}

static enum status run(struct sweep *sweep, bool *ret_done)
{
    enum status status = STATUS_OK;
    bool found = true;
    while (status == STATUS_OK && found && sweep->budget_bytes > 0) {
        bool row_done = false;
        status = begin_row(sweep, &found);
        if (status != STATUS_OK || !found) {
            break;
        }
        status = load_tombstones(sweep);
        if (status == STATUS_OK) {
            status = sweep_chunks(sweep, &row_done);
        }
        if (status == STATUS_OK && row_done) {
            status = drop_tombstones(sweep);
        }
    }
    *ret_done = !found;
    return status;
}

enum status base_sweep_step(struct base_writer *writer,
                            uint64_t extent,
                            const struct row_range *range,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            bool *ret_done)
{
    struct sweep sweep = {.writer = writer, .budget_bytes = budget_bytes > 0 ? budget_bytes : 1};
    bool done = false;
    base_tombstones_init(&sweep.tombstones);
    base_key_append_row(&sweep.end, range->end);
    enum status status = base_writer_set_extent(writer, extent);
    if (status == STATUS_OK && resume->size_bytes == 0) {
        base_key_append_row(&sweep.row_key, range->start);
    } else if (status == STATUS_OK) {
        status = load_resume(&sweep, resume);
    }
    if (status == STATUS_OK && (sweep.end.failed || sweep.row_key.failed)) {
        status = STATUS_NO_MEMORY;
    }
    if (status == STATUS_OK) {
        status = run(&sweep, &done);
    }
    if (status == STATUS_OK) {
        status = save_resume(&sweep, resume);
    }
    if (status == STATUS_OK) {
        *ret_done = done;
    }
    buffer_deinit(&sweep.row_key);
    buffer_deinit(&sweep.next);
    buffer_deinit(&sweep.end);
    base_tombstones_deinit(&sweep.tombstones);
    return status;
}
