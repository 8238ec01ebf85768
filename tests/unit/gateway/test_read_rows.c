/*
 * The life of a ReadRows stream.  Rows become ready on one thread, messages are taken on another,
 * and the caller goes away on a third, at any moment; each stream must end once, close its scan,
 * and touch nothing after. The address and thread sanitizers look on.
 */
#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "gateway/methods/call/table_call.h"
#include "gateway/methods/read/read_rows.h"
#include "tests/support/fake_call.h"
#include "tests/support/fake_scan.h"

#define TABLE_NAME "projects/p/instances/i/tables/T"
#define FLAGS      "CAEgAQ==" /* reverse scans, and last scanned rows */

/* --- tables and waiters, made up -------------------------------------------------------------- */

static struct {
    struct open_table *table; /* NULL = not open yet */
    struct open_table *opened_table;
    enum edubba_code open_code;
    atomic_uint opened;
    atomic_uint forgotten;
    atomic_uint held;
    _Atomic(struct waiting *) waiting;
} fake;

static struct open_table *hold(struct open_table *table)
{
    if (table != NULL) {
        atomic_fetch_add(&fake.held, 1);
    }
    return table;
}

struct open_table *tables_find(struct tables *tables, const char *name)
{
    (void)tables;
    cr_assert_str_eq(name, "p/i/T");
    return hold(fake.table);
}

enum edubba_code tables_open(struct tables *tables,
                             const char *name,
                             struct open_table **ret_table,
                             struct edubba_error *error)
{
    (void)tables;
    atomic_fetch_add(&fake.opened, 1);
    if (fake.open_code != EDUBBA_OK) {
        *error = (struct edubba_error){fake.open_code, "table 'p/i/T' was not found"};
        return fake.open_code;
    }
    struct open_table *table = memory_allocate_zeroed(1, sizeof *table + strlen(name) + 1);
    memcpy(table->name, name, strlen(name));
    fake.table = table;
    fake.opened_table = table;
    *ret_table = hold(table);
    return EDUBBA_OK;
}

void table_release(struct open_table *table)
{
    cr_assert_not_null(table);
    atomic_fetch_sub(&fake.held, 1);
}

void tables_forget_table(struct tables *tables, const struct open_table *table)
{
    (void)tables;
    (void)table;
    atomic_fetch_add(&fake.forgotten, 1);
}

bool waiters_add(struct waiters *waiters, struct waiting *waiting)
{
    (void)waiters;
    atomic_store(&fake.waiting, waiting);
    return true;
}

/* --- the threads of one stream ---------------------------------------------------------------- */

struct run {
    struct prng prng; /* the test's own */
    uint64_t seed;    /* of the other threads' */
    struct rpc_call *call;
    struct fake_outcome outcome;
    atomic_bool is_over;
    uint32_t rows_at_once;
    const char *user_agent; /* NULL = "" */
};

static void pause_shortly(struct prng *prng)
{
    if (prng_chance(prng, 3)) {
        struct timespec pause = {0, (long)prng_below(prng, 60000)};
        (void)nanosleep(&pause, NULL);
    }
}

/* Servers, the client's loop, and a waiter. */
static void *tell(void *context)
{
    struct run *run = context;
    struct prng prng = prng_of_seed(run->seed + 1);
    while (!atomic_load(&run->is_over) || atomic_load(&fake_data.scans_open) > 0) {
        struct waiting *waiting = atomic_exchange(&fake.waiting, NULL);
        if (waiting != NULL) {
            waiting->run(waiting);
        }
        fake_read_tell();
        fake_scan_tell(1 + (uint32_t)prng_below(&prng, run->rows_at_once));
        pause_shortly(&prng);
    }
    return NULL;
}

/* The network; it holds the call, as libgrpc does. */
static void *take(void *context)
{
    struct run *run = context;
    struct prng prng = prng_of_seed(run->seed + 2);
    while (!atomic_load(&run->is_over)) {
        (void)fake_call_sent(run->call);
        pause_shortly(&prng);
    }
    fake_call_release(run->call);
    return NULL;
}

static void wait_for(struct fake_outcome *outcome, const bool *what)
{
    pthread_mutex_lock(&outcome->lock);
    while (!*what) {
        pthread_cond_wait(&outcome->changed, &outcome->lock);
    }
    pthread_mutex_unlock(&outcome->lock);
}

