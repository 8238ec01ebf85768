/*
 * The console: a page, the open JSON API that it uses, and the heat map behind it.
 *
 *   nng's HTTP threads -- calls ----> [ mailbox ] --> the console's thread: heat map, live load, JSON
 *   the loop           -- load  ---->                     |        |
 *                      -- answers -->                     |        +--> folder/heat, once a minute
 *                      <-- questions (question.h) --------+
 *
 * Nobody who looks holds up the loop: it hands reports over, and answers the console's questions like those
 * of clients, at most QUESTIONS_MAX at once.  A full mailbox refuses: a call gets 503, a report is lost to
 * the heat map.
 *
 * Thread rule: console_take_load() and answers to questions from the loop; open and close when no other
 * thread can call.  Before close, the HTTP server must be closed (it waits for calls), and every question
 * answered.
 */
#ifndef MASTER_CONSOLE_CONSOLE_H
#define MASTER_CONSOLE_CONSOLE_H

#include "common/io/http.h"
#include "master/console/question.h"
#include "master/core/located_load.h"

struct console;

struct console_options {
    struct http_server *server; /* borrowed */
    const char *folder;         /* of the master; borrowed */
    uint64_t heat_bytes_max;
    void *context;
    /* Any thread: put the question to the catalog.  False: not now, it is still the console's. */
    bool (*ask)(void *context, struct question *question);
    /* Any thread: what /status shows. */
    void (*append_status)(void *context, struct buffer *out);
};

/* Errors: STATUS_NO_MEMORY, STATUS_IO: the thread or a route could not be made. */
enum status console_open(const struct console_options *options,
                         struct console **ret_console,
                         struct error *ret_error);
void console_close(struct console *console); /* NULL is fine */

/* Takes the report over. */
void console_take_load(struct console *console, struct located_report *report);

#endif /* MASTER_CONSOLE_CONSOLE_H */
