/* The most frequent of many keys: what Space-Saving promises, held against an exact count. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/tablet/frequent_keys.h"

#define KEYS 1000

static struct frequent_keys frequent;

static void setup(void)
{
    frequent_keys_init(&frequent);
}

static void teardown(void)
{
    frequent_keys_deinit(&frequent);
}

TestSuite(frequent_keys, .init = setup, .fini = teardown);

static void add(uint64_t key, double reads, double writes)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)key);
    frequent_keys_add(&frequent, bytes_of_text(text), reads, writes);
}

static uint64_t key_number(const struct frequent_key *key)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%.*s", (int)key->row.size_bytes,
                   (const char *)key->row.data);
    return strtoull(text, NULL, 10);
}

/* No count is less than is true, and less its error none is more. */
Test(frequent_keys, keep_what_space_saving_promises)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double truth[KEYS] = {0};
        const struct frequent_key *listed[FREQUENT_KEYS_COUNTERS];
        struct prng prng = prng_of_seed(seed);
        frequent_keys_forget(&frequent);
        for (int i = 0; i < 20000; i++) {
            uint64_t key = prng_below(&prng, 1 + prng_below(&prng, 1 + prng_below(&prng, KEYS)));
            double weight = (double)(1 + prng_below(&prng, 3));
            bool read = prng_chance(&prng, 2);
            add(key, read ? weight : 0, read ? 0 : weight);
            truth[key] += weight;
        }
        size_t count = frequent_keys_list(&frequent, -1e18, listed, FREQUENT_KEYS_COUNTERS);
        cr_assert_eq(count, FREQUENT_KEYS_COUNTERS);
        for (size_t i = 0; i < count; i++) {
            double counted = listed[i]->reads + listed[i]->writes;
            double true_one = truth[key_number(listed[i])];
            cr_assert(counted + 1e-6 >= true_one && counted - listed[i]->error <= true_one + 1e-6);
        }
    }
}

Test(frequent_keys, shares_are_sure_and_in_order)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double truth[KEYS] = {0};
        double total = 0;
        const struct frequent_key *listed[8];
        struct prng prng = prng_of_seed(seed);
        frequent_keys_forget(&frequent);
        for (int i = 0; i < 20000; i++) {
            uint64_t key = prng_chance(&prng, 4) ? prng_below(&prng, 3) : prng_below(&prng, KEYS);
            add(key, 1, 0);
            truth[key] += 1;
            total += 1;
        }
        size_t count = frequent_keys_list(&frequent, total / 100, listed, 8);
        cr_assert_eq(count, 3, "seed %lu: %zu", seed, count);
        for (size_t i = 0; i < count; i++) {
            double sure = listed[i]->reads - listed[i]->error;
            cr_assert_lt(key_number(listed[i]), 3);
            cr_assert_leq(sure, truth[key_number(listed[i])] + 1e-6);
            cr_assert_gt(sure, truth[key_number(listed[i])] - total / FREQUENT_KEYS_COUNTERS);
            cr_assert(i == 0 || sure <= listed[i - 1]->reads - listed[i - 1]->error);
        }
    }
}

Test(frequent_keys, decay_and_are_let_go)
{
    const struct frequent_key *listed[8];
    add(1, 10, 30);
    add(2, 1, 0);
    frequent_keys_decay(&frequent, 0.5);
    cr_assert_eq(frequent_keys_list(&frequent, 0.1, listed, 8), 2);
    cr_assert(key_number(listed[0]) == 1 && listed[0]->reads > 4.9 && listed[0]->writes < 15.1);
    frequent_keys_decay(&frequent, 0.01);
    cr_assert_eq(frequent_keys_list(&frequent, 0.001, listed, 8), 1);
    add(2, 9, 0);
    cr_assert_eq(frequent_keys_list(&frequent, 0.001, listed, 1), 1);
    cr_assert_eq(key_number(listed[0]), 2);
}

Test(frequent_keys, without_memory_a_key_is_not_counted)
{
    const struct frequent_key *listed[8];
    memory_fail_arm(0, 1);
    add(1, 5, 0);
    memory_fail_disarm();
    cr_assert_eq(frequent_keys_list(&frequent, 0.001, listed, 8), 0);
    add(1, 5, 0);
    cr_assert_eq(frequent_keys_list(&frequent, 0.001, listed, 8), 1);
}
