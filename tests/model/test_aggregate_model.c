/*
 * Aggregates against a model too dumb to be wrong.
 *
 * The model keeps every hash it was ever given and derives the state from scratch: one table of
 * the best entry of each sparse index, one of the registers.  The subject gets the same inputs in
 * random heaps, folded in random order, in place where it can be.  Both must end with the same
 * bytes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "common/aggregate/aggregate_form.h"
#include "common/aggregate/hll_encoding.h"
#include "common/aggregate/hll_hash.h"
#include "common/aggregate/hll_sparse.h"
#include "common/aggregate/hll_state.h"
#include "common/base/endian.h"
#include "common/base/prng.h"

#define HEAP_COUNT_MAX 12

static struct hll_precision lower_of(struct hll_precision a, struct hll_precision b)
{
    return (struct hll_precision){a.normal < b.normal ? a.normal : b.normal,
                                  a.sparse < b.sparse ? a.sparse : b.sparse};
}

/* The sparse list of all hashes: per sparse index its largest encoding, then sorted by walking
 * the indexes twice, as unflagged entries come first. */
static struct hll_sparse_list model_list(struct hll_precision precision,
                                         const uint64_t *hashes,
                                         size_t count,
                                         struct buffer *out)
{
    size_t index_count = (size_t)1 << precision.sparse;
    uint32_t *best = calloc(index_count, sizeof *best);
    for (size_t i = 0; i < count; i++) {
        uint32_t encoding = hll_encoding_of_hash(precision, hashes[i]);
        uint32_t index = (uint32_t)(hashes[i] >> (64 - precision.sparse));
        best[index] = encoding > best[index] ? encoding : best[index];
    }
    struct hll_sparse_list list = {BYTES_EMPTY, 0};
    uint32_t last = 0;
    for (int flagged = 0; flagged <= 1; flagged++) {
        for (size_t i = 0; i < index_count; i++) {
            bool is_flagged = best[i] >= hll_encoding_flag(precision);
            if (best[i] != 0 && is_flagged == (flagged == 1)) {
                uint8_t varint[VARINT_SIZE_MAX];
                buffer_append(out, varint, varint_store(varint, best[i] - last));
                last = best[i];
                list.count++;
            }
        }
    }
    free(best);
    list.data = buffer_bytes(out);
    return list;
}

static void model_registers(uint32_t precision,
                            const uint64_t *hashes,
                            size_t count,
                            struct buffer *out)
{
    uint8_t *registers = buffer_reserve(out, (size_t)1 << precision);
    cr_assert_not_null(registers);
    memset(registers, 0, (size_t)1 << precision);
    for (size_t i = 0; i < count; i++) {
        struct hll_register seen = hll_register_of_hash(precision, hashes[i]);
        if (seen.rho > registers[seen.index]) {
            registers[seen.index] = (uint8_t)seen.rho;
        }
    }
    buffer_advance(out, (size_t)1 << precision);
}

/* The state that all these hashes make.  A list of nearly the size at which a sketch turns
 * normal may have been longer on the way: then *ret_is_close, and only forms can be compared. */
static void model_state(struct hll_precision precision,
                        const uint64_t *hashes,
                        size_t count,
                        struct buffer *out,
                        bool *ret_is_close)
{
    struct buffer body = BUFFER_INIT;
    struct hll_state state = {
        .num_values = count,
        .value_type = HLL_UINT64,
        .precision = precision,
    };
    state.sparse = model_list(precision, hashes, count, &body);
    size_t limit = hll_sparse_size_limit_bytes(precision.normal);
    size_t list_bytes = state.sparse.data.size_bytes;
    *ret_is_close = list_bytes < limit && list_bytes + 8 > limit;
    if (list_bytes >= limit) {
        state.sparse = (struct hll_sparse_list){BYTES_EMPTY, 0};
        buffer_reset(&body);
        model_registers(precision.normal, hashes, count, &body);
        state.registers = buffer_bytes(&body);
    }
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    buffer_append(out, head, hll_state_write_head(&state, head));
    buffer_append_bytes(out, buffer_bytes(&body));
    buffer_deinit(&body);
}

