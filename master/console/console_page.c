#include "master/console/console_page.h"

#include <string.h>

#include "master/console/console_json.h"

/* Nothing from elsewhere, nothing inside of the page itself: scripts and styles are files of ours. */
#define PAGE_POLICY                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "  \
    "frame-ancestors 'none'"
#define API_POLICY "default-src 'none'; frame-ancestors 'none'"

static void set_headers(struct http_response *response, const char *policy, const char *caching)
{
    const struct http_header headers[] = {
        {"Content-Security-Policy", policy},
        {"Cache-Control", caching},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
    };
    memcpy(response->headers, headers, sizeof headers);
}

void page_answer(struct http_call *call, uint16_t code, struct buffer *body)
{
    struct http_response response = {.status = code, .content_type = "application/json"};
    response.body = *body;
    buffer_init(body);
    set_headers(&response, API_POLICY, "no-store");
    http_call_answer(call, &response);
}

void page_refuse(struct http_call *call, uint16_t code, const char *status, const char *text)
{
    struct buffer body = BUFFER_INIT;
    buffer_append_format(&body, "{\"error\":{\"status\":\"%s\",\"text\":", status);
    json_text(&body, bytes_of_text(text));
    buffer_append_format(&body, "}}\n");
    page_answer(call, code, &body);
}

static const struct page_file *find_file(const char *uri)
{
    size_t path_bytes = strcspn(uri, "?#");
    const struct page_file *file = page_files;

    while (file->path != NULL &&
           (strlen(file->path) != path_bytes || strncmp(file->path, uri, path_bytes) != 0)) {
        file++;
    }
    return file->path != NULL ? file : page_files; /* "/" is the first one, as "/index.html" */
}

static void on_file(void *context, struct http_call *call)
{
    (void)context;
    const struct page_file *file = find_file(http_call_uri(call));
    const char *known = http_call_header(call, "If-None-Match");
    bool same = known != NULL && strcmp(known, file->tag) == 0;
    struct http_response response = {
        .status = same ? 304 : 200,
        .content_type = file->content_type,
    };
    set_headers(&response, PAGE_POLICY,
                "no-cache"); /* ask each time whether it is still this one */
    response.headers[5] = (struct http_header){"ETag", file->tag};
    if (!same) {
        buffer_append(&response.body, file->data, file->size_bytes);
    }
    http_call_answer(call, &response);
}

static bool only_reads(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static void on_api(void *context, struct http_call *call)
{
    const struct page *page = context;
    if (!only_reads(http_call_method(call))) {
        page_refuse(call, 405, "INVALID_ARGUMENT",
                    "nothing can be changed here: GET and HEAD only");
        return;
    }
    page->on_call(page->context, call);
}

enum status page_serve(struct page *page, struct http_server *server, struct error *ret_error)
{
    enum status status = http_server_handle_call(server, "/", on_file, page);

    for (const struct page_file *file = page_files; file->path != NULL && status == STATUS_OK;
         file++) {
        status = http_server_handle_call(server, file->path, on_file, page);
    }
    if (status == STATUS_OK) {
        status = http_server_handle_tree(server, "/api", on_api, page);
    }
    return status == STATUS_OK ? STATUS_OK
                               : error_set(ret_error, status, "cannot serve the console");
}
