/*
 * The tablet server: everything of one process, tied together.
 *
 *   transport --> batch --> store loops --> stores       writes
 *             --> worker pool --> stores                 reads, scans, samples
 *   sync <--> master                                     which tablets, which schemas
 *   http                                                 metrics, health
 *
 * Thread rule: one thread opens and closes.  In between the members do not change, but for those that are said
 * to; what they point at has rules of its own.
 */
#ifndef TABLETSERVER_SERVE_SERVER_H
#define TABLETSERVER_SERVE_SERVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/io/http.h"
#include "common/io/transport/transport.h"
#include "tabletserver/serve/load/load_sampling.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/peers.h"
#include "tabletserver/serve/read/read_confirm.h"
#include "tabletserver/serve/request_budget.h"
#include "tabletserver/serve/server_clock.h"
#include "tabletserver/serve/settings.h"
#include "tabletserver/serve/sync/location_map.h"
#include "tabletserver/serve/sync/schema_cache.h"
#include "tabletserver/serve/sync/served_map.h"
#include "tabletserver/serve/sync/sync.h"
#include "tabletserver/serve/worker_pool.h"

/* A store that should be here and could not be opened: what people are told of it. */
struct unopened_store {
    const char *folder; /* of the settings */
    char text[256];     /* why */
};

/* What a client is told that has too much to take already, and must take that first. */
#define TOO_MUCH_QUEUED "too many answers wait to be taken; retry"

struct server {
    const struct server_settings *settings;
    uint64_t number;      /* of this server; lives in its folder */
    uint64_t incarnation; /* rises with every start */
    char address[128];    /* bound: what clients are told */
    char http_address[128];
    struct server_clock clock;
    struct schema_cache *schemas;
    struct served_map *served;
    struct location_map *locations;
    struct worker_pool *workers;
    struct peers *peers;          /* NULL: it does not replicate */
    struct read_confirm *confirm; /* NULL: reads count on leases alone */
    struct store_loop *loops[SERVER_STORES_MAX];
    uint32_t loop_count;
    struct unopened_store unopened[SERVER_STORES_MAX]; /* as it was at the start */
    uint32_t unopened_count;
    struct transport_listener *listener;
    struct http_server *http;
    struct load_sampling *sampling; /* which rows are touched; outlives who touches them */
    struct sync *sync;
    struct request_budget budget;
    struct store_statistics counts_told; /* stores' counts, as the metrics have them; sync thread */
    atomic_bool open;                    /* all of the above is there, and not about to go */
};

/* Errors name what could not be had: folder, store, address. */
enum status server_open(const struct server_settings *settings,
                        struct server **ret_server,
                        struct error *ret_error);

/* Stop taking requests, answer what is under way, close.  Reads end before stores close: workers
 * go after the loops' threads, which need them, and before the stores. */
void server_close(struct server *server);

/* Who serves the row, for one that came here in vain.  False: it is not known, or it should be this very
 * server, which does not serve it any more, or not yet: asking here again would be of no use.  Any thread. */
bool server_redirects(struct server *server,
                      uint64_t table,
                      struct bytes row,
                      struct arena *arena,
                      struct location *ret_location);

#endif /* TABLETSERVER_SERVE_SERVER_H */
