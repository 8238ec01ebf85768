/*
 * Catalog records: how each thing that the catalog knows is kept by the coordinator.
 *
 *   key                       value
 *   'I'                       identity: format version, cluster number, generation, predecessor
 *   'C'                       counters: next table, next tablet, catalog version, first tablet
 *   'S' server number (be64)  server: address, zone, incarnation, its stores
 *   'T' table number (be64)   table: the schema, as the wire carries it
 *   'P' tablet number (be64)  tablet: range, configuration (version, members, who leads), what is
 *                             wished for it, its state
 *   'D' table number (be64)   dropped: the version at which the table was dropped, and which
 *                             tablets it had; kept for ever, so that a server that was away for
 *                             long still learns of it
 *   'E' tablet number (be64)  more of these, from that one on, where there are more than
 *                             RECORD_DROPPED_RANGES_MAX ranges of them
 *   'N' document number (be64)  document: a name and bytes that only clients understand
 *
 *   value:  offset size
 *                0    1  layout: RECORD_LAYOUT, of tablets RECORD_LAYOUT_TABLET, which reads
 *                        lower ones; a higher one is refused as STATUS_VERSION
 *                1    .  fields in the order of the struct (of tablets: of tablet_record_encode()):
 *                        numbers as varints, bytes as a varint length and the bytes; a reader
 *                        ignores what follows the fields it knows
 *             last    4  checksum of all before it, seeded by the checksum of the key, so that a
 *                        good value under the wrong key fails as surely as a bad one
 *
 * Decoded bytes borrow from the value; arrays are in the arena.  Errors of every decode:
 * STATUS_CORRUPT or STATUS_VERSION naming the record, STATUS_NO_MEMORY.  Pure.
 */
#ifndef MASTER_CORE_RECORD_RECORD_H
#define MASTER_CORE_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/replica_configuration.h"
#include "common/model/row_set.h"
#include "common/model/schema.h"
#include "common/wire/message.h"

#define RECORD_LAYOUT        1
#define RECORD_LAYOUT_TABLET 2 /* 1: one copy, no goal */
#define RECORD_KEY_BYTES_MAX 9
#define CATALOG_FORMAT       1 /* of the catalog as a whole */
/* Of a record, which a coordinator may refuse from 1 MiB on: two numbers each, of up to ten bytes. */
#define RECORD_DROPPED_RANGES_MAX 50000
#define RECORD_STORES_MAX         256
#define RECORD_KIND_IDENTITY      'I'
#define RECORD_KIND_COUNTERS      'C'
#define RECORD_KIND_SERVER        'S'
#define RECORD_KIND_TABLE         'T'
#define RECORD_KIND_TABLET        'P'
#define RECORD_KIND_DROPPED       'D'
#define RECORD_KIND_DROPPED_MORE  'E'
#define RECORD_KIND_DOCUMENT      'N'

struct record_key {
    uint8_t data[RECORD_KEY_BYTES_MAX];
    size_t size_bytes;
};

struct identity_record {
    uint32_t format;      /* CATALOG_FORMAT of the newest writer */
    uint64_t cluster;     /* chosen when the catalog was made */
    uint64_t generation;  /* who this catalog is: drawn once, when it was made; kept by an import */
    uint64_t predecessor; /* generation of a lost one in whose place a person put it; 0 = none */
};

struct counters_record {
    uint64_t table_next; /* numbers below it were given out, and never are again */
    uint64_t tablet_next;
    uint64_t version; /* of the catalog: of the last transaction */
    /* Numbers below it may have been given out by a catalog that is lost, or by a version of the
     * master that kept no such mark: what they stand for is not known. */
    uint64_t tablet_first;
};

struct store_record {
    uint64_t number;
    struct bytes folder;
};

struct server_record {
    uint64_t number;
    uint64_t changed_version;
    uint64_t incarnation;
    struct bytes address;
    struct bytes http_address;
    struct bytes zone;
    const struct store_record *stores;
    size_t store_count;
    bool draining;   /* its tablets are to go elsewhere, and none may come */
    bool replicates; /* it proposes, and looks at goals */
};

bool server_record_lists(const struct server_record *record, uint64_t store);

struct table_record {
    uint64_t changed_version;
    struct table table;
};

#define TABLET_FLAG_START_BY_HAND 1 /* a person asked for this boundary: never merge across it */
#define TABLET_FLAG_MERGE_BY_LOAD 2 /* in what is written alone: its goal's merge is not by_hand */

/* What the master wishes of a tablet, never what is: the members of the configuration follow it when
 * their primary proposes so. */
struct tablet_goal {
    uint32_t store_count;
    uint64_t stores[LIMIT_REPLICAS]; /* ascending; on different servers when they were chosen */
    uint64_t leader;                 /* the one of them that should lead; 0 = whoever */
    enum goal_wish wish;
    bool by_hand;     /* SPLIT, MERGE: a person asked for it */
    uint64_t left;    /* SPLIT: numbers of the children; MERGE: the two neighbours */
    uint64_t right;   /* the same */
    uint64_t merged;  /* MERGE: number of what they become */
    struct bytes row; /* SPLIT: first row of the right child */
};

