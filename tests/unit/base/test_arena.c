/* Arenas with a first block that is lent: used first, left alone, and not in the way of what follows. */
#include <criterion/criterion.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/memory.h"

#define LENT_BYTES 512

struct lent {
    alignas(max_align_t) uint8_t memory[LENT_BYTES];
};

static bool is_inside(const struct lent *lent, const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer;
    return at >= (uintptr_t)lent->memory && at < (uintptr_t)lent->memory + LENT_BYTES;
}

Test(arena, what_is_lent_is_used_first_and_needs_no_memory)
{
    struct arena arena;
    struct lent lent;
    arena_init(&arena, 4096, SIZE_MAX);
    arena_lend(&arena, lent.memory, sizeof lent.memory);
    memory_fail_arm(0, 1);
    void *first = arena_allocate(&arena, 100);
    void *second = arena_allocate(&arena, 300);
    void *third = arena_allocate(&arena, 100); /* the block's header takes some of it */
    memory_fail_disarm();
    cr_assert(is_inside(&lent, first));
    cr_assert(is_inside(&lent, second));
    cr_assert_eq((uintptr_t)second % alignof(max_align_t), 0);
    cr_assert_null(third);
    arena_deinit(&arena); /* a sanitizer sees it if that frees what is lent */
}

Test(arena, grows_behind_what_is_lent)
{
    struct arena arena;
    struct lent lent;
    arena_init(&arena, 4096, SIZE_MAX);
    arena_lend(&arena, lent.memory, sizeof lent.memory);
    uint8_t *small = arena_allocate(&arena, 16);
    memset(small, 7, 16);
    for (size_t size = 1; size < 20000; size = size * 3) {
        uint8_t *piece = arena_allocate(&arena, size);
        cr_assert_not_null(piece);
        memset(piece, 8, size);
    }
    for (size_t i = 0; i < 16; i++) {
        cr_assert_eq(small[i], 7);
    }
    arena_reset(&arena);
    cr_assert_not_null(arena_allocate(&arena, 16));
    arena_deinit(&arena);
}

Test(arena, what_is_lent_stays_after_a_reset)
{
    struct arena arena;
    struct lent lent;
    arena_init(&arena, 64, SIZE_MAX); /* smaller than what is lent */
    arena_lend(&arena, lent.memory, sizeof lent.memory);
    void *first = arena_allocate(&arena, 100);
    arena_reset(&arena);
    cr_assert_eq(arena_allocate(&arena, 100), first);
    arena_deinit(&arena);
}

Test(arena, the_limit_counts_what_is_lent)
{
    struct arena arena;
    struct lent lent;
    arena_init(&arena, 4096, 200);
    arena_lend(&arena, lent.memory, sizeof lent.memory);
    cr_assert_not_null(arena_allocate(&arena, 160));
    cr_assert_null(arena_allocate(&arena, 160));
    arena_deinit(&arena);
}

Test(arena, less_than_a_header_is_nothing_lent)
{
    struct arena arena;
    struct lent lent;
    arena_init(&arena, 4096, SIZE_MAX);
    arena_lend(&arena, lent.memory, 8);
    void *piece = arena_allocate(&arena, 8);
    cr_assert_not_null(piece);
    cr_assert(!is_inside(&lent, piece));
    arena_deinit(&arena);
}
