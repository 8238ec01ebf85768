/*
 * A store as the disk of one replica: a tablet that leads or follows, by word.
 */
#ifndef TESTS_SUPPORT_STORE_COPY_H
#define TESTS_SUPPORT_STORE_COPY_H

#include "tests/support/numbered_requests.h"
#include "tests/support/store_fixture.h"

#include "common/base/stamp.h"
#include "tabletserver/storage/record/record_replica.h"

__attribute__((unused)) static struct fixture fixture;
__attribute__((unused)) static struct store_tablet *tablet;

__attribute__((unused)) static const struct store_configuration lone = {
    .members = {.version = 1, .member_count = 1, .members = {{1, FIXTURE_STORE}}}, .role = 3};
__attribute__((unused)) static const struct store_configuration led = {
    .members = {.version = 2, .member_count = 2, .members = {{1, FIXTURE_STORE}, {2, 8}}},
    .role = 3};
__attribute__((unused)) static const struct store_configuration following = {
    .members = {.version = 3,
                .member_count = 2,
                .leader = 1,
                .members = {{1, FIXTURE_STORE}, {2, 8}}},
    .role = 2};

__attribute__((unused)) static struct store_configuration with_version(
    struct store_configuration configuration, uint64_t version)
{
    configuration.members.version = version;
    return configuration;
}

__attribute__((unused)) static void configure(struct store_configuration configuration,
                                              uint64_t kept)
{
    uint64_t before = fixture.configured_count;
    cr_assert_eq(store_tablet_configure(tablet, &configuration, kept), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.configured_count > before);
    store_check(fixture.store);
}

__attribute__((unused)) static void begin(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 1, "a", "n");
}

__attribute__((unused)) static void finish(void)
{
    fixture_deinit(&fixture);
}

__attribute__((unused)) static void reopen(void)
{
    fixture_close(&fixture);
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, 1);
    cr_assert_not_null(tablet);
    store_check(fixture.store);
}

/* Synced, not committed; as the primary. */
__attribute__((unused)) static void lead_write(const char *row, const char *value)
{
    struct change change = fixture_put(1, "c", 5, value);
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, row, &change, 1, NULL, &sequence), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == sequence);
}

__attribute__((unused)) static void lead_add(const char *row, int64_t input)
{
    uint8_t operand[8];
    struct change change = fixture_add(3, "n", input, operand);
    uint64_t sequence = 0;
    cr_assert_eq(fixture_append(tablet, row, &change, 1, NULL, &sequence), STATUS_OK);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == sequence);
}

__attribute__((unused)) static struct buffer payload_of(const char *row,
                                                        const char *value,
                                                        uint64_t request)
{
    struct change change = fixture_put(1, "c", 5, value);
    struct record_entry entry = {.row = bytes_of_text(row), .changes = &change, .change_count = 1};
    if (request != 0) {
        entry.request = numbered_request(request);
    }
    struct buffer payload = BUFFER_INIT;
    record_encode_write(&(struct record_write){&entry, 1}, &payload);
    return payload;
}

/* As a secondary; not synced. */
__attribute__((unused)) static enum status take(const char *row,
                                                const char *value,
                                                uint64_t request,
                                                struct error *error)
{
    struct buffer payload = payload_of(row, value, request);
    struct store_entry entry = {
        .sequence = store_tablet_appended(tablet) + 1,
        .version = store_tablet_configuration(tablet)->members.version,
        .stamp = {store_next_clock(fixture.store), 0, 0},
        .type = RECORD_WRITE,
        .payload = buffer_bytes(&payload),
    };
    enum status status = store_append_entry(tablet, &entry, error);
    buffer_deinit(&payload);
    return status;
}

__attribute__((unused)) static void must_take(const char *row, const char *value, uint64_t request)
{
    struct error error = {0};
    cr_assert_eq(take(row, value, request, &error), STATUS_OK, "%s", error.text);
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, fixture.synced == store_tablet_appended(tablet));
    store_check(fixture.store);
}

__attribute__((unused)) static void become_secondary(void)
{
    store_tablet_follow(tablet);
    configure(following, UINT64_MAX);
}

#endif /* TESTS_SUPPORT_STORE_COPY_H */