/* state := state merged with operand, by the door that the dice say; both doors must agree. */
static void fold(struct prng *prng,
                 enum aggregate_kind kind,
                 struct buffer *state,
                 struct bytes operand)
{
    struct buffer merged = BUFFER_INIT;
    bool is_checked = prng_chance(prng, 16);
    if (is_checked) {
        cr_assert_eq(aggregate_merge(kind, operand, buffer_bytes(state), &merged), STATUS_OK);
    }
    if (!aggregate_merge_in_place(kind, state->data, state->size_bytes, operand)) {
        struct buffer other_way = BUFFER_INIT;
        cr_assert_eq(aggregate_merge(kind, buffer_bytes(state), operand, &other_way), STATUS_OK);
        buffer_deinit(state);
        *state = other_way;
    }
    cr_assert(!is_checked || bytes_equal(buffer_bytes(state), buffer_bytes(&merged)));
    buffer_deinit(&merged);
}

/* Fold the heaps into one, two random ones at a time. */
static void fold_heaps(struct prng *prng,
                       enum aggregate_kind kind,
                       struct buffer *heaps,
                       size_t count)
{
    for (; count > 1; count--) {
        size_t to = prng_below(prng, count);
        struct buffer moved = heaps[to];
        heaps[to] = heaps[count - 1];
        size_t from = prng_below(prng, count - 1);
        fold(prng, kind, &moved, buffer_bytes(&heaps[from]));
        buffer_deinit(&heaps[from]);
        heaps[from] = moved;
    }
}

/* What copies are compared by. */
static void expect_same_form(const struct buffer *a, const struct buffer *b, uint64_t seed)
{
    struct buffer rooms[2] = {BUFFER_INIT, BUFFER_INIT};
    struct bytes forms[2] = {BYTES_EMPTY, BYTES_EMPTY};
    cr_assert_eq(aggregate_form(AGGREGATE_INTHLL, buffer_bytes(a), &rooms[0], &forms[0]),
                 STATUS_OK);
    cr_assert_eq(aggregate_form(AGGREGATE_INTHLL, buffer_bytes(b), &rooms[1], &forms[1]),
                 STATUS_OK);
    cr_assert(bytes_equal(forms[0], forms[1]), "seed %llu", (unsigned long long)seed);
    buffer_deinit(&rooms[0]);
    buffer_deinit(&rooms[1]);
}

/* Precisions of which any two can be compared, so that any order of merging is allowed. */
static const struct hll_precision ladder[] = {{10, 10}, {10, 15}, {12, 17}, {15, 20}, {18, 25}};

struct trial {
    uint64_t seed;
    size_t input_count;
    uint64_t value_count; /* inputs are drawn from so many */
    size_t lowest;        /* of the ladder, for the heaps */
    size_t highest;
    size_t made_up_registers; /* 0 = the hashes are those of inputs */
};

/* At precision 10, for every other register: most have the same low rho, and an entry takes two bytes; the high ones,
 * which come later, fall from one to the next, and it takes one.  So a list grows, and shrinks again. */
static uint64_t made_up_hash(struct prng *prng, size_t register_count)
{
    uint64_t number = prng_below(prng, register_count);
    uint64_t bit = prng_chance(prng, 16) ? number % 38 : 39;
    return number << 55 | UINT64_C(1) << bit;
}

/* What came of it: were the bytes compared, and are they what they should be? */
struct outcome {
    bool is_compared;
    bool is_same;
};

static struct outcome run_trial(const struct trial *trial)
{
    struct prng prng = prng_of_seed(trial->seed);
    size_t heap_count = 1 + prng_below(&prng, HEAP_COUNT_MAX);
    struct buffer heaps[HEAP_COUNT_MAX] = {0};
    struct hll_precision precisions[HEAP_COUNT_MAX];
    struct hll_precision lowest = ladder[trial->highest];
    for (size_t i = 0; i < heap_count; i++) {
        size_t rung = trial->lowest + prng_below(&prng, trial->highest - trial->lowest + 1);
        precisions[i] = ladder[rung];
    }
    uint64_t *hashes = calloc(trial->input_count, sizeof *hashes);
    for (size_t i = 0; i < trial->input_count; i++) {
        size_t heap = prng_below(&prng, heap_count);
        hashes[i] = trial->made_up_registers > 0
                        ? made_up_hash(&prng, trial->made_up_registers)
                        : hll_hash_int64((int64_t)prng_below(&prng, trial->value_count) - 1000);
        lowest = lower_of(lowest, precisions[heap]);
        uint8_t operand[HLL_STATE_SINGLE_SIZE_MAX_BYTES];
        size_t size = hll_state_write_single(precisions[heap], HLL_UINT64, hashes[i], operand);
        fold(&prng, AGGREGATE_INTHLL, &heaps[heap], bytes_of(operand, size));
    }
    fold_heaps(&prng, AGGREGATE_INTHLL, heaps, heap_count);

