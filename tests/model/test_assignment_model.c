/*
 * Assignments against a world by seed: a master that creates, splits and deletes, answers that come
 * late, servers that restart and lose their lists, actions that are carried out or not.
 *
 * Promised: nothing is created that was once here; nothing is dropped that the master did not
 * remove, nor while a child must still be cut from it; a split names both children, in order, of a
 * parent that is here; and in the end, all is as the master wants it.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/prng.h"
#include "tabletserver/tablet/assignment.h"

#define SERVER  5
#define TABLETS 400
#define STEPS   3000

/* A tablet as the world has it.  Its range is [number(start), number(end)). */
struct tablet {
    bool exists;  /* in the catalog */
    bool removed; /* from it */
    bool held;
    bool was_held;
    uint32_t start;
    uint32_t end;
    uint64_t parent;
    uint64_t table;   /* that of whom it came of, or its own: no two of one table overlap */
    uint64_t version; /* of the catalog, when it last changed */
    enum tablet_state state;
};

struct world {
    struct prng prng;
    struct tablet tablets[TABLETS + 1]; /* by number */
    uint64_t count;
    uint64_t version;
    uint64_t known; /* by the server */
    struct assignment_list *list;
};

static struct bytes key_of(uint32_t key)
{
    static char texts[100002][16];
    if (key == 0 || key == 100000) {
        return BYTES_EMPTY;
    }
    (void)snprintf(texts[key], sizeof texts[key], "%05u", key);
    return bytes_of_text(texts[key]);
}

static uint64_t add_tablet(struct world *world, uint32_t start, uint32_t end, uint64_t parent)
{
    uint64_t number = ++world->count;
    world->tablets[number] = (struct tablet){
        .exists = true,
        .start = start,
        .end = end,
        .parent = parent,
        .table = parent == 0 ? number : world->tablets[parent].table,
        .version = world->version,
        .state = parent == 0 ? TABLET_CREATING : TABLET_SPLITTING};
    return number;
}

/* --- the master --------------------------------------------------------------------------------- */

static void change_catalog(struct world *world)
{
    world->version += 1;
    uint64_t number = world->count > 0 ? 1 + prng_below(&world->prng, world->count) : 0;
    struct tablet *tablet = &world->tablets[number];
    bool serving = number > 0 && tablet->exists && tablet->state == TABLET_SERVING;
    uint64_t choice = prng_below(&world->prng, 10);

    if (choice < 3 && world->count < TABLETS) {
        (void)add_tablet(world, 0, 100000, 0);
    } else if (choice < 8 && serving && world->count + 2 <= TABLETS &&
               tablet->end - tablet->start > 2) {
        uint32_t cut = tablet->start + 1 +
                       (uint32_t)prng_below(&world->prng, tablet->end - tablet->start - 1);
        tablet->exists = false;
        tablet->removed = true;
        tablet->version = world->version;
        /* Numbers say nothing about which is left. */
        bool swapped = prng_below(&world->prng, 2) == 0;
        (void)add_tablet(world, swapped ? cut : tablet->start, swapped ? tablet->end : cut, number);
        (void)add_tablet(world, swapped ? tablet->start : cut, swapped ? cut : tablet->end, number);
    } else if (choice == 8 && serving) {
        tablet->exists = false;
        tablet->removed = true;
        tablet->version = world->version;
    }
}

/* The server said what it holds. */
static void take_report(struct world *world)
{
    world->version += 1;
    for (uint64_t i = 1; i <= world->count; i++) {
        struct tablet *tablet = &world->tablets[i];
        if (tablet->held && tablet->exists && tablet->state != TABLET_SERVING) {
            tablet->state = TABLET_SERVING;
            tablet->version = world->version;
        }
    }
}

/* --- the server --------------------------------------------------------------------------------- */

static void take_answer(struct world *world)
{
    for (uint64_t i = 1; i <= world->count; i++) {
        const struct tablet *tablet = &world->tablets[i];
        if (tablet->version <= world->known) {
            continue;
        }
        struct assigned_tablet assigned = {
            .location = {.tablet = i,
                         .table = tablet->table,
                         .server = tablet->removed ? 0 : SERVER,
                         .range = {key_of(tablet->start), key_of(tablet->end)},
                         .state = tablet->state},
            .store = 3,
            .parent = tablet->parent,
            .removed = tablet->removed,
        };
        cr_assert_eq(assignment_list_note(world->list, SERVER, &assigned), STATUS_OK);
    }
    world->known = world->version;
}

