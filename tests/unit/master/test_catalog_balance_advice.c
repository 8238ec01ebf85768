/* What a table is advised about goes on over the splits of its tablets. */
#include "tests/support/catalog_load.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

static struct advise_response advice(void)
{
    struct buffer body = BUFFER_INIT;
    struct advise_response response;
    advise_request_encode(&(struct advise_request){bytes_of_text("t")}, &body);
    uint64_t request = driver_send(&driver, METHOD_ADVISE, &body);
    cr_assert_eq(
        advise_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* A table of which only the end is written to, and which has been split ahead of that. */
static void split_ahead(void)
{
    make_table(1);
    spread_load(10, 60);
    appended_permille = 990;
    for (int i = 0; i < 15 && count_tablets() == 1; i++) {
        second();
    }
    cr_assert_eq(count_tablets(), 2);
}

Test(catalog_balance, what_was_known_of_a_tablet_is_advised_about_after_its_split)
{
    split_ahead();
    cr_assert_eq(advice().findings[0].kind, ADVICE_MONOTONIC);
}

Test(catalog_balance, a_writer_that_has_gone_on_into_the_next_tablet_is_still_one)
{
    split_ahead();
    second();
    loads[0] = (struct row_load){"b00", 30}; /* behind the cut */
    loads[1] = (struct row_load){"b01", 30};
    load_count = 2;
    for (int i = 0; i < 8; i++) {
        second();
        struct advise_response response = advice();
        cr_assert_eq(response.findings[0].kind, ADVICE_MONOTONIC, "%d seconds", i + 1);
        cr_assert_eq(response.findings[0].share_permille, 1000, "%u, %d seconds after it went on",
                     response.findings[0].share_permille, i + 1);
        cr_assert_gt(bytes_compare(response.findings[0].range.start, bytes_of_text("a09")), 0,
                     "%d seconds", i + 1);
    }
}
