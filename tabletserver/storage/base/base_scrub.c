/*
 * The scrub: every record of an extent is read and checked, whether or not anything refers to it.
 *
 * It goes over the stored keys as they are, so that a damaged link hides nothing; the pieces of
 * large values are read where a cell refers to them.  Order is checked
 * where keys are whole (the top layer): cells ascend, no cell lies before its chunk's key, and none
 * of a chunk lies behind the key of the next.
 *
 * resume: empty, or the stored key last looked at.
 */
#include <string.h>

#include "common/base/endian.h"
#include "tabletserver/storage/base/base_internal.h"

#define RECORD_COST_BYTES 64

struct scrub {
    struct kv_cursor *cursor;
    struct kv_cursor *value_cursor;
    uint64_t extent;
    uint64_t value_bytes; /* read in pieces since the record's beginning */
    struct chunk_reader reader;
    struct buffer qualifier;
    struct buffer last; /* key of the last cell seen in the top layer; empty = none */
    struct buffer before;
    uint64_t bad;
    bool no_memory; /* to look at a record: then nothing can be said of it */
    struct error *ret_error;
};

/* The part of a stored key behind what names its layer. */
static struct bytes rest_of(struct bytes stored_key)
{
    size_t prefix = BASE_EXTENT_PREFIX_BYTES;
    prefix += stored_key.data[0] == BASE_SPACE_LAYER ? 8 : 0;
    return stored_key.size_bytes >= prefix ? bytes_drop_front(stored_key, prefix) : BYTES_EMPTY;
}

static bool is_value_good(struct scrub *scrub, const struct chunk_cell *cell)
{
    struct base_reference reference;
    if (!cell->large) {
        return true;
    }
    if (!base_reference_decode(cell->value, &reference)) {
        return false;
    }
    scrub->value_bytes += reference.size_bytes;
    return base_value_read(scrub->value_cursor, scrub->extent, &reference, NULL) == STATUS_OK;
}

static bool is_link(struct bytes stored_key)
{
    return rest_of(stored_key).size_bytes ==
           (stored_key.data[0] == BASE_SPACE_LAYER ? BASE_SUBSLICE_BYTES : BASE_SLICE_BYTES);
}

/* Cells of the open chunk: NULL when all is well, else what is not. */
static const char *check_cells(struct scrub *scrub, struct base_position *ret_first)
{
    struct base_position last = BASE_POSITION_ROW_START;
    bool found = true;
    size_t count = 0;
    while (found) {
        struct chunk_cell cell;
        enum status status = chunk_next(&scrub->reader, &cell, &found);
        if (status != STATUS_OK) {
            scrub->no_memory = status == STATUS_NO_MEMORY;
            return "a cell cannot be read";
        }
        if (!found) {
            break;
        }
        struct base_position position = {cell.family, cell.qualifier, cell.timestamp_us};
        last.qualifier = buffer_bytes(&scrub->before);
        if (count > 0 && base_position_compare(&last, &position) >= 0) {
            return "cells out of order";
        }
        if (!is_value_good(scrub, &cell)) {
            return "the pieces of a large value";
        }
        last = position;
        buffer_reset(&scrub->before);
        buffer_append_bytes(&scrub->before, cell.qualifier);
        count++;
        if (count == 1) {
            *ret_first = position;
            buffer_reset(&scrub->qualifier);
            buffer_append_bytes(&scrub->qualifier, cell.qualifier);
            ret_first->qualifier = buffer_bytes(&scrub->qualifier);
        }
    }
    return count == 0 ? "no cells" : NULL;
}

/* Does the chunk lie where its key says, behind the one before it?  For chunks of the top layer.  NULL: it does. */
static const char *check_order(struct scrub *scrub,
                               struct bytes key,
                               const struct base_position *first)
{
    struct buffer out = BUFFER_INIT;
    struct base_position start;
    const char *bad = NULL;
    if (!base_key_position(key, &out, &start)) {
        scrub->no_memory = out.failed;
        bad = "the key is none";
    } else if (base_position_compare(&start, first) > 0) {
        bad = "a cell before its chunk's key";
    } else if (scrub->last.size_bytes > 0 && bytes_compare(buffer_bytes(&scrub->last), key) >= 0) {
        bad = "a cell behind the next chunk's key";
    }
    buffer_deinit(&out);
    buffer_reset(&scrub->last);
    buffer_append_bytes(&scrub->last, base_key_row(key));
    return bad;
}

static const char *check_chunk(struct scrub *scrub, struct bytes stored_key, struct bytes value)
{
    struct base_position first = BASE_POSITION_ROW_START;
    bool top = stored_key.data[0] == BASE_SPACE_DATA;
    enum status status = chunk_open(&scrub->reader, value, base_seed(stored_key));
    if (status != STATUS_OK) {
        return status == STATUS_VERSION ? "a chunk of an unknown format" : "checksum mismatch";
    }
    const char *bad = check_cells(scrub, &first);
    if (bad != NULL || !top) {
        return bad;
    }
    struct base_position last = {scrub->reader.cell.family, scrub->reader.cell.qualifier,
                                 scrub->reader.cell.timestamp_us};
    bad = check_order(scrub, rest_of(stored_key), &first);
    base_key_append_position(&scrub->last, &last);
    return bad;
}

