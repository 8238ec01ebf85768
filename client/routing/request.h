/*
 * Requests with one answer: to the active master, or to a server by its address.
 *
 * One to a master goes to the one that answered last; when that is closed, silent or says
 * UNAVAILABLE, to the next.  A master that stands by tells which one is active, and that one is asked
 * at once, also if its address was not given.  What must not be done twice is not sent again once it
 * may have been received.
 *
 * What tablet servers know too (LOCATE, GET_TABLE) may go to any of them once no master answers: those
 * that ask_first names, then others by chance.  Masters that refuse a connection are all asked before
 * the first server.  The first that is silent is waited for half a second, the next one twice as long,
 * up to two (retry_silence_ns()): a read or write waits behind such a request, and its deadline may be
 * short.  For the next ten seconds it is asked only after those that were not silent, and where all
 * were, after a server; nor is it followed to, whoever names it.  What only a master knows waits two
 * seconds for each.
 *
 * The addresses that the client was given may be tablet servers: those say UNIMPLEMENTED to what is a
 * master's, and the next one is asked.  When all of them say so it is the request's outcome.
 *
 * Thread rule: request_start and its completion while the loop is held; request_call from others.
 */
#ifndef CLIENT_ROUTING_REQUEST_H
#define CLIENT_ROUTING_REQUEST_H

#include "client/routing/lane.h"

#define REQUEST_TO_MASTER UINT32_MAX

struct request {
    struct task task;
    struct list_link link; /* in client->requests, while it is under way */
    struct call call;
    struct edubba_client *client;
    enum method method;
    struct buffer body;
    uint32_t address;        /* or REQUEST_TO_MASTER */
    bool repeatable;         /* doing it twice does no harm */
    bool servers_may_answer; /* to a master: tablet servers know it too */
    bool servers_will_do;    /* UNIMPLEMENTED as soon as any has said so and no master answers */
    bool at_server;          /* the attempt is: not at an address that the client was given */
    bool answered_by_master; /* after on_done: by one that has shown to be one */
    int64_t deadline_ns;
    uint32_t deadline_ms;
    bool may_be_received; /* the last attempt was */
    uint32_t attempts;
    uint32_t ask_first[LOCATION_OTHERS_MAX + 1]; /* addresses of servers that know best */
    uint32_t ask_first_count;
    uint32_t servers_asked;
    uint32_t silences;       /* attempts that were not answered in time */
    uint32_t asked;          /* number of the address that the last attempt went to */
    uint32_t master_asked;   /* index in client->masters */
    uint32_t redirections;   /* followed since the last pause */
    uint32_t refused_by;     /* a bit for each that said UNIMPLEMENTED */
    uint32_t unreachable_ms; /* give up when for so long nobody took a connection; 0 = never */
    int64_t started_ns;
    bool was_reached;  /* something took a connection, or was slow to */
    bool was_answered; /* in whatever words */
    struct retry retry;
    struct timer timer;
    struct error trouble;
    /* body: of the answer, good for the call; with STATUS_OK only. */
    void (*on_done)(struct request *request,
                    enum status status,
                    struct bytes text,
                    struct bytes body);
};

/* The caller has set client, method, body, address, repeatable, servers_may_answer, ask_first,
 * deadline_ms and on_done of a zeroed request, and keeps it until on_done. */
void request_start(struct request *request);

/* Forget it: on_done is not called. */
void request_cancel(struct request *request);

struct request_options {
    enum method method;
    uint32_t address; /* or REQUEST_TO_MASTER */
    const char *address_text;
    bool repeatable;
    bool servers_may_answer;
    bool servers_will_do;
    uint32_t deadline_ms;    /* 0 = the client's */
    uint32_t unreachable_ms; /* 0 = until the deadline */
};

/* Do it and wait.  body is taken over.  *ret_answer: the answer's body; buffer_deinit it. */
enum status request_call(struct edubba_client *client,
                         const struct request_options *options,
                         struct buffer *body,
                         struct buffer *ret_answer,
                         struct error *ret_error);

#endif /* CLIENT_ROUTING_REQUEST_H */