/* Runs a stream to its end.  cancels: its caller goes away in the middle, or before. */
static void run_stream(struct run *run,
                       const Google__Bigtable__V2__ReadRowsRequest *request,
                       const char *features,
                       bool cancels)
{
    struct gateway gateway = {
        .home = {bytes_of_text("edubba"), bytes_of_text("edubba")},
        .deadline_max_ms = 1000,
    };
    pthread_t teller;
    pthread_t taker;
    gateway.questions = questions_create(NULL, &gateway, 1000);
    fake_outcome_init(&run->outcome, request->reversed != 0);
    atomic_store(&run->is_over, false);
    run->seed = prng_next(&run->prng);
    run->outcome.stream.needs_whole_rows = run->user_agent != NULL;
    run->call = fake_call_make(&run->outcome, features,
                               run->user_agent != NULL ? run->user_agent : "");
    run->call->holders++; /* the taker's */
    cr_assert_eq(pthread_create(&teller, NULL, tell, run), 0);
    cr_assert_eq(pthread_create(&taker, NULL, take, run), 0);
    read_rows(&gateway, run->call, &request->base);
    if (cancels) {
        pause_shortly(&run->prng);
    } else {
        wait_for(&run->outcome, &run->outcome.has_ended);
    }
    fake_call_close(run->call, cancels);
    wait_for(&run->outcome, &run->outcome.has_ended);
    atomic_store(&run->is_over, true);
    pthread_join(teller, NULL);
    pthread_join(taker, NULL);
    wait_for(&run->outcome, &run->outcome.is_freed);
    cr_assert_eq(atomic_load(&fake_data.scans_open), 0);
    cr_assert_eq(atomic_load(&fake.held), 0, "the table is let go");
    if (fake.opened_table != NULL) { /* the next one opens it anew */
        memory_free(fake.opened_table);
        fake.table = NULL;
        fake.opened_table = NULL;
    }
    questions_destroy(gateway.questions);
}

static void set_data(uint32_t row_count,
                     size_t value_bytes,
                     enum edubba_code code,
                     const char *text)
{
    fake_data.row_count = row_count;
    fake_data.value_bytes = value_bytes;
    fake_data.end_code = code;
    fake_data.end_text = text;
}

static Google__Bigtable__V2__ReadRowsRequest request_of(void)
{
    static char name[] = TABLE_NAME;
    Google__Bigtable__V2__ReadRowsRequest request;
    google__bigtable__v2__read_rows_request__init(&request);
    request.table_name = name;
    return request;
}

/* --- what is read ----------------------------------------------------------------------------- */

static void expect_rows(struct run *run, size_t row_count)
{
    struct chunk_stream *stream = &run->outcome.stream;
    cr_assert_eq(run->outcome.code, EDUBBA_OK, "%s", run->outcome.text);
    cr_assert(chunk_stream_end(stream), "%s", stream->trouble);
    cr_assert_eq(stream->row_count, row_count);
    for (size_t i = 0; i < stream->cell_count; i++) {
        cr_assert_eq(stream->cells[i].value.size_bytes, fake_data.value_bytes);
    }
}

Test(read_rows, all_rows_come_whatever_the_pace, .timeout = 600)
{
    static const size_t values[] = {0, 10, 5000, 700000};
    uint64_t scanned = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct run run = {.prng = prng_of_seed(seed), .rows_at_once = 1 + (uint32_t)(seed % 90)};
        Google__Bigtable__V2__ReadRowsRequest request = request_of();
        size_t value_bytes = values[seed % 4];
        uint32_t rows = (uint32_t)prng_below(&run.prng, value_bytes > 5000 ? 12 : 400);
        set_data(rows, value_bytes, EDUBBA_OK, "");
        request.reversed = seed % 3 == 0 ? 1 : 0;
        run_stream(&run, &request, FLAGS, false);
        expect_rows(&run, rows);
        scanned += run.outcome.stream.last_scanned.size_bytes > 0 ? 1 : 0;
        fake_outcome_deinit(&run.outcome);
    }
    cr_assert_gt(scanned, 10, "how far they are is told, too");
}

