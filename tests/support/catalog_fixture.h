/*
 * A catalog with three servers, driven by the test.
 */
#ifndef TESTS_SUPPORT_CATALOG_FIXTURE_H
#define TESTS_SUPPORT_CATALOG_FIXTURE_H

#include <criterion/criterion.h>

#include "tests/support/catalog_driver.h"

__attribute__((unused)) static struct driver driver;
__attribute__((unused)) static struct fake_server servers[3];

__attribute__((unused)) static void start(void)
{
    driver_init(&driver);
    for (uint64_t i = 0; i < 3; i++) {
        fake_init(&servers[i], i + 1);
    }
    fakes_settle(&driver, servers, 3);
    driver_forget_replies(&driver);
}

__attribute__((unused)) static void stop(void)
{
    driver_deinit(&driver);
}

__attribute__((unused)) static void make_table(const char *name,
                                               const char *const *splits,
                                               size_t count)
{
    uint64_t request = driver_create(&driver, name, splits, count);
    fakes_settle(&driver, servers, 3);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

__attribute__((unused)) static uint64_t wish_split(struct fake_server *server,
                                                   uint64_t tablet,
                                                   const char *row,
                                                   uint64_t bytes)
{
    struct held_tablet *held = fake_held(server, tablet);
    cr_assert_not_null(held);
    held->size_bytes = bytes;
    held->wants_split = true;
    held->split_row = bytes_of_text(row);
    return tablet;
}

#endif /* TESTS_SUPPORT_CATALOG_FIXTURE_H */
