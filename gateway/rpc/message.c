#include "gateway/rpc/message.h"

#include <string.h>

#include "gateway/rpc/utf8.h"

/* --- nesting --------------------------------------------------------------------------------- */

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static bool take_varint(struct cursor *cursor, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct cursor *cursor, uint64_t size_bytes)
{
    if (size_bytes > (uint64_t)(cursor->end - cursor->at)) {
        return false;
    }
    cursor->at += size_bytes;
    return true;
}

/* The next field; *ret_inside is what it holds if it is of WIRE_BYTES. */
static bool take_field(struct cursor *cursor, uint32_t *ret_number, struct bytes *ret_inside)
{
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!take_varint(cursor, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3) {
        return false;
    }
    *ret_number = (uint32_t)(tag >> 3);
    *ret_inside = BYTES_EMPTY;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(cursor, &value);
    case WIRE_FIXED64:
        return skip(cursor, 8);
    case WIRE_FIXED32:
        return skip(cursor, 4);
    case WIRE_BYTES:
        if (!take_varint(cursor, &value)) {
            return false;
        }
        *ret_inside = bytes_of(cursor->at, (size_t)value);
        return skip(cursor, value);
    default:
        return false;
    }
}

/* C's texts end at a NUL: what holds one would be read as another text.  And what is kept is told to
 * others, whose libraries take no message with a text that is no UTF-8. */
static enum message_fault check_text(struct bytes text, bool is_kept)
{
    if (memchr(text.data, '\0', text.size_bytes) != NULL) {
        return MESSAGE_HAS_NUL;
    }
    return is_kept || utf8_is_valid(text) ? MESSAGE_IS_GOOD : MESSAGE_IS_NO_UTF8;
}

/* What a message is looked at for. */
struct look {
    const ProtobufCMessageDescriptor *descriptor;
    uint32_t depth_max;
    bool is_kept; /* then its texts are as they are */
};

static enum message_fault look_at(struct look look, struct bytes in);

/* What is inside of a field that the descriptor knows. */
static enum message_fault look_inside(struct look look,
                                      const ProtobufCFieldDescriptor *field,
                                      struct bytes inside)
{
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        return check_text(inside, look.is_kept);
    }
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return MESSAGE_IS_GOOD;
    }
    if (look.depth_max == 0) {
        return MESSAGE_IS_DEEP;
    }
    look.descriptor = field->descriptor;
    look.depth_max--;
    return look_at(look, inside);
}

static enum message_fault look_at(struct look look, struct bytes in)
{
    if (in.size_bytes == 0) {
        return MESSAGE_IS_GOOD;
    }
    struct cursor cursor = {in.data, in.data + in.size_bytes};
    enum message_fault fault = MESSAGE_IS_GOOD;
    while (cursor.at < cursor.end && fault == MESSAGE_IS_GOOD) {
        uint32_t number = 0;
        struct bytes inside;
        if (!take_field(&cursor, &number, &inside)) {
            return MESSAGE_IS_NONE;
        }
        const ProtobufCFieldDescriptor *field = inside.size_bytes > 0
                                                    ? protobuf_c_message_descriptor_get_field(
                                                          look.descriptor, number)
                                                    : NULL;
        fault = field != NULL ? look_inside(look, field, inside) : MESSAGE_IS_GOOD;
    }
    return fault;
}

enum message_fault message_look(const ProtobufCMessageDescriptor *descriptor,
                                struct bytes in,
                                uint32_t depth_max)
{
    return look_at((struct look){descriptor, depth_max, .is_kept = false}, in);
}

/* --- decoding -------------------------------------------------------------------------------- */

struct memory {
    struct arena *arena;
    bool was_refused;
};

static void *allocate(void *context, size_t size_bytes)
{
    struct memory *memory = context;
    void *piece = arena_allocate(memory->arena, size_bytes);
    memory->was_refused = memory->was_refused || piece == NULL;
    return piece;
}

/* All goes with the arena. */
static void forget(void *context, void *pointer)
{
    (void)context;
    (void)pointer;
}

static enum status refuse(const ProtobufCMessageDescriptor *descriptor,
                          enum message_fault fault,
                          struct error *ret_error)
{
    if (fault == MESSAGE_HAS_NUL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "The request holds a NUL in a text");
    }
    if (fault == MESSAGE_IS_NO_UTF8) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "The request holds a text that is no UTF-8");
    }
    if (fault == MESSAGE_IS_DEEP) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "The request is nested deeper than %d messages, as a filter of too many "
                         "levels is",
                         MESSAGE_NESTING_MAX);
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "The request is not a %s",
                     descriptor->name);
}

static enum status decode(struct look look,
                          struct bytes in,
                          struct arena *arena,
                          ProtobufCMessage **ret_message,
                          struct error *ret_error)
{
    enum message_fault fault = look_at(look, in);
    if (fault != MESSAGE_IS_GOOD) {
        return refuse(look.descriptor, fault, ret_error);
    }
    struct memory memory = {arena, false};
    ProtobufCAllocator allocator = {allocate, forget, &memory};
    ProtobufCMessage *message = protobuf_c_message_unpack(look.descriptor, &allocator,
                                                          in.size_bytes, in.data);
    if (message != NULL) {
        *ret_message = message;
        return STATUS_OK;
    }
    return memory.was_refused
               ? error_set(ret_error, STATUS_NO_MEMORY, "The request takes too much memory")
               : refuse(look.descriptor, MESSAGE_IS_NONE, ret_error);
}

enum status message_decode(const ProtobufCMessageDescriptor *descriptor,
                           struct bytes in,
                           struct arena *arena,
                           ProtobufCMessage **ret_message,
                           struct error *ret_error)
{
    const struct look look = {descriptor, MESSAGE_NESTING_MAX, .is_kept = false};
    return decode(look, in, arena, ret_message, ret_error);
}

enum status message_decode_kept(const ProtobufCMessageDescriptor *descriptor,
                                struct bytes in,
                                struct arena *arena,
                                ProtobufCMessage **ret_message,
                                struct error *ret_error)
{
    const struct look look = {descriptor, MESSAGE_NESTING_MAX, .is_kept = true};
    return decode(look, in, arena, ret_message, ret_error);
}
