/*
 * What a tablet server tells of itself: as JSON for METHOD_STATUS, /status and `ebt debug bundle`, and as metrics.
 *
 * Thread rule: any thread, but for status_report_metrics().
 */
#ifndef TABLETSERVER_SERVE_STATUS_REPORT_H
#define TABLETSERVER_SERVE_STATUS_REPORT_H

#include "common/base/buffer.h"

struct server;

/* Appended to out, as one MessagePack string.  brief: without the tablets. */
void status_report_write(struct server *server, bool brief, struct buffer *out);

/* The HTTP handlers: /status (JSON), /health (200 "ok", or 503 with the reason). */
struct http_response;
void status_report_on_status(void *context, const char *path, struct http_response *response);
void status_report_on_health(void *context, const char *path, struct http_response *response);

/* What the stores know themselves, made into metrics.  On the sync thread, once a second: /metrics shows what it
 * was then. */
void status_report_metrics(struct server *server);

#endif /* TABLETSERVER_SERVE_STATUS_REPORT_H */
