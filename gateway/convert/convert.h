/*
 * Bigtable's messages, as protobuf-c decodes them, made into what edubba.h takes.
 *
 * What a filter, a mutation or a rule may say is checked by the servers, whose texts are
 * Bigtable's; here only what edubba.h has no words for is refused.  Bytes borrow from the messages.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_CONVERT_CONVERT_H
#define GATEWAY_CONVERT_CONVERT_H

#include <protobuf-c/protobuf-c.h>

#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "data.pb-c.h"

static inline struct edubba_bytes api_bytes(ProtobufCBinaryData data)
{
    return edubba_bytes_of(data.data, data.len);
}

/* A bound that was given, even if it is empty: NULL would mean that there is none. */
static inline struct edubba_bytes api_bound(ProtobufCBinaryData data)
{
    return edubba_bytes_of(data.data != NULL ? data.data : (const uint8_t *)"", data.len);
}

static inline struct edubba_bytes api_text(const char *text)
{
    return EDUBBA_TEXT(text);
}

/* Back, for messages that are packed. */
static inline ProtobufCBinaryData api_data(struct edubba_bytes bytes)
{
    union {
        const void *in;
        uint8_t *out; /* protobuf-c's struct has no const, but packing only reads */
    } pointer = {.in = bytes.data};
    return (ProtobufCBinaryData){bytes.size, pointer.out};
}

/* --- filters (convert_filter.c) --------------------------------------------------------------- */

/* *ret_filter: edubba_filter_free() it; NULL where the message says nothing: all cells.
 * Errors: STATUS_INVALID_ARGUMENT, STATUS_NO_MEMORY. */
enum status api_convert_filter(const Google__Bigtable__V2__RowFilter *filter,
                               struct edubba_filter **ret_filter,
                               struct error *ret_error);

/* --- rows (convert_rows.c) -------------------------------------------------------------------- */

/* keys and ranges of options, in the arena; rows NULL, or empty = all of the table.
 * Errors: STATUS_NO_MEMORY. */
enum status api_convert_row_set(const Google__Bigtable__V2__RowSet *rows,
                                struct arena *arena,
                                struct edubba_scan_options *options);

/* The bounds of one range. */
struct edubba_bounds api_convert_range(const Google__Bigtable__V2__RowRange *range);

/* A row as ReadModifyWriteRow returns it, in the arena; values and keys borrow from the row.
 * Errors: STATUS_NO_MEMORY. */
enum status api_convert_row(const struct edubba_row *row,
                            struct arena *arena,
                            Google__Bigtable__V2__Row *ret_row);

/* --- changes (convert_mutation.c) ------------------------------------------------------------- */

#define API_MUTATION_LIST "Mutation list"

/* Is that as many mutations as a list may have: 1 to 100 000?  list: its name, where a request has
 * several; else NULL.  Errors: STATUS_INVALID_ARGUMENT. */
enum status api_check_count(size_t count, const char *list, struct error *ret_error);

/* `list` names the field in errors: "Mutation list".  What converts to more than it was takes its
 * memory from the arena: up to 96 bytes a mutation.
 * Errors: STATUS_INVALID_ARGUMENT (naming list and element), STATUS_NO_MEMORY. */
enum status api_convert_mutations(Google__Bigtable__V2__Mutation *const *mutations,
                                  size_t count,
                                  const char *list,
                                  bool is_micros,
                                  struct arena *arena,
                                  struct edubba_mutation **ret_mutations,
                                  struct error *ret_error);

/* A token as an identity: NULL for none.  Those that begin in the same minute are of one client; the
 * same token for another row is another change.
 * Errors: STATUS_INVALID_ARGUMENT (less than 8 bytes, or without the time of its first attempt, on
 * which it depends how long it is remembered), STATUS_NO_MEMORY. */
enum status api_convert_idempotency(const Google__Bigtable__V2__Idempotency *idempotency,
                                    const ProtobufCBinaryData *row_key,
                                    struct arena *arena,
                                    const struct edubba_identity **ret_identity,
                                    struct error *ret_error);

/* Errors: as api_convert_mutations(). */
enum status api_convert_rules(Google__Bigtable__V2__ReadModifyWriteRule *const *rules,
                              size_t count,
                              struct arena *arena,
                              struct edubba_rmw_rule **ret_rules,
                              struct error *ret_error);

#endif /* GATEWAY_CONVERT_CONVERT_H */
