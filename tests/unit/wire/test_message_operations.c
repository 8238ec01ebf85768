/* Operations of a request: every field, and lists over the limit. */
#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/wire/message.h"

Test(message, an_operation_keeps_every_field_of_its_kind)
{
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    struct operations_request back;
    arena_init(&arena, 4096, SIZE_MAX);
    struct mutation set = {.kind = MUTATION_SET_CELL,
                           .family = bytes_of_text("f"),
                           .qualifier = bytes_of_text("q"),
                           .timestamp_us = TIMESTAMP_SERVER,
                           .value = bytes_of_text("v")};
    struct mutation drop = {.kind = MUTATION_DELETE_FROM_ROW};
    struct filter filter = {.kind = FILTER_CELLS_PER_ROW_LIMIT, .count = 3};
    struct operation operation = {.kind = OPERATION_CHECK_AND_MUTATE,
                                  .table = 9,
                                  .row = bytes_of_text("row"),
                                  .identity = {11, -12},
                                  .mutations = &set,
                                  .mutation_count = 1,
                                  .otherwise = &drop,
                                  .otherwise_count = 1,
                                  .filter = &filter};
    struct operations_request request = {
        .client = 5, .first_unfinished = 6, .operations = &operation, .operation_count = 1};
    operations_request_encode(&request, &out);
    cr_assert_eq(operations_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    const struct operation *got = &back.operations[0];
    cr_assert_eq(back.client, 5);
    cr_assert_eq(back.first_unfinished, 6);
    cr_assert_eq(got->kind, OPERATION_CHECK_AND_MUTATE);
    cr_assert_eq(got->table, 9);
    cr_assert(bytes_equal(got->row, bytes_of_text("row")));
    cr_assert_eq(got->identity.sequence, 11);
    cr_assert_eq(got->identity.first_attempt_us, -12);
    cr_assert_eq(got->mutations[0].timestamp_us, TIMESTAMP_SERVER);
    cr_assert(bytes_equal(got->mutations[0].family, bytes_of_text("f")));
    cr_assert(bytes_equal(got->mutations[0].qualifier, bytes_of_text("q")));
    cr_assert(bytes_equal(got->mutations[0].value, bytes_of_text("v")));
    cr_assert_eq(got->otherwise[0].kind, MUTATION_DELETE_FROM_ROW);
    cr_assert_eq(got->filter->count, 3);
    cr_assert_eq(got->filter_bytes, 3);
    arena_deinit(&arena);
    buffer_deinit(&out);
}

static int64_t first_attempt_after(uint64_t sequence, int64_t encoded_us, int64_t set_us)
{
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    struct operations_request back;
    struct mutation drop = {.kind = MUTATION_DELETE_FROM_ROW};
    struct operation operation = {.kind = OPERATION_MUTATE,
                                  .table = 9,
                                  .row = bytes_of_text("row"),
                                  .identity = {sequence, encoded_us},
                                  .mutations = &drop,
                                  .mutation_count = 1};
    arena_init(&arena, 4096, SIZE_MAX);
    operations_request_begin(5, 6, 1, &out);
    size_t begin = out.size_bytes;
    size_t key_end = operation_encode(&operation, &out) + operation.row.size_bytes;
    operation_set_first_attempt(out.data + begin, key_end, set_us);
    cr_assert_eq(operations_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.operations[0].identity.sequence, sequence);
    cr_assert_eq(back.operations[0].mutations[0].kind, MUTATION_DELETE_FROM_ROW);
    int64_t first_attempt_us = back.operations[0].identity.first_attempt_us;
    arena_deinit(&arena);
    buffer_deinit(&out);
    return first_attempt_us;
}

Test(message, the_time_of_a_first_attempt_can_be_told_anew)
{
    const int64_t now_us = INT64_C(1790000000123456);
    const uint64_t sequences[] = {
        1, 127, 128, 255, 256, 65535, 65536, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        cr_assert_eq(first_attempt_after(sequences[i], now_us, now_us - 7), now_us - 7);
        cr_assert_eq(first_attempt_after(sequences[i], now_us, INT64_MAX), INT64_MAX);
        /* What would take fewer bytes, or has taken fewer, stays. */
        cr_assert_eq(first_attempt_after(sequences[i], now_us, UINT32_MAX), now_us);
        cr_assert_eq(first_attempt_after(sequences[i], now_us, -5), now_us);
        cr_assert_eq(first_attempt_after(sequences[i], 100, now_us), 100);
    }
}

/* Too many mutations or rules cost nothing but the message: they come back as a number. */
Test(message, a_list_over_the_limit_is_not_taken_apart)
{
    const size_t count = LIMIT_MUTATIONS_PER_REQUEST + 1;
    struct mutation *mutations = memory_allocate_zeroed(count, sizeof *mutations);
    struct rmw_rule *rules = memory_allocate_zeroed(count, sizeof *rules);
    struct buffer out = BUFFER_INIT;
    struct operations_request back;
    struct arena arena;
    for (size_t i = 0; i < count; i++) {
        mutations[i].kind = MUTATION_DELETE_FROM_ROW;
        rules[i].kind = RMW_INCREMENT;
    }
    const struct operation operations[] = {
        {.kind = OPERATION_MUTATE, .mutations = mutations, .mutation_count = count},
        {.kind = OPERATION_READ_MODIFY_WRITE, .rules = rules, .rule_count = count},
        {.kind = OPERATION_CHECK_AND_MUTATE,
         .mutations = mutations,
         .mutation_count = 1,
         .otherwise = mutations,
         .otherwise_count = count},
    };
    const struct operations_request request = {.operations = operations, .operation_count = 3};
    operations_request_encode(&request, &out);
    arena_init(&arena, 1024, 16384);
    cr_assert_eq(operations_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.operations[0].mutation_count, count);
    cr_assert_eq(back.operations[1].rule_count, count);
    cr_assert_eq(back.operations[2].mutation_count, 1);
    cr_assert_eq(back.operations[2].otherwise_count, count);
    arena_deinit(&arena);
    buffer_deinit(&out);
    memory_free(mutations);
    memory_free(rules);
}
