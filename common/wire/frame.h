/*
 * Frames: how messages travel on a connection.
 *
 *   offset size
 *        0    4  payload length, little-endian, at most FRAME_PAYLOAD_BYTES_MAX
 *        4    1  type (enum frame_type)
 *        5    1  flags: bit 0 MORE = the message goes on in the next frame of the same request;
 *                       bit 1 STREAM = another message of the same request follows after this one
 *        6    2  method (REQUEST only; else 0)
 *        8    8  request number, chosen by the dialling side, rising, never 0 but in HELLO
 *       16    4  checksum32 of bytes 0..15, seeded with the payload's checksum64 (seed 0; 0 if it is
 *                 empty), of common/base/checksum.h
 *       20    .  payload
 *
 * A message is the concatenated payload of its frames; frames of different requests interleave, so
 * a large message never blocks a small one for longer than one frame.  Whoever dials says HELLO
 * first and sends nothing else before HELLO_ACK.
 *
 * This module is pure.
 */
#ifndef COMMON_WIRE_FRAME_H
#define COMMON_WIRE_FRAME_H

#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/limits.h"

#define FRAME_HEADER_BYTES      20
#define FRAME_PAYLOAD_BYTES_MAX (LIMIT_FRAME_BYTES - FRAME_HEADER_BYTES)

#define FRAME_FLAG_MORE   1
#define FRAME_FLAG_STREAM 2

enum frame_type {
    FRAME_HELLO = 1,     /* dialler: versions, features, lane, who I am */
    FRAME_HELLO_ACK = 2, /* listener: the version and features agreed on, its time */
    FRAME_REQUEST = 3,
    FRAME_RESPONSE = 4,
    FRAME_CREDIT = 5, /* dialler: so many more bytes of this request's stream are welcome */
    FRAME_CANCEL = 6, /* dialler: no longer interested; the listener may still answer */
    FRAME_GOAWAY = 7, /* listener: no new requests please; payload says why */
};

struct frame_header {
    uint32_t payload_bytes;
    enum frame_type type;
    uint8_t flags;
    uint16_t method;
    uint64_t request;
    uint32_t checksum;
};

/* The header's checksum field is computed here. */
void frame_header_encode(const struct frame_header *header,
                         struct bytes payload,
                         uint8_t out[FRAME_HEADER_BYTES]);

/* Errors: STATUS_MALFORMED (length, type or flags out of range). */
enum status frame_header_decode(const uint8_t in[FRAME_HEADER_BYTES],
                                struct frame_header *ret_header,
                                struct error *ret_error);

/* Errors: STATUS_MALFORMED when payload and checksum differ. */
enum status frame_check(const uint8_t header[FRAME_HEADER_BYTES],
                        struct bytes payload,
                        struct error *ret_error);

#endif /* COMMON_WIRE_FRAME_H */
