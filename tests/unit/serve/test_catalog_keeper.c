/* Notes of the catalog's version, on a disk that hangs and then goes on. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/clock.h"
#include "tabletserver/serve/sync/catalog_keeper.h"
#include "tests/support/test_folder.h"

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER; /* held: the disk hangs */

enum status __real_store_catalog_note(struct store_catalog *catalog,
                                      const struct store_catalog_mark *mark,
                                      struct error *ret_error);
enum status __wrap_store_catalog_note(struct store_catalog *catalog,
                                      const struct store_catalog_mark *mark,
                                      struct error *ret_error);

enum status __wrap_store_catalog_note(struct store_catalog *catalog,
                                      const struct store_catalog_mark *mark,
                                      struct error *ret_error)
{
    pthread_mutex_lock(&disk);
    enum status status = __real_store_catalog_note(catalog, mark, ret_error);
    pthread_mutex_unlock(&disk);
    return status;
}

static char folder[256];
static struct store_catalog catalog;
static struct catalog_keeper *keeper;
static struct error error;

static enum status note(uint64_t version)
{
    return catalog_keeper_note(keeper, &(struct store_catalog_mark){7, version}, &error);
}

static void start(void)
{
    test_folder_make(folder, sizeof folder, "catalog_keeper");
    cr_assert_eq(store_catalog_open(folder, &catalog, &error), STATUS_OK);
    cr_assert_eq(catalog_keeper_create(&catalog, &keeper), STATUS_OK);
}

static void stop(void)
{
    char command[300];
    catalog_keeper_destroy(keeper);
    store_catalog_close(&catalog);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(catalog_keeper, .init = start, .fini = stop, .timeout = 600);

Test(catalog_keeper, what_is_noted_is_on_the_disk)
{
    struct store_catalog again;
    cr_assert_eq(note(1), STATUS_OK);
    cr_assert_eq(note(3), STATUS_OK);
    cr_assert_eq(note(2), STATUS_OK, "it is known");
    cr_assert_eq(catalog.mark.version, 3);
    cr_assert_eq(store_catalog_open(folder, &again, &error), STATUS_OK);
    cr_assert_eq(again.mark.generation, 7);
    cr_assert_eq(again.mark.version, 3);
    store_catalog_close(&again);
}

Test(catalog_keeper, a_disk_that_hangs_is_waited_for_once)
{
    cr_assert_eq(note(1), STATUS_OK);
    pthread_mutex_lock(&disk);
    cr_assert_eq(note(2), STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(error.text, folder), "%s", error.text);
    int64_t begun_ns = clock_monotonic_ns();
    for (uint64_t version = 3; version < 1000; version++) {
        cr_assert_eq(note(version), STATUS_UNAVAILABLE);
    }
    cr_assert_lt(clock_monotonic_ns() - begun_ns, 100 * CATALOG_KEEPER_PATIENCE_NS);
    cr_assert_eq(catalog.mark.version, 1, "as it was");
    pthread_mutex_unlock(&disk);
    while (note(1000) != STATUS_OK) {
        clock_sleep_us(1000);
    }
    cr_assert_eq(catalog.mark.version, 1000);
}

/* The first note makes the file, which is closed with the catalog. */
Test(catalog_keeper, what_was_late_is_taken_over_at_the_end)
{
    pthread_mutex_lock(&disk);
    cr_assert_eq(note(1), STATUS_UNAVAILABLE);
    pthread_mutex_unlock(&disk);
    catalog_keeper_destroy(keeper);
    keeper = NULL;
    cr_assert_eq(catalog.mark.version, 1);
    cr_assert_neq(catalog.file.descriptor, -1);
}
