/*
 * The heat map against a simple account: random tables, tablets, points, sizes, pauses, sweeps and restores,
 * by seed.  However it is cut, joined, aged and shown, what is shown is what was reported.
 */
#include "tests/support/heat_loads.h"

#include <math.h>

#include "common/base/memory.h"

#define TABLES 3
#define STEPS  400

struct account {
    double operations[TABLES + 1];
    double bytes[TABLES + 1];
};

static char texts[LOAD_POINTS_MAX + 2][24];

static struct bytes random_key(struct prng *prng, size_t slot)
{
    static const char *const forms[] = {"u%05u", "METRIC#%05u#x", "%05u", "%c"};
    unsigned at = (unsigned)prng_below(prng, 90000);
    const char *form = forms[prng_below(prng, 4)];
    (void)snprintf(texts[slot], sizeof texts[slot], form[1] == 'c' ? "%u" : form, at);
    return bytes_of_text(texts[slot]);
}

static int by_key(const void *a, const void *b)
{
    return bytes_compare(((const struct load_point *)a)->row, ((const struct load_point *)b)->row);
}

/* Sound most of the time; now and then points that are not in order, or twice the same. */
static void random_report(struct prng *prng, struct account *account)
{
    const struct load_report head = {.elapsed_ns = 1000000000, .capacity_ns = 2000000000};
    struct load_point points[LOAD_POINTS_MAX];
    uint64_t table = 1 + prng_below(prng, TABLES);
    struct row_range range = {random_key(prng, LOAD_POINTS_MAX),
                              random_key(prng, LOAD_POINTS_MAX + 1)};
    size_t count = prng_below(prng, LOAD_POINTS_MAX + 1);

    if (prng_chance(prng, 2) || bytes_compare(range.start, range.end) >= 0) {
        range = (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
    }
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct load_point){
            .row = random_key(prng, i),
            .reads = prng_below(prng, 100),
            .writes = prng_chance(prng, 3) ? 0 : prng_below(prng, 100),
        };
    }
    if (!prng_chance(prng, 10)) {
        qsort(points, count, sizeof *points, by_key);
    }
    struct tablet_load load = {
        .tablet = 1 + prng_below(prng, 20),
        .figures = {.reads = prng_below(prng, 10000),
                    .writes = prng_below(prng, 10000),
                    .read_bytes = prng_below(prng, 1000000),
                    .write_bytes = prng_below(prng, 1000000),
                    .read_cpu_ns = prng_below(prng, 1000000)},
        .detail = {.points = points, .point_count = count},
    };
    struct located_report *report = located_report_create(1, &head, 1);
    cr_assert(located_report_add(report, table, &range, &load));
    heat_map_take(&heat_map, report, heat_now_us);
    located_report_destroy(report);
    account->operations[table] += (double)(load.figures.reads + load.figures.writes);
    account->bytes[table] += (double)(load.figures.read_bytes + load.figures.write_bytes);
}

static void random_sweep(struct prng *prng)
{
    heat_map_sweep_begin(&heat_map);
    for (uint64_t table = 1; table <= TABLES; table++) {
        struct bytes middle = random_key(prng, 0);
        const struct row_range low = {BYTES_EMPTY, middle};
        const struct row_range high = {middle, BYTES_EMPTY};
        heat_map_sweep(&heat_map, table, &low, prng_below(prng, 1 << 20));
        heat_map_sweep(&heat_map, table, &high, prng_below(prng, 1 << 20));
    }
    heat_map_sweep_end(&heat_map);
}

static void check(const struct account *account, uint64_t seed)
{
    for (uint64_t table = 1; table <= TABLES; table++) {
        if (heat_map_table(&heat_map, table) != NULL) {
            double operations = heat_total(table, HEAT_METRIC_OPS);
            double bytes = heat_total(table, HEAT_METRIC_BYTES);
            cr_assert(fabs(operations - account->operations[table]) < 1, "seed %llu: %f, not %f",
                      (unsigned long long)seed, operations, account->operations[table]);
            cr_assert(fabs(bytes - account->bytes[table]) < 1, "seed %llu: %f, not %f",
                      (unsigned long long)seed, bytes, account->bytes[table]);
            heat_rows_check(&heat_map_table(&heat_map, table)->rows);
        }
    }
}

static void run(uint64_t seed)
{
    struct prng prng = prng_of_seed(seed);
    struct account account = {0};
    static const int64_t pauses[] = {1, 3, 20, 90};

    heat_start();
    heat_map.rows_all_max = prng_chance(&prng, 2) ? HEAT_ROWS_ALL_MAX : 3 * 16;
    for (int step = 0; step < STEPS; step++) {
        random_report(&prng, &account);
        if (prng_chance(&prng, 3)) {
            heat_pass(pauses[prng_below(&prng, 4)]);
        }
        if (prng_chance(&prng, 10)) {
            random_sweep(&prng);
        }
        if (prng_chance(&prng, 40)) { /* a pause of up to a day */
            heat_now_us += (int64_t)prng_below(&prng, 86400) * HEAT_SECOND_US;
            for (int i = 0; i < 100; i++) {
                heat_map_age(&heat_map, heat_now_us, false);
            }
        }
    }
    heat_pass(70);
    check(&account, seed);
    heat_map_age(&heat_map, heat_now_us, true);
    check(&account, seed);
    heat_stop();
}

Test(heat_model, what_is_shown_is_what_was_reported, .timeout = 600)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        run(seed);
    }
}
