/* Beacons and acknowledgements: what is encoded comes back; what is hostile is refused by name. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/wire/writer.h"
#include "tabletserver/replica/lease_message.h"

Test(lease_message, a_beacon_comes_back)
{
    const struct lease_beacon beacon = {
        .number = 7, .incarnation = UINT64_MAX, .exceptions_seen = 3, .seen_of = 9, .lease_ns = 5};
    struct buffer out = BUFFER_INIT;
    struct lease_beacon back;
    uint64_t server;
    lease_beacon_encode(42, &beacon, &out);
    cr_assert_eq(lease_beacon_decode(buffer_bytes(&out), &server, &back, NULL), STATUS_OK);
    cr_assert_eq(server, 42);
    cr_assert_eq(memcmp(&beacon, &back, sizeof back), 0);
    buffer_deinit(&out);
}

/* As builds wrote them that had one lease and one grace. */
Test(lease_message, what_earlier_builds_leave_out_is_not_said)
{
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    struct lease_beacon beacon = {.lease_ns = 1};
    struct lease_acknowledgement acknowledgement = {.grace_ns = 1};
    uint64_t server = 0;
    arena_init(&arena, 4096, 1 << 20);
    wire_write_array(&out, 5);
    for (int i = 0; i < 5; i++) {
        wire_write_u64(&out, 9);
    }
    cr_assert_eq(lease_beacon_decode(buffer_bytes(&out), &server, &beacon, NULL), STATUS_OK);
    cr_assert_eq(beacon.seen_of, 9);
    cr_assert_eq(beacon.lease_ns, 0);
    buffer_reset(&out);
    wire_write_array(&out, 6);
    for (int i = 0; i < 3; i++) {
        wire_write_u64(&out, 9);
    }
    wire_write_bool(&out, true);
    wire_write_u64(&out, 9);
    wire_write_array(&out, 0);
    cr_assert_eq(lease_acknowledgement_decode(buffer_bytes(&out), &arena, &acknowledgement, NULL),
                 STATUS_OK);
    cr_assert(acknowledgement.gives_lease);
    cr_assert_eq(acknowledgement.grace_ns, 0);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

static enum status read_back(struct bytes in,
                             struct arena *arena,
                             struct lease_acknowledgement *ret_back,
                             struct error *ret_error)
{
    arena_reset(arena);
    return lease_acknowledgement_decode(in, arena, ret_back, ret_error);
}

Test(lease_message, an_acknowledgement_comes_back_with_as_many_exceptions_as_there_may_be)
{
    static struct lease_exception exceptions[LEASE_EXCEPTIONS_MAX];
    struct lease_acknowledgement sent = {.number = 9,
                                         .beacon_incarnation = 5,
                                         .incarnation = 6,
                                         .gives_lease = true,
                                         .exceptions_number = 11,
                                         .exceptions = exceptions,
                                         .grace_ns = INT64_MAX};
    struct lease_acknowledgement back;
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, 1 << 20);
    for (uint32_t i = 0; i < LEASE_EXCEPTIONS_MAX; i++) {
        exceptions[i] = (struct lease_exception){.tablet = i * 3U, .version = UINT64_MAX - i};
    }
    for (uint32_t count = 0; count <= LEASE_EXCEPTIONS_MAX; count += LEASE_EXCEPTIONS_MAX / 4) {
        sent.exception_count = count;
        buffer_reset(&out);
        lease_acknowledgement_encode(&sent, &out);
        cr_assert_eq(read_back(buffer_bytes(&out), &arena, &back, NULL), STATUS_OK);
        cr_assert_eq(back.number, sent.number);
        cr_assert_eq(back.beacon_incarnation, sent.beacon_incarnation);
        cr_assert_eq(back.incarnation, sent.incarnation);
        cr_assert(back.gives_lease);
        cr_assert_eq(back.exceptions_number, sent.exceptions_number);
        cr_assert_eq(back.exception_count, count);
        cr_assert_eq(back.grace_ns, sent.grace_ns);
        cr_assert(count == 0 ||
                  memcmp(back.exceptions, exceptions, count * sizeof *exceptions) == 0);
    }
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(lease_message, more_exceptions_than_there_may_be_are_refused)
{
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    struct lease_acknowledgement back;
    struct error error = {.status = STATUS_OK};
    arena_init(&arena, 4096, 1 << 20);
    wire_write_array(&out, 6);
    for (int i = 0; i < 3; i++) {
        wire_write_u64(&out, 1);
    }
    wire_write_bool(&out, true);
    wire_write_u64(&out, 1);
    wire_write_array(&out, LEASE_EXCEPTIONS_MAX + 1);
    for (int i = 0; i < LEASE_EXCEPTIONS_MAX + 1; i++) {
        wire_write_array(&out, 2);
        wire_write_u64(&out, 1);
        wire_write_u64(&out, 1);
    }
    cr_assert_eq(read_back(buffer_bytes(&out), &arena, &back, &error), STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "beacon_ack.exceptions"), "%s", error.text);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

/* Every message cut short, and every byte of it changed: refused, or decoded; never worse. */
Test(lease_message, damage_is_harmless)
{
    const struct lease_exception exceptions[3] = {{1, 2}, {300, 4}, {70000, 6}};
    const struct lease_acknowledgement sent = {
        .number = 9, .exceptions_number = 3, .exceptions = exceptions, .exception_count = 3};
    struct lease_acknowledgement back;
    struct buffer out = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 4096, 1 << 20);
    lease_acknowledgement_encode(&sent, &out);
    for (size_t size = 0; size < out.size_bytes; size++) {
        uint8_t *copy = memory_allocate(size + 1);
        memcpy(copy, out.data, size);
        cr_assert_eq(read_back(bytes_of(copy, size), &arena, &back, NULL), STATUS_MALFORMED);
        memory_free(copy);
    }
    for (size_t at = 0; at < out.size_bytes; at++) {
        for (unsigned value = 0; value < 256; value++) {
            uint8_t before = out.data[at];
            out.data[at] = (uint8_t)value;
            if (read_back(buffer_bytes(&out), &arena, &back, NULL) == STATUS_OK) {
                cr_assert_leq(back.exception_count, 3);
            }
            out.data[at] = before;
        }
    }
    buffer_deinit(&out);
    arena_deinit(&arena);
}