Test(read_rows, the_client_of_go_gets_rows_that_are_whole, .timeout = 600)
{
    static const size_t values[] = {0, 5000, 700000, 3000000};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct run run = {.prng = prng_of_seed(seed),
                          .rows_at_once = 1 + (uint32_t)(seed % 90),
                          .user_agent = "some-program/1 grpc-go/1.83.2"};
        Google__Bigtable__V2__ReadRowsRequest request = request_of();
        size_t value_bytes = values[seed % 4];
        uint32_t rows = 1 + (uint32_t)prng_below(&run.prng, value_bytes > 5000 ? 6 : 400);
        set_data(rows, value_bytes, EDUBBA_OK, "");
        run_stream(&run, &request, FLAGS, false);
        expect_rows(&run, rows);
        cr_assert(value_bytes < 1000000 || run.outcome.messages >= rows, "one large row each");
        fake_outcome_deinit(&run.outcome);
    }
}

Test(read_rows, a_caller_that_goes_away_ends_it_at_any_moment, .timeout = 600)
{
    uint64_t cancelled = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct run run = {.prng = prng_of_seed(seed), .rows_at_once = 4};
        Google__Bigtable__V2__ReadRowsRequest request = request_of();
        set_data((uint32_t)prng_below(&run.prng, 3000), 5000, EDUBBA_OK, "");
        run_stream(&run, &request, "", true);
        cr_assert(run.outcome.code == EDUBBA_CANCELLED || run.outcome.code == EDUBBA_OK);
        cancelled += run.outcome.code == EDUBBA_CANCELLED ? 1 : 0;
        fake_outcome_deinit(&run.outcome);
    }
    cr_assert_gt(cancelled, 100);
}

Test(read_rows, one_row_needs_a_scan_only_where_it_is_large, .timeout = 600)
{
    static const size_t values[] = {0, 1000, 900000, 3000000};
    for (size_t i = 0; i < 4; i++) {
        struct run run = {.prng = prng_of_seed(i), .rows_at_once = 3};
        Google__Bigtable__V2__ReadRowsRequest request = request_of();
        Google__Bigtable__V2__RowSet rows = GOOGLE__BIGTABLE__V2__ROW_SET__INIT;
        ProtobufCBinaryData key = {11, (uint8_t *)"row00000000"};
        rows.row_keys = &key;
        rows.n_row_keys = 1;
        request.rows = &rows;
        set_data(1, values[i], EDUBBA_OK, "");
        atomic_store(&fake_data.scans_opened, 0);
        run_stream(&run, &request, "", false);
        expect_rows(&run, 1);
        cr_assert_eq(atomic_load(&fake_data.scans_opened), values[i] > 2000000 ? 1 : 0);
        cr_assert(values[i] > 2000000 || run.outcome.messages == 1);
        fake_outcome_deinit(&run.outcome);
    }
}

Test(read_rows, statistics_come_last_even_without_rows, .timeout = 600)
{
    for (uint32_t rows = 0; rows < 3; rows++) {
        struct run run = {.prng = prng_of_seed(rows), .rows_at_once = 2};
        Google__Bigtable__V2__ReadRowsRequest request = request_of();
        request.request_stats_view =
            GOOGLE__BIGTABLE__V2__READ_ROWS_REQUEST__REQUEST_STATS_VIEW__REQUEST_STATS_FULL;
        set_data(rows, 10, EDUBBA_OK, "");
        run_stream(&run, &request, "", false);
        expect_rows(&run, rows);
        cr_assert(run.outcome.stream.has_statistics);
        fake_outcome_deinit(&run.outcome);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

static void expect_end(const Google__Bigtable__V2__ReadRowsRequest *request,
                       const char *features,
                       enum edubba_code code,
                       const char *part)
{
    struct run run = {.prng = prng_of_seed(1), .rows_at_once = 9};
    run_stream(&run, request, features, false);
    cr_assert_eq(run.outcome.code, code, "%s", run.outcome.text);
    cr_assert_not_null(strstr(run.outcome.text, part), "%s", run.outcome.text);
    fake_outcome_deinit(&run.outcome);
}

Test(read_rows, an_error_comes_behind_the_rows_before_it, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    set_data(20, 10, EDUBBA_UNAVAILABLE, "the server is away");
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_UNAVAILABLE);
    cr_assert_eq(run.outcome.stream.row_count, 20);
    fake_outcome_deinit(&run.outcome);
}

Test(read_rows, a_large_row_is_named_in_the_details, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    set_data(2, 10, EDUBBA_FAILED_PRECONDITION,
             "LargeRowReadError: row 'big' is larger than 256 MiB; read it with a filter");
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_FAILED_PRECONDITION);
    cr_assert_gt(run.outcome.details_bytes, 0);
    fake_outcome_deinit(&run.outcome);
}

