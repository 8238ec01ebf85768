/*
 * The simulator's judge of registers: histories that it must take and that it must refuse, and thousands of small random
 * ones, where it must say what trying all orders says.
 */
#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "tests/sim/checker/sim_checker_register.h"

#define NEVER                       UINT64_MAX
#define OPERATIONS_MAX              8
#define OPERATION_COUNT(operations) (sizeof(operations) / sizeof *(operations))

/* A write of a value (1 and up) or a read that showed it (0 = no row); ended_at NEVER: given up. */
struct operation {
    bool is_write;
    uint64_t value;
    uint64_t begun_at;
    uint64_t ended_at;
};

static uint64_t begin_of_write(const struct operation *operations, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (operations[i].is_write && operations[i].value == value) {
            return operations[i].begun_at;
        }
    }
    return 0;
}

/* As the simulator does: of each operation as it ends. */
static bool is_taken(const struct operation *operations, size_t count)
{
    struct sim_register reg = {0};
    bool told[OPERATIONS_MAX] = {false};
    bool taken = true;
    for (;;) {
        size_t next = count;
        for (size_t i = 0; i < count; i++) {
            bool later = next < count && operations[i].ended_at >= operations[next].ended_at;
            next = told[i] || operations[i].ended_at == NEVER || later ? next : i;
        }
        if (next == count) {
            break;
        }
        const struct operation *operation = &operations[next];
        uint64_t other = 0;
        told[next] = true;
        taken = !sim_register_note(&reg,
                                   &(struct sim_seen){.task = operation->value,
                                                      .written_at = begin_of_write(
                                                          operations, count, operation->value),
                                                      .begun_at = operation->begun_at,
                                                      .ended_at = operation->ended_at},
                                   &other) &&
                taken;
    }
    sim_register_deinit(&reg);
    return taken;
}

/* Tries every order: placed are those of the set, and they left that value. */
static bool is_explained(const struct operation *operations,
                         size_t count,
                         unsigned placed,
                         uint64_t value)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        all = all && ((placed >> i & 1) != 0 || operations[i].ended_at == NEVER);
    }
    for (size_t i = 0; i < count && !all; i++) {
        bool may = (placed >> i & 1) == 0 &&
                   (operations[i].is_write || operations[i].value == value);
        for (size_t j = 0; j < count; j++) {
            bool due = (placed >> j & 1) == 0 && operations[j].ended_at < operations[i].begun_at;
            may = may && !due;
        }
        all = may && is_explained(operations, count, placed | 1U << i, operations[i].value);
    }
    return all;
}

static void check(const struct operation *operations, size_t count, bool expected)
{
    cr_assert_eq(is_explained(operations, count, 0, 0), expected, "the history itself");
    cr_assert_eq(is_taken(operations, count), expected);
}

#define TAKES(...)                                            \
    do {                                                      \
        const struct operation operations[] = {__VA_ARGS__};  \
        check(operations, OPERATION_COUNT(operations), true); \
    } while (0)
#define REFUSES(...)                                           \
    do {                                                       \
        const struct operation operations[] = {__VA_ARGS__};   \
        check(operations, OPERATION_COUNT(operations), false); \
    } while (0)

Test(sim_register, an_acknowledged_write_is_there)
{
    TAKES({true, 1, 10, 20}, {false, 1, 30, 40});
    REFUSES({true, 1, 10, 20}, {false, 0, 30, 40});
}

Test(sim_register, before_and_during_the_first_write_there_may_be_no_row)
{
    TAKES({false, 0, 1, 5}, {true, 1, 10, 20}, {false, 0, 12, 30});
    TAKES({true, 1, 10, 20}, {false, 0, 20, 30}); /* one moment is no order */
}

Test(sim_register, a_row_that_was_shown_does_not_vanish)
{
    REFUSES({true, 1, 10, 90}, {false, 1, 20, 30}, {false, 0, 40, 50});
    REFUSES({true, 1, 10, NEVER}, {false, 1, 20, 30}, {false, 0, 40, 50});
}

