#include "common/io/http_guests.h"

#include <sys/socket.h>

#include "common/base/memory.h"

void http_guests_init(struct http_guests *guests, size_t count_max)
{
    TAILQ_INIT(&guests->awaited);
    guests->count = 0;
    guests->count_max = count_max;
}

void http_guests_serve(struct http_guests *guests, struct http_guest *guest)
{
    if (guest->awaited) {
        TAILQ_REMOVE(&guests->awaited, guest, link);
        guest->awaited = false;
    }
}

void http_guests_await(struct http_guests *guests, struct http_guest *guest)
{
    http_guests_serve(guests, guest);
    TAILQ_INSERT_TAIL(&guests->awaited, guest, link);
    guest->awaited = true;
}

struct http_guest *http_guests_enter(struct http_guests *guests, int socket)
{
    struct http_guest *guest = memory_allocate_zeroed(1, sizeof *guest);
    if (guest == NULL) {
        (void)shutdown(socket, SHUT_RDWR);
        return NULL;
    }
    guest->socket = socket;
    guests->count++;
    http_guests_await(guests, guest);
    if (guests->count > guests->count_max) {
        struct http_guest *first = TAILQ_FIRST(&guests->awaited);
        http_guests_serve(guests, first); /* the next one's turn is another's */
        (void)shutdown(first->socket, SHUT_RDWR);
    }
    return guest;
}

void http_guests_leave(struct http_guests *guests, struct http_guest *guest)
{
    http_guests_serve(guests, guest);
    guests->count--;
    memory_free(guest);
}
