/*
 * Things happen to a stream of Watch on different threads: what it is to be told changes, a message
 * has gone, its caller is gone.  Each asks decide(), under the lock, what comes next.  Who gets an
 * action is the only one to have one until it is done, and acts without the lock:
 *
 *   watching --SEND--> sending --on_sent--> watching --LEAVE or STOP--> (gone)
 *
 * A watcher lies in its call's arena, which lives until the call is finished and, for
 * on_cancelled(), until that has returned.
 */
#include "gateway/health/health.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "gateway/methods/gateway.h"
#include "health.pb-c.h"

typedef Grpc__Health__V1__HealthCheckRequest Request;
typedef Grpc__Health__V1__HealthCheckResponse Response;
typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus Serving;

#define UNKNOWN_YET GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__UNKNOWN
#define SERVING     GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define NO_SERVICE  GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

enum action {
    ACTION_NONE,
    ACTION_SEND,
    ACTION_LEAVE, /* the caller is gone */
    ACTION_STOP,
};

struct watcher {
    struct watcher *next; /* of its health; this and all below under its lock */
    struct watcher **link;
    struct health *health;
    struct rpc_call *call;
    bool is_known; /* the service it watches is one of ours */
    bool is_sending;
    bool is_cancelled;
    bool is_finished;
    Serving told; /* last */
};

struct health {
    const struct rpc_method *methods;
    size_t method_count;
    pthread_mutex_t lock;
    bool is_stopping; /* all under lock */
    struct watcher *watchers;
    uint32_t watcher_count;
};

/* --- life ------------------------------------------------------------------------------------- */

struct health *health_create(const struct rpc_method *methods, size_t method_count)
{
    struct health *health = memory_allocate_zeroed(1, sizeof *health);
    if (health != NULL) {
        health->methods = methods;
        health->method_count = method_count;
        ASSERT(pthread_mutex_init(&health->lock, NULL) == 0);
    }
    return health;
}

void health_destroy(struct health *health)
{
    if (health == NULL) {
        return;
    }
    ASSERT(health->watchers == NULL);
    ASSERT(pthread_mutex_destroy(&health->lock) == 0);
    memory_free(health);
}

/* --- what there is to say --------------------------------------------------------------------- */

/* A method's path is "/SERVICE/METHOD". */
static bool is_service(const struct health *health, const char *name)
{
    size_t size = strlen(name);
    bool is_found = size == 0;
    for (size_t i = 0; i < health->method_count && !is_found; i++) {
        const char *path = health->methods[i].path;
        is_found = path[0] == '/' && strncmp(path + 1, name, size) == 0 && path[1 + size] == '/';
    }
    return is_found;
}

/* Under lock. */
static Serving status_of(const struct health *health, bool is_known)
{
    if (!is_known) {
        return NO_SERVICE;
    }
    return health->is_stopping ? NOT_SERVING : SERVING;
}

/* --- watching --------------------------------------------------------------------------------- */

/* Under lock. */
static enum action decide(struct watcher *watcher)
{
    struct health *health = watcher->health;
    Serving status = status_of(health, watcher->is_known);
    if (watcher->is_sending || watcher->is_finished) {
        return ACTION_NONE;
    }
    if (!watcher->is_cancelled && watcher->told != status) {
        watcher->told = status;
        watcher->is_sending = true;
        return ACTION_SEND;
    }
    if (watcher->is_cancelled || health->is_stopping) {
        watcher->is_finished = true;
        *watcher->link = watcher->next;
        if (watcher->next != NULL) {
            watcher->next->link = watcher->link;
        }
        health->watcher_count--;
        return watcher->is_cancelled ? ACTION_LEAVE : ACTION_STOP;
    }
    return ACTION_NONE;
}

static void on_sent(void *context);

