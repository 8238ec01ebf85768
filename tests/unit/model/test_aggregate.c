/* The contract of aggregate.h: names, integers, what passes as a state, folding. */
#include <criterion/criterion.h>

#include "common/aggregate/aggregate.h"
#include "common/aggregate/hll_state.h"
#include "common/base/endian.h"
#include "common/base/memory.h"

static struct buffer int64_state(int64_t value)
{
    struct buffer state = BUFFER_INIT;
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTSUM, value, &state), STATUS_OK);
    cr_assert_eq(state.size_bytes, 8);
    return state;
}

static void expect_integer(enum aggregate_kind kind, int64_t a, int64_t b, int64_t expected)
{
    struct buffer state_a = int64_state(a);
    struct buffer state_b = int64_state(b);
    struct buffer merged = BUFFER_INIT;
    int64_t value = 0;
    cr_assert_eq(aggregate_merge(kind, buffer_bytes(&state_a), buffer_bytes(&state_b), &merged),
                 STATUS_OK);
    cr_assert_eq(aggregate_extract(kind, buffer_bytes(&merged), &value), STATUS_OK);
    cr_assert_eq(value, expected);
    cr_assert(aggregate_merge_in_place(kind, state_a.data, 8, buffer_bytes(&state_b)));
    cr_assert(bytes_equal(buffer_bytes(&state_a), buffer_bytes(&merged)));
    buffer_deinit(&state_a);
    buffer_deinit(&state_b);
    buffer_deinit(&merged);
}

Test(aggregate, names)
{
    cr_assert_str_eq(aggregate_name(AGGREGATE_INTSUM), "intsum");
    cr_assert_str_eq(aggregate_name(AGGREGATE_BYTESHLL), "byteshll");
    cr_assert_str_eq(aggregate_name(AGGREGATE_NONE), "none");
    cr_assert_str_eq(aggregate_name((enum aggregate_kind)99), "unknown");
}

Test(aggregate, integers_fold_as_their_kind_says)
{
    expect_integer(AGGREGATE_INTSUM, 40, 2, 42);
    expect_integer(AGGREGATE_INTSUM, INT64_MAX, 1, INT64_MIN);
    expect_integer(AGGREGATE_INTSUM, -5, 3, -2);
    expect_integer(AGGREGATE_INTMIN, -1, 1, -1);
    expect_integer(AGGREGATE_INTMIN, INT64_MAX, INT64_MIN, INT64_MIN);
    expect_integer(AGGREGATE_INTMAX, -1, 1, 1);
    expect_integer(AGGREGATE_INTMAX, INT64_MIN, INT64_MIN, INT64_MIN);
    cr_assert(aggregate_is_integer(AGGREGATE_INTMAX));
    cr_assert_not(aggregate_is_integer(AGGREGATE_INTHLL));
    cr_assert_not(aggregate_is_integer(AGGREGATE_NONE));
}

Test(aggregate, integer_state_is_big_endian)
{
    struct buffer state = int64_state(-2);
    cr_assert_arr_eq(state.data, "\xff\xff\xff\xff\xff\xff\xff\xfe", 8);
    buffer_deinit(&state);
}

/* The operand of int64 5, byte by byte, and of the bytes "a". */
Test(aggregate, sketch_operands)
{
    static const uint8_t of_five[] = {0x08, 0x70, 0x10, 0x01, 0x18, 0x02, 0x20, 0x08,
                                      0x82, 0x07, 0x0b, 0x10, 0x01, 0x18, 0x0f, 0x20,
                                      0x14, 0x32, 0x03, 0xe4, 0xf7, 0x07};
    struct buffer operand = BUFFER_INIT;
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, 5, &operand), STATUS_OK);
    cr_assert(bytes_equal(buffer_bytes(&operand), bytes_of(of_five, sizeof of_five)));
    buffer_reset(&operand);
    cr_assert_eq(aggregate_operand_of_bytes(AGGREGATE_BYTESHLL, bytes_of_text("a"), &operand),
                 STATUS_OK);
    cr_assert_eq(aggregate_check_state(AGGREGATE_BYTESHLL, buffer_bytes(&operand), NULL),
                 STATUS_OK);
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&operand), NULL),
                 STATUS_INVALID_ARGUMENT);
    buffer_reset(&operand);
    cr_assert_eq(aggregate_operand_of_bytes(AGGREGATE_BYTESHLL, BYTES_EMPTY, &operand), STATUS_OK);
    cr_assert_eq(aggregate_check_state(AGGREGATE_BYTESHLL, buffer_bytes(&operand), NULL),
                 STATUS_OK);
    buffer_deinit(&operand);
}

