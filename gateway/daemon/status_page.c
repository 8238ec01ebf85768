#include "gateway/daemon/status_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "gateway/methods/method_list.h"

static const char *state_text(const struct service *service)
{
    switch (atomic_load(&service->state)) {
    case SERVICE_SERVING:
        return "serving";
    case SERVICE_DRAINING:
        return "draining";
    default:
        return "starting";
    }
}

static void on_health(void *context, const char *path, struct http_response *response)
{
    const struct service *service = context;
    (void)path;
    if (atomic_load(&service->state) == SERVICE_SERVING) {
        buffer_append_format(&response->body, "ok\n");
        return;
    }
    response->status = 503;
    buffer_append_format(&response->body, "%s\n",
                         atomic_load(&service->state) == SERVICE_STARTING
                             ? "starting: no master has answered yet"
                             : "draining: no new calls are taken");
}

static void append_member(struct buffer *out, const char *name, const char *value)
{
    buffer_append_format(out, "\"%s\":", name);
    json_text(out, bytes_of_text(value));
    buffer_append_u8(out, ',');
}

static void on_status(void *context, const char *path, struct http_response *response)
{
    const struct service *service = context;
    const struct gateway_settings *settings = service->settings;
    struct buffer *out = &response->body;
    uint64_t request_bytes = 0;
    size_t method_count = 0;
    (void)path;
    (void)method_list(&method_count);
    response->content_type = "application/json";
    buffer_append_format(out, "{");
    append_member(out, "version", EDUBBA_VERSION);
    append_member(out, "state", state_text(service));
    append_member(out, "http_address", service->http_address);
    append_member(out, "masters", settings->masters);
    append_member(out, "home", settings->home);
    if (atomic_load(&service->state) != SERVICE_STARTING) {
        request_bytes = rpc_server_request_bytes(service->server);
        append_member(out, "address", service->address);
    }
    buffer_append_format(out, "\"tls\":%s,\"methods\":%zu,\"request_bytes\":%" PRIu64 "}\n",
                         settings->tls_certificate[0] != '\0' ? "true" : "false", method_count,
                         request_bytes);
}

/* "127.0.0.1:8087", with the port that the system chose when 0 was asked for. */
static void name_address(struct service *service)
{
    const char *asked = service->settings->http_address;
    const char *colon = strrchr(asked, ':');
    int host_bytes = colon != NULL ? (int)(colon - asked) : (int)strlen(asked);
    (void)snprintf(service->http_address, sizeof service->http_address, "%.*s:%u", host_bytes,
                   asked, (unsigned)http_server_port(service->http));
}

enum status status_page_open(struct service *service, struct error *ret_error)
{
    static const struct {
        const char *path;
        http_handler handler;
    } pages[] = {{"/health", on_health}, {"/healthz", on_health}, {"/status", on_status}};
    const struct gateway_settings *settings = service->settings;
    if (settings->http_address[0] == '\0') {
        return STATUS_OK;
    }
    enum status status = http_server_open(settings->http_address, settings->insecure,
                                          &service->http, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    name_address(service);
    for (size_t i = 0; i < sizeof pages / sizeof *pages && status == STATUS_OK; i++) {
        status = http_server_handle(service->http, pages[i].path, pages[i].handler, service);
    }
    if (status != STATUS_OK) {
        status_page_close(service);
        return error_set(ret_error, status, "cannot serve HTTP at %s: %s", settings->http_address,
                         status_text(status));
    }
    return STATUS_OK;
}

void status_page_close(struct service *service)
{
    http_server_close(service->http);
    service->http = NULL;
}
