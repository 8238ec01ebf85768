/* A catalog that was emptied, or put back from an old copy, is found out before it costs anything. */
#include "master/core/record/record.h"
#include "master/shell/catalog_succeed.h"
#include "tests/support/catalog_fixture.h"

TestSuite(identity, .init = start, .fini = stop, .timeout = 300);

/* --- helpers ---------------------------------------------------------------------------------- */

/* As tablet servers do, of all that they were told. */
static void remember(void)
{
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < servers[i].store_count; j++) {
            servers[i].stores[j].catalog = servers[i].known_generation;
            servers[i].stores[j].catalog_version = servers[i].known_version;
        }
    }
}

static enum status copy_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    const struct catalog_put put = {key, value, false};
    return coordinator_commit(context, &put, 1, ret_error);
}

static struct coordinator *make_catalog(uint64_t generation)
{
    const struct coordinator_identity identity = {DRIVER_CLUSTER, generation};
    struct coordinator *made = NULL;
    cr_assert_eq(coordinator_create_memory(&identity, &made, NULL), STATUS_OK);
    return made;
}

static struct coordinator *copy_catalog(void)
{
    struct coordinator *copy = make_catalog(DRIVER_GENERATION);
    cr_assert_eq(coordinator_load(driver.coordinator, copy_record, copy, NULL), STATUS_OK);
    return copy;
}

/* A master starts on that one; the one before is what is returned. */
static struct coordinator *serve_from(struct coordinator *coordinator)
{
    struct coordinator *before = driver.coordinator;
    driver.coordinator = coordinator;
    driver_crash(&driver);
    driver_forget_replies(&driver);
    return before;
}

/* Nobody is told to drop or make anything, and all say why. */
static void assert_refused(const char *why)
{
    for (size_t i = 0; i < 3; i++) {
        uint64_t request = fake_send(&driver, &servers[i]);
        driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, why);
        driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "catalog 77");
        cr_assert_str_eq(driver.last_note, "catalog_refused");
    }
    uint64_t request = driver_create(&driver, "new", NULL, 0);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, why);
    struct catalog_counts counts;
    catalog_counts(driver.catalog, &counts);
    cr_assert(counts.disputed);
    cr_assert_eq(counts.servers_alive, 0);
}

static size_t count_held(void)
{
    return servers[0].held_count + servers[1].held_count + servers[2].held_count;
}

static void assert_serves(const char *table)
{
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_locate(&driver, table, "").locations[0].state, TABLET_SERVING);
    struct catalog_counts counts;
    catalog_counts(driver.catalog, &counts);
    cr_assert_not(counts.disputed);
}

/* --- refusals --------------------------------------------------------------------------------- */

Test(identity, an_older_copy_is_refused_and_the_newest_goes_on)
{
    make_table("a", NULL, 0);
    struct coordinator *old = copy_catalog();
    const char *splits[] = {"g", "p"};
    make_table("b", splits, 2);
    remember();
    struct coordinator *newest = serve_from(old);
    assert_refused("is an old one");
    driver_pass(&driver, 60 * SECOND_NS);
    assert_refused("is an old one");
    cr_assert_eq(count_held(), 4);
    coordinator_close(serve_from(newest));
    assert_serves("b");
    cr_assert_eq(count_held(), 4);
}

/* Found out by one store alone, and for good: who was told less does not make it the right one. */
Test(identity, one_store_that_was_told_more_is_enough)
{
    make_table("a", NULL, 0);
    servers[2].stores[0].catalog = DRIVER_GENERATION;
    servers[2].stores[0].catalog_version = servers[2].known_version + 1;
    fake_sync(&driver, &servers[0]);
    uint64_t request = fake_send(&driver, &servers[2]);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "is an old one");
    fake_sync(&driver, &servers[0]);
    request = driver_put_document(&driver, bytes_of_text("d"), bytes_of_text("x"), 0);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "is an old one");
}

Test(identity, an_empty_catalog_is_refused)
{
    make_table("a", NULL, 0);
    remember();
    struct coordinator *right = serve_from(make_catalog(5));
    assert_refused("belongs to catalog 77; this master has catalog 5");
    cr_assert_eq(count_held(), 1);
    coordinator_close(serve_from(right));
    assert_serves("a");
    cr_assert_eq(count_held(), 1);
}

/* From before stores kept it; but numbers tell. */
Test(identity, a_number_that_was_never_given_tells_another_catalog)
{
    make_table("a", NULL, 0);
    fake_hold(&servers[0], 999, 10, HELD_SERVING);
    uint64_t request = fake_send(&driver, &servers[0]);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "tablet 999");
    fake_sync(&driver, &servers[1]);
    cr_assert_not_null(fake_held(&servers[0], 999));
}

Test(identity, a_disk_of_another_cluster_stops_its_server_alone)
{
    make_table("a", NULL, 0);
    remember();
    servers[1].stores[1] = (struct store_information){.number = 999, .catalog = 4};
    servers[1].store_count = 2;
    uint64_t request = fake_send(&driver, &servers[1]);
    driver_assert_refused(&driver, request, STATUS_FAILED_PRECONDITION, "store 999");
    fake_sync(&driver, &servers[0]);
    (void)driver_locate(&driver, "a", "");
}