/* A sketch written by hand: what it says of itself, and its registers or its list. */
static struct buffer sketch_of(const struct hll_state *state)
{
    struct buffer out = BUFFER_INIT;
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    buffer_append(&out, head, hll_state_write_head(state, head));
    buffer_append_bytes(&out, hll_state_is_sparse(state) ? state->sparse.data : state->registers);
    cr_assert_not(out.failed);
    return out;
}

static struct hll_state sparse_state(uint32_t p, uint32_t sp, struct bytes list, uint32_t count)
{
    return (struct hll_state){.num_values = count,
                              .value_type = HLL_UINT64,
                              .precision = {p, sp},
                              .sparse = {list, count}};
}

static uint8_t registers[1 << HLL_CELL_PRECISION_MAX];

static struct hll_state normal_state(uint32_t p, uint32_t sp, uint64_t num_values)
{
    return (struct hll_state){.num_values = num_values,
                              .value_type = HLL_UINT64,
                              .precision = {p, sp},
                              .registers = bytes_of(registers, (size_t)1 << p)};
}

Test(aggregate, no_bytes_are_the_identity)
{
    for (int number = AGGREGATE_INTSUM; number <= AGGREGATE_BYTESHLL; number++) {
        enum aggregate_kind kind = (enum aggregate_kind)number;
        struct buffer operand = BUFFER_INIT;
        struct buffer merged = BUFFER_INIT;
        if (kind == AGGREGATE_BYTESHLL) {
            cr_assert_eq(aggregate_operand_of_bytes(kind, bytes_of_text("x"), &operand), STATUS_OK);
        } else {
            cr_assert_eq(aggregate_operand_of_int64(kind, -7, &operand), STATUS_OK);
        }
        struct bytes state = buffer_bytes(&operand);
        cr_assert_eq(aggregate_merge(kind, state, BYTES_EMPTY, &merged), STATUS_OK);
        cr_assert(bytes_equal(state, buffer_bytes(&merged)));
        cr_assert_eq(aggregate_merge(kind, BYTES_EMPTY, state, &merged), STATUS_OK);
        cr_assert(bytes_equal(state, buffer_bytes(&merged)));
        cr_assert(aggregate_merge_in_place(kind, operand.data, operand.size_bytes, BYTES_EMPTY));
        cr_assert(bytes_equal(buffer_bytes(&operand), buffer_bytes(&merged)));
        cr_assert_not(aggregate_merge_in_place(kind, NULL, 0, state));
        cr_assert_eq(aggregate_merge(kind, BYTES_EMPTY, BYTES_EMPTY, &merged), STATUS_OK);
        cr_assert_eq(merged.size_bytes, 0);
        int64_t value = 1;
        cr_assert_eq(aggregate_check_state(kind, BYTES_EMPTY, NULL), STATUS_OK);
        cr_assert_eq(aggregate_extract(kind, BYTES_EMPTY, &value), STATUS_OK);
        cr_assert_eq(value, 0);
        buffer_deinit(&operand);
        buffer_deinit(&merged);
    }
}

Test(aggregate, integers_of_another_size_are_refused)
{
    static const uint8_t nine[9];
    uint8_t eight[8] = {0};
    struct buffer merged = BUFFER_INIT;
    struct error error;
    int64_t value = 77;
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTMIN, bytes_of(nine, 9), &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "the state of an intmin cell is 8 bytes (or none), not 9");
    cr_assert_eq(aggregate_extract(AGGREGATE_INTSUM, bytes_of(nine, 7), &value), STATUS_CORRUPT);
    cr_assert_eq(value, 77);
    cr_assert_eq(aggregate_merge(AGGREGATE_INTSUM, bytes_of(nine, 9), bytes_of(eight, 8), &merged),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_not(aggregate_merge_in_place(AGGREGATE_INTSUM, eight, 8, bytes_of(nine, 9)));
    buffer_deinit(&merged);
}

