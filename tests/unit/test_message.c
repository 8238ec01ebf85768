#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/wire/writer.h"
#include "message_random.h"

/* --- every message, by one shape: decode and encode again --------------------------------------- */

struct codec {
    const char *name;
    void (*encode_any)(struct random_source *source, struct buffer *out);
    /* Decodes in, and encodes what came of it. */
    enum status (*recode)(struct bytes in, struct arena *arena, struct buffer *out);
};

#define CODEC_RECODE(name)                                                                     \
    static enum status recode_##name(struct bytes in, struct arena *arena, struct buffer *out) \
    {                                                                                          \
        struct name message;                                                                   \
        struct error error;                                                                    \
        enum status status = name##_decode(in, arena, &message, &error);                       \
        if (status == STATUS_OK) {                                                             \
            name##_encode(&message, out);                                                      \
        }                                                                                      \
        return status;                                                                         \
    }
#define CODEC_RECODE_FLAT(name)                                                                \
    static enum status recode_##name(struct bytes in, struct arena *arena, struct buffer *out) \
    {                                                                                          \
        struct name message;                                                                   \
        struct error error;                                                                    \
        (void)arena;                                                                           \
        enum status status = name##_decode(in, &message, &error);                              \
        if (status == STATUS_OK) {                                                             \
            name##_encode(&message, out);                                                      \
        }                                                                                      \
        return status;                                                                         \
    }
MESSAGE_LIST(CODEC_RECODE)
CODEC_RECODE(operations_request)
CODEC_RECODE(operations_response)
CODEC_RECODE(scan_request)
CODEC_RECODE(table)
CODEC_RECODE_FLAT(hello)
CODEC_RECODE_FLAT(hello_ack)
CODEC_RECODE_FLAT(scan_response)

static void any_hello(struct random_source *s, struct buffer *out)
{
    struct hello message = {any_u32(s), any_u32(s),   any_u64(s),
                            any_u32(s), any_bytes(s), any_u64(s)};
    hello_encode(&message, out);
}

static void any_hello_ack(struct random_source *s, struct buffer *out)
{
    struct hello_ack message = {any_u32(s),   any_bytes(s), any_u32(s), any_u64(s),
                                any_bytes(s), any_u64(s),   any_i64(s)};
    hello_ack_encode(&message, out);
}

static void any_operations_request(struct random_source *s, struct buffer *out)
{
    struct operations_request message = {.client = any_u64(s), .first_unfinished = any_u64(s)};
    struct operation *operations = any_list(s, sizeof *operations, &message.operation_count);
    for (size_t i = 0; i < message.operation_count; i++) {
        operations[i] = any_operation(s);
    }
    message.operations = operations;
    operations_request_encode(&message, out);
}

static void any_operations_response(struct random_source *s, struct buffer *out)
{
    struct operations_response message = {0};
    struct operation_result *results = any_list(s, sizeof *results, &message.result_count);
    for (size_t i = 0; i < message.result_count; i++) {
        results[i] = (struct operation_result){any_u32(s),     any_u32(s),   any_bytes(s),
                                               any_bool(s),    any_bytes(s), any_bool(s),
                                               any_location(s)};
    }
    message.results = results;
    operations_response_encode(&message, out);
}

static void any_scan_request(struct random_source *s, struct buffer *out)
{
    struct scan_request message = {.table = any_u64(s),
                                   .filter = any_filter(s),
                                   .rows_limit = any_u64(s),
                                   .reversed = any_bool(s),
                                   .credit_bytes = any_u64(s)};
    struct row_range *rows = any_list(s, sizeof *rows, &message.row_range_count);
    for (size_t i = 0; i < message.row_range_count; i++) {
        rows[i] = any_range(s);
    }
    message.rows = rows;
    scan_request_encode(&message, out);
}

static void any_scan_response(struct random_source *s, struct buffer *out)
{
    struct scan_response message = {any_bytes(s), any_bytes(s),   any_bool(s), any_range(s),
                                    any_u64(s),   any_u64(s),     any_u64(s),  any_u64(s),
                                    any_bool(s),  any_location(s)};
    scan_response_encode(&message, out);
}

