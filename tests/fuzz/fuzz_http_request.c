/*
 * The head of an HTTP request, as it comes in pieces: what is made of it does not hang on where they are cut, nothing
 * is touched before it is whole, and what it says lies within it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/io/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct http_request *request, const char *text)
{
    const char *end = text + request->head_bytes;
    ASSERT(request->uri > text);
    ASSERT(request->uri + strlen(request->uri) < end);
    ASSERT(request->header_count <= HTTP_REQUEST_HEADERS_MAX);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_request_header *header = &request->headers[i];
        ASSERT(header->name > request->uri);
        ASSERT(header->value + strlen(header->value) < end);
        ASSERT(http_request_header(request, header->name) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request request;
    if (size == 0 || size > HTTP_HEAD_BYTES_MAX) {
        return 0;
    }
    char *whole = malloc(size); /* each as large as it is, for the sanitizer */
    memcpy(whole, data, size);
    uint16_t status = http_request_parse(whole, size, &request);
    if (status == HTTP_REQUEST_WHOLE) {
        check(&request, whole);
    }
    free(whole);

    for (size_t cut = 1; cut < size; cut += 1 + size / 16) {
        char *part = malloc(cut);
        memcpy(part, data, cut);
        uint16_t early = http_request_parse(part, cut, &request);
        ASSERT(early == HTTP_REQUEST_MORE || early == status);
        ASSERT(early != HTTP_REQUEST_MORE || memcmp(part, data, cut) == 0);
        free(part);
    }
    return 0;
}
