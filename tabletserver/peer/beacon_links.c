#include "tabletserver/peer/beacon_links.h"

#include <stdatomic.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/logger.h"
#include "common/io/transport/transport.h"
#include "tabletserver/peer/server_address.h"

#define CONNECT_TIMEOUT_MS 1000
#define OTHER_SKIPPED \
    8 /* beacons before an address is tried again at which another server was met */

struct link {
    struct link *next;
    struct beacon_links *links;
    uint64_t peer;
    uint64_t generation; /* of its connection; only nng's callbacks of that one see it */
    uint64_t request;    /* of the last beacon on it */
    uint32_t unanswered;
    uint32_t skipping;    /* so many beacons more nothing is dialled */
    bool answered_once;   /* for the log: say it once when a peer is lost, once when it is found, */
    bool said_other;      /* once that another one is where it should be */
    atomic_bool is_other; /* the connection leads to another server; set by a callback of it */
    struct transport_connection *connection; /* NULL: none */
    char address[SERVER_ADDRESS_BYTES_MAX + 1];
};

struct beacon_links {
    uint64_t process;
    beacon_link_take_note on_note;
    void *context;
    struct link *first;
};

/* --- callbacks of a connection: nng's threads ---------------------------------------------------- */

/* No callback comes after the connection is closed, and only then its generation rises. */
static void tell(struct link *link, struct beacon_link_note note)
{
    note.peer = link->peer;
    note.generation = link->generation;
    (void)link->links->on_note(link->links->context, &note);
}

/* The peer has moved, and another server has its address, or a name still leads there.  What that one acknowledges
 * is a lease of its own, and a process of its own: it would be taken for the peer's. */
static void on_ready(void *context, const struct hello_ack *ack)
{
    struct link *link = context;
    if (ack->process != link->peer) {
        atomic_store(&link->is_other, true);
        tell(link, (struct beacon_link_note){.closed = true, .message = BUFFER_INIT});
    }
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    const struct link *link = context;
    struct beacon_link_note note = {.message = BUFFER_INIT};
    (void)request;
    (void)stream;
    if (atomic_load(&link->is_other)) {
        return;
    }
    buffer_append(&note.message, message.data, message.size_bytes);
    if (note.message.failed) {
        buffer_deinit(&note.message);
        return;
    }
    tell(context, note);
}

static void on_closed(void *context, const struct error *error)
{
    (void)error;
    tell(context, (struct beacon_link_note){.closed = true, .message = BUFFER_INIT});
}

/* --- links -------------------------------------------------------------------------------------- */

static struct link *find(const struct beacon_links *links, uint64_t peer)
{
    struct link *link = links->first;
    while (link != NULL && link->peer != peer) {
        link = link->next;
    }
    return link;
}

static void hang_up(struct link *link, const char *why)
{
    if (link->connection == NULL) {
        return;
    }
    transport_connection_close(link->connection);
    link->connection = NULL;
    link->generation++;
    link->unanswered = 0;
    if (link->answered_once) {
        link->answered_once = false;
        LOG_EVENT(LOG_LEVEL_WARN, "peer_lost", LOG_ID("server", link->peer),
                  LOG_TEXT("address", link->address), LOG_TEXT("cause", why));
    }
}

static void dial(struct link *link)
{
    struct error error = {.status = STATUS_OK};
    atomic_store(&link->is_other, false);
    const struct transport_connection_options options = {
        .address = link->address,
        .agent = "edubba-tabletserver",
        .process = link->links->process,
        .lane = LANE_CONTROL,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .context = link,
        .on_ready = on_ready,
        .on_response = on_response,
        .on_closed = on_closed,
    };
    if (transport_connect(&options, &link->connection, &error) != STATUS_OK) {
        link->connection = NULL; /* with the next beacon again */
        LOG_EVENT(LOG_LEVEL_WARN, "peer_not_dialled", LOG_ID("server", link->peer),
                  LOG_TEXT("address", link->address), LOG_TEXT("error", error.text));
    }
}

enum status beacon_links_create(uint64_t process,
                                beacon_link_take_note on_note,
                                void *context,
                                struct beacon_links **ret_links)
{
    struct beacon_links *links = memory_allocate_zeroed(1, sizeof *links);
    if (links == NULL) {
        return STATUS_NO_MEMORY;
    }
    links->process = process;
    links->on_note = on_note;
    links->context = context;
    *ret_links = links;
    return STATUS_OK;
}

void beacon_links_destroy(struct beacon_links *links)
{
    if (links == NULL) {
        return;
    }
    while (links->first != NULL) {
        struct link *link = links->first;
        links->first = link->next;
        link->answered_once = false; /* it is we who go */
        hang_up(link, "");
        memory_free(link);
    }
    memory_free(links);
}

enum status beacon_links_set(struct beacon_links *links, uint64_t peer, const char *address)
{
    size_t length = strlen(address);
    struct link *link = find(links, peer);
    if (length > SERVER_ADDRESS_BYTES_MAX) {
        return STATUS_INVALID_ARGUMENT;
    }
    if (link == NULL) {
        link = memory_allocate_zeroed(1, sizeof *link);
        if (link == NULL) {
            return STATUS_NO_MEMORY;
        }
        link->links = links;
        link->peer = peer;
        link->next = links->first;
        links->first = link;
    }
    if (strcmp(link->address, address) != 0) {
        hang_up(link, "it has moved");
        link->skipping = 0;
        memcpy(link->address, address, length + 1);
    }
    return STATUS_OK;
}

bool beacon_links_has(const struct beacon_links *links, uint64_t peer)
{
    return find(links, peer) != NULL;
}

void beacon_links_send(struct beacon_links *links, uint64_t peer, struct buffer *message)
{
    struct link *link = find(links, peer);
    if (link != NULL && link->unanswered >= BEACON_LINK_UNANSWERED_MAX) {
        hang_up(link, "it does not answer");
    }
    if (link != NULL && link->connection == NULL && link->skipping > 0) {
        link->skipping--;
    } else if (link != NULL && link->connection == NULL && link->address[0] != '\0') {
        dial(link);
    }
    if (link != NULL && link->connection != NULL) {
        link->unanswered++;
        if (transport_connection_send(link->connection, ++link->request, METHOD_BEACON, message) !=
            STATUS_OK) {
            hang_up(link, "it takes nothing");
        }
    }
    buffer_deinit(message);
}

static void give_up(struct link *link)
{
    bool is_other = atomic_load(&link->is_other);
    link->skipping = is_other ? OTHER_SKIPPED : 0;
    if (is_other && !link->said_other) {
        link->said_other = true;
        LOG_EVENT(LOG_LEVEL_WARN, "peer_is_another", LOG_ID("server", link->peer),
                  LOG_TEXT("address", link->address));
    }
    hang_up(link, is_other ? "another server answers there" : "the connection broke");
}

bool beacon_links_take(struct beacon_links *links, const struct beacon_link_note *note)
{
    struct link *link = find(links, note->peer);
    if (link == NULL || link->connection == NULL || link->generation != note->generation) {
        return false;
    }
    if (note->closed) {
        give_up(link);
        return false;
    }
    link->unanswered = 0;
    link->said_other = false;
    if (!link->answered_once) {
        link->answered_once = true;
        LOG_EVENT(LOG_LEVEL_INFO, "peer_found", LOG_ID("server", link->peer),
                  LOG_TEXT("address", link->address));
    }
    return true;
}
