/* Load as servers report it with their syncs, and hot tablets as they are listed. */
#include "message_claims.h"

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

Test(message, lists_of_load_believe_no_count)
{
    /* [array32 of 2^32-1 hot tablets, of which one follows, next] */
    static const uint8_t hot[] = {0x92, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x91, 7, 0};
    /* [server, version, generation, full, held, [number, elapsed, capacity, array32 of 2^32-1]] */
    static const uint8_t sync[] = {0x96, 0x90, 1,    2,    0xc3, 0x90, 0x94, 1, 2,
                                   3,    0xdd, 0xff, 0xff, 0xff, 0xff, 0x92, 7, 0x90};
    EXPECT_CLAIM_REFUSED(list_hot_tablets_response, hot, "list_hot_tablets_response.tablets");
    EXPECT_CLAIM_REFUSED(sync_request, sync, "sync_request.load.tablets");
}

/* --- where in a tablet its load is ------------------------------------------------------------ */

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

/* --- hot tablets ------------------------------------------------------------------------------ */

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
