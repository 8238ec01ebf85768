/* Identities: what the caller is asked for twice is done once; and whose clock they are told in. */
#include "tests/support/client_session.h"

#define GUEST UINT64_C(0x6775657374)

static struct edubba_identity identity_of(uint64_t sequence)
{
    return (struct edubba_identity){.client = GUEST,
                                    .sequence = sequence,
                                    .first_attempt_us = clock_wall_us() + FAKE_CLOCK_SHIFT_US};
}

static void submit_add_as(struct session *session,
                          int number,
                          const struct edubba_identity *identity,
                          struct outcome *outcome)
{
    struct edubba_error error;
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_MUTATE,
        .row = row_key(number),
        .mutations = &one,
        .mutation_count = 1,
        .identity = identity,
    };
    cr_assert_eq(edubba_submit(session->table, &operation, on_done, outcome, &error), EDUBBA_OK);
}

Test(client_identity, what_is_asked_for_twice_is_done_once)
{
    struct session session = open_session();
    struct edubba_identity first = identity_of(77);
    struct edubba_identity second = identity_of(3);
    SET(session, guest, GUEST);
    for (int i = 0; i < 5; i++) { /* among others, which travel together */
        submit_add_as(&session, 1, &first, &outcomes[3 * i]);
        submit_add(&session, 1, 10, &outcomes[3 * i + 1]);
        submit_add_as(&session, 2, &second, &outcomes[3 * i + 2]);
    }
    edubba_drain(session.client);
    for (int i = 0; i < 15; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
    }
    cr_assert_eq(sum_of(&session, 1), 51);
    cr_assert_eq(sum_of(&session, 2), 1);
    cr_assert_eq(GET(session, duplicates), 8);
    close_session(&session);
}

Test(client_identity, it_is_the_same_for_each_attempt)
{
    struct session session = open_session();
    struct edubba_identity identity = identity_of(5);
    SET(session, guest, GUEST);
    SET(session, unavailable_left, 3);
    SET(session, drops_after_left, 2);
    submit_add_as(&session, 1, &identity, &outcomes[0]);
    edubba_drain(session.client);
    cr_assert_eq(outcomes[0].code, EDUBBA_OK, "%s", outcomes[0].text);
    cr_assert_eq(sum_of(&session, 1), 1);
    close_session(&session);
}

static void on_rows(void *context, const struct edubba_rows_result *result)
{
    struct outcome *outcome = context;
    atomic_store(&outcome->code, (int)result->code);
    if (result->failure_count > 0) {
        (void)snprintf(outcome->text, sizeof outcome->text, "%zu: %s", result->failures[0].entry,
                       result->failures[0].text);
    }
    atomic_fetch_add(&outcome->completions, 1);
}

Test(client_identity, entries_of_one_call_may_bring_theirs)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_identity identities[2] = {identity_of(8), identity_of(9)};
    struct edubba_identity wrong = {.client = GUEST};
    struct edubba_entry entries[] = {
        {EDUBBA_TEXT("row00001"), &one, 1, &identities[0]},
        {EDUBBA_TEXT("row00002"), &one, 1, NULL},
        {EDUBBA_TEXT("row00003"), &one, 1, &identities[1]},
        {EDUBBA_TEXT("row00004"), &one, 1, NULL},
    };
    SET(session, guest, GUEST);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(
            edubba_submit_rows(session.table, entries, 4, 0, on_rows, &outcomes[i], &error),
            EDUBBA_OK);
        edubba_drain(session.client);
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
    }
    cr_assert_eq(sum_of(&session, 1), 1);
    cr_assert_eq(sum_of(&session, 2), 2);
    cr_assert_eq(sum_of(&session, 3), 1);
    cr_assert_eq(sum_of(&session, 4), 2);

    entries[2].identity = &wrong;
    cr_assert_eq(edubba_submit_rows(session.table, entries, 4, 0, on_rows, &outcomes[2], &error),
                 EDUBBA_OK);
    edubba_drain(session.client);
    cr_assert_eq(outcomes[2].code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(outcomes[2].text, "2: an identity's"), "%s", outcomes[2].text);
    close_session(&session);
}

/* What a client knows of time when it submits for the first time is the master's clock.  It is told in
 * that of the server to which it goes, or it would be refused: the fake cluster looks at it. */
static void write_at_once(int64_t master_ahead_us)
{
    struct fake_cluster *fake = fake_cluster_start();
    fake->master_ahead_us = master_ahead_us;
    struct edubba_options options = default_options(fake);
    struct session session = open_with(fake, &options);
    struct edubba_error error;
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entries[] = {
        {EDUBBA_TEXT("row00001"), &one, 1, NULL},
        {EDUBBA_TEXT("row00002"), &one, 1, NULL},
    };
    SET(session, drops_before_left, 1);
    submit_add(&session, 3, 1, &outcomes[0]);
    cr_assert_eq(edubba_submit_rows(session.table, entries, 2, 0, on_rows, &outcomes[1], &error),
                 EDUBBA_OK);
    edubba_drain(session.client);
    cr_assert_eq(outcomes[0].code, EDUBBA_OK, "%s", outcomes[0].text);
    cr_assert_eq(outcomes[1].code, EDUBBA_OK, "%s", outcomes[1].text);
    cr_assert_eq(sum_of(&session, 1) + sum_of(&session, 2) + sum_of(&session, 3), 3);
    close_session(&session);
}

Test(client_identity, a_first_attempt_is_told_in_the_clock_of_its_server)
{
    write_at_once(INT64_C(3600000000));
    write_at_once(-INT64_C(3600000000));
}
