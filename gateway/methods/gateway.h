/*
 * What all methods share, and the list of them.
 *
 * A method is a function that is given a call and its decoded request, on a thread of the RPC
 * server.  It checks what only the gateway knows of (names, message shapes), hands over to
 * libedubba, and returns.  What it needs until the end lies in the call's arena.
 */
#ifndef GATEWAY_METHODS_GATEWAY_H
#define GATEWAY_METHODS_GATEWAY_H

#include "client/include/edubba.h"
#include "gateway/core/resource_name.h"
#include "gateway/methods/tables.h"
#include "gateway/methods/waiters.h"
#include "gateway/rpc/rpc.h"

struct gateway {
    struct edubba_client *client;
    struct tables *tables;
    struct waiters *waiters;
    struct health *health;
    struct resource_home home;
    uint32_t deadline_max_ms;
};

/* In the order of the API; *ret_count of them. */
const struct rpc_method *gateway_methods(size_t *ret_count);

/* A method of the data API that needs its table: `then` runs with it, at once when it is known,
 * later on another thread when a master has to be asked; else the call is failed. */
void gateway_with_table(struct gateway *gateway,
                        struct rpc_call *call,
                        const char *table_name,
                        void (*then)(void *context, struct table *table),
                        void *context);

/* End the call with what libedubba said of an operation on the table. */
void gateway_fail(struct rpc_call *call,
                  const struct table *table,
                  enum edubba_code code,
                  const char *text);

#endif /* GATEWAY_METHODS_GATEWAY_H */
