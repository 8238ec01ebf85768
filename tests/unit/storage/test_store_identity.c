/* Which folder is a store, and whose: identity, lock, and a data file that is lost. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/io/file.h"
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

TestSuite(store, .init = setup, .fini = teardown);

static void store_path(char path[512], const char *name)
{
    (void)snprintf(path, 512, "%s/%s", fixture.folder, name);
}

static void replace_identity(const char *text)
{
    char path[512];
    struct error error;
    store_path(path, "STORE");
    cr_assert_eq(file_write_atomic(path, text, strlen(text), &error), STATUS_OK);
}

Test(store, newer_directory_is_refused_by_name)
{
    struct error error;
    fixture_close(&fixture);
    replace_identity("edubba store\nformat 2\nsomething new\n");
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "format 2"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "STORE"), "%s", error.text);
    fixture.store = NULL;
}

Test(store, damaged_identity_is_refused)
{
    struct error error;
    fixture_close(&fixture);
    replace_identity("edubba store\nformat 1\nfeatures 0\nstore 8\nchecksum 0123456789abcdef\n");
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    fixture.store = NULL;
}

Test(store, another_number_is_refused)
{
    struct error error;
    fixture_close(&fixture);
    cr_assert_eq(fixture_try_open(&fixture, 8, &error), STATUS_FAILED_PRECONDITION);
    fixture.store = NULL;
}

Test(store, nothing_there_is_not_found)
{
    struct error error;
    struct fixture other;
    fixture_init(&other);
    cr_assert_eq(fixture_try_open(&other, 0, &error), STATUS_NOT_FOUND);
    other.store = NULL;
    fixture_deinit(&other);
}

Test(store, one_process_at_a_time)
{
    struct error error;
    pid_t child = fork();
    if (child == 0) {
        struct store *second = NULL;
        struct store_callbacks callbacks = fixture_callbacks(&fixture);
        enum status status = store_open(fixture.folder, 0, &fixture.settings, &callbacks, &second,
                                        &error);
        _exit(status == STATUS_FAILED_PRECONDITION ? 0 : 1);
    }
    int result = 0;
    cr_assert_eq(waitpid(child, &result, 0), child);
    cr_assert_eq(result, 0);
}

Test(store, lost_data_file_is_not_taken_for_an_empty_store)
{
    struct error error;
    char path[512];
    struct store_tablet *tablet = fixture_create(&fixture, 1, "", "");
    const struct change change = fixture_put(1, "c", 1, "1");
    fixture_write(&fixture, tablet, "a", &change, 1);
    fixture_close(&fixture);
    store_path(path, "data.mdb");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(fixture_try_open(&fixture, FIXTURE_STORE, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "data.mdb"), "%s", error.text);
    fixture.store = NULL;
}
