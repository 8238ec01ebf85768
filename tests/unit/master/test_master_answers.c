/* What an answer says of the time after its reign. */
#include <criterion/criterion.h>

#include "master/shell/answers.h"

static const enum method changes[] = {METHOD_CREATE_TABLE,  METHOD_DELETE_TABLE,
                                      METHOD_ALTER_TABLE,   METHOD_SPLIT_TABLET,
                                      METHOD_MERGE_TABLETS, METHOD_PUT_DOCUMENTS};

#define CHANGES (sizeof changes / sizeof *changes)

/* Or who asked for it would ask again, and be told that it cannot be. */
Test(master_answers, that_a_change_was_made_is_said_by_who_may_not_lead_any_more)
{
    for (size_t i = 0; i < CHANGES; i++) {
        cr_assert_not(answer_is_belief(changes[i], STATUS_OK), "%d", (int)changes[i]);
        cr_assert_not(answer_is_belief(changes[i], STATUS_UNAVAILABLE));
        cr_assert_not(answer_is_belief(changes[i], STATUS_DEADLINE_EXCEEDED));
        cr_assert_not(answer_is_belief(changes[i], STATUS_ABORTED), "it was made, and undone");
        cr_assert(answer_is_belief(changes[i], STATUS_NOT_FOUND), "what is there is believed");
        cr_assert(answer_is_belief(changes[i], STATUS_ALREADY_EXISTS));
    }
    cr_assert(answer_is_belief(METHOD_LOCATE, STATUS_OK));
    cr_assert(answer_is_belief(METHOD_LIST_TABLES, STATUS_OK));
    cr_assert(answer_is_belief(METHOD_RECOVER, STATUS_OK), "it may be a look at what there is");
}

Test(master_answers, what_is_not_to_be_done_twice_is_not_asked_for_again)
{
    for (size_t i = 0; i < CHANGES; i++) {
        cr_assert_eq(answer_at_end(changes[i]), STATUS_CLOSED);
    }
    cr_assert_eq(answer_at_end(METHOD_RECOVER), STATUS_CLOSED);
    cr_assert_eq(answer_at_end(METHOD_LOCATE), STATUS_UNAVAILABLE);
    cr_assert_eq(answer_at_end(METHOD_SYNC), STATUS_UNAVAILABLE);
    cr_assert_eq(answer_at_end(METHOD_DRAIN_SERVER), STATUS_UNAVAILABLE);
}

/* UNAVAILABLE is asked for again: the loss would be accepted twice, or be refused as the tablet is led by then. */
Test(master_answers, a_loss_that_was_accepted_is_not_said_to_be_none)
{
    cr_assert_eq(answer_in_doubt(METHOD_RECOVER, STATUS_OK), STATUS_CLOSED);
    cr_assert_eq(answer_in_doubt(METHOD_RECOVER, STATUS_NOT_FOUND), STATUS_UNAVAILABLE);
    cr_assert_eq(answer_in_doubt(METHOD_LOCATE, STATUS_OK), STATUS_UNAVAILABLE);
    cr_assert_eq(answer_in_doubt(METHOD_CREATE_TABLE, STATUS_ALREADY_EXISTS), STATUS_UNAVAILABLE);
    cr_assert_eq(answer_in_doubt(METHOD_DRAIN_SERVER, STATUS_OK), STATUS_UNAVAILABLE);
}

/* By that alone a client would give up a table that is there, or an old copy be changed. */
Test(master_answers, who_has_heard_of_no_server_says_of_nothing_that_it_is_not_there)
{
    for (size_t i = 0; i < CHANGES; i++) {
        cr_assert_eq(change_needs_servers(changes[i]), changes[i] != METHOD_PUT_DOCUMENTS);
    }
    cr_assert(change_needs_servers(METHOD_DRAIN_SERVER));
    cr_assert_not(change_needs_servers(METHOD_PROPOSE), "a server's own");
    cr_assert_not(change_needs_servers(METHOD_LOCATE));
    cr_assert(answer_needs_servers(METHOD_LOCATE, STATUS_NOT_FOUND));
    cr_assert_not(answer_needs_servers(METHOD_LOCATE, STATUS_OK), "clients go on at once");
    cr_assert_not(answer_needs_servers(METHOD_SYNC, STATUS_NOT_FOUND));
}