Test(read_rows, a_large_row_is_named_whole_however_long_its_key_is, .timeout = 600)
{
    static char key[4096];
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    memset(key, 'k', sizeof key);
    fake_data.failed_row = edubba_bytes_of(key, sizeof key);
    set_data(
        2, 10, EDUBBA_FAILED_PRECONDITION,
        "LargeRowReadError: row 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
        "kkkkkkkkkkkkkkkkkkkkkkkkkkkk...' is larger than 256 MiB; read it with a filter");
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_FAILED_PRECONDITION);
    cr_assert_gt(run.outcome.details_bytes, sizeof key * 4 / 3);
    cr_assert_leq(run.outcome.details_bytes, RPC_DETAILS_BYTES_MAX, "else nobody sees it");
    fake_outcome_deinit(&run.outcome);
}

Test(read_rows, a_large_row_is_counted_while_it_is_held, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    set_data(5, 3000000, EDUBBA_OK, "");
    run_stream(&run, &request, "", false);
    expect_rows(&run, 5);
    cr_assert_geq(run.outcome.reserved_bytes, 3000000);
    cr_assert_lt(run.outcome.reserved_bytes, 3001000, "one at a time");
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = 2000000;
    expect_end(&request, "", EDUBBA_UNAVAILABLE, "Too many large rows");
    fake_reserve_max = UINT64_MAX;
}

/* A scan may go on for hours behind it. */
Test(read_rows, a_large_row_counts_no_more_when_small_ones_follow, .timeout = 600)
{
    static const char *const agents[] = {NULL, "some-program/1 grpc-go/1.83.2"};
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    fake_data.large_count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9, .user_agent = agents[i]};
        set_data(20, 3000000, EDUBBA_OK, "");
        run_stream(&run, &request, "", false);
        cr_assert_eq(run.outcome.code, EDUBBA_OK, "%s", run.outcome.text);
        cr_assert_eq(run.outcome.stream.row_count, 20);
        cr_assert_lt(run.outcome.reserved_bytes, 3000000);
        fake_outcome_deinit(&run.outcome);
    }
    fake_data.large_count = 0;
}

/* Their values may be nothing at all: what tells of them is not. */
Test(read_rows, the_cells_of_a_row_are_counted_as_well_as_their_values, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    fake_data.cell_count = 100000;
    set_data(2, 0, EDUBBA_OK, "");
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_OK, "%s", run.outcome.text);
    cr_assert_geq(run.outcome.reserved_bytes, 100000 * sizeof(struct edubba_cell));
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = 5000000;
    expect_end(&request, "", EDUBBA_UNAVAILABLE, "Too many large rows");
    fake_reserve_max = UINT64_MAX;
    fake_data.cell_count = 0;
}

/* Programs put data into them. */
Test(read_rows, the_qualifiers_of_a_row_are_counted_as_well, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    fake_data.cell_count = 200;
    fake_data.qualifier_bytes = 16384;
    set_data(1, 0, EDUBBA_OK, "");
    run_stream(&run, &request, "", false);
    expect_rows(&run, 1);
    cr_assert_geq(run.outcome.reserved_bytes, 200 * 16384);
    fake_outcome_deinit(&run.outcome);
    fake_data.cell_count = 0;
    fake_data.qualifier_bytes = 0;
}

Test(read_rows, what_a_scan_keeps_of_many_keys_is_counted, .timeout = 600)
{
    enum {
        KEYS = 100000
    };
    static ProtobufCBinaryData keys[KEYS];
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    Google__Bigtable__V2__RowSet rows = GOOGLE__BIGTABLE__V2__ROW_SET__INIT;
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (ProtobufCBinaryData){11, (uint8_t *)"row00000000"};
    }
    rows.row_keys = keys;
    rows.n_row_keys = KEYS;
    request.rows = &rows;
    set_data(1, 0, EDUBBA_OK, "");
    run_stream(&run, &request, "", false);
    expect_rows(&run, 1);
    cr_assert_geq(run.outcome.reserved_bytes, KEYS * (uint64_t)(2 * 11 + 16));
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = 1000000;
    expect_end(&request, "", EDUBBA_UNAVAILABLE, "No memory");
    fake_reserve_max = UINT64_MAX;
    fake_request_memory = 1000000;
    expect_end(&request, "", EDUBBA_RESOURCE_EXHAUSTED, "So many keys");
    fake_request_memory = UINT64_MAX;
}

