/*
 * Routing: who waits to learn where a row is, and the asking.
 *
 * One LOCATE per table is on its way at a time; it asks for the row that waits longest, and its
 * answer (up to a hundred tablets from there on) serves everyone whose row it covers.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_ROUTE_H
#define CLIENT_ROUTING_ROUTE_H

#include "client/loop/client.h"

struct route_waiter {
    struct list_link link;
    struct bytes row; /* borrowed; good while it waits */
    /* STATUS_OK: location_cache_find() will find it.  Else why not; transient or final. */
    void (*on_located)(struct edubba_client *client,
                       struct route_waiter *waiter,
                       enum status status,
                       struct bytes text);
};

/* Ask where the waiter's row is.  It is told later, unless it is removed from its list before. */
void route_wait(struct edubba_client *client, uint64_t table, struct route_waiter *waiter);

/* The number of the address at which it is being asked; LOCATION_NOT_SERVED = it is not. */
uint32_t route_asked(struct edubba_client *client, uint64_t table);

/* Learn from a wrong-server answer; true if the row is now known to be elsewhere than address. */
bool route_learn(struct edubba_client *client,
                 uint64_t table,
                 struct bytes row,
                 uint32_t address,
                 const struct location *location);

/* What is known of row leads nowhere, or in circles: ask a master before it is tried again. */
void route_doubt(struct edubba_client *client, uint64_t table, struct bytes row);

/* The server that should hold row refuses it for now: it has much to do, or it leads no more and does
 * not know yet.  So ask, at most twice a second a table, and go on meanwhile. */
void route_refresh(struct edubba_client *client, uint64_t table, struct bytes row);

/* Nobody has the table open any more.  Operations that are under way find it all the same. */
void route_forget(struct edubba_client *client, uint64_t table);

void routes_destroy(struct edubba_client *client);

#endif /* CLIENT_ROUTING_ROUTE_H */
