/* A server's CPU time shared out among its tablets, and the counters that it is shared by. */
#include <criterion/criterion.h>

#include "tabletserver/tablet/load_share.h"

#define MS UINT64_C(1000000)

static const struct load_write_counts ONE_WRITE = {.writes = 1000, .cells = 1000, .bytes = 100000};

static bool is_about(uint64_t got, uint64_t wanted)
{
    return got + 2 >= wanted && got <= wanted + 2; /* rounded down, twice */
}

static void share(uint64_t requests_ns,
                  uint64_t first_loop_ns,
                  uint64_t second_loop_ns,
                  struct load_item *items,
                  size_t count)
{
    const uint64_t loops[] = {first_loop_ns, second_loop_ns};
    const struct load_period period = {requests_ns, loops, 2};
    load_share(&period, items, count);
}

/* --- sharing ---------------------------------------------------------------------------------- */

Test(load_share, a_loops_time_goes_to_those_it_wrote_for)
{
    struct load_item items[] = {
        {.loop = 0, .counts = {.write = ONE_WRITE}},
        {.loop = 0, .counts = {.write = {.writes = 3000, .cells = 3000, .bytes = 300000}}},
        {.loop = 1, .counts = {.write = ONE_WRITE}},
    };
    share(6 * MS, 4 * MS, 2 * MS, items, 3);
    cr_assert(is_about(items[0].write_cpu_ns, 1 * MS), "%llu",
              (unsigned long long)items[0].write_cpu_ns);
    cr_assert(is_about(items[1].write_cpu_ns, 3 * MS));
    cr_assert(is_about(items[2].write_cpu_ns, 2 * MS), "a store's own loop");
    cr_assert_eq(items[0].read_cpu_ns, 0);
}

Test(load_share, what_answers_and_logs_goes_along)
{
    struct load_item items[] = {
        {.loop = 0, .counts = {.write = ONE_WRITE}},
        {.loop = 0, .counts = {.read = {.reads = 10, .busy_ns = 3 * MS}}},
    };
    share(16 * MS, 1 * MS, 0, items, 2); /* 1 + 3 ms were seen, 12 more go along */
    cr_assert(is_about(items[0].write_cpu_ns, 4 * MS));
    cr_assert(is_about(items[1].read_cpu_ns, 12 * MS));
}

Test(load_share, time_in_which_threads_only_waited_counts_less)
{
    struct load_item items[] = {
        {.loop = 0, .counts = {.write = ONE_WRITE}},
        {.loop = 0, .counts = {.read = {.reads = 10, .busy_ns = 30 * MS}}},
        {.loop = 0, .counts = {.read = {.reads = 10, .busy_ns = 10 * MS}}},
    };
    /* 40 ms by the clock on the wall, where 4 ms of CPU time were left beside the loop's */
    share(8 * MS, 4 * MS, 0, items, 3);
    cr_assert(is_about(items[0].write_cpu_ns, 4 * MS));
    cr_assert(is_about(items[1].read_cpu_ns, 3 * MS));
    cr_assert(is_about(items[2].read_cpu_ns, 1 * MS));
}

Test(load_share, a_write_that_reads_first_is_a_write)
{
    struct load_item items[] = {
        {.loop = 0, .counts = {.read = {.evaluate_ns = 2 * MS}, .write = ONE_WRITE}},
        {.loop = 0, .counts = {.write = ONE_WRITE}},
    };
    share(4 * MS, 2 * MS, 0, items, 2);
    cr_assert(is_about(items[0].write_cpu_ns, 3 * MS));
    cr_assert(is_about(items[1].write_cpu_ns, 1 * MS));
    cr_assert_eq(items[0].read_cpu_ns, 0);
}

Test(load_share, one_read_is_not_charged_for_idling)
{
    struct load_item items[] = {{.loop = 0, .counts = {.read = {.reads = 1, .busy_ns = 1000}}}};
    share(50 * MS, 0, 0, items, 1);
    cr_assert_eq(items[0].read_cpu_ns, 1000 * LOAD_SHARE_TIMES_MAX);
}

