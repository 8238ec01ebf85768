#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "tabletserver/serve/sync/schema_cache.h"
#include "tests/support/test_folder.h"

static char path[256];
static struct family families[] = {{.number = 1, .name = {(const uint8_t *)"f", 1}},
                                   {.number = 2, .name = {(const uint8_t *)"g", 1}}};

static struct table table_of(uint64_t number, uint64_t version)
{
    return (struct table){.number = number,
                          .version = version,
                          .id = bytes_of_text("some-table"),
                          .family_number_next = 3,
                          .families = families,
                          .family_count = 2};
}

static struct schema_cache *open_cache(void)
{
    struct schema_cache *cache = NULL;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(schema_cache_open(path, &cache, &error), STATUS_OK, "%s", error.text);
    return cache;
}

static void setup(void)
{
    test_path_template(path, sizeof path, "schema");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    (void)close(file);
    (void)unlink(path);
}

static void teardown(void)
{
    (void)unlink(path);
}

TestSuite(schema_cache, .init = setup, .fini = teardown);

static uint64_t version_of(struct schema_cache *cache, uint64_t number)
{
    struct schema *schema = schema_cache_find(cache, number);
    uint64_t version = schema != NULL ? schema_table(schema)->version : 0;
    schema_release(schema);
    return version;
}

Test(schema_cache, newer_replaces_older_and_holders_keep_theirs)
{
    struct schema_cache *cache = open_cache();
    struct table table = table_of(7, 2);
    bool changed = false;

    cr_assert_eq(schema_cache_put(cache, &table, &changed), STATUS_OK);
    cr_assert(changed);
    struct schema *held = schema_cache_find(cache, 7);
    table.version = 1;
    cr_assert_eq(schema_cache_put(cache, &table, &changed), STATUS_OK);
    cr_assert_not(changed);
    table.version = 3;
    cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    cr_assert_eq(version_of(cache, 7), 3);
    cr_assert_eq(schema_table(held)->version, 2);
    schema_cache_remove(cache, 7);
    schema_cache_remove(cache, 8);
    cr_assert_eq(version_of(cache, 7), 0);
    cr_assert_eq(schema_table(held)->family_count, 2);
    schema_release(held);
    schema_cache_close(cache);
}

Test(schema_cache, another_catalog_may_bring_lower_versions)
{
    struct schema_cache *cache = open_cache();
    struct table table = table_of(7, 9);
    bool changed = false;

    cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    schema_cache_distrust(cache);
    cr_assert_eq(version_of(cache, 7), 9, "until something better comes");
    table.version = 4;
    cr_assert_eq(schema_cache_put(cache, &table, &changed), STATUS_OK);
    cr_assert(changed);
    cr_assert_eq(version_of(cache, 7), 4);
    table.version = 3;
    cr_assert_eq(schema_cache_put(cache, &table, &changed), STATUS_OK);
    cr_assert_not(changed);
    schema_cache_close(cache);
}

Test(schema_cache, what_is_saved_is_loaded)
{
    struct schema_cache *cache = open_cache();
    struct error error;
    for (uint64_t i = 1; i <= 50; i++) {
        struct table table = table_of(i, i + 100);
        cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    }
    cr_assert_eq(schema_cache_save(cache, &error), STATUS_OK);
    schema_cache_close(cache);
    cache = open_cache();
    for (uint64_t i = 1; i <= 50; i++) {
        cr_assert_eq(version_of(cache, i), i + 100);
    }
    schema_cache_close(cache);
}

Test(schema_cache, a_damaged_file_is_refused_by_name)
{
    struct schema_cache *cache = open_cache();
    struct table table = table_of(7, 9);
    struct error error;
    struct buffer content = BUFFER_INIT;

    cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    cr_assert_eq(schema_cache_save(cache, &error), STATUS_OK);
    schema_cache_close(cache);
    cr_assert_eq(file_read_whole(path, 1 << 20, &content, &error), STATUS_OK);
    for (size_t i = 0; i < content.size_bytes; i++) {
        struct schema_cache *damaged = NULL;
        content.data[i] ^= 1;
        cr_assert_eq(file_write_atomic(path, content.data, content.size_bytes, &error), STATUS_OK);
        cr_assert_eq(schema_cache_open(path, &damaged, &error), STATUS_CORRUPT, "byte %zu", i);
        cr_assert(strstr(error.text, path) != NULL);
        content.data[i] ^= 1;
        cr_assert_eq(file_write_atomic(path, content.data, i, &error), STATUS_OK);
        cr_assert_eq(schema_cache_open(path, &damaged, &error), STATUS_CORRUPT, "cut at %zu", i);
    }
    buffer_deinit(&content);
}

