/*
 * What holds of all messages beside that they come back as they went (test_message.c): claimed counts, later fields, heads.
 * What single ones promise: test_message_documents.c, _filter, _load, _operations, _replicas.
 */
#include "message_claims.h"

#include "common/wire/writer.h"

Test(message, huge_claimed_counts_allocate_nothing)
{
    /* [client, first_unfinished, array32 of 2^32-1 operations], and the like for a scan. */
    static const uint8_t operations[] = {0x93, 1, 1, 0xdd, 0xff, 0xff, 0xff, 0xff, 0x91, 1};
    static const uint8_t scan[] = {0x96, 1, 0xdd, 0x7f, 0xff, 0xff, 0xff, 0x92, 0xa0, 0xa0};
    EXPECT_CLAIM_REFUSED(operations_request, operations, "operations_request.operations");
    EXPECT_CLAIM_REFUSED(scan_request, scan, "scan_request.rows");
}

Test(message, later_fields_are_ignored_and_missing_ones_are_zero)
{
    struct buffer out = BUFFER_INIT;
    struct split_request request;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    wire_write_array(&out, 5);
    wire_write_bytes(&out, bytes_of_text("table"));
    wire_write_bytes(&out, bytes_of_text("row"));
    wire_write_f64(&out, 1.5);
    wire_write_array(&out, 2);
    wire_write_nil(&out);
    wire_write_array(&out, 0);
    wire_write_bytes(&out, bytes_of_text("from the future"));
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert(bytes_equal(request.row, bytes_of_text("row")));

    buffer_reset(&out);
    wire_write_array(&out, 1);
    wire_write_bytes(&out, bytes_of_text("table"));
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_OK);
    cr_assert(bytes_equal(request.table, bytes_of_text("table")));
    cr_assert_eq(request.row.size_bytes, 0);

    buffer_append_u8(&out, 0xc0);
    cr_assert_eq(split_request_decode(buffer_bytes(&out), &arena, &request, NULL), STATUS_MALFORMED,
                 "bytes behind the end");
    arena_deinit(&arena);
    buffer_deinit(&out);
}

Test(message, heads_leave_the_body)
{
    struct buffer out = BUFFER_INIT;
    struct request_head head = {.deadline_ms = 250, .trace = 42};
    struct request_head request_head;
    struct response_head response = {.status = STATUS_NOT_FOUND, .text = bytes_of_text("no such")};
    struct response_head response_head;
    struct bytes body;
    request_head_encode(&head, &out);
    buffer_append(&out, "body", 4);
    cr_assert_eq(request_head_decode(buffer_bytes(&out), &request_head, &body, NULL), STATUS_OK);
    cr_assert_eq(request_head.deadline_ms, 250);
    cr_assert_eq(request_head.trace, 42);
    cr_assert(bytes_equal(body, bytes_of_text("body")));
    buffer_reset(&out);
    response_head_encode(&response, &out);
    cr_assert_eq(response_head_decode(buffer_bytes(&out), &response_head, &body, NULL), STATUS_OK);
    cr_assert_eq(response_head.status, STATUS_NOT_FOUND);
    cr_assert(bytes_equal(response_head.text, bytes_of_text("no such")));
    cr_assert_eq(body.size_bytes, 0);
    buffer_deinit(&out);
}
