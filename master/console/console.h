/*
 * The console: a page, the open JSON API that it uses, and the heat map behind it.
 *
 *   the HTTP thread    -- calls ----> [ mailbox ] --> the console's thread: heat map, live load, JSON
 *   the loop           -- load  ---->                     |        |
 *                      -- answers -->                     |        +--> folder/heat, once a minute
 *                      -- events ---->                    |        +--> folder/events
 *                      <-- questions (question.h) --------+
 *   another master     <-- LIST_EVENTS, LIST_HEAT --------'  while this one stands by
 *
 * Nobody who looks holds up the loop: it hands reports over, and answers the console's questions like those
 * of clients, at most QUESTIONS_MAX at once.  A full mailbox refuses: a call gets 503, a report is lost to
 * the heat map.
 *
 * Thread rule: console_take_...(), console_follow() and answers to questions from the loop; open and close when no other
 * thread can call.  Before close, the HTTP server must be closed (it waits for calls), and every question
 * answered.
 */
#ifndef MASTER_CONSOLE_CONSOLE_H
#define MASTER_CONSOLE_CONSOLE_H

#include "common/io/http.h"
#include "common/io/transport/transport.h"
#include "master/console/console_file.h"
#include "master/console/question.h"
#include "master/core/load/event_log.h"
#include "master/core/load/located_load.h"

struct console;

struct console_options {
    struct http_server *server; /* borrowed */
    const char *folder;         /* of the master; borrowed */
    struct console_owner owner; /* likewise */
    uint64_t heat_bytes_max;
    void *context;
    /* Any thread: put the question to the catalog.  False: not now, it is still the console's. */
    bool (*ask)(void *context, struct question *question);
    /* Any thread: what /status shows. */
    void (*append_status)(void *context, struct buffer *out);
    /* From the console's thread: a list_events_response of the master that is followed, taken over if true. */
    bool (*on_events)(void *context, struct buffer *events);
    struct event_log *events; /* filled, when the console is opened, with what was kept */
};

/* Errors: STATUS_NO_MEMORY, STATUS_IO: the thread or a route could not be made. */
enum status console_open(const struct console_options *options,
                         struct console **ret_console,
                         struct error *ret_error);
void console_close(struct console *console); /* NULL is fine */

/* Takes the report over. */
void console_take_load(struct console *console, struct located_report *report);

/* Keep these: a list_events_response, taken over if true; false: not now. */
bool console_take_events(struct console *console, struct buffer *events);

/* What cannot be kept, and why: a literal; NULL = it is kept. */
struct console_keeping {
    const char *heat;
    const char *events;
};

/* Any thread. */
void console_look(const struct console *console, struct console_keeping *ret_keeping);

/* Any thread: since this was asked last, could events not be kept?  They may be given once more. */
bool console_lost_events(struct console *console);

/* From the loop: who stands by asks for the heat map. */
void console_take_heat_request(struct console *console,
                               const struct transport_request *request,
                               struct transport_reply *reply);

/* The master at this address is the active one: keep what it shows; "" = there is none, or it is this one.  False:
 * not now. */
bool console_follow(struct console *console, const char *address);

#endif /* MASTER_CONSOLE_CONSOLE_H */
