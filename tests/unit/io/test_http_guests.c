#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/io/http_guests.h"

#define GUESTS_MAX       3
#define ANSWER_BYTES_MAX 100

static struct http_guests guests;
static int ends[GUESTS_MAX + 3][2];

static struct http_guest *enter(size_t i)
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
    return http_guests_enter(&guests, ends[i][0]);
}

static bool is_out(size_t i)
{
    char byte = 0;
    return recv(ends[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

Test(http_guests, whom_we_have_waited_for_longest_gives_way)
{
    struct http_guest *all[GUESTS_MAX + 3];
    http_guests_init(&guests, GUESTS_MAX, ANSWER_BYTES_MAX);
    for (size_t i = 0; i < GUESTS_MAX; i++) {
        all[i] = enter(i);
        cr_assert_not(is_out(i));
    }
    http_guests_serve(&guests, all[0]);    /* it waits for us */
    http_guests_await(&guests, all[1], 0); /* it has just sent a request */
    all[3] = enter(3);
    cr_assert(is_out(2));
    cr_assert_not(is_out(0) || is_out(1) || is_out(3));

    /* The one that is out and not gone yet is not turned out again. */
    http_guests_await(&guests, all[0], 0);
    all[4] = enter(4);
    cr_assert(is_out(1));
    cr_assert_not(is_out(0) || is_out(3) || is_out(4));

    /* There is room again. */
    http_guests_leave(&guests, all[1]);
    http_guests_leave(&guests, all[2]);
    http_guests_leave(&guests, all[3]);
    all[5] = enter(5);
    cr_assert_not(is_out(0) || is_out(4) || is_out(5));
    http_guests_leave(&guests, all[0]);
    http_guests_leave(&guests, all[4]);
    http_guests_leave(&guests, all[5]);
    cr_assert_eq(guests.count, 0);
}

Test(http_guests, where_all_wait_for_us_the_new_one_gives_way)
{
    struct http_guest *all[GUESTS_MAX + 1];
    http_guests_init(&guests, GUESTS_MAX, ANSWER_BYTES_MAX);
    for (size_t i = 0; i < GUESTS_MAX; i++) {
        all[i] = enter(i);
        http_guests_serve(&guests, all[i]);
    }
    all[GUESTS_MAX] = enter(GUESTS_MAX);
    cr_assert(is_out(GUESTS_MAX));
    for (size_t i = 0; i <= GUESTS_MAX; i++) {
        cr_assert(i == GUESTS_MAX || !is_out(i));
        http_guests_leave(&guests, all[i]);
    }
}

Test(http_guests, without_memory_the_new_one_is_turned_out)
{
    http_guests_init(&guests, GUESTS_MAX, ANSWER_BYTES_MAX);
    memory_fail_arm(0, 0);
    cr_assert_null(enter(0));
    memory_fail_disarm();
    cr_assert(is_out(0));
    cr_assert_eq(guests.count, 0);
}

Test(http_guests, who_has_had_longest_to_take_an_answer_gives_way_where_they_are_too_large)
{
    struct http_guest *all[GUESTS_MAX + 1];
    http_guests_init(&guests, GUESTS_MAX + 1, ANSWER_BYTES_MAX);
    for (size_t i = 0; i <= GUESTS_MAX; i++) {
        all[i] = enter(i);
    }
    http_guests_await(&guests, all[1],
                      40); /* before it one without an answer, which holds nothing */
    http_guests_await(&guests, all[2], 40);
    http_guests_await(&guests, all[3], 20);
    cr_assert_not(is_out(0) || is_out(1) || is_out(2) || is_out(3), "just as much as may be");
    http_guests_take_answer(&guests, all[1]);
    http_guests_await(&guests, all[0], 40);
    cr_assert_not(is_out(0) || is_out(1) || is_out(2) || is_out(3), "what was taken is gone");
    http_guests_await(&guests, all[0], 41);
    cr_assert(is_out(2));
    cr_assert_not(is_out(0) || is_out(1) || is_out(3));

    /* One that is larger than all may be is alone, and is kept. */
    http_guests_await(&guests, all[1], ANSWER_BYTES_MAX + 1);
    cr_assert(is_out(0) && is_out(3));
    cr_assert_not(is_out(1));
    for (size_t i = 0; i <= GUESTS_MAX; i++) {
        http_guests_leave(&guests, all[i]);
    }
    cr_assert_eq(guests.answer_bytes, 0);
}
