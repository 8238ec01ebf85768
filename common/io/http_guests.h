/*
 * The connections of an HTTP server, and who of them gives way when there are too many: whom we have waited for
 * longest, be it for a request or to take an answer.  Whoever waits for us does not.  And where answers that are not
 * taken hold too much memory: who has had longest to take one.
 *
 * To turn one out is to shut its socket down, as if the other end hung up: it is the server's, which alone closes it
 * when it notices, and says so (http_guests_leave()).  libmicrohttpd's manual lets one have the socket, and warns that
 * to meddle with it may break HTTP, which for this one is what we want.
 *
 * Thread rule: one at a time.
 */
#ifndef COMMON_IO_HTTP_GUESTS_H
#define COMMON_IO_HTTP_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct http_guest {
    TAILQ_ENTRY(http_guest) link;
    int socket;
    bool awaited;        /* in the list */
    size_t answer_bytes; /* which it has not taken; 0 = it is not in the list, or has */
};

TAILQ_HEAD(http_guest_list, http_guest);

struct http_guests {
    struct http_guest_list awaited; /* the longest first */
    size_t count;                   /* of all */
    size_t count_max;
    size_t answer_bytes; /* which have not been taken, of all in the list */
    size_t answer_bytes_max;
};

void http_guests_init(struct http_guests *guests, size_t count_max, size_t answer_bytes_max);

/* A new one, awaited.  NULL: there is no memory for it, and it is turned out. */
struct http_guest *http_guests_enter(struct http_guests *guests, int socket);

/* Awaited from now on, to take an answer of so many bytes; one that is larger than all may be is kept alone. */
void http_guests_await(struct http_guests *guests, struct http_guest *guest, size_t answer_bytes);
/* It has taken it, and is awaited as before. */
void http_guests_take_answer(struct http_guests *guests, struct http_guest *guest);
/* Awaited no longer. */
void http_guests_serve(struct http_guests *guests, struct http_guest *guest);

/* Has it hung up?  Seen once all that it had sent is read.  Any thread, while its connection is there. */
bool http_guest_has_hung_up(const struct http_guest *guest);

/* Its socket is, or will be, closed. */
void http_guests_leave(struct http_guests *guests, struct http_guest *guest);

#endif /* COMMON_IO_HTTP_GUESTS_H */
