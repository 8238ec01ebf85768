#include <criterion/criterion.h>

#include <stdio.h>

#include "gateway/core/resource_name.h"

static enum status parse(const char *text, enum resource_kind kind, struct resource_name *name)
{
    struct error error = {0};
    enum status status = resource_name_parse(bytes_of_text(text), kind, name, &error);
    cr_assert(status == STATUS_OK || error.text[0] != '\0', "an error says what was expected");
    return status;
}

Test(resource_name, is_taken_apart)
{
    struct resource_name name;
    cr_assert_eq(parse("projects/p", RESOURCE_PROJECT, &name), STATUS_OK);
    cr_assert(bytes_equal(name.project, bytes_of_text("p")));
    cr_assert_eq(parse("projects/p/instances/i", RESOURCE_INSTANCE, &name), STATUS_OK);
    cr_assert(bytes_equal(name.instance, bytes_of_text("i")));
    cr_assert_eq(parse("projects/p/instances/i/tables/t.1", RESOURCE_TABLE, &name), STATUS_OK);
    cr_assert(bytes_equal(name.id, bytes_of_text("t.1")));
    cr_assert_eq(parse("projects/p/instances/i/appProfiles/a", RESOURCE_APP_PROFILE, &name),
                 STATUS_OK);
}

Test(resource_name, what_is_none_is_refused)
{
    static const char *const bad[] = {
        "",
        "/",
        "projects",
        "projects/",
        "projects/p/instances/i/tables/",
        "projects/p/instances/i/tables",
        "projects/p/instances/i/tables/t/",
        "projects/p/instances/i/tables/t/x",
        "projects/p/instances/i/clusters/t",
        "projects//instances/i/tables/t",
        "Projects/p/instances/i/tables/t",
        "projects/p/instances/i/tables/"
        "123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct resource_name name;
        cr_assert_eq(parse(bad[i], RESOURCE_TABLE, &name), STATUS_INVALID_ARGUMENT, "%s", bad[i]);
    }
}

Test(resource_name, ids_follow_the_rules_of_their_kind)
{
    cr_assert_eq(resource_id_check(RESOURCE_TABLE, bytes_of_text("_T-1.x"), NULL), STATUS_OK);
    cr_assert_neq(resource_id_check(RESOURCE_TABLE, bytes_of_text("-T"), NULL), STATUS_OK);
    cr_assert_neq(resource_id_check(RESOURCE_TABLE, bytes_of_text("a/b"), NULL), STATUS_OK);
    cr_assert_neq(resource_id_check(RESOURCE_TABLE, BYTES_EMPTY, NULL), STATUS_OK);
    char name[52] = {0};
    memset(name, 'a', 50);
    cr_assert_eq(resource_id_check(RESOURCE_TABLE, bytes_of_text(name), NULL), STATUS_OK);
    name[50] = 'a';
    cr_assert_neq(resource_id_check(RESOURCE_TABLE, bytes_of_text(name), NULL), STATUS_OK);
    cr_assert_eq(resource_id_check(RESOURCE_CLUSTER, bytes_of_text("c-1"), NULL), STATUS_OK);
    cr_assert_neq(resource_id_check(RESOURCE_CLUSTER, bytes_of_text("C"), NULL), STATUS_OK);
    cr_assert_neq(resource_id_check(RESOURCE_CLUSTER, bytes_of_text("1c"), NULL), STATUS_OK);
}

/* A table's name here leads back to it, in its own instance only. */
Test(resource_name, tables_of_two_instances_do_not_collide)
{
    struct resource_home home = {bytes_of_text("p"), bytes_of_text("i")};
    static const char *const instances[][2] = {{"p", "i"}, {"p", "j"}, {"q", "i"}};
    char names[3][RESOURCE_TABLE_NAME_BYTES_MAX];
    for (size_t i = 0; i < 3; i++) {
        struct resource_name table = {RESOURCE_TABLE, bytes_of_text(instances[i][0]),
                                      bytes_of_text(instances[i][1]), bytes_of_text("t")};
        resource_table_name(&table, &home, names[i]);
    }
    cr_assert_str_eq(names[0], "t");
    cr_assert_str_eq(names[1], "p/j/t");
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            struct resource_name instance = {RESOURCE_INSTANCE, bytes_of_text(instances[j][0]),
                                             bytes_of_text(instances[j][1]), BYTES_EMPTY};
            struct bytes id;
            cr_assert_eq(resource_table_id(bytes_of_text(names[i]), &instance, &home, &id), i == j);
            cr_assert(i != j || bytes_equal(id, bytes_of_text("t")));
        }
    }
}
