/*
 * Mutations: what a client asks for, and what is left of it once a server has resolved it.
 *
 *   struct mutation   names families by name, may say "server time"; comes from the wire.
 *   struct change     names families by number, has every timestamp and operand fixed; goes to the
 *                     log, the memtable and other replicas, which apply it blindly.
 *
 * mutation_resolve() turns one into the other against a table's schema, or refuses the row with
 * Bigtable's status and text.  It checks everything before it gives out
 * anything, so a bad mutation leaves nothing of its row applied.
 *
 * All memory is borrowed: from the decoded message, or from the arena given.
 */
#ifndef COMMON_MODEL_MUTATION_H
#define COMMON_MODEL_MUTATION_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/model/schema.h"

/* Numbers are sent: never reuse one. */
enum mutation_kind {
    MUTATION_SET_CELL = 1,
    MUTATION_ADD_TO_CELL = 2,
    MUTATION_MERGE_TO_CELL = 3,
    MUTATION_DELETE_FROM_COLUMN = 4,
    MUTATION_DELETE_FROM_FAMILY = 5,
    MUTATION_DELETE_FROM_ROW = 6,
};

/* What kind of value the client put into AddToCell or MergeToCell. */
enum input_kind {
    INPUT_NULL = 0, /* no value: AddToCell acts as 0, MergeToCell does nothing */
    INPUT_INT64 = 1,
    INPUT_BYTES = 2, /* bytes_value */
    INPUT_RAW = 3,   /* raw_value; accepted where bytes are, as official clients send it */
};

#define TIMESTAMP_SERVER (-1) /* SetCell only */

struct mutation {
    enum mutation_kind kind;
    struct bytes family;
    struct bytes qualifier;
    int64_t timestamp_us; /* SET_CELL, ADD_TO_CELL, MERGE_TO_CELL */
    int64_t start_us;     /* DELETE_FROM_COLUMN: [start_us, end_us), end_us 0 = for ever */
    int64_t end_us;
    enum input_kind input; /* ADD_TO_CELL, MERGE_TO_CELL */
    int64_t integer;       /* INPUT_INT64 */
    struct bytes value;    /* SET_CELL; INPUT_BYTES, INPUT_RAW */
};

/* Numbers are stored: never reuse one. */
enum change_kind {
    CHANGE_PUT = 1,           /* family, qualifier, timestamp := value */
    CHANGE_FOLD = 2,          /* merge the operand `value` into the cell's state */
    CHANGE_DELETE_CELLS = 3,  /* of a column, timestamps in [start_us, end_us) */
    CHANGE_DELETE_FAMILY = 4, /* of the row */
    CHANGE_DELETE_ROW = 5,
};

struct change {
    enum change_kind kind;
    uint32_t family;               /* number; 0 for DELETE_ROW */
    enum aggregate_kind aggregate; /* FOLD */
    struct bytes qualifier;
    int64_t timestamp_us; /* PUT, FOLD */
    int64_t start_us;     /* DELETE_CELLS */
    int64_t end_us;       /* DELETE_CELLS; INT64_MAX = for ever */
    struct bytes value;
};

/* 1 to 4 096 bytes, not empty.  Errors: STATUS_INVALID_ARGUMENT. */
enum status row_key_check(struct bytes row, struct error *ret_error);

/*
 * What can be refused without applying anything to a row: kinds of input, names, sizes,
 * timestamps.  mutation_resolve() does it as well, with list "Mutation list"; a caller needs it only
 * where production checks a list that it does not apply: the other branch of a CheckAndMutateRow
 * ("true mutation list", "false mutation list"), and every entry of a MutateRows before the first
 * is applied.  An unknown family is not refused here.  Errors: STATUS_INVALID_ARGUMENT, "Error in
 * field '<list>' : Error in element #i : ...".
 */
enum status mutation_check_list(const struct table *table,
                                const struct mutation *mutations,
                                size_t count,
                                const char *list,
                                struct error *ret_error);

/*
 * Check `count` mutations of one row and resolve them in order.  now_us is the server's (hybrid)
 * time, cut to the table's granularity for TIMESTAMP_SERVER.  *ret_changes is in the arena, except
 * for qualifiers and values, which still borrow from the mutations; *ret_count may be smaller than
 * count (a MergeToCell of nothing is no change) and even 0.
 *
 * Errors: STATUS_INVALID_ARGUMENT, STATUS_NOT_FOUND (unknown family), STATUS_NO_MEMORY; texts are
 * Bigtable's, with "Error in element #i".
 */
enum status mutation_resolve(const struct table *table,
                             struct bytes row,
                             const struct mutation *mutations,
                             size_t count,
                             int64_t now_us,
                             struct arena *arena,
                             struct change **ret_changes,
                             size_t *ret_count,
                             struct error *ret_error);

/* ReadModifyWriteRow's rules. */
enum rmw_kind {
    RMW_APPEND = 1,
    RMW_INCREMENT = 2,
};

struct rmw_rule {
    enum rmw_kind kind;
    struct bytes family;
    struct bytes qualifier;
    struct bytes append;
    int64_t increment;
};

/* The newest visible cell of a rule's column; found is false where there is none. */
struct rmw_current {
    bool found;
    int64_t timestamp_us;
    struct bytes value;
};

/* Families exist and are plain, names and sizes are in order, 1 to 100 000 rules. */
enum status rmw_check(const struct table *table,
                      struct bytes row,
                      const struct rmw_rule *rules,
                      size_t count,
                      struct error *ret_error);

/*
 * The PUT that the rules of one column, in their order, make of its current cell: value appended or
 * incremented, one rule after the other, timestamp max(now_us, the cell's).  They all write that one
 * cell, so only what the last of them leaves is written.  Everything new is in the arena: as much as
 * the largest value on the way takes.
 * Requires: rmw_check(); count >= 1; all name the same family and qualifier.
 * Errors: STATUS_INVALID_ARGUMENT (increment of what is not 8 bytes; value too large), of the first
 * rule that fails; STATUS_NO_MEMORY.
 */
enum status rmw_apply(const struct table *table,
                      const struct rmw_rule *rules,
                      size_t count,
                      const struct rmw_current *current,
                      int64_t now_us,
                      struct arena *arena,
                      struct change *ret_change,
                      struct error *ret_error);

#endif /* COMMON_MODEL_MUTATION_H */