static void any_sample_request(struct random_source *s, struct buffer *out)
{
    struct sample_request message = {any_u64(s), any_bytes(s)};
    sample_request_encode(&message, out);
}

static void any_sample_response(struct random_source *s, struct buffer *out)
{
    struct sample_response message = {.tablet = any_range(s), .total_bytes = any_u64(s)};
    struct sample *samples = any_list(s, sizeof *samples, &message.sample_count);
    for (size_t i = 0; i < message.sample_count; i++) {
        samples[i] = (struct sample){any_bytes(s), any_u64(s)};
    }
    message.samples = samples;
    sample_response_encode(&message, out);
}

static void any_locate_request(struct random_source *s, struct buffer *out)
{
    struct locate_request message = {any_u64(s), any_bytes(s), any_bytes(s), any_u32(s)};
    locate_request_encode(&message, out);
}

static void any_locate_response(struct random_source *s, struct buffer *out)
{
    struct locate_response message = {.table = any_table(s)};
    struct location *locations = any_list(s, sizeof *locations, &message.location_count);
    for (size_t i = 0; i < message.location_count; i++) {
        locations[i] = any_location(s);
    }
    message.locations = locations;
    locate_response_encode(&message, out);
}

static void any_create_table_request(struct random_source *s, struct buffer *out)
{
    struct create_table_request message = {.table = any_table(s)};
    struct bytes *splits = any_list(s, sizeof *splits, &message.split_count);
    for (size_t i = 0; i < message.split_count; i++) {
        splits[i] = any_bytes(s);
    }
    message.splits = splits;
    create_table_request_encode(&message, out);
}

static void any_table_name_request(struct random_source *s, struct buffer *out)
{
    struct table_name_request message = {any_bytes(s)};
    table_name_request_encode(&message, out);
}

static void any_alter_table_request(struct random_source *s, struct buffer *out)
{
    struct alter_table_request message = {.name = any_bytes(s)};
    struct alteration *alterations = any_list(s, sizeof *alterations, &message.alteration_count);
    for (size_t i = 0; i < message.alteration_count; i++) {
        alterations[i] = (struct alteration){(enum alter_kind)(1 + any_below(s, 4)), any_family(s),
                                             any_bool(s)};
    }
    message.alterations = alterations;
    alter_table_request_encode(&message, out);
}

static void any_table_response(struct random_source *s, struct buffer *out)
{
    struct table_response message = {any_table(s), any_u32(s)};
    table_response_encode(&message, out);
}

static void any_tables_response(struct random_source *s, struct buffer *out)
{
    struct tables_response message = {0};
    struct table_response *tables = any_list(s, sizeof *tables, &message.table_count);
    for (size_t i = 0; i < message.table_count; i++) {
        tables[i] = (struct table_response){any_table(s), any_u32(s)};
    }
    message.tables = tables;
    tables_response_encode(&message, out);
}

static void any_split_request(struct random_source *s, struct buffer *out)
{
    struct split_request message = {any_bytes(s), any_bytes(s)};
    split_request_encode(&message, out);
}

static void any_split_response(struct random_source *s, struct buffer *out)
{
    struct split_response message = {any_u64(s), any_u64(s)};
    split_response_encode(&message, out);
}

static void any_servers_response(struct random_source *s, struct buffer *out)
{
    struct servers_response message = {.cluster = any_u64(s), .generation = any_u64(s)};
    struct server_information *servers = any_list(s, sizeof *servers, &message.server_count);
    for (size_t i = 0; i < message.server_count; i++) {
        servers[i] = any_server(s);
    }
    message.servers = servers;
    servers_response_encode(&message, out);
}

static void any_sync_request(struct random_source *s, struct buffer *out)
{
    struct sync_request message = {.server = any_server(s),
                                   .known_version = any_u64(s),
                                   .known_generation = any_u64(s),
                                   .full = any_bool(s)};
    struct held_tablet *held = any_list(s, sizeof *held, &message.held_count);
    for (size_t i = 0; i < message.held_count; i++) {
        held[i] = (struct held_tablet){
            any_u64(s), any_u64(s),  (enum held_state)(1 + any_below(s, 3)),
            any_u64(s), any_bool(s), any_bytes(s)};
    }
    message.held = held;
    sync_request_encode(&message, out);
}

