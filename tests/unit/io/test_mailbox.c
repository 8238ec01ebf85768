#include <criterion/criterion.h>

#include <pthread.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/mailbox.h"

static struct mailbox *mailbox_of(size_t capacity, size_t reserved)
{
    struct mailbox *mailbox = NULL;
    struct mailbox_settings settings = {sizeof(uint64_t), capacity, reserved};
    cr_assert_eq(mailbox_create(&settings, &mailbox), STATUS_OK);
    return mailbox;
}

Test(mailbox, keeps_order_and_its_reserve)
{
    struct mailbox *mailbox = mailbox_of(4, 1);
    uint64_t out[8];

    for (uint64_t round = 0; round < 5; round++) { /* the ring wraps */
        for (uint64_t i = 0; i < 3; i++) {
            cr_assert(mailbox_push(mailbox, &i));
        }
        uint64_t extra = 3;
        cr_assert_not(mailbox_push(mailbox, &extra));
        cr_assert(mailbox_push_reserved(mailbox, &extra));
        cr_assert_not(mailbox_push_reserved(mailbox, &extra));
        cr_assert_eq(mailbox_depth(mailbox), 4);
        cr_assert_eq(mailbox_take(mailbox, out, 3, 0), 3);
        cr_assert_eq(mailbox_take(mailbox, out + 3, 5, 0), 1);
        for (uint64_t i = 0; i < 4; i++) {
            cr_assert_eq(out[i], i);
        }
    }
    mailbox_destroy(mailbox);
}

Test(mailbox, waits_until_the_deadline_and_a_wake_ends_it)
{
    struct mailbox *mailbox = mailbox_of(4, 0);
    uint64_t out[1];
    int64_t start_ns = clock_monotonic_ns();

    cr_assert_eq(mailbox_take(mailbox, out, 1, start_ns + 30000000), 0);
    cr_assert_geq(clock_monotonic_ns() - start_ns, 30000000);
    mailbox_wake(mailbox);
    cr_assert_eq(mailbox_take(mailbox, out, 1, MAILBOX_WAIT_FOR_EVER), 0);
    mailbox_destroy(mailbox);
}

Test(mailbox, closed_hands_out_the_rest)
{
    struct mailbox *mailbox = mailbox_of(4, 0);
    uint64_t value = 7;
    uint64_t out[4];

    cr_assert(mailbox_push(mailbox, &value));
    mailbox_close(mailbox);
    cr_assert_not(mailbox_push(mailbox, &value));
    cr_assert_eq(mailbox_take(mailbox, out, 4, MAILBOX_WAIT_FOR_EVER), 1);
    cr_assert_eq(mailbox_take(mailbox, out, 4, MAILBOX_WAIT_FOR_EVER), 0);
    mailbox_destroy(mailbox);
}

#define PUSHERS 4
#define PUSHES  20000

struct pusher {
    pthread_t thread;
    struct mailbox *mailbox;
    uint64_t number;
};

static void *push_many(void *context)
{
    struct pusher *pusher = context;
    for (uint64_t i = 0; i < PUSHES; i++) {
        uint64_t item = pusher->number << 32 | i;
        while (!mailbox_push(pusher->mailbox, &item)) {
            clock_sleep_us(10);
        }
    }
    return NULL;
}

Test(mailbox, many_pushers_lose_and_reorder_nothing, .timeout = 300)
{
    struct mailbox *mailbox = mailbox_of(64, 0);
    struct pusher pushers[PUSHERS];
    uint64_t next[PUSHERS] = {0};
    uint64_t items[16];
    size_t total = 0;

    for (uint64_t i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.mailbox = mailbox, .number = i};
        cr_assert_eq(pthread_create(&pushers[i].thread, NULL, push_many, &pushers[i]), 0);
    }
    while (total < PUSHERS * PUSHES) {
        size_t taken = mailbox_take(mailbox, items, 16, MAILBOX_WAIT_FOR_EVER);
        for (size_t i = 0; i < taken; i++) {
            cr_assert_eq(items[i] & UINT32_MAX, next[items[i] >> 32]++);
        }
        total += taken;
    }
    for (size_t i = 0; i < PUSHERS; i++) {
        (void)pthread_join(pushers[i].thread, NULL);
    }
    mailbox_destroy(mailbox);
}

Test(mailbox, create_reports_no_memory)
{
    struct mailbox *mailbox = NULL;
    struct mailbox_settings settings = {8, 4, 0};
    memory_fail_arm(0, 0);
    cr_assert_eq(mailbox_create(&settings, &mailbox), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_null(mailbox);
}
