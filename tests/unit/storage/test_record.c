#include <criterion/criterion.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/record/record.h"

static struct arena arena;
static struct buffer out;

static void begin(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
    buffer_init(&out);
}

static void finish(void)
{
    arena_deinit(&arena);
    buffer_deinit(&out);
}

TestSuite(record, .init = begin, .fini = finish);

static const struct change every_change[] = {
    {.kind = CHANGE_PUT, .family = 7, .timestamp_us = -1, .value = {(const uint8_t *)"v\0w", 3}},
    {.kind = CHANGE_FOLD,
     .family = UINT32_MAX,
     .aggregate = AGGREGATE_BYTESHLL,
     .qualifier = {(const uint8_t *)"q", 1},
     .timestamp_us = INT64_MAX,
     .value = {(const uint8_t *)"state", 5}},
    {.kind = CHANGE_DELETE_CELLS,
     .family = 1,
     .qualifier = {(const uint8_t *)"column", 6},
     .start_us = INT64_MIN,
     .end_us = INT64_MAX},
    {.kind = CHANGE_DELETE_FAMILY, .family = 300},
    {.kind = CHANGE_DELETE_ROW},
};

static struct record_write two_entries(struct record_entry entries[2])
{
    entries[0] = (struct record_entry){
        .row = bytes_of_text("row one"),
        .request = {.client = 99, .sequence = 5, .first_unfinished = 3, .first_attempt_us = -17},
        .result = bytes_of_text("matched"),
        .changes = every_change,
        .change_count = sizeof every_change / sizeof *every_change,
    };
    entries[1] = (struct record_entry){.row = bytes_of("\0", 1)};
    return (struct record_write){entries, 2};
}

static void expect_same_change(const struct change *a, const struct change *b)
{
    cr_assert_eq(a->kind, b->kind);
    cr_assert_eq(a->family, b->family);
    cr_assert_eq(a->aggregate, b->aggregate);
    cr_assert(bytes_equal(a->qualifier, b->qualifier));
    cr_assert_eq(a->timestamp_us, b->timestamp_us);
    cr_assert_eq(a->start_us, b->start_us);
    cr_assert_eq(a->end_us, b->end_us);
    cr_assert(bytes_equal(a->value, b->value));
}

static void expect_same_write(const struct record_write *a, const struct record_write *b)
{
    cr_assert_eq(a->entry_count, b->entry_count);
    for (size_t i = 0; i < a->entry_count; i++) {
        const struct record_entry *x = &a->entries[i];
        const struct record_entry *y = &b->entries[i];
        cr_assert(bytes_equal(x->row, y->row));
        cr_assert_eq(memcmp(&x->request, &y->request, sizeof x->request), 0);
        cr_assert(bytes_equal(x->result, y->result));
        cr_assert_eq(x->change_count, y->change_count);
        for (size_t j = 0; j < x->change_count; j++) {
            expect_same_change(&x->changes[j], &y->changes[j]);
        }
    }
}

