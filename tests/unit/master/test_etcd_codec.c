/* What is said to etcd, what it may answer, and what lies in it. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/prng.h"
#include "master/coordinator/etcd_codec.h"
#include "master/coordinator/etcd_keys.h"
#include "master/coordinator/etcd_parcel.h"

static struct arena arena;

static void begin(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
}

static void end(void)
{
    arena_deinit(&arena);
}

TestSuite(etcd_codec, .init = begin, .fini = end);

static void assert_text(struct buffer *buffer, const char *expected)
{
    buffer_append_u8(buffer, 0);
    cr_assert(!buffer->failed);
    cr_assert_str_eq((const char *)buffer->data, expected);
    buffer_deinit(buffer);
}

/* --- asking ------------------------------------------------------------------------------------- */

Test(etcd_codec, a_transaction_is_what_the_gateway_wants)
{
    struct buffer out = BUFFER_INIT;
    const struct etcd_comparison comparisons[] = {
        {.type = ETCD_CREATED_IS, .key = bytes_of_text("a"), .created = 7},
        {.type = ETCD_VALUE_IS, .key = bytes_of_text("b"), .value = bytes_of_text("v")},
    };
    const struct etcd_operation then[] = {
        {.type = ETCD_PUT, .span.key = bytes_of_text("c"), .value = bytes_of_text("x"), .lease = 9},
        {.type = ETCD_DELETE, .span = {bytes_of_text("d"), bytes_of_text("e")}},
    };
    const struct etcd_operation otherwise = {.type = ETCD_READ, .span.key = bytes_of_text("a")};
    const struct etcd_transaction transaction = {comparisons, 2, then, 2, &otherwise, 1};
    etcd_transaction_encode(&transaction, &out);
    assert_text(
        &out,
        "{\"compare\":[{\"key\":\"YQ==\",\"target\":\"CREATE\",\"create_revision\":\"7\"},"
        "{\"key\":\"Yg==\",\"target\":\"VALUE\",\"value\":\"dg==\"}],"
        "\"success\":[{\"request_put\":{\"key\":\"Yw==\",\"value\":\"eA==\",\"lease\":\"9\"}},"
        "{\"request_delete_range\":{\"key\":\"ZA==\",\"range_end\":\"ZQ==\"}}],"
        "\"failure\":[{\"request_range\":{\"key\":\"YQ==\"}}]}");
}

Test(etcd_codec, a_range_and_leases_are_what_the_gateway_wants)
{
    struct buffer out = BUFFER_INIT;
    const struct etcd_span span = {bytes_of_text("a"), bytes_of_text("b")};
    etcd_range_encode(&span, 10, 5, &out);
    assert_text(&out,
                "{\"key\":\"YQ==\",\"range_end\":\"Yg==\",\"limit\":\"10\",\"revision\":\"5\"}");
    etcd_grant_encode(2, &out);
    assert_text(&out, "{\"TTL\":\"2\"}");
    etcd_lease_encode(INT64_MAX, &out);
    assert_text(&out, "{\"ID\":\"9223372036854775807\"}");
}

/* --- answers, as etcd 3.4 gives them ------------------------------------------------------------ */

#define HEADER \
    "\"header\":{\"cluster_id\":\"17\",\"member_id\":\"2\",\"revision\":\"8\",\"raft_term\":\"2\"}"
#define RANGE                                                                                  \
    "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"2\",\"mod_revision\":\"2\"," \
    "\"version\":\"1\",\"value\":\"AAH/\",\"lease\":\"4607923504259905029\"},"                 \
    "{\"key\":\"Yg==\",\"create_revision\":\"3\"}],\"more\":true,\"count\":\"3\"}"
#define OUTCOME                                                                                \
    "{" HEADER                                                                                 \
    ",\"succeeded\":true,\"responses\":[{\"response_put\":{\"header\":{\"revision\":\"8\"}}}," \
    "{\"response_range\":{\"header\":{\"revision\":\"8\"},\"kvs\":[{\"key\":\"YQ==\","         \
    "\"create_revision\":\"2\",\"value\":\"dg==\"}],\"count\":\"1\"}}]}"