Test(sim_register, what_is_overwritten_is_not_shown_again)
{
    REFUSES({true, 1, 10, 20}, {true, 2, 30, 40}, {false, 1, 50, 60});
    TAKES({true, 1, 10, 20}, {true, 2, 30, 40}, {false, 1, 35, 60});
}

Test(sim_register, of_two_writes_at_once_either_may_be_the_last)
{
    TAKES({true, 1, 10, 40}, {true, 2, 20, 30}, {false, 1, 50, 60}, {false, 1, 70, 80});
    TAKES({true, 1, 10, 40}, {true, 2, 20, 30}, {false, 2, 50, 60}, {false, 2, 70, 80});
}

Test(sim_register, readers_agree_which_was_the_last)
{
    REFUSES({true, 1, 10, 40}, {true, 2, 20, 30}, {false, 1, 50, 60}, {false, 2, 70, 80});
    TAKES({true, 1, 10, 60}, {true, 2, 20, 30}, {false, 2, 40, 50}, {false, 1, 55, 80});
}

Test(sim_register, a_later_read_shows_nothing_older)
{
    REFUSES({true, 1, 1, 5}, {true, 2, 10, 90}, {false, 2, 20, 30}, {false, 1, 40, 50});
    TAKES({true, 1, 1, 5}, {true, 2, 10, 90}, {false, 2, 20, 45}, {false, 1, 40, 50});
}

Test(sim_register, nothing_is_shown_before_its_write_begins)
{
    REFUSES({false, 1, 10, 20}, {true, 1, 30, 40});
    REFUSES({false, 1, 10, 20}, {true, 1, 30, NEVER});
}

Test(sim_register, a_write_within_the_time_of_another_value_is_refused)
{
    REFUSES({true, 1, 10, 20}, {true, 2, 30, 40}, {false, 1, 60, 70});
    TAKES({true, 1, 10, 20}, {true, 2, 30, 65}, {false, 1, 60, 70});
}

Test(sim_register, what_was_given_up_may_take_effect_late_or_never)
{
    TAKES({true, 1, 10, NEVER}, {false, 0, 20, 30}, {false, 0, 40, 50});
    TAKES({true, 1, 10, NEVER}, {true, 2, 20, 30}, {false, 2, 40, 50}, {false, 1, 60, 70});
}

Test(sim_register, what_was_given_up_takes_effect_once)
{
    REFUSES({true, 1, 10, NEVER}, {false, 1, 20, 30}, {true, 2, 40, 50}, {false, 2, 60, 70},
            {false, 1, 80, 90});
}

/* A value that no write has is not drawn: of that the caller says that there is no such task. */
static size_t draw(struct prng *prng, struct operation *ret_operations)
{
    size_t count = 1 + prng_below(prng, OPERATIONS_MAX - 1);
    size_t writes = 1 + prng_below(prng, 3);
    writes = writes < count ? writes : count;
    for (size_t i = 0; i < count; i++) {
        bool is_write = i < writes;
        uint64_t begun_at = 1 + prng_below(prng, 16);
        ret_operations[i] = (struct operation){
            .is_write = is_write,
            .value = is_write ? i + 1 : prng_below(prng, writes + 1),
            .begun_at = begun_at,
            .ended_at = prng_chance(prng, 5) ? NEVER : begun_at + prng_below(prng, 8)};
    }
    return count;
}

/* A read that was given up shows nothing: it is no part of the history. */
static size_t without_reads_given_up(struct operation *operations, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (operations[i].is_write || operations[i].ended_at != NEVER) {
            operations[kept++] = operations[i];
        }
    }
    return kept;
}

Test(sim_register, says_what_trying_all_orders_says)
{
    struct prng prng = prng_of_seed(1);
    size_t taken = 0;
    size_t refused = 0;
    for (int i = 0; i < 100000; i++) {
        struct operation operations[OPERATIONS_MAX];
        size_t count = without_reads_given_up(operations, draw(&prng, operations));
        bool explained = is_explained(operations, count, 0, 0);
        cr_assert_eq(is_taken(operations, count), explained, "history %d", i);
        taken += explained;
        refused += !explained;
    }
    cr_assert_gt(taken, 10000);
    cr_assert_gt(refused, 10000);
}
