/* What edubba-load computes: choosers of keys against their formulas, row keys, values. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/random.h"
#include "client/load/core/row_key.h"
#include "client/load/core/value.h"
#include "client/load/core/zipfian.h"

#define DRAWS 1000000

static double zeta_by_adding(uint64_t items, double theta)
{
    double sum = 0;
    for (uint64_t i = items; i >= 1; i--) {
        sum += pow((double)i, -theta);
    }
    return sum;
}

Test(load_zipfian, zeta_is_the_sum)
{
    const uint64_t items[] = {1, 2, 10, 999, 1000, 1001, 5000, 1000000};
    const double thetas[] = {0.2, 0.5, 0.99};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        for (size_t j = 0; j < sizeof thetas / sizeof thetas[0]; j++) {
            struct load_zipfian zipfian;
            load_zipfian_init(&zipfian, items[i], thetas[j]);
            double wanted = zeta_by_adding(items[i], thetas[j]);
            cr_assert(fabs(zipfian.zeta - wanted) < wanted * 1e-12, "%zu %zu", i, j);
        }
    }
}

Test(load_zipfian, zeta_is_what_ycsb_computed_in_advance)
{
    struct load_zipfian zipfian;
    load_scrambled_init(&zipfian, 0.99);
    cr_assert(fabs(zipfian.zeta - 26.46902820178302) < 1e-9, "%.15f", zipfian.zeta);
}

Test(load_zipfian, resize_is_the_same_as_new)
{
    struct load_zipfian resized;
    struct load_zipfian fresh;
    load_zipfian_init(&resized, 7, 0.99);
    load_zipfian_resize(&resized, 123456);
    load_zipfian_init(&fresh, 123456, 0.99);
    cr_assert(memcmp(&resized, &fresh, sizeof fresh) == 0);
}

/* The share of items below k is zeta(k) / zeta(n), exactly for the first two. */
Test(load_zipfian, draws_follow_the_formula)
{
    static uint64_t counts[1000];
    struct load_zipfian zipfian;
    uint64_t state = 1;
    double below = 0;
    load_zipfian_init(&zipfian, 1000, 0.99);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t item = load_zipfian_item(&zipfian, load_random_unit(&state));
        cr_assert(item < 1000);
        counts[item]++;
    }
    for (uint64_t k = 0; k < 1000; k++) {
        double wanted = zeta_by_adding(k + 1, 0.99) / zipfian.zeta;
        below += (double)counts[k] / DRAWS;
        cr_assert(fabs(below - wanted) < (k < 2 ? 0.002 : 0.025), "item %d: %f, not %f", (int)k,
                  below, wanted);
    }
}

Test(load_zipfian, edges)
{
    struct load_zipfian zipfian;
    for (uint64_t items = 1; items < 5; items++) {
        load_zipfian_init(&zipfian, items, 0.99);
        for (double u = 0; u < 1; u += 0x1p-10) {
            cr_assert(load_zipfian_item(&zipfian, u) < items);
        }
        cr_assert(load_zipfian_item(&zipfian, 1 - 0x1p-53) < items);
    }
}

Test(load_zipfian, scrambled_is_skewed_and_scattered)
{
    static uint64_t counts[1000];
    struct load_zipfian zipfian;
    uint64_t state = 2;
    uint64_t most = 0;
    uint64_t first_half = 0;
    load_scrambled_init(&zipfian, 0.99);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t item = load_scrambled_item(&zipfian, 1000, load_random_unit(&state));
        cr_assert(item < 1000);
        counts[item]++;
        first_half += item < 500 ? 1 : 0;
    }
    for (size_t i = 0; i < 1000; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    /* The most popular has 1 / zeta(10^10) = 3.8 % and some of the rest. */
    cr_assert(most > DRAWS / 100 * 3 && most < DRAWS / 100 * 5);
    cr_assert(first_half > DRAWS / 10 * 3 && first_half < DRAWS / 10 * 7);
}

/* By YCSB's own words: offset basis and prime of FNV-1a, low byte first, made positive. */
Test(load_zipfian, fnv_of_zero_and_one)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (int i = 0; i < 8; i++) {
        hash *= UINT64_C(1099511628211);
    }
    cr_assert(load_fnv(0) == (uint64_t)llabs((long long)hash));
    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert(load_fnv(i) <= INT64_MAX);
    }
}

/* --- row keys --------------------------------------------------------------------------------- */

static const char *key_text(enum load_key_form form, uint64_t hosts, uint64_t number)
{
    static char text[LOAD_ROW_KEY_BYTES_MAX + 1];
    size_t size = load_row_key(form, hosts, number, (uint8_t *)text);
    text[size] = '\0';
    return text;
}

