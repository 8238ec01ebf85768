/*
 * Beacons and their acknowledgements as they travel (method BEACON, docs/wire.md): MessagePack arrays
 * of the fields of lease.h, in their order, the sender's server number before a beacon's.
 *
 * Decoders follow common/wire/reader.h: bounded, nothing believed.  An acknowledgement names at most
 * LEASE_EXCEPTIONS_MAX exceptions.  Errors: STATUS_MALFORMED naming message and field,
 * STATUS_NO_MEMORY.  Encoders append to a buffer, which may fail: check buffer->failed.
 *
 * Pure.  Thread rule: values.
 */
#ifndef TABLETSERVER_REPLICA_LEASE_MESSAGE_H
#define TABLETSERVER_REPLICA_LEASE_MESSAGE_H

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "tabletserver/replica/lease.h"

void lease_beacon_encode(uint64_t server, const struct lease_beacon *beacon, struct buffer *out);
enum status lease_beacon_decode(struct bytes in,
                                uint64_t *ret_server,
                                struct lease_beacon *ret_beacon,
                                struct error *ret_error);

void lease_acknowledgement_encode(const struct lease_acknowledgement *acknowledgement,
                                  struct buffer *out);
/* Exceptions are in the arena. */
enum status lease_acknowledgement_decode(struct bytes in,
                                         struct arena *arena,
                                         struct lease_acknowledgement *ret_acknowledgement,
                                         struct error *ret_error);

#endif /* TABLETSERVER_REPLICA_LEASE_MESSAGE_H */
