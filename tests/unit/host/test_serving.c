/*
 * The serving word: what it says, and that readers see it whole.
 */
#include <criterion/criterion.h>
#include <pthread.h>

#include "tabletserver/host/serving.h"

static struct lease_end ends[2];
static struct serving_peer peers[2];
static struct serving *serving;

static void begin(void)
{
    for (int i = 0; i < 2; i++) {
        atomic_store(&ends[i].until_ns, 100);
        peers[i].end = &ends[i];
        atomic_store(&peers[i].incarnation, 7);
    }
    cr_assert_eq(serving_create(&serving), STATUS_OK);
}

static void finish(void)
{
    serving_unref(serving);
}

TestSuite(serving, .init = begin, .fini = finish);

Test(serving, holds_while_all_leases_do)
{
    const struct serving_on on[] = {{&peers[0], 7}, {&peers[1], 7}};
    cr_assert_not(serving_holds(serving, 0), "it was not opened");
    serving_publish(serving, on, 2);
    cr_assert(serving_holds(serving, 99));
    cr_assert_not(serving_holds(serving, 100));
    atomic_store(&ends[0].until_ns, 200);
    cr_assert_not(serving_holds(serving, 150), "of one of two");
    atomic_store(&ends[1].until_ns, 200);
    cr_assert(serving_holds(serving, 150));
    serving_close(serving);
    cr_assert_not(serving_holds(serving, 150));
    serving_publish(serving, on, 1);
    atomic_store(&ends[1].until_ns, 0);
    cr_assert(serving_holds(serving, 150), "it does not count on the other any more");
    serving_publish(serving, NULL, 0);
    atomic_store(&ends[0].until_ns, 0);
    cr_assert(serving_holds(serving, INT64_MAX), "alone");
}

Test(serving, is_confirmed_by_all_whom_it_counts_on)
{
    const struct serving_on on[] = {{&peers[0], 7}, {&peers[1], 7}};
    cr_assert_not(serving_confirmed(serving, 0, 1), "it is closed");
    serving_publish(serving, on, 2);
    cr_assert(serving_confirmed(serving, 0, 1), "nothing was asked");
    cr_assert_not(serving_confirmed(serving, 4, 1));
    atomic_store(&ends[0].confirmed, 4);
    cr_assert_not(serving_confirmed(serving, 4, 1), "by one of two");
    atomic_store(&ends[1].confirmed, 9);
    cr_assert(serving_confirmed(serving, 4, 1));
    cr_assert_not(serving_confirmed(serving, 5, 1));
    cr_assert_not(serving_confirmed(serving, 4, 100), "a lease is over");
    atomic_store(&peers[1].incarnation, 8);
    cr_assert_not(serving_confirmed(serving, 4, 1), "it was another process that did");
    serving_publish(serving, NULL, 0);
    cr_assert(serving_confirmed(serving, 10, INT64_MAX), "alone");
}

Test(serving, counts_on_a_process_not_on_a_server)
{
    const struct serving_on on[] = {{&peers[0], 7}, {&peers[1], 7}};
    serving_publish(serving, on, 2);
    atomic_store(&peers[1].incarnation, 8);
    cr_assert_not(serving_holds(serving, 1));
    serving_publish(serving, (const struct serving_on[]){{&peers[0], 7}, {&peers[1], 8}}, 2);
    cr_assert(serving_holds(serving, 1));
}

Test(serving, what_was_read_before_it_was_opened_is_not_told)
{
    const struct serving_on on[] = {{&peers[0], 7}};
    uint64_t before = serving_opening(serving);
    cr_assert_eq(before, 0);
    serving_publish(serving, on, 1);
    cr_assert(serving_holds(serving, 1));
    cr_assert_not(serving_held(serving, before, 1), "the snapshot was a follower's");
    uint64_t opening = serving_opening(serving);
    cr_assert(serving_held(serving, opening, 1));
    serving_publish(serving, on, 1);
    cr_assert(serving_held(serving, opening, 1), "it was not closed between");
    serving_close(serving);
    cr_assert_not(serving_held(serving, opening, 1));
    serving_publish(serving, on, 1);
    cr_assert_not(serving_held(serving, opening, 1), "another may have reigned between");
    cr_assert(serving_held(serving, serving_opening(serving), 1));
}

/* Two words that hold, in turn; a mixture of both would not: each peer is to be of its own process. */
static atomic_bool done;
static atomic_uint_fast64_t looks;
static atomic_uint_fast64_t refused;

static void *read_words(void *context)
{
    (void)context;
    while (!atomic_load(&done)) {
        atomic_fetch_add(&looks, 1);
        atomic_fetch_add(&refused, serving_holds(serving, 1) ? 0 : 1);
    }
    return NULL;
}

Test(serving, is_seen_whole_while_it_changes)
{
    pthread_t readers[2];
    const struct serving_on one[] = {{&peers[0], 7}, {&peers[1], 9}};
    const struct serving_on other[] = {{&peers[1], 9}, {&peers[0], 7}};
    atomic_store(&peers[1].incarnation, 9);
    serving_publish(serving, one, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_create(&readers[i], NULL, read_words, NULL), 0);
    }
    for (uint64_t i = 0; i < 1000000 || atomic_load(&looks) < 100000; i++) {
        serving_publish(serving, i % 2 == 0 ? other : one, 2);
        serving_publish(serving, i % 2 == 0 ? other : one, 2);
    }
    atomic_store(&done, true);
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(readers[i], NULL);
    }
    cr_assert_eq(refused, 0);
}
