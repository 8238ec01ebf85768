/*
 * A server whose reports of load are nonsense: of tablets that it does not lead, or that there are not, twice, late, out of
 * order, with figures that nothing can have.  What is true of others stays so, and whoever asks gets an answer.
 */
#include "tests/support/catalog_load.h"

#include "common/base/prng.h"
#include "master/heat/heat_live.h"
#include "master/heat/heat_map.h"

TestSuite(catalog_lies, .init = start, .fini = stop, .timeout = 300);

#define TABLETS 12
#define ROUNDS  400

static struct prng prng;

/* Any number, and often one at an edge. */
static uint64_t any(void)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     1000,
                                     1000000000,
                                     UINT64_C(1) << 53,
                                     UINT64_C(1) << 54,
                                     UINT64_C(1) << 62,
                                     INT64_MAX,
                                     UINT64_MAX - 1,
                                     UINT64_MAX};
    uint64_t kind = prng_below(&prng, 4);
    return kind == 0   ? edges[prng_below(&prng, sizeof edges / sizeof *edges)]
           : kind == 1 ? prng_next(&prng)
                       : prng_below(&prng, 10000);
}

static struct load_figures any_figures(bool is_possible)
{
    struct load_figures figures = {any(), any(), any(), any(), any(), any(), any(),
                                   any(), any(), any(), any(), any(), any(), any()};
    if (is_possible) { /* of CPU time: the rest is not believed otherwise */
        figures.read_cpu_ns %= SECOND_CPU_NS / 20;
        figures.write_cpu_ns %= SECOND_CPU_NS / 20;
    }
    return figures;
}

static struct bytes any_row(void)
{
    static uint8_t rows[64][8];
    static size_t next;
    uint8_t *row = rows[next++ % 64];
    size_t size = prng_below(&prng, 8);
    for (size_t i = 0; i < size; i++) {
        row[i] = prng_chance(&prng, 2) ? 'a' : (uint8_t)prng_next(&prng);
    }
    return bytes_of(row, size);
}

struct lie {
    struct tablet_load tablets[TABLETS];
    struct load_point points[TABLETS][LOAD_POINTS_MAX];
    struct load_key keys[TABLETS][LOAD_KEYS_MAX];
};

static void make_lie(struct lie *lie, struct load_report *ret_report)
{
    struct locate_response where = driver_locate(&driver, "t", "");
    bool is_possible = prng_chance(&prng, 2);

    *ret_report = (struct load_report){
        .number = any(),
        .elapsed_ns = prng_chance(&prng, 2) ? 1000000000 : any(),
        .capacity_ns = is_possible ? SECOND_CPU_NS : any(),
        .tablets = lie->tablets,
        .tablet_count = prng_below(&prng, TABLETS + 1),
    };
    for (size_t i = 0; i < ret_report->tablet_count; i++) {
        const struct location *at = &where.locations[prng_below(&prng, where.location_count)];
        struct load_point *points = lie->points[i];
        struct load_key *keys = lie->keys[i];
        size_t point_count = prng_below(&prng, LOAD_POINTS_MAX + 1);
        size_t key_count = point_count == 0 ? 0 : prng_below(&prng, LOAD_KEYS_MAX + 1);
        for (size_t j = 0; j < point_count; j++) {
            points[j] = (struct load_point){j == 0 ? at->range.start : any_row(), any(), any(),
                                            any()};
        }
        for (size_t j = 0; j < key_count; j++) {
            keys[j] = (struct load_key){prng_chance(&prng, 2) ? at->range.start : any_row(), any(),
                                        any()};
        }
        lie->tablets[i] = (struct tablet_load){
            .tablet = prng_chance(&prng, 4) ? any() : at->tablet,
            .figures = any_figures(is_possible),
            .detail = {points, point_count, keys, key_count, any(), (uint32_t)any(), any()},
        };
    }
}

static void ask_all(void)
{
    struct buffer body = BUFFER_INIT;
    const struct list_hot_tablets_request hot = {0, INT64_MAX, any(), (uint32_t)any()};
    const struct list_hot_keys_request keys = {bytes_of_text("t"), (uint32_t)any()};
    const struct advise_request advice = {bytes_of_text("t")};
    list_hot_tablets_request_encode(&hot, &body);
    (void)driver_body(&driver, driver_send(&driver, METHOD_LIST_HOT_TABLETS, &body));
    list_hot_keys_request_encode(&keys, &body);
    (void)driver_body(&driver, driver_send(&driver, METHOD_LIST_HOT_KEYS, &body));
    advise_request_encode(&advice, &body);
    (void)driver_body(&driver, driver_send(&driver, METHOD_ADVISE, &body));
    (void)list_events("t", any());
    driver_forget_replies(&driver);
}

/* Everybody is told what is so; then one server tells anything. */
static void second_with_lie(size_t liar)
{
    static struct lie lie;
    struct load_report report;
    second();
    make_lie(&lie, &report);
    servers[liar].fake.load = report;
    (void)replica_sync(&driver, &servers[liar]);
    servers[liar].fake.load = (struct load_report){0};
}

Test(catalog_lies, nonsense_in_reports_ends_nothing)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        prng = prng_of_seed(seed);
        make_table(3);
        spread_load(24, 96);
        for (int i = 0; i < ROUNDS; i++) {
            second_with_lie(prng_below(&prng, SERVERS));
            if (i % 10 == 0) {
                ask_all();
            }
        }
        cr_assert_gt(count_tablets(), 0);
        stop();
        start();
    }
}
