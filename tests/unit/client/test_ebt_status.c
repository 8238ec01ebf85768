/* `ebt status`, with a library and a session made up: what master and servers say of themselves is an alarm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/command.h"
#include "client/include/edubba_masters.h"
#include "client/include/edubba_replicas.h"
#include "tests/support/made_up_session.h"

#define SERVERS MADE_UP_SERVERS_MAX

static struct {
    const char *master;           /* what it says of itself */
    const char *servers[SERVERS]; /* NULL: it does not answer */
    int asked;                    /* servers */
} fake;

static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size);
    cr_assert_not_null(copy);
    memcpy(copy, from, size);
    return copy;
}

enum edubba_code edubba_list_masters(const struct edubba_options *options,
                                     struct edubba_master **masters,
                                     size_t *count,
                                     struct edubba_error *error)
{
    static const struct edubba_master one = {
        .address = "tcp://m:1", .state = "active", .cluster = 1, .active = "", .error = ""};
    (void)options, (void)error;
    *masters = copy_of(&one, sizeof one);
    *count = 1;
    return EDUBBA_OK;
}

enum edubba_code edubba_status(struct edubba_client *client,
                               const char *address,
                               char **json,
                               struct edubba_error *error)
{
    (void)client, (void)address, (void)error;
    *json = copy_of(fake.master, strlen(fake.master) + 1);
    return EDUBBA_OK;
}

enum edubba_code edubba_status_brief(struct edubba_client *client,
                                     const char *address,
                                     char **json,
                                     struct edubba_error *error)
{
    const char *text = fake.servers[address[6] - '0']; /* "tcp://N:1" */
    (void)client;
    fake.asked++;
    if (text == NULL) {
        *error = (struct edubba_error){EDUBBA_UNAVAILABLE, "it does not answer"};
        return error->code;
    }
    *json = copy_of(text, strlen(text) + 1);
    return EDUBBA_OK;
}

enum edubba_code edubba_list_tables(struct edubba_client *client,
                                    char ***names,
                                    struct edubba_error *error)
{
    (void)client, (void)error;
    *names = calloc(1, sizeof **names);
    return EDUBBA_OK;
}

enum edubba_code edubba_get_table(struct edubba_client *client,
                                  const char *table,
                                  struct edubba_schema **schema,
                                  struct edubba_error *error)
{
    (void)client, (void)table, (void)schema, (void)error;
    return EDUBBA_NOT_FOUND;
}

void session_only_looks(struct session *session)
{
    session->only_looks = true;
}

static void start(void)
{
    static const char *const addresses[SERVERS] = {"tcp://0:1", "tcp://1:1", "tcp://2:1"};
    fake.master = "{\"role\":\"active\",\"alarms\":[]}";
    made_up_server_count = SERVERS;
    for (size_t i = 0; i < SERVERS; i++) {
        fake.servers[i] = "{\"stores\":[{\"trouble\":\"\",\"tablets_held\":0}]}";
        made_up_servers[i] = (struct edubba_server){.number = i + 1,
                                                    .address = addresses[i],
                                                    .zone = "",
                                                    .alive = true,
                                                    .condition = "healthy"};
    }
}

TestSuite(ebt_status, .init = start);

static char printed[8192];

static int status(bool json)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    struct session session = {.out = out, .json = json, .masters = "tcp://m:1"};
    int code = run_status(&session);
    cr_assert_eq(fclose(out), 0);
    return code;
}

Test(ebt_status, where_all_is_well_there_is_no_alarm)
{
    cr_assert_eq(status(false), EXIT_CODE_OK, "%s", printed);
    cr_assert_not_null(strstr(printed, "ALARMS    none"));
    cr_assert_eq(fake.asked, SERVERS);
    fake.master = "{\"role\":\"active\"}"; /* an older version */
    fake.servers[1] = "{\"stores\":[{\"trouble\":\"\"}]}";
    cr_assert_eq(status(false), EXIT_CODE_OK, "%s", printed);
}

Test(ebt_status, what_the_master_says_that_it_cannot_do_is_an_alarm)
{
    fake.master =
        "{\"role\":\"active\",\"alarms\":[{\"code\":\"catalog_not_written\",\"message\":\"the "
        "\\\"disk\\\" is full\",\"action\":\"Make room.\"}, 7, {\"code\":\"no_text\"}]}";
    cr_assert_eq(status(false), EXIT_CODE_FAILED);
    cr_assert_not_null(strstr(printed, "ALARMS    1\n\n! the \"disk\" is full.\n  Make room.\n"),
                       "%s", printed);
    cr_assert_eq(status(true), EXIT_CODE_FAILED);
    cr_assert_not_null(strstr(printed,
                              "\"alarms\":[{\"code\":\"catalog_not_written\",\"message\":\"the "
                              "\\\"disk\\\" is full\",\"action\":\"Make room.\"}]"),
                       "%s", printed);
}

Test(ebt_status, tablets_that_damage_holds_are_an_alarm_of_their_server)
{
    fake.servers[1] = "{\"stores\":[{\"trouble\":\"\",\"tablets_held\":0},"
                      "{\"trouble\":\"/disk: flush: row r7 is damaged\",\"tablets_held\":2}]}";
    cr_assert_eq(status(false), EXIT_CODE_FAILED);
    cr_assert_not_null(
        strstr(printed, "ALARMS    1\n\n! 2 tablets at the tablet server at tcp://1:1 "), "%s",
        printed);
    cr_assert_not_null(strstr(printed, "row r7 is damaged"), "%s", printed);
    cr_assert_not_null(strstr(printed, "ebt deleterow TABLE ROW"), "%s", printed);
    cr_assert_eq(status(true), EXIT_CODE_FAILED);
    cr_assert_not_null(strstr(printed, "\"code\":\"tablets_held\""));
}

/* All stores of a server want for the same. */
Test(ebt_status, writes_that_wait_for_descriptors_are_one_alarm_of_their_server)
{
    fake.servers[2] = "{\"stores\":[{\"trouble\":\"\",\"lacks_descriptors\":true},"
                      "{\"trouble\":\"\",\"lacks_descriptors\":true}]}";
    cr_assert_eq(status(false), EXIT_CODE_FAILED);
    cr_assert_not_null(
        strstr(printed, "ALARMS    1\n\n! writes to the tablet server at tcp://2:1 wait"), "%s",
        printed);
    cr_assert_not_null(strstr(printed, "LimitNOFILE"), "%s", printed);
    cr_assert_eq(status(true), EXIT_CODE_FAILED);
    cr_assert_not_null(strstr(printed, "\"code\":\"descriptors_lacking\""));
}

/* Each would take all the patience there is. */
Test(ebt_status, behind_a_server_that_does_not_answer_here_nobody_is_asked)
{
    fake.servers[1] = NULL;
    cr_assert_eq(status(false), EXIT_CODE_OK, "%s", printed);
    cr_assert_eq(fake.asked, 2);
    cr_assert_not_null(strstr(printed, "3 alive, 2 not asked for damage"), "%s", printed);
    made_up_servers[1].alive = false;
    made_up_servers[1].draining = true;
    cr_assert_eq(status(false), EXIT_CODE_OK, "%s", printed);
    cr_assert_eq(fake.asked, 4, "nor one that is gone");
}
