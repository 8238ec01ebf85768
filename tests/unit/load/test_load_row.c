/* Whether a row that was read is what edubba-load writes: cells, their sizes, their values. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "client/load/core/row_check.h"

enum {
    FIELDS = 12,
    BYTES = 100
};

static uint8_t pool[2 * LOAD_VALUE_POOL_BYTES];
static struct load_field fields[FIELDS];
static struct load_shape shape = {pool, fields, BYTES};
static const uint8_t KEY[] = "user17";
static char text[LOAD_FAULT_BYTES];

static void start(void)
{
    load_value_pool_fill(pool);
    load_fields_make(LOAD_KEY_HASHED, fields, FIELDS);
}

TestSuite(load_row, .init = start, .timeout = 600);

static struct load_row_check begin(uint64_t count)
{
    return load_row_check_begin(&shape, count, KEY, sizeof KEY - 1);
}

/* The cell of field i as it is written, of so many bytes, in a version of its own. */
static void take(struct load_row_check *check, uint64_t i, size_t size)
{
    uint8_t value[2 * BYTES];
    load_value_make(pool, load_value_key_hash(KEY, sizeof KEY - 1), fields[i].hash, 1000 + i, value,
                    size);
    load_row_check_cell(check, (const uint8_t *)fields[i].name, fields[i].size, value, size);
}

static const char *end(struct load_row_check *check)
{
    load_row_check_end(check);
    load_row_check_text(check, KEY, sizeof KEY - 1, text);
    return text;
}

Test(load_row, fields_are_in_the_order_of_cells)
{
    cr_assert_str_eq(fields[1].name, "field1");
    cr_assert_str_eq(fields[2].name, "field10");
    cr_assert_str_eq(fields[4].name, "field2");
    load_fields_make(LOAD_KEY_SERIES, fields, FIELDS);
    for (int i = 1; i < FIELDS; i++) {
        cr_assert(strcmp(fields[i - 1].name, fields[i].name) < 0, "%s", fields[i].name);
    }
}

Test(load_row, a_row_as_it_was_written_is_right)
{
    struct load_row_check check = begin(FIELDS);
    for (uint64_t i = 0; i < FIELDS; i++) {
        take(&check, i, BYTES);
    }
    (void)end(&check);
    cr_assert(check.checked == FIELDS && check.wrong == 0 && check.fault == LOAD_RIGHT);
    check = begin(1); /* --one-field */
    take(&check, 0, BYTES);
    (void)end(&check);
    cr_assert(check.checked == 1 && check.wrong == 0);
}

Test(load_row, each_cell_that_is_not_there_is_wrong)
{
    for (uint64_t lacking = 0; lacking < FIELDS; lacking++) {
        char wanted[128];
        struct load_row_check check = begin(FIELDS);
        for (uint64_t i = 0; i < FIELDS; i++) {
            if (i != lacking) {
                take(&check, i, BYTES);
            }
        }
        (void)snprintf(wanted, sizeof wanted,
                       "row user17, column %s: not there, expected 100 bytes",
                       fields[lacking].name);
        cr_assert_str_eq(end(&check), wanted);
        cr_assert(check.checked == FIELDS && check.wrong == 1);
    }
    struct load_row_check check = begin(FIELDS);
    (void)end(&check);
    cr_assert(check.checked == FIELDS && check.wrong == FIELDS);
}

Test(load_row, a_value_of_another_size_is_wrong_even_where_it_was_written_so)
{
    struct load_row_check check = begin(2);
    take(&check, 0, BYTES);
    take(&check, 1, BYTES + 1);
    cr_assert_str_eq(end(&check), "row user17, column field1: 101 bytes, expected 100");
    cr_assert(check.checked == 2 && check.wrong == 1);
    check = begin(1);
    take(&check, 0, 0);
    cr_assert_str_eq(end(&check), "row user17, column field0: 0 bytes, expected 100");
}

Test(load_row, a_value_that_was_not_written_there_is_wrong)
{
    uint8_t value[BYTES] = {0};
    struct load_row_check check = begin(1);
    load_row_check_cell(&check, (const uint8_t *)"field0", 6, value, sizeof value);
    cr_assert_str_eq(end(&check),
                     "row user17, column field0: 100 bytes that were never written there");
    cr_assert(check.checked == 1 && check.wrong == 1);
}

Test(load_row, what_no_load_writes_is_wrong)
{
    static const char *const STRANGE[] = {"a", "field", "field00", "field\x01", "zzz"};
    for (size_t i = 0; i < sizeof STRANGE / sizeof STRANGE[0]; i++) {
        bool first = strcmp(STRANGE[i], fields[0].name) < 0;
        struct load_row_check check = begin(1);
        if (!first) {
            take(&check, 0, BYTES);
        }
        load_row_check_cell(&check, (const uint8_t *)STRANGE[i], strlen(STRANGE[i]), KEY, 1);
        if (first) {
            take(&check, 0, BYTES);
        }
        cr_assert(strstr(end(&check), "there, expected are 1 other columns") != NULL, "%s", text);
        cr_assert(check.checked == 2 && check.wrong == 1, "%s", STRANGE[i]);
    }
    struct load_row_check check = begin(1); /* one more version */
    take(&check, 0, BYTES);
    take(&check, 0, BYTES);
    (void)end(&check);
    cr_assert(check.checked == 2 && check.wrong == 1 && check.fault == LOAD_CELL_UNEXPECTED);
    check = begin(1);
    take(&check, 0, BYTES);
    load_row_check_stranger(&check, (const uint8_t *)"n", 1);
    (void)end(&check);
    cr_assert(check.wrong == 1 && check.fault == LOAD_CELL_UNEXPECTED);
}

Test(load_row, whatever_the_names_are_what_is_told_is_plain_and_fits)
{
    uint8_t name[4000];
    memset(name, 0xff, sizeof name);
    struct load_row_check check = begin(0);
    load_row_check_stranger(&check, name, sizeof name);
    load_row_check_text(&check, name, sizeof name, text);
    cr_assert(strlen(text) < LOAD_FAULT_BYTES && strstr(text, "there, expected are 0") != NULL);
    for (const char *at = text; *at != '\0'; at++) {
        cr_assert(*at >= ' ' && *at <= '~');
    }
}
