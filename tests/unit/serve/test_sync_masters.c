/* The masters that a server dials: given, and learned in the course of months. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tabletserver/serve/sync/sync_masters.h"

static struct sync_masters masters;
static const uint32_t nothing[2] = {UINT32_MAX, UINT32_MAX};

static void give(const char *text)
{
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(sync_masters_parse(text, &masters, &error), STATUS_OK, "%s", error.text);
}

static uint32_t learn(unsigned port, const uint32_t in_use[2])
{
    char address[64];
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    return sync_masters_learn(&masters, bytes_of_text(address), in_use);
}

static bool is_at(uint32_t at, unsigned port)
{
    char address[64];
    (void)snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    return at < masters.count && strcmp(masters.addresses[at], address) == 0;
}

Test(sync_masters, what_is_known_is_found_and_what_is_new_has_a_place)
{
    give("tcp://127.0.0.1:1,tcp://127.0.0.1:2");
    cr_assert_eq(learn(2, nothing), 1);
    cr_assert_eq(learn(3, nothing), 2);
    cr_assert_eq(learn(3, nothing), 2);
    cr_assert_eq(masters.count, 3);
    cr_assert_eq(sync_masters_learn(&masters, bytes_of_text("nowhere"), nothing), 3);
    char name[200] = "tcp://";
    memset(name + 6, 'm', sizeof name - 7);
    cr_assert_eq(sync_masters_learn(&masters, bytes_of_text(name), nothing), 3);
    cr_assert_eq(masters.count, 3);
}

/* It would be looked for among those of before, for ever. */
Test(sync_masters, the_last_of_very_many_is_found)
{
    give("tcp://127.0.0.1:1,tcp://127.0.0.1:2");
    for (unsigned port = 100; port < 1000; port++) {
        uint32_t at = learn(port, nothing);
        cr_assert(is_at(at, port), "%u", port);
        cr_assert_leq(masters.count, SYNC_MASTERS_MAX + 1);
    }
    cr_assert(is_at(0, 1) && is_at(1, 2), "those that were given stay");
    cr_assert_eq(learn(999, nothing), learn(999, nothing));
}

Test(sync_masters, what_is_in_use_stays)
{
    char all[1024];
    int used = 0;
    for (unsigned port = 1; port <= SYNC_MASTERS_MAX; port++) {
        used += snprintf(all + used, sizeof all - (size_t)used, "tcp://127.0.0.1:%u,", port);
    }
    give(all);
    uint32_t learned = learn(100, nothing);
    cr_assert_eq(learned, SYNC_MASTERS_MAX);
    const uint32_t in_use[2] = {0, learned};
    cr_assert_eq(learn(101, in_use), masters.count, "there is no other place");
    cr_assert(is_at(learned, 100));
    const uint32_t given[2] = {0, 1};
    cr_assert_eq(learn(101, given), learned);
    cr_assert(is_at(learned, 101));
}