Test(schema_cache, failing_for_memory_changes_nothing)
{
    bool succeeded = false;
    for (uint64_t after = 0; !succeeded; after++) {
        struct schema_cache *cache = open_cache();
        struct table table = table_of(7, 1);
        cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
        table.version = 2;
        memory_fail_arm(after, 1);
        enum status status = schema_cache_put(cache, &table, NULL);
        memory_fail_disarm();
        cr_assert_eq(version_of(cache, 7), status == STATUS_OK ? 2 : 1);
        succeeded = status == STATUS_OK;
        schema_cache_close(cache);
    }
}

/* A table that was made again under the same name: the old one may not have been dropped here yet. */
Test(schema_cache, a_name_finds_the_last_table_of_it)
{
    struct schema_cache *cache = open_cache();
    struct table tables[] = {table_of(3, 1), table_of(9, 1), table_of(5, 1), table_of(11, 1)};
    tables[3].id = bytes_of_text("other");
    cr_assert_null(schema_cache_find_by_name(cache, bytes_of_text("some-table")));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        cr_assert_eq(schema_cache_put(cache, &tables[i], NULL), STATUS_OK);
    }
    struct schema *schema = schema_cache_find_by_name(cache, bytes_of_text("some-table"));
    cr_assert_not_null(schema);
    cr_assert_eq(schema_table(schema)->number, 9);
    schema_release(schema);
    cr_assert_null(schema_cache_find_by_name(cache, bytes_of_text("some-tabl")));
    schema_cache_close(cache);
}

Test(schema_cache, a_table_that_cannot_be_is_refused_by_name)
{
    struct schema_cache *cache = open_cache();
    struct table table = table_of(7, 9);
    struct error error = {.status = STATUS_OK};
    table.family_number_next = 2; /* and a family has it already */
    cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    cr_assert_eq(schema_cache_save(cache, &error), STATUS_OK);
    schema_cache_close(cache);
    cr_assert_eq(schema_cache_open(path, &cache, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, path), "'%s'", error.text);
    cr_assert_not_null(strstr(error.text, "the next one would be 2"), "'%s'", error.text);
}

/* As many families as a table may have, with the longest names, and nearly as many tables as a master allows unless it is
 * told otherwise: more than 64 MiB. */
Test(schema_cache, as_much_as_a_master_may_tell_is_read_again)
{
    enum {
        TABLES = 9500,
        FAMILIES = LIMIT_FAMILIES_PER_TABLE,
    };
    static char names[FAMILIES][LIMIT_FAMILY_NAME_BYTES + 1];
    static struct family many[FAMILIES];
    struct schema_cache *cache = open_cache();
    struct error error = {.status = STATUS_OK};
    struct file file;
    uint64_t size_bytes = 0;

    for (int i = 0; i < FAMILIES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%0*d", LIMIT_FAMILY_NAME_BYTES, i);
        many[i] = (struct family){.number = (uint32_t)i + 1, .name = bytes_of_text(names[i])};
    }
    for (uint64_t number = 1; number <= TABLES; number++) {
        struct table table = table_of(number, 1);
        table.families = many;
        table.family_count = FAMILIES;
        table.family_number_next = FAMILIES + 1;
        cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    }
    cr_assert_eq(schema_cache_save(cache, &error), STATUS_OK, "%s", error.text);
    schema_cache_close(cache);
    cr_assert_eq(file_open_read(path, &file, &error), STATUS_OK);
    cr_assert_eq(file_size(&file, &size_bytes, &error), STATUS_OK);
    file_close(&file);
    cr_assert_gt(size_bytes, 64 << 20);
    cache = open_cache();
    cr_assert_eq(version_of(cache, TABLES), 1);
    schema_cache_close(cache);
}
