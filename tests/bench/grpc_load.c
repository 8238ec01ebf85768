/*
 * Load on the gateway over gRPC, from libgrpc's C core: what the API costs when the client costs as
 * little as it can.
 *
 *   grpc_load --address 127.0.0.1:8086 --table projects/P/instances/I/tables/T --what WHAT
 *             [--family cf] [--rows 100000] [--value-bytes 1024] [--keys hashed|series]
 *             [--in-flight 64] [--connections 1] [--seconds 5] [--server-process PID]
 *
 *   fill      every row once, and end
 *   mutate    MutateRow of a row drawn at random, one cell
 *   read      ReadRows of a row drawn at random
 *   scan      ReadRows of the whole table, again and again: so many streams as are in flight
 *
 * The table with its family is there already.  Keys are those of the raw programs, and a value
 * follows from its key, so everything that is read is checked: a wrong or missing row ends the
 * program.  Prints one line of JSON; with a server's process, what CPU that has used a call too.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/checksum.h"
#include "common/base/prng.h"
#include "data.pb-c.h"
#include "tests/bench/raw/grpc_calls.h"

#define NS_OF_WARM      INT64_C(1000000000)
#define NS_A_SEC        INT64_C(1000000000)
#define VALUE_BYTES_MAX (64 * 1024)

typedef Google__Bigtable__V2__MutateRowRequest MutateRowRequest;
typedef Google__Bigtable__V2__ReadRowsRequest ReadRowsRequest;

enum what {
    WHAT_FILL,
    WHAT_MUTATE,
    WHAT_READ,
    WHAT_SCAN,
};

struct load {
    enum what what;
    char *table;
    char *family;
    enum load_key_form keys;
    uint64_t rows;
    size_t value_bytes;
};

/* --- requests -------------------------------------------------------------------------------- */

static uint64_t row_of(const struct load *load, uint64_t number)
{
    if (load->what == WHAT_FILL) {
        return number;
    }
    struct prng prng = prng_of_seed(number);
    return prng_below(&prng, load->rows);
}

static void value_of(const uint8_t *key, size_t key_bytes, uint8_t *ret_value, size_t value_bytes)
{
    raw_value(checksum64(key, key_bytes, 0), ret_value, value_bytes);
}

static grpc_slice packed(const ProtobufCMessage *message)
{
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    (void)protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    return slice;
}

static grpc_slice mutate_request(void *context, uint64_t number)
{
    const struct load *load = context;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    uint8_t value[VALUE_BYTES_MAX + sizeof(uint64_t)];
    char qualifier[] = "q";
    MutateRowRequest request;
    Google__Bigtable__V2__Mutation mutation;
    Google__Bigtable__V2__Mutation *mutations[] = {&mutation};
    Google__Bigtable__V2__Mutation__SetCell cell;
    google__bigtable__v2__mutate_row_request__init(&request);
    google__bigtable__v2__mutation__init(&mutation);
    google__bigtable__v2__mutation__set_cell__init(&cell);
    size_t key_bytes = raw_key(load->keys, row_of(load, number), key);
    value_of(key, key_bytes, value, load->value_bytes);
    cell.family_name = load->family;
    cell.column_qualifier = (ProtobufCBinaryData){1, (uint8_t *)qualifier};
    cell.timestamp_micros = 1000; /* the same cell again: the table keeps its size */
    cell.value = (ProtobufCBinaryData){load->value_bytes, value};
    mutation.mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL;
    mutation.set_cell = &cell;
    request.table_name = load->table;
    request.row_key = (ProtobufCBinaryData){key_bytes, key};
    request.n_mutations = 1;
    request.mutations = mutations;
    return packed(&request.base);
}

static grpc_slice read_request(void *context, uint64_t number)
{
    const struct load *load = context;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    ReadRowsRequest request;
    Google__Bigtable__V2__RowSet rows;
    google__bigtable__v2__read_rows_request__init(&request);
    google__bigtable__v2__row_set__init(&rows);
    ProtobufCBinaryData one = {raw_key(load->keys, row_of(load, number), key), key};
    request.table_name = load->table;
    if (load->what == WHAT_READ) {
        rows.n_row_keys = 1;
        rows.row_keys = &one;
        request.rows = &rows;
        request.rows_limit = 1;
    }
    return packed(&request.base);
}

/* --- answers: ReadRowsResponse is not decoded, but walked through ---------------------------- */

