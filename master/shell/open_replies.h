/*
 * Requests that the catalog has and has not answered: from its number to the way back, with what
 * metrics and the log of slow operations want to know.
 *
 * Thread rule: the loop thread only.
 */
#ifndef MASTER_SHELL_OPEN_REPLIES_H
#define MASTER_SHELL_OPEN_REPLIES_H

#include "common/io/transport/transport.h"
#include "master/console/question.h"
#include "master/core/state/list.h"
#include "master/core/state/number_map.h"

struct open_reply {
    struct list_link link;
    uint64_t number;
    struct transport_reply *reply; /* one of them is there: who asked over the network, */
    struct question *question;     /* or the console */
    enum method method;
    uint64_t trace;
    int64_t received_ns;
};

struct open_replies {
    struct number_map by_number;
    struct list all;
    uint64_t number_last;
};

void open_replies_init(struct open_replies *replies);
/* Requires: empty. */
void open_replies_deinit(struct open_replies *replies);

/* Under a new number.  NULL without memory. */
struct open_reply *open_replies_add(struct open_replies *replies,
                                    const struct transport_request *request,
                                    struct transport_reply *reply);

/* The same for the console. */
struct open_reply *open_replies_add_question(struct open_replies *replies,
                                             struct question *question,
                                             int64_t received_ns);

/* Take it out; the caller frees it with memory_free(). */
struct open_reply *open_replies_take(struct open_replies *replies, uint64_t number);

/* Any one of them; NULL when empty. */
struct open_reply *open_replies_take_any(struct open_replies *replies);

#endif /* MASTER_SHELL_OPEN_REPLIES_H */
