/* What a tablet server reports of its tablets' load: all of it, once, however often it must ask. */
#include "tests/support/server_steps.h"

static struct load_figures reported(void)
{
    pthread_mutex_lock(&fixture.script.lock);
    struct load_figures figures = fixture.script.load;
    pthread_mutex_unlock(&fixture.script.lock);
    return figures;
}

static uint64_t reports(void)
{
    pthread_mutex_lock(&fixture.script.lock);
    uint64_t number = fixture.script.load_number;
    pthread_mutex_unlock(&fixture.script.lock);
    return number;
}

static void set_silent(bool silent)
{
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.silent = silent;
    pthread_mutex_unlock(&fixture.script.lock);
}

static void expect_ok(struct client *client, struct operation operation)
{
    struct operation_result result = client_run(client, &operation);
    cr_assert_eq(result.status, STATUS_OK, "%u", result.status);
}

static uint64_t begin_scan(struct client *client, uint64_t credit_bytes)
{
    const struct row_range everything = {BYTES_EMPTY, BYTES_EMPTY};
    const struct scan_request scan = {.table = FIXTURE_TABLE,
                                      .rows = &everything,
                                      .row_range_count = 1,
                                      .credit_bytes = credit_bytes};
    struct buffer message = BUFFER_INIT;
    request_head_encode(&(struct request_head){.deadline_ms = 0}, &message);
    scan_request_encode(&scan, &message);
    return client_send(client, METHOD_SCAN, &message);
}

static void scan_all(struct client *client)
{
    uint64_t request = begin_scan(client, 1 << 20);
    WAIT_FOR(client_has_ended(client, request));
}

Test(server, reports_what_its_tablets_had_to_do)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);

    for (uint64_t i = 1; i <= 10; i++) {
        char row[8];
        (void)snprintf(row, sizeof row, "row%llu", (unsigned long long)i);
        expect_ok(client, client_put(client, row, "q", "0123456789", i));
    }
    WAIT_FOR(reported().writes == 10);
    struct load_figures written = reported();
    cr_assert_eq(written.write_cells, 10);
    cr_assert_eq(written.write_bytes, 9 * 4 + 5 + 10 * (1 + 10), "rows, qualifiers, values");
    cr_assert_eq(written.reads, 0);
    cr_assert_gt(written.write_cpu_ns, 0);
    cr_assert_eq(written.read_cpu_ns, 0);

    expect_ok(client, client_get(client, "row1"));
    expect_ok(client, client_get(client, "nothing"));
    scan_all(client);
    WAIT_FOR(reported().reads == 3);
    struct load_figures read = reported();
    cr_assert_eq(read.read_rows, 2 + 10);
    cr_assert_gt(read.read_bytes, 11 * 10);
    cr_assert_gt(read.read_cpu_ns, 0);
    cr_assert_eq(read.writes, 10);
    cr_assert_eq(read.write_cpu_ns, written.write_cpu_ns, "reads are not charged to writes");

    expect_ok(client, client_increment(client, "counter", "n", 11));
    expect_ok(client, check_and_put(client, "row1", "yes", "no", 12));
    WAIT_FOR(reported().writes == 12);
    cr_assert_eq(reported().reads, 3, "the rows they look at are part of the write");
    cr_assert_eq(reported().read_cpu_ns, read.read_cpu_ns);
    pthread_mutex_lock(&fixture.script.lock);
    cr_assert_lt(fixture.script.load.read_cpu_ns + fixture.script.load.write_cpu_ns,
                 fixture.script.load_capacity_ns);
    pthread_mutex_unlock(&fixture.script.lock);
    client_stop(client);
    fixture_deinit(&fixture);
}