struct walk {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t take_varint(struct walk *walk)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && walk->at < walk->end; shift += 7) {
        uint8_t byte = *walk->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

/* The next field's number, 0 at the end; *ret_inside is what is in it, *ret_value its number. */
static uint64_t take_field(struct walk *walk, struct walk *ret_inside, uint64_t *ret_value)
{
    if (walk->at >= walk->end) {
        return 0;
    }
    uint64_t tag = take_varint(walk);
    *ret_value = take_varint(walk);
    *ret_inside = (struct walk){walk->at, walk->at};
    if ((tag & 7) == 2) {
        if (*ret_value > (uint64_t)(walk->end - walk->at)) {
            raw_fail("answer", "is cut off");
        }
        ret_inside->end = walk->at + *ret_value;
        walk->at = ret_inside->end;
    } else if ((tag & 7) != 0) {
        raw_fail("answer", "holds a field of a kind that it has none of");
    }
    return tag >> 3;
}

static bool is_same(struct walk bytes, const uint8_t *data, size_t size_bytes)
{
    return (size_t)(bytes.end - bytes.at) == size_bytes && memcmp(bytes.at, data, size_bytes) == 0;
}

/* A row of one cell: its key is the one that was asked for, or lies behind the one before. */
static void take_row(const struct load *load,
                     struct walk key,
                     struct walk value,
                     struct grpc_answer *answer)
{
    uint8_t expected[VALUE_BYTES_MAX + sizeof(uint64_t)];
    size_t key_bytes = (size_t)(key.end - key.at);
    if (key_bytes == 0 || key_bytes > sizeof answer->key) {
        raw_fail("answer", "a row without a key of ours");
    }
    if (load->what == WHAT_READ) {
        uint8_t asked[LOAD_ROW_KEY_BYTES_MAX];
        size_t asked_bytes = raw_key(load->keys, row_of(load, answer->number), asked);
        if (!is_same(key, asked, asked_bytes)) {
            raw_fail("answer", "another row than was asked for");
        }
    } else if (bytes_compare(bytes_of(key.at, key_bytes),
                             bytes_of(answer->key, answer->key_bytes)) <= 0) {
        raw_fail("answer", "rows are not in their order");
    }
    value_of(key.at, key_bytes, expected, load->value_bytes);
    if (!is_same(value, expected, load->value_bytes)) {
        raw_fail("answer", "a value is not what was written");
    }
    memcpy(answer->key, key.at, key_bytes);
    answer->key_bytes = key_bytes;
    answer->rows++;
}

static void take_rows(void *context,
                      const uint8_t *message,
                      size_t size_bytes,
                      struct grpc_answer *answer)
{
    enum {
        CHUNKS = 1,
        ROW_KEY = 1,
        VALUE = 6,
        COMMIT_ROW = 9
    };
    uint64_t number = 0;
    struct walk all = {message, message + size_bytes};
    struct walk chunk;
    for (uint64_t field = 0; (field = take_field(&all, &chunk, &number)) != 0;) {
        struct walk inside;
        struct walk key = {NULL, NULL};
        struct walk value = {NULL, NULL};
        bool is_row = false;
        for (uint64_t part = 0;
             field == CHUNKS && (part = take_field(&chunk, &inside, &number)) != 0;) {
            key = part == ROW_KEY ? inside : key;
            value = part == VALUE ? inside : value;
            is_row = is_row || (part == COMMIT_ROW && number == 1);
        }
        if (is_row) { /* its one cell, in one chunk: values are small */
            take_row(context, key, value, answer);
        }
    }
}

/* --- running --------------------------------------------------------------------------------- */

static enum what what_of_name(const char *name)
{
    static const char *const names[] = {"fill", "mutate", "read", "scan"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum what)i;
        }
    }
    raw_fail("what", "fill, mutate, read or scan");
}

/* The server's CPU is read when the warm-up is over. */
struct watch {
    int64_t begin_ns;
    int process; /* 0 = none */
    double before;
};

static void *watch_begin(void *context)
{
    struct watch *watch = context;
    while (raw_now_ns() < watch->begin_ns) {
        (void)usleep(1000);
    }
    watch->before = grpc_cpu_seconds(watch->process);
    return NULL;
}