static void expect_check(const struct hll_state *state, enum status expected, const char *text)
{
    struct buffer data = sketch_of(state);
    struct error error = {0};
    int64_t value = 77;
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&data), &error), expected,
                 "%s: %s", text, error.text);
    enum status extracted = aggregate_extract(AGGREGATE_INTHLL, buffer_bytes(&data), &value);
    if (expected == STATUS_OK) {
        cr_assert_eq(extracted, STATUS_OK);
    } else {
        cr_assert_not_null(strstr(error.text, text), "%s", error.text);
        cr_assert_eq(extracted, STATUS_CORRUPT);
        cr_assert_eq(value, 77);
    }
    buffer_deinit(&data);
}

#define LIST(text) bytes_of(text, sizeof(text) - 1)

/* p 15, sp 20: unflagged entries are below 2^20 with their low 5 bits not all zero; flagged ones
 * are 2^21 + 64 * register + rho, rho 1 to 45. */
Test(aggregate, sparse_lists_are_checked)
{
    const struct {
        struct bytes list;
        uint32_t count;
        const char *text; /* NULL: passes */
    } cases[] = {
        {LIST(""), 0, NULL},
        {LIST("\x01"), 1, NULL},
        {LIST("\x01\x01"), 2, NULL},
        {LIST("\xff\xff\x3f"), 1, NULL},         /* 2^20 - 1 */
        {LIST("\x81\x80\x80\x01"), 1, NULL},     /* 2^21 + 1 */
        {LIST("\xad\x80\x80\x01"), 1, NULL},     /* rho 45 */
        {LIST("\x81\x80\x80\x01\x40"), 2, NULL}, /* the next register */
        {LIST("\x01"), 2, "sparse_size is 2"},
        {LIST("\x01\x01"), 1, "sparse_size is 1, but there are 2"},
        {LIST("\x00"), 1, "sparse entry 0 is no larger"},
        {LIST("\x01\x00"), 2, "sparse entry 1 is no larger"},
        {LIST("\x81\x00"), 1, "longer than it need be"},
        {LIST("\x81"), 1, "or cut"},
        {LIST("\x01\x81\x80"), 2, "or cut"},
        {LIST("\xff\xff\xff\xff\x08"), 1, "over 31 bits"},
        {LIST("\xff\xff\xff\xff\xff\x01"), 1, "over 31 bits"},
        {LIST("\xff\xff\xff\xff\x07\x01"), 2, "cannot give"}, /* 2^31 - 1, and one more */
        {LIST("\x20"), 1, "is 32, which precision 15/20"},    /* low 5 bits zero */
        {LIST("\x81\x80\x40"), 1, "is 1048577"},              /* 2^20 + 1 */
        {LIST("\x80\x80\x80\x01"), 1, "cannot give"},         /* rho 0 */
        {LIST("\xae\x80\x80\x01"), 1, "cannot give"},         /* rho 46 */
        {LIST("\x81\x80\x80\x02"), 1, "cannot give"},         /* register 2^15 */
        {LIST("\x81\x80\x80\x01\x01"), 2, "share an index"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hll_state state = sparse_state(15, 20, cases[i].list, cases[i].count);
        expect_check(&state, cases[i].text == NULL ? STATUS_OK : STATUS_INVALID_ARGUMENT,
                     cases[i].text == NULL ? "" : cases[i].text);
    }
}

Test(aggregate, precisions_types_and_registers_are_checked)
{
    struct hll_state state = sparse_state(9, 14, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "precision 9: a cell holds 10 to 18");
    state = sparse_state(10, 15, LIST("\x01"), 1);
    expect_check(&state, STATUS_OK, "");
    state = sparse_state(18, 23, LIST("\x01"), 1);
    expect_check(&state, STATUS_OK, "");
    state = sparse_state(15, 25, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "with precision 15 a cell holds 20 or 0");
    state = sparse_state(15, 15, LIST("\x81\x80\x80\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "with precision 15 a cell holds 20 or 0");
    state = sparse_state(19, 25, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "precision 19: a cell holds 10 to 18");
    state = sparse_state(25, 25, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "precisions 25/25");
    state = sparse_state(15, 14, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "precisions 15/14");
    state = sparse_state(15, 26, LIST("\x01"), 1);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "precisions 15/26");

    state = sparse_state(15, 20, LIST("\x01"), 1);
    state.value_type = HLL_UNTYPED;
    expect_check(&state, STATUS_OK, "");
    state.value_type = HLL_BYTES;
    expect_check(&state, STATUS_INVALID_ARGUMENT, "value_type is 11, but an inthll cell holds 8");
    state.value_type = HLL_UINT32;
    expect_check(&state, STATUS_INVALID_ARGUMENT, "value_type is 7");
    state.value_type = 4;
    expect_check(&state, STATUS_INVALID_ARGUMENT, "value_type 4 is none of");
    state.value_type = HLL_UINT64;
    state.num_values = INT64_MAX;
    expect_check(&state, STATUS_OK, "");
    state.num_values = (uint64_t)INT64_MAX + 1;
    expect_check(&state, STATUS_INVALID_ARGUMENT, "num_values is negative");

    registers[77] = 50;
    state = normal_state(15, 20, 9);
    expect_check(&state, STATUS_OK, "");
    state = normal_state(15, 0, 9);
    expect_check(&state, STATUS_OK, "");
    registers[77] = 51;
    state = normal_state(15, 20, 9);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "a register holds 51; precision 15 allows 50");
    registers[77] = 0;
    state = normal_state(15, 20, 9);
    state.registers.size_bytes--;
    expect_check(&state, STATUS_INVALID_ARGUMENT, "data is 32767 bytes");
}

/* At exactly 3/4 of the registers older Zetasketch stays sparse; more is nobody's. */
Test(aggregate, overlong_sparse_lists_are_refused)
{
    static uint8_t list[770];
    uint32_t encoding = 0;
    for (size_t i = 0; i < sizeof list; i++) {
        list[i] = (encoding + 1) % 32 == 0 ? 2 : 1; /* p 10, sp 15: no multiple of 32 */
        encoding += list[i];
    }
    struct hll_state state = sparse_state(10, 15, bytes_of(list, 768), 768);
    expect_check(&state, STATUS_OK, "");
    state = sparse_state(10, 15, bytes_of(list, 769), 769);
    expect_check(&state, STATUS_INVALID_ARGUMENT, "should be normal form from 768 on");
}

/* Bytes that are no message, and fields that may come or not. */
Test(aggregate, messages_are_checked)
{
    const struct {
        struct bytes state;
        const char *text; /* NULL: passes */
    } cases[] = {
        {LIST("\x08\x70\x10\x00\x18\x02\x20\x08\x82\x07\x04\x18\x0f\x20\x14"), NULL},
        {LIST("\x82\x07\x04\x20\x14\x18\x0f\x20\x08\x18\x02"), NULL}, /* another order */
        /* Unknown fields of all four wire types, outside and inside. */
        {LIST("\x78\x01\x79........\x7a\x02..\x7d....\x18\x02\x82\x07\x06\x18\x0f\x20\x14\x78\x01"),
         NULL},
        {LIST("\x18\x02\x82\x07\x02\x18\x0a\x82\x07\x02\x18\x0f"), NULL}, /* twice: p is 15 */
        {LIST("\x18\x02\x82\x07\x02\x18\x0f\x82\x07\x02\x18\x09"), "precision 9"},
        {LIST("\x18\x02\x82\x07\x02\x18\x0f\x00"), "well-formed"}, /* stray byte */
        {LIST("\x18\x02\x82\x07\x03\x18\x0f"), "well-formed"},     /* cut */
        {LIST("\x18\x02\x82\x07\x02\x18\x0f\x0b"), "well-formed"}, /* a group */
        {LIST("\x1a\x02\x82\x07\x02\x18\x0f"), "well-formed"},     /* wrong wire type */
        {LIST("\x18\x02\x80\x07\x02"), "well-formed"},             /* a number as sketch */
        {LIST("\x08\x64\x18\x02\x82\x07\x02\x18\x0f"), "type is 100"},
        {LIST("\x18\x01\x82\x07\x02\x18\x0f"), "encoding_version is 1"},
        {LIST("\x18\x02"), "precisions 0/0"}, /* no sketch */
        {LIST("\x18\x02\x82\x07\x06\x10\x01\x18\x0f\x20\x14"), "sparse_size is 1"},
        {LIST("\x18\x02\x82\x07\x07\x10\x01\x18\x0f\x32\x01\x01"), "without sparse precision"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        enum status status = aggregate_check_state(AGGREGATE_INTHLL, cases[i].state, &error);
        if (cases[i].text == NULL) {
            cr_assert_eq(status, STATUS_OK, "%zu: %s", i, error.text);
        } else {
            cr_assert_eq(status, STATUS_INVALID_ARGUMENT, "%zu", i);
            cr_assert_not_null(strstr(error.text, cases[i].text), "%zu: %s", i, error.text);
        }
    }
}

static void expect_merged_type(uint32_t type_a, uint32_t type_b, uint32_t expected)
{
    struct hll_state a = sparse_state(15, 20, LIST("\x01"), 1);
    struct hll_state b = a;
    struct hll_state merged_state;
    struct buffer merged = BUFFER_INIT;
    a.value_type = type_a;
    b.value_type = type_b;
    struct buffer data_a = sketch_of(&a);
    struct buffer data_b = sketch_of(&b);
    cr_assert_eq(
        aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&data_a), buffer_bytes(&data_b), &merged),
        STATUS_OK);
    cr_assert_eq(hll_state_parse(buffer_bytes(&merged), &merged_state, NULL), STATUS_OK);
    cr_assert_eq(merged_state.value_type, expected);
    buffer_deinit(&data_a);
    buffer_deinit(&data_b);
    buffer_deinit(&merged);
}

