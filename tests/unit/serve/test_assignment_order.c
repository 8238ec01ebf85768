/* Assignments beside what is held, in order and out of it: what comes of it is the same, and in order it is little work. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/tablet/assignment.h"

#define SERVER  5
#define STORE   3
#define NUMBERS 400 /* of tablets; not all are assigned, or held */

static struct prng prng;
static struct arena arena;

static struct assigned_tablet tablet_of(uint64_t tablet)
{
    return (struct assigned_tablet){
        .location = {.tablet = tablet, .table = 1, .server = SERVER, .state = TABLET_SERVING},
        .store = STORE};
}

static void note(struct assignment_list *list, struct assigned_tablet assigned)
{
    cr_assert_eq(assignment_list_note(list, SERVER, &assigned), STATUS_OK);
}

static size_t decide(struct assignment_list *list,
                     const struct assignment_held *held,
                     size_t held_count,
                     struct assignment_action **ret_actions)
{
    size_t count = 0;
    cr_assert_eq(assignment_decide(list, held, held_count, &arena, ret_actions, &count), STATUS_OK);
    return count;
}

/* A server of ten thousand tablets does so at every sync: all was copied and put in order for it. */
Test(assignment_order, what_is_all_here_is_looked_at_where_it_is)
{
    struct assignment_list *list = NULL;
    struct assignment_held held[NUMBERS];
    struct assignment_action *actions = NULL;

    arena_init(&arena, 4096, (NUMBERS + 2) * sizeof *actions); /* of these, and no more */
    cr_assert_eq(assignment_list_create(&list), STATUS_OK);
    for (size_t i = 0; i < NUMBERS; i++) {
        struct assigned_tablet assigned = tablet_of(1000 + i);
        assigned.parent = 1 + i / 2;
        note(list, assigned);
        held[i] = (struct assignment_held){1000 + i, STORE, 1};
    }
    cr_assert_eq(decide(list, held, NUMBERS, &actions), 0);
    arena_deinit(&arena);
    assignment_list_destroy(list);
}

/* --- any order ---------------------------------------------------------------------------------- */

static void shuffle(struct assignment_held *held, size_t held_count)
{
    for (size_t i = held_count; i > 1; i--) {
        size_t other = (size_t)prng_below(&prng, i);
        struct assignment_held moved = held[i - 1];
        held[i - 1] = held[other];
        held[other] = moved;
    }
}

/* Of each tablet none, one or two copies here, the shares drawn anew for each hundred of them. */
static size_t draw_held(struct assignment_held *held)
{
    size_t count = 0;
    uint64_t share = 1;
    for (uint64_t tablet = 1; tablet <= NUMBERS; tablet++) {
        share = tablet % 100 == 1 ? 1 + prng_below(&prng, 20) : share;
        for (uint64_t store = STORE; store <= STORE + 1; store++) {
            if (prng_chance(&prng, store == STORE ? share : 20)) {
                held[count++] = (struct assignment_held){tablet, store, prng_below(&prng, 3)};
            }
        }
    }
    return count;
}

/* The same into both lists.  Parents have lower numbers. */
static void draw_assigned(struct assignment_list *const lists[2],
                          bool of_others,
                          bool *ret_assigned)
{
    uint64_t share = 1;
    for (uint64_t tablet = 1; tablet <= NUMBERS; tablet++) {
        share = tablet % 100 == 1 ? 1 + prng_below(&prng, 20) : share;
        if (!prng_chance(&prng, share)) {
            continue;
        }
        struct assigned_tablet assigned = tablet_of(tablet);
        assigned.parent = of_others && prng_chance(&prng, 3) ? prng_below(&prng, tablet) : 0;
        assigned.location.state = prng_chance(&prng, 2) ? TABLET_CREATING : TABLET_SERVING;
        struct assigned_tablet removed = {
            .location = {.tablet = tablet}, .store = STORE + 1, .removed = true};
        for (size_t i = 0; i < 2; i++) {
            note(lists[i], assigned);
        }
        ret_assigned[tablet] = true;
        if (assigned.parent != 0) {
            ret_assigned[assigned.parent] = false; /* what it came of is to go */
        }
        for (size_t i = 0; i < 2 && tablet % 7 == 0; i++) {
            note(lists[i], removed); /* the copy in the other store */
        }
    }
}

