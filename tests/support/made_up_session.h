/*
 * For tests of ebt's commands, with no cluster behind them: which tablet servers libedubba lists, and the session that
 * the command is given.  A command sees the list as it is when it asks.
 */
#ifndef TESTS_SUPPORT_MADE_UP_SESSION_H
#define TESTS_SUPPORT_MADE_UP_SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/command.h"
#include "client/include/edubba_replicas.h"

#define MADE_UP_SERVERS_MAX 3

static struct edubba_server made_up_servers[MADE_UP_SERVERS_MAX];
static size_t made_up_server_count;
static char made_up_failure[512]; /* what the command said last of why it failed */

enum edubba_code edubba_list_servers(struct edubba_client *client,
                                     struct edubba_server **servers,
                                     size_t *count,
                                     struct edubba_error *error)
{
    (void)client, (void)error;
    *servers = malloc(sizeof made_up_servers);
    cr_assert_not_null(*servers);
    memcpy(*servers, made_up_servers, sizeof made_up_servers);
    *count = made_up_server_count;
    return EDUBBA_OK;
}

struct edubba_client *session_client(struct session *session)
{
    return (struct edubba_client *)(void *)session; /* nobody looks into it */
}

int session_fail(const struct session *session, const struct edubba_error *error)
{
    (void)session;
    (void)snprintf(made_up_failure, sizeof made_up_failure, "%s", error->text);
    return EXIT_CODE_FAILED;
}

#endif /* TESTS_SUPPORT_MADE_UP_SESSION_H */