/* A server that is refused asks again at once; the log is for people. */
Test(identity, refusals_are_noted_now_and_then)
{
    make_table("a", NULL, 0);
    remember();
    coordinator_close(serve_from(make_catalog(5)));
    size_t before = driver.notes;
    for (int i = 0; i < 300; i++) {
        (void)fake_send(&driver, &servers[0]);
        driver_forget_replies(&driver);
        driver_pass(&driver, SECOND_NS / 10);
    }
    cr_assert_geq(driver.notes - before, 3);
    cr_assert_leq(driver.notes - before, 4);
}

/* --- the order to succeed --------------------------------------------------------------------- */

static struct sync_response sync_of(struct fake_server *server)
{
    struct sync_response response;
    uint64_t sync = fake_send(&driver, server);
    cr_assert_eq(sync_response_decode(driver_body(&driver, sync), &driver.arena, &response, NULL),
                 STATUS_OK);
    server->known_version = response.version;
    server->known_generation = response.generation;
    return response;
}

static void succeed(uint64_t lost)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(catalog_succeed(driver.coordinator, lost, &error), STATUS_OK, "%s", error.text);
    driver_crash(&driver);
}

/* Whoever belongs to the lost one is let in, nothing that is not known is dropped, and no number comes
 * a second time. */
static void assert_succeeds(uint64_t lost)
{
    driver.settings.keep_outsiders_ns = 0;
    succeed(lost);
    succeed(lost); /* ordered still: done once */
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 3; i++) {
            struct sync_response response = sync_of(&servers[i]);
            cr_assert_eq(response.predecessor, lost);
            cr_assert_neq(response.generation, lost);
            for (size_t j = 0; j < response.tablet_count; j++) {
                cr_assert_not(response.tablets[j].removed);
            }
        }
        driver_pass(&driver, 2 * SECOND_NS);
    }
    cr_assert_str_eq(driver.last_note, "tablet_unknown");
    (void)driver_create(&driver, "new", NULL, 0);
    struct locate_response where = driver_locate(&driver, "new", "");
    cr_assert_gt(where.locations[0].tablet, UINT64_C(1) << 32);
    cr_assert_lt(where.locations[0].tablet, UINT64_C(2) << 32);
    cr_assert_gt(where.table.number, UINT64_C(1) << 32);
}

Test(identity, an_empty_catalog_succeeds_a_lost_one_when_it_is_ordered)
{
    const char *splits[] = {"g", "p"};
    make_table("a", splits, 2);
    remember();
    coordinator_close(serve_from(make_catalog(5)));
    assert_succeeds(DRIVER_GENERATION);
}

Test(identity, an_older_copy_succeeds_the_lost_one_when_it_is_ordered)
{
    make_table("a", NULL, 0);
    struct coordinator *old = copy_catalog();
    const char *splits[] = {"g", "p"};
    make_table("b", splits, 2);
    remember();
    coordinator_close(serve_from(old));
    assert_succeeds(DRIVER_GENERATION);
    cr_assert_eq(driver_locate(&driver, "a", "").locations[0].state, TABLET_SERVING);
}

/* --- what went before the master's process began ------------------------------------------------ */

static uint64_t tablet_at(const char *row)
{
    return driver_locate(&driver, "t", row).locations[0].tablet;
}

/* A tablet that was split, and its children were split: nobody knows any more what it was. */
static uint64_t make_forgotten(void)
{
    make_table("t", NULL, 0);
    uint64_t root = tablet_at("");
    static const char *const cuts[] = {"h", "d", "q"};
    for (size_t i = 0; i < 3; i++) {
        (void)driver_split(&driver, "t", cuts[i]);
        fakes_settle(&driver, servers, 3);
        driver_forget_replies(&driver);
    }
    driver_crash(&driver);
    return root;
}

static void settle_for(int64_t ns)
{
    for (int64_t end_ns = driver.now_ns + ns; driver.now_ns < end_ns;) {
        fakes_settle(&driver, servers, 3);
        driver_pass(&driver, SECOND_NS);
        driver_forget_replies(&driver);
    }
}

Test(identity, a_copy_that_was_forgotten_goes_when_all_that_there_is_stands_well)
{
    driver.settings.keep_outsiders_ns = 20 * SECOND_NS;
    uint64_t root = make_forgotten();
    uint64_t server = driver_locate(&driver, "t", "").locations[0].server;
    struct fake_server *other = &servers[server % 3];
    fake_hold(other, root, other->stores[0].number, HELD_SERVING);
    settle_for(18 * SECOND_NS);
    cr_assert_not_null(fake_held(other, root), "not all have stood for so long");
    settle_for(6 * SECOND_NS);
    cr_assert_null(fake_held(other, root));
}

Test(identity, nothing_forgotten_goes_while_a_tablet_is_away)
{
    driver.settings.keep_outsiders_ns = SECOND_NS;
    uint64_t root = make_forgotten();
    struct location where = driver_locate(&driver, "t", "").locations[0];
    struct fake_server *other = &servers[where.server % 3];
    struct held_tablet lost = *fake_held(&servers[where.server - 1], where.tablet);
    fake_drop(&servers[where.server - 1], where.tablet);
    fake_hold(other, root, other->stores[0].number, HELD_SERVING);
    settle_for(20 * SECOND_NS);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_UNAVAILABLE);
    cr_assert_not_null(fake_held(other, root));
    fake_hold(&servers[where.server - 1], lost.tablet, lost.store, HELD_SERVING);
    settle_for(10 * SECOND_NS);
    cr_assert_null(fake_held(other, root));
}
