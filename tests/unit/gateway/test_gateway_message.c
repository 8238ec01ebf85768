/* Messages from strangers: how deep they may lie, what a text may hold, how much they may take. */
#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "data.pb-c.h"
#include "gateway/rpc/message.h"

#define FIELD_FILTER      3 /* of ReadRowsRequest */
#define FIELD_TABLE       1
#define FIELD_CHAIN       1 /* of RowFilter, and of its Chain what is in it */
#define FIELD_VALUE_REGEX 9 /* of RowFilter */

typedef Google__Bigtable__V2__ReadRowsRequest Request;

static const ProtobufCMessageDescriptor
    *const kind = &google__bigtable__v2__read_rows_request__descriptor;

static uint8_t room[1 << 16];
static struct arena arena;

static void begin(void)
{
    arena_init(&arena, 4096, 1 << 20);
}

static void end(void)
{
    arena_deinit(&arena);
}

TestSuite(gateway_message, .init = begin, .fini = end);

/* Put what is in the room, size bytes of it, into a field; the new size. */
static size_t wrap(uint8_t field, size_t size)
{
    uint8_t head[4] = {(uint8_t)(field << 3 | 2), (uint8_t)(size | 0x80), (uint8_t)(size >> 7)};
    cr_assert_lt(size, 1 << 14);
    memmove(room + 3, room, size);
    memcpy(room, head, 3);
    return size + 3;
}

static enum status decode(size_t size, Request **ret_request)
{
    struct error error = {.status = STATUS_OK};
    ProtobufCMessage *message = NULL;
    enum status status = message_decode(kind, bytes_of(room, size), &arena, &message, &error);
    cr_assert_eq(status, error.status);
    cr_assert_eq(status == STATUS_OK, message != NULL);
    *ret_request = (Request *)message;
    return status;
}

/* A request whose deepest message lies so many below it. */
static size_t nested(uint32_t depth)
{
    size_t size = 0;
    for (uint32_t i = 1; i < depth; i++) {
        size = wrap(FIELD_CHAIN, size);
    }
    return wrap(FIELD_FILTER, size);
}

Test(gateway_message, an_empty_one_is_all_defaults)
{
    Request *request = NULL;
    cr_assert_eq(decode(0, &request), STATUS_OK);
    cr_assert_str_eq(request->table_name, "");
    cr_assert_null(request->filter);
    cr_assert_eq(message_look(kind, BYTES_EMPTY, 0), MESSAGE_IS_GOOD);
}

Test(gateway_message, depth_is_bounded)
{
    Request *request = NULL;
    for (uint32_t depth = 2; depth < 200; depth++) {
        size_t size = nested(depth);
        /* The innermost is empty and is not looked into. */
        enum status expected = depth - 1 <= MESSAGE_NESTING_MAX ? STATUS_OK
                                                                : STATUS_INVALID_ARGUMENT;
        cr_assert_eq(decode(size, &request), expected, "%u", depth);
        cr_assert_eq(message_look(kind, bytes_of(room, size), depth - 1), MESSAGE_IS_GOOD);
        cr_assert_eq(message_look(kind, bytes_of(room, size), depth - 2), MESSAGE_IS_DEEP);
        arena_reset(&arena);
    }
}

Test(gateway_message, a_text_ends_at_its_end)
{
    Request *request = NULL;
    memcpy(room, "tables", 6);
    cr_assert_eq(decode(wrap(FIELD_TABLE, 6), &request), STATUS_OK);
    cr_assert_str_eq(request->table_name, "tables");
    memcpy(room, "tab\0es", 6);
    cr_assert_eq(decode(wrap(FIELD_TABLE, 6), &request), STATUS_INVALID_ARGUMENT);
}