Test(aggregate, merging_learns_the_type)
{
    expect_merged_type(HLL_UNTYPED, HLL_UINT64, HLL_UINT64);
    expect_merged_type(HLL_UINT64, HLL_UNTYPED, HLL_UINT64);
    expect_merged_type(HLL_UNTYPED, HLL_UNTYPED, HLL_UINT64);
}

/* A state of precision p, passed by the check: 0 sparse, 1 normal, 2 normal without sparse form. */
static struct buffer checked_sketch(uint32_t p, int form)
{
    struct hll_state state = form == 0 ? sparse_state(p, p + 5, LIST("\x01"), 1)
                                       : normal_state(p, form == 1 ? p + 5 : 0, 1);
    struct buffer data = sketch_of(&state);
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&data), NULL), STATUS_OK);
    return data;
}

/* Whatever was committed can be folded: no two states that pass refuse each other, and what they
 * make passes again. */
Test(aggregate, checked_sketches_always_merge)
{
    struct buffer merged = BUFFER_INIT;
    size_t tried = 0;
    for (int forms = 0; forms < 9; forms++) {
        for (uint32_t p = HLL_CELL_PRECISION_MIN; p <= HLL_CELL_PRECISION_MAX; p++) {
            for (uint32_t q = HLL_CELL_PRECISION_MIN; q <= HLL_CELL_PRECISION_MAX; q++) {
                struct buffer a = checked_sketch(p, forms / 3);
                struct buffer b = checked_sketch(q, forms % 3);
                cr_assert_eq(
                    aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&a), buffer_bytes(&b), &merged),
                    STATUS_OK);
                cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&merged), NULL),
                             STATUS_OK);
                buffer_deinit(&a);
                buffer_deinit(&b);
                tried++;
            }
        }
    }
    cr_assert_eq(tried, 9 * 9 * 9);
    buffer_deinit(&merged);
}

