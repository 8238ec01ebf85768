/* Large pieces: aligned, kept up to a bound, given out again. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/memory_large.h"

Test(memory_large, pieces_are_aligned_and_whole)
{
    uint8_t *piece = memory_large_allocate();
    cr_assert_not_null(piece);
    cr_assert_eq((uintptr_t)piece % MEMORY_LARGE_BYTES, 0);
    memset(piece, 0xa5, MEMORY_LARGE_BYTES);
    memory_large_free(piece);
    memory_large_free(NULL);
}

Test(memory_large, what_is_kept_needs_no_memory_of_the_system)
{
    void *pieces[3];
    memory_large_keep(2 * MEMORY_LARGE_BYTES);
    for (int i = 0; i < 3; i++) {
        pieces[i] = memory_large_allocate();
        cr_assert_not_null(pieces[i]);
    }
    for (int i = 0; i < 3; i++) {
        memory_large_free(pieces[i]);
    }
    memory_fail_arm(0, 1);
    pieces[0] = memory_large_allocate();
    pieces[1] = memory_large_allocate();
    pieces[2] = memory_large_allocate(); /* the third was not kept */
    memory_fail_disarm();
    cr_assert_not_null(pieces[0]);
    cr_assert_not_null(pieces[1]);
    cr_assert_neq(pieces[0], pieces[1]);
    cr_assert_null(pieces[2]);
    memory_large_free(pieces[0]);
    memory_large_free(pieces[1]);
    memory_large_keep(MEMORY_LARGE_BYTES);
    memory_fail_arm(0, 1);
    pieces[0] = memory_large_allocate();
    pieces[1] = memory_large_allocate();
    memory_fail_disarm();
    cr_assert_not_null(pieces[0]);
    cr_assert_null(pieces[1]);
    memory_large_free(pieces[0]);
    memory_large_keep(0);
}
