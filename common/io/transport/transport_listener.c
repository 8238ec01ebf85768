#include "common/io/transport/transport_listener.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_budget.h"
#include "common/io/transport/transport_threads.h"

#define ACCEPT_PAUSE_MS 50   /* after an accept that failed, for want of descriptors say */
#define DRAIN_POLL_US   2000 /* how often closing looks whether answers are on their way */
#define ACCEPT_TOLD_NS \
    (INT64_C(60) * 1000 * 1000 * 1000) /* between two words on accepts that fail */

/* --- accepting --------------------------------------------------------------------------------- */

static void accept_next_locked(struct transport_listener *listener, bool pause)
{
    listener->accepting = true;
    listener->pausing = pause;
    if (pause) {
        nng_sleep_aio(ACCEPT_PAUSE_MS, listener->accept_aio);
    } else {
        nng_stream_listener_accept(listener->listener, listener->accept_aio);
    }
}

static void add_peer_locked(struct transport_listener *listener, struct transport_peer *peer)
{
    peer->next = listener->peers;
    if (listener->peers != NULL) {
        listener->peers->previous = peer;
    }
    listener->peers = peer;
    listener->peer_count++;
}

/* Has it done nothing since then, and has nothing under way? */
static bool is_idle(struct transport_peer *peer, int64_t since_ns)
{
    return atomic_load(&peer->active_ns) < since_ns && atomic_load(&peer->in_flight) == 0 &&
           atomic_load(&peer->streams) == 0 && transport_stream_queued_bytes(&peer->stream) == 0;
}

/* Of those that have shaken hands, or of those that have not, the one that has been idle longest, and
 * since then at least; NULL = none.  It is the caller's to close (close_victim()). */
static struct transport_peer *take_victim_locked(struct transport_listener *listener,
                                                 bool greeted,
                                                 int64_t since_ns)
{
    struct transport_peer *victim = NULL;

    for (struct transport_peer *peer = listener->peers; peer != NULL; peer = peer->next) {
        if (!peer->told_to_close && atomic_load(&peer->greeted) == greeted &&
            peer->has_place == greeted && is_idle(peer, since_ns)) {
            victim = peer;
            since_ns = atomic_load(&peer->active_ns);
        }
    }
    if (victim != NULL) {
        victim->told_to_close = true;
        transport_peer_ref(victim);
    }
    return victim;
}

/* Without the lock: it may be removed from the list meanwhile. */
static void close_victim(struct transport_peer *victim, const char *why)
{
    struct error error = {0};
    if (victim == NULL) {
        return;
    }
    (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "%s", why);
    transport_peer_say(victim, FRAME_GOAWAY, why);
    transport_stream_close(&victim->stream, &error);
    transport_peer_unref(victim);
}

/* A peer in the list, for a new connection; NULL if it must be dropped. */
static struct transport_peer *admit(struct transport_listener *listener)
{
    struct transport_peer *victim = NULL;
    struct transport_peer *peer = NULL;

    pthread_mutex_lock(&listener->lock);
    size_t limit = listener->options.connections_max + LISTENER_STRANGERS_MAX;
    if (listener->peer_count >= limit) {
        victim = take_victim_locked(listener, false, INT64_MAX);
    }
    if (listener->peer_count < limit + (victim != NULL ? LISTENER_CLOSING_MAX : 0) &&
        !atomic_load(&listener->closing)) {
        peer = transport_peer_create(listener);
    }
    if (peer != NULL) {
        add_peer_locked(listener, peer);
        transport_peer_ref(peer); /* the caller's */
    }
    pthread_mutex_unlock(&listener->lock);
    close_victim(victim, "too many connections have not shaken hands");
    return peer;
}

/* The one that has been idle longest, and does not count any more; NULL = none.  close_idle() is to follow. */
static struct transport_peer *take_idle_locked(struct transport_listener *listener)
{
    struct transport_peer *victim = take_victim_locked(listener, true,
                                                       clock_monotonic_ns() - LISTENER_IDLE_NS);
    if (victim != NULL) {
        victim->has_place = false;
        listener->place_count--;
    }
    return victim;
}

static void close_idle(struct transport_listener *listener, struct transport_peer *victim)
{
    if (victim != NULL) {
        metric_add(listener->connections, -1);
        metric_add(listener->displaced, 1);
    }
    close_victim(victim, "idle, and others need the place");
}

bool transport_listener_give_place(struct transport_listener *listener, struct transport_peer *peer)
{
    struct transport_peer *victim = NULL;

    pthread_mutex_lock(&listener->lock);
    if (listener->place_count >= listener->options.connections_max) {
        victim = take_idle_locked(listener);
    }
    peer->has_place = listener->place_count < listener->options.connections_max;
    listener->place_count += peer->has_place;
    atomic_store(&peer->active_ns, clock_monotonic_ns());
    bool given = peer->has_place;
    pthread_mutex_unlock(&listener->lock);
    metric_add(given ? listener->connections : listener->refused, 1);
    close_idle(listener, victim);
    return given;
}

