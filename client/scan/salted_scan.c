/*
 * Salted scans: one scan under each salt, merged by what stands behind the salt.
 *
 * The least of the heads is given out; that scan moves on at the next call, so that the row lives
 * until then.  A head that is not there yet is waited for: nothing can be given before it.
 */
#include <stdio.h>

#include "client/scan/scan.h"
#include "common/base/arena.h"
#include "common/base/memory.h"

#define SALTS_MAX         65536
#define PART_BUFFER_MIN   (UINT64_C(64) << 10)
#define BUFFER_DEFAULT    (UINT64_C(4) << 20)
#define PREFIX_BYTES_MAX  16
#define ARENA_BLOCK_BYTES 4096

struct part {
    struct edubba_scan *scan;
    const struct edubba_row *row; /* its head; NULL = none */
    bool is_over;                 /* and no head will come */
};

struct salted_scan {
    struct edubba_scan scan;
    struct edubba_client *client;
    bool reversed;
    uint64_t rows_limit;
    uint64_t rows_given;
    size_t prefix_bytes; /* the salt and its separator */
    size_t given;        /* the part whose row was given last; count = none */
    size_t count;
    struct part parts[];
};

static struct salted_scan *salted(struct edubba_scan *scan)
{
    return LIST_ELEMENT(scan, struct salted_scan, scan);
}

/* --- merging ---------------------------------------------------------------------------------- */

static struct bytes key_without_salt(const struct salted_scan *scan, const struct edubba_row *row)
{
    const unsigned char *key = row->key.data;
    return row->key.size < scan->prefix_bytes
               ? BYTES_EMPTY
               : bytes_of(key + scan->prefix_bytes, row->key.size - scan->prefix_bytes);
}

/* The part whose head comes next; count = none has one. */
static size_t choose(const struct salted_scan *scan)
{
    size_t best = scan->count;
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->parts[i].row == NULL) {
            continue;
        }
        int order = best == scan->count
                        ? -1
                        : bytes_compare(key_without_salt(scan, scan->parts[i].row),
                                        key_without_salt(scan, scan->parts[best].row));
        if (scan->reversed && best != scan->count) {
            order = -order;
        }
        best = order < 0 ? i : best;
    }
    return best;
}

/* The row given last is done with. */
static void move_on(struct salted_scan *scan)
{
    if (scan->given < scan->count) {
        scan->parts[scan->given].row = NULL;
        scan->given = scan->count;
    }
}

static bool limit_is_reached(const struct salted_scan *scan)
{
    return scan->rows_limit > 0 && scan->rows_given >= scan->rows_limit;
}

static void give(struct salted_scan *scan, const struct edubba_row **row)
{
    scan->given = choose(scan);
    *row = NULL;
    if (scan->given < scan->count) {
        *row = scan->parts[scan->given].row;
        scan->rows_given++;
    }
}

static enum edubba_code salted_next(struct edubba_scan *base,
                                    const struct edubba_row **row,
                                    struct edubba_error *error)
{
    struct salted_scan *scan = salted(base);
    *row = NULL;
    move_on(scan);
    for (size_t i = 0; i < scan->count && !limit_is_reached(scan); i++) {
        struct part *part = &scan->parts[i];
        if (part->row == NULL && !part->is_over) {
            enum edubba_code code = edubba_scan_next(part->scan, &part->row, error);
            if (code != EDUBBA_OK) {
                return code;
            }
            part->is_over = part->row == NULL;
        }
    }
    if (!limit_is_reached(scan)) {
        give(scan, row);
    }
    return client_success(error);
}

/* Heads are asked for one after the other: the first that is not there yet calls back. */
static enum edubba_code salted_poll(struct edubba_scan *base,
                                    const struct edubba_row **row,
                                    bool *ready,
                                    void (*on_ready)(void *context),
                                    void *context,
                                    struct edubba_error *error)
{
    struct salted_scan *scan = salted(base);
    *row = NULL;
    *ready = true;
    move_on(scan);
    for (size_t i = 0; i < scan->count && !limit_is_reached(scan); i++) {
        struct part *part = &scan->parts[i];
        if (part->row == NULL && !part->is_over) {
            enum edubba_code code = edubba_scan_poll(part->scan, &part->row, ready, on_ready,
                                                     context, error);
            if (code != EDUBBA_OK || !*ready) {
                return code;
            }
            part->is_over = part->row == NULL;
        }
    }
    if (!limit_is_reached(scan)) {
        give(scan, row);
    }
    return client_success(error);
}

static void salted_statistics(const struct edubba_scan *base,
                              struct edubba_scan_statistics *statistics)
{
    const struct salted_scan *scan = salted((struct edubba_scan *)(uintptr_t)base);
    *statistics = (struct edubba_scan_statistics){0};
    for (size_t i = 0; i < scan->count; i++) {
        struct edubba_scan_statistics part;
        edubba_scan_statistics(scan->parts[i].scan, &part);
        statistics->rows_seen += part.rows_seen;
        statistics->rows_returned += part.rows_returned;
        statistics->cells_seen += part.cells_seen;
        statistics->cells_returned += part.cells_returned;
    }
}

static void salted_close(struct edubba_scan *base)
{
    struct salted_scan *scan = salted(base);
    for (size_t i = 0; i < scan->count; i++) {
        edubba_scan_close(scan->parts[i].scan);
    }
    memory_free(scan);
}

static const struct scan_source salted_source = {
    .next = salted_next,
    .poll = salted_poll,
    .statistics = salted_statistics,
    .close = salted_close,
};

