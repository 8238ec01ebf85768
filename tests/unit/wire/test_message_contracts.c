/* What single messages promise beside coming back as they went: limits, later fields, kinds. */
#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/wire/writer.h"
#include "message_random.h"

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

Test(message, a_list_of_documents_believes_no_count)
{
    /* [array32 of 2^32-1 documents, of which one follows, more] */
    static const uint8_t documents[] = {0x92, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x93,
                                        0xc4, 1,    'n',  0xc4, 1,    'c',  7};
    struct arena arena;
    struct list_documents_response response;
    struct error error;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(list_documents_response_decode(bytes_of(documents, sizeof documents), &arena,
                                                &response, &error),
                 STATUS_MALFORMED);
    cr_assert(strstr(error.text, "list_documents_response.documents") != NULL, "%s", error.text);
    cr_assert_eq(arena.used_bytes, 0);
    arena_deinit(&arena);
}

Test(message, a_document_keeps_every_field)
{
    const struct document documents[] = {
        {bytes_of_text("a"), bytes_of_text("content"), 7},
        {bytes_of_text("b"), BYTES_EMPTY, UINT64_MAX},
    };
    const struct list_documents_response response = {documents, 2, true};
    struct list_documents_response back = {0};
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    list_documents_response_encode(&response, &out);
    cr_assert_eq(list_documents_response_decode(buffer_bytes(&out), &arena, &back, NULL),
                 STATUS_OK);
    cr_assert_eq(back.document_count, 2);
    cr_assert(back.more);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(bytes_equal(back.documents[i].name, documents[i].name));
        cr_assert(bytes_equal(back.documents[i].content, documents[i].content));
        cr_assert_eq(back.documents[i].version, documents[i].version);
    }
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, lists_of_load_believe_no_count)
{
    /* [array32 of 2^32-1 hot tablets, of which one follows, next] */
    static const uint8_t hot[] = {0x92, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x91, 7, 0};
    /* [server, version, generation, full, held, [number, elapsed, capacity, array32 of 2^32-1]] */
    static const uint8_t sync[] = {0x96, 0x90, 1,    2,    0xc3, 0x90, 0x94, 1, 2,
                                   3,    0xdd, 0xff, 0xff, 0xff, 0xff, 0x92, 7, 0x90};
    struct arena arena;
    struct list_hot_tablets_response response;
    struct sync_request request;
    struct error error;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(
        list_hot_tablets_response_decode(bytes_of(hot, sizeof hot), &arena, &response, &error),
        STATUS_MALFORMED);
    cr_assert(strstr(error.text, "list_hot_tablets_response.tablets") != NULL, "%s", error.text);
    cr_assert_eq(sync_request_decode(bytes_of(sync, sizeof sync), &arena, &request, &error),
                 STATUS_MALFORMED);
    cr_assert(strstr(error.text, "sync_request.load.tablets") != NULL, "%s", error.text);
    cr_assert_eq(arena.used_bytes, 0);
    arena_deinit(&arena);
}

Test(message, a_sync_without_load_is_that_of_an_older_server)
{
    /* [server, version, generation, full, held] */
    static const uint8_t sync[] = {0x95, 0x90, 1, 2, 0xc3, 0x90};
    struct arena arena;
    struct sync_request request = {.load = {.number = 7}};
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(sync_request_decode(bytes_of(sync, sizeof sync), &arena, &request, NULL),
                 STATUS_OK);
    cr_assert_eq(request.known_generation, 2);
    cr_assert_eq(request.load.number, 0);
    cr_assert_eq(request.load.tablet_count, 0);
    arena_deinit(&arena);
}

/* A sync of one tablet's load; what comes back is in the arena. */
static const struct tablet_load *send_load(const struct tablet_load *load, struct arena *arena)
{
    static struct buffer out;
    struct sync_request back = {0};
    const struct sync_request sync = {.load = {1, 2, 3, load, 1}};
    buffer_reset(&out);
    sync_request_encode(&sync, &out);
    cr_assert_eq(sync_request_decode(buffer_bytes(&out), arena, &back, NULL), STATUS_OK);
    cr_assert_eq(back.load.tablet_count, 1);
    return back.load.tablets;
}

