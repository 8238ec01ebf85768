/* Scans through the whole server: order, limits, filters, credit, cancelling, splits on the way. */
#include "tests/support/server_fixture.h"

#define ROWS 3000 /* of about 300 bytes: several slices */

static struct fixture fixture;
static struct client *client;

static void row_name(char name[8], int number)
{
    (void)snprintf(name, 8, "r%05d", number);
}

static void start_with_rows(void)
{
    enum {
        EACH = 500
    };
    static char value[280];
    struct operation operations[EACH];
    char row[8];

    memset(value, 'v', sizeof value - 1);
    fixture_init(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    client = client_start(fixture.server->address, 0);
    for (int i = 0; i < ROWS; i += EACH) {
        for (int j = 0; j < EACH; j++) {
            row_name(row, i + j);
            operations[j] = client_put(client, row, j % 2 == 0 ? "even" : "odd", value, 0);
        }
        uint64_t request = client_send_operations(client, operations, EACH, 0);
        struct operation_result *results = client_results(client, request, EACH);
        for (int j = 0; j < EACH; j++) {
            cr_assert_eq(results[j].status, STATUS_OK);
        }
    }
}

static void stop(void)
{
    client_stop(client);
    fixture_deinit(&fixture);
}

static uint64_t send_scan_within(const struct scan_request *scan, uint32_t deadline_ms)
{
    struct buffer message = BUFFER_INIT;
    request_head_encode(&(struct request_head){.deadline_ms = deadline_ms}, &message);
    scan_request_encode(scan, &message);
    return client_send(client, METHOD_SCAN, &message);
}

static uint64_t send_scan(const struct scan_request *scan)
{
    return send_scan_within(scan, 0);
}

/* What came of a scan. */
struct outcome {
    uint32_t status;
    int rows[ROWS];
    int row_count;
    bool done;
    bool has_location;
    uint64_t cells_returned;
};

static void take_rows(struct outcome *outcome, struct bytes block)
{
    struct row row;
    bool found = false;
    cr_assert_eq(row_block_next(&block, &client->arena, &row, &found, NULL), STATUS_OK);
    while (found) {
        cr_assert_lt(outcome->row_count, ROWS);
        outcome->rows[outcome->row_count++] = atoi(arena_copy_text(&client->arena, row.key) + 1);
        cr_assert_eq(row_block_next(&block, &client->arena, &row, &found, NULL), STATUS_OK);
    }
}

static struct outcome outcome_of(uint64_t request)
{
    static struct outcome outcome;
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;

    outcome = (struct outcome){.status = STATUS_OK};
    while (next_message(&messages, &message)) {
        struct scan_response response;
        outcome.status = message_head(message, &body).status;
        if (body.size_bytes > 0) {
            cr_assert_eq(scan_response_decode(body, &response, NULL), STATUS_OK);
            take_rows(&outcome, response.rows);
            outcome.done = response.done;
            outcome.has_location = response.has_location;
            outcome.cells_returned += response.cells_returned;
        }
    }
    return outcome;
}

static struct outcome run_scan(const struct scan_request *scan)
{
    uint64_t request = send_scan(scan);
    WAIT_FOR(client_has_ended(client, request));
    return outcome_of(request);
}

static const struct row_range everything = {{(const uint8_t *)"", 0}, {(const uint8_t *)"", 0}};

static struct scan_request all_rows(void)
{
    return (struct scan_request){
        .table = FIXTURE_TABLE, .rows = &everything, .row_range_count = 1, .credit_bytes = 1 << 30};
}

/* Who asks for a range that holds nothing hears whether the filter is any good. */
Test(server_scan, of_a_range_that_holds_nothing_the_filter_is_judged)
{
    static const uint8_t least[] = {0};
    const struct row_range nothing = {{least, 1}, {least, 1}};
    struct filter filter = {.kind = FILTER_VALUE_REGEX, .bytes = bytes_of_text("v*")};
    struct scan_request scan = all_rows();
    start_with_rows();
    scan.rows = &nothing;
    scan.filter = &filter;
    for (int reversed = 0; reversed < 2; reversed++) {
        scan.reversed = reversed != 0;
        filter.bytes = bytes_of_text("v*");
        struct outcome outcome = run_scan(&scan);
        cr_assert_eq(outcome.status, STATUS_OK);
        cr_assert_eq(outcome.row_count, 0);
        cr_assert(outcome.done);
        filter.bytes = bytes_of_text("(");
        cr_assert_eq(run_scan(&scan).status, STATUS_INVALID_ARGUMENT);
    }
    stop();
}

Test(server_scan, all_rows_come_once_and_in_order)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    struct outcome outcome = run_scan(&scan);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert(outcome.done);
    cr_assert_eq(outcome.row_count, ROWS);
    cr_assert_eq(outcome.cells_returned, ROWS);
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(outcome.rows[i], i);
    }
    scan.reversed = true;
    outcome = run_scan(&scan);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.row_count, ROWS);
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(outcome.rows[i], ROWS - 1 - i);
    }
    stop();
}

