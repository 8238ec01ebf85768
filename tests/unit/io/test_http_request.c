#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/http_request.h"

static char text[HTTP_HEAD_BYTES_MAX + 1];
static struct http_request request;

static uint16_t parse(const char *head)
{
    (void)snprintf(text, sizeof text, "%s", head);
    return http_request_parse(text, strlen(text), &request);
}

#define HOST "Host: h\r\n"

Test(http_request, a_whole_head)
{
    cr_assert_eq(parse("GET /a?b HTTP/1.1\r\n" HOST "Name: \t of it \r\nname:2\r\n\r\nGET"), 200);
    cr_assert_str_eq(request.method, "GET");
    cr_assert_str_eq(request.uri, "/a?b");
    cr_assert_str_eq(http_request_header(&request, "NAME"), "of it");
    cr_assert_null(http_request_header(&request, "nam"));
    cr_assert_eq(request.header_count, 3);
    cr_assert_str_eq(text + request.head_bytes, "GET");
    cr_assert(request.keeps_open);
    cr_assert_not(request.has_body);
}

Test(http_request, how_long_the_connection_lasts)
{
    static const struct {
        const char *head;
        bool keeps_open;
        bool has_body;
    } cases[] = {
        {"GET / HTTP/1.0\r\n\r\n", false, false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: TE, close\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\n" HOST "Connection: closed\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", true, true},
        {"GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(parse(cases[i].head), 200, "%s", cases[i].head);
        cr_assert_eq(request.keeps_open, cases[i].keeps_open, "%s", cases[i].head);
        cr_assert_eq(request.has_body, cases[i].has_body, "%s", cases[i].head);
    }
}

Test(http_request, what_is_refused)
{
    static const struct {
        const char *head;
        uint16_t status;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400}, /* of which machine? */
        {"GET / HTTP/1.1\r\n" HOST "host: other\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.11\r\n\r\n", 505},
        {"GET /\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET http://h/ HTTP/1.1\r\n" HOST "\r\n", 400},
        {"get / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Name : x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Name\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Name: a\nb\r\n\r\n", 400},
        {"\r\n\r\n", 400},
        {"\x16\x03\x01", 400}, /* TLS, and no need to wait for its end */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(parse(cases[i].head), cases[i].status, "%zu: %s", i, cases[i].head);
    }
}

Test(http_request, what_comes_in_pieces)
{
    static const char head[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
    for (size_t size_bytes = 0; size_bytes < sizeof head - 1; size_bytes++) {
        memcpy(text, head, size_bytes);
        cr_assert_eq(http_request_parse(text, size_bytes, &request), HTTP_REQUEST_MORE);
        cr_assert_eq(memcmp(text, head, size_bytes), 0, "untouched");
    }
}

Test(http_request, limits)
{
    memset(text, 'a', sizeof text);
    cr_assert_eq(http_request_parse(text, HTTP_HEAD_BYTES_MAX - 1, &request), HTTP_REQUEST_MORE);
    cr_assert_eq(http_request_parse(text, HTTP_HEAD_BYTES_MAX, &request), 431);

    int size = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 1; i < HTTP_REQUEST_HEADERS_MAX; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size, "N%d: v\r\n", i);
    }
    char *copy = strdup(text);
    (void)snprintf(text + size, sizeof text - (size_t)size, "\r\n");
    cr_assert_eq(http_request_parse(text, (size_t)size + 2, &request), 200);
    cr_assert_eq(request.header_count, HTTP_REQUEST_HEADERS_MAX);
    size = snprintf(text, sizeof text, "%sOne: more\r\n\r\n", copy);
    cr_assert_eq(http_request_parse(text, (size_t)size, &request), 431);
    free(copy);
}
