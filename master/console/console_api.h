/*
 * The parts of the API: what each path answers.  docs/console.md tells of it.  For files of this folder only.
 *
 * Thread rule: the console's thread.
 */
#ifndef MASTER_CONSOLE_CONSOLE_API_H
#define MASTER_CONSOLE_CONSOLE_API_H

#include "master/console/console_state.h"

/* A call that waits for the catalog's answer. */
struct api_wait {
    struct question question; /* its context is the console */
    struct http_call *call;
    /* JSON of the answer's body.  Errors: as if the catalog had said so. */
    enum status (*tell)(struct bytes body, struct buffer *out, struct error *ret_error);
};

/* console_api_heat.c */
enum status api_heat(struct console *console,
                     const struct query *query,
                     struct buffer *out,
                     struct error *ret_error);
/* console_api_load.c */
enum status api_load(struct console *console,
                     const struct query *query,
                     struct buffer *out,
                     struct error *ret_error);

/* console_api_catalog.c: what to ask, and how to tell of the answer. */
enum status api_ask_tablets(struct console *console,
                            const struct query *query,
                            struct api_wait *wait,
                            struct error *ret_error);
enum status api_ask_hot_tablets(struct console *console,
                                const struct query *query,
                                struct api_wait *wait,
                                struct error *ret_error);
enum status api_ask_advice(struct console *console,
                           const struct query *query,
                           struct api_wait *wait,
                           struct error *ret_error);
enum status api_ask_events(struct console *console,
                           const struct query *query,
                           struct api_wait *wait,
                           struct error *ret_error);

#endif /* MASTER_CONSOLE_CONSOLE_API_H */
