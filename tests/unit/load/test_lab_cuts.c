/* Where a table is cut before it is filled. */
#include "client/load/lab/core/cuts.h"
#include "tests/support/lab_table.h"

Test(lab_cuts, the_history_lies_in_equal_parts)
{
    static struct lab_cut cuts[LAB_CUTS_MAX];
    struct model_row *rows = calloc(MODEL_ROWS, sizeof *rows);
    for (size_t i = 0; i < LAB_BATTERY.variant_count; i++) {
        const struct lab_variant *variant = &LAB_BATTERY.variants[i];
        size_t count = 0;
        cr_assert(lab_cuts_make(&LAB_BATTERY, variant, &WORLD, 8, cuts, &count));
        cr_assert_eq(count, 7);
        size_t all = fill(&LAB_BATTERY, variant, rows);
        for (size_t j = 0; j < count; j++) {
            struct edubba_bytes cut = edubba_bytes_of(cuts[j].key, cuts[j].size);
            size_t below = 0;
            for (size_t k = 0; k < all; k++) {
                below += compare_bytes(edubba_bytes_of(rows[k].row.key, rows[k].row.key_size),
                                       cut) < 0
                             ? 1
                             : 0;
            }
            cr_assert_eq(below, all * (j + 1) / 8);
        }
    }
    free(rows);
}

Test(lab_cuts, few_rows_are_cut_into_few)
{
    static struct lab_cut cuts[LAB_CUTS_MAX];
    size_t count = 0;
    cr_assert(lab_cuts_make(&LAB_GARDEN, variant_of(&LAB_GARDEN, "versions"), &WORLD, 1000, cuts,
                            &count));
    cr_assert_eq(count, 19); /* 20 gardens */
    cr_assert(
        lab_cuts_make(&LAB_GARDEN, variant_of(&LAB_GARDEN, "versions"), &WORLD, 1, cuts, &count));
    cr_assert_eq(count, 0);
}
