/*
 * What all methods share.
 *
 * A method is a function that is given a call and its decoded request, on a thread of the RPC
 * server.  It checks what only the gateway knows of (names, message shapes), hands over to
 * libedubba, and returns.  What it needs until the end lies in the call's arena, or is freed by
 * whoever ends the call.
 *
 * The context that the RPC server hands to methods is the struct gateway.
 */
#ifndef GATEWAY_METHODS_GATEWAY_H
#define GATEWAY_METHODS_GATEWAY_H

#include "client/include/edubba.h"
#include "gateway/core/resource_name.h"
#include "gateway/methods/call/profiles.h"
#include "gateway/methods/call/questions.h"
#include "gateway/methods/call/tables.h"
#include "gateway/methods/call/waiters.h"

/* edubba_submit() waits, on a thread of the RPC server, while the client has as much in flight as
 * its options allow.  What calls hold is bounded by the RPC server, so the client's own bounds are
 * to be above that. */
struct gateway {
    struct edubba_client *client;
    struct tables *tables;
    struct profiles *profiles;
    struct waiters *waiters;     /* of admin calls */
    struct waiters *askers;      /* of questions: calls for data do not wait behind admin calls */
    struct questions *questions; /* their context is the gateway */
    struct health *health;
    struct resource_home home;
    uint32_t deadline_max_ms;
};

#endif /* GATEWAY_METHODS_GATEWAY_H */
