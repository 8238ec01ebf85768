/*
 * A server with one tablet, and operations that several of its tests do.
 */
#ifndef TESTS_SUPPORT_SERVER_STEPS_H
#define TESTS_SUPPORT_SERVER_STEPS_H

#include "tests/support/server_fixture.h"

#include <errno.h>
#include <sys/wait.h>

__attribute__((unused)) static struct fixture fixture;

__attribute__((unused)) static void start_with_one_tablet(void)
{
    fixture_init(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
}

__attribute__((unused)) static struct operation check_and_put(struct client *client,
                                                              const char *row,
                                                              const char *when_matched,
                                                              const char *otherwise,
                                                              uint64_t sequence)
{
    struct operation yes = client_put(client, row, "result", when_matched, sequence);
    struct operation no = client_put(client, row, "result", otherwise, sequence);
    yes.kind = OPERATION_CHECK_AND_MUTATE;
    yes.otherwise = no.mutations;
    yes.otherwise_count = 1;
    return yes;
}

__attribute__((unused)) static struct operation add_one(struct client *client,
                                                        const char *row,
                                                        uint64_t sequence)
{
    struct operation operation = client_put(client, row, "n", "", sequence);
    struct mutation *mutation = (struct mutation *)(uintptr_t)operation.mutations;
    mutation->kind = MUTATION_ADD_TO_CELL;
    mutation->family = bytes_of_text("sum");
    mutation->timestamp_us = 0;
    mutation->input = INPUT_INT64;
    mutation->integer = 1;
    return operation;
}

#endif /* TESTS_SUPPORT_SERVER_STEPS_H */