static void any_sync_response(struct random_source *s, struct buffer *out)
{
    struct sync_response message = {.generation = any_u64(s),
                                    .version = any_u64(s),
                                    .reset = any_bool(s),
                                    .more = any_bool(s),
                                    .interval_ms = any_u32(s)};
    struct assigned_tablet *tablets = any_list(s, sizeof *tablets, &message.tablet_count);
    for (size_t i = 0; i < message.tablet_count; i++) {
        tablets[i] = (struct assigned_tablet){any_location(s), any_u64(s), any_u64(s), any_u64(s),
                                              any_bool(s)};
    }
    struct table *tables = any_list(s, sizeof *tables, &message.table_count);
    for (size_t i = 0; i < message.table_count; i++) {
        tables[i] = any_table(s);
    }
    uint64_t *dropped = any_list(s, sizeof *dropped, &message.dropped_table_count);
    for (size_t i = 0; i < message.dropped_table_count; i++) {
        dropped[i] = any_u64(s);
    }
    message.tablets = tablets;
    message.tables = tables;
    message.dropped_tables = dropped;
    sync_response_encode(&message, out);
}

static void any_table_message(struct random_source *s, struct buffer *out)
{
    struct table table = any_table(s);
    table_encode(&table, out);
}

static const struct codec codecs[] = {
#define CODEC_ENTRY(name) {#name, any_##name, recode_##name},
    MESSAGE_LIST(CODEC_ENTRY) CODEC_ENTRY(operations_request) CODEC_ENTRY(operations_response)
        CODEC_ENTRY(scan_request) CODEC_ENTRY(scan_response) CODEC_ENTRY(hello)
            CODEC_ENTRY(hello_ack){"table", any_table_message, recode_table},
};
#define CODEC_COUNT (sizeof codecs / sizeof codecs[0])

#define ARENA_LIMIT_BYTES (4 * 1024 * 1024)

struct bench {
    struct arena random_arena;
    struct arena arena;
    struct random_source source;
};

static void bench_init(struct bench *bench, uint64_t seed)
{
    arena_init(&bench->random_arena, 65536, SIZE_MAX);
    arena_init(&bench->arena, 65536, ARENA_LIMIT_BYTES);
    bench->source = (struct random_source){prng_of_seed(seed), &bench->random_arena};
}

static void bench_reset(struct bench *bench)
{
    arena_reset(&bench->random_arena);
    arena_reset(&bench->arena);
}

static void bench_deinit(struct bench *bench)
{
    arena_deinit(&bench->random_arena);
    arena_deinit(&bench->arena);
}

Test(message, every_kind_survives_the_wire)
{
    struct bench bench;
    struct buffer first = BUFFER_INIT;
    struct buffer second = BUFFER_INIT;
    bench_init(&bench, 1);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 300; round++) {
            buffer_reset(&first);
            buffer_reset(&second);
            codecs[c].encode_any(&bench.source, &first);
            enum status status = codecs[c].recode(buffer_bytes(&first), &bench.arena, &second);
            cr_assert_eq((int)status, STATUS_OK, "%s round %d: %s", codecs[c].name, round,
                         status_name(status));
            cr_assert(bytes_equal(buffer_bytes(&first), buffer_bytes(&second)), "%s round %d",
                      codecs[c].name, round);
            bench_reset(&bench);
        }
    }
    buffer_deinit(&first);
    buffer_deinit(&second);
    bench_deinit(&bench);
}

