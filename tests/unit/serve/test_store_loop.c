/* What a store loop does with what its store has for it. */
#include "tabletserver/serve/loop/store_loop_state.h"

#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/store_fixture.h"

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
}

static void teardown(void)
{
    fixture_deinit(&fixture);
}

TestSuite(store_loop, .init = setup, .fini = teardown);

/* A master that has it made here, to be taught, comes between the merge and the host: it had two replicas. */
Test(store_loop, what_was_merged_is_left_to_the_host)
{
    struct store_loop loop = {.store = fixture.store, .replicas = (struct replicas *)&fixture};
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    tablet->was_merged = true;
    cr_assert_eq(store_loop_add_tablet(&loop, tablet), STATUS_OK);
    cr_assert_null(store_tablet_replica(tablet));
    cr_assert_null(store_tablet_context(tablet));
}