static void assert_same_actions(const struct assignment_action *left,
                                const struct assignment_action *right,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(left[i].kind, right[i].kind);
        cr_assert_eq(left[i].tablet, right[i].tablet);
        cr_assert_eq(left[i].store, right[i].store);
        cr_assert_eq(left[i].left, right[i].left);
        cr_assert_eq(left[i].right, right[i].right);
        cr_assert_eq(left[i].as_learner, right[i].as_learner);
    }
}

static bool is_held(const struct assignment_held *held,
                    size_t held_count,
                    uint64_t tablet,
                    uint64_t store)
{
    bool found = false;
    for (size_t i = 0; i < held_count; i++) {
        found = found || (held[i].tablet == tablet &&
                          (held[i].store == store || (store == STORE && held[i].version == 0)));
    }
    return found;
}

/* Of tablets that came of no others. */
static void assert_decided(const struct assignment_action *actions,
                           size_t count,
                           const struct assignment_held *held,
                           size_t held_count,
                           const bool *assigned)
{
    size_t at = 0;
    for (uint64_t tablet = 1; tablet <= NUMBERS; tablet++) {
        if (assigned[tablet] && !is_held(held, held_count, tablet, STORE)) {
            cr_assert_lt(at, count);
            cr_assert_eq(actions[at].tablet, tablet);
            cr_assert_eq(actions[at++].store, STORE);
        }
        if (assigned[tablet] && tablet % 7 == 0 && is_held(held, held_count, tablet, STORE + 1)) {
            cr_assert_lt(at, count);
            cr_assert_eq(actions[at].kind, ASSIGNMENT_DROP);
            cr_assert_eq(actions[at++].tablet, tablet);
        }
    }
    cr_assert_eq(at, count);
}

struct heard {
    struct assignment_held copies[2 * NUMBERS];
    size_t count;
};

static bool hear(void *context, const struct assigned_tablet *assigned, uint64_t store)
{
    struct heard *heard = context;
    heard->copies[heard->count++] = (struct assignment_held){assigned->location.tablet, store, 0};
    return false;
}

/* Each copy of what is assigned, in the order in which they are held. */
static void assert_told(struct assignment_list *list,
                        const struct assignment_held *held,
                        size_t held_count,
                        const bool *assigned)
{
    struct heard heard = {.count = 0};
    size_t at = 0;
    assignment_tell(list, held, held_count, hear, &heard);
    for (size_t i = 0; i < held_count; i++) {
        if (assigned[held[i].tablet]) {
            cr_assert_lt(at, heard.count);
            cr_assert_eq(heard.copies[at].tablet, held[i].tablet);
            cr_assert_eq(heard.copies[at].store, held[i].store);
            at++;
        }
    }
    cr_assert_eq(at, heard.count);
}

Test(assignment_order, what_is_decided_and_told_is_the_same_in_any_order)
{
    prng = prng_of_seed(11);
    arena_init(&arena, 1 << 16, SIZE_MAX);
    for (int i = 0; i < 300; i++) {
        struct assignment_list *lists[2] = {NULL, NULL};
        struct assignment_action *actions[2] = {NULL, NULL};
        struct assignment_held held[2 * NUMBERS];
        struct assignment_held mixed[2 * NUMBERS];
        bool assigned[NUMBERS + 1] = {false};
        size_t count = draw_held(held);

        cr_assert_eq(assignment_list_create(&lists[0]), STATUS_OK);
        cr_assert_eq(assignment_list_create(&lists[1]), STATUS_OK);
        draw_assigned(lists, i % 2 == 0, assigned);
        memcpy(mixed, held, sizeof held);
        shuffle(mixed, count);
        size_t action_count = decide(lists[0], held, count, &actions[0]);
        cr_assert_eq(decide(lists[1], mixed, count, &actions[1]), action_count);
        assert_same_actions(actions[0], actions[1], action_count);
        if (i % 2 != 0) {
            assert_decided(actions[0], action_count, held, count, assigned);
        }
        assignment_list_destroy(lists[1]);
        assert_told(lists[0], held, count, assigned);
        assert_told(lists[0], mixed, count, assigned);
        assignment_held_sort(mixed, count);
        for (size_t j = 0; j < count; j++) {
            cr_assert_eq(mixed[j].tablet, held[j].tablet);
            cr_assert_eq(mixed[j].store, held[j].store);
        }
        assignment_list_destroy(lists[0]);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}
