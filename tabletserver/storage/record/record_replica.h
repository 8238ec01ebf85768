/*
 * What log records say that exist because a tablet has several copies: the payloads of types 5 to 9,
 * entries of the replicated log that begin and lift barriers of a merge and a split
 * (docs/replication.md, section 7), and of types 16 and 17, the store's own notes of the configuration
 * that it has adopted, and that the catalog has replaced the tablet by what its SPLIT names.  Offset
 * tables: docs/storage-format.md.
 *
 * SPLIT_ABORTED, THAWED and ABSORB_ABORTED have no payload: nothing is given out behind a barrier,
 * so what they lift is the entry before.
 *
 * Decoding trusts nothing.  Pure.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_RECORD_REPLICA_H
#define TABLETSERVER_STORAGE_RECORD_RECORD_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/replica_configuration.h"

/* In the right tablet of a merge: it goes into `merged`, together with `left`. */
struct record_frozen {
    uint64_t merged_tablet;
    uint64_t left_tablet;
};

/* In the left one: `right`, frozen at that sequence under that version, goes into `merged` too. */
struct record_absorb {
    uint64_t merged_tablet;
    uint64_t right_tablet;
    uint64_t right_sequence;
    uint64_t right_version;
};

/* As struct replica_flags.  The store looks at two of them: who notes doubt is not alone, nor who is
 * doubtful. */
struct record_replica_flags {
    bool opened;      /* under this version (rule 4) */
    bool doubt_noted; /* a lone primary is about to propose (rule 2) */
    bool bound;       /* grants of this store's may be out (rule 11) */
    bool damaged;     /* to be taught anew (section 9) */
    bool doubtful;    /* it has lost what it had promised (rule 20) */
};

/* CONFIGURATION; and CONVERSION: under which the children begin, and where: at the barrier. */
struct record_configuration {
    struct replica_configuration configuration;
    uint8_t role; /* enum replica_role: the replica's, not looked at here */
    struct record_replica_flags flags;
    uint64_t kept_sequence; /* entries above it are dropped (rules 4, 16) */
};

void record_encode_frozen(const struct record_frozen *frozen, struct buffer *out);
void record_encode_absorb(const struct record_absorb *absorb, struct buffer *out);
/* Requires: a sound configuration. */
void record_encode_configuration(const struct record_configuration *record, struct buffer *out);

/* Errors: STATUS_CORRUPT with what is wrong; of a configuration STATUS_VERSION, too (a flag that
 * this program does not know). */
enum status record_decode_frozen(struct bytes payload,
                                 struct record_frozen *ret_frozen,
                                 struct error *ret_error);
enum status record_decode_absorb(struct bytes payload,
                                 struct record_absorb *ret_absorb,
                                 struct error *ret_error);
enum status record_decode_configuration(struct bytes payload,
                                        struct record_configuration *ret_record,
                                        struct error *ret_error);

/* Of the three that lift a barrier. */
enum status record_decode_lift(struct bytes payload, struct error *ret_error);

/* The parts of CONFIGURATION that the tablet's metadata record has as well: members, flags. */
struct byte_reader;
void record_append_members(struct buffer *out, const struct replica_configuration *configuration);
/* version is not among it.  reader->failed unless they are sound. */
void record_read_members(struct byte_reader *reader,
                         uint64_t version,
                         struct replica_configuration *ret_configuration);
void record_append_flags(struct buffer *out, struct record_replica_flags flags);
/* False: it has flags that this program does not know. */
bool record_read_flags(struct byte_reader *reader, struct record_replica_flags *ret_flags);

#endif /* TABLETSERVER_STORAGE_RECORD_RECORD_REPLICA_H */
