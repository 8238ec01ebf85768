/* The load meter by itself: when there is a report, and that a told one is another. */
#include "tabletserver/serve/load/load_meter.h"

#include "common/base/memory.h"
#include "tabletserver/serve/server.h"
#include "tests/support/store_fixture.h"

#define SECOND_NS INT64_C(1000000000)
#define TABLETS   40 /* more than there is room for beside one */

static struct fixture fixture;
static struct server server;
static struct load_meter *meter;

static void serve(uint64_t tablet, const char *start, const char *end)
{
    const struct served served = {.table = 1,
                                  .tablet = fixture_create(&fixture, tablet, start, end)};
    cr_assert_eq(served_map_replace(server.served, NULL, &served, 1), STATUS_OK);
}

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    cr_assert_eq(served_map_create(&server.served), STATUS_OK);
    cr_assert_eq(load_sampling_create(1, &server.sampling), STATUS_OK);
    serve(1, "", "100");
    cr_assert_eq(load_meter_create(&server, &meter), STATUS_OK);
}

static void teardown(void)
{
    load_meter_destroy(meter);
    served_map_destroy(server.served);
    load_sampling_destroy(server.sampling);
    fixture_deinit(&fixture);
}

TestSuite(load_meter, .init = setup, .fini = teardown);

Test(load_meter, a_report_is_told_or_grows_old_before_there_is_another)
{
    cr_assert_eq(load_meter_report(meter).number, 0);
    load_meter_tick(meter, 100 * SECOND_NS);
    cr_assert_eq(load_meter_report(meter).number, 1);
    load_meter_tick(meter, 101 * SECOND_NS);
    cr_assert_eq(load_meter_report(meter).number, 1);
    load_meter_told(meter, 1);
    cr_assert_eq(load_meter_report(meter).number, 0);
    load_meter_tick(meter, 102 * SECOND_NS);
    cr_assert_eq(load_meter_report(meter).number, 2);
    cr_assert_eq(load_meter_report(meter).elapsed_ns, 2 * SECOND_NS);
    load_meter_tick(meter, 102 * SECOND_NS + LOAD_REPORT_AGE_MAX_NS + 1);
    cr_assert_eq(load_meter_report(meter).number, 3);
    load_meter_told(meter, 2); /* too late */
    cr_assert_eq(load_meter_report(meter).number, 3);
}

/* Seen by the address sanitizer: what it points to must be there for as long as it goes along with
 * each sync. */
Test(load_meter, a_report_that_waits_outlives_a_lack_of_memory)
{
    load_meter_tick(meter, 100 * SECOND_NS);
    for (uint64_t i = 0; i < TABLETS; i++) {
        char start[8];
        char end[8];
        (void)snprintf(start, sizeof start, "%u", 100 + (unsigned)i);
        (void)snprintf(end, sizeof end, "%u", 101 + (unsigned)i);
        serve(2 + i, start, end);
    }
    int64_t late_ns = 100 * SECOND_NS + LOAD_REPORT_AGE_MAX_NS + 1;
    for (uint64_t after = 0; after < 4; after++) {
        memory_fail_arm(after, 0);
        load_meter_tick(meter, late_ns);
        memory_fail_disarm();
        struct load_report report = load_meter_report(meter);
        struct tablet_load first;
        cr_assert_eq(report.number, 1);
        memcpy(&first, report.tablets, sizeof first);
    }
    load_meter_tick(meter, late_ns);
    cr_assert_eq(load_meter_report(meter).number, 2);
}
