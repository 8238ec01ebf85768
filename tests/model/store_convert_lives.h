/*
 * Tablets of test_store_convert_model.c between lives: what was asked of the store and stands in memory that outlives it,
 * barriers, configurations, and what a new life finds of them.
 */
#ifndef TESTS_MODEL_STORE_CONVERT_LIVES_H
#define TESTS_MODEL_STORE_CONVERT_LIVES_H

#include <sys/mman.h>

#include "tests/model/store_lives.h"
#include "tests/model/store_operations.h"

#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/record/record_replica.h"

#define NUMBERS_MAX 4096

/* A barrier's operation is a SPLIT with children, or with a left one only, where the tablet is to be
 * merged into that; what lifts it is one without. */
struct convert_shared {
    struct shared lists[2]; /* one of them counts; a list is cut by writing the other */
    uint32_t current;
    uint64_t kept[NUMBERS_MAX]; /* of a tablet whose conversion has begun: its barrier; 0 = none */
};

static struct convert_shared *all;
static uint64_t synced[NUMBERS_MAX];
static uint32_t configured[NUMBERS_MAX];
static uint64_t conversions;
static uint64_t merges;

/* --- committing by word --------------------------------------------------------------------------- */

static void on_synced(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    (void)context;
    synced[store_tablet_describe(tablet)->tablet] = sequence;
}

static void on_configured(void *context, struct store_tablet *tablet)
{
    (void)context;
    configured[store_tablet_describe(tablet)->tablet]++;
}

/* Until then a kill may bring back what was dropped. */
static void wait_for_configuration(const struct store_tablet *tablet)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, configured[number] > 0);
}

static void open_store(void)
{
    struct error error;
    struct store_callbacks callbacks = fixture_callbacks(&fixture);
    callbacks.on_synced = on_synced;
    callbacks.on_configured = on_configured;
    memset(synced, 0, sizeof synced);
    fixture.loop = pthread_self();
    cr_assert_eq(store_open(fixture.folder, FIXTURE_STORE, &fixture.settings, &callbacks,
                            &fixture.store, &error),
                 STATUS_OK, "%s", error.text);
    cr_assert_eq(store_set_table(fixture.store, &fixture_table), STATUS_OK);
}

static void commit_by_word(struct store_tablet *tablet, uint64_t sequence)
{
    if (!store_tablet_is_alone(tablet) && sequence > store_tablet_committed(tablet)) {
        enum status status = store_tablet_commit(tablet, sequence);
        cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    }
}

static bool is_all_committed(struct store_tablet *tablet)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    if (!store_tablet_is_alone(tablet) && synced[number] == store_tablet_appended(tablet)) {
        commit_by_word(tablet, synced[number]);
    }
    return store_tablet_committed(tablet) == store_tablet_appended(tablet);
}

/* A new reign: all that is in its log is committed, and it leads. */
static void take_over(struct store_tablet *tablet)
{
    while (store_tablet_committed(tablet) < store_tablet_appended(tablet)) {
        commit_by_word(tablet, store_tablet_appended(tablet));
        store_poll(fixture.store);
    }
    while (store_tablet_lead(tablet) != STATUS_OK) {
        store_poll(fixture.store);
    }
}

/* --- barriers ------------------------------------------------------------------------------------- */

/* The tablet's last operation, if it bars writes. */
static struct operation *barrier_of(const struct store_tablet *tablet)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    for (uint32_t i = shared->count; i > 0; i--) {
        struct operation *operation = &shared->operations[i - 1];
        if (operation->tablet == number) {
            return operation->kind == SPLIT && operation->left != 0 ? operation : NULL;
        }
    }
    return NULL;
}

/* The list without some of it, which a kill leaves as it was or as it will be. */
static struct shared *begin_list(void)
{
    struct shared *next = &all->lists[1 - all->current];
    next->count = 0;
    next->tablet_next = shared->tablet_next;
    next->request_next = shared->request_next;
    next->steps = shared->steps;
    return next;
}

static void end_list(struct shared *next)
{
    all->current = 1 - all->current;
    shared = next;
}

/* What reads that are open count on moves with the list. */
static void move_held(uint32_t from, uint32_t to)
{
    for (int i = 0; i < HELD_MAX; i++) {
        if (held[i].read != NULL && held[i].operations == from) {
            held[i].operations = to;
        }
    }
}

static void forget_above(uint64_t tablet, uint64_t sequence)
{
    struct shared *next = begin_list();
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *operation = &shared->operations[i];
        move_held(i, next->count);
        if (operation->tablet != tablet || operation->sequence <= sequence) {
            next->operations[next->count++] = *operation;
        }
    }
    move_held(shared->count, next->count);
    end_list(next);
}

/* --- configurations ------------------------------------------------------------------------------- */

/* Adopts another configuration; nothing is dropped. */
static enum status configure_tablet(struct store_tablet *tablet, bool alone)
{
    uint64_t version = store_tablet_describe(tablet)->configuration + 1;
    struct store_configuration next = {.members = {.version = version,
                                                   .member_count = alone ? 1 : 2,
                                                   .members = {{1, FIXTURE_STORE}, {2, 8}}},
                                       .role = 3};
    return store_tablet_configure(tablet, &next, UINT64_MAX);
}

/* --- after a crash -------------------------------------------------------------------------------- */

static bool has_survived(const struct operation *operation)
{
    struct store_tablet *tablet = store_tablet_find(fixture.store, operation->tablet);
    /* A tablet that is not there was converted, which committed all up to its barrier. */
    return tablet == NULL || operation->sequence <= store_tablet_appended(tablet);
}

static void check_survivors(void)
{
    for (uint64_t number = 1; number <= shared->tablet_next; number++) {
        if (all->kept[number] != 0 && store_tablet_find(fixture.store, number) == NULL) {
            forget_above(number, all->kept[number]);
        }
        all->kept[number] = 0;
    }
    struct shared *next = begin_list();
    for (uint32_t i = 0; i < shared->count; i++) {
        struct operation *operation = &shared->operations[i];
        bool survived = has_survived(operation);
        cr_assert(survived || !operation->committed,
                  "tablet %d: sequence %d was committed and is lost", (int)operation->tablet,
                  (int)operation->sequence);
        if (survived) {
            operation->committed = true;
            next->operations[next->count++] = *operation;
        }
    }
    end_list(next);
    /* Nothing may be there that was never asked for. */
    for (uint32_t i = 0; i < store_tablet_count(fixture.store); i++) {
        struct store_tablet *tablet = store_tablet_at(fixture.store, i);
        take_over(tablet);
        if (store_tablet_configuration(tablet)->members.version == 0) {
            cr_assert_eq(shared->count, 0, "tablet %d has lost its configuration",
                         (int)store_tablet_describe(tablet)->tablet);
            configured[store_tablet_describe(tablet)->tablet] = 0;
            cr_assert_eq(configure_tablet(tablet, prng_chance(&prng, 2)), STATUS_OK);
            wait_for_configuration(tablet); /* or it may be gone when the store is opened next */
        }
        cr_assert_eq(store_tablet_prepared(tablet), store_tablet_committed(tablet));
    }
    expect_all(STORE_READ_COMMITTED);
    expect_duplicates_known();
}

#endif /* TESTS_MODEL_STORE_CONVERT_LIVES_H */
