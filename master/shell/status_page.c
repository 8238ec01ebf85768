#include "master/shell/status_page.h"

#include <pthread.h>

#include "common/base/memory.h"

struct status_page {
    struct http_server *server;
    pthread_mutex_t mutex;
    struct buffer text; /* last published */
};

static void on_health(void *context, const char *path, struct http_response *response)
{
    (void)context;
    (void)path;
    /* the page is opened only when the catalog is loaded */
    buffer_append_format(&response->body, "ok\n");
}

void status_page_append(struct status_page *page, struct buffer *out)
{
    (void)pthread_mutex_lock(&page->mutex);
    buffer_append_bytes(out, buffer_bytes(&page->text));
    (void)pthread_mutex_unlock(&page->mutex);
}

static void on_status(void *context, const char *path, struct http_response *response)
{
    struct status_page *page = context;
    (void)path;
    response->content_type = "application/json";
    status_page_append(page, &response->body);
    buffer_append_u8(&response->body, '\n');
}

enum status status_page_open(const char *address,
                             bool insecure,
                             struct status_page **ret_page,
                             struct error *ret_error)
{
    struct status_page *page = memory_allocate_zeroed(1, sizeof *page);
    if (page == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the HTTP server");
    }
    (void)pthread_mutex_init(&page->mutex, NULL);
    buffer_init(&page->text);
    buffer_append_format(&page->text, "{}");
    enum status status = http_server_open(address, insecure, &page->server, ret_error);
    if (status == STATUS_OK) {
        status = http_server_handle(page->server, "/health", on_health, page);
    }
    if (status == STATUS_OK) {
        status = http_server_handle(page->server, "/status", on_status, page);
    }
    if (status != STATUS_OK) {
        if (page->server != NULL) {
            (void)error_set(ret_error, status, "cannot serve HTTP on %s", address);
        }
        status_page_close(page);
        return status;
    }
    *ret_page = page;
    return STATUS_OK;
}

void status_page_close(struct status_page *page)
{
    if (page == NULL) {
        return;
    }
    http_server_close(page->server);
    (void)pthread_mutex_destroy(&page->mutex);
    buffer_deinit(&page->text);
    memory_free(page);
}

struct http_server *status_page_server(const struct status_page *page)
{
    return page->server;
}

uint16_t status_page_port(const struct status_page *page)
{
    return http_server_port(page->server);
}

void status_page_publish(struct status_page *page, struct buffer *text)
{
    if (text->failed) {
        buffer_deinit(text);
        return;
    }
    (void)pthread_mutex_lock(&page->mutex);
    struct buffer old = page->text;
    page->text = *text;
    (void)pthread_mutex_unlock(&page->mutex);
    buffer_deinit(&old);
    buffer_init(text);
}