Test(message, a_cut_message_is_malformed_at_every_byte)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 2);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 10; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (size_t cut = 0; cut < whole.size_bytes && cut < 3000; cut++) {
                /* Its own allocation, so that a sanitizer sees every step too far. */
                uint8_t *exact = memory_allocate(cut);
                memcpy(exact, whole.data, cut);
                enum status status = codecs[c].recode(bytes_of(exact, cut), &bench.arena, &out);
                cr_assert_eq((int)status, STATUS_MALFORMED, "%s cut at %zu", codecs[c].name, cut);
                memory_free(exact);
                arena_reset(&bench.arena);
            }
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, damage_is_refused_or_read_but_never_more)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 3);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 400; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (uint64_t i = 1 + any_below(&bench.source, 4); i > 0; i--) {
                whole.data[any_below(&bench.source, whole.size_bytes)] = (uint8_t)prng_next(
                    &bench.source.prng);
            }
            buffer_reset(&out);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &bench.arena, &out);
            cr_assert(status == STATUS_OK || status == STATUS_MALFORMED ||
                          status == STATUS_NO_MEMORY,
                      "%s: %s", codecs[c].name, status_name(status));
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, failing_memory_is_a_status)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 4);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        buffer_reset(&whole);
        codecs[c].encode_any(&bench.source, &whole);
        bool survived = false;
        for (uint64_t after = 0; !survived; after++) {
            struct arena arena;
            arena_init(&arena, 64, SIZE_MAX);
            buffer_deinit(&out);
            memory_fail_arm(after, 1);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &arena, &out);
            memory_fail_disarm();
            survived = status == STATUS_OK && !out.failed;
            cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY, "%s", codecs[c].name);
            arena_deinit(&arena);
        }
        bench_reset(&bench);
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

/* --- contracts of single messages ---------------------------------------------------------------- */

Test(message, huge_claimed_counts_allocate_nothing)
{
    /* [client, first_unfinished, array32 of 2^32-1 operations], and the like for a scan. */
    static const uint8_t operations[] = {0x93, 1, 1, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x91, 1};
    static const uint8_t scan[] = {0x96, 1, 0xdd, 0x7f, 0xff, 0xff, 0xff, 0x92, 0xa0, 0xa0};
    struct arena arena;
    struct operations_request request;
    struct scan_request scan_request;
    struct error error;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(operations_request_decode(bytes_of(operations, sizeof operations), &arena,
                                           &request, &error),
                 STATUS_MALFORMED);
    cr_assert(strstr(error.text, "operations_request.operations") != NULL, "%s", error.text);
    cr_assert_eq(scan_request_decode(bytes_of(scan, sizeof scan), &arena, &scan_request, &error),
                 STATUS_MALFORMED);
    cr_assert_eq(arena.used_bytes, 0);
    arena_deinit(&arena);
}

Test(message, later_fields_are_ignored_and_missing_ones_are_zero)
{
    struct buffer out = BUFFER_INIT;
    struct split_request request;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    wire_write_array(&out, 5);
    wire_write_bytes(&out, bytes_of_text("table"));
    wire_write_bytes(&out, bytes_of_text("row"));
    wire_write_f64(&out, 1.5);
    wire_write_array(&out, 2);
    wire_write_nil(&out);
    wire_write_array(&out, 0);
    wire_write_bytes(&out, bytes_of_text("from the future"));
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert(bytes_equal(request.row, bytes_of_text("row")));

    buffer_reset(&out);
    wire_write_array(&out, 1);
    wire_write_bytes(&out, bytes_of_text("table"));
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert(bytes_equal(request.table, bytes_of_text("table")));
    cr_assert_eq(request.row.size_bytes, 0);

    buffer_append_u8(&out, 0xc0);
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_MALFORMED,
                 "bytes behind the end");
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, heads_leave_the_body)
{
    struct buffer out = BUFFER_INIT;
    struct request_head head = {.deadline_ms = 250, .trace = 42};
    struct request_head request_head;
    struct response_head response = {.status = STATUS_NOT_FOUND, .text = bytes_of_text("no such")};
    struct response_head response_head;
    struct bytes body;
    request_head_encode(&head, &out);
    buffer_append(&out, "body", 4);
    cr_assert_eq(request_head_decode(buffer_bytes(&out), &request_head, &body, NULL), STATUS_OK);
    cr_assert_eq(request_head.deadline_ms, 250);
    cr_assert_eq(request_head.trace, 42);
    cr_assert(bytes_equal(body, bytes_of_text("body")));
    buffer_reset(&out);
    response_head_encode(&response, &out);
    cr_assert_eq(response_head_decode(buffer_bytes(&out), &response_head, &body, NULL), STATUS_OK);
    cr_assert_eq(response_head.status, STATUS_NOT_FOUND);
    cr_assert(bytes_equal(response_head.text, bytes_of_text("no such")));
    cr_assert_eq(body.size_bytes, 0);
    buffer_deinit(&out);
}

