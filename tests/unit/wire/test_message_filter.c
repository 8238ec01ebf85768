/* Filters of requests: as deep and as large as anyone likes to send them. */
#include <criterion/criterion.h>

#include "common/wire/message.h"

/* A chain in a chain in a chain, depth times. */
static const struct filter *nested_filter(struct arena *arena, int depth)
{
    struct filter *inner = arena_allocate(arena, sizeof *inner);
    *inner = (struct filter){.kind = FILTER_PASS_ALL, .flag = true};
    for (int i = 0; i < depth; i++) {
        struct filter *outer = arena_allocate(arena, sizeof *outer);
        *outer = (struct filter){.kind = FILTER_CHAIN, .children = inner, .child_count = 1};
        inner = outer;
    }
    return inner;
}

static int depth_of(const struct filter *filter)
{
    int deepest = 0;
    for (size_t i = 0; i < filter->child_count; i++) {
        int depth = depth_of(&filter->children[i]);
        deepest = depth > deepest ? depth : deepest;
    }
    return 1 + deepest;
}

/* As deep as anyone likes to send it: just deeper than may be, so that the model says so. */
static void decode_deep(struct bytes message)
{
    struct arena arena;
    struct scan_request back;
    struct error error = {0};
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(scan_request_decode(message, &arena, &back, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(depth_of(back.filter), LIMIT_FILTER_DEPTH + 1);
    cr_assert_eq(back.rows_limit, 5, "what follows it is read all the same");
    arena_deinit(&arena);
}

Test(message, filters_are_bounded_in_depth)
{
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    const int chains[] = {LIMIT_FILTER_DEPTH, 2 * LIMIT_FILTER_DEPTH, MESSAGE_DEPTH_MAX, 100000};
    arena_init(&arena, 4096, SIZE_MAX);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct scan_request request = {.filter = nested_filter(&arena, chains[i]), .rows_limit = 5};
        buffer_reset(&out);
        scan_request_encode(&request, &out);
        decode_deep(buffer_bytes(&out));
    }
    arena_deinit(&arena);
    buffer_deinit(&out);
}

/* Our encoder stops somewhere; another's need not. */
Test(message, filters_that_no_encoder_of_ours_writes_are_bounded_in_depth)
{
    static const uint8_t begin[] = {0x94, 0x01,
                                    0x90}; /* table 1, no rows; filter and limit follow */
    static const uint8_t chain[] = {0x92, FILTER_CHAIN}; /* and its one member */
    static const uint8_t end[] = {0x92, FILTER_PASS_ALL, 0xc3, 0x05};
    struct buffer out = BUFFER_INIT;
    buffer_append(&out, begin, sizeof begin);
    for (int i = 0; i < 10000; i++) {
        buffer_append(&out, chain, sizeof chain);
    }
    buffer_append(&out, end, sizeof end);
    decode_deep(buffer_bytes(&out));
    buffer_deinit(&out);
}

Test(message, a_filter_comes_with_its_size_and_a_giant_is_not_taken_apart)
{
    static uint8_t pattern[FILTER_WIRE_BYTES_MAX];
    struct arena arena;
    struct scan_request back;
    struct buffer out = BUFFER_INIT;
    memset(pattern, 'a', sizeof pattern);
    arena_init(&arena, 4096, 16384);
    struct filter filter = {.kind = FILTER_VALUE_REGEX, .bytes = bytes_of(pattern, 100)};
    struct scan_request request = {.filter = &filter, .rows_limit = 5};
    scan_request_encode(&request, &out);
    cr_assert_eq(scan_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.filter_bytes, 104, "array, kind, size, bytes");
    cr_assert_eq(back.filter->kind, FILTER_VALUE_REGEX);
    cr_assert_eq(back.filter->bytes.size_bytes, 100);

    filter.bytes = bytes_of(pattern, sizeof pattern);
    buffer_reset(&out);
    scan_request_encode(&request, &out);
    cr_assert_eq(scan_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_gt(back.filter_bytes, FILTER_WIRE_BYTES_MAX);
    cr_assert_eq(back.rows_limit, 5, "what follows it is read all the same");
    arena_deinit(&arena);
    buffer_deinit(&out);
}
