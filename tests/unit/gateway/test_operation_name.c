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

static void check(const char *resource, enum resource_kind kind, int64_t time_us)
{
    struct operation_name name;
    struct error error = {0};
    const char *text = operation_name_format(bytes_of_text(resource), time_us, &arena);
    cr_assert_not_null(text);
    cr_assert_eq(operation_name_parse(bytes_of_text(text), &name, &error), STATUS_OK, "%s",
                 error.text);
    cr_assert(bytes_equal(name.resource, bytes_of_text(resource)));
    cr_assert_eq(name.time_us, time_us);
    cr_assert_eq(name.parts.kind, kind);
    cr_assert(bytes_equal(name.parts.project, bytes_of_text("p")));
}

Test(operation_name, comes_back_as_it_was)
{
    check("projects/p/instances/i/tables/t", RESOURCE_TABLE, 0);
    check("projects/p/instances/i", RESOURCE_INSTANCE, INT64_C(999999999999999999));
    check("projects/p/instances/i/clusters/c", RESOURCE_CLUSTER, 1);
    check("projects/p/instances/i/appProfiles/a", RESOURCE_APP_PROFILE, 1766102400000000);
}

Test(operation_name, is_what_the_header_says)
{
    const char *text = operation_name_format(bytes_of_text("projects/P/instances/I/tables/T"),
                                             1766102400000000, &arena);
    cr_assert_str_eq(text, "operations/projects/P/instances/I/tables/T/operations/"
                           "1766102400000000");
}

/* A resource whose id is the word that names are cut at. */
Test(operation_name, is_cut_at_the_last_place)
{
    check("projects/p/instances/operations/tables/operations", RESOURCE_TABLE, 7);
    check("projects/p/instances/operations", RESOURCE_INSTANCE, 7);
}

Test(operation_name, what_is_none_is_refused)
{
    static const char *const bad[] = {
        "",
        "operations/",
        "operations/operations/",
        "operations/operations/1",
        "operations/projects/p/instances/i/tables/t",
        "operations/projects/p/instances/i/tables/t/operations/",
        "operations/projects/p/instances/i/tables/t/operations/-1",
        "operations/projects/p/instances/i/tables/t/operations/01",
        "operations/projects/p/instances/i/tables/t/operations/1a",
        "operations/projects/p/instances/i/tables/t/operations/1/",
        "operations/projects/p/instances/i/tables/t/operations/1000000000000000000",
        "operations/projects/p/operations/1",
        "operations/projects/p/instances/i/backups/b/operations/1",
        "projects/p/instances/i/tables/t/operations/1",
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
    cr_assert_null(operation_name_format(bytes_of_text("projects/p/instances/i"), 1, &none));
    arena_deinit(&none);
}