static void check_action(struct world *world, const struct assignment_action *action)
{
    struct tablet *tablet = &world->tablets[action->tablet];
    switch (action->kind) {
    case ASSIGNMENT_CREATE:
        cr_assert_not(tablet->was_held, "created anew: %llu", (unsigned long long)action->tablet);
        cr_assert_eq(tablet->parent, 0);
        break;
    case ASSIGNMENT_SPLIT:
        cr_assert(tablet->held);
        cr_assert_eq(world->tablets[action->left].parent, action->tablet);
        cr_assert_eq(world->tablets[action->right].parent, action->tablet);
        cr_assert_eq(world->tablets[action->left].end, world->tablets[action->right].start);
        cr_assert_not(world->tablets[action->left].held);
        cr_assert_not(world->tablets[action->right].held);
        break;
    case ASSIGNMENT_DROP:
        cr_assert(tablet->held);
        cr_assert(tablet->removed);
        for (uint64_t i = 1; i <= world->count; i++) {
            cr_assert_not(world->tablets[i].parent == action->tablet && world->tablets[i].exists &&
                              !world->tablets[i].was_held,
                          "a child was still to be cut from it");
        }
        break;
    case ASSIGNMENT_CONVERT:
        cr_assert_fail("%llu has no replica", (unsigned long long)action->tablet);
    case ASSIGNMENT_MISSING:
        cr_assert_fail("%llu is not missing", (unsigned long long)action->tablet);
    }
}

static void hold(struct tablet *tablet)
{
    tablet->held = true;
    tablet->was_held = true;
}

static void carry_out(struct world *world, const struct assignment_action *action)
{
    struct tablet *tablet = &world->tablets[action->tablet];
    switch (action->kind) {
    case ASSIGNMENT_CREATE:
        hold(tablet);
        break;
    case ASSIGNMENT_SPLIT:
        tablet->held = false;
        hold(&world->tablets[action->left]);
        hold(&world->tablets[action->right]);
        break;
    case ASSIGNMENT_DROP:
        tablet->held = false;
        break;
    case ASSIGNMENT_CONVERT:
    case ASSIGNMENT_MISSING:
        break;
    }
}

static size_t decide(struct world *world, uint64_t carry_out_percent)
{
    struct assignment_held held[TABLETS];
    struct assignment_action *actions = NULL;
    size_t held_count = 0;
    size_t action_count = 0;
    struct arena arena;

    arena_init(&arena, 4096, SIZE_MAX);
    for (uint64_t i = world->count; i > 0; i--) {
        if (world->tablets[i].held) {
            held[held_count++] = (struct assignment_held){i, 3};
        }
    }
    cr_assert_eq(assignment_decide(world->list, held, held_count, &arena, &actions, &action_count),
                 STATUS_OK);
    for (size_t i = 0; i < action_count; i++) {
        check_action(world, &actions[i]);
    }
    for (size_t i = 0; i < action_count; i++) {
        if (prng_below(&world->prng, 100) < carry_out_percent) {
            carry_out(world, &actions[i]);
        }
    }
    arena_deinit(&arena);
    return action_count;
}

static void check_settled(struct world *world)
{
    while (decide(world, 100) > 0) {
        take_report(world);
        take_answer(world);
    }
    for (uint64_t i = 1; i <= world->count; i++) {
        const struct tablet *tablet = &world->tablets[i];
        cr_assert_eq(tablet->held, tablet->exists, "%llu", (unsigned long long)i);
    }
}

static void run_world(uint64_t seed)
{
    static struct world world;
    world = (struct world){.prng = {seed}, .version = 1};
    cr_assert_eq(assignment_list_create(&world.list), STATUS_OK);
    for (int i = 0; i < STEPS; i++) {
        uint64_t choice = prng_below(&world.prng, 100);
        if (choice < 20) {
            change_catalog(&world);
        } else if (choice < 40) {
            take_report(&world);
        } else if (choice < 60) {
            take_answer(&world);
        } else if (choice == 60) {
            assignment_list_clear(world.list); /* a restart */
            world.known = 0;
        } else {
            (void)decide(&world, 50);
        }
    }
    take_report(&world);
    take_answer(&world);
    check_settled(&world);
    assignment_list_destroy(world.list);
}

Test(assignment_model, keeps_its_promises_in_many_worlds)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        run_world(seed);
    }
}
