#define _GNU_SOURCE /* RTLD_NEXT */
#include "gateway/rpc/send_together.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>

#define SOCKETS_MAX 16 /* that are remembered; what goes to others is not held back */

typedef ssize_t send_function(int, const struct msghdr *, int);

/* Of a thread. */
struct together {
    bool more_follows;
    size_t socket_count;
    int sockets[SOCKETS_MAX]; /* that hold something back */
};

static _Thread_local struct together together;

/* --- what is held back ----------------------------------------------------------------------- */

static size_t place_of(const struct together *own, int socket)
{
    size_t at = 0;
    while (at < own->socket_count && own->sockets[at] != socket) {
        at++;
    }
    return at;
}

/* Will the socket be remembered, so that what it holds back can be let go? */
static bool remember(struct together *own, int socket)
{
    size_t at = place_of(own, socket);
    if (at == SOCKETS_MAX) {
        return false;
    }
    if (at == own->socket_count) {
        own->sockets[own->socket_count++] = socket;
    }
    return true;
}

/* What goes out without MSG_MORE takes along what was held back. */
static void forget(struct together *own, int socket)
{
    size_t at = place_of(own, socket);
    if (at < own->socket_count) {
        own->sockets[at] = own->sockets[--own->socket_count];
    }
}

void send_together_more(bool follows)
{
    together.more_follows = follows;
}

/* A socket that libgrpc has closed meanwhile, and what may have its number by now, are not hurt: what we
 * set is set for all of libgrpc's and nng's. */
void send_together_flush(void)
{
    struct together *own = &together;
    const int on = 1;
    own->more_follows = false;
    for (size_t i = 0; i < own->socket_count; i++) {
        (void)setsockopt(own->sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    own->socket_count = 0;
}

/* --- in libc's place ------------------------------------------------------------------------- */

static send_function *libc_send;

static void find_libc_send(void)
{
    union {
        void *object;
        send_function *function;
    } found = {.object = dlsym(RTLD_NEXT, "sendmsg")};
    libc_send = found.function;
}

__attribute__((visibility("default"))) ssize_t sendmsg(int socket,
                                                       const struct msghdr *message,
                                                       int flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct together *own = &together;
    (void)pthread_once(&once, find_libc_send);
    if (!own->more_follows) {
        forget(own, socket);
    } else if (remember(own, socket)) {
        flags |= MSG_MORE;
    }
    return libc_send(socket, message, flags);
}
