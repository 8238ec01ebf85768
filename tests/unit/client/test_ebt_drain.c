/* `ebt drain`, with a library and a session made up. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/command.h"
#include "client/include/edubba_replicas.h"
#include "tests/support/made_up_session.h"

/* What is told of the drain, one answer after the other; the last one again and again. */
static const struct edubba_drain_progress *answers;
static size_t answer_count;
static size_t answered;
static size_t ordered;
static bool undone; /* by somebody else, once it was ordered */

enum edubba_code edubba_drain_server(struct edubba_client *client,
                                     uint64_t server,
                                     bool draining,
                                     struct edubba_drain_progress *progress,
                                     struct edubba_error *error)
{
    (void)client, (void)server, (void)draining, (void)error;
    *progress = answers[answered];
    answered += answered + 1 < answer_count;
    ordered++;
    made_up_servers[0].draining = !undone;
    return EDUBBA_OK;
}

/* `ebt merge` is in the same file. */
enum edubba_code edubba_merge_tablets(struct edubba_client *client,
                                      const char *table,
                                      struct edubba_bytes row,
                                      struct edubba_error *error)
{
    (void)client, (void)table, (void)row, (void)error;
    return EDUBBA_OK;
}

enum edubba_code edubba_withdraw_merge(struct edubba_client *client,
                                       const char *table,
                                       struct edubba_bytes row,
                                       struct edubba_error *error)
{
    return edubba_merge_tablets(client, table, row, error);
}

int session_row(const struct session *session, struct edubba_bytes *ret_row)
{
    (void)session, (void)ret_row;
    return -1;
}

int session_misuse(const struct session *session, const char *format, ...)
{
    (void)session, (void)format;
    return EXIT_CODE_USAGE;
}

int session_done(const struct session *session)
{
    (void)session;
    return EXIT_CODE_OK;
}

static const char *drain(const struct edubba_drain_progress *progress, size_t count, int code)
{
    static char text[4000];
    char *arguments[] = {"7"};
    struct session session = {
        .out = fmemopen(text, sizeof text, "w"), .argument_count = 1, .arguments = arguments};
    made_up_servers[0] = (struct edubba_server){.number = 7, .address = "tcp://a:1", .alive = true};
    made_up_server_count = 1;
    answers = progress;
    answer_count = count;
    cr_assert_eq(run_drain(&session), code);
    (void)fclose(session.out);
    return text;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

Test(ebt_drain, what_cannot_go_is_told_when_it_changes)
{
    static const struct edubba_drain_progress steps[] = {
        {true, 9, 9, 3}, {true, 8, 6, 3}, {true, 5, 5, 3}, {true, 2, 2, 1}, {true, 0, 0, 0}};
    const char *text = drain(steps, sizeof steps / sizeof *steps, EXIT_CODE_OK);
    cr_assert_eq(count_of(text, " replicas are left on server 7"), 4, "%s", text);
    cr_assert_eq(count_of(text, "3 cannot go: there is no other"), 1, "%s", text);
    cr_assert_eq(count_of(text, "1 cannot go: there is no other"), 1, "%s", text);
    cr_assert_eq(count_of(text, "back by: ebt drain 7 --undo."), 2, "%s", text);
    cr_assert_not_null(strstr(text, "server 7 is drained: it may be stopped for good"));
}

/* Asking how far it is orders it once more: whoever had undone it meanwhile would have done so in vain. */
Test(ebt_drain, who_waits_does_not_order_again_what_another_has_taken_back)
{
    static const struct edubba_drain_progress steps[] = {{true, 9, 9, 9}, {true, 0, 0, 0}};
    undone = true;
    (void)drain(steps, sizeof steps / sizeof *steps, EXIT_CODE_FAILED);
    cr_assert_eq(ordered, 1);
    cr_assert_not_null(strstr(made_up_failure, "the order was taken back (--undo)"), "%s",
                       made_up_failure);
    cr_assert_not_null(strstr(made_up_failure, "9 replicas were still there"), "%s",
                       made_up_failure);
}