/* Fold b into a in place and by merging: both ways, or neither, and the same bytes. */
static bool fold_both_ways(const struct hll_state *a, const struct hll_state *b)
{
    struct buffer data_a = sketch_of(a);
    struct buffer data_b = sketch_of(b);
    struct buffer before = sketch_of(a);
    struct buffer merged = BUFFER_INIT;
    cr_assert_eq(
        aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&data_a), buffer_bytes(&data_b), &merged),
        STATUS_OK);
    bool is_folded = aggregate_merge_in_place(AGGREGATE_INTHLL, data_a.data, data_a.size_bytes,
                                              buffer_bytes(&data_b));
    cr_assert(bytes_equal(buffer_bytes(&data_a), buffer_bytes(is_folded ? &merged : &before)));
    buffer_deinit(&data_a);
    buffer_deinit(&data_b);
    buffer_deinit(&before);
    buffer_deinit(&merged);
    return is_folded;
}

Test(aggregate, in_place_where_the_size_stays)
{
    for (size_t i = 0; i < sizeof registers; i++) {
        registers[i] = (uint8_t)(i * 2654435761u >> 29);
    }
    struct hll_state state = normal_state(15, 20, 1000);
    struct hll_state single = sparse_state(15, 20, LIST("\xe4\xf7\x07"), 1);
    struct hll_state several = sparse_state(15, 20, LIST("\x01\x03\x81\x80\x80\x01"), 3);
    struct hll_state finer = sparse_state(18, 25, LIST("\xe4\xf7\x07"), 1);
    struct hll_state normal = normal_state(15, 20, 7);
    struct hll_state finer_normal = normal_state(16, 20, 7);
    struct hll_state coarser_list = sparse_state(15, 17, LIST("\x01"), 1);
    cr_assert(fold_both_ways(&state, &single));
    cr_assert(fold_both_ways(&state, &several));
    cr_assert(fold_both_ways(&state, &finer));
    cr_assert(fold_both_ways(&state, &normal));
    cr_assert(fold_both_ways(&state, &finer_normal));
    cr_assert(fold_both_ways(&state, &coarser_list)); /* sp goes down, the size stays */
    struct hll_state untyped = single;
    untyped.value_type = HLL_UNTYPED;
    cr_assert(fold_both_ways(&state, &untyped));
    state.num_values = INT64_MAX;
    cr_assert(fold_both_ways(&state, &single)); /* stops there */
}

