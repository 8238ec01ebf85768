/*
 * Where a server that a test makes up is reached by its peers.
 */
#ifndef TESTS_SUPPORT_PEER_LISTENER_H
#define TESTS_SUPPORT_PEER_LISTENER_H

#include <criterion/criterion.h>

#include "common/io/transport/transport.h"
#include "tests/support/own_address.h"

#define PEER_ADDRESS_BYTES 64

/* Peers do not ask for it. */
static inline int64_t peer_now_us(void *context)
{
    (void)context;
    return 1234567;
}

static inline void peer_on_progress(void *context, struct transport_reply *reply)
{
    (void)context;
    (void)reply;
}

/* Listens at the address, or, where that is empty, at one of the test's own, which it is then.  A server that comes back
 * listens where it did.  The caller closes it. */
static inline struct transport_listener *peer_listen(
    uint64_t server,
    char address[PEER_ADDRESS_BYTES],
    void *context,
    void (*on_request)(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply))
{
    struct error error;
    struct transport_listener *listener = NULL;
    const struct transport_listener_options options = {
        .address = address[0] != '\0' ? address : own_address(0, address, PEER_ADDRESS_BYTES),
        .agent = "test",
        .process = server,
        .connections_max = 100,
        .requests_max = 4096,
        .connection_bytes_max = 16 << 20,
        .context = context,
        .on_request = on_request,
        .on_progress = peer_on_progress,
        .now_us = peer_now_us,
    };
    cr_assert_eq(transport_listen(&options, &listener, &error), STATUS_OK, "%s", error.text);
    (void)own_address(transport_listener_port(listener), address, PEER_ADDRESS_BYTES);
    return listener;
}

#endif /* TESTS_SUPPORT_PEER_LISTENER_H */