Test(record, write_round_trips_with_every_kind_of_change)
{
    struct record_entry entries[2];
    struct record_write write = two_entries(entries);
    struct record_write back;
    record_encode_write(&write, &out);
    cr_assert_not(out.failed);
    cr_assert_eq(record_decode_write(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    expect_same_write(&write, &back);
}

/* The bytes are a format: they may not change without a new record type. */
Test(record, write_has_these_bytes)
{
    struct change put = {.kind = CHANGE_PUT,
                         .family = 2,
                         .qualifier = bytes_of_text("q"),
                         .timestamp_us = 1000,
                         .value = bytes_of_text("v")};
    struct record_entry entry = {.row = bytes_of_text("r"), .changes = &put, .change_count = 1};
    record_encode_write(&(struct record_write){&entry, 1}, &out);
    const uint8_t expected[] = {1, 1, 'r', 0, 0, 1, 1, 2, 1, 'q', 0xd0, 0x0f, 1, 'v'};
    cr_assert_eq(out.size_bytes, sizeof expected);
    cr_assert_arr_eq(out.data, expected, sizeof expected);
}

/* One entry, row r, of one change with these bytes. */
static enum status decode_change(const uint8_t *bytes, size_t size_bytes, struct change *ret_change)
{
    const uint8_t head[] = {1, 1, 'r', 0, 0, 1};
    struct record_write back;
    buffer_reset(&out);
    buffer_append(&out, head, sizeof head);
    buffer_append(&out, bytes, size_bytes);
    enum status status = record_decode_write(buffer_bytes(&out), &arena, &back, NULL);
    if (status == STATUS_OK) {
        *ret_change = back.entries[0].changes[0];
    }
    return status;
}

Test(record, changes_have_these_bytes)
{
    const uint8_t fold[] = {2, 9, 1, 1, 'q', 0xd0, 0x0f, 1, 'v'};
    const uint8_t cells[] = {3, 9, 1, 'q', 0xd0, 0x0f, 0xa0, 0x1f};
    const uint8_t family[] = {4, 9};
    const uint8_t row[] = {5};
    struct change change;
    cr_assert_eq(decode_change(fold, sizeof fold, &change), STATUS_OK);
    expect_same_change(&change, &(struct change){.kind = CHANGE_FOLD,
                                                 .family = 9,
                                                 .aggregate = AGGREGATE_INTSUM,
                                                 .qualifier = bytes_of_text("q"),
                                                 .timestamp_us = 1000,
                                                 .value = bytes_of_text("v")});
    cr_assert_eq(decode_change(cells, sizeof cells, &change), STATUS_OK);
    expect_same_change(&change, &(struct change){.kind = CHANGE_DELETE_CELLS,
                                                 .family = 9,
                                                 .qualifier = bytes_of_text("q"),
                                                 .start_us = 1000,
                                                 .end_us = 2000});
    cr_assert_eq(decode_change(family, sizeof family, &change), STATUS_OK);
    expect_same_change(&change, &(struct change){.kind = CHANGE_DELETE_FAMILY, .family = 9});
    cr_assert_eq(decode_change(row, sizeof row, &change), STATUS_OK);
    expect_same_change(&change, &(struct change){.kind = CHANGE_DELETE_ROW});
}

Test(record, what_is_no_kind_of_change_is_corrupt)
{
    struct change change;
    for (unsigned kind = 0; kind < 256; kind++) {
        const uint8_t bytes[] = {(uint8_t)kind, 9}; /* all that a family's deletion has */
        bool is_kind = kind == CHANGE_DELETE_FAMILY;
        cr_assert_eq(decode_change(bytes, sizeof bytes, &change),
                     is_kind ? STATUS_OK : STATUS_CORRUPT, "kind %u", kind);
    }
    for (unsigned aggregate = 0; aggregate < 256; aggregate++) {
        const uint8_t fold[] = {2, 9, (uint8_t)aggregate, 1, 'q', 0xd0, 0x0f, 1, 'v'};
        bool is_aggregate = aggregate >= 1 && aggregate <= AGGREGATE_BYTESHLL;
        cr_assert_eq(decode_change(fold, sizeof fold, &change),
                     is_aggregate ? STATUS_OK : STATUS_CORRUPT, "aggregate %u", aggregate);
    }
}

/* A heap copy of exactly the size, so that a sanitizer sees one byte read too many. */
static enum status decode_prefix(size_t size_bytes, struct error *error)
{
    struct record_write back;
    uint8_t *copy = memory_allocate(size_bytes);
    memcpy(copy, out.data, size_bytes);
    arena_reset(&arena);
    enum status status = record_decode_write(bytes_of(copy, size_bytes), &arena, &back, error);
    memory_free(copy);
    return status;
}

Test(record, write_cut_anywhere_is_corrupt)
{
    struct record_entry entries[2];
    struct record_write write = two_entries(entries);
    record_encode_write(&write, &out);
    for (size_t size = 0; size < out.size_bytes; size++) {
        struct error error = {0};
        cr_assert_eq(decode_prefix(size, &error), STATUS_CORRUPT, "at %zu", size);
        cr_assert_neq(strstr(error.text, "WRITE"), NULL);
    }
    buffer_append_u8(&out, 0);
    cr_assert_eq(decode_prefix(out.size_bytes, NULL), STATUS_CORRUPT);
}

Test(record, bytes_changed_anywhere_never_read_out_of_bounds)
{
    struct record_entry entries[2];
    struct record_write write = two_entries(entries);
    struct prng prng = prng_of_seed(1);
    record_encode_write(&write, &out);
    for (size_t at = 0; at < out.size_bytes; at++) {
        uint8_t before = out.data[at];
        for (int i = 0; i < 16; i++) {
            out.data[at] = (uint8_t)prng_next(&prng);
            (void)decode_prefix(out.size_bytes, NULL);
        }
        out.data[at] = before;
    }
}

Test(record, counts_are_checked_before_memory_is_taken)
{
    const uint8_t huge_entry_count[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 1, 'r', 0, 0, 0};
    const uint8_t huge_change_count[] = {1, 1, 'r', 0, 0, 0xa0, 0x8d, 0x06, 5};
    const uint8_t no_entries[] = {0};
    struct record_write back;
    size_t used_bytes = arena.used_bytes;
    cr_assert_eq(record_decode_write(bytes_of(huge_entry_count, sizeof huge_entry_count), &arena,
                                     &back, NULL),
                 STATUS_CORRUPT);
    cr_assert_eq(arena.used_bytes, used_bytes);
    cr_assert_eq(record_decode_write(bytes_of(huge_change_count, sizeof huge_change_count), &arena,
                                     &back, NULL),
                 STATUS_CORRUPT);
    cr_assert_lt(arena.used_bytes, 1024);
    cr_assert_eq(record_decode_write(bytes_of(no_entries, 1), &arena, &back, NULL), STATUS_CORRUPT);
}

Test(record, rows_and_qualifiers_over_the_limit_are_corrupt)
{
    static uint8_t row[LIMIT_ROW_KEY_BYTES + 1];
    struct record_write back;
    const uint8_t head[] = {1, 0x81, 0x20}; /* one entry, a row of 4 097 bytes */
    buffer_append(&out, head, sizeof head);
    buffer_append(&out, row, sizeof row);
    buffer_append(&out, "\0\0\0", 3);
    cr_assert_eq(record_decode_write(buffer_bytes(&out), &arena, &back, NULL), STATUS_CORRUPT);
    out.data[1] = 0x80; /* 4 096, and one byte less */
    memmove(out.data + 3, out.data + 4, out.size_bytes - 4);
    out.size_bytes--;
    cr_assert_eq(record_decode_write(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
}

Test(record, every_failed_allocation_is_no_memory)
{
    struct record_entry entries[2];
    struct record_write write = two_entries(entries);
    struct record_write back = {NULL, 12345};
    record_encode_write(&write, &out);
    struct arena small;
    for (uint64_t n = 0;; n++) {
        arena_init(&small, 16, SIZE_MAX);
        memory_fail_arm(n, 1);
        struct error error = {0};
        enum status status = record_decode_write(buffer_bytes(&out), &small, &back, &error);
        memory_fail_disarm();
        arena_deinit(&small);
        if (status == STATUS_OK) {
            cr_assert_gt(n, 1);
            return;
        }
        cr_assert_eq(status, STATUS_NO_MEMORY);
        cr_assert_eq(back.entry_count, 12345, "an output is untouched on failure");
    }
}

Test(record, drop_range_round_trips_and_is_strict)
{
    struct record_drop_range drop = {
        .range = {bytes_of_text("a"), BYTES_EMPTY},
        .request = {.client = 1, .sequence = 2, .first_unfinished = 2, .first_attempt_us = 3}};
    struct record_drop_range back = {0};
    record_encode_drop_range(&drop, &out);
    cr_assert_eq(record_decode_drop_range(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert(bytes_equal(back.range.start, drop.range.start));
    cr_assert_eq(back.range.end.size_bytes, 0);
    cr_assert_eq(memcmp(&back.request, &drop.request, sizeof drop.request), 0);
    for (size_t size = 0; size < out.size_bytes; size++) {
        cr_assert_eq(record_decode_drop_range(bytes_of(out.data, size), &back, NULL),
                     STATUS_CORRUPT);
    }
}

Test(record, split_round_trips_and_is_strict)
{
    struct record_split split = {bytes_of_text("m"), 12, UINT64_MAX};
    struct record_split back = {0};
    record_encode_split(&split, &out);
    cr_assert_eq(record_decode_split(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert(bytes_equal(back.key, split.key));
    cr_assert_eq(back.left_tablet, 12);
    cr_assert_eq(back.right_tablet, UINT64_MAX);
    for (size_t size = 0; size < out.size_bytes; size++) {
        cr_assert_eq(record_decode_split(bytes_of(out.data, size), &back, NULL), STATUS_CORRUPT);
    }
    const uint8_t no_key[] = {0, 1, 2};
    cr_assert_eq(record_decode_split(bytes_of(no_key, 3), &back, NULL), STATUS_CORRUPT);
}

Test(record, gc_horizon_round_trips_and_is_strict)
{
    struct record_gc_horizon horizon = {UINT32_MAX, 8, INT64_MIN};
    struct record_gc_horizon back = {0};
    record_encode_gc_horizon(&horizon, &out);
    cr_assert_eq(record_decode_gc_horizon(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert_eq(back.family, UINT32_MAX);
    cr_assert_eq(back.rule_version, 8);
    cr_assert_eq(back.horizon_us, INT64_MIN);
    for (size_t size = 0; size < out.size_bytes; size++) {
        cr_assert_eq(record_decode_gc_horizon(bytes_of(out.data, size), &back, NULL),
                     STATUS_CORRUPT);
    }
    const uint8_t family_too_large[] = {0x80, 0x80, 0x80, 0x80, 0x10, 0, 0};
    cr_assert_eq(
        record_decode_gc_horizon(bytes_of(family_too_large, sizeof family_too_large), &back, NULL),
        STATUS_CORRUPT);
}
