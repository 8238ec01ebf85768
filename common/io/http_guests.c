#include "common/io/http_guests.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/base/memory.h"

void http_guests_init(struct http_guests *guests, size_t count_max, size_t answer_bytes_max)
{
    TAILQ_INIT(&guests->awaited);
    guests->count = 0;
    guests->count_max = count_max;
    guests->answer_bytes = 0;
    guests->answer_bytes_max = answer_bytes_max;
}

void http_guests_take_answer(struct http_guests *guests, struct http_guest *guest)
{
    guests->answer_bytes -= guest->answer_bytes;
    guest->answer_bytes = 0;
}

void http_guests_serve(struct http_guests *guests, struct http_guest *guest)
{
    http_guests_take_answer(guests, guest);
    if (guest->awaited) {
        TAILQ_REMOVE(&guests->awaited, guest, link);
        guest->awaited = false;
    }
}

/* Shut the guest's connection down (who owns it closes it), and take it out of the list, so that the next who has to go is another one. */
static void turn_out(struct http_guests *guests, struct http_guest *guest)
{
    http_guests_serve(guests, guest);
    (void)shutdown(guest->socket, SHUT_RDWR);
}

/* Who has had longest to take an answer; there is one. */
static struct http_guest *first_with_answer(struct http_guests *guests)
{
    struct http_guest *guest = TAILQ_FIRST(&guests->awaited);
    while (guest->answer_bytes == 0) {
        guest = TAILQ_NEXT(guest, link);
    }
    return guest;
}

void http_guests_await(struct http_guests *guests, struct http_guest *guest, size_t answer_bytes)
{
    http_guests_serve(guests, guest);
    TAILQ_INSERT_TAIL(&guests->awaited, guest, link);
    guest->awaited = true;
    guest->answer_bytes = answer_bytes;
    guests->answer_bytes += answer_bytes;
    while (guests->answer_bytes > guests->answer_bytes_max && guests->answer_bytes > answer_bytes) {
        turn_out(guests, first_with_answer(guests));
    }
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
    http_guests_await(guests, guest, 0);
    if (guests->count > guests->count_max) {
        turn_out(guests, TAILQ_FIRST(&guests->awaited));
    }
    return guest;
}

bool http_guest_has_hung_up(const struct http_guest *guest)
{
    char byte = 0;
    ssize_t there = recv(guest->socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    return there == 0 || (there < 0 && errno != EAGAIN && errno != EINTR);
}

void http_guests_leave(struct http_guests *guests, struct http_guest *guest)
{
    http_guests_serve(guests, guest);
    guests->count--;
    memory_free(guest);
}