Test(aggregate, not_in_place_where_it_changes)
{
    struct hll_state single = sparse_state(15, 20, LIST("\xe4\xf7\x07"), 1);
    struct hll_state state = normal_state(15, 20, 127);
    cr_assert_not(fold_both_ways(&state, &single)); /* num_values takes another byte */
    state.num_values = 126;
    cr_assert(fold_both_ways(&state, &single));
    struct hll_state coarser = sparse_state(14, 19, LIST("\x01"), 1);
    cr_assert_not(fold_both_ways(&state, &coarser));
    struct hll_state no_list = normal_state(15, 0, 1);
    cr_assert_not(fold_both_ways(&state, &no_list)); /* sp goes away */
    cr_assert(fold_both_ways(&no_list, &state));
    state.value_type = HLL_UNTYPED;
    cr_assert_not(fold_both_ways(&state, &single));  /* learns the type */
    cr_assert_not(fold_both_ways(&single, &single)); /* sparse */
}

/* A state of another layout is left to aggregate_merge(), which writes it as ours. */
Test(aggregate, not_in_place_in_a_foreign_layout)
{
    struct hll_state state = normal_state(15, 20, 100);
    struct hll_state single = sparse_state(15, 20, LIST("\xe4\xf7\x07"), 1);
    struct buffer ours = sketch_of(&state);
    struct buffer operand = sketch_of(&single);
    struct buffer foreign = BUFFER_INIT;
    struct buffer merged_ours = BUFFER_INIT;
    struct buffer merged_foreign = BUFFER_INIT;
    buffer_append_bytes(&foreign, buffer_bytes(&ours));
    buffer_append(&foreign, "\x78\x01", 2); /* an unknown field */
    struct bytes added = buffer_bytes(&operand);
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&foreign), NULL), STATUS_OK);
    cr_assert_not(
        aggregate_merge_in_place(AGGREGATE_INTHLL, foreign.data, foreign.size_bytes, added));
    cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&ours), added, &merged_ours),
                 STATUS_OK);
    cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&foreign), added, &merged_foreign),
                 STATUS_OK);
    cr_assert(bytes_equal(buffer_bytes(&merged_ours), buffer_bytes(&merged_foreign)));
    buffer_deinit(&ours);
    buffer_deinit(&operand);
    buffer_deinit(&foreign);
    buffer_deinit(&merged_ours);
    buffer_deinit(&merged_foreign);
}