/* Without the lock; the watcher may be gone afterwards. */
static void act(struct watcher *watcher, enum action action)
{
    if (action == ACTION_SEND) {
        Response response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
        response.status = watcher->told;
        if (rpc_send(watcher->call, &response.base, on_sent, watcher) != STATUS_OK) {
            on_sent(watcher); /* this one is lost; the end needs no memory */
        }
    } else if (action == ACTION_LEAVE) {
        rpc_fail(watcher->call, EDUBBA_CANCELLED, "The caller is gone");
    } else if (action == ACTION_STOP) {
        rpc_fail(watcher->call, EDUBBA_UNAVAILABLE, "The gateway is stopping");
    }
}

static void on_sent(void *context)
{
    struct watcher *watcher = context;
    struct health *health = watcher->health;
    (void)pthread_mutex_lock(&health->lock);
    watcher->is_sending = false;
    enum action action = decide(watcher);
    (void)pthread_mutex_unlock(&health->lock);
    act(watcher, action);
}

static void on_cancelled(void *context)
{
    struct watcher *watcher = context;
    struct health *health = watcher->health;
    (void)pthread_mutex_lock(&health->lock);
    watcher->is_cancelled = true;
    enum action action = decide(watcher);
    (void)pthread_mutex_unlock(&health->lock);
    act(watcher, action);
}

void health_stop(struct health *health)
{
    struct watcher *watcher;
    do {
        enum action action = ACTION_NONE;
        (void)pthread_mutex_lock(&health->lock);
        health->is_stopping = true;
        watcher = health->watchers;
        while (watcher != NULL && (action = decide(watcher)) == ACTION_NONE) {
            watcher = watcher->next;
        }
        (void)pthread_mutex_unlock(&health->lock);
        if (watcher != NULL) {
            act(watcher, action);
        }
    } while (watcher != NULL);
}

/* --- methods ---------------------------------------------------------------------------------- */

static void check(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    struct health *health = ((struct gateway *)context)->health;
    const char *service = ((const Request *)request)->service;
    Response response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    if (!is_service(health, service)) {
        rpc_fail(call, EDUBBA_NOT_FOUND, "This server has no service '%s'", service);
        return;
    }
    (void)pthread_mutex_lock(&health->lock);
    response.status = status_of(health, true);
    (void)pthread_mutex_unlock(&health->lock);
    rpc_answer(call, &response.base);
}

static void watch(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    struct health *health = ((struct gateway *)context)->health;
    struct watcher *watcher = arena_allocate(rpc_call_arena(call), sizeof *watcher);
    if (watcher == NULL) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "No memory for the request; try again");
        return;
    }
    *watcher = (struct watcher){
        .health = health,
        .call = call,
        .is_known = is_service(health, ((const Request *)request)->service),
        .is_sending = true, /* so that nobody ends it before it is watched */
        .told = UNKNOWN_YET,
    };
    (void)pthread_mutex_lock(&health->lock);
    bool has_room = health->watcher_count < HEALTH_WATCHERS_MAX;
    if (has_room) {
        watcher->next = health->watchers;
        watcher->link = &health->watchers;
        if (watcher->next != NULL) {
            watcher->next->link = &watcher->next;
        }
        health->watchers = watcher;
        health->watcher_count++;
    }
    (void)pthread_mutex_unlock(&health->lock);
    if (!has_room) {
        rpc_fail(call, EDUBBA_RESOURCE_EXHAUSTED, "%d calls watch already; use Check",
                 HEALTH_WATCHERS_MAX);
        return;
    }
    rpc_call_on_cancelled(call, on_cancelled, watcher);
    on_sent(watcher);
}

static const struct rpc_method METHODS[] = {
    {"/grpc.health.v1.Health/Check", &grpc__health__v1__health_check_request__descriptor, check},
    {"/grpc.health.v1.Health/Watch", &grpc__health__v1__health_check_request__descriptor, watch},
};

const struct rpc_method *health_methods(size_t *ret_count)
{
    *ret_count = sizeof METHODS / sizeof *METHODS;
    return METHODS;
}