/* Regexes that look at all of each value, and take it for none of theirs. */
static struct filter slow_and_passing_nothing(struct filter *children, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        children[i] = (struct filter){.kind = FILTER_VALUE_REGEX,
                                      .bytes = bytes_of_text("(?:v|vv)*[a-u](?:v|w)*x")};
    }
    return (struct filter){.kind = FILTER_INTERLEAVE, .children = children, .child_count = count};
}

/* Or whoever asked would not know for how long it goes on, and begin at the start again when it has to. */
Test(server_scan, who_scans_for_what_is_not_there_is_told_how_far_it_is)
{
    enum {
        REGEXES = 64
    };
    struct filter children[REGEXES];
    struct filter filter = slow_and_passing_nothing(children, REGEXES);
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.filter = &filter;
    uint64_t request = send_scan(&scan);
    WAIT_FOR(client_has_ended(client, request));
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;
    struct bytes last = BYTES_EMPTY;
    int count = 0;
    uint64_t rows_seen = 0;
    uint64_t cells_seen = 0;
    while (next_message(&messages, &message)) {
        struct scan_response response;
        cr_assert_eq(message_head(message, &body).status, STATUS_OK);
        cr_assert_eq(scan_response_decode(body, &response, NULL), STATUS_OK);
        cr_assert_eq(response.rows.size_bytes, 0);
        cr_assert_geq(bytes_compare(response.last_scanned, last), response.done ? 0 : 1);
        last = response.last_scanned;
        rows_seen += response.rows_seen;
        cells_seen += response.cells_seen;
        cr_assert_eq(response.rows_returned + response.cells_returned, 0);
        count++;
    }
    cr_assert_geq(count, 4, "%d", count);
    cr_assert_eq(rows_seen, ROWS);
    cr_assert_eq(cells_seen, ROWS);
    stop();
}

/* What each message tells is of itself: whoever adds them up has the whole. */
Test(server_scan, counts_of_messages_add_up_and_none_is_longer_than_a_slice_and_a_row)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    uint64_t request = send_scan(&scan);
    WAIT_FOR(client_has_ended(client, request));
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;
    struct scan_response sum = {.rows_seen = 0};
    while (next_message(&messages, &message)) {
        struct scan_response response;
        cr_assert_eq(message_head(message, &body).status, STATUS_OK);
        cr_assert_eq(scan_response_decode(body, &response, NULL), STATUS_OK);
        cr_assert_lt(response.rows.size_bytes, 257 * 1024);
        sum.rows_seen += response.rows_seen;
        sum.cells_seen += response.cells_seen;
        sum.rows_returned += response.rows_returned;
        sum.cells_returned += response.cells_returned;
    }
    cr_assert_eq(sum.rows_seen, ROWS);
    cr_assert_eq(sum.cells_seen, ROWS);
    cr_assert_eq(sum.rows_returned, ROWS);
    cr_assert_eq(sum.cells_returned, ROWS);
    stop();
}

