/*
 * Filters from bytes, run over a fixed row.
 *
 * Whatever compiles must give the same result whether the source obeys demands and seeks or
 * ignores the demands, and must answer the same as a predicate.
 *
 *   filter := kind u8, then per kind
 *             flags   u8               PASS_ALL, BLOCK_ALL, SINK, STRIP_VALUE: bit 0 = the value
 *             list    count u8, filters           CHAIN, INTERLEAVE (count modulo 8)
 *             cond    flags u8, three filters     CONDITION: bits 0 and 1 = has_true, has_false
 *             bytes   size u8, bytes              regexes, label, bitmask
 *             number  u8                          counts; times in ms; probability in 1/256
 *             range   flags u8, two bytes         bounds: present, closed, present, closed
 *
 * Missing input reads as zero.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/base/checksum.h"
#include "common/model/filter.h"
#include "tests/support/row_source.h"

#define NODES_MAX 512
#define DEPTH_MAX 22 /* over what is allowed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    struct filter nodes[NODES_MAX];
    size_t used;
};

static uint8_t read_u8(struct reader *reader)
{
    return reader->at < reader->end ? *reader->at++ : 0;
}

static struct bytes read_bytes(struct reader *reader)
{
    size_t size = read_u8(reader);
    size_t rest = (size_t)(reader->end - reader->at);
    size = size < rest ? size : rest;
    struct bytes bytes = {reader->at, size};
    reader->at += size;
    return bytes;
}

static void read_filter(struct reader *reader, int depth, struct filter *filter);

static void read_children(struct reader *reader, int depth, size_t count, struct filter *filter)
{
    if (depth == DEPTH_MAX || reader->used + count > NODES_MAX) {
        *filter = (struct filter){.kind = FILTER_PASS_ALL, .flag = true};
        return;
    }
    struct filter *children = reader->nodes + reader->used;
    reader->used += count;
    filter->children = children;
    filter->child_count = count;
    for (size_t i = 0; i < count; i++) {
        read_filter(reader, depth + 1, &children[i]);
    }
}

static void read_bounds(struct reader *reader, struct filter *filter)
{
    uint8_t flags = read_u8(reader);
    filter->start = (struct filter_bound){flags & 1, (flags & 2) != 0, read_bytes(reader)};
    filter->end = (struct filter_bound){(flags & 4) != 0, (flags & 8) != 0, read_bytes(reader)};
}

static void read_filter(struct reader *reader, int depth, struct filter *filter)
{
    uint8_t flags = 0;
    *filter = (struct filter){.kind = (enum filter_kind)(read_u8(reader) % 22)};
    switch ((int)filter->kind) {
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_SINK:
    case FILTER_STRIP_VALUE:
        filter->flag = (read_u8(reader) & 1) != 0;
        break;
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
        read_children(reader, depth, read_u8(reader) % 8, filter);
        break;
    case FILTER_CONDITION:
        flags = read_u8(reader);
        filter->has_true = (flags & 1) != 0;
        filter->has_false = (flags & 2) != 0;
        read_children(reader, depth, 3, filter);
        break;
    case FILTER_ROW_SAMPLE:
        filter->probability = read_u8(reader) / 256.0;
        break;
    case FILTER_COLUMN_RANGE:
        filter->bytes = read_bytes(reader);
        read_bounds(reader, filter);
        break;
    case FILTER_VALUE_RANGE:
        read_bounds(reader, filter);
        break;
    case FILTER_TIMESTAMP_RANGE:
        filter->start_us = (int64_t)read_u8(reader) * 1000;
        filter->end_us = (int64_t)read_u8(reader) * 1000;
        break;
    case FILTER_CELLS_PER_ROW_OFFSET:
    case FILTER_CELLS_PER_ROW_LIMIT:
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        filter->count = read_u8(reader);
        break;
    default:
        filter->bytes = read_bytes(reader);
        break;
    }
}

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"a", 1}},
    {.number = 3, .name = {(const uint8_t *)"cf", 2}},
};

static const struct table table = {
    .number = 1,
    .id = {(const uint8_t *)"t", 1},
    .families = families,
    .family_count = 2,
    .family_number_next = 4,
};

enum {
    QUALIFIERS = 12,
    VERSIONS = 3,
    CELLS = 2 * QUALIFIERS * VERSIONS
};

static size_t make_row(struct cell cells[CELLS])
{
    static const char *const NAMES[QUALIFIERS] = {"",  "\n", "a", "a.b", "aa", "ab",
                                                  "b", "ba", "c", "d",   "e",  "\xff"};
    static const char *const VALUES[] = {"", "a", "xyz", "\n", "a\nb"};
    size_t count = 0;
    for (size_t f = 0; f < 2; f++) {
        for (size_t q = 0; q < QUALIFIERS; q++) {
            for (int64_t version = VERSIONS; version > 0; version--) {
                cells[count] = (struct cell){.family = families[f].number,
                                             .qualifier = bytes_of_text(NAMES[q]),
                                             .timestamp_us = version * 1000,
                                             .value = bytes_of_text(VALUES[count % 5])};
                count++;
            }
        }
    }
    return count;
}

static enum status hash_cell(void *context, const struct cell *cell)
{
    uint64_t *hash = context;
    *hash = checksum64(cell->qualifier.data, cell->qualifier.size_bytes, *hash + cell->family);
    *hash = checksum64(cell->value.data, cell->value.size_bytes, *hash);
    *hash = checksum64(cell->label.data, cell->label.size_bytes, *hash);
    *hash += (uint64_t)cell->timestamp_us;
    return STATUS_OK;
}

/* The result as a hash. */
static uint64_t run(struct filter_program *program, bool deaf, bool *ret_any)
{
    struct cell cells[CELLS];
    struct row_source rows = row_source_of(cells, make_row(cells));
    rows.deaf = deaf;
    struct cell_source source = row_source_cells(&rows);
    uint64_t hash = 0;
    enum status status = filter_run(program, bytes_of_text("row"), &source, hash_cell, &hash,
                                    ret_any, NULL);
    ASSERT(status == STATUS_OK);
    bool matched = false;
    status = filter_run(program, bytes_of_text("row"), &source, NULL, NULL, &matched, NULL);
    ASSERT(status == STATUS_OK);
    ASSERT(matched == *ret_any);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reader reader;
    struct filter filter;
    reader.at = data;
    reader.end = data + size;
    reader.used = 0;
    read_filter(&reader, 0, &filter);

    struct buffer text = BUFFER_INIT;
    filter_format(&filter, &text);
    buffer_deinit(&text);

    struct filter_program *program = NULL;
    struct error error = {.status = STATUS_OK};
    enum status status = filter_compile(&filter, size, &table, 1, &program, &error);
    ASSERT(status == error.status);
    if (status != STATUS_OK) {
        return 0;
    }
    bool any = false;
    bool any_deaf = false;
    uint64_t obedient = run(program, false, &any);
    uint64_t deaf = run(program, true, &any_deaf);
    ASSERT(obedient == deaf);
    ASSERT(any == any_deaf);
    filter_destroy(program);
    return 0;
}