static void report(const struct grpc_calls *plan,
                   const struct load *load,
                   const char *what,
                   struct grpc_figures *figures,
                   double seconds,
                   double server_cpu)
{
    double calls = figures->calls > 0 ? (double)figures->calls : 1;
    double rows = (double)figures->rows / seconds;
    printf("{\"program\":\"grpc_load\",\"what\":\"%s\",\"in_flight\":%llu,\"connections\":%llu,"
           "\"value_bytes\":%zu,\"per_second\":%.0f,\"failed\":%llu,\"p50_us\":%.1f,"
           "\"p99_us\":%.1f,\"rows_per_second\":%.0f,\"megabytes_per_second\":%.1f,"
           "\"message_megabytes_per_second\":%.1f,\"client_cpu_us\":%.2f,\"server_cpu_us\":%.2f,"
           "\"server_cpu_seconds\":%.2f,\"request_bytes\":%.0f,\"answer_bytes\":%.0f,"
           "\"calls\":%llu,\"rows\":%llu,\"seconds\":%.3f,\"p999_us\":%.1f,"
           "\"client_cpu_seconds\":%.2f}\n",
           what, (unsigned long long)plan->in_flight, (unsigned long long)plan->connections,
           load->value_bytes, (double)figures->calls / seconds, (unsigned long long)figures->failed,
           raw_samples_percentile_us(&figures->samples, 50),
           raw_samples_percentile_us(&figures->samples, 99), rows,
           rows * (double)load->value_bytes / 1e6, (double)figures->bytes / seconds / 1e6,
           figures->cpu_seconds * 1e6 / calls, server_cpu * 1e6 / calls, server_cpu,
           (double)figures->request_bytes / calls, (double)figures->bytes / calls,
           (unsigned long long)figures->calls, (unsigned long long)figures->rows, seconds,
           raw_samples_percentile_us(&figures->samples, 99.9), figures->cpu_seconds);
}

static void run(
    struct load *load, struct grpc_calls *plan, const char *what, int server, int64_t seconds)
{
    pthread_t thread;
    struct grpc_figures figures;
    bool is_fill = load->what == WHAT_FILL;
    int64_t start_ns = raw_now_ns();
    plan->begin_ns = start_ns + (is_fill ? 0 : NS_OF_WARM);
    plan->end_ns = is_fill ? INT64_MAX : plan->begin_ns + seconds * NS_A_SEC;
    struct watch watch = {.begin_ns = plan->begin_ns, .process = server};
    if (server != 0 && pthread_create(&thread, NULL, watch_begin, &watch) != 0) {
        raw_fail("pthread_create", "no thread");
    }
    grpc_calls_run(plan, &figures);
    double took = is_fill ? (double)(raw_now_ns() - start_ns) / 1e9 : (double)seconds;
    double server_cpu = 0;
    if (server != 0) {
        server_cpu = grpc_cpu_seconds(server);
        (void)pthread_join(thread, NULL);
        server_cpu -= watch.before;
    }
    report(plan, load, what, &figures, took, server_cpu);
    raw_samples_deinit(&figures.samples);
    if (figures.failed > 0) {
        raw_fail("calls", "some failed");
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"address",     "table",   "what",           "family",
                                        "rows",        "keys",    "value-bytes",    "in-flight",
                                        "connections", "seconds", "server-process", NULL};
    raw_check_options(argc, argv, names);
    const char *what = raw_option_text(argc, argv, "what", "mutate");
    struct load load = {
        .what = what_of_name(what),
        .table = strdup(
            raw_option_text(argc, argv, "table", "projects/edubba/instances/edubba/tables/load")),
        .family = strdup(raw_option_text(argc, argv, "family", "cf")),
        .keys = raw_keys_of_name(raw_option_text(argc, argv, "keys", "hashed")),
        .rows = raw_option_number(argc, argv, "rows", 100000),
        .value_bytes = raw_option_number(argc, argv, "value-bytes", 1024),
    };
    bool mutates = load.what == WHAT_FILL || load.what == WHAT_MUTATE;
    struct grpc_calls plan = {
        .address = raw_option_text(argc, argv, "address", "127.0.0.1:8086"),
        .path = mutates ? "/google.bigtable.v2.Bigtable/MutateRow"
                        : "/google.bigtable.v2.Bigtable/ReadRows",
        .in_flight = raw_option_number(argc, argv, "in-flight", 64),
        .connections = raw_option_number(argc, argv, "connections", 1),
        .is_stream = load.what == WHAT_SCAN,
        .calls_max = load.what == WHAT_FILL ? load.rows : 0,
        .request = mutates ? mutate_request : read_request,
        .take_rows = mutates ? NULL : take_rows,
        .rows_expected = load.what == WHAT_READ   ? 1
                         : load.what == WHAT_SCAN ? load.rows
                                                  : 0,
        .context = &load,
    };
    if (load.rows == 0 || load.value_bytes > VALUE_BYTES_MAX || plan.connections == 0 ||
        plan.connections > plan.in_flight) {
        raw_fail("options", "at least one row and connection, no more connections than calls in "
                            "flight, values of at most 64 KiB");
    }
    run(&load, &plan, what, (int)raw_option_number(argc, argv, "server-process", 0),
        (int64_t)raw_option_number(argc, argv, "seconds", 5));
    free(load.table);
    free(load.family);
    return 0;
}