Test(load_share, nothing_was_used_or_done)
{
    struct load_item items[] = {
        {.loop = 0, .counts = {.read = {.reads = 1, .busy_ns = 1000}, .write = ONE_WRITE}},
        {.loop = 1},
    };
    share(0, 0, 0, items, 2);
    cr_assert_eq(items[0].read_cpu_ns + items[0].write_cpu_ns, 0);
    share(50 * MS, 10 * MS, 10 * MS, items, 0);
    share(50 * MS, 10 * MS, 10 * MS, &items[1], 1);
    cr_assert_eq(items[1].read_cpu_ns + items[1].write_cpu_ns, 0);
}

/* Whatever was counted: no more is given than was used, and it does not overflow. */
Test(load_share, never_more_than_was_used)
{
    uint64_t state = 88172645463325252;
    for (int round = 0; round < 5000; round++) {
        struct load_item items[7];
        uint64_t figures[7 * 5 + 3];
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            figures[i] = state >> (14 + state % 50);
        }
        for (size_t i = 0; i < 7; i++) {
            const uint64_t *own = &figures[i * 5];
            items[i] = (struct load_item){
                .loop = (uint32_t)(i % 2),
                .counts = {.read = {.reads = 1, .busy_ns = own[0], .evaluate_ns = own[1]},
                           .write = {own[2], own[3], own[4]}},
            };
        }
        share(figures[35], figures[36], figures[37], items, 7);
        uint64_t given = 0;
        for (size_t i = 0; i < 7; i++) {
            given += items[i].read_cpu_ns + items[i].write_cpu_ns;
        }
        cr_assert_leq((double)given, (double)figures[35] * (1 + 1e-9) + 16);
    }
}

/* --- counters --------------------------------------------------------------------------------- */

Test(load_counters, times_add_up_and_the_longest_is_since_the_last_report)
{
    static struct load_counters counters;
    load_counters_add_read(
        &counters, &(struct load_read_counts){.wait_ns = 1, .latency_ns = 5, .latency_max_ns = 5});
    load_counters_add_read(
        &counters, &(struct load_read_counts){.wait_ns = 2, .latency_ns = 3, .latency_max_ns = 3});
    load_counters_add_write(&counters, &(struct load_write_counts){.wait_ns = 7});
    load_counters_add_write(&counters,
                            &(struct load_write_counts){.latency_ns = 30, .latency_max_ns = 20});
    struct load_counts taken = load_counters_take(&counters);
    cr_assert(taken.read.wait_ns == 3 && taken.read.latency_ns == 8);
    cr_assert_eq(taken.read.latency_max_ns, 5);
    cr_assert(taken.write.wait_ns == 7 && taken.write.latency_ns == 30);
    cr_assert_eq(taken.write.latency_max_ns, 20);
    load_counters_add_read(&counters,
                           &(struct load_read_counts){.latency_ns = 2, .latency_max_ns = 2});
    taken = load_counters_take(&counters);
    cr_assert(taken.read.latency_ns == 2 && taken.read.latency_max_ns == 2);
    cr_assert_eq(taken.write.latency_max_ns, 0);
}

Test(load_counters, are_taken_once)
{
    static struct load_counters counters;
    const struct load_read_counts read = {.reads = 2, .rows = 3, .bytes = 5, .busy_ns = 7};
    load_counters_add_read(&counters, &read);
    load_counters_add_read(&counters, &(struct load_read_counts){.evaluate_ns = 11});
    load_counters_add_write(&counters, &(struct load_write_counts){13, 17, 19});
    struct load_counts taken = load_counters_take(&counters);
    cr_assert_eq(taken.read.reads, 2);
    cr_assert_eq(taken.read.rows, 3);
    cr_assert_eq(taken.read.bytes, 5);
    cr_assert_eq(taken.read.busy_ns, 7);
    cr_assert_eq(taken.read.evaluate_ns, 11);
    cr_assert_eq(taken.write.writes, 13);
    cr_assert_eq(taken.write.cells, 17);
    cr_assert_eq(taken.write.bytes, 19);
    load_counters_add_write(&counters, &(struct load_write_counts){1, 1, 1});
    taken = load_counters_take(&counters);
    cr_assert_eq(taken.read.reads + taken.read.busy_ns, 0);
    cr_assert_eq(taken.write.writes, 1);
    cr_assert_eq(load_counters_get(&counters).write.writes, 14, "and are kept all the same");
}
