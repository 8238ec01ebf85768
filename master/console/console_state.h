/*
 * The inside of the console: what its thread owns.  For files of this folder only.
 *
 * Thread rule: the console's thread.
 */
#ifndef MASTER_CONSOLE_CONSOLE_STATE_H
#define MASTER_CONSOLE_CONSOLE_STATE_H

#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/io/mailbox.h"
#include "master/console/console.h"
#include "master/console/console_follow.h"
#include "master/console/console_query.h"
#include "master/console/event_store.h"
#include "master/console/heat_store.h"
#include "master/heat/heat_live.h"
#include "master/heat/heat_map.h"

#define QUESTIONS_MAX 32 /* put to the catalog at once */

/* A table, as the last sweep saw it. */
struct named_table {
    uint64_t number;
    struct bytes name; /* in the list's arena */
};

struct table_list {
    struct arena arena;
    struct named_table *tables;
    size_t count;
};

/* Which tables there are, and where and how large their tablets: asked for now and then. */
struct sweep {
    struct question question; /* the one that is out */
    bool running;
    struct table_list tables; /* of the last sweep, or of this one */
    size_t table;             /* whose tablets are asked for */
    struct buffer row;        /* from where on */
    int64_t next_us;
};

struct console {
    struct console_options options;
    struct mailbox *mailbox;
    struct heat_map heat;
    struct heat_live live;
    struct heat_store *store;        /* NULL = nothing is kept */
    struct event_store *event_store; /* likewise */
    struct follow follow;
    struct sweep sweep;
    size_t questions; /* out */
    int64_t aged_us;
    int64_t saved_us;
    _Atomic(const char *) heat_trouble; /* console_keeping */
    _Atomic(const char *) event_trouble;
    atomic_bool lost_events;
    atomic_int_fast64_t round_ns; /* when the thread began what it does; 0 = it does not run */
};

/* console_api.c: answer, now or when a question that it takes is answered. */
void api_take_call(struct console *console, struct http_call *call);

/* A question of a call has been answered. */
void api_take_answer(struct console *console, struct question *question);

/* The loop has answered: pushes it to the console's thread.  For question->answered; its context is the
 * console. */
void console_on_answer(struct question *question);

/* Put a question; false: it is still ours. */
bool console_ask(struct console *console, struct question *question);

/* console_sweep.c */
void sweep_begin(struct console *console, int64_t now_us);
void sweep_take_answer(struct console *console);
void sweep_deinit(struct sweep *sweep);
/* By name, or by number in digits; 0 = there is none. */
uint64_t sweep_find_table(const struct sweep *sweep, struct bytes name);
/* Why nothing can be shown of it: no name, no such table, or one without load. */
enum status sweep_refuse_table(const struct sweep *sweep,
                               struct bytes asked,
                               struct error *ret_error);
struct bytes sweep_table_name(const struct sweep *sweep, uint64_t number);

#endif /* MASTER_CONSOLE_CONSOLE_STATE_H */