/* Of an instance's display name, say, which is told to all who list instances. */
Test(gateway_message, a_text_is_utf_8)
{
    Request *request = NULL;
    memcpy(room, "t\xc3\xa4g", 4);
    cr_assert_eq(decode(wrap(FIELD_TABLE, 4), &request), STATUS_OK);
    cr_assert_str_eq(request->table_name, "t\xc3\xa4g");
    memcpy(room, "t\xe4g", 3);
    size_t size = wrap(FIELD_TABLE, 3);
    cr_assert_eq(decode(size, &request), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(message_look(kind, bytes_of(room, size), 1), MESSAGE_IS_NO_UTF8);
}

Test(gateway_message, what_was_kept_may_hold_another_text)
{
    ProtobufCMessage *message = NULL;
    memcpy(room, "t\xe4g", 3);
    size_t size = wrap(FIELD_TABLE, 3);
    cr_assert_eq(message_decode_kept(kind, bytes_of(room, size), &arena, &message, NULL),
                 STATUS_OK);
    cr_assert_str_eq(((const Request *)message)->table_name, "t\xe4g");
    memcpy(room, "t\0g", 3);
    size = wrap(FIELD_TABLE, 3);
    cr_assert_eq(message_decode_kept(kind, bytes_of(room, size), &arena, &message, NULL),
                 STATUS_INVALID_ARGUMENT);
}

/* Keys, qualifiers, values and patterns are bytes. */
Test(gateway_message, bytes_are_any)
{
    Request *request = NULL;
    memcpy(room, "\xff\0\xe4", 3);
    size_t size = wrap(FIELD_VALUE_REGEX, 3);
    size = wrap(FIELD_FILTER, size);
    cr_assert_eq(decode(size, &request), STATUS_OK);
    cr_assert_eq(request->filter->value_regex_filter.len, 3);
    cr_assert_eq(memcmp(request->filter->value_regex_filter.data, "\xff\0\xe4", 3), 0);
}

Test(gateway_message, what_is_wrong_is_said_and_nothing_else)
{
    struct error error = {.status = STATUS_OK};
    ProtobufCMessage *message = NULL;
    size_t size = nested(MESSAGE_NESTING_MAX + 2);
    cr_assert_eq(message_decode(kind, bytes_of(room, size), &arena, &message, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "The request is nested deeper than 64 messages, as a filter of "
                                 "too many levels is");
    memcpy(room, "tab\0es", 6);
    size = wrap(FIELD_TABLE, 6);
    cr_assert_eq(message_decode(kind, bytes_of(room, size), &arena, &message, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "The request holds a NUL in a text");
    memcpy(room, "table\xff", 6);
    size = wrap(FIELD_TABLE, 6);
    cr_assert_eq(message_decode(kind, bytes_of(room, size), &arena, &message, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "The request holds a text that is no UTF-8");
    cr_assert_eq(message_decode(kind, bytes_of(room, size - 1), &arena, &message, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "The request is not a google.bigtable.v2.ReadRowsRequest");
}

Test(gateway_message, every_cut_is_refused_or_decodes)
{
    Request *request = NULL;
    size_t size = nested(20);
    for (size_t cut = 1; cut < size; cut++) {
        cr_assert_eq(decode(cut, &request), STATUS_INVALID_ARGUMENT, "%zu", cut);
    }
}

Test(gateway_message, memory_is_the_arenas)
{
    Request *request = NULL;
    memset(room, 'x', 1000);
    size_t size = wrap(FIELD_TABLE, 1000);
    arena.limit_bytes = 900;
    cr_assert_eq(decode(size, &request), STATUS_NO_MEMORY);
    arena.limit_bytes = 1 << 20;
    bool is_decoded = false;
    for (uint64_t after = 0; after < 20 && !is_decoded; after++) {
        arena_deinit(&arena);
        memory_fail_arm(after, 1);
        enum status status = decode(size, &request);
        memory_fail_disarm();
        is_decoded = status == STATUS_OK;
        cr_assert(is_decoded || status == STATUS_NO_MEMORY);
    }
    cr_assert(is_decoded);
}
