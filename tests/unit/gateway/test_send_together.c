/* What a thread sends is held back while it says that more follows, and goes out then. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/rpc/send_together.h"

#define TRIES \
    10 /* the kernel sends what is held back after 200 ms, and a busy machine may take as long */

struct pair {
    int near; /* sends at once, as libgrpc's sockets do */
    int far;
};

static struct pair pair_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct pair pair = {.near = socket(AF_INET, SOCK_STREAM, 0)};
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(connect(pair.near, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(setsockopt(pair.near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    pair.far = accept(listener, NULL, NULL);
    cr_assert_geq(pair.far, 0);
    (void)close(listener);
    return pair;
}

static void pair_close(struct pair pair)
{
    (void)close(pair.near);
    (void)close(pair.far);
}

static void say(struct pair pair, const char *text)
{
    struct iovec piece = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    cr_assert_eq(sendmsg(pair.near, &message, MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What has come; it stays there. */
static const char *heard(struct pair pair)
{
    static char text[64];
    ssize_t size = recv(pair.far, text, sizeof text - 1, MSG_PEEK | MSG_DONTWAIT);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

Test(send_together, what_is_sent_is_there_at_once)
{
    struct pair pair = pair_open();
    say(pair, "one");
    cr_assert_str_eq(heard(pair), "one");
    pair_close(pair);
}

Test(send_together, what_more_follows_is_held_back_until_the_end)
{
    bool was_held_back = false;
    for (int i = 0; i < TRIES && !was_held_back; i++) {
        struct pair pair = pair_open();
        send_together_more(true);
        say(pair, "one ");
        say(pair, "two");
        was_held_back = strcmp(heard(pair), "") == 0;
        send_together_flush();
        cr_assert_str_eq(heard(pair), "one two");
        say(pair, " three");
        cr_assert_str_eq(heard(pair), "one two three");
        pair_close(pair);
    }
    cr_assert(was_held_back);
}

Test(send_together, the_last_takes_along_what_was_held_back)
{
    struct pair pair = pair_open();
    send_together_more(true);
    say(pair, "one ");
    send_together_more(false);
    say(pair, "two");
    cr_assert_str_eq(heard(pair), "one two");
    send_together_flush();
    pair_close(pair);
}

/* The rest is not remembered, so nothing of it is held back. */
Test(send_together, many_sockets_hold_nothing_back_for_good)
{
    enum {
        PAIRS = 40
    };
    struct pair pairs[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pairs[i] = pair_open();
    }
    send_together_more(true);
    for (int i = 0; i < PAIRS; i++) {
        say(pairs[i], "one");
    }
    cr_assert_str_eq(heard(pairs[PAIRS - 1]), "one");
    send_together_flush();
    for (int i = 0; i < PAIRS; i++) {
        cr_assert_str_eq(heard(pairs[i]), "one");
        pair_close(pairs[i]);
    }
}

Test(send_together, a_socket_that_is_gone_is_no_trouble)
{
    struct pair gone = pair_open();
    struct pair pair = pair_open();
    send_together_more(true);
    say(gone, "one");
    say(pair, "one");
    cr_assert_eq(close(gone.near), 0);
    send_together_flush();
    cr_assert_str_eq(heard(pair), "one");
    cr_assert_str_eq(heard(gone), "one");
    (void)close(gone.far);
    pair_close(pair);
}

static void *say_elsewhere(void *context)
{
    say(*(struct pair *)context, "one");
    return NULL;
}

Test(send_together, other_threads_are_not_concerned)
{
    pthread_t thread;
    struct pair pair = pair_open();
    send_together_more(true);
    cr_assert_eq(pthread_create(&thread, NULL, say_elsewhere, &pair), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_str_eq(heard(pair), "one");
    send_together_flush();
    pair_close(pair);
}
