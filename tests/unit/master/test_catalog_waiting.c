/* What is said of changes that are made, while what was promised besides is still to come. */
#include "tests/support/catalog_fixture.h"

TestSuite(waiting, .init = start, .fini = stop, .timeout = 300);

static void lose(uint64_t server)
{
    servers[server - 1].held_count = 0;
    servers[server - 1].idle = true; /* it makes nothing either */
}

static void let_time_run_out(void)
{
    for (int i = 0; i < 40; i++) {
        for (size_t j = 0; j < 3; j++) {
            if (!servers[j].idle || servers[j].held_count == 0) {
                fake_sync(&driver, &servers[j]);
            }
        }
        driver_pass(&driver, SECOND_NS);
    }
}

/* UNAVAILABLE would say that it is not there: a client would ask for it again, and be told that it exists already. */
Test(waiting, of_a_table_with_a_lost_tablet_is_said_that_it_is_there)
{
    const char *splits[] = {"d", "g"};
    servers[2].idle = true; /* and what it does not make is not placed again meanwhile */
    driver.settings.place_timeout_ns = 100 * SECOND_NS;
    catalog_destroy(driver.catalog);
    driver_load(&driver);
    fakes_settle(&driver, servers, 3);
    uint64_t request = driver_create(&driver, "t", splits, 2);
    fakes_settle(&driver, servers, 3);
    cr_assert_null(driver_reply(&driver, request), "one of three tablets is still to be made");
    lose(1);
    let_time_run_out();
    driver_assert_refused(&driver, request, STATUS_DEADLINE_EXCEEDED, "is unavailable");
}

/* Else it would be asked for again, and refused: a tablet begins there already. */
Test(waiting, of_a_split_whose_tablets_are_lost_is_said_that_it_is_made)
{
    make_table("t", NULL, 0);
    struct location parent = driver_locate(&driver, "t", "").locations[0];
    uint64_t request = driver_split(&driver, "t", "m");
    cr_assert_null(driver_reply(&driver, request));
    lose(parent.server);
    let_time_run_out();
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_UNAVAILABLE);
    driver_assert_refused(&driver, request, STATUS_DEADLINE_EXCEEDED,
                          "is made, but they are unavailable");
}

/* Else a family is said to be there, and its first write is refused by a server that the new master has not told. */
Test(waiting, a_change_after_a_restart_is_done_when_servers_that_are_still_to_come_know)
{
    const struct alteration family = {.kind = ALTER_CREATE_FAMILY,
                                      .family = {.name = bytes_of_text("g")}};
    make_table("t", NULL, 0);
    driver_crash(&driver);
    uint64_t request = driver_alter(&driver, "t", &family, 1);
    cr_assert_null(driver_reply(&driver, request), "nobody was told of it");
    fakes_settle(&driver, servers, 2);
    cr_assert_null(driver_reply(&driver, request), "the third was not");
    fakes_settle(&driver, servers, 3);
    cr_assert_eq(driver_table(&driver, request).table.family_count, 2);
}

Test(waiting, nor_does_it_wait_longer_for_a_server_that_does_not_come)
{
    make_table("t", NULL, 0);
    driver_crash(&driver);
    uint64_t request = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    driver_pass(&driver, driver.settings.server_timeout_ns - 1);
    cr_assert_null(driver_reply(&driver, request));
    driver_pass(&driver, 1); /* of itself: no server syncs */
    (void)driver_body(&driver, request);
}
