/*
 * Messages that come from strangers, decoded with bounds.
 *
 * protobuf-c follows nested messages as deep as they go, and takes a struct for two bytes.  So a
 * message's nesting is measured first, along its descriptor, and what it decodes to is taken from
 * an arena that has a limit.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_RPC_MESSAGE_H
#define GATEWAY_RPC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

#define MESSAGE_NESTING_MAX 64 /* a filter of the greatest depth takes 3 a level */

/* *ret_message lives as long as the arena.
 * Errors: STATUS_INVALID_ARGUMENT (no message of that kind, nested too deep, a text with a NUL or
 * that is no UTF-8), STATUS_NO_MEMORY (the arena's limit). */
enum status message_decode(const ProtobufCMessageDescriptor *descriptor,
                           struct bytes in,
                           struct arena *arena,
                           ProtobufCMessage **ret_message,
                           struct error *ret_error);

/* One that was kept before texts were looked at: what is wrong with them must not keep it from being
 * found and deleted.  Else the same. */
enum status message_decode_kept(const ProtobufCMessageDescriptor *descriptor,
                                struct bytes in,
                                struct arena *arena,
                                ProtobufCMessage **ret_message,
                                struct error *ret_error);

enum message_fault {
    MESSAGE_IS_GOOD,    /* as far as can be seen from outside */
    MESSAGE_IS_NONE,    /* these bytes are no message */
    MESSAGE_HAS_NUL,    /* in a text */
    MESSAGE_IS_NO_UTF8, /* a text in here */
    MESSAGE_IS_DEEP,    /* a message in here lies deeper than so many */
};

/* The first that is found.  message_decode() looks so before it decodes; by itself for tests. */
enum message_fault message_look(const ProtobufCMessageDescriptor *descriptor,
                                struct bytes in,
                                uint32_t depth_max);

#endif /* GATEWAY_RPC_MESSAGE_H */
