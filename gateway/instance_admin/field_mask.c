#include "gateway/instance_admin/field_mask.h"

#include <string.h>

#define NAME_BYTES_MAX 80

/* --- fields in protobuf-c's structs ----------------------------------------------------------- */

static const void *place_in(const ProtobufCMessage *message, unsigned offset)
{
    return (const uint8_t *)message + offset;
}

static void *place_of(ProtobufCMessage *message, unsigned offset)
{
    return (uint8_t *)message + offset;
}

static size_t size_of(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_ENUM:
        return 4;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
    return sizeof(void *);
}

static bool is_of_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

static uint32_t oneof_case(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    uint32_t which = 0;
    memcpy(&which, place_in(message, field->quantifier_offset), sizeof which);
    return which;
}

static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return !is_of_oneof(field) || oneof_case(message, field) == field->id;
}

static void copy_field(const ProtobufCFieldDescriptor *field,
                       const ProtobufCMessage *from,
                       ProtobufCMessage *to)
{
    const uint32_t none = 0;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(place_of(to, field->quantifier_offset), place_in(from, field->quantifier_offset),
               sizeof(size_t));
        memcpy(place_of(to, field->offset), place_in(from, field->offset), sizeof(void *));
        return;
    }
    if (is_set(from, field)) {
        memcpy(place_of(to, field->offset), place_in(from, field->offset), size_of(field));
        if (is_of_oneof(field)) {
            memcpy(place_of(to, field->quantifier_offset), &field->id, sizeof field->id);
        }
    } else if (is_set(to, field)) {
        memcpy(place_of(to, field->quantifier_offset), &none, sizeof none);
    }
}

/* --- messages in messages --------------------------------------------------------------------- */

static ProtobufCMessage *make(const ProtobufCMessageDescriptor *descriptor, struct arena *arena)
{
    ProtobufCMessage *message = arena_allocate(arena, descriptor->sizeof_message);
    if (message != NULL) {
        protobuf_c_message_init(descriptor, message);
    }
    return message;
}

/* The message in the field, a default one where there is none; NULL without memory. */
static const ProtobufCMessage *look_into(const ProtobufCFieldDescriptor *field,
                                         const ProtobufCMessage *from,
                                         struct arena *arena)
{
    const ProtobufCMessage *inner = NULL;
    if (is_set(from, field)) {
        memcpy(&inner, place_in(from, field->offset), sizeof inner);
    }
    return inner != NULL ? inner : make(field->descriptor, arena);
}

/* The same, and a default one is put there. */
static ProtobufCMessage *go_into(const ProtobufCFieldDescriptor *field,
                                 ProtobufCMessage *to,
                                 struct arena *arena)
{
    ProtobufCMessage *inner = NULL;
    if (is_set(to, field)) {
        memcpy(&inner, place_in(to, field->offset), sizeof inner);
    }
    if (inner != NULL) {
        return inner;
    }
    inner = make(field->descriptor, arena);
    if (inner != NULL) {
        memcpy(place_of(to, field->offset), &inner, sizeof inner);
        if (is_of_oneof(field)) {
            memcpy(place_of(to, field->quantifier_offset), &field->id, sizeof field->id);
        }
    }
    return inner;
}

/* --- paths ------------------------------------------------------------------------------------ */

struct bytes field_mask_field(struct bytes path)
{
    const uint8_t *dot = path.size_bytes > 0 ? memchr(path.data, '.', path.size_bytes) : NULL;
    return bytes_of(path.data, dot != NULL ? (size_t)(dot - path.data) : path.size_bytes);
}

static const ProtobufCFieldDescriptor *find(const ProtobufCMessageDescriptor *descriptor,
                                            struct bytes name)
{
    char text[NAME_BYTES_MAX];
    if (name.size_bytes == 0 || name.size_bytes >= sizeof text) {
        return NULL;
    }
    memcpy(text, name.data, name.size_bytes);
    text[name.size_bytes] = '\0';
    return protobuf_c_message_descriptor_get_field_by_name(descriptor, text);
}

static enum status refuse(struct bytes path,
                          const ProtobufCMessageDescriptor *descriptor,
                          struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'update_mask' : '%s' is no field of %s",
                     bytes_printable(path, text), descriptor->short_name);
}

enum status field_mask_apply(struct bytes path,
                             const ProtobufCMessage *from,
                             ProtobufCMessage *to,
                             struct arena *arena,
                             struct error *ret_error)
{
    const ProtobufCMessageDescriptor *whole = to->descriptor;
    struct bytes left = path;

    for (;;) { /* a name of the path each time */
        struct bytes name = field_mask_field(left);
        const ProtobufCFieldDescriptor *field = find(to->descriptor, name);
        if (field == NULL) {
            return refuse(path, whole, ret_error);
        }
        if (name.size_bytes == left.size_bytes) {
            copy_field(field, from, to);
            return STATUS_OK;
        }
        if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED) {
            return refuse(path, whole, ret_error);
        }
        from = look_into(field, from, arena);
        to = go_into(field, to, arena);
        if (from == NULL || to == NULL) {
            return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a field mask");
        }
        left = bytes_drop_front(left, name.size_bytes + 1);
    }
}