static const char *check_record(struct scrub *scrub, struct bytes stored_key, struct bytes value)
{
    uint64_t number = 0;
    struct stamp stamp;
    enum status status = STATUS_OK;
    uint8_t space = stored_key.data[0];
    if (is_link(stored_key)) {
        status = base_link_check(stored_key, value, &number);
    } else if (space == BASE_SPACE_SAMPLE || value.size_bytes == 8) {
        return NULL; /* marks are not checked; in a sublayer they are known by their size */
    } else if (value.size_bytes > 0 && value.data[0] == BASE_FORMAT_TOMBSTONE) {
        status = base_tombstone_check(stored_key, value, &stamp);
    } else {
        return check_chunk(scrub, stored_key, value);
    }
    return status == STATUS_OK ? NULL : "checksum mismatch";
}

static void note_bad(struct scrub *scrub, struct bytes stored_key, const char *what)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    scrub->bad++;
    if (scrub->bad == 1) {
        (void)error_set(scrub->ret_error, /* the status is told by the count */
                        STATUS_CORRUPT, "extent %llu, space %u, key %s: %s",
                        (unsigned long long)scrub->extent, (unsigned)stored_key.data[0],
                        bytes_printable(rest_of(stored_key), text), what);
    }
}

/* Where to go on: the next space of the extent, behind the key looked at last. */
static struct bytes make_seek(struct scrub *scrub,
                              const struct buffer *resume,
                              enum base_space space,
                              uint8_t seek[KV_KEY_BYTES_MAX])
{
    seek[0] = (uint8_t)space;
    store_be64(seek + 1, scrub->extent);
    if (resume->size_bytes == 0 || resume->data[0] != seek[0]) {
        return bytes_of(seek, BASE_EXTENT_PREFIX_BYTES);
    }
    size_t size = resume->size_bytes < KV_KEY_BYTES_MAX - 1 ? resume->size_bytes
                                                            : KV_KEY_BYTES_MAX - 1;
    memcpy(seek, resume->data, size);
    seek[size] = 0;
    return bytes_of(seek, size + 1);
}

static enum status scrub_space(struct scrub *scrub,
                               enum base_space space,
                               struct buffer *resume,
                               uint64_t *budget_bytes,
                               bool *ret_done)
{
    uint8_t room[KV_KEY_BYTES_MAX];
    uint8_t prefix[BASE_EXTENT_PREFIX_BYTES] = {(uint8_t)space};
    struct bytes key = make_seek(scrub, resume, space, room);
    struct bytes value;
    bool found = false;
    store_be64(prefix + 1, scrub->extent);
    enum status status = kv_cursor_move(scrub->cursor, KV_SEEK, key, &key, &value, &found);
    while (status == STATUS_OK && found &&
           bytes_starts_with(key, bytes_of(prefix, sizeof prefix))) {
        if (*budget_bytes == 0) {
            *ret_done = false;
            return STATUS_OK;
        }
        scrub->value_bytes = 0;
        const char *bad = check_record(scrub, key, value);
        uint64_t cost = RECORD_COST_BYTES + value.size_bytes + scrub->value_bytes;
        *budget_bytes -= cost < *budget_bytes ? cost : *budget_bytes;
        if (scrub->no_memory || scrub->before.failed || scrub->qualifier.failed ||
            scrub->last.failed) {
            return STATUS_NO_MEMORY;
        }
        if (bad != NULL) {
            note_bad(scrub, key, bad);
        }
        buffer_reset(resume);
        buffer_append_bytes(resume, key);
        if (resume->failed) {
            return STATUS_NO_MEMORY;
        }
        status = kv_cursor_move(scrub->cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
    *ret_done = status == STATUS_OK;
    return status;
}

static enum status run(struct scrub *scrub,
                       struct buffer *resume,
                       uint64_t budget_bytes,
                       bool *ret_done)
{
    static const enum base_space spaces[] = {BASE_SPACE_DATA, BASE_SPACE_DELETE, BASE_SPACE_LAYER,
                                             BASE_SPACE_SAMPLE};
    enum status status = STATUS_OK;
    bool done = true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces && status == STATUS_OK && done; i++) {
        if (resume->size_bytes == 0 || spaces[i] >= (enum base_space)resume->data[0]) {
            status = scrub_space(scrub, spaces[i], resume, &budget_bytes, &done);
        }
    }
    *ret_done = done;
    return status;
}

enum status base_scrub_step(struct base_snapshot *snapshot,
                            uint64_t extent,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            uint64_t *ret_bad,
                            bool *ret_done,
                            struct error *ret_error)
{
    struct scrub scrub = {.extent = extent, .ret_error = ret_error};
    bool done = false;
    enum status status = kv_cursor_open_read(snapshot->read, &scrub.cursor);
    if (status != STATUS_OK) {
        return status;
    }
    status = kv_cursor_open_read(snapshot->read, &scrub.value_cursor);
    if (status != STATUS_OK) {
        kv_cursor_close(scrub.cursor);
        return status;
    }
    chunk_reader_init(&scrub.reader);
    status = run(&scrub, resume, budget_bytes > 0 ? budget_bytes : 1, &done);
    if (status == STATUS_CORRUPT) {
        /* The file itself: nothing behind can be reached. */
        note_bad(&scrub, buffer_bytes(resume), "the file is damaged behind this key");
        status = STATUS_OK;
        done = true;
    }
    kv_cursor_close(scrub.cursor);
    kv_cursor_close(scrub.value_cursor);
    chunk_reader_deinit(&scrub.reader);
    buffer_deinit(&scrub.qualifier);
    buffer_deinit(&scrub.before);
    buffer_deinit(&scrub.last);
    if (status == STATUS_OK) {
        *ret_bad = scrub.bad;
        *ret_done = done;
    }
    return status;
}
