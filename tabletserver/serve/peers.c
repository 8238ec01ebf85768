#include "tabletserver/serve/peers.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/peer/server_address.h"
#include "tabletserver/serve/grace_note.h"
#include "tabletserver/serve/server.h"

#define MS INT64_C(1000000)

#define OUTBOX_BYTES_MAX  (UINT64_C(16) << 20)
#define LANES_PATIENCE_NS (3000 * MS)

struct peer {
    struct peer *next;
    uint64_t server;
    bool told; /* both beacons and lanes know this address */
    char address[SERVER_ADDRESS_BYTES_MAX + 1];
};

struct peers {
    struct server *server;
    struct beacons *beacons;
    struct lanes *lanes;
    struct grace_note grace;
    int64_t free_from_ns;
    struct peer *list;
    bool untold; /* some of them */
};

/* --- what comes --------------------------------------------------------------------------------- */

static void on_effect(void *context, const struct lease_effect *effect)
{
    const struct peers *peers = context;
    for (uint32_t i = 0; i < peers->server->loop_count; i++) {
        store_loop_hear(peers->server->loops[i], effect);
    }
}

static void on_confirmed(void *context)
{
    const struct peers *peers = context;
    read_confirm_look(peers->server->confirm);
}

static bool on_batch(void *context, struct lanes_batch *batch)
{
    const struct peers *peers = context;
    for (uint32_t i = 0; i < peers->server->loop_count; i++) {
        struct store_loop *loop = peers->server->loops[i];
        if (store_number(store_loop_store(loop)) == batch->batch.head.to_store) {
            return store_loop_batch(loop, batch);
        }
    }
    return false;
}

void peers_on_request(struct peers *peers,
                      const struct transport_request *request,
                      struct transport_reply *reply)
{
    if (request->method == METHOD_BEACON) {
        beacons_on_request(peers->beacons, request, reply);
    } else {
        lanes_on_request(peers->lanes, request, reply);
    }
}

/* --- who they are ------------------------------------------------------------------------------- */

static struct peer *find_or_add(struct peers *peers, uint64_t server)
{
    struct peer *peer = peers->list;
    while (peer != NULL && peer->server != server) {
        peer = peer->next;
    }
    if (peer == NULL) {
        peer = memory_allocate_zeroed(1, sizeof *peer);
        if (peer != NULL) {
            peer->server = server;
            peer->next = peers->list;
            peers->list = peer;
        }
    }
    return peer;
}

void peers_set(struct peers *peers, uint64_t server, struct bytes address)
{
    if (server == peers->server->number || address.size_bytes > SERVER_ADDRESS_BYTES_MAX) {
        return;
    }
    struct peer *peer = find_or_add(peers, server);
    if (peer == NULL || bytes_equal(bytes_of_text(peer->address), address)) {
        return; /* without memory: the master tells all of them to who connects anew */
    }
    memcpy(peer->address, address.data, address.size_bytes);
    peer->address[address.size_bytes] = '\0';
    peer->told = false;
    peers->untold = true;
}

void peers_tell(struct peers *peers)
{
    if (!peers->untold) {
        return;
    }
    peers->untold = false;
    for (struct peer *peer = peers->list; peer != NULL; peer = peer->next) {
        peer->told = peer->told ||
                     (beacons_set_peer(peers->beacons, peer->server, peer->address) &&
                      lanes_set_peer(peers->lanes, peer->server, peer->address) == STATUS_OK);
        peers->untold = peers->untold || !peer->told;
    }
}

/* --- life ----------------------------------------------------------------------------------------- */

/* Note the grace in the server's folder before anything is promised under it (grace_note.h). */
static enum status take_grace(struct peers *peers,
                              struct lease_settings *leases,
                              struct error *ret_error)
{
    int64_t now_ns = clock_monotonic_ns();
    enum status status = grace_note_open(peers->server->settings->folder, leases->grace_ns, now_ns,
                                         &peers->grace, ret_error);
    leases->former_grace_ns = peers->grace.former_ns;
    peers->free_from_ns = now_ns + peers->grace.former_ns;
    return status;
}

void peers_settle_grace(struct peers *peers, int64_t now_ns)
{
    grace_note_settle(&peers->grace, now_ns);
}

static bool is_stuck(void *context)
{
    const struct peers *peers = context;
    for (uint32_t i = 0; i < peers->server->loop_count; i++) {
        if (store_loop_is_stuck(peers->server->loops[i])) {
            return true;
        }
    }
    return false;
}

enum status peers_create(struct server *server, struct peers **ret_peers, struct error *ret_error)
{
    struct peers *peers = memory_allocate_zeroed(1, sizeof *peers);
    if (peers == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to start");
    }
    struct beacons_options leases = {.lease = server_settings_leases(server->settings),
                                     .server = server->number,
                                     .incarnation = server->incarnation,
                                     .context = peers,
                                     .on_effect = on_effect,
                                     .on_confirmed = server->confirm != NULL ? on_confirmed : NULL,
                                     .is_stuck = is_stuck};
    const struct lanes_options messages = {.server = server->number,
                                           .incarnation = server->incarnation,
                                           .outbox_bytes_max = OUTBOX_BYTES_MAX,
                                           .patience_ns = LANES_PATIENCE_NS,
                                           .context = peers,
                                           .on_batch = on_batch};
    peers->server = server;
    enum status status = take_grace(peers, &leases.lease, ret_error);
    if (status == STATUS_OK) {
        status = beacons_create(&leases, &peers->beacons, ret_error);
    }
    if (status == STATUS_OK) {
        status = lanes_create(&messages, &peers->lanes, ret_error);
    }
    if (status != STATUS_OK) {
        peers_destroy(peers);
        return status;
    }
    *ret_peers = peers;
    return STATUS_OK;
}

enum status peers_start(struct peers *peers, struct error *ret_error)
{
    enum status status = beacons_start(peers->beacons, ret_error);
    return status == STATUS_OK ? lanes_start(peers->lanes, ret_error) : status;
}

void peers_stop(struct peers *peers)
{
    if (peers != NULL) {
        beacons_stop(peers->beacons);
        lanes_stop(peers->lanes);
    }
}

void peers_destroy(struct peers *peers)
{
    if (peers == NULL) {
        return;
    }
    while (peers->list != NULL) {
        struct peer *next = peers->list->next;
        memory_free(peers->list);
        peers->list = next;
    }
    lanes_destroy(peers->lanes);
    beacons_destroy(peers->beacons);
    memory_free(peers);
}

struct beacons *peers_beacons(const struct peers *peers)
{
    return peers->beacons;
}

struct lanes *peers_lanes(const struct peers *peers)
{
    return peers->lanes;
}

int64_t peers_free_from_ns(const struct peers *peers)
{
    return peers->free_from_ns;
}
