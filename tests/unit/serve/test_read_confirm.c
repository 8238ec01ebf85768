/*
 * Reads that wait until a lease is confirmed: who is let go, when, and what they are told then.
 */
#include "tabletserver/serve/read/read_confirm.h"

#include <stdatomic.h>

#include "common/io/clock.h"
#include "tests/support/store_fixture.h"

#define S INT64_C(1000000000)

static struct fixture fixture;
static struct store_tablet *tablet;
static struct lease_end end;
static struct serving_peer peer = {.end = &end};
static struct serving *serving;
static struct worker_pool *workers;
static struct read_confirm *confirm;
static atomic_uint ran;

static void run(struct job *job)
{
    (void)job;
    atomic_fetch_add(&ran, 1);
}

static void begin(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    tablet = fixture_create(&fixture, 11, "", "");
    atomic_store(&end.until_ns, clock_monotonic_ns() + 100 * S);
    atomic_store(&peer.incarnation, 7);
    cr_assert_eq(serving_create(&serving), STATUS_OK);
    serving_publish(serving, &(struct serving_on){&peer, 7}, 1);
    cr_assert_eq(worker_pool_create(1, &workers), STATUS_OK);
    cr_assert_eq(read_confirm_create(workers, &confirm), STATUS_OK);
}

static void finish(void)
{
    read_confirm_stop(confirm);
    worker_pool_destroy(workers);
    read_confirm_destroy(confirm);
    serving_unref(serving);
    fixture_deinit(&fixture);
}

TestSuite(read_confirm, .init = begin, .fini = finish);

struct waiter {
    struct job job;
    struct read_wait wait;
};

static enum read_confirm_outcome wait_for(struct waiter *waiter, uint64_t asked, int64_t for_ns)
{
    *waiter = (struct waiter){.job = {.run = run},
                              .wait = {.job = &waiter->job,
                                       .priority = JOB_URGENT,
                                       .asked = asked,
                                       .deadline_ns = clock_monotonic_ns() + for_ns,
                                       .served = {.tablet = tablet, .serving = serving}}};
    served_ref(&waiter->wait.served);
    return read_confirm_wait(confirm, &waiter->wait);
}

/* So many were let go so far, and no more. */
static void expect_ran(unsigned count)
{
    int64_t until_ns = clock_monotonic_ns() + 60 * S;
    while (atomic_load(&ran) < count) {
        cr_assert_lt(clock_monotonic_ns(), until_ns, "only %u", atomic_load(&ran));
        clock_sleep_us(200);
    }
    clock_sleep_us(20000);
    cr_assert_eq(atomic_load(&ran), count);
}

Test(read_confirm, who_asked_before_it_was_confirmed_goes_on_and_who_asked_after_waits)
{
    static struct waiter waiters[3];
    cr_assert_eq(wait_for(&waiters[0], 1, 100 * S), READ_CONFIRM_WAITS);
    cr_assert_eq(wait_for(&waiters[1], 2, 100 * S), READ_CONFIRM_WAITS);
    cr_assert_eq(wait_for(&waiters[2], 3, 100 * S), READ_CONFIRM_WAITS);
    read_confirm_look(confirm);
    expect_ran(0);
    atomic_store(&end.confirmed, 2);
    read_confirm_look(confirm);
    expect_ran(2);
    cr_assert_eq(wait_for(&waiters[0], 2, 100 * S), READ_CONFIRM_CONFIRMED);
    atomic_store(&end.confirmed, 3);
    read_confirm_look(confirm);
    expect_ran(3);
}

Test(read_confirm, who_would_wait_in_vain_is_let_go_and_told_why)
{
    static struct waiter late;
    static struct waiter lost;
    cr_assert_eq(wait_for(&late, 1, S / 20), READ_CONFIRM_WAITS);
    cr_assert_eq(wait_for(&lost, 1, 100 * S), READ_CONFIRM_WAITS);
    clock_sleep_us(100000);
    read_confirm_look(confirm);
    expect_ran(1);
    cr_assert_eq(wait_for(&late, 1, -1), READ_CONFIRM_LATE);
    serving_close(serving);
    read_confirm_look(confirm);
    expect_ran(2);
    cr_assert_eq(wait_for(&lost, 1, 100 * S), READ_CONFIRM_NOT_SERVED);
}

Test(read_confirm, a_lease_that_is_over_is_not_waited_for)
{
    static struct waiter waiter;
    cr_assert_eq(wait_for(&waiter, 1, 100 * S), READ_CONFIRM_WAITS);
    atomic_store(&end.until_ns, 0);
    read_confirm_look(confirm);
    expect_ran(1);
    cr_assert_eq(wait_for(&waiter, 1, 100 * S), READ_CONFIRM_NOT_SERVED);
}

Test(read_confirm, what_is_stopped_lets_all_go_and_nobody_wait)
{
    static struct waiter waiter;
    cr_assert_eq(wait_for(&waiter, 1, 100 * S), READ_CONFIRM_WAITS);
    read_confirm_stop(confirm);
    expect_ran(1);
    cr_assert_eq(wait_for(&waiter, 1, 100 * S), READ_CONFIRM_STOPPED);
    atomic_store(&end.confirmed, 1);
    cr_assert_eq(wait_for(&waiter, 1, 100 * S), READ_CONFIRM_CONFIRMED, "it was, before");
}