Test(server_scan, ranges_limits_and_filters)
{
    start_with_rows();
    const struct row_range ranges[] = {
        {bytes_of_text("r00010"), bytes_of_text("r00020")},
        {bytes_of_text("r00500"), bytes_of_text("r00500a")},
        {bytes_of_text("r02990"), bytes_of_text("")},
    };
    struct scan_request scan = all_rows();
    scan.rows = ranges;
    scan.row_range_count = 3;
    cr_assert_eq(run_scan(&scan).row_count, 10 + 1 + 10);
    scan.rows_limit = 11;
    struct outcome outcome = run_scan(&scan);
    cr_assert_eq(outcome.row_count, 11);
    cr_assert(outcome.done);
    cr_assert_eq(outcome.rows[10], 500);
    scan.reversed = true;
    outcome = run_scan(&scan);
    cr_assert_eq(outcome.row_count, 11);
    cr_assert_eq(outcome.rows[10], 500);
    cr_assert_eq(outcome.rows[0], ROWS - 1);

    /* The limit counts rows that pass the filter. */
    const struct filter odd = {.kind = FILTER_QUALIFIER_REGEX, .bytes = bytes_of_text("odd")};
    scan = all_rows();
    scan.filter = &odd;
    scan.rows_limit = 1000;
    outcome = run_scan(&scan);
    cr_assert_eq(outcome.row_count, 1000);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(outcome.rows[i], 2 * i + 1);
    }
    const struct filter bad = {.kind = FILTER_QUALIFIER_REGEX, .bytes = bytes_of_text("(")};
    scan.filter = &bad;
    cr_assert_eq(run_scan(&scan).status, STATUS_INVALID_ARGUMENT);
    scan = all_rows();
    scan.row_range_count = 0;
    cr_assert_eq(run_scan(&scan).status, STATUS_INVALID_ARGUMENT);
    stop();
}

static size_t received_bytes(uint64_t request)
{
    pthread_mutex_lock(&client->lock);
    size_t size = client_answer(client, request)->messages.size_bytes;
    pthread_mutex_unlock(&client->lock);
    return size;
}

Test(server_scan, nothing_is_sent_without_credit)
{
    enum {
        SLICE = 320 * 1024
    }; /* a slice and one row */
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.credit_bytes = 1;
    uint64_t request = send_scan(&scan);
    WAIT_FOR(client_message_count(client, request) == 1);
    clock_sleep_us(30000);
    cr_assert_eq(client_message_count(client, request), 1, "one slice for one byte, and no more");

    /* Credit byte by byte until the debt is paid, then scraps of it, as clients give it. */
    size_t credit = 1;
    while (!client_has_ended(client, request)) {
        cr_assert_leq(received_bytes(request), credit + SLICE);
        transport_connection_credit(client->connection, request, 3000);
        credit += 3000;
        clock_sleep_us(100);
    }
    struct outcome outcome = outcome_of(request);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.row_count, ROWS);
    stop();
}

Test(server_scan, a_scan_ends_at_its_deadline)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    uint64_t request = send_scan_within(&scan, 600 * 1000);
    WAIT_FOR(client_has_ended(client, request));
    cr_assert_eq(outcome_of(request).status, STATUS_OK);
    scan.credit_bytes = 1;
    request = send_scan_within(&scan, 100);
    WAIT_FOR(client_message_count(client, request) == 1 || client_has_ended(client, request));
    clock_sleep_us(101 * 1000);
    transport_connection_credit(client->connection, request, 1 << 30);
    WAIT_FOR(client_has_ended(client, request));
    struct outcome outcome = outcome_of(request);
    cr_assert_eq(outcome.status, STATUS_DEADLINE_EXCEEDED);
    cr_assert_lt(outcome.row_count, ROWS);
    stop();
}