Test(message, a_load_detail_keeps_every_field)
{
    const struct load_point points[] = {{BYTES_EMPTY, 1, 2, 3}, {bytes_of_text("m"), 4, 5, 6}};
    const struct load_key keys[] = {{bytes_of_text("k"), 7, 8}};
    const struct tablet_load load = {9, {.reads = 10}, {points, 2, keys, 1, 11, 1000}};
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    const struct tablet_load *got = send_load(&load, &arena);
    cr_assert(got->tablet == 9 && got->figures.reads == 10);
    cr_assert(got->detail.point_count == 2 && got->detail.key_count == 1);
    cr_assert(got->detail.observations == 11 && got->detail.appended_permille == 1000);
    const struct load_point *point = &got->detail.points[1];
    cr_assert(bytes_equal(point->row, bytes_of_text("m")));
    cr_assert(point->reads == 4 && point->writes == 5 && point->crossing == 6);
    const struct load_key *key = got->detail.keys;
    cr_assert(bytes_equal(key->row, bytes_of_text("k")) && key->reads == 7 && key->writes == 8);
    arena_deinit(&arena);
}

/* Its server must be heard all the same: it says more than where its load is. */
Test(message, a_load_detail_that_cannot_be_counts_for_nothing)
{
    static const uint8_t long_row[LIMIT_ROW_KEY_BYTES + 1];
    const struct load_point equal[] = {{bytes_of_text("m"), 1, 2, 3},
                                       {bytes_of_text("m"), 1, 2, 3}};
    const struct load_point longer = {bytes_of(long_row, sizeof long_row), 1, 2, 3};
    const struct load_key nameless = {BYTES_EMPTY, 1, 2};
    const struct load_key long_key = {bytes_of(long_row, sizeof long_row), 1, 2};
    const struct load_detail details[] = {
        {.points = equal, .point_count = 2},
        {.points = &longer, .point_count = 1},
        {.keys = &nameless, .key_count = 1},
        {.keys = &long_key, .key_count = 1},
        {.observations = 1, .appended_permille = 1001},
    };
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    for (size_t i = 0; i < sizeof details / sizeof *details; i++) {
        const struct tablet_load load = {9, {.reads = 10}, details[i]};
        const struct tablet_load *got = send_load(&load, &arena);
        cr_assert_eq(got->figures.reads, 10);
        cr_assert(got->detail.point_count == 0 && got->detail.key_count == 0, "%zu", i);
        cr_assert(got->detail.observations == 0 && got->detail.appended_permille == 0);
    }
    arena_deinit(&arena);
}

Test(message, of_a_load_detail_so_much_is_taken_as_there_may_be)
{
    static uint8_t rows[LOAD_POINTS_MAX + 9];
    struct load_point points[LOAD_POINTS_MAX + 9];
    struct load_key keys[LOAD_KEYS_MAX + 9];
    for (size_t i = 0; i < LOAD_POINTS_MAX + 9; i++) {
        rows[i] = (uint8_t)i;
        points[i] = (struct load_point){bytes_of(&rows[i], 1), i, 0, 0};
    }
    for (size_t i = 0; i < LOAD_KEYS_MAX + 9; i++) {
        keys[i] = (struct load_key){bytes_of_text("k"), i, 0};
    }
    const struct tablet_load load = {
        9, {.reads = 1}, {points, LOAD_POINTS_MAX + 9, keys, LOAD_KEYS_MAX + 9, 5, 6}};
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    const struct load_detail *got = &send_load(&load, &arena)->detail;
    cr_assert(got->point_count == LOAD_POINTS_MAX && got->key_count == LOAD_KEYS_MAX);
    cr_assert_eq(got->points[LOAD_POINTS_MAX - 1].reads, LOAD_POINTS_MAX - 1);
    cr_assert(got->observations == 5 && got->appended_permille == 6);
    arena_deinit(&arena);
}

Test(message, points_of_load_believe_no_count)
{
    /* A sync, of whose load [1, 2, 3, [[tablet, figures, [array32 of 2^32-1]]]] is left. */
    static const uint8_t sync[] = {0x96, 0x90, 1,    2,    0xc3, 0x90, 0x94, 1,    2,    3,   0x91,
                                   0x93, 7,    0x90, 0x91, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x90};
    struct arena arena;
    struct sync_request request;
    struct error error;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(sync_request_decode(bytes_of(sync, sizeof sync), &arena, &request, &error),
                 STATUS_MALFORMED);
    cr_assert(strstr(error.text, "detail.points") != NULL, "%s", error.text);
    arena_deinit(&arena);
}

