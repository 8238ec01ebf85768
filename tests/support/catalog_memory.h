/*
 * Steps of the catalog of catalog_driver.h for which there is no memory after so many allocations.
 */
#ifndef TESTS_SUPPORT_CATALOG_MEMORY_H
#define TESTS_SUPPORT_CATALOG_MEMORY_H

#include "common/base/memory.h"
#include "tests/support/catalog_driver.h"

/* What the step gave is performed, but for commits that it leads to: those are the test's. */
static inline enum status driver_step_without_memory(struct driver *driver,
                                                     struct catalog_event event,
                                                     uint64_t after)
{
    struct catalog_effects effects;
    event.now_ns = driver->now_ns;
    event.now_us = driver->now_ns / 1000;
    memory_fail_arm(after, true);
    enum status status = catalog_step(driver->catalog, &event, &effects);
    memory_fail_disarm();
    catalog_check(driver->catalog);
    for (size_t i = 0; status == STATUS_OK && i < effects.count; i++) {
        driver_perform(driver, &effects.items[i]);
    }
    return status;
}

/* Takes body's memory; returns the request's number.  What it would change waits to be committed: driver.transaction, which
 * is 0 where the memory did not suffice. */
static inline uint64_t driver_send_without_memory(struct driver *driver,
                                                  enum method method,
                                                  struct buffer *body,
                                                  uint64_t after)
{
    const struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = ++driver->request,
        .method = method,
        .body = buffer_bytes(body),
    };
    cr_assert_not(body->failed);
    (void)driver_step_without_memory(driver, event, after);
    buffer_deinit(body);
    return event.number;
}

/* What is pending is durable, and the catalog takes it: that it must, whatever memory there is. */
static inline void driver_commit_without_memory(struct driver *driver, uint64_t after)
{
    const struct catalog_event event = {.type = CATALOG_EVENT_PERSISTED,
                                        .number = driver->transaction};
    cr_assert_neq(driver->transaction, 0);
    cr_assert_eq(coordinator_commit(driver->coordinator, driver->puts, driver->put_count, NULL),
                 STATUS_OK);
    driver->transaction = 0;
    cr_assert_eq(driver_step_without_memory(driver, event, after), STATUS_OK);
}

#endif /* TESTS_SUPPORT_CATALOG_MEMORY_H */