    struct buffer expected = BUFFER_INIT;
    bool is_close = false;
    model_state(lowest, hashes, trial->input_count, &expected, &is_close);
    bool is_same = bytes_equal(buffer_bytes(&heaps[0]), buffer_bytes(&expected));
    bool is_compared = !is_close && trial->made_up_registers == 0;
    cr_assert(!is_compared || is_same, "seed %llu", (unsigned long long)trial->seed);
    expect_same_form(&heaps[0], &expected, trial->seed);
    /* Some rungs of the ladder are not for cells. */
    bool is_for_cells = lowest.sparse == lowest.normal + HLL_CELL_SPARSE_MORE_BITS;
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&heaps[0]), NULL),
                 is_for_cells ? STATUS_OK : STATUS_INVALID_ARGUMENT);
    buffer_deinit(&expected);
    buffer_deinit(&heaps[0]);
    free(hashes);
    return (struct outcome){is_compared, is_same};
}

static void run_trials(size_t trial_count, size_t input_count_max, size_t lowest, size_t highest)
{
    size_t compared = 0;
    for (size_t i = 0; i < trial_count; i++) {
        struct trial trial = {
            .seed = 1000 * lowest + 100 * highest + i, .lowest = lowest, .highest = highest};
        struct prng prng = prng_of_seed(~trial.seed);
        trial.input_count = 1 + prng_below(&prng, input_count_max);
        trial.value_count = 1 + prng_below(&prng, 2 * input_count_max);
        compared += run_trial(&trial).is_compared;
    }
    cr_assert_gt(10 * compared, 9 * trial_count);
}

Test(aggregate_model, small_sketches_of_one_precision)
{
    for (size_t rung = 0; rung < sizeof ladder / sizeof *ladder - 1; rung++) {
        run_trials(30, 60, rung, rung);
    }
}

Test(aggregate_model, sketches_that_turn_normal)
{
    run_trials(60, 1500, 0, 0);
    run_trials(60, 1500, 1, 1);
    run_trials(20, 6000, 2, 2);
}

Test(aggregate_model, our_own_precision_through_the_turn)
{
    struct trial trial = {.seed = 7, .input_count = 40000, .value_count = 60000};
    trial.lowest = 3;
    trial.highest = 3;
    cr_assert(run_trial(&trial).is_compared);
}

Test(aggregate_model, mixed_precisions)
{
    run_trials(60, 200, 0, 3);
    run_trials(60, 2000, 0, 3);
    run_trials(10, 500, 1, 4);
}

/* Of some the bytes depend on the order: copies are compared by what does not. */
Test(aggregate_model, lists_that_shrink_have_one_form)
{
    size_t other_bytes = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct trial trial = {.seed = seed, .input_count = 500 + 500 * seed, .highest = 1};
        trial.lowest = seed % 2;
        trial.made_up_registers = 385 + 3 * seed;
        other_bytes += !run_trial(&trial).is_same;
    }
    cr_assert_gt(other_bytes, 10);
}

/* Any kind of integers, any order, against plain arithmetic. */
Test(aggregate_model, integers)
{
    static const enum aggregate_kind kinds[] = {AGGREGATE_INTSUM, AGGREGATE_INTMIN,
                                                AGGREGATE_INTMAX};
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct prng prng = prng_of_seed(seed);
        enum aggregate_kind kind = kinds[seed % 3];
        struct buffer heaps[HEAP_COUNT_MAX] = {0};
        size_t count = 1 + prng_below(&prng, HEAP_COUNT_MAX);
        uint64_t sum = 0;
        int64_t least = INT64_MAX;
        int64_t largest = INT64_MIN;
        for (size_t i = 0; i < count; i++) {
            int64_t input = (int64_t)prng_next(&prng) >> prng_below(&prng, 64);
            sum += (uint64_t)input;
            least = input < least ? input : least;
            largest = input > largest ? input : largest;
            cr_assert_eq(aggregate_operand_of_int64(kind, input, &heaps[i]), STATUS_OK);
        }
        fold_heaps(&prng, kind, heaps, count);
        int64_t value = 0;
        cr_assert_eq(aggregate_extract(kind, buffer_bytes(&heaps[0]), &value), STATUS_OK);
        const int64_t expected[] = {(int64_t)sum, least, largest};
        cr_assert_eq(value, expected[seed % 3]);
        buffer_deinit(&heaps[0]);
    }
}