/* Said when it begins, and once a minute while it lasts: whoever waits to be accepted sees nothing but silence. */
static void tell_not_accepted(struct transport_listener *listener, int error)
{
    int64_t now_ns = clock_monotonic_ns();
    if (listener->accept_told_ns == 0 || now_ns - listener->accept_told_ns >= ACCEPT_TOLD_NS) {
        listener->accept_told_ns = now_ns;
        LOG_EVENT(LOG_LEVEL_WARN, "connection_not_accepted", LOG_TEXT("address", listener->address),
                  LOG_TEXT("error", nng_strerror(error)));
    }
}

/* There are fewer descriptors than connections may be: so it is for these as if that many were the limit. */
static void give_descriptor_free(struct transport_listener *listener)
{
    struct transport_peer *idle = NULL;
    pthread_mutex_lock(&listener->lock);
    struct transport_peer *stranger = take_victim_locked(listener, false, INT64_MAX);
    if (stranger == NULL) {
        idle = take_idle_locked(listener);
    }
    pthread_mutex_unlock(&listener->lock);
    close_victim(stranger, "no descriptors are left");
    close_idle(listener, idle);
}

static void on_not_accepted(struct transport_listener *listener, int error)
{
    if (atomic_load(&listener->closing)) {
        return;
    }
    tell_not_accepted(listener, error);
    if (error == NNG_ENOFILES) {
        give_descriptor_free(listener);
    }
}

static void on_accepted(void *context)
{
    struct transport_listener *listener = context;
    int error = nng_aio_result(listener->accept_aio);
    bool accepted = error == 0 && !listener->pausing;
    if (accepted) {
        nng_stream *connected = nng_aio_get_output(listener->accept_aio, 0);
        struct transport_peer *peer = admit(listener);
        if (peer == NULL) {
            nng_stream_free(connected);
        } else {
            transport_peer_start(peer, connected);
            transport_peer_unref(peer);
        }
    } else if (error != 0) {
        on_not_accepted(listener, error);
    }
    pthread_mutex_lock(&listener->lock);
    if (atomic_load(&listener->closing)) {
        listener->accepting = false;
        pthread_cond_broadcast(&listener->emptied);
    } else {
        accept_next_locked(listener, error != 0);
    }
    pthread_mutex_unlock(&listener->lock);
}

void transport_listener_remove(struct transport_listener *listener, struct transport_peer *peer)
{
    pthread_mutex_lock(&listener->lock);
    if (peer->previous == NULL) {
        listener->peers = peer->next;
    } else {
        peer->previous->next = peer->next;
    }
    if (peer->next != NULL) {
        peer->next->previous = peer->previous;
    }
    listener->peer_count--;
    listener->place_count -= peer->has_place;
    metric_add(listener->connections, peer->has_place ? -1 : 0);
    pthread_cond_broadcast(&listener->emptied);
    pthread_mutex_unlock(&listener->lock);
}

/* --- opening ----------------------------------------------------------------------------------- */

static void listener_destroy(struct transport_listener *listener)
{
    if (listener->accept_aio != NULL) {
        nng_aio_free(listener->accept_aio);
    }
    if (listener->listener != NULL) {
        nng_stream_listener_free(listener->listener);
    }
    pthread_cond_destroy(&listener->emptied);
    pthread_mutex_destroy(&listener->lock);
    memory_free(listener->address);
    memory_free(listener->agent);
    memory_free(listener);
}

static void make_metrics(struct transport_listener *listener)
{
    listener->connections = metric_gauge("edubba_connections", "",
                                         "Connections that have shaken hands.");
    listener->displaced = metric_counter(
        "edubba_connections_displaced_total", "",
        "Connections closed because they did nothing, and others needed their places.");
    listener->refused = metric_counter(
        "edubba_connections_refused_total", "",
        "Connections refused because connections_max others were in use.");
}

/* An nng error. */
static int bind_and_accept(struct transport_listener *listener)
{
    transport_threads_start();
    int error = nng_stream_listener_alloc(&listener->listener, listener->address);
    if (error == 0) {
        /* Not for ipc: it has nothing to set. */
        (void)nng_stream_listener_set_bool(listener->listener, NNG_OPT_TCP_NODELAY, true);
        error = nng_stream_listener_listen(listener->listener);
    }
    if (error == 0) {
        error = nng_aio_alloc(&listener->accept_aio, on_accepted, listener);
    }
    if (error != 0) {
        return error;
    }
    int port = 0;
    if (nng_stream_listener_get_int(listener->listener, NNG_OPT_TCP_BOUND_PORT, &port) == 0) {
        listener->port = (uint16_t)port;
    }
    pthread_mutex_lock(&listener->lock);
    accept_next_locked(listener, false);
    pthread_mutex_unlock(&listener->lock);
    return 0;
}

