#include <stdio.h>

#include <criterion/criterion.h>

#include "client/cli/words.h"
#include "client/operations/convert.h"

Test(words, a_list_of_columns_is_a_filter_of_all_of_them)
{
    enum {
        COLUMNS = 300
    };
    char list[COLUMNS * 8] = "";
    size_t used = 0;
    bool good = false;
    for (int i = 0; i < COLUMNS; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%sf:c%d", i > 0 ? "," : "", i);
    }
    struct edubba_filter *filter = word_columns_filter(list, &good);
    cr_assert(good);
    const struct filter *tree = convert_filter(filter);
    cr_assert_eq(tree->kind, FILTER_INTERLEAVE);
    cr_assert_eq(tree->child_count, COLUMNS, "%zu", (size_t)tree->child_count);
    const struct filter *last = &tree->children[COLUMNS - 1];
    cr_assert_eq(last->kind, FILTER_COLUMN_RANGE);
    cr_assert(bytes_equal(last->start.bytes, bytes_of_text("c299")));
    edubba_filter_free(filter);
}

Test(words, a_column_a_family_and_a_column_of_any_family)
{
    static const struct {
        const char *list;
        enum filter_kind kind;
    } cases[] = {
        {"f:a", FILTER_COLUMN_RANGE},
        {"f:", FILTER_FAMILY_REGEX},
        {":a", FILTER_QUALIFIER_REGEX},
        {"a", FILTER_QUALIFIER_REGEX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char list[16];
        bool good = false;
        (void)snprintf(list, sizeof list, "%s", cases[i].list);
        struct edubba_filter *filter = word_columns_filter(list, &good);
        cr_assert(good, "%s", cases[i].list);
        cr_assert_eq(convert_filter(filter)->kind, cases[i].kind, "%s", cases[i].list);
        edubba_filter_free(filter);
    }
}

Test(words, a_list_of_no_columns_is_bad)
{
    char list[] = "";
    bool good = true;
    cr_assert_null(word_columns_filter(list, &good));
    cr_assert_not(good);
}