/* Of a scan that takes longer than a report: what it goes on with is load too. */
Test(server, reports_scans_that_go_on)
{
    static char value[400 * 1024]; /* a slice ends behind each row */
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);

    memset(value, 'v', sizeof value - 1);
    for (uint64_t i = 1; i <= 3; i++) {
        char row[8];
        (void)snprintf(row, sizeof row, "row%llu", (unsigned long long)i);
        expect_ok(client, client_put(client, row, "q", value, i));
    }
    WAIT_FOR(reported().writes == 3);
    uint64_t request = begin_scan(client, 1);
    WAIT_FOR(reported().reads == 1);
    cr_assert_eq(reported().read_rows, 1);
    uint64_t cpu_ns = reported().read_cpu_ns;
    transport_connection_credit(client->connection, request, 1 << 30);
    WAIT_FOR(reported().read_rows == 3);
    cr_assert_eq(reported().reads, 1);
    cr_assert_gt(reported().read_bytes, 3 * (sizeof value - 1));
    cr_assert_gt(reported().read_cpu_ns, cpu_ns);
    client_stop(client);
    fixture_deinit(&fixture);
}

/* Reports are heard and their answers lost: they come again, and count once. */
Test(server, reports_nothing_twice)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    uint64_t sequence = 0;

    expect_ok(client, client_put(client, "a", "q", "v", ++sequence));
    WAIT_FOR(reported().writes == 1);
    set_silent(true);
    expect_ok(client, client_put(client, "a", "q", "v", ++sequence));
    WAIT_FOR(reported().writes == 2);
    uint64_t number = reports();
    expect_ok(client, client_put(client, "a", "q", "v", ++sequence));
    set_silent(false);
    WAIT_FOR(reported().writes == 3);
    cr_assert_gt(reports(), number);
    uint64_t after = reports();
    WAIT_FOR(reports() > after);
    cr_assert_eq(reported().writes, 3);
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- where the load is -------------------------------------------------------------------------- */

struct seen {
    size_t points;
    uint32_t appended;
    uint64_t crossing;
    char key[64];
    uint64_t key_reads;
    uint64_t key_writes;
};

static struct seen seen(void)
{
    pthread_mutex_lock(&fixture.script.lock);
    struct seen seen = {.points = fixture.script.detail_points,
                        .appended = fixture.script.detail_appended,
                        .crossing = fixture.script.detail_crossing,
                        .key_reads = fixture.script.detail_key_reads,
                        .key_writes = fixture.script.detail_key_writes};
    memcpy(seen.key, fixture.script.detail_key, sizeof seen.key);
    pthread_mutex_unlock(&fixture.script.lock);
    return seen;
}

/* One second after the other of the same load, until a report shows what is looked for, or a minute is
 * over. */
#define REPEAT_UNTIL(condition, load)                                                           \
    for (int64_t until_ns = clock_monotonic_ns() + INT64_C(60000000000);                        \
         !(condition) && clock_monotonic_ns() < until_ns;) {                                    \
        load;                                                                                   \
    }                                                                                           \
    cr_assert(condition, "points %zu, appended %u, crossing %lu, %s: %lu + %lu", seen().points, \
              seen().appended, seen().crossing, seen().key, seen().key_reads, seen().key_writes)

static uint64_t written;

static void append_row(struct client *client)
{
    char row[16];
    (void)snprintf(row, sizeof row, "row%08llu", (unsigned long long)++written);
    expect_ok(client, client_put(client, row, "q", "0123456789", written));
}

Test(server, reports_rows_that_grow_at_the_end)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    REPEAT_UNTIL(seen().points > 8 && seen().appended > 800, append_row(client));
    cr_assert_eq(seen().key[0], '\0', "none is popular");
    cr_assert_gt(reported().write_latency_ns, reported().write_wait_ns);
    cr_assert_gt(reported().write_wait_ns, 0);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, reports_a_row_that_all_read)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    expect_ok(client, client_put(client, "popular", "q", "0123456789", 1));
    REPEAT_UNTIL(strcmp(seen().key, "popular") == 0 && seen().key_reads > 50,
                 expect_ok(client, client_get(client, "popular")));
    cr_assert_gt(reported().read_latency_ns, reported().read_wait_ns);
    cr_assert_gt(reported().read_wait_ns, 0);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, reports_where_scans_cross)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    for (int i = 0; i < 100; i++) {
        append_row(client);
    }
    REPEAT_UNTIL(seen().points > 8 && seen().crossing > 10, scan_all(client));
    client_stop(client);
    fixture_deinit(&fixture);
}
