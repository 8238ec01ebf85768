/* `ebt recover`, with a library and a session made up. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/command.h"
#include "client/include/edubba_replicas.h"

#define HAS_COPIES 77  /* a tablet's number */
#define LISTS_MAX  100 /* in one test */

static struct {
    struct edubba_lost_tablet tablets[3];
    size_t count;
    bool more;
    uint64_t refused; /* this one is */
    uint64_t recovered[3];
    size_t recovered_count;
    char warning[256];
    int failures;
    int listed;
    int listed_when_ordered;
    int dead_for; /* so many lists the first copy's server counts as alive, and is silent; 0 = it is there */
} fake;

/* Two copies on servers that are heard of all the time, or of which the first has died and is not noticed yet. */
static void put_copies(struct edubba_lost_tablet *tablet)
{
    static struct edubba_copy kept[LISTS_MAX][2]; /* of each list its own */
    struct edubba_copy *copies = kept[fake.listed % LISTS_MAX];
    bool is_noticed = fake.dead_for > 0 && fake.listed > fake.dead_for;
    struct edubba_copy one = {.store = 1,
                              .address = "tcp://a:1",
                              .is_held = true,
                              .is_alive = !is_noticed,
                              .heard_us = fake.dead_for > 0 ? 500 : 500 + fake.listed};
    struct edubba_copy other = {.store = 2,
                                .address = "tcp://b:1",
                                .is_held = true,
                                .is_alive = true,
                                .heard_us = 900 - fake.listed}; /* clocks are set back */
    copies[0] = is_noticed ? other : one;
    copies[1] = is_noticed ? one : other;
    tablet->copies = copies;
    tablet->copy_count = 2;
}

enum edubba_code edubba_list_lost(struct edubba_client *client,
                                  const char *table,
                                  uint64_t tablet,
                                  struct edubba_lost_tablet **tablets,
                                  size_t *count,
                                  bool *more,
                                  struct edubba_error *error)
{
    (void)client, (void)table, (void)tablet, (void)error;
    fake.listed++;
    *tablets = malloc(sizeof fake.tablets);
    memcpy(*tablets, fake.tablets, sizeof fake.tablets);
    if (fake.tablets[0].number == HAS_COPIES) {
        put_copies(&(*tablets)[0]);
    }
    *count = fake.count;
    *more = fake.more;
    return EDUBBA_OK;
}

enum edubba_code edubba_recover_tablet(struct edubba_client *client,
                                       uint64_t tablet,
                                       uint64_t store,
                                       const char *who,
                                       uint64_t *chosen_store,
                                       struct edubba_error *error)
{
    (void)client, (void)store, (void)who;
    if (tablet == fake.refused) {
        *error = (struct edubba_error){EDUBBA_FAILED_PRECONDITION, "it is not lost"};
        return error->code;
    }
    fake.listed_when_ordered = fake.listed;
    fake.recovered[fake.recovered_count++] = tablet;
    *chosen_store = 7;
    return EDUBBA_OK;
}

struct edubba_client *session_client(struct session *session)
{
    return (struct edubba_client *)(void *)session; /* nobody looks into it */
}

void session_only_looks(struct session *session)
{
    session->only_looks = true;
}

int session_refuse_repeated(const struct session *session, int first)
{
    (void)session, (void)first;
    return -1;
}

int session_fail(const struct session *session, const struct edubba_error *error)
{
    (void)session;
    (void)snprintf(fake.warning, sizeof fake.warning, "%.250s", error->text);
    fake.failures++;
    return EXIT_CODE_FAILED;
}

int session_misuse(const struct session *session, const char *format, ...)
{
    (void)session, (void)format;
    return EXIT_CODE_USAGE;
}

void session_warn(const struct session *session, const char *format, ...)
{
    va_list arguments;
    (void)session;
    va_start(arguments, format);
    (void)vsnprintf(fake.warning, sizeof fake.warning, format, arguments);
    va_end(arguments);
}

static int recover(int count, char **arguments)
{
    struct session session = {.out = tmpfile(), .argument_count = count, .arguments = arguments};
    int code = run_recover(&session);
    (void)fclose(session.out);
    return code;
}

static char *const accepted[] = {"T", "--accept-data-loss"};

Test(ebt_recover, each_is_recovered_whatever_became_of_another)
{
    fake.count = 3;
    fake.refused = 2;
    for (uint64_t i = 0; i < 3; i++) {
        fake.tablets[i].number = i + 1;
    }
    cr_assert_eq(recover(2, (char **)accepted), EXIT_CODE_FAILED);
    cr_assert_eq(fake.recovered_count, 2);
    cr_assert_eq(fake.recovered[1], 3);
    cr_assert_eq(fake.failures, 1);
    cr_assert_str_eq(fake.warning, "it is not lost");
}

Test(ebt_recover, it_is_told_that_others_are_lost_which_were_not_listed)
{
    fake.count = 1;
    fake.more = true;
    fake.tablets[0].number = 1;
    cr_assert_eq(recover(2, (char **)accepted), EXIT_CODE_OK);
    cr_assert_eq(fake.recovered_count, 1);
    cr_assert_str_eq(fake.warning,
                     "more tablets than these 1 are lost: order it again for the others");
}

Test(ebt_recover, data_is_given_up_only_of_what_is_named)
{
    fake.count = 1;
    cr_assert_eq(recover(1, (char **)accepted + 1), EXIT_CODE_USAGE);
    cr_assert_eq(fake.recovered_count, 0);
}

static void lose_one(int dead_for)
{
    fake.count = 1;
    fake.tablets[0] = (struct edubba_lost_tablet){
        .number = HAS_COPIES, .table = "T", .why = "", .recovered_by = ""};
    fake.dead_for = dead_for;
}

Test(ebt_recover, a_server_is_heard_of_once_more_before_its_copy_is_chosen)
{
    lose_one(0);
    cr_assert_eq(recover(2, (char **)accepted), EXIT_CODE_OK);
    cr_assert_eq(fake.recovered_count, 1);
    cr_assert_eq(fake.listed_when_ordered, 2);
}

Test(ebt_recover, a_copy_on_a_server_that_died_a_moment_ago_is_not_chosen)
{
    lose_one(3);
    cr_assert_eq(recover(2, (char **)accepted), EXIT_CODE_OK);
    cr_assert_eq(fake.recovered_count, 1);
    cr_assert_eq(fake.listed_when_ordered, 4); /* it is noticed: another is first now */
}

Test(ebt_recover, nothing_is_chosen_while_a_server_is_silent, .timeout = 600)
{
    lose_one(1000);
    cr_assert_eq(recover(2, (char **)accepted), EXIT_CODE_FAILED);
    cr_assert_eq(fake.recovered_count, 0);
    cr_assert_eq(strncmp(fake.warning, "nothing is chosen: of tablet 77 ", 32), 0, "%s",
                 fake.warning);
}

Test(ebt_recover, who_only_looks_does_not_wait)
{
    static char *const none[] = {"T"};
    lose_one(1000);
    cr_assert_eq(recover(1, (char **)none), EXIT_CODE_OK);
    cr_assert_eq(fake.listed, 1);
}
