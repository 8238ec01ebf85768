/*
 * Aggregate cells: sum, min, max and HyperLogLog++, written without reading.
 *
 * A cell of an aggregate family holds a STATE.  AddToCell folds one input into it, MergeToCell
 * folds another state into it; both are commutative and associative, which is what lets servers
 * fold in any order and clusters converge.
 *
 *   kind      input   state
 *   INTSUM    int64   8 bytes big-endian; wraps on overflow
 *   INTMIN    int64   8 bytes big-endian, signed compare
 *   INTMAX    int64   8 bytes big-endian, signed compare
 *   INTHLL    int64   Zetasketch AggregatorStateProto, value_type 8, p 15, sp 20
 *   BYTESHLL  bytes   the same with value_type 11
 *
 * An operand (what mutations, log records and memtables carry) is a state of the same form: the
 * state that a cell would have had the one input been its only one.  So folding knows one
 * operation only: merge.  For HLL an operand of a single input is a tiny sparse sketch.
 *
 * A state of no bytes is the identity of every kind: a cell that nothing was folded into.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_AGGREGATE_H
#define COMMON_AGGREGATE_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

/* Numbers are stored and sent: never reuse one. */
enum aggregate_kind {
    AGGREGATE_NONE = 0, /* a plain family */
    AGGREGATE_INTSUM = 1,
    AGGREGATE_INTMIN = 2,
    AGGREGATE_INTMAX = 3,
    AGGREGATE_INTHLL = 4,
    AGGREGATE_BYTESHLL = 5,
};

/* "intsum" ...; "none" for a plain family.  Never NULL. */
const char *aggregate_name(enum aggregate_kind kind);

/* True for the kinds whose state is a fixed 8 bytes. */
bool aggregate_is_integer(enum aggregate_kind kind);

/* The operand of AddToCell with an int64 (INTSUM, INTMIN, INTMAX, INTHLL), appended to out.
 * Requires: one of these kinds.  Errors: STATUS_NO_MEMORY. */
enum status aggregate_operand_of_int64(enum aggregate_kind kind, int64_t input, struct buffer *out);

/* The operand of AddToCell with raw bytes (BYTESHLL only), appended to out.
 * Errors: STATUS_NO_MEMORY. */
enum status aggregate_operand_of_bytes(enum aggregate_kind kind,
                                       struct bytes input,
                                       struct buffer *out);

/* Check a state given by a client (MergeToCell) or read from disk; one of no bytes passes.
 * Sketches are held to more than Zetasketch asks (README.md): only what passes may be folded.
 * Errors: STATUS_INVALID_ARGUMENT, text says what is wrong with it. */
enum status aggregate_check_state(enum aggregate_kind kind,
                                  struct bytes state,
                                  struct error *ret_error);

/* The hot path of a memtable: fold operand into state where it lies, if the state keeps its size.
 * True: state is now, byte for byte, what aggregate_merge() of the two would give.
 * False: state is untouched; call aggregate_merge().
 * Always true for integer kinds with 8 bytes on both sides, and for an operand of no bytes; true
 * for sketches in normal form (canonically written, as aggregate_merge() leaves them) unless the
 * varint of num_values grows or the operand lowers the sketch's precision.
 * state and operand are checked states of that kind and do not overlap. */
bool aggregate_merge_in_place(enum aggregate_kind kind,
                              uint8_t *state,
                              size_t state_size_bytes,
                              struct bytes operand);

/* out := a merged with b, both checked states of that kind (or empty = identity: then the other).
 * out must be neither a's nor b's memory; it is reset first, and empty after a failure.
 * Errors: STATUS_NO_MEMORY, and nothing else for checked states.  STATUS_INVALID_ARGUMENT for
 * others, and where Zetasketch would not merge two sketches either (hll_merge.h). */
enum status aggregate_merge(enum aggregate_kind kind,
                            struct bytes a,
                            struct bytes b,
                            struct buffer *out);

/* What a person wants to see: the int64, or the estimate of a sketch; 0 for a state of no bytes.
 * Checks the state as aggregate_check_state() does.
 * Errors: STATUS_CORRUPT for what is no state of that kind. */
enum status aggregate_extract(enum aggregate_kind kind, struct bytes state, int64_t *ret_value);

#endif /* COMMON_AGGREGATE_AGGREGATE_H */