#define GRANT      "{" HEADER ",\"ID\":\"4607923504259905029\",\"TTL\":\"2\"}"
#define KEEP_ALIVE "{\"result\":{" HEADER ",\"ID\":\"123\",\"TTL\":\"2\"}}\n"

Test(etcd_codec, a_range_is_read)
{
    struct etcd_range range;
    cr_assert_eq(etcd_range_decode(bytes_of_text(RANGE), &arena, &range, NULL), STATUS_OK);
    cr_assert_eq(range.revision, 8);
    cr_assert_eq(range.count, 2);
    cr_assert(range.more);
    cr_assert(bytes_equal(range.items[0].value, bytes_of("\0\1\377", 3)));
    cr_assert_eq(range.items[0].lease, 4607923504259905029);
    cr_assert_eq(range.items[0].created, 2);
    cr_assert_eq(range.items[1].value.size_bytes, 0);
}

Test(etcd_codec, an_outcome_is_read_and_what_is_left_out_is_false)
{
    struct etcd_outcome outcome;
    cr_assert_eq(etcd_outcome_decode(bytes_of_text(OUTCOME), &arena, &outcome, NULL), STATUS_OK);
    cr_assert(outcome.succeeded);
    cr_assert_eq(outcome.range_count, 1);
    cr_assert(bytes_equal(outcome.ranges[0].items[0].value, bytes_of_text("v")));
    cr_assert_eq(etcd_outcome_decode(bytes_of_text("{" HEADER "}"), &arena, &outcome, NULL),
                 STATUS_OK);
    cr_assert(!outcome.succeeded);
}

Test(etcd_codec, leases_are_read_and_one_that_is_gone_has_no_time)
{
    struct etcd_lease lease;
    cr_assert_eq(etcd_grant_decode(bytes_of_text(GRANT), &lease, NULL), STATUS_OK);
    cr_assert_eq(lease.lease, 4607923504259905029);
    cr_assert_eq(lease.ttl_s, 2);
    cr_assert_eq(etcd_keep_alive_decode(bytes_of_text(KEEP_ALIVE), &lease, NULL), STATUS_OK);
    cr_assert_eq(lease.ttl_s, 2);
    cr_assert_eq(etcd_keep_alive_decode(bytes_of_text("{\"result\":{" HEADER ",\"ID\":\"123\"}}"),
                                        &lease, NULL),
                 STATUS_OK);
    cr_assert_eq(lease.ttl_s, 0);
}

/* --- hostile ones ------------------------------------------------------------------------------- */

static const char *const good_answers[] = {RANGE, OUTCOME, GRANT, KEEP_ALIVE};

/* All decoders take anything: an error says what is wrong, and sanitizers watch. */
static void decode_all(struct bytes text)
{
    struct etcd_range range;
    struct etcd_outcome outcome;
    struct etcd_lease lease;
    struct error error = {0};
    enum status statuses[] = {
        etcd_range_decode(text, &arena, &range, &error),
        etcd_outcome_decode(text, &arena, &outcome, &error),
        etcd_grant_decode(text, &lease, &error),
        etcd_keep_alive_decode(text, &lease, &error),
    };
    for (size_t i = 0; i < 4; i++) {
        cr_assert(statuses[i] == STATUS_OK || statuses[i] == STATUS_MALFORMED);
    }
    cr_assert_neq(etcd_refusal_decode(text, 500, &error), STATUS_OK);
    arena_reset(&arena);
}

Test(etcd_codec, answers_cut_anywhere_are_malformed)
{
    struct etcd_range range;
    for (size_t size = 0; size < strlen(RANGE); size++) {
        cr_assert_eq(etcd_range_decode(bytes_of(RANGE, size), &arena, &range, NULL),
                     STATUS_MALFORMED, "%zu bytes", size);
    }
}

