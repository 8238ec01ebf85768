/*
 * Field masks: some fields of one message written over those of another of its kind.
 *
 * A path names a field by its name in the .proto file, or one inside of it ("a.b.c").  Where the
 * message it is taken from has none, the field becomes its default.  Repeated fields and maps are
 * replaced as a whole.
 *
 * Pure.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_FIELD_MASK_H
#define GATEWAY_INSTANCE_ADMIN_FIELD_MASK_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

/* Write the field over that of `to`, which borrows from `from` afterwards; messages that have to be
 * made on the way lie in the arena.
 * Errors: STATUS_INVALID_ARGUMENT (there is no such field), STATUS_NO_MEMORY. */
enum status field_mask_apply(struct bytes path,
                             const ProtobufCMessage *from,
                             ProtobufCMessage *to,
                             struct arena *arena,
                             struct error *ret_error);

/* The path's first name: the field of the message itself. */
struct bytes field_mask_field(struct bytes path);

#endif /* GATEWAY_INSTANCE_ADMIN_FIELD_MASK_H */