/* --- opening ---------------------------------------------------------------------------------- */

/* "07#" for salt 7 of 16. */
static struct bytes make_prefix(uint32_t salt, uint32_t count, char text[PREFIX_BYTES_MAX])
{
    int width = snprintf(NULL, 0, "%u", count - 1);
    int size = snprintf(text, PREFIX_BYTES_MAX, "%0*u#", width, salt);
    return bytes_of(text, (size_t)size);
}

static bool prepend(struct arena *arena,
                    struct bytes prefix,
                    struct bytes key,
                    struct edubba_bytes *ret_key)
{
    uint8_t *joined = arena_allocate(arena, prefix.size_bytes + key.size_bytes);
    if (joined == NULL) {
        return false;
    }
    memcpy(joined, prefix.data, prefix.size_bytes);
    if (key.size_bytes > 0) {
        memcpy(joined + prefix.size_bytes, key.data, key.size_bytes);
    }
    *ret_key = edubba_bytes_of(joined, prefix.size_bytes + key.size_bytes);
    return true;
}

/* Bounds under a salt: without an end, to the salt's last key. */
static bool salt_bounds(struct arena *arena,
                        struct bytes prefix,
                        const struct edubba_bounds *from,
                        struct edubba_bounds *ret_bounds)
{
    struct row_range all;
    struct edubba_bounds bounds = *from;
    if (row_range_of_prefix(arena, prefix, &all) != STATUS_OK ||
        !prepend(arena, prefix, client_bytes(from->start), &bounds.start)) {
        return false;
    }
    bounds.start_open = from->start_open && from->start.size > 0;
    if (from->end.size == 0) {
        bounds.end = client_public_bytes(all.end);
        bounds.end_closed = false;
    } else if (!prepend(arena, prefix, client_bytes(from->end), &bounds.end)) {
        return false;
    }
    *ret_bounds = bounds;
    return true;
}

/* The options of one part. */
static bool salt_options(struct arena *arena,
                         struct bytes prefix,
                         const struct edubba_scan_options *from,
                         struct edubba_scan_options *ret_options)
{
    static const struct edubba_bounds everything = {.start_open = false};
    bool whole = from->key_count == 0 && from->range_count == 0;
    const struct edubba_bounds *ranges = whole ? &everything : from->ranges;
    size_t range_count = whole ? 1 : from->range_count;
    struct edubba_bytes *keys = arena_allocate_array(arena, from->key_count, sizeof *keys);
    struct edubba_bounds *bounds = arena_allocate_array(arena, range_count, sizeof *bounds);

    if (keys == NULL || bounds == NULL) {
        return false;
    }
    for (size_t i = 0; i < from->key_count; i++) {
        if (!prepend(arena, prefix, client_bytes(from->keys[i]), &keys[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < range_count; i++) {
        if (!salt_bounds(arena, prefix, &ranges[i], &bounds[i])) {
            return false;
        }
    }
    ret_options->keys = keys;
    ret_options->ranges = bounds;
    ret_options->range_count = range_count;
    return true;
}

static enum edubba_code open_part(struct edubba_table *table,
                                  const struct edubba_scan_options *options,
                                  struct salted_scan *scan,
                                  uint32_t salt_count,
                                  struct edubba_error *error)
{
    char text[PREFIX_BYTES_MAX];
    struct edubba_scan_options part = *options;
    struct bytes prefix = make_prefix((uint32_t)scan->count, salt_count, text);
    struct arena arena;
    uint64_t buffer_bytes = options->buffer_bytes > 0 ? options->buffer_bytes : BUFFER_DEFAULT;

    buffer_bytes /= salt_count;
    part.buffer_bytes = buffer_bytes > PART_BUFFER_MIN ? buffer_bytes : PART_BUFFER_MIN;
    scan->prefix_bytes = prefix.size_bytes;
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum edubba_code code = salt_options(&arena, prefix, options, &part)
                                ? edubba_scan_open(table, &part, &scan->parts[scan->count].scan,
                                                   error)
                                : client_no_memory(error);
    arena_deinit(&arena);
    return code;
}

enum edubba_code edubba_scan_open_salted(struct edubba_table *table,
                                         const struct edubba_scan_options *options,
                                         uint32_t salt_count,
                                         struct edubba_scan **ret_scan,
                                         struct edubba_error *error)
{
    static const struct edubba_scan_options everything = {0};
    enum edubba_code code = EDUBBA_OK;
    if (salt_count == 0 || salt_count > SALTS_MAX) {
        return client_error(error, STATUS_INVALID_ARGUMENT, "%u salts: must be 1 to %d", salt_count,
                            SALTS_MAX);
    }
    struct salted_scan *scan = memory_allocate_zeroed(1, sizeof *scan +
                                                             salt_count * sizeof scan->parts[0]);
    if (scan == NULL) {
        return client_no_memory(error);
    }
    options = options != NULL ? options : &everything;
    scan->scan.source = &salted_source;
    scan->client = table->client;
    scan->reversed = options->reversed;
    scan->rows_limit = options->rows_limit;
    while (scan->count < salt_count && code == EDUBBA_OK) {
        code = open_part(table, options, scan, salt_count, error);
        scan->count += code == EDUBBA_OK ? 1 : 0;
    }
    scan->given = scan->count;
    if (code != EDUBBA_OK) {
        salted_close(&scan->scan);
        return code;
    }
    *ret_scan = &scan->scan;
    return EDUBBA_OK;
}