/* Lists that did not pass the check: refused, or folded to something, but never out of bounds and
 * never half-way into a state. */
Test(aggregate, unchecked_lists_do_no_harm)
{
    const struct bytes lists[] = {
        LIST("\x01\xff"),             /* cut */
        LIST("\xff\xff\xff\xff\x07"), /* far beyond the registers */
        LIST("\x81\x80\x80\x02"),     /* register 2^15 */
    };
    struct hll_state normal = normal_state(15, 20, 1000);
    struct hll_state coarser = sparse_state(10, 15, LIST("\x01"), 1);
    struct buffer state = sketch_of(&normal);
    struct buffer before = sketch_of(&normal);
    struct buffer lower = sketch_of(&coarser);
    struct buffer merged = BUFFER_INIT;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct hll_state bad = sparse_state(15, 20, lists[i], 1);
        struct buffer operand = sketch_of(&bad);
        struct bytes data = buffer_bytes(&operand);
        cr_assert_not(
            aggregate_merge_in_place(AGGREGATE_INTHLL, state.data, state.size_bytes, data));
        cr_assert(bytes_equal(buffer_bytes(&state), buffer_bytes(&before)));
        cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&state), data, &merged),
                     STATUS_INVALID_ARGUMENT);
        cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&lower), data, &merged),
                     STATUS_INVALID_ARGUMENT);
        cr_assert_eq(merged.size_bytes, 0);
        buffer_deinit(&operand);
    }
    buffer_deinit(&state);
    buffer_deinit(&before);
    buffer_deinit(&lower);
    buffer_deinit(&merged);
}

/* Fail the n-th allocation of a merge, for every n: a clean status, nothing left in out, and
 * after the failures the right bytes. */
static void sweep_merge(const struct hll_state *a, const struct hll_state *b)
{
    struct buffer data_a = sketch_of(a);
    struct buffer data_b = sketch_of(b);
    size_t failures = 0;
    for (uint64_t after = 0;; after++) {
        struct buffer merged = BUFFER_INIT;
        memory_fail_arm(after, 0);
        enum status status = aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&data_a),
                                             buffer_bytes(&data_b), &merged);
        memory_fail_disarm();
        bool is_done = status == STATUS_OK;
        cr_assert(is_done || status == STATUS_NO_MEMORY);
        cr_assert(is_done || merged.size_bytes == 0);
        cr_assert(!is_done || aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&merged),
                                                    NULL) == STATUS_OK);
        buffer_deinit(&merged);
        if (is_done) {
            break;
        }
        failures++;
    }
    cr_assert_geq(failures, 1);
    buffer_deinit(&data_a);
    buffer_deinit(&data_b);
}

Test(aggregate, allocation_failures)
{
    struct hll_state sparse = sparse_state(15, 20, LIST("\xe4\xf7\x07"), 1);
    struct hll_state coarser = sparse_state(10, 15, LIST("\x01"), 1);
    struct hll_state normal = normal_state(15, 20, 5);
    sweep_merge(&sparse, &sparse);
    sweep_merge(&sparse, &coarser);
    sweep_merge(&normal, &sparse);
    sweep_merge(&normal, &coarser);

    memory_fail_arm(0, 1);
    struct buffer out = BUFFER_INIT;
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, 1, &out), STATUS_NO_MEMORY);
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTSUM, 1, &out), STATUS_NO_MEMORY);
    cr_assert_eq(aggregate_operand_of_bytes(AGGREGATE_BYTESHLL, BYTES_EMPTY, &out),
                 STATUS_NO_MEMORY);
    memory_fail_disarm();
    buffer_deinit(&out);
}