/* A chain in a chain in a chain, depth times. */
static const struct filter *nested_filter(struct arena *arena, int depth)
{
    struct filter *inner = arena_allocate(arena, sizeof *inner);
    *inner = (struct filter){.kind = FILTER_PASS_ALL, .flag = true};
    for (int i = 0; i < depth; i++) {
        struct filter *outer = arena_allocate(arena, sizeof *outer);
        *outer = (struct filter){.kind = FILTER_CHAIN, .children = inner, .child_count = 1};
        inner = outer;
    }
    return inner;
}

static int depth_of(const struct filter *filter)
{
    int deepest = 0;
    for (size_t i = 0; i < filter->child_count; i++) {
        int depth = depth_of(&filter->children[i]);
        deepest = depth > deepest ? depth : deepest;
    }
    return 1 + deepest;
}

/* As deep as anyone likes to send it: just deeper than may be, so that the model says so. */
static void decode_deep(struct bytes message)
{
    struct arena arena;
    struct scan_request back;
    struct error error = {0};
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(scan_request_decode(message, &arena, &back, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(depth_of(back.filter), LIMIT_FILTER_DEPTH + 1);
    cr_assert_eq(back.rows_limit, 5, "what follows it is read all the same");
    arena_deinit(&arena);
}

Test(message, filters_are_bounded_in_depth)
{
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    const int chains[] = {LIMIT_FILTER_DEPTH, 2 * LIMIT_FILTER_DEPTH, MESSAGE_DEPTH_MAX, 100000};
    arena_init(&arena, 4096, SIZE_MAX);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct scan_request request = {.filter = nested_filter(&arena, chains[i]), .rows_limit = 5};
        buffer_reset(&out);
        scan_request_encode(&request, &out);
        decode_deep(buffer_bytes(&out));
    }
    arena_deinit(&arena);
    buffer_deinit(&out);
}

/* Our encoder stops somewhere; another's need not. */
Test(message, filters_that_no_encoder_of_ours_writes_are_bounded_in_depth)
{
    static const uint8_t begin[] = {0x94, 0x01,
                                    0x90}; /* table 1, no rows; filter and limit follow */
    static const uint8_t chain[] = {0x92, FILTER_CHAIN}; /* and its one member */
    static const uint8_t end[] = {0x92, FILTER_PASS_ALL, 0xc3, 0x05};
    struct buffer out = BUFFER_INIT;
    buffer_append(&out, begin, sizeof begin);
    for (int i = 0; i < 10000; i++) {
        buffer_append(&out, chain, sizeof chain);
    }
    buffer_append(&out, end, sizeof end);
    decode_deep(buffer_bytes(&out));
    buffer_deinit(&out);
}

/* Too many mutations or rules cost nothing but the message: they come back as a number. */
Test(message, a_list_over_the_limit_is_not_taken_apart)
{
    const size_t count = LIMIT_MUTATIONS_PER_REQUEST + 1;
    struct mutation *mutations = memory_allocate_zeroed(count, sizeof *mutations);
    struct rmw_rule *rules = memory_allocate_zeroed(count, sizeof *rules);
    struct buffer out = BUFFER_INIT;
    struct operations_request back;
    struct arena arena;
    for (size_t i = 0; i < count; i++) {
        mutations[i].kind = MUTATION_DELETE_FROM_ROW;
        rules[i].kind = RMW_INCREMENT;
    }
    const struct operation operations[] = {
        {.kind = OPERATION_MUTATE, .mutations = mutations, .mutation_count = count},
        {.kind = OPERATION_READ_MODIFY_WRITE, .rules = rules, .rule_count = count},
        {.kind = OPERATION_CHECK_AND_MUTATE,
         .mutations = mutations,
         .mutation_count = 1,
         .otherwise = mutations,
         .otherwise_count = count},
    };
    const struct operations_request request = {.operations = operations, .operation_count = 3};
    operations_request_encode(&request, &out);
    arena_init(&arena, 1024, 16384);
    cr_assert_eq(operations_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.operations[0].mutation_count, count);
    cr_assert_eq(back.operations[1].rule_count, count);
    cr_assert_eq(back.operations[2].mutation_count, 1);
    cr_assert_eq(back.operations[2].otherwise_count, count);
    arena_deinit(&arena);
    buffer_deinit(&out);
    memory_free(mutations);
    memory_free(rules);
}

Test(message, a_filter_comes_with_its_size_and_a_giant_is_not_taken_apart)
{
    static uint8_t pattern[LIMIT_FILTER_BYTES];
    struct arena arena;
    struct scan_request back;
    struct buffer out = BUFFER_INIT;
    memset(pattern, 'a', sizeof pattern);
    arena_init(&arena, 4096, 16384);
    struct filter filter = {.kind = FILTER_VALUE_REGEX, .bytes = bytes_of(pattern, 100)};
    struct scan_request request = {.filter = &filter, .rows_limit = 5};
    scan_request_encode(&request, &out);
    cr_assert_eq(scan_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.filter_bytes, 104, "array, kind, size, bytes");
    cr_assert_eq(back.filter->kind, FILTER_VALUE_REGEX);
    cr_assert_eq(back.filter->bytes.size_bytes, 100);

    filter.bytes = bytes_of(pattern, sizeof pattern);
    buffer_reset(&out);
    scan_request_encode(&request, &out);
    cr_assert_eq(scan_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    cr_assert_gt(back.filter_bytes, LIMIT_FILTER_BYTES);
    cr_assert_eq(back.rows_limit, 5, "what follows it is read all the same");
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, an_operation_keeps_every_field_of_its_kind)
{
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    struct operations_request back;
    arena_init(&arena, 4096, SIZE_MAX);
    struct mutation set = {.kind = MUTATION_SET_CELL,
                           .family = bytes_of_text("f"),
                           .qualifier = bytes_of_text("q"),
                           .timestamp_us = TIMESTAMP_SERVER,
                           .value = bytes_of_text("v")};
    struct mutation drop = {.kind = MUTATION_DELETE_FROM_ROW};
    struct filter filter = {.kind = FILTER_CELLS_PER_ROW_LIMIT, .count = 3};
    struct operation operation = {.kind = OPERATION_CHECK_AND_MUTATE,
                                  .table = 9,
                                  .row = bytes_of_text("row"),
                                  .identity = {11, -12},
                                  .mutations = &set,
                                  .mutation_count = 1,
                                  .otherwise = &drop,
                                  .otherwise_count = 1,
                                  .filter = &filter};
    struct operations_request request = {
        .client = 5, .first_unfinished = 6, .operations = &operation, .operation_count = 1};
    operations_request_encode(&request, &out);
    cr_assert_eq(operations_request_decode(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
    const struct operation *got = &back.operations[0];
    cr_assert_eq(back.client, 5);
    cr_assert_eq(back.first_unfinished, 6);
    cr_assert_eq(got->kind, OPERATION_CHECK_AND_MUTATE);
    cr_assert_eq(got->table, 9);
    cr_assert(bytes_equal(got->row, bytes_of_text("row")));
    cr_assert_eq(got->identity.sequence, 11);
    cr_assert_eq(got->identity.first_attempt_us, -12);
    cr_assert_eq(got->mutations[0].timestamp_us, TIMESTAMP_SERVER);
    cr_assert(bytes_equal(got->mutations[0].family, bytes_of_text("f")));
    cr_assert(bytes_equal(got->mutations[0].qualifier, bytes_of_text("q")));
    cr_assert(bytes_equal(got->mutations[0].value, bytes_of_text("v")));
    cr_assert_eq(got->otherwise[0].kind, MUTATION_DELETE_FROM_ROW);
    cr_assert_eq(got->filter->count, 3);
    cr_assert_eq(got->filter_bytes, 3);
    arena_deinit(&arena);
    buffer_deinit(&out);
}