Test(message, a_hot_tablet_keeps_every_field)
{
    const struct hot_tablet tablet = {
        .number = 1,
        .table = 2,
        .table_name = bytes_of_text("t"),
        .tablet = 3,
        .server = UINT64_MAX,
        .range = {bytes_of_text("a"), BYTES_EMPTY},
        .start_us = -5,
        .end_us = INT64_MAX,
        .capacity_ns = 6,
        .figures = {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
    };
    const struct list_hot_tablets_response response = {&tablet, 1, 99};
    struct list_hot_tablets_response back = {0};
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    list_hot_tablets_response_encode(&response, &out);
    cr_assert_eq(list_hot_tablets_response_decode(buffer_bytes(&out), &arena, &back, NULL),
                 STATUS_OK);
    cr_assert_eq(back.next, 99);
    cr_assert_eq(back.tablet_count, 1);
    const struct hot_tablet *got = back.tablets;
    cr_assert(got->number == 1 && got->table == 2 && got->tablet == 3);
    cr_assert_eq(got->server, UINT64_MAX);
    cr_assert(bytes_equal(got->table_name, tablet.table_name));
    cr_assert(bytes_equal(got->range.start, tablet.range.start));
    cr_assert_eq(got->range.end.size_bytes, 0);
    cr_assert(got->start_us == -5 && got->end_us == INT64_MAX && got->capacity_ns == 6);
    cr_assert_eq(memcmp(&got->figures, &tablet.figures, sizeof got->figures), 0);
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, documents_to_put_believe_no_count)
{
    /* [[array32 of 2^32-1 documents, of which one follows]] */
    static const uint8_t documents[] = {0x91, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x93,
                                        0xc4, 1,    'n',  0xc4, 1,    'c',  7};
    struct arena arena;
    struct put_documents_request request;
    struct error error;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(put_documents_request_decode(bytes_of(documents, sizeof documents), &arena,
                                              &request, &error),
                 STATUS_MALFORMED);
    cr_assert(strstr(error.text, "put_documents_request.documents") != NULL, "%s", error.text);
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

/* --- replicas --------------------------------------------------------------------------------- */

static enum status decode_proposal(const uint8_t *bytes, size_t size_bytes, struct error *error)
{
    struct arena arena;
    struct propose_request request;
    arena_init(&arena, 4096, SIZE_MAX);
    enum status status = propose_request_decode(bytes_of(bytes, size_bytes), &arena, &request,
                                                error);
    arena_deinit(&arena);
    return status;
}

Test(message, proposals_believe_no_count_and_no_configuration_that_cannot_be)
{
    struct error error;
    /* [1, array32 of 2^32-1 proposals, of which one begins] */
    static const uint8_t many[] = {0x92, 1, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x95, 1};
    cr_assert_eq(decode_proposal(many, sizeof many, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "propose_request.proposals") != NULL, "%s", error.text);
    /* members twice in one server: [1, [[1, 7, 1, 10, [2, 0, [[1, 10], [1, 11]]]]]] */
    static const uint8_t twice[] = {0x92, 1, 0x91, 0x95, 1, 7,  1,    10, 0x93,
                                    2,    0, 0x92, 0x92, 1, 10, 0x92, 1,  11};
    cr_assert_eq(decode_proposal(twice, sizeof twice, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "cannot be") != NULL, "%s", error.text);
    /* eight members */
    static const uint8_t eight[] = {0x92, 1,    0x91, 0x95, 1,    7,    1,    10,   0x93, 2,
                                    0,    0x98, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    cr_assert_eq(decode_proposal(eight, sizeof eight, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "too many members") != NULL, "%s", error.text);
    /* a kind that there is not */
    static const uint8_t kind[] = {0x92, 1, 0x91, 0x95, 4, 7, 1, 10, 0x93, 0, 0, 0x90};
    cr_assert_eq(decode_proposal(kind, sizeof kind, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "proposal.kind") != NULL, "%s", error.text);
}

Test(message, more_proposals_than_a_message_may_have_are_refused)
{
    struct proposal proposals[LIMIT_PROPOSALS_PER_MESSAGE + 1] = {0};
    struct buffer out = BUFFER_INIT;
    struct error error;
    for (size_t i = 0; i <= LIMIT_PROPOSALS_PER_MESSAGE; i++) {
        proposals[i].kind = PROPOSAL_MEMBERS;
    }
    propose_request_encode(&(struct propose_request){1, proposals, LIMIT_PROPOSALS_PER_MESSAGE},
                           &out);
    cr_assert_eq(decode_proposal(out.data, out.size_bytes, &error), STATUS_OK);
    out.size_bytes = 0;
    propose_request_encode(&(struct propose_request){1, proposals, LIMIT_PROPOSALS_PER_MESSAGE + 1},
                           &out);
    cr_assert_eq(decode_proposal(out.data, out.size_bytes, &error), STATUS_MALFORMED);
    buffer_deinit(&out);
}

Test(message, a_proposal_and_an_answer_keep_every_field)
{
    const struct proposal merge = {.kind = PROPOSAL_MERGE,
                                   .tablet = 1,
                                   .base = 2,
                                   .proposer = 30,
                                   .next = {4, 2, 1, {{5, 50}, {6, 60}}},
                                   .right = 7,
                                   .right_base = 8,
                                   .merged = 9};
    const struct proposed split = {PROPOSED_SPLIT, 1, {0}, 0, 2, 3, 0};
    struct propose_request request;
    struct propose_response response;
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    propose_request_encode(&(struct propose_request){3, &merge, 1}, &out);
    cr_assert_eq(propose_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert_eq(request.server, 3);
    const struct proposal *back = &request.proposals[0];
    cr_assert_eq(back->tablet, 1);
    cr_assert_eq(back->base, 2);
    cr_assert_eq(back->proposer, 30);
    cr_assert(replica_configuration_equal(&back->next, &merge.next));
    cr_assert_eq(back->right, 7);
    cr_assert_eq(back->right_base, 8);
    cr_assert_eq(back->merged, 9);
    out.size_bytes = 0;
    propose_response_encode(&(struct propose_response){&split, 1}, &out);
    cr_assert_eq(propose_response_decode(buffer_bytes(&out), &arena, &response, NULL), STATUS_OK);
    cr_assert_eq(response.answers[0].outcome, PROPOSED_SPLIT);
    cr_assert_eq(response.answers[0].left, 2);
    cr_assert_eq(response.answers[0].right, 3);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(message, other_members_are_passed_over_where_there_is_no_room_for_them)
{
    const struct bytes others[] = {bytes_of_text("tcp://two:1"), bytes_of_text("tcp://three:1")};
    const struct scan_response response = {
        .done = true,
        .has_location = true,
        .location = {.tablet = 5, .state = TABLET_SERVING, .others = others, .other_count = 2},
    };
    struct buffer out = BUFFER_INIT;
    struct scan_response read = {0};
    scan_response_encode(&response, &out);
    cr_assert_eq(scan_response_decode(buffer_bytes(&out), &read, NULL), STATUS_OK);
    cr_assert_eq(read.location.tablet, 5);
    cr_assert_eq(read.location.state, TABLET_SERVING);
    cr_assert_eq(read.location.other_count, 0);
    buffer_deinit(&out);
}

Test(message, replicas_of_other_than_all_locations_are_refused)
{
    const struct location locations[2] = {{.tablet = 1}, {.tablet = 2}};
    const struct located_replicas replicas[1] = {{.wish = GOAL_STAY}};
    const struct locate_response response = {.table = {.id = bytes_of_text("t")},
                                             .locations = locations,
                                             .location_count = 2,
                                             .replicas = replicas,
                                             .replicas_count = 1};
    struct buffer out = BUFFER_INIT;
    struct locate_response read;
    struct error error;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    locate_response_encode(&response, &out);
    cr_assert_eq(locate_response_decode(buffer_bytes(&out), &arena, &read, &error),
                 STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "not as many as locations"), "%s", error.text);
    arena_deinit(&arena);
    buffer_deinit(&out);
}