Test(server_scan, a_cancelled_scan_ends)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.credit_bytes = 1;
    uint64_t requests[50];
    for (int i = 0; i < 50; i++) {
        requests[i] = send_scan(&scan);
        if (i % 3 == 0) {
            transport_connection_cancel(client->connection, requests[i]);
        }
    }
    for (int i = 0; i < 50; i++) {
        if (i % 3 == 0) {
            continue;
        }
        WAIT_FOR(client_message_count(client, requests[i]) > 0);
        transport_connection_cancel(client->connection, requests[i]);
    }
    for (int i = 0; i < 50; i++) {
        WAIT_FOR(client_has_ended(client, requests[i]));
        cr_assert_eq(outcome_of(requests[i]).status, STATUS_CANCELLED);
    }
    stop();
}

Test(server_scan, parked_scans_do_not_outlive_client_or_server)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.credit_bytes = 0;
    for (int i = 0; i < 20; i++) {
        (void)send_scan(&scan);
    }
    client_stop(client);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    client = client_start(fixture.server->address, 0);
    for (int i = 0; i < 20; i++) {
        (void)send_scan(&scan);
    }
    fixture_close(&fixture);
    stop();
}

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*u %lu", &pages), 1);
    cr_assert_eq(fclose(file), 0);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* However large what their filters compile to: some hundred KB here. */
Test(server_scan, scans_that_wait_hold_little_and_are_charged_for_it)
{
    enum {
        SCANS = 500
    };
    start_with_rows();
    struct filter pattern = {
        .kind = FILTER_VALUE_REGEX,
        .bytes = bytes_of_text("(a{1,900}|w.y?)(b{1,900}|x.y?)(c{1,900}|y.y?)(d{1,900}|z.y?)|v*")};
    struct scan_request scan = all_rows();
    scan.filter = &pattern;
    scan.credit_bytes = 1;
    uint64_t requests[SCANS];
    size_t before_bytes = resident_bytes();
    for (int i = 0; i < SCANS; i++) {
        scan.credit_bytes = i == 0 ? 1 : 0; /* the first waits after a slice, the others before */
        requests[i] = send_scan(&scan);
    }
    WAIT_FOR(client_message_count(client, requests[0]) == 1);
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) >= (uint64_t)SCANS * 3000);
    cr_assert_lt(resident_bytes() - before_bytes, (size_t)32 << 20);
    for (int i = 0; i < SCANS; i++) {
        transport_connection_cancel(client->connection, requests[i]);
    }
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);

    /* And it is the same program in every slice. */
    scan.credit_bytes = 1 << 30;
    cr_assert_eq(run_scan(&scan).row_count, ROWS);
    stop();
}

/* Whoever opens scans and never takes anything keeps other scans out in the end, but not writes. */
Test(server_scan, scans_that_wait_leave_room_for_writes)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    struct operation write = client_put(client, "r", "even", "v", 0);
    scan.credit_bytes = 0;
    fixture.server->budget.bytes_max = 1 << 20;
    uint64_t waiting[400];
    for (int i = 0; i < 400; i++) {
        waiting[i] = send_scan(&scan);
    }
    WAIT_FOR(client_has_ended(client, waiting[399]));
    cr_assert_eq(outcome_of(waiting[399]).status, STATUS_UNAVAILABLE);
    cr_assert_not(client_has_ended(client, waiting[0]));
    CLIENT_EXPECT_OK(client, write);
    stop();
}

