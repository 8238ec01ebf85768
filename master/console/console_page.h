/*
 * What the console serves at all: the page's files, which are part of the program, and the API; and
 * what headers answers have.
 *
 * Thread rule: any.
 */
#ifndef MASTER_CONSOLE_CONSOLE_PAGE_H
#define MASTER_CONSOLE_CONSOLE_PAGE_H

#include "common/base/error.h"
#include "common/io/http.h"

/* A file of the page; an array of them, ended by one without a path, is made when this is built. */
struct page_file {
    const char *path; /* "/console.css" */
    const char *content_type;
    const unsigned char *data;
    size_t size_bytes;
    const char *tag; /* of its content, for caches: "\"...\"" */
};

extern const struct page_file page_files[];

struct page {
    http_call_handler on_call; /* of all below /api: by now it may be answered */
    void *context;
};

/* page: lives as long as the server.  Errors: STATUS_NO_MEMORY, STATUS_ALREADY_EXISTS. */
enum status page_serve(struct page *page, struct http_server *server, struct error *ret_error);

/* JSON, never stored.  Takes the body over. */
void page_answer(struct http_call *call, uint16_t code, struct buffer *body);
/* {"error":{"status":..., "text":...}} */
void page_refuse(struct http_call *call, uint16_t code, const char *status, const char *text);

#endif /* MASTER_CONSOLE_CONSOLE_PAGE_H */
