/*
 * The head of an HTTP/1 request, as anybody may have sent it.
 *
 *   GET /api/v1/heat?table=7 HTTP/1.1 CRLF Host: localhost:7480 CRLF CRLF
 *
 * Bodies are not looked at: nobody here takes one.
 *
 * Pure.  Thread rule: one owner at a time.
 */
#ifndef COMMON_IO_HTTP_REQUEST_H
#define COMMON_IO_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_BYTES_MAX      (16 * 1024)
#define HTTP_REQUEST_HEADERS_MAX 64

struct http_request_header {
    const char *name;
    const char *value;
};

/* Points into the text that it was parsed from. */
struct http_request {
    const char *method; /* "GET" */
    const char *uri;    /* begins with a slash */
    struct http_request_header headers[HTTP_REQUEST_HEADERS_MAX];
    size_t header_count;
    size_t head_bytes; /* what follows is the body, or the next request */
    bool keeps_open;   /* the connection may serve another request */
    bool has_body;
};

#define HTTP_REQUEST_MORE  0 /* the head has not come to its end */
#define HTTP_REQUEST_WHOLE 200

/* One of these two, or the status to refuse it with: 400, 431 (too long) or 505.  Text is changed only when the
 * request is whole. */
uint16_t http_request_parse(char *text, size_t size_bytes, struct http_request *ret_request);

/* NULL without one; of several of a name the first. */
const char *http_request_header(const struct http_request *request, const char *name);

#endif /* COMMON_IO_HTTP_REQUEST_H */