/* Two short rows on the wire, two ranges of 32 bytes in memory. */
Test(server_scan, many_row_ranges_are_charged_for_what_they_are_decoded_into)
{
    enum {
        RANGES = 20000
    };
    static struct row_range ranges[RANGES];
    static char rows[RANGES][16];
    start_with_rows();
    for (int i = 0; i < RANGES; i++) {
        (void)snprintf(rows[i], sizeof rows[i], "x%06d", i);
        ranges[i].start = bytes_of_text(rows[i]);
    }
    for (int i = 0; i < RANGES; i++) {
        ranges[i].end = i + 1 < RANGES ? ranges[i + 1].start : bytes_of_text("y");
    }
    struct scan_request scan = all_rows();
    struct request_budget *budget = &fixture.server->budget;
    const uint64_t others_bytes = 300 << 10; /* beside which the body fits */
    scan.rows = ranges;
    scan.row_range_count = RANGES / 2;
    scan.credit_bytes = 1 << 20;
    budget->bytes_max = 1 << 20;
    cr_assert(request_budget_charge_reads(budget, others_bytes, 0));
    uint64_t request = send_scan(&scan);
    WAIT_FOR(client_has_ended(client, request));
    cr_assert_eq(outcome_of(request).status, STATUS_UNAVAILABLE);
    request_budget_release_reads(budget, others_bytes);
    cr_assert_eq(run_scan(&scan).row_count, 0);
    /* Alone any gets in, or it never would. */
    scan.row_range_count = RANGES;
    cr_assert_eq(run_scan(&scan).row_count, 0);
    WAIT_FOR(request_budget_bytes(budget) == 0);
    stop();
}

/* More than the requests that a connection may have in flight: what ends them must still be heard. */
Test(server_scan, any_number_of_scans_that_wait_can_be_cancelled)
{
    enum {
        SCANS = 1500
    };
    start_with_rows();
    struct scan_request scan = all_rows();
    static uint64_t waiting[SCANS];
    scan.credit_bytes = 0;
    for (int i = 0; i < SCANS; i++) {
        waiting[i] = send_scan(&scan);
    }
    for (int i = 0; i < SCANS; i++) {
        transport_connection_cancel(client->connection, waiting[i]);
    }
    WAIT_FOR(client_has_ended(client, waiting[SCANS - 1]));
    WAIT_FOR(request_budget_bytes(&fixture.server->budget) == 0);
    scan.credit_bytes = 1 << 30;
    cr_assert_eq(run_scan(&scan).row_count, ROWS);
    stop();
}

Test(server_scan, a_split_on_the_way_is_told)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.credit_bytes = 1;
    uint64_t request = send_scan(&scan);
    WAIT_FOR(client_message_count(client, request) == 1);
    script_split(&fixture.script, 10, "r01500", 11, 12);
    SCRIPT_WAIT_FOR(&fixture.script, 11, 12);
    transport_connection_credit(client->connection, request, 1 << 30);
    WAIT_FOR(client_has_ended(client, request));
    struct outcome outcome = outcome_of(request);
    cr_assert_eq(outcome.status, STATUS_NOT_OWNER);
    cr_assert(outcome.has_location);
    int seen = outcome.row_count;
    cr_assert_gt(seen, 0);

    /* On from there: each tablet's own part, and nothing of it twice. */
    char start[8];
    row_name(start, seen);
    const struct row_range rest = {bytes_of_text(start), bytes_of_text("")};
    scan = all_rows();
    scan.rows = &rest;
    outcome = run_scan(&scan);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.rows[0], seen);
    cr_assert_eq(outcome.row_count, 1500 - seen);
    const struct row_range right = {bytes_of_text("r01500"), bytes_of_text("")};
    scan.rows = &right;
    cr_assert_eq(run_scan(&scan).row_count, ROWS - 1500);
    scan.rows = &everything;
    scan.reversed = true;
    outcome = run_scan(&scan);
    cr_assert_eq(outcome.row_count, ROWS - 1500);
    cr_assert_eq(outcome.rows[0], ROWS - 1);
    stop();
}

Test(server_scan, an_unknown_table_is_not_served_here)
{
    start_with_rows();
    struct scan_request scan = all_rows();
    scan.table = 999;
    struct outcome outcome = run_scan(&scan);
    cr_assert_eq(outcome.status, STATUS_NOT_OWNER);
    cr_assert_not(outcome.has_location);
    stop();
}
