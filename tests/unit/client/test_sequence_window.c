/* The lowest unfinished number, against a plain list of flags. */
#include <criterion/criterion.h>
#include <string.h>

#include "client/core/sequence_window.h"
#include "common/base/memory.h"
#include "common/base/prng.h"

Test(sequence_window, starts_at_one_and_nothing_is_unfinished)
{
    struct sequence_window window;
    sequence_window_init(&window);
    cr_assert_eq(sequence_window_lowest_unfinished(&window), 1);
    sequence_window_deinit(&window);
}

Test(sequence_window, the_oldest_one_holds_the_mark)
{
    struct sequence_window window;
    uint64_t sequence = 0;
    sequence_window_init(&window);
    for (uint64_t i = 1; i <= 5; i++) {
        cr_assert_eq(sequence_window_begin(&window, &sequence), STATUS_OK);
        cr_assert_eq(sequence, i);
    }
    sequence_window_finish(&window, 2);
    sequence_window_finish(&window, 3);
    cr_assert_eq(sequence_window_lowest_unfinished(&window), 1);
    sequence_window_finish(&window, 1);
    cr_assert_eq(sequence_window_lowest_unfinished(&window), 4);
    sequence_window_finish(&window, 5);
    sequence_window_finish(&window, 4);
    cr_assert_eq(sequence_window_lowest_unfinished(&window), 6);
    sequence_window_deinit(&window);
}

#define STEPS 200000

/* One number stays for long while thousands pass: the ring must grow and lose nothing. */
Test(sequence_window, agrees_with_a_list_of_flags)
{
    static uint8_t finished[STEPS + 2];
    static uint64_t open[STEPS];
    struct sequence_window window;
    struct prng prng = prng_of_seed(7);
    size_t open_count = 0;
    uint64_t lowest = 1;
    uint64_t next = 1;

    sequence_window_init(&window);
    for (int i = 0; i < STEPS; i++) {
        bool begin = open_count == 0 || (open_count < 5000 && prng_chance(&prng, 2));
        if (begin) {
            uint64_t sequence = 0;
            cr_assert_eq(sequence_window_begin(&window, &sequence), STATUS_OK);
            cr_assert_eq(sequence, next);
            open[open_count++] = next++;
        } else {
            /* Mostly the younger ones. */
            size_t at = prng_chance(&prng, 50) ? 0 : (size_t)prng_below(&prng, open_count);
            finished[open[at]] = 1;
            sequence_window_finish(&window, open[at]);
            open[at] = open[--open_count];
        }
        while (lowest < next && finished[lowest]) {
            lowest++;
        }
        cr_assert_eq(sequence_window_lowest_unfinished(&window), lowest);
    }
    sequence_window_deinit(&window);
}

/* Runs of numbers, begun and finished as runs or one by one, beside single ones. */
Test(sequence_window, runs_of_numbers_agree_with_a_list_of_flags)
{
    enum {
        ROUNDS = 4000,
        LONGEST = 300
    };
    static uint8_t finished[ROUNDS * LONGEST];
    static struct {
        uint64_t first;
        uint64_t count;
    } open[64];
    struct sequence_window window;
    struct prng prng = prng_of_seed(11);
    size_t open_count = 0;
    uint64_t lowest = 1;
    uint64_t next = 1;

    sequence_window_init(&window);
    for (int i = 0; i < ROUNDS; i++) {
        if (open_count < 64 && prng_chance(&prng, 2)) {
            uint64_t first = 0;
            uint64_t count = prng_chance(&prng, 4) ? 64 * prng_below(&prng, 4)
                                                   : prng_below(&prng, LONGEST);
            cr_assert_eq(sequence_window_begin_many(&window, count, &first), STATUS_OK);
            cr_assert_eq(first, next);
            open[open_count].first = first;
            open[open_count++].count = count;
            next += count;
        } else if (open_count > 0) {
            size_t at = prng_chance(&prng, 20) ? 0 : (size_t)prng_below(&prng, open_count);
            uint64_t first = open[at].first;
            uint64_t count = open[at].count;
            memset(finished + first, 1, count);
            if (prng_chance(&prng, 3)) {
                for (uint64_t n = first; n < first + count; n++) {
                    sequence_window_finish(&window, n);
                }
            } else {
                sequence_window_finish_many(&window, first, count);
            }
            open[at] = open[--open_count];
        }
        while (lowest < next && finished[lowest]) {
            lowest++;
        }
        cr_assert_eq(sequence_window_lowest_unfinished(&window), lowest);
    }
    sequence_window_deinit(&window);
}

Test(sequence_window, without_memory_nothing_is_begun)
{
    struct sequence_window window;
    uint64_t sequence = 0;
    sequence_window_init(&window);
    memory_fail_arm(0, 1);
    cr_assert_eq(sequence_window_begin(&window, &sequence), STATUS_NO_MEMORY);
    cr_assert_eq(sequence_window_begin_many(&window, 1000, &sequence), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_eq(sequence_window_begin(&window, &sequence), STATUS_OK);
    cr_assert_eq(sequence, 1);
    sequence_window_deinit(&window);
}