struct tablet_record {
    uint64_t number;
    uint64_t changed_version;
    uint64_t table;
    struct replica_configuration configuration;
    uint32_t state; /* enum tablet_state */
    uint32_t flags;
    uint64_t parent;   /* split from, or the left one of those it was merged from; 0 = none */
    uint64_t absorbed; /* the right one of those it was merged from; 0 = none */
    uint64_t soft_limit_bytes;
    struct row_range range;
    struct tablet_goal goal;
    /* Chosen by hand, when all members were lost, with what was lost accepted; version 0 = never. */
    uint64_t recovered_version; /* of the configuration that was made then */
    uint64_t recovered_us;
    char recovered_by[RECOVER_WHO_BYTES_MAX + 1]; /* who ordered it */
};

static inline struct replica_member tablet_record_leader(const struct tablet_record *record)
{
    return replica_configuration_leader(&record->configuration);
}

/* A tablet with one copy, and no wish for it but to stay. */
void tablet_record_place(struct tablet_record *record,
                         uint64_t version,
                         struct replica_member member);

/* One store more; the goal has room, and does not name it. */
void tablet_goal_add(struct tablet_goal *goal, uint64_t store);
/* One less; who should lead is left open if that was it. */
void tablet_goal_remove(struct tablet_goal *goal, uint64_t store);
void tablet_goal_wish_nothing(struct tablet_goal *goal);
void tablet_goal_wish_split(
    struct tablet_goal *goal, struct bytes row, uint64_t left, uint64_t right, bool by_hand);
bool tablet_goal_names(const struct tablet_goal *goal, uint64_t store);

/* Is the row strictly inside, so that both sides have a key? */
bool tablet_record_may_split_at(const struct tablet_record *record, struct bytes row);

/* Has the configuration just the members of the goal, and whom it wants to lead, and is nothing
 * else wished? */
bool tablet_record_is_at_goal(const struct tablet_record *record);

struct number_range {
    uint64_t first;
    uint64_t count;
};

/* Of a table all that it had, or as many as one record may have, and the next ones, in order. */
struct dropped_record {
    uint64_t number; /* of the table */
    uint64_t changed_version;
    const struct number_range *tablets; /* ascending, disjoint */
    size_t tablet_range_count;
};

/* Under a number, as a name may be longer than a coordinator's keys. */
struct document_record {
    uint64_t number; /* the catalog's version when it was made */
    uint64_t changed_version;
    struct bytes name;    /* 1 to LIMIT_DOCUMENT_NAME_BYTES */
    struct bytes content; /* 1 to LIMIT_DOCUMENT_BYTES */
};

struct record_key record_key_of(char kind, uint64_t number);
static inline struct bytes record_key_bytes(const struct record_key *key)
{
    return (struct bytes){key->data, key->size_bytes};
}

/* *ret_number is 0 for kinds that have none. */
enum status record_key_decode(struct bytes key,
                              char *ret_kind,
                              uint64_t *ret_number,
                              struct error *ret_error);

/* Append the value; a failed buffer says that memory ran out. */
void identity_record_encode(const struct identity_record *record, struct buffer *out);
void counters_record_encode(const struct counters_record *record, struct buffer *out);
void server_record_encode(const struct server_record *record, struct buffer *out);
void table_record_encode(const struct table_record *record, struct buffer *out);
void tablet_record_encode(const struct tablet_record *record, struct buffer *out);
/* Up to RECORD_DROPPED_RANGES_MAX ranges.  More: the first of them is the key. */
void dropped_record_encode(const struct dropped_record *record, struct buffer *out);
void dropped_more_record_encode(const struct dropped_record *record, struct buffer *out);
void document_record_encode(const struct document_record *record, struct buffer *out);

enum status identity_record_decode(struct bytes value,
                                   struct identity_record *ret_record,
                                   struct error *ret_error);
enum status counters_record_decode(struct bytes value,
                                   struct counters_record *ret_record,
                                   struct error *ret_error);
enum status server_record_decode(uint64_t number,
                                 struct bytes value,
                                 struct arena *arena,
                                 struct server_record *ret_record,
                                 struct error *ret_error);
enum status table_record_decode(uint64_t number,
                                struct bytes value,
                                struct arena *arena,
                                struct table_record *ret_record,
                                struct error *ret_error);
enum status tablet_record_decode(uint64_t number,
                                 struct bytes value,
                                 struct tablet_record *ret_record,
                                 struct error *ret_error);
enum status dropped_record_decode(uint64_t number,
                                  struct bytes value,
                                  struct arena *arena,
                                  struct dropped_record *ret_record,
                                  struct error *ret_error);
enum status dropped_more_record_decode(uint64_t tablet,
                                       struct bytes value,
                                       struct arena *arena,
                                       struct dropped_record *ret_record,
                                       struct error *ret_error);
enum status document_record_decode(uint64_t number,
                                   struct bytes value,
                                   struct document_record *ret_record,
                                   struct error *ret_error);

#endif /* MASTER_CORE_RECORD_RECORD_H */
