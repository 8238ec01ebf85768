/*
 * What the files of this folder share; for them alone.  Thread rule: the store loop.
 */
#ifndef TABLETSERVER_SERVE_REPLICAS_REPLICAS_PARTS_H
#define TABLETSERVER_SERVE_REPLICAS_REPLICAS_PARTS_H

#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/write_order.h"

struct replicas {
    struct server *server;
    struct store_loop *loop;
    struct write_order *order;
    struct host *host;
    struct log_reading *handed_out; /* its entries are being handed to the host */
};

/* The host's calls that have a worker read: context is the replicas (host.h says the rest). */
void replicas_on_read(void *context,
                      struct store_tablet *tablet,
                      uint64_t sequence,
                      struct replica_member to);
bool replicas_on_slice(void *context,
                       struct store_tablet *tablet,
                       struct host_reading_slice *slice);
void replicas_on_digest(void *context,
                        struct store_tablet *tablet,
                        struct host_digesting *digesting);

#endif /* TABLETSERVER_SERVE_REPLICAS_REPLICAS_PARTS_H */
