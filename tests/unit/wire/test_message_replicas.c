/* Proposals, their answers, and locations with their replicas. */
#include <criterion/criterion.h>

#include "common/wire/message.h"

static enum status decode_proposal(const uint8_t *bytes, size_t size_bytes, struct error *error)
{
    struct arena arena;
    struct propose_request request;
    arena_init(&arena, 4096, SIZE_MAX);
    enum status status = propose_request_decode(bytes_of(bytes, size_bytes), &arena, &request,
                                                error);
    arena_deinit(&arena);
    return status;
}

Test(message, proposals_believe_no_count_and_no_configuration_that_cannot_be)
{
    struct error error;
    /* [1, array32 of 2^32-1 proposals, of which one begins] */
    static const uint8_t many[] = {0x92, 1, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x95, 1};
    cr_assert_eq(decode_proposal(many, sizeof many, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "propose_request.proposals") != NULL, "%s", error.text);
    /* members twice in one server: [1, [[1, 7, 1, 10, [2, 0, [[1, 10], [1, 11]]]]]] */
    static const uint8_t twice[] = {0x92, 1, 0x91, 0x95, 1, 7,  1,    10, 0x93,
                                    2,    0, 0x92, 0x92, 1, 10, 0x92, 1,  11};
    cr_assert_eq(decode_proposal(twice, sizeof twice, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "cannot be") != NULL, "%s", error.text);
    /* eight members */
    static const uint8_t eight[] = {0x92, 1,    0x91, 0x95, 1,    7,    1,    10,   0x93, 2,
                                    0,    0x98, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    cr_assert_eq(decode_proposal(eight, sizeof eight, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "too many members") != NULL, "%s", error.text);
    /* a kind that there is not */
    static const uint8_t kind[] = {0x92, 1, 0x91, 0x95, 4, 7, 1, 10, 0x93, 0, 0, 0x90};
    cr_assert_eq(decode_proposal(kind, sizeof kind, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "proposal.kind") != NULL, "%s", error.text);
}

Test(message, more_proposals_than_a_message_may_have_are_refused)
{
    struct proposal proposals[LIMIT_PROPOSALS_PER_MESSAGE + 1] = {0};
    struct buffer out = BUFFER_INIT;
    struct error error;
    for (size_t i = 0; i <= LIMIT_PROPOSALS_PER_MESSAGE; i++) {
        proposals[i].kind = PROPOSAL_MEMBERS;
    }
    propose_request_encode(&(struct propose_request){1, proposals, LIMIT_PROPOSALS_PER_MESSAGE},
                           &out);
    cr_assert_eq(decode_proposal(out.data, out.size_bytes, &error), STATUS_OK);
    out.size_bytes = 0;
    propose_request_encode(&(struct propose_request){1, proposals, LIMIT_PROPOSALS_PER_MESSAGE + 1},
                           &out);
    cr_assert_eq(decode_proposal(out.data, out.size_bytes, &error), STATUS_MALFORMED);
    buffer_deinit(&out);
}

Test(message, a_proposal_and_an_answer_keep_every_field)
{
    const struct proposal merge = {.kind = PROPOSAL_MERGE,
                                   .tablet = 1,
                                   .base = 2,
                                   .proposer = 30,
                                   .next = {4, 2, 1, {{5, 50}, {6, 60}}},
                                   .right = 7,
                                   .right_base = 8,
                                   .merged = 9};
    const struct proposed split = {PROPOSED_SPLIT, 1, {0}, 0, 2, 3, 0};
    struct propose_request request;
    struct propose_response response;
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    propose_request_encode(&(struct propose_request){3, &merge, 1}, &out);
    cr_assert_eq(propose_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert_eq(request.server, 3);
    const struct proposal *back = &request.proposals[0];
    cr_assert_eq(back->tablet, 1);
    cr_assert_eq(back->base, 2);
    cr_assert_eq(back->proposer, 30);
    cr_assert(replica_configuration_equal(&back->next, &merge.next));
    cr_assert_eq(back->right, 7);
    cr_assert_eq(back->right_base, 8);
    cr_assert_eq(back->merged, 9);
    out.size_bytes = 0;
    propose_response_encode(&(struct propose_response){&split, 1}, &out);
    cr_assert_eq(propose_response_decode(buffer_bytes(&out), &arena, &response, NULL), STATUS_OK);
    cr_assert_eq(response.answers[0].outcome, PROPOSED_SPLIT);
    cr_assert_eq(response.answers[0].left, 2);
    cr_assert_eq(response.answers[0].right, 3);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(message, other_members_are_passed_over_where_there_is_no_room_for_them)
{
    const struct bytes others[] = {bytes_of_text("tcp://two:1"), bytes_of_text("tcp://three:1")};
    const struct scan_response response = {
        .done = true,
        .has_location = true,
        .location = {.tablet = 5, .state = TABLET_SERVING, .others = others, .other_count = 2},
    };
    struct buffer out = BUFFER_INIT;
    struct scan_response read = {0};
    scan_response_encode(&response, &out);
    cr_assert_eq(scan_response_decode(buffer_bytes(&out), &read, NULL), STATUS_OK);
    cr_assert_eq(read.location.tablet, 5);
    cr_assert_eq(read.location.state, TABLET_SERVING);
    cr_assert_eq(read.location.other_count, 0);
    buffer_deinit(&out);
}

Test(message, replicas_of_other_than_all_locations_are_refused)
{
    const struct location locations[2] = {{.tablet = 1}, {.tablet = 2}};
    const struct located_replicas replicas[1] = {{.wish = GOAL_STAY}};
    const struct locate_response response = {.table = {.id = bytes_of_text("t")},
                                             .locations = locations,
                                             .location_count = 2,
                                             .replicas = replicas,
                                             .replicas_count = 1};
    struct buffer out = BUFFER_INIT;
    struct locate_response read;
    struct error error;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    locate_response_encode(&response, &out);
    cr_assert_eq(locate_response_decode(buffer_bytes(&out), &arena, &read, &error),
                 STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "not as many as locations"), "%s", error.text);
    arena_deinit(&arena);
    buffer_deinit(&out);
}
