#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/prng.h"
#include "gateway/core/server_text.h"

#define FULL "projects/p/instances/i/tables/T"

static const char *renamed(const char *text, const char *table)
{
    static char out[SERVER_TEXT_SIZE_MAX];
    server_text_rename(text, table, FULL, out);
    return out;
}

Test(server_text, the_caller_reads_its_own_name)
{
    cr_assert_str_eq(
        renamed("Error while mutating the row 'r' (T) : Column family type mismatch", "T"),
        "Error while mutating the row 'r' (" FULL ") : Column family type mismatch");
    cr_assert_str_eq(renamed("Error while mutating the row 'r' (p/i/T) : x", "p/i/T"),
                     "Error while mutating the row 'r' (" FULL ") : x");
    cr_assert_str_eq(
        renamed("Error while reading table 'T' : Requested column family not found", "T"),
        "Error while reading table '" FULL "' : Requested column family not found");
    cr_assert_str_eq(renamed("the deadline of 5 ms has passed", "T"),
                     "the deadline of 5 ms has passed");
}

Test(server_text, so_it_does_where_a_master_speaks)
{
    char name[242];
    char text[512];
    char printed[BYTES_PRINTABLE_SIZE_MAX];
    cr_assert_str_eq(renamed("column family 'T' of table 'T' already exists", "T"),
                     "column family 'T' of table '" FULL "' already exists");
    cr_assert_str_eq(renamed("table 'p/i/T' has deletion protection: turn it off first", "p/i/T"),
                     "table '" FULL "' has deletion protection: turn it off first");
    cr_assert_str_eq(renamed("table 'p/i/TT' is another", "p/i/T"), "table 'p/i/TT' is another");
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(text, sizeof text, "table '%s' exists", name);
    cr_assert_str_eq(renamed(text, name), "table '" FULL "' exists");
    (void)snprintf(text, sizeof text, "table '%s' exists",
                   bytes_printable(bytes_of_text(name), printed));
    cr_assert_str_eq(renamed(text, name), "table '" FULL "' exists");
}

Test(server_text, a_row_may_look_like_what_follows_it)
{
    cr_assert_str_eq(renamed("Error while mutating the row 'r' (T) : ' (T) : x", "T"),
                     "Error while mutating the row 'r' (T) : ' (" FULL ") : x");
    cr_assert_str_eq(renamed("Error while mutating the row 'T' (U) : x", "T"),
                     "Error while mutating the row 'T' (U) : x");
}

Test(server_text, a_name_that_servers_cut_is_found)
{
    char name[242];
    char text[512];
    char printed[BYTES_PRINTABLE_SIZE_MAX];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)bytes_printable(bytes_of_text(name), printed);
    (void)snprintf(text, sizeof text, "Error while mutating the row 'r' (%s) : x", printed);
    cr_assert_str_eq(renamed(text, name), "Error while mutating the row 'r' (" FULL ") : x");
}

Test(server_text, a_text_without_end_is_cut)
{
    char text[3000] = "Error while mutating the row 'r' (T) : ";
    size_t begin = strlen(text);
    memset(text + begin, 'x', sizeof text - begin - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(strlen(renamed(text, "T")), SERVER_TEXT_SIZE_MAX - 1);
}

Test(server_text, tables_and_families_are_told_apart)
{
    cr_assert(server_text_is_of_table(EDUBBA_NOT_FOUND, "table 'T' was not found"));
    cr_assert_not(server_text_is_of_table(EDUBBA_UNAVAILABLE, "table 'T' was not found"));
    cr_assert_not(server_text_is_of_table(
        EDUBBA_NOT_FOUND,
        "Error while mutating the row 'r' (T) : Requested column family not found: 'f'"));
    cr_assert_not(server_text_is_of_table(
        EDUBBA_NOT_FOUND, "Error while reading table 'T' : Requested column family not found"));
}

Test(server_text, what_tells_of_a_newer_schema)
{
    const char
        *missing = "Error while mutating the row 'r' (T) : Requested column family not found: 'f'";
    const char *type = "Error while mutating the row 'r' (T) : Column family type mismatch";
    cr_assert(server_text_is_of_family(EDUBBA_NOT_FOUND, missing));
    cr_assert(server_text_is_of_family(EDUBBA_INVALID_ARGUMENT, type));
    cr_assert_not(server_text_is_of_family(EDUBBA_INVALID_ARGUMENT, missing));
    cr_assert_not(server_text_is_of_family(EDUBBA_NOT_FOUND, "table 'T' was not found"));
    cr_assert_not(server_text_is_of_family(EDUBBA_INVALID_ARGUMENT, "Row keys must be non-empty"));
}

Test(server_text, what_may_pass_is_tried_again)
{
    cr_assert_eq(server_text_code(EDUBBA_RESOURCE_EXHAUSTED), EDUBBA_UNAVAILABLE);
    cr_assert_eq(server_text_code(EDUBBA_INVALID_ARGUMENT), EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(server_text_code(EDUBBA_DATA_LOSS), EDUBBA_DATA_LOSS);
}

/* As a tablet server says it. */
static void say_large(struct bytes key, char text[512])
{
    char printed[BYTES_PRINTABLE_SIZE_MAX];
    (void)snprintf(text, 512,
                   "LargeRowReadError: row '%s' is larger than 256 MiB; read it with a filter",
                   bytes_printable(key, printed));
}

Test(server_text, the_key_of_a_large_row_is_exact_or_not_told)
{
    struct prng prng = prng_of_seed(9);
    uint64_t told = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t key[120];
        uint8_t found[LIMIT_ROW_KEY_BYTES];
        char text[512];
        size_t size = 1 + prng_below(&prng, sizeof key);
        size_t found_size = 0;
        bool is_text = prng_chance(&prng, 2);
        for (size_t i = 0; i < size; i++) {
            static const char some[] = "ab.\\'x5c is larger than ";
            key[i] = is_text ? (uint8_t)some[prng_below(&prng, sizeof some - 1)]
                             : (uint8_t)prng_next(&prng);
        }
        say_large(bytes_of(key, size), text);
        cr_assert(server_text_is_large_row(EDUBBA_FAILED_PRECONDITION, text));
        if (server_text_large_row(text, found, &found_size)) {
            cr_assert(bytes_equal(bytes_of(key, size), bytes_of(found, found_size)), "%s", text);
            told++;
        } else {
            cr_assert_gt(size, 20, "%s", text);
        }
    }
    cr_assert_gt(told, 5000);
}

Test(server_text, other_texts_have_no_large_row)
{
    uint8_t found[LIMIT_ROW_KEY_BYTES];
    size_t size = 0;
    cr_assert_not(server_text_is_large_row(EDUBBA_FAILED_PRECONDITION, "protected"));
    cr_assert_not(server_text_large_row("", found, &size));
    cr_assert_not(server_text_large_row("LargeRowReadError: row '", found, &size));
    cr_assert_not(
        server_text_large_row("LargeRowReadError: row '\\x' is larger than 1", found, &size));
}