Test(etcd_codec, answers_changed_anywhere_do_no_harm)
{
    struct prng prng = prng_of_seed(3);
    char text[1024];
    for (int i = 0; i < 20000; i++) {
        const char *from = good_answers[i % 4];
        size_t size = strlen(from);
        memcpy(text, from, size);
        for (uint64_t changes = 1 + prng_below(&prng, 4); changes > 0; changes--) {
            text[prng_below(&prng, size)] = (char)prng_next(&prng);
        }
        decode_all(bytes_of(text, size));
    }
}

Test(etcd_codec, answers_of_the_wrong_kind_are_malformed)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "1",
        "{}",
        "{\"header\":1}",
        "{" HEADER ",\"kvs\":{}}",
        "{" HEADER ",\"kvs\":[1]}",
        "{" HEADER ",\"kvs\":[{}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"Y\",\"create_revision\":\"1\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":1,\"create_revision\":\"1\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"-1\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"99999999999999999999\"}]}",
        "{" HEADER ",\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"1x\"}]}",
        "{" HEADER ",\"more\":1}",
        "{\"header\":{\"revision\":\"0\"}}",
    };
    struct etcd_range range;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_assert_eq(etcd_range_decode(bytes_of_text(texts[i]), &arena, &range, NULL),
                     STATUS_MALFORMED, "%s", texts[i]);
    }
    struct etcd_lease lease;
    cr_assert_eq(etcd_grant_decode(bytes_of_text("{" HEADER ",\"ID\":\"1\"}"), &lease, NULL),
                 STATUS_MALFORMED);
    cr_assert_eq(etcd_grant_decode(bytes_of_text("{" HEADER ",\"TTL\":\"1\"}"), &lease, NULL),
                 STATUS_MALFORMED);
    cr_assert_eq(etcd_keep_alive_decode(bytes_of_text(GRANT), &lease, NULL), STATUS_MALFORMED);
}

