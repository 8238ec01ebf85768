/*
 * What is said to etcd and what it answers, as its JSON gateway has it (etcd 3.4, /v3/...): keys and
 * values in base64, 64-bit numbers as text, members that are zero left out.
 *
 * Encoders append to a buffer whose failure says that memory ran out.  Decoders take nothing for
 * granted: an answer that is not what it should be is STATUS_MALFORMED, and says what is wrong.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef MASTER_COORDINATOR_ETCD_CODEC_H
#define MASTER_COORDINATOR_ETCD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"

/* --- asking ------------------------------------------------------------------------------------- */

/* The keys [key, end); one key when end is empty. */
struct etcd_span {
    struct bytes key;
    struct bytes end;
};

enum etcd_comparison_type {
    ETCD_CREATED_IS, /* the key was made at this revision; 0 = it is not there */
    ETCD_VALUE_IS,   /* the key is there and has this value */
};

struct etcd_comparison {
    enum etcd_comparison_type type;
    struct bytes key;
    int64_t created;
    struct bytes value;
};

enum etcd_operation_type {
    ETCD_PUT,
    ETCD_DELETE,
    ETCD_READ,
};

struct etcd_operation {
    enum etcd_operation_type type;
    struct etcd_span span; /* PUT: its key */
    struct bytes value;    /* PUT */
    int64_t lease;         /* PUT; 0 = none */
};

/* Do what `then` says where all comparisons hold, else what `otherwise` says: at one revision. */
struct etcd_transaction {
    const struct etcd_comparison *comparisons;
    size_t comparison_count;
    const struct etcd_operation *then;
    size_t then_count;
    const struct etcd_operation *otherwise;
    size_t otherwise_count;
};

void etcd_transaction_encode(const struct etcd_transaction *transaction, struct buffer *out);

/* The first `limit` keys of span, in order.  revision: as it was then; 0 = now. */
void etcd_range_encode(const struct etcd_span *span,
                       uint32_t limit,
                       int64_t revision,
                       struct buffer *out);

void etcd_grant_encode(int64_t ttl_s, struct buffer *out);
/* Of a keep-alive and of a revocation. */
void etcd_lease_encode(int64_t lease, struct buffer *out);

/* --- answers ------------------------------------------------------------------------------------ */

struct etcd_key_value {
    struct bytes key; /* in the arena, like value */
    struct bytes value;
    int64_t created; /* revision, above 0 */
    int64_t lease;   /* 0 = none */
};

struct etcd_range {
    int64_t revision; /* of the store when it answered */
    const struct etcd_key_value *items;
    size_t count;
    bool more; /* the limit has cut it */
};

struct etcd_outcome {
    bool succeeded;                  /* `then` was done */
    const struct etcd_range *ranges; /* of each READ that was done, in order */
    size_t range_count;
};

struct etcd_lease {
    int64_t lease;
    int64_t ttl_s; /* 0 = there is no such lease */
};

/* Errors of all of them: STATUS_MALFORMED, STATUS_NO_MEMORY. */
enum status etcd_range_decode(struct bytes text,
                              struct arena *arena,
                              struct etcd_range *ret_range,
                              struct error *ret_error);
enum status etcd_outcome_decode(struct bytes text,
                                struct arena *arena,
                                struct etcd_outcome *ret_outcome,
                                struct error *ret_error);
enum status etcd_grant_decode(struct bytes text,
                              struct etcd_lease *ret_lease,
                              struct error *ret_error);
enum status etcd_keep_alive_decode(struct bytes text,
                                   struct etcd_lease *ret_lease,
                                   struct error *ret_error);

/*
 * An answer that is a refusal.  Always returns an error:
 *   STATUS_NO_SPACE (etcd's quota), STATUS_LIMIT (the request is too large), STATUS_NOT_FOUND (no such
 *   lease), STATUS_OUT_OF_RANGE (that revision was compacted), STATUS_PERMISSION_DENIED,
 *   STATUS_INVALID_ARGUMENT: nothing was done.
 *   STATUS_UNAVAILABLE: it may be over soon; whether anything was done is unknown.
 */
enum status etcd_refusal_decode(struct bytes text, long http_status, struct error *ret_error);

#endif /* MASTER_COORDINATOR_ETCD_CODEC_H */
