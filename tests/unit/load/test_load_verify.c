/* What --verify says of whole answers: rows that are right by themselves, and stand in another's place. */
#include <criterion/criterion.h>

#include <string.h>

#include "client/load/run.h"

enum {
    BYTES = 100,
    ASKED = 4,
    OTHER = 9
};

static uint8_t pool[2 * LOAD_VALUE_POOL_BYTES];
static struct load_field field;
static struct load_options options = {
    .fields = 1, .value_bytes = BYTES, .verify = true, .hosts = 1};
static struct load_tally tallies[LOAD_KINDS];
static struct load_run run = {.options = &options, .keys = LOAD_KEY_HASHED, .fields = &field};
static struct load_client client = {.run = &run, .tallies = tallies};
static struct load_slot slot = {.client = &client};

struct load_tally *load_slot_tally(const struct load_slot *of)
{
    return &of->client->tallies[of->kind];
}

static void start(void)
{
    load_value_pool_fill(pool);
    load_fields_make(LOAD_KEY_HASHED, &field, 1);
    run.shape = (struct load_shape){pool, &field, BYTES};
    pthread_mutex_init(&run.lock, NULL);
}

TestSuite(load_verify, .init = start, .timeout = 600);

/* The row of that number, as it was written. */
static const struct edubba_row *row_of(uint64_t number)
{
    static uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    static uint8_t value[BYTES];
    static struct edubba_cell cell;
    static struct edubba_row row;
    size_t size = load_row_key(LOAD_KEY_HASHED, 1, number, key);
    load_value_make(pool, load_value_key_hash(key, size), field.hash, 5, value, BYTES);
    cell = (struct edubba_cell){.family = EDUBBA_TEXT(LOAD_FAMILY),
                                .qualifier = edubba_bytes_of(field.name, field.size),
                                .value = edubba_bytes_of(value, BYTES)};
    row = (struct edubba_row){edubba_bytes_of(key, size), &cell, 1};
    return &row;
}

Test(load_verify, the_row_that_was_asked_for_is_right)
{
    load_slot_take_row(&slot, ASKED, row_of(ASKED));
    cr_assert(tallies[LOAD_READ].checked == 1 && tallies[LOAD_READ].wrong == 0);
    cr_assert_str_eq(run.first_wrong, "");
}

Test(load_verify, another_row_is_wrong_though_its_values_are_its_own)
{
    load_slot_take_row(&slot, ASKED, row_of(OTHER));
    cr_assert(tallies[LOAD_READ].checked == 2 && tallies[LOAD_READ].wrong == 1);
    cr_assert_not_null(strstr(run.first_wrong, " came, asked for was row user"));
}

Test(load_verify, a_row_that_a_scan_has_twice_is_wrong)
{
    slot.kind = LOAD_SCAN;
    slot.scan_end = EDUBBA_TEXT("uses");
    load_row_place_begin(&slot.scan_place, (const uint8_t *)"user", 4);
    cr_assert(load_slot_take_scanned(&slot, row_of(ASKED)));
    cr_assert_eq(tallies[LOAD_SCAN].wrong, 0);
    cr_assert_not(load_slot_take_scanned(&slot, row_of(ASKED)));
    cr_assert_eq(tallies[LOAD_SCAN].wrong, 1);
    cr_assert_not_null(strstr(run.first_wrong, "came in a scan behind row user"));
    options.verify = false; /* it stands for no row all the same, but nothing is told */
    cr_assert_not(load_slot_take_scanned(&slot, row_of(ASKED)));
    cr_assert_eq(tallies[LOAD_SCAN].wrong, 1);
    cr_assert_eq(tallies[LOAD_SCAN].rows, 3);
}
