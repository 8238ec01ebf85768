#include <criterion/criterion.h>

#include "client/cli/server_choice.h"

#define ADDRESS "tcp://10.0.0.7:7401"

static struct edubba_error error;

/* 0 = refused. */
static uint64_t choose(const struct edubba_server *servers, size_t count, const char *name)
{
    uint64_t number = 0;
    error = (struct edubba_error){.code = EDUBBA_OK};
    bool found = server_choose(servers, count, name, &number, &error);
    cr_assert_eq(found, error.code == EDUBBA_OK);
    cr_assert_eq(found, number != 0);
    return number;
}

Test(server_choice, by_number_or_by_address_with_or_without_its_scheme)
{
    const struct edubba_server servers[] = {
        {.number = 3, .address = "tcp://10.0.0.6:7401", .alive = true},
        {.number = UINT64_MAX, .address = ADDRESS},
        {.number = 7, .address = "ipc:///run/edubba", .alive = true},
    };
    cr_assert_eq(choose(servers, 3, "3"), 3);
    cr_assert_eq(choose(servers, 3, "18446744073709551615"), UINT64_MAX);
    cr_assert_eq(choose(servers, 3, ADDRESS), UINT64_MAX, "alone, though gone");
    cr_assert_eq(choose(servers, 3, "10.0.0.7:7401"), UINT64_MAX);
    cr_assert_eq(choose(servers, 3, "ipc:///run/edubba"), 7);
}

Test(server_choice, what_nobody_has_is_not_found)
{
    const struct edubba_server server = {.number = 3, .address = ADDRESS, .alive = true};
    cr_assert_eq(choose(&server, 1, "10.0.0.7"), 0);
    cr_assert_eq(error.code, EDUBBA_NOT_FOUND);
    cr_assert_str_eq(error.text, "no tablet server has the number or address '10.0.0.7'");
    cr_assert_eq(choose(NULL, 0, "3"), 0);
}

Test(server_choice, at_an_address_the_one_that_is_alive_is_meant)
{
    const struct edubba_server servers[] = {
        {.number = 3, .address = ADDRESS},
        {.number = 4, .address = ADDRESS, .alive = true},
        {.number = 5, .address = ADDRESS},
    };
    cr_assert_eq(choose(servers, 3, ADDRESS), 4);
    cr_assert_eq(choose(servers, 2, "10.0.0.7:7401"), 4);
    cr_assert_eq(choose(servers + 1, 2, ADDRESS), 4);
    cr_assert_eq(choose(servers, 3, "5"), 5, "by its number each can be named");
}

Test(server_choice, where_that_does_not_tell_their_numbers_are_asked_for)
{
    struct edubba_server servers[] = {
        {.number = 3, .address = ADDRESS},
        {.number = 4, .address = "tcp://10.0.0.8:7401", .alive = true},
        {.number = 5, .address = ADDRESS},
        {.number = 6, .address = ADDRESS, .alive = true},
    };
    cr_assert_eq(choose(servers, 3, ADDRESS), 0, "none is alive");
    cr_assert_eq(error.code, EDUBBA_FAILED_PRECONDITION);
    cr_assert_str_eq(error.text, "several tablet servers have the address '" ADDRESS
                                 "': say which by its number: 3 (gone), 5 (gone)");
    servers[0].alive = true;
    cr_assert_eq(choose(servers, 4, ADDRESS), 0, "two are alive");
    cr_assert_str_eq(error.text, "several tablet servers have the address '" ADDRESS
                                 "': say which by its number: 3 (alive), 5 (gone), 6 (alive)");
}

Test(server_choice, of_very_many_as_many_are_named_as_fit)
{
    struct edubba_server servers[40];
    for (size_t i = 0; i < 40; i++) {
        servers[i] = (struct edubba_server){.number = UINT64_MAX - i, .address = ADDRESS};
    }
    cr_assert_eq(choose(servers, 40, ADDRESS), 0);
    cr_assert_lt(strlen(error.text), sizeof error.text);
}
