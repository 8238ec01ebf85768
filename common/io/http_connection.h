/*
 * One connection of http.h: a request is read, answered, and the next one read.
 *
 *   READING --(the head is whole)--> CALLED --(http_connection_answer)--> SENDING --> READING or down
 *
 * Who sends no request, or takes no answer, for HTTP_PATIENCE_MS is hung up on.  One thing at a time is under way
 * of a connection, an operation of nng's or a call, and whoever ends that goes on with it: so nothing here
 * needs a lock, but for what the owner looks at from elsewhere, which is atomic.
 */
#ifndef COMMON_IO_HTTP_CONNECTION_H
#define COMMON_IO_HTTP_CONNECTION_H

#include <stdatomic.h>

#include <nng/nng.h>

#include "common/base/buffer.h"
#include "common/io/http_request.h"

#define HTTP_PATIENCE_MS 60000

struct http_connection;
struct http_response;

struct http_connection_events {
    /* A request is whole: http_connection_answer() once, now or later. */
    void (*on_request)(void *owner, struct http_connection *connection);
    /* Nothing is under way any more, nor will be: out of the owner's hands, then freed by the caller.  The
     * last callback. */
    void (*on_down)(void *owner, struct http_connection *connection);
};

struct http_connection {
    const struct http_connection_events *events;
    void *owner;
    struct http_connection *next; /* the owner's */
    struct http_connection *previous;
    _Atomic int64_t reading_since_ns; /* 0 = it is answered now */
    atomic_bool closed;

    nng_stream *stream;
    nng_aio *aio;
    int64_t until_ns; /* what is under way ends by then */
    struct http_request request;
    size_t in_bytes;
    bool ends; /* with the answer that is sent */
    struct buffer head;
    struct buffer body;
    size_t sent_bytes; /* of both */
    char in[HTTP_HEAD_BYTES_MAX];
};

/* Takes the stream.  NULL without memory; the stream is gone then. */
struct http_connection *http_connection_create(const struct http_connection_events *events,
                                               void *owner,
                                               nng_stream *stream);

/* "Not Found" of 404; "" of one that nobody here answers with. */
const char *http_reason(uint16_t status);

/* Begins to read.  May call on_down before it returns. */
void http_connection_start(struct http_connection *connection);

/* Takes the response's body over.  Any thread. */
void http_connection_answer(struct http_connection *connection, struct http_response *response);

/* Hang up; on_down follows.  Any thread, as long as on_down has not come. */
void http_connection_close(struct http_connection *connection);

#endif /* COMMON_IO_HTTP_CONNECTION_H */
