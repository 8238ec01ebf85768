/*
 * A store with a tablet of copies, number 1, [a, z), which becomes what the catalog has replaced it by: what is written to
 * it, whose it is, and what is durable of it.
 */
#ifndef TESTS_SUPPORT_CONVERT_FIXTURE_H
#define TESTS_SUPPORT_CONVERT_FIXTURE_H

#include "tests/support/numbered_requests.h"
#include "tests/support/store_fixture.h"

#include "common/base/stamp.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"

static struct fixture fixture;
static struct store_tablet *tablet;

static const struct store_configuration lone = {
    .members = {.version = 4, .member_count = 1, .members = {{1, FIXTURE_STORE}}}, .role = 3};
static const struct store_configuration led = {
    .members = {.version = 4, .member_count = 2, .members = {{1, FIXTURE_STORE}, {2, 8}}},
    .role = 3,
    .flags = {.opened = true, .bound = true}};

/* Nothing of it goes; in the base when this returns. */
__attribute__((unused)) static void configure(struct store_tablet *of,
                                              const struct store_configuration *configuration)
{
    uint64_t before = fixture.configured_count;
    cr_assert_eq(store_tablet_configure(of, configuration, store_tablet_appended(of)), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
}

__attribute__((unused)) static void begin(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "z");
}

__attribute__((unused)) static void finish(void)
{
    fixture_deinit(&fixture);
}

/* What was appended to it since the store was polled last. */
__attribute__((unused)) static void sync_all(struct store_tablet *of)
{
    fixture.synced = 0; /* it may have been another's */
    store_commit(fixture.store);
    if (store_tablet_is_alone(of)) {
        FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(of) == store_tablet_appended(of));
    } else {
        FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == store_tablet_appended(of));
    }
}

/* That, and all members have it. */
__attribute__((unused)) static void commit_all(struct store_tablet *of)
{
    sync_all(of);
    if (!store_tablet_is_alone(of)) {
        cr_assert_eq(store_tablet_commit(of, store_tablet_appended(of)), STATUS_OK);
    }
}

/* One more of a counter; request 0: nobody knows it by number. */
__attribute__((unused)) static void add(struct store_tablet *to, const char *row, uint64_t request)
{
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", 1, operand);
    struct request_id id = numbered_request(request);
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(to, row, &change, 1, request != 0 ? &id : NULL, &sequence),
                 STATUS_OK);
}

#endif /* TESTS_SUPPORT_CONVERT_FIXTURE_H */