Test(etcd_codec, refusals_say_whether_anything_was_done)
{
    static const struct {
        const char *text;
        enum status status;
    } cases[] = {
        {"{\"error\":\"e\",\"message\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}",
         STATUS_NO_SPACE},
        {"{\"error\":\"e\",\"message\":\"etcdserver: request is too large\",\"code\":3}",
         STATUS_LIMIT},
        {"{\"error\":\"e\",\"message\":\"grpc: received message larger than max (3 vs. 2)\",\"code\":8}",
         STATUS_LIMIT},
        {"{\"error\":\"e\",\"message\":\"etcdserver: requested lease not found\",\"code\":5}",
         STATUS_NOT_FOUND},
        {"{\"error\":\"e\",\"message\":\"etcdserver: mvcc: required revision has been compacted\","
         "\"code\":11}",
         STATUS_OUT_OF_RANGE},
        {"{\"error\":\"e\",\"message\":\"etcdserver: permission denied\",\"code\":7}",
         STATUS_PERMISSION_DENIED},
        {"{\"error\":\"e\",\"message\":\"etcdserver: too many requests\",\"code\":8}",
         STATUS_UNAVAILABLE},
        {"{\"error\":\"e\",\"message\":\"etcdserver: request timed out\",\"code\":14}",
         STATUS_UNAVAILABLE},
        {"{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no leader\"}}",
         STATUS_UNAVAILABLE},
        {"<html>", STATUS_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        cr_assert_eq(etcd_refusal_decode(bytes_of_text(cases[i].text), 503, &error),
                     cases[i].status, "%s", cases[i].text);
        cr_assert_eq(error.status, cases[i].status);
        cr_assert_neq(error.text[0], '\0');
    }
}

/* --- keys --------------------------------------------------------------------------------------- */

Test(etcd_codec, keys_lie_under_prefix_and_cluster_and_come_back)
{
    struct etcd_keys keys;
    struct bytes back;
    struct record_key record = record_key_of('P', 258);
    cr_assert_eq(etcd_keys_make("/edubba", 3, &keys, NULL), STATUS_OK);
    cr_assert_str_eq(keys.leader, "/edubba/3/leader");
    struct etcd_key key = etcd_key_of_record(&keys, record_key_bytes(&record));
    cr_assert(bytes_starts_with(etcd_key_bytes(&key), bytes_of_text("/edubba/3/record/P")));
    cr_assert(bytes_compare(etcd_key_bytes(&key), bytes_of_text(keys.record_end)) < 0);
    cr_assert(etcd_key_to_record(&keys, etcd_key_bytes(&key), &back));
    cr_assert(bytes_equal(back, record_key_bytes(&record)));
    cr_assert_not(etcd_key_to_record(&keys, bytes_of_text("/edubba/3/record/"), &back));
    cr_assert_not(etcd_key_to_record(&keys, bytes_of_text("/edubba/30/record/P"), &back));
    cr_assert_not(etcd_key_to_record(&keys, bytes_of_text("/edubba/3/record/P123456789"), &back));
}

Test(etcd_codec, bad_prefixes_are_refused_by_name)
{
    static const char *const prefixes[] = {"", "/", "edubba", "/edubba/"};
    for (size_t i = 0; i < 4; i++) {
        struct etcd_keys keys;
        struct error error = {0};
        cr_assert_eq(etcd_keys_make(prefixes[i], 1, &keys, &error), STATUS_INVALID_ARGUMENT);
        cr_assert_not_null(strstr(error.text, "etcd.prefix"));
    }
}

/* --- mark and parcel ---------------------------------------------------------------------------- */

Test(etcd_codec, a_mark_comes_back_and_damage_is_seen)
{
    const struct etcd_mark mark = {7, 12, 1 << 20, UINT64_MAX, 127};
    struct etcd_mark back;
    char text[ETCD_MARK_TEXT_SIZE];
    etcd_mark_encode(&mark, text);
    cr_assert_str_eq(text, "1 7 12 1048576 18446744073709551615 127");
    cr_assert_eq(etcd_mark_decode(bytes_of_text(text), &back, NULL), STATUS_OK);
    cr_assert_eq(memcmp(&mark, &back, sizeof mark), 0);

    static const char *const damaged[] = {"",
                                          "1",
                                          "1 7 12",
                                          "1 7 12 1 1 1 1",
                                          "1 0 1 0 0 0",
                                          "0 7 1 0 0 0",
                                          "1 7 x 0 0 0",
                                          "1  7 1 0 0 0",
                                          "1 7 1 0 0 99999999999999999999"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        cr_assert_eq(etcd_mark_decode(bytes_of_text(damaged[i]), &back, NULL), STATUS_CORRUPT, "%s",
                     damaged[i]);
    }
    cr_assert_eq(etcd_mark_decode(bytes_of_text("2 7 1 0 0 0 new"), &back, NULL), STATUS_VERSION);
}

Test(etcd_codec, a_parcel_comes_back_and_one_that_is_cut_is_corrupt)
{
    const struct catalog_put puts[] = {
        {bytes_of_text("I"), bytes_of_text("identity"), false},
        {bytes_of_text("P12345678"), BYTES_EMPTY, true},
        {bytes_of_text("C"), BYTES_EMPTY, false},
    };
    struct buffer parcel = BUFFER_INIT;
    struct catalog_put put;
    enum status status = STATUS_OK;
    size_t ends[3];
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        etcd_parcel_put(&puts[i], &parcel);
        ends[i] = parcel.size_bytes;
    }
    for (size_t i = 0; i < 3; i++) {
        cr_assert(etcd_parcel_next(buffer_bytes(&parcel), &at, &put, &status));
        cr_assert(bytes_equal(put.key, puts[i].key));
        cr_assert(bytes_equal(put.value, puts[i].value));
        cr_assert_eq(put.removed, puts[i].removed);
        cr_assert_eq(at, ends[i]);
    }
    cr_assert_not(etcd_parcel_next(buffer_bytes(&parcel), &at, &put, &status));
    cr_assert_eq(status, STATUS_OK);
    for (size_t size = 0; size < parcel.size_bytes; size++) {
        at = 0;
        while (etcd_parcel_next(bytes_of(parcel.data, size), &at, &put, &status)) {
        }
        bool whole = size == 0 || size == ends[0] || size == ends[1];
        cr_assert_eq(status, whole ? STATUS_OK : STATUS_CORRUPT, "%zu bytes", size);
    }
    buffer_deinit(&parcel);
}
