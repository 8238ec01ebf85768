#include <criterion/criterion.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base/chunk.h"

#define SEED      42
#define CELLS_MAX 64

static const struct stamp STAMP = {UINT64_C(0x123456789abcdef0), 3, 300};

struct made {
    struct chunk_cell cells[CELLS_MAX];
    size_t count;
    uint8_t room[65536];
    size_t used;
};

static struct bytes make_bytes(struct made *made, struct prng *prng, size_t size, uint64_t values)
{
    uint8_t *data = made->room + made->used;
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)prng_below(prng, values);
    }
    made->used += size;
    return bytes_of(data, size);
}

static struct chunk_cell make_cell(struct made *made, struct prng *prng)
{
    static const size_t sizes[] = {0, 1, 8, 14, 15, 16, 30, 31, 32, 150, 500};
    static const int64_t times[] = {INT64_MIN, INT64_MAX, -1, 0, 1000, 1700000000000000};
    uint64_t before = made->count;
    struct chunk_cell cell = {0};
    if (before > 0) {
        cell = made->cells[before - 1];
    }
    if (before == 0 || prng_chance(prng, 4)) {
        cell.family = 1 + (uint32_t)prng_below(prng, 500);
    }
    if (before == 0 || prng_chance(prng, 2)) {
        cell.qualifier = make_bytes(made, prng, sizes[prng_below(prng, 11)], 2);
    }
    if (prng_chance(prng, 2)) {
        cell.timestamp_us = times[prng_below(prng, 6)] ^ (int64_t)prng_below(prng, 2);
    }
    if (prng_chance(prng, 2)) {
        cell.value = make_bytes(made, prng, sizes[prng_below(prng, 11)], 256);
    }
    cell.aggregate = (enum aggregate_kind)(prng_chance(prng, 3) ? prng_below(prng, 6) : 0);
    cell.large = prng_chance(prng, 10);
    return cell;
}

/* Not in order, which the codec does not mind. */
static void make(struct made *made, struct prng *prng)
{
    made->used = 0;
    made->count = 0;
    size_t count = 1 + prng_below(prng, CELLS_MAX - 1);
    bool millis = prng_chance(prng, 2);
    while (made->count < count) {
        struct chunk_cell cell = make_cell(made, prng);
        if (millis) {
            cell.timestamp_us -= cell.timestamp_us % 1000;
        }
        made->cells[made->count++] = cell;
    }
}

static void check_same(const struct chunk_cell *a, const struct chunk_cell *b)
{
    cr_assert_eq(a->family, b->family);
    cr_assert(bytes_equal(a->qualifier, b->qualifier));
    cr_assert_eq(a->timestamp_us, b->timestamp_us);
    cr_assert_eq(a->aggregate, b->aggregate);
    cr_assert_eq(a->large, b->large);
    cr_assert(bytes_equal(a->value, b->value));
}

Test(chunk, random_cells_come_back)
{
    static struct made made;
    struct prng prng = prng_of_seed(1);
    struct chunk_reader reader;
    struct buffer out = BUFFER_INIT;
    chunk_reader_init(&reader);
    for (int round = 0; round < 3000; round++) {
        make(&made, &prng);
        buffer_reset(&out);
        chunk_encode(made.cells, made.count, STAMP, SEED, &out);
        cr_assert_eq(chunk_open(&reader, buffer_bytes(&out), SEED), STATUS_OK);
        cr_assert_eq(stamp_compare(reader.stamp, STAMP), 0);
        bool large = false;
        for (size_t i = 0; i <= made.count; i++) {
            struct chunk_cell cell;
            bool found = false;
            cr_assert_eq(chunk_next(&reader, &cell, &found), STATUS_OK);
            cr_assert_eq(found, i < made.count);
            if (found) {
                check_same(&cell, &made.cells[i]);
                large = large || cell.large;
            }
        }
        cr_assert_eq(reader.has_large, large);
    }
    buffer_deinit(&out);
    chunk_reader_deinit(&reader);
}

static struct chunk_cell cell_of(const char *qualifier, int64_t timestamp_us, uint8_t value[8])
{
    return (struct chunk_cell){.family = 1,
                               .qualifier = bytes_of_text(qualifier),
                               .timestamp_us = timestamp_us,
                               .value = bytes_of(value, 8)};
}