Test(read_rows, what_waits_for_its_reader_is_counted, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    set_data(100, 100000, EDUBBA_OK, "");
    fake_reserve_max = 3 << 20; /* a message at a time, of ten or so */
    run_stream(&run, &request, "", false);
    expect_rows(&run, 100);
    cr_assert_gt(run.outcome.messages, 5);
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = 1 << 20;
    expect_end(&request, "", EDUBBA_UNAVAILABLE, "wait for readers");
    fake_request_memory = 1 << 20; /* then it is alone */
    run_stream(&run, &request, "", false);
    expect_rows(&run, 100);
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = UINT64_MAX;
    fake_request_memory = UINT64_MAX;
}

/* However small a message is that waits: its scan reads on. */
Test(read_rows, what_is_read_ahead_of_a_message_is_counted, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 1};
    set_data(12, 40000, EDUBBA_OK, ""); /* twice as much as all of them has room */
    fake_reserve_max = 1 << 20;
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_UNAVAILABLE);
    cr_assert_not_null(strstr(run.outcome.text, "wait for readers"), "%s", run.outcome.text);
    fake_outcome_deinit(&run.outcome);
    fake_reserve_max = UINT64_MAX;
}

Test(read_rows, a_row_that_never_has_room_is_a_large_row, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    struct run run = {.prng = prng_of_seed(7), .rows_at_once = 9};
    set_data(5, 3000000, EDUBBA_OK, "");
    fake_request_memory = 2000000;
    run_stream(&run, &request, "", false);
    cr_assert_eq(run.outcome.code, EDUBBA_FAILED_PRECONDITION, "%s", run.outcome.text);
    cr_assert_not_null(strstr(run.outcome.text, "row 'row00000000'"), "%s", run.outcome.text);
    cr_assert_gt(run.outcome.details_bytes, 0, "it is named");
    fake_request_memory = UINT64_MAX;
    fake_outcome_deinit(&run.outcome);
}

Test(read_rows, a_table_that_is_gone_is_opened_anew_once, .timeout = 600)
{
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    fake.table = memory_allocate_zeroed(1, sizeof *fake.table + 8);
    memcpy(fake.table->name, "p/i/T", 6);
    set_data(0, 10, EDUBBA_NOT_FOUND, "table number 5 was not found");
    expect_end(&request, "", EDUBBA_NOT_FOUND, "Not found: " TABLE_NAME);
    cr_assert_eq(atomic_load(&fake.forgotten), 2);
    cr_assert_eq(atomic_load(&fake_data.scans_opened), 2);
    memory_free(fake.table);
    fake.table = NULL;
    fake.open_code = EDUBBA_NOT_FOUND;
    expect_end(&request, "", EDUBBA_NOT_FOUND, "Not found: " TABLE_NAME);
}

Test(read_rows, what_is_wrong_is_said, .timeout = 600)
{
    static char bad_name[] = "T";
    static char view[] = "projects/p/instances/i/tables/T/authorizedViews/v";
    Google__Bigtable__V2__ReadRowsRequest request = request_of();
    set_data(3, 10, EDUBBA_OK, "");
    request.reversed = 1;
    expect_end(&request, "", EDUBBA_UNIMPLEMENTED, "bigtable-features");
    request = request_of();
    request.rows_limit = -1;
    expect_end(&request, "", EDUBBA_INVALID_ARGUMENT, "rows_limit");
    request = request_of();
    request.table_name = bad_name;
    expect_end(&request, "", EDUBBA_INVALID_ARGUMENT, "projects/<project>");
    request = request_of();
    request.authorized_view_name = view;
    expect_end(&request, "", EDUBBA_UNIMPLEMENTED, "Authorized views");
    request = request_of();
    Google__Bigtable__V2__RowFilter filter;
    google__bigtable__v2__row_filter__init(&filter);
    filter.filter_case = GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_PASS_ALL_FILTER;
    request.filter = &filter;
    expect_end(&request, "", EDUBBA_INVALID_ARGUMENT, "pass_all_filter");
}
