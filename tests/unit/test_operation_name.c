#include <criterion/criterion.h>

#include "gateway/operations/operation_name.h"

static struct arena arena;

static void set_up(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
}

static void tear_down(void)
{
    arena_deinit(&arena);
}

TestSuite(operation_name, .init = set_up, .fini = tear_down);

static void check(enum operation_verb verb, const char *resource, int64_t time_us)
{
    struct operation_name name;
    struct error error = {0};
    const char *text = operation_name_format(verb, bytes_of_text(resource), time_us, &arena);
    cr_assert_not_null(text);
    cr_assert_eq(operation_name_parse(bytes_of_text(text), &name, &error), STATUS_OK, "%s",
                 error.text);
    cr_assert_eq(name.verb, verb);
    cr_assert(bytes_equal(name.resource, bytes_of_text(resource)));
    cr_assert_eq(name.time_us, time_us);
    cr_assert(bytes_equal(name.parts.project, bytes_of_text("p")));
}

Test(operation_name, comes_back_as_it_was)
{
    check(OPERATION_UPDATE_TABLE, "projects/p/instances/i/tables/t", 0);
    check(OPERATION_CREATE_INSTANCE, "projects/p/instances/i", INT64_MAX);
    check(OPERATION_UPDATE_INSTANCE, "projects/p/instances/i", 1);
    check(OPERATION_CREATE_CLUSTER, "projects/p/instances/i/clusters/c", 1);
    check(OPERATION_UPDATE_CLUSTER, "projects/p/instances/i/clusters/c", 1);
    check(OPERATION_UPDATE_APP_PROFILE, "projects/p/instances/i/appProfiles/a", 1);
}

Test(operation_name, is_what_the_header_says)
{
    const char *text = operation_name_format(OPERATION_UPDATE_TABLE,
                                             bytes_of_text("projects/P/instances/I/tables/T"),
                                             INT64_C(0x00062a41f0c3d2e1), &arena);
    cr_assert_str_eq(text, "operations/projects/P/instances/I/tables/T/operations/"
                           "update-table-00062a41f0c3d2e1");
}

/* A resource whose id is the word that names are cut at. */
Test(operation_name, is_cut_at_the_last_place)
{
    check(OPERATION_UPDATE_TABLE, "projects/p/instances/operations/tables/operations", 7);
}

Test(operation_name, what_is_none_is_refused)
{
    static const char *const bad[] = {
        "",
        "operations/",
        "operations/operations/",
        "operations/projects/p/instances/i/tables/t",
        "operations/projects/p/instances/i/tables/t/operations/",
        "operations/projects/p/instances/i/tables/t/operations/update-table",
        "operations/projects/p/instances/i/tables/t/operations/update-table-",
        "operations/projects/p/instances/i/tables/t/operations/update-table-000000000000001",
        "operations/projects/p/instances/i/tables/t/operations/update-table-00000000000000001",
        "operations/projects/p/instances/i/tables/t/operations/update-table-000000000000000G",
        "operations/projects/p/instances/i/tables/t/operations/update-table-000000000000000A",
        "operations/projects/p/instances/i/tables/t/operations/update-table-8000000000000000",
        "operations/projects/p/instances/i/tables/t/operations/drop-table-0000000000000001",
        "operations/projects/p/instances/i/operations/update-table-0000000000000001",
        "operations/projects/p/instances/i/tables/t/operations/create-instance-0000000000000001",
        "projects/p/instances/i/tables/t/operations/update-table-0000000000000001",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct operation_name name;
        struct error error = {0};
        cr_assert_eq(operation_name_parse(bytes_of_text(bad[i]), &name, &error),
                     STATUS_INVALID_ARGUMENT, "%s", bad[i]);
        cr_assert_neq(error.text[0], '\0');
    }
}

Test(operation_name, takes_memory)
{
    struct arena none;
    arena_init(&none, 4096, 8);
    cr_assert_null(operation_name_format(OPERATION_CREATE_INSTANCE,
                                         bytes_of_text("projects/p/instances/i"), 1, &none));
    arena_deinit(&none);
}
