/*
 * Every limit that two modules must agree on, with where it comes from.
 * Bigtable's are the published ones; ours say why they are what they are.
 */
#ifndef COMMON_BASE_LIMITS_H
#define COMMON_BASE_LIMITS_H

/* Bigtable's data model. */
#define LIMIT_ROW_KEY_BYTES         4096
#define LIMIT_QUALIFIER_BYTES       16384
#define LIMIT_FAMILY_NAME_BYTES     64
#define LIMIT_TABLE_ID_BYTES        50
#define LIMIT_NAME_PART_BYTES       80 /* of a project or an instance in a table's name */
#define LIMIT_VALUE_BYTES           (100 * 1024 * 1024)
#define LIMIT_ROW_BYTES             (256 * 1024 * 1024)
#define LIMIT_FAMILIES_PER_TABLE    100
#define LIMIT_MUTATIONS_PER_REQUEST 100000
#define LIMIT_FILTER_BYTES          20480
#define LIMIT_FILTER_DEPTH          20
#define LIMIT_GC_RULE_BYTES         500
#define LIMIT_LABEL_BYTES           15
#define LIMIT_SPLITS_PER_CREATE     1000 /* ours: bounds one catalog transaction */

/* Copies of a tablet: ours; one less than a configuration holds, as a move adds before it removes. */
#define LIMIT_REPLICAS              6
#define LIMIT_ZONE_BYTES            128 /* a tablet server's zone */
#define LIMIT_PROPOSALS_PER_MESSAGE 100 /* bounds one catalog transaction */

/* Documents of the catalog: ours; the master holds them all in memory. */
#define LIMIT_DOCUMENT_NAME_BYTES  512
#define LIMIT_DOCUMENT_BYTES       (64 * 1024)
#define LIMIT_DOCUMENT_EXTRA_BYTES 128 /* what each counts beside its name and content */
#define LIMIT_DOCUMENTS_BYTES      (64 * 1024 * 1024)
#define LIMIT_DOCUMENTS_PER_PUT    128 /* bounds one catalog transaction */

/* The wire (docs/wire.md). */
#define LIMIT_FRAME_BYTES            (1024 * 1024)       /* one frame, header included */
#define LIMIT_MESSAGE_BYTES          (288 * 1024 * 1024) /* a whole row, or two of the largest values */
#define LIMIT_OPERATION_BYTES        (LIMIT_MESSAGE_BYTES - 64 * 1024) /* with room for heads */
#define LIMIT_OPERATIONS_PER_MESSAGE 4096

/* Exactly once (docs/client.md): older attempts are refused, never applied. */
#define LIMIT_DEDUPE_WINDOW_US (INT64_C(15) * 60 * 1000 * 1000)

_Static_assert(LIMIT_MESSAGE_BYTES > LIMIT_ROW_BYTES, "a row that may be read must fit a message");

#endif /* COMMON_BASE_LIMITS_H */
