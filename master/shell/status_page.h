/*
 * What the master shows over HTTP: /health, /status (JSON) and /metrics.
 *
 * The loop publishes a copy of the status now and then; the HTTP threads hand out the last one, so
 * that nobody who looks ever holds up the loop.
 *
 * Thread rule: publish from the loop; the rest when no other thread can call.
 */
#ifndef MASTER_SHELL_STATUS_PAGE_H
#define MASTER_SHELL_STATUS_PAGE_H

#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/io/http.h"

struct status_page;

/* Errors: as http_server_open(); STATUS_NO_MEMORY. */
enum status status_page_open(const char *address,
                             bool insecure,
                             struct status_page **ret_page,
                             struct error *ret_error);
void status_page_close(struct status_page *page); /* NULL is fine */
uint16_t status_page_port(const struct status_page *page);

/* For others to be served by it, too. */
struct http_server *status_page_server(const struct status_page *page);

/* Any thread: what was published last. */
void status_page_append(struct status_page *page, struct buffer *out);

/* Takes the text's memory over. */
void status_page_publish(struct status_page *page, struct buffer *text);

#endif /* MASTER_SHELL_STATUS_PAGE_H */
