/*
 * Following: a master that stands by keeps what the active one shows, so that a takeover leaves no hole in it.
 *
 *   IDLE --(5 s)--> LIST_EVENTS, page by page --> LIST_HEAT, page by page --> IDLE
 *
 * Events go to the loop, columns into the heat map (master/heat/heat_following.h).  One request is out at a time; one
 * that is not answered in time, or by who is not the active one any more, ends the round.  What it did not come to the
 * next one asks for, so nothing hangs on a round that failed.
 *
 * Thread rule: the console's thread, but for callbacks of the connection, which only push into its mailbox.
 */
#ifndef MASTER_CONSOLE_CONSOLE_FOLLOW_H
#define MASTER_CONSOLE_CONSOLE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "master/heat/heat_following.h"

struct console;

struct follow {
    struct buffer address; /* with a NUL; empty = nobody is followed */
    struct transport_connection *connection;
    uint64_t requests; /* the number given last, of all connections */
    uint64_t asked;    /* the one that is out; 0 = none */
    bool asked_heat;   /* and what it is */
    int64_t asked_ns;
    int64_t next_ns;       /* when the next round begins */
    uint64_t events_after; /* the last change that the loop has of this master */
    struct heat_following heat;
};

/* From a callback: an answer, taken over if true; false: the console is busy. */
bool console_push_followed(struct console *console, uint64_t request, struct buffer *message);

/* Takes the address over. */
void follow_begin(struct console *console, struct buffer *address);
/* Takes the message over. */
void follow_take(struct console *console, uint64_t request, struct buffer *message);
void follow_tick(struct console *console);
void follow_end(struct console *console);

#endif /* MASTER_CONSOLE_CONSOLE_FOLLOW_H */