Test(load_row_key, forms)
{
    cr_assert_str_eq(key_text(LOAD_KEY_ORDERED, 1, 42), "0000000000000042");
    cr_assert_str_eq(key_text(LOAD_KEY_COUNTER, 1, 7), "sum#000000000007");
    cr_assert_str_eq(key_text(LOAD_KEY_SERIES, 10, 0), "server1.bbb.com#1426535612045");
    cr_assert_str_eq(key_text(LOAD_KEY_SERIES, 10, 23), "server4.bbb.com#1426535614045");
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "user%llu", (unsigned long long)load_fnv(5));
    cr_assert_str_eq(key_text(LOAD_KEY_HASHED, 1, 5), wanted);
    cr_assert_str_eq(key_text(LOAD_KEY_ORDERED, 1, UINT64_MAX), "18446744073709551615");
}

Test(load_row_key, parse_is_the_inverse)
{
    const enum load_key_form forms[] = {LOAD_KEY_ORDERED, LOAD_KEY_COUNTER};
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t number = 0; number < 100000; number += 777) {
            uint64_t back = 0;
            size_t size = load_row_key(forms[i], 1, number, key);
            cr_assert(load_row_key_parse(forms[i], key, size, &back) && back == number);
            cr_assert_not(load_row_key_parse(forms[i], key, size - 1, &back));
            cr_assert_not(load_row_key_parse(forms[1 - i], key, size, &back));
        }
    }
}

/* Each part has about its share of the rows. */
static void expect_even(enum load_key_form form, uint64_t hosts)
{
    enum {
        PARTS = 8,
        RECORDS = 80000
    };
    uint8_t splits[PARTS][LOAD_ROW_KEY_BYTES_MAX];
    size_t sizes[PARTS] = {0};
    uint64_t rows[PARTS] = {0};
    for (uint64_t i = 1; i < PARTS; i++) {
        sizes[i] = load_row_key_split(form, hosts, RECORDS, i, PARTS, splits[i]);
    }
    for (uint64_t n = 0; n < RECORDS; n++) {
        uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
        size_t size = load_row_key(form, hosts, n, key);
        size_t part = PARTS - 1;
        while (part > 0) {
            size_t common = size < sizes[part] ? size : sizes[part];
            int order = memcmp(key, splits[part], common);
            if (order > 0 || (order == 0 && size >= sizes[part])) {
                break;
            }
            part--;
        }
        rows[part]++;
    }
    for (size_t i = 0; i < PARTS; i++) {
        cr_assert(rows[i] > RECORDS / PARTS / 2 && rows[i] < RECORDS / PARTS * 2,
                  "form %d part %zu has %d", (int)form, i, (int)rows[i]);
    }
}

Test(load_row_key, splits_are_even)
{
    expect_even(LOAD_KEY_ORDERED, 1);
    expect_even(LOAD_KEY_HASHED, 1);
    expect_even(LOAD_KEY_SERIES, 10000);
}

/* --- values ----------------------------------------------------------------------------------- */

static uint8_t pool[2 * LOAD_VALUE_POOL_BYTES];

Test(load_value, every_change_of_a_byte_shows)
{
    const size_t sizes[] = {1, 7, 8, 9, 15, 16, 17, 100, 1000};
    load_value_pool_fill(pool);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t value[1000];
        load_value_make(pool, 11, 22, 33, value, sizes[i]);
        cr_assert(load_value_is_right(pool, 11, 22, value, sizes[i]));
        for (size_t at = 0; at < sizes[i]; at++) {
            value[at] ^= 1;
            cr_assert_not(load_value_is_right(pool, 11, 22, value, sizes[i]), "%zu of %zu", at,
                          sizes[i]);
            value[at] ^= 1;
        }
    }
}

Test(load_value, belongs_to_its_row_and_field_and_size)
{
    uint8_t value[100];
    load_value_pool_fill(pool);
    load_value_make(pool, 11, 22, 33, value, sizeof value);
    cr_assert_not(load_value_is_right(pool, 12, 22, value, sizeof value));
    cr_assert_not(load_value_is_right(pool, 11, 23, value, sizeof value));
    cr_assert_not(load_value_is_right(pool, 11, 22, value, sizeof value - 1));
    cr_assert_not(load_value_is_right(pool, 11, 22, value, 8));
}

Test(load_value, versions_differ_and_all_are_right)
{
    uint8_t one[64];
    uint8_t two[64];
    load_value_pool_fill(pool);
    load_value_make(pool, 5, 6, 1, one, sizeof one);
    load_value_make(pool, 5, 6, 2, two, sizeof two);
    cr_assert(memcmp(one, two, sizeof one) != 0);
    cr_assert(load_value_is_right(pool, 5, 6, two, sizeof two));
}

Test(load_value, larger_than_the_pool)
{
    size_t size = 3 * LOAD_VALUE_POOL_BYTES + 5;
    uint8_t *value = malloc(size);
    load_value_pool_fill(pool);
    load_value_make(pool, 1, 2, 3, value, size);
    cr_assert(load_value_is_right(pool, 1, 2, value, size));
    value[size - 1] ^= 0x80;
    cr_assert_not(load_value_is_right(pool, 1, 2, value, size));
    free(value);
}
