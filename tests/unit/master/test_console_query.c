/* What stands behind the question mark, and how keys are written: whoever sends it may send anything. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/prng.h"
#include "master/console/console_json.h"
#include "master/console/console_query.h"

static struct query query;
static struct error error;

static enum status parse(const char *uri)
{
    return query_parse(uri, &query, &error);
}

Test(console_query, is_taken_apart)
{
    struct bytes key;
    int64_t rows = 5;
    cr_assert_eq(parse("/api/v1/heat?table=US%45RS+1&rows=200&start=a%5Cx00%5C%5Cb&flag#x"),
                 STATUS_OK);
    cr_assert_str_eq(query.path, "/api/v1/heat");
    cr_assert(bytes_equal(query_text(&query, "table"), bytes_of_text("USERS 1")));
    cr_assert_eq(query_number(&query, "rows", 1, 1000, &rows, &error), STATUS_OK);
    cr_assert_eq(rows, 200);
    cr_assert_eq(query_key(&query, "start", &key, &error), STATUS_OK);
    cr_assert(bytes_equal(key, bytes_of("a\0\\b", 4)));
    cr_assert_eq(query_text(&query, "flag").size_bytes, 0);
    cr_assert_eq(query_text(&query, "nothing").size_bytes, 0);
    query_deinit(&query);
}

Test(console_query, numbers_are_checked)
{
    static const char *const bad[] = {"/x?n=",
                                      "/x?n=-1",
                                      "/x?n=1001",
                                      "/x?n=0",
                                      "/x?n=1e3",
                                      "/x?n= 1",
                                      "/x?n=9999999999999999999999"};
    int64_t value = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(parse(bad[i]), STATUS_OK);
        cr_assert_eq(query_number(&query, "n", 1, 1000, &value, &error), STATUS_INVALID_ARGUMENT,
                     "%s", bad[i]);
        cr_assert_eq(value, 7);
        query_deinit(&query);
    }
    cr_assert_eq(parse("/x"), STATUS_OK);
    cr_assert_eq(query_number(&query, "n", 1, 1000, &value, &error), STATUS_OK);
    cr_assert_eq(value, 7);
    query_deinit(&query);
}

Test(console_query, what_cannot_be_read_is_refused)
{
    static const char *const bad[] = {"/x?a=%", "/x?a=%4", "/x?a=%4g", "/x?%zz=1"};
    char many[512] = "/x?";
    char path[128] = "/";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(parse(bad[i]), STATUS_INVALID_ARGUMENT, "%s", bad[i]);
    }
    for (int i = 0; i <= QUERY_ITEMS_MAX; i++) {
        strcat(many, "a=1&");
    }
    cr_assert_eq(parse(many), STATUS_INVALID_ARGUMENT);
    memset(path + 1, 'p', 100);
    cr_assert_eq(parse(path), STATUS_INVALID_ARGUMENT);
}

Test(console_query, of_a_key_that_is_refused_it_is_said_whether_it_is_too_long)
{
    static char uri[64 + LIMIT_ROW_KEY_BYTES];
    struct bytes key;
    memset(uri, 'k', sizeof uri - 1);
    memcpy(uri, "/x?start=", strlen("/x?start="));
    uri[strlen("/x?start=") + LIMIT_ROW_KEY_BYTES + 1] = '\0';
    cr_assert_eq(parse(uri), STATUS_OK);
    cr_assert_eq(query_key(&query, "start", &key, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "start is 4097 bytes, a row key at most 4096");
    query_deinit(&query);
    cr_assert_eq(parse("/x?start=%5Cq"), STATUS_OK);
    cr_assert_eq(query_key(&query, "start", &key, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "\\xNN for a byte"), "%s", error.text);
    query_deinit(&query);
}

Test(console_query, what_is_not_asked_for_is_refused)
{
    static const char *const known[] = {"table", NULL};
    cr_assert_eq(parse("/x?table=a"), STATUS_OK);
    cr_assert_eq(query_check(&query, known, &error), STATUS_OK);
    query_deinit(&query);
    cr_assert_eq(parse("/x?table=a&colour=red"), STATUS_OK);
    cr_assert_eq(query_check(&query, known, &error), STATUS_INVALID_ARGUMENT);
    cr_assert(strstr(error.text, "colour") != NULL);
    query_deinit(&query);
}

Test(console_query, any_key_comes_back, .timeout = 600)
{
    struct prng prng = prng_of_seed(5);
    for (int i = 0; i < 20000; i++) {
        uint8_t key[40];
        uint8_t text[400];
        size_t size = prng_below(&prng, sizeof key);
        size_t at = 0;
        struct buffer json = BUFFER_INIT;
        struct bytes back;
        for (size_t b = 0; b < size; b++) {
            key[b] = prng_chance(&prng, 3)   ? '\\'
                     : prng_chance(&prng, 3) ? '"'
                                             : (uint8_t)prng_next(&prng);
        }
        json_key(&json, bytes_of(key, size));
        /* What a JSON parser makes of it: quotes away, backslashes halved. */
        for (size_t b = 1; b + 1 < json.size_bytes; b++) {
            b += json.data[b] == '\\';
            text[at++] = json.data[b];
        }
        cr_assert(json_key_read(text, at, &back));
        cr_assert(bytes_equal(back, bytes_of(key, size)));
        buffer_deinit(&json);
    }
    uint8_t half[] = "a\\x4";
    struct bytes back;
    cr_assert_not(json_key_read(half, 4, &back));
}

Test(console_query, numbers_are_as_long_as_they_say_something)
{
    struct buffer out = BUFFER_INIT;
    json_number(&out, 0);
    buffer_append_u8(&out, ' ');
    json_number(&out, 0.0 / 1.0 - 5);
    buffer_append_u8(&out, ' ');
    json_number(&out, 12.5);
    buffer_append_u8(&out, ' ');
    json_number(&out, 123456789.4);
    cr_assert(bytes_equal(buffer_bytes(&out), bytes_of_text("0 0 12.5 123456789")));
    buffer_deinit(&out);
}