Test(chunk, metrics_are_small)
{
    uint8_t value[8] = {0};
    const int64_t second = 1700000000000000;
    const struct chunk_cell row[] = {
        cell_of("cpu.idle", second, value), cell_of("cpu.system", second, value),
        cell_of("cpu.user.percent", second, value), cell_of("disk.read.bytes", second, value),
        cell_of("disk.write.bytes", second, value)};
    cr_assert_eq(chunk_cell_size(&row[0], &row[1]), 1 + 1 + 6 + 8, "tag, lengths, rest, value");
    cr_assert_eq(chunk_cell_size(&row[3], &row[4]), 1 + 1 + 11 + 8);
    struct chunk_cell later = cell_of("cpu.idle", second + 10000000, value);
    cr_assert_eq(chunk_cell_size(&later, &row[0]), 1 + 2 + 8, "10 s in a column: 2 bytes");

    struct buffer out = BUFFER_INIT;
    size_t expected = 16; /* the header, with a small stamp */
    for (size_t i = 0; i < 5; i++) {
        expected += chunk_cell_size(i > 0 ? &row[i - 1] : NULL, &row[i]);
    }
    chunk_encode(row, 5, (struct stamp){1, 1, 1}, SEED, &out);
    cr_assert_eq(out.size_bytes, expected);
    buffer_deinit(&out);
}

/* Read to the end or to an error; nothing else may happen. */
static enum status read_all(struct chunk_reader *reader, struct bytes data, uint64_t seed)
{
    bool found = true;
    enum status status = chunk_open(reader, data, seed);
    while (status == STATUS_OK && found) {
        struct chunk_cell cell;
        status = chunk_next(reader, &cell, &found);
    }
    return status;
}

Test(chunk, every_flipped_bit_and_every_cut_is_found)
{
    static struct made made;
    struct prng prng = prng_of_seed(2);
    struct chunk_reader reader;
    struct buffer out = BUFFER_INIT;
    chunk_reader_init(&reader);
    make(&made, &prng);
    chunk_encode(made.cells, made.count, STAMP, SEED, &out);
    for (size_t bit = 0; bit < 8 * out.size_bytes; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(read_all(&reader, buffer_bytes(&out), SEED), STATUS_CORRUPT);
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < out.size_bytes; size++) {
        cr_assert_eq(read_all(&reader, bytes_of(out.data, size), SEED), STATUS_CORRUPT);
    }
    cr_assert_eq(read_all(&reader, buffer_bytes(&out), SEED + 1), STATUS_CORRUPT);
    cr_assert_eq(read_all(&reader, buffer_bytes(&out), SEED), STATUS_OK);
    buffer_deinit(&out);
    chunk_reader_deinit(&reader);
}

/* With a checksum that fits, so that the decoder itself is met. */
Test(chunk, nonsense_behind_a_good_checksum_is_refused_not_followed)
{
    static struct made made;
    struct prng prng = prng_of_seed(3);
    struct chunk_reader reader;
    struct buffer out = BUFFER_INIT;
    int refused = 0;
    chunk_reader_init(&reader);
    for (int round = 0; round < 3000; round++) {
        make(&made, &prng);
        buffer_reset(&out);
        chunk_encode(made.cells, made.count, STAMP, SEED, &out);
        for (int i = 0; i < 3; i++) {
            out.data[14 + prng_below(&prng, out.size_bytes - 14)] = (uint8_t)prng_next(&prng);
        }
        chunk_seal(&out, 0, SEED);
        enum status status = read_all(&reader, buffer_bytes(&out), SEED);
        cr_assert(status == STATUS_OK || status == STATUS_CORRUPT);
        refused += status == STATUS_CORRUPT;
    }
    cr_assert_gt(refused, 200, "%d", refused);
    buffer_deinit(&out);
    chunk_reader_deinit(&reader);
}

Test(chunk, a_newer_format_is_told_from_damage)
{
    uint8_t value[8] = {0};
    struct chunk_cell cell = cell_of("q", 0, value);
    struct chunk_reader reader;
    struct buffer out = BUFFER_INIT;
    chunk_reader_init(&reader);
    chunk_encode(&cell, 1, STAMP, SEED, &out);
    out.data[0]++;
    chunk_seal(&out, 0, SEED);
    cr_assert_eq(chunk_open(&reader, buffer_bytes(&out), SEED), STATUS_VERSION);
    out.data[0]--;
    out.data[1] |= 0x80;
    chunk_seal(&out, 0, SEED);
    cr_assert_eq(chunk_open(&reader, buffer_bytes(&out), SEED), STATUS_VERSION);
    buffer_deinit(&out);
    chunk_reader_deinit(&reader);
}

Test(chunk, memory_that_runs_out_is_told)
{
    uint8_t value[8] = {0};
    const struct chunk_cell cells[] = {cell_of("abcdefgh1", 0, value),
                                       cell_of("abcdefgh2", 0, value)};
    struct chunk_reader reader;
    struct buffer out = BUFFER_INIT;
    chunk_reader_init(&reader);
    chunk_encode(cells, 2, STAMP, SEED, &out);
    memory_fail_arm(0, 1);
    enum status status = read_all(&reader, buffer_bytes(&out), SEED);
    memory_fail_disarm();
    cr_assert_eq(status, STATUS_NO_MEMORY);
    cr_assert_eq(read_all(&reader, buffer_bytes(&out), SEED), STATUS_OK);
    buffer_deinit(&out);
    chunk_reader_deinit(&reader);
}
