/*
 * Writes that come faster than they can be flushed: they wait for room, and none is refused.
 */
#include "tests/support/held_syncs.h"
#include "tests/support/server_steps.h"

#define VALUE_BYTES        ((size_t)256 << 10)
#define MEMORY_LIMIT_BYTES ((uint64_t)4 << 20)
#define RECORD_BYTES_MAX   ((uint64_t)5 << 20) /* what is gathered before the next look */
#define WRITES             64                  /* far more than memory may hold */
#define DEADLINE_MS        1000

static struct client *start(void)
{
    fixture_prepare(&fixture);
    fixture.settings.store.memory_limit_bytes = MEMORY_LIMIT_BYTES;
    fixture.settings.store.memtable_limit_bytes = MEMORY_LIMIT_BYTES / 4;
    fixture_open(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    return client_start(fixture.server->address, 0);
}

static void end(struct client *client)
{
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    client_stop(client);
    fixture_deinit(&fixture);
}

/* Each a message of its own, and a row of its own. */
static void send_writes(struct client *client, uint64_t requests[WRITES], uint32_t deadline_ms)
{
    static char value[VALUE_BYTES + 1];
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < WRITES; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "row%02d", i);
        struct operation put = client_put(client, row, "a", value, 0);
        requests[i] = client_send_operations(client, &put, 1, deadline_ms);
    }
}

static uint64_t memory_bytes(void)
{
    struct store_statistics statistics;
    store_loop_statistics(fixture.server->loops[0], &statistics);
    return statistics.memory_bytes;
}

static size_t count_ended(struct client *client, const uint64_t requests[WRITES])
{
    size_t count = 0;
    for (int i = 0; i < WRITES; i++) {
        count += client_has_ended(client, requests[i]);
    }
    return count;
}

static size_t count_results(struct client *client,
                            const uint64_t requests[WRITES],
                            enum status wanted)
{
    size_t count = 0;
    for (int i = 0; i < WRITES; i++) {
        const struct operation_result *result = client_results(client, requests[i], 1);
        cr_assert_not_null(result);
        count += result->status == wanted;
    }
    return count;
}

static bool has_row(struct client *client, int number)
{
    char row[16];
    (void)snprintf(row, sizeof row, "row%02d", number);
    struct operation get = client_get(client, row);
    struct operation_result result = client_run(client, &get);
    cr_assert_eq(result.status, STATUS_OK);
    return result.rows.size_bytes > 0;
}

Test(server_hold, what_finds_no_room_waits_and_is_not_refused)
{
    struct client *client = start();
    uint64_t requests[WRITES];

    atomic_store(&syncs_allowed, 0);
    send_writes(client, requests, 0);
    WAIT_FOR(memory_bytes() >= MEMORY_LIMIT_BYTES / 2);
    clock_sleep_us(300000); /* the rest would be refused by now */
    cr_assert_eq(count_ended(client, requests), 0);
    cr_assert_leq(memory_bytes(), MEMORY_LIMIT_BYTES + RECORD_BYTES_MAX);
    atomic_store(&syncs_allowed, INT_MAX);
    cr_assert_eq(count_results(client, requests, STATUS_OK), WRITES);
    for (int i = 0; i < WRITES; i++) {
        cr_assert(has_row(client, i));
    }
    end(client);
}

Test(server_hold, what_waits_longer_than_its_deadline_is_not_done)
{
    struct client *client = start();
    uint64_t requests[WRITES];
    size_t done = 0;

    atomic_store(&syncs_allowed, 0);
    send_writes(client, requests, DEADLINE_MS);
    /* Those in memory wait for the disk; those that are held are told. */
    WAIT_FOR(count_ended(client, requests) >= WRITES / 2);
    atomic_store(&syncs_allowed, INT_MAX);
    done = count_results(client, requests, STATUS_OK);
    cr_assert_eq(count_results(client, requests, STATUS_DEADLINE_EXCEEDED), WRITES - done);
    for (int i = 0; i < WRITES; i++) {
        bool was_done = client_results(client, requests[i], 1)->status == STATUS_OK;
        cr_assert_eq(has_row(client, i), was_done);
    }
    end(client);
}

Test(server_hold, the_end_does_not_wait_for_room)
{
    struct client *client = start();
    uint64_t requests[WRITES];

    atomic_store(&syncs_allowed, 0);
    send_writes(client, requests, 0);
    WAIT_FOR(memory_bytes() >= MEMORY_LIMIT_BYTES / 2);
    atomic_store(&syncs_allowed, INT_MAX);
    fixture_close(&fixture);
    client_stop(client);
    fixture_deinit(&fixture);
}
