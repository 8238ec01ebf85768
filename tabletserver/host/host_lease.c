/*
 * What the beacon thread says, and what it keeps: whose lease holds.
 *
 *   beacon thread: host_hear()     closes words at once; notes what replicas must hear
 *   loop: host_take_news()         replicas hear
 *         host_look_at_leases()    HELD, when a lease begins or ends
 *
 * Notes are state, not a queue: so many exceptions are awaited, one version is silent, each server has one
 * newest process.  Their places are there before they are needed.
 */
#include <string.h>

#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

/* --- who is there ---------------------------------------------------------------------------------- */

struct hosted *host_find(struct host *host, uint64_t tablet)
{
    uint32_t low = 0;
    uint32_t high = host->tablet_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (host->tablets[middle]->number < tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < host->tablet_count && host->tablets[low]->number == tablet;
    return found ? host->tablets[low] : NULL;
}

/* NULL: there are more than the lease module takes. */
static struct host_peer *find_or_add_peer(struct host *host, uint64_t server)
{
    for (uint32_t i = 0; i < host->peer_count; i++) {
        if (host->peers[i].server == server) {
            return &host->peers[i];
        }
    }
    if (host->peer_count >= LEASE_PEERS_MAX) {
        return NULL;
    }
    struct host_peer *peer = &host->peers[host->peer_count++];
    peer->server = server;
    return peer;
}

/* NULL: there are too many, or no memory for the end of its lease: nobody counts on it. */
struct host_peer *host_peer_of(struct host *host, uint64_t server)
{
    (void)pthread_mutex_lock(&host->mutex);
    struct host_peer *peer = find_or_add_peer(host, server);
    (void)pthread_mutex_unlock(&host->mutex);
    if (peer != NULL && peer->seen.end == NULL) {
        peer->seen.end = beacons_lease_end(host->options.beacons, server);
    }
    return peer != NULL && peer->seen.end != NULL ? peer : NULL;
}

/* --- the serving word ------------------------------------------------------------------------------ */

/* With the mutex. */
static bool is_excepted(const struct hosted *hosted)
{
    const struct host_news *news = &hosted->news;
    for (uint32_t i = 0; i < news->by_peer_count; i++) {
        for (uint32_t j = 0; j < hosted->serving_peers.count; j++) {
            if (news->by_peer[i].server == hosted->serving_peers.members[j].server &&
                news->by_peer[i].version >= hosted->serving_version) {
                return true;
            }
        }
    }
    return false;
}

/* The replica has committed what its reign began with; its store does so when it settles, or, with no
 * other member, when its log is synced.  Half of a tablet never has. */
static bool is_behind(const struct hosted *hosted)
{
    return store_tablet_is_half_taught(hosted->tablet) ||
           store_tablet_committed(hosted->tablet) < hosted->serving_from;
}

/* Of those that the replica counts on; each as the process that the replica knows of. */
static void publish(struct hosted *hosted)
{
    struct serving_on on[REPLICA_PEERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < hosted->serving_peers.count; i++) {
        struct host_peer *peer = host_peer_of(hosted->host,
                                              hosted->serving_peers.members[i].server);
        if (peer != NULL) {
            on[count++] = (struct serving_on){&peer->seen, peer->told};
        }
    }
    (void)pthread_mutex_lock(&hosted->host->mutex);
    hosted->serving_waits = is_behind(hosted);
    if (count == hosted->serving_peers.count && !is_excepted(hosted) && !hosted->serving_waits) {
        serving_publish(hosted->serving, on, count);
    } else {
        serving_close(hosted->serving);
    }
    (void)pthread_mutex_unlock(&hosted->host->mutex);
}

void hosted_serve(struct hosted *hosted, const struct replica_union *peers)
{
    struct replica_view view = replica_look(hosted->replica);
    (void)pthread_mutex_lock(&hosted->host->mutex);
    if (hosted->serving_version == 0) {
        hosted->serving_from = view.committed;
    }
    hosted->serving_peers = *peers;
    hosted->serving_version = view.configuration.version;
    (void)pthread_mutex_unlock(&hosted->host->mutex);
    publish(hosted);
}

void hosted_look_at_word(struct hosted *hosted)
{
    if (hosted->serving_version != 0 && hosted->serving_waits && !is_behind(hosted)) {
        publish(hosted);
    }
}

void hosted_cease(struct hosted *hosted)
{
    (void)pthread_mutex_lock(&hosted->host->mutex);
    hosted->serving_version = 0;
    serving_close(hosted->serving);
    (void)pthread_mutex_unlock(&hosted->host->mutex);
}

/* --- the beacon thread's side ---------------------------------------------------------------------- */

/* No more are handed over than there are places (hand_over()), but for those that a replica has left
 * behind that was here before: nobody waits for the oldest then. */
static void note_excepted(struct host_news *news, const struct lease_effect *effect)
{
    if (news->excepted_count == HOST_EXCEPTED_MAX) {
        news->excepted_count--;
        memmove(news->excepted, news->excepted + 1, news->excepted_count * sizeof *news->excepted);
    }
    news->excepted[news->excepted_count++] = (struct host_exception){effect->peer, effect->version,
                                                                     effect->at_ns};
}

/* Where there is no place left the lowest version goes: it is the oldest reign's. */
static struct host_exception *place_of(struct host_news *news, uint64_t server)
{
    struct host_exception *lowest = &news->by_peer[0];
    for (uint32_t i = 0; i < news->by_peer_count; i++) {
        struct host_exception *place = &news->by_peer[i];
        if (place->server == server) {
            return place;
        }
        lowest = place->version < lowest->version ? place : lowest;
    }
    if (news->by_peer_count < REPLICA_PEERS_MAX) {
        lowest = &news->by_peer[news->by_peer_count++];
    }
    *lowest = (struct host_exception){.server = server};
    return lowest;
}

static void note_by_peer(struct host_news *news, const struct lease_effect *effect)
{
    struct host_exception *place = place_of(news, effect->peer);
    place->version = effect->version > place->version ? effect->version : place->version;
    news->by_peer_new = true;
}

static void hear_of_tablet(struct host *host, const struct lease_effect *effect)
{
    struct hosted *hosted = host_find(host, effect->tablet);
    if (hosted == NULL) {
        return; /* another store's, or dropped */
    }
    struct host_news *news = &hosted->news;
    if (effect->type == LEASE_EFFECT_EXCEPTED) {
        note_excepted(news, effect);
    } else if (effect->type == LEASE_EFFECT_SILENT) {
        news->silent_version = effect->version > news->silent_version ? effect->version
                                                                      : news->silent_version;
    } else {
        note_by_peer(news, effect);
        if (hosted->serving_version != 0 && is_excepted(hosted)) {
            serving_close(hosted->serving);
        }
    }
    if (!news->listed) {
        news->listed = true;
        news->next = host->news;
        host->news = hosted;
    }
}

/* What its process before has excepted was of grants that are no more: the new one grants anew. */
static void forget_exceptions_by(struct host *host, uint64_t server)
{
    for (uint32_t i = 0; i < host->tablet_count; i++) {
        struct host_news *news = &host->tablets[i]->news;
        uint32_t kept = 0;
        for (uint32_t j = 0; j < news->by_peer_count; j++) {
            if (news->by_peer[j].server != server) {
                news->by_peer[kept++] = news->by_peer[j];
            }
        }
        news->by_peer_count = kept;
    }
}

/* A word that counts on the one before holds no more from here on, and is not said again before the
 * replicas have heard. */
static void hear_of_process(struct host *host, const struct lease_effect *effect)
{
    struct host_peer *peer = find_or_add_peer(host, effect->peer);
    if (peer != NULL) {
        atomic_store(&peer->seen.incarnation, effect->incarnation);
        host->peers_new = true;
    }
    forget_exceptions_by(host, effect->peer);
}

void host_hear(struct host *host, const struct lease_effect *effect)
{
    (void)pthread_mutex_lock(&host->mutex);
    if (effect->type == LEASE_EFFECT_PEER_RESTARTED) {
        hear_of_process(host, effect);
    } else {
        hear_of_tablet(host, effect);
    }
    (void)pthread_mutex_unlock(&host->mutex);
    host->options.wake(host->options.context);
}

/* --- the loop's side ------------------------------------------------------------------------------- */

void host_tell_all(struct host *host, struct replica_event event)
{
    for (uint32_t i = 0; i < host->tablet_count; i++) {
        struct replica_event copy = event;
        hosted_step(host->tablets[i], &copy);
    }
}

/* A word says which process it counts on: it is said again when the replicas have heard of a new one. */
static void take_processes(struct host *host)
{
    (void)pthread_mutex_lock(&host->mutex);
    bool any = host->peers_new;
    host->peers_new = false;
    uint32_t count = host->peer_count;
    (void)pthread_mutex_unlock(&host->mutex);
    for (uint32_t i = 0; any && i < count; i++) {
        struct host_peer *peer = &host->peers[i];
        uint64_t incarnation = atomic_load(&peer->seen.incarnation);
        if (incarnation == peer->told) {
            continue;
        }
        host_tell_all(host, (struct replica_event){.type = REPLICA_EVENT_PEER_RESTARTED,
                                                   .from = {.server = peer->server},
                                                   .incarnation = incarnation});
        peer->told = incarnation;
        for (uint32_t j = 0; j < host->tablet_count; j++) {
            if (host->tablets[j]->serving_version != 0) {
                publish(host->tablets[j]);
            }
        }
    }
}

/* Only what was asked: the tablet may have had another replica here, whose answers come late. */
static void tell_excepted(struct hosted *hosted, const struct host_exception *excepted)
{
    uint32_t i = 0;
    while (i < hosted->except_count) {
        const struct host_promise *asked = &hosted->excepts[i];
        if (asked->peer != excepted->server || asked->version != excepted->version) {
            i++;
            continue;
        }
        hosted->excepts[i] = hosted->excepts[--hosted->except_count];
        struct replica_event event = {.type = REPLICA_EVENT_EXCEPTED,
                                      .from = {.server = excepted->server},
                                      .version = excepted->version,
                                      .at_ns = excepted->at_ns};
        hosted_step(hosted, &event);
    }
}

static void tell_exceptions(struct hosted *hosted, const struct host_news *news)
{
    for (uint32_t i = 0; i < news->excepted_count; i++) {
        tell_excepted(hosted, &news->excepted[i]);
    }
    for (uint32_t i = 0; news->by_peer_new && i < news->by_peer_count; i++) {
        struct replica_event event = {.type = REPLICA_EVENT_EXCEPTED_BY_PEER,
                                      .from = {.server = news->by_peer[i].server},
                                      .version = news->by_peer[i].version};
        hosted_step(hosted, &event);
    }
}

static bool take_next(struct host *host, struct hosted **ret_hosted, struct host_news *ret_news)
{
    (void)pthread_mutex_lock(&host->mutex);
    struct hosted *hosted = host->news;
    if (hosted != NULL) {
        host->news = hosted->news.next;
        *ret_news = hosted->news;
        hosted->news.listed = false;
        hosted->news.excepted_count = 0;
        hosted->news.by_peer_new = false;
        hosted->news.silent_version = 0;
    }
    (void)pthread_mutex_unlock(&host->mutex);
    *ret_hosted = hosted;
    return hosted != NULL;
}

/* Turning away promises something: with no place for it, it is heard again in the next round. */
static bool tell_silent(struct host *host, struct hosted *hosted, uint64_t version)
{
    if (hosted_may_promise(hosted)) {
        struct replica_event event = {.type = REPLICA_EVENT_SILENT, .version = version};
        hosted_step(hosted, &event);
        return true;
    }
    const struct lease_effect again = {
        .type = LEASE_EFFECT_SILENT, .tablet = hosted->number, .version = version};
    (void)pthread_mutex_lock(&host->mutex);
    hear_of_tablet(host, &again);
    (void)pthread_mutex_unlock(&host->mutex);
    return false;
}

void host_take_news(struct host *host)
{
    struct hosted *hosted = NULL;
    struct host_news news;
    bool told = true;
    take_processes(host);
    while (told && take_next(host, &hosted, &news)) {
        tell_exceptions(hosted, &news);
        told = news.silent_version == 0 || tell_silent(host, hosted, news.silent_version);
    }
}

static bool holds(const struct host_peer *peer)
{
    return lease_end_holds(peer->seen.end, clock_monotonic_ns());
}

bool host_holds(struct host *host, uint64_t server)
{
    struct host_peer *peer = host_peer_of(host, server);
    if (peer == NULL) {
        return false;
    }
    bool held = holds(peer);
    peer->told_else = peer->told_else || held != peer->held;
    return held;
}

void host_look_at_leases(struct host *host, int64_t now_ns)
{
    (void)pthread_mutex_lock(&host->mutex);
    uint32_t count = host->peer_count;
    (void)pthread_mutex_unlock(&host->mutex);
    bool first = host->look_at_leases_ns == REPLICA_NEVER && count > 0;
    if (now_ns < host->look_at_leases_ns && !first) {
        return;
    }
    host->look_at_leases_ns = count == 0 ? REPLICA_NEVER : now_ns + HOST_LOOK_AT_LEASE_NS;
    for (uint32_t i = 0; i < count; i++) {
        struct host_peer *peer = host_peer_of(host, host->peers[i].server);
        if (peer == NULL) {
            continue; /* it has never held */
        }
        bool held = holds(peer);
        /* One that lapsed for less than the time between two looks: whoever was told in it that it does not hold was
         * not told that it does, and removed a member that was well (found by an audit). */
        if (held != peer->held || peer->told_else) {
            peer->held = held;
            peer->told_else = false;
            host_tell_all(host, (struct replica_event){.type = REPLICA_EVENT_HELD,
                                                       .from = {.server = peer->server},
                                                       .present = held});
        }
    }
}
