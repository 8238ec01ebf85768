/* What an entry may say: as servers check it, whatever is in the table. */
#include <criterion/criterion.h>

#include "common/base/limits.h"
#include "gateway/methods/write/entry_check.h"

static const char *refusal(const struct edubba_mutation *mutations, size_t count, bool is_micros)
{
    static struct error error;
    const struct edubba_entry entry = {EDUBBA_TEXT("r"), mutations, count, NULL};
    error = (struct error){.status = STATUS_OK};
    enum status status = entry_check(&entry, is_micros, &error);
    cr_assert(status == STATUS_OK || status == STATUS_INVALID_ARGUMENT);
    return status == STATUS_OK ? "" : error.text;
}

Test(entry_check, keys)
{
    static uint8_t key[LIMIT_ROW_KEY_BYTES + 1];
    struct edubba_mutation mutation = edubba_delete_from_row();
    struct edubba_entry entry = {edubba_bytes_of(key, sizeof key - 1), &mutation, 1, NULL};
    cr_assert_eq(entry_check(&entry, false, NULL), STATUS_OK);
    entry.row.size++;
    cr_assert_eq(entry_check(&entry, false, NULL), STATUS_INVALID_ARGUMENT);
    entry.row.size = 0;
    cr_assert_eq(entry_check(&entry, false, NULL), STATUS_INVALID_ARGUMENT);
}

Test(entry_check, what_is_wrong_is_named_with_its_place)
{
    struct edubba_mutation list[] = {
        edubba_set_cell("f", EDUBBA_TEXT("q"), EDUBBA_NOW, EDUBBA_TEXT("v")),
        edubba_delete_from_column("f", EDUBBA_TEXT("q"), 1000, 0),
        edubba_set_cell("f", EDUBBA_TEXT("q"), 1001, EDUBBA_TEXT("v")),
    };
    cr_assert_str_eq(refusal(list, 2, false), "");
    cr_assert_str_eq(refusal(list, 3, true), "");
    cr_assert_str_eq(refusal(list, 3, false),
                     "Error in field 'Mutation list' : Error in element #2 : Timestamp granularity "
                     "mismatch. Expected a multiple of 1000 (millisecond granularity), but got "
                     "1001.");
    list[2] = edubba_add_int64("f", EDUBBA_TEXT("q"), -1, 1);
    cr_assert_not_null(strstr(refusal(list, 3, true), "must not be negative"));
    list[2] = edubba_delete_from_column("f", EDUBBA_TEXT("q"), 2000, 1000);
    cr_assert_not_null(strstr(refusal(list, 3, true), "'time_range'"));
    list[2] = edubba_delete_from_family("a:b");
    cr_assert_not_null(strstr(refusal(list, 3, true), "columnFamilies"));
}

/* Which inputs a family takes is asked elsewhere, of one that is known. */
Test(entry_check, inputs_are_left_to_their_family)
{
    const struct edubba_mutation list[] = {
        edubba_add_bytes("f", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
        edubba_add_int64("f", EDUBBA_TEXT("q"), 0, 1),
        edubba_merge_state("f", EDUBBA_TEXT("q"), 0, EDUBBA_TEXT("v")),
    };
    cr_assert_str_eq(refusal(list, 3, false), "");
}
