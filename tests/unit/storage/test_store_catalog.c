/* Which catalog a store belongs to: kept through torn writes, and nothing else is taken. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tabletserver/storage/store/store_catalog.h"
#include "tests/support/test_folder.h"

static char folder[256];
static struct store_catalog catalog;

static void open_catalog(void)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(store_catalog_open(folder, &catalog, &error), STATUS_OK, "%s", error.text);
}

static void again(void)
{
    store_catalog_close(&catalog);
    open_catalog();
}

static void start(void)
{
    test_folder_make(folder, sizeof folder, "store_catalog");
    open_catalog();
}

static void stop(void)
{
    char command[300];
    file_fault_disarm();
    store_catalog_close(&catalog);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(store_catalog, .init = start, .fini = stop, .timeout = 600);

static enum status note(uint64_t generation, uint64_t version)
{
    return store_catalog_note(&catalog, &(struct store_catalog_mark){generation, version}, NULL);
}

static enum status check(uint64_t generation, uint64_t version, uint64_t predecessor)
{
    struct error error = {.status = STATUS_OK};
    const struct store_catalog_offer offer = {generation, version, predecessor};
    enum status status = store_catalog_check(&catalog, &offer, &error);
    cr_assert(status == STATUS_OK || strstr(error.text, folder) != NULL, "%s", error.text);
    return status;
}

static void expect(uint64_t generation, uint64_t version)
{
    cr_assert_eq(catalog.mark.generation, generation);
    cr_assert_eq(catalog.mark.version, version);
}

/* Turn over a byte of the file. */
static void damage(uint64_t offset)
{
    uint8_t byte = 0;
    cr_assert_eq(file_read_at(&catalog.file, offset, &byte, 1, NULL), STATUS_OK);
    byte ^= 1;
    cr_assert_eq(file_write_at(&catalog.file, offset, &byte, 1, NULL), STATUS_OK);
}

Test(store_catalog, a_fresh_store_takes_the_first_and_no_other)
{
    expect(0, 0);
    cr_assert_eq(check(7, 5, 0), STATUS_OK);
    cr_assert_eq(note(7, 5), STATUS_OK);
    again();
    expect(7, 5);
    cr_assert_eq(check(7, 5, 0), STATUS_OK);
    cr_assert_eq(check(7, 6, 0), STATUS_OK);
    cr_assert_eq(check(7, 4, 0), STATUS_FAILED_PRECONDITION, "an old copy");
    cr_assert_eq(check(7, 0, 0), STATUS_OK, "an older master does not say");
    cr_assert_eq(check(8, 100, 0), STATUS_FAILED_PRECONDITION, "another");
    cr_assert_eq(check(8, 100, 9), STATUS_FAILED_PRECONDITION, "another's successor");
    cr_assert_eq(check(8, 1, 7), STATUS_OK, "the one that was ordered to succeed it");
}

Test(store_catalog, the_highest_is_kept_whatever_comes)
{
    for (uint64_t version = 1; version <= 20; version++) {
        cr_assert_eq(note(7, version), STATUS_OK);
        cr_assert_eq(note(7, version / 2), STATUS_OK);
        again();
        expect(7, version);
    }
    cr_assert_eq(note(8, 3), STATUS_OK);
    again();
    expect(8, 3);
}

Test(store_catalog, a_torn_note_leaves_the_one_before)
{
    for (uint64_t version = 2; version < 10; version++) {
        cr_assert_eq(note(7, version), STATUS_OK);
        cr_assert_eq(note(7, version + 100), STATUS_OK);
        damage(catalog.serial % 2 == 1 ? 24 : 4096 + 24); /* the one written last */
        again();
        expect(7, version);
        cr_assert_eq(note(7, version + 200), STATUS_OK);
        again();
        expect(7, version + 200);
        cr_assert_eq(note(8, 1), STATUS_OK);
    }
}

Test(store_catalog, a_file_without_a_good_slot_is_refused_by_name)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(note(7, 1), STATUS_OK);
    damage(0);
    store_catalog_close(&catalog);
    cr_assert_eq(store_catalog_open(folder, &catalog, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "/CATALOG: damaged"), "%s", error.text);
    memset(&catalog, 0, sizeof catalog);
}

/* Wherever writing or syncing fails, there is the mark before or the new one, and it goes on. */
Test(store_catalog, failing_disks_lose_no_mark)
{
    uint64_t version = 1;
    for (int made = 0; made < 2; made++) {
        for (int operation = FILE_OPERATION_WRITE; operation < FILE_OPERATION_COUNT; operation++) {
            for (uint64_t after = 0; after < 6; after++) {
                const struct store_catalog_mark before = catalog.mark;
                file_fault_arm(&(struct file_fault){.operation = (enum file_operation)operation,
                                                    .after = after,
                                                    .error_number = 28,
                                                    .short_write = true});
                enum status status = note(7, ++version);
                file_fault_disarm();
                again();
                cr_assert(catalog.mark.version == version ||
                          (status != STATUS_OK && catalog.mark.version == before.version));
                if (made == 0 && status != STATUS_OK) {
                    continue;
                }
                cr_assert_eq(note(7, version), STATUS_OK);
                again();
                expect(7, version);
            }
        }
    }
}