enum status transport_listen(const struct transport_listener_options *options,
                             struct transport_listener **ret_listener,
                             struct error *ret_error)
{
    ASSERT(options->on_request != NULL);
    ASSERT(options->connections_max > 0);
    ASSERT(options->requests_max > 0);
    ASSERT(options->connection_bytes_max > 0);
    enum status status = transport_address_check_listen(options->address, options->insecure,
                                                        ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct transport_listener *listener = memory_allocate_zeroed(1, sizeof *listener);
    if (listener == NULL) {
        return transport_address_failed("listen on", options->address, NNG_ENOMEM, ret_error);
    }
    pthread_mutex_init(&listener->lock, NULL);
    pthread_cond_init(&listener->emptied, NULL);
    listener->options = *options;
    make_metrics(listener);
    listener->address = memory_copy_text(bytes_of_text(options->address));
    listener->agent = memory_copy_text(bytes_of_text(options->agent));
    listener->options.address = listener->address;
    listener->options.agent = listener->agent;
    int error = NNG_ENOMEM;
    if (listener->address != NULL && listener->agent != NULL) {
        error = bind_and_accept(listener);
    }
    if (error != 0) {
        listener_destroy(listener);
        return transport_address_failed("listen on", options->address, error, ret_error);
    }
    *ret_listener = listener;
    return STATUS_OK;
}

uint16_t transport_listener_port(const struct transport_listener *listener)
{
    return listener->port;
}

/* --- closing ----------------------------------------------------------------------------------- */

static void say_goaway(struct transport_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    for (struct transport_peer *peer = listener->peers; peer != NULL; peer = peer->next) {
        transport_peer_say(peer, FRAME_GOAWAY, "shutting down");
    }
    pthread_mutex_unlock(&listener->lock);
}

/* Is an answer still to come, or not yet on its way? */
static bool is_busy(struct transport_listener *listener)
{
    bool busy = false;
    pthread_mutex_lock(&listener->lock);
    for (struct transport_peer *peer = listener->peers; peer != NULL; peer = peer->next) {
        busy |= atomic_load(&peer->in_flight) > 0 || atomic_load(&peer->streams) > 0;
        busy |= transport_stream_queued_bytes(&peer->stream) > 0;
    }
    pthread_mutex_unlock(&listener->lock);
    return busy;
}

static bool is_stalled(struct transport_peer *peer, int64_t before_ns)
{
    return transport_budget_refuses(transport_stream_queued_bytes(&peer->stream)) &&
           atomic_load(&peer->stream.taken_ns) < before_ns;
}

void transport_listener_drop_stalled(struct transport_listener *listener, uint32_t stalled_ms)
{
    struct error error = {0};
    int64_t before_ns = clock_monotonic_ns() - (int64_t)stalled_ms * 1000000;
    struct transport_peer *peer = NULL;
    (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "answers are not taken");
    do {
        pthread_mutex_lock(&listener->lock);
        peer = listener->peers;
        while (peer != NULL && (peer->told_to_close || !is_stalled(peer, before_ns))) {
            peer = peer->next;
        }
        if (peer != NULL) {
            peer->told_to_close = true;
            transport_peer_ref(peer);
        }
        pthread_mutex_unlock(&listener->lock);
        if (peer != NULL) {
            transport_stream_close(&peer->stream, &error);
            transport_peer_unref(peer);
        }
    } while (peer != NULL);
}

/* Close every peer and wait until all are down and nothing more is accepted. */
static void close_peers(struct transport_listener *listener)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_CLOSED, "listener closed");
    pthread_mutex_lock(&listener->lock);
    while (listener->peers != NULL || listener->accepting) {
        struct transport_peer *peer = listener->peers;
        while (peer != NULL && peer->told_to_close) {
            peer = peer->next;
        }
        if (peer == NULL) {
            pthread_cond_wait(&listener->emptied, &listener->lock);
            continue;
        }
        peer->told_to_close = true;
        transport_peer_ref(peer);
        pthread_mutex_unlock(&listener->lock);
        transport_stream_close(&peer->stream, &error); /* may remove it from the list */
        transport_peer_unref(peer);
        pthread_mutex_lock(&listener->lock);
    }
    pthread_mutex_unlock(&listener->lock);
}

void transport_listener_close(struct transport_listener *listener, uint32_t grace_ms)
{
    pthread_mutex_lock(&listener->lock);
    atomic_store(&listener->closing, true);
    pthread_mutex_unlock(&listener->lock);
    nng_stream_listener_close(listener->listener);
    say_goaway(listener);
    int64_t until_ns = clock_monotonic_ns() + (int64_t)grace_ms * 1000000;
    while (is_busy(listener) && clock_monotonic_ns() < until_ns) {
        clock_sleep_us(DRAIN_POLL_US);
    }
    close_peers(listener);
    listener_destroy(listener);
}
