/*
 * Mutations of a row resolved against the schema.  The checks that need no row come first
 * (mutation_check.c); then every family and kind is checked; only then is a change made.
 */
#include "common/model/mutation.h"

#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/limits.h"

#define US_PER_MILLI 1000

#define TEXT_TYPE_MISMATCH    "Column family type mismatch"
#define TEXT_FAMILY_NOT_FOUND "Requested column family not found"

struct resolution {
    const struct table *table;
    struct bytes row;
    int64_t now_us; /* cut to the table's granularity */
    struct arena *arena;
    struct buffer operand; /* scratch: one operand at a time, then copied into the arena */
    struct error *error;
};

static enum status refuse_row(const struct resolution *resolution,
                              enum status status,
                              const char *reason)
{
    char row[BYTES_PRINTABLE_SIZE_MAX];
    char table[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(resolution->error, status, "Error while mutating the row '%s' (%s) : %s",
                     bytes_printable(resolution->row, row),
                     bytes_printable(resolution->table->id, table), reason);
}

static bool is_aggregate_mutation(enum mutation_kind kind)
{
    return kind == MUTATION_ADD_TO_CELL || kind == MUTATION_MERGE_TO_CELL;
}

/* A MergeToCell of nothing creates no cell. */
static bool merges_nothing(const struct mutation *mutation)
{
    return mutation->input == INPUT_NULL || mutation->value.size_bytes == 0;
}

/* An integer state of a wrong size is a type mismatch, as in production; a sketch says more. */
static enum status check_state(const struct resolution *resolution,
                               const struct family *family,
                               const struct mutation *mutation)
{
    struct error reason;
    if (merges_nothing(mutation)) {
        return STATUS_OK;
    }
    enum status status = aggregate_check_state(family->aggregate, mutation->value, &reason);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    if (status != STATUS_INVALID_ARGUMENT || aggregate_is_integer(family->aggregate)) {
        return refuse_row(resolution, status, TEXT_TYPE_MISMATCH);
    }
    char text[ERROR_TEXT_SIZE_MAX];
    (void)snprintf(text, sizeof text, TEXT_TYPE_MISMATCH ": %s", reason.text);
    return refuse_row(resolution, status, text);
}

static enum status check_family(const struct resolution *resolution,
                                const struct mutation *mutation)
{
    if (mutation->kind == MUTATION_DELETE_FROM_ROW) {
        return STATUS_OK;
    }
    const struct family *family = table_family_by_name(resolution->table, mutation->family);
    if (family == NULL) {
        char name[BYTES_PRINTABLE_SIZE_MAX];
        char text[ERROR_TEXT_SIZE_MAX];
        (void)snprintf(text, sizeof text, TEXT_FAMILY_NOT_FOUND ": '%s'",
                       bytes_printable(mutation->family, name));
        return refuse_row(resolution, STATUS_NOT_FOUND, text);
    }
    bool is_aggregate = family->aggregate != AGGREGATE_NONE;
    if ((mutation->kind == MUTATION_SET_CELL && is_aggregate) ||
        (is_aggregate_mutation(mutation->kind) && !is_aggregate)) {
        return refuse_row(resolution, STATUS_INVALID_ARGUMENT, TEXT_TYPE_MISMATCH);
    }
    return mutation->kind == MUTATION_MERGE_TO_CELL ? check_state(resolution, family, mutation)
                                                    : STATUS_OK;
}

/* The state that one AddToCell alone would leave; no input counts as 0, or as no bytes. */
static enum status make_operand(struct resolution *resolution,
                                enum aggregate_kind aggregate,
                                const struct mutation *mutation,
                                struct bytes *ret_operand)
{
    enum status status = STATUS_OK;
    buffer_reset(&resolution->operand);
    if (aggregate == AGGREGATE_BYTESHLL) {
        struct bytes input = mutation->input == INPUT_NULL ? BYTES_EMPTY : mutation->value;
        status = aggregate_operand_of_bytes(aggregate, input, &resolution->operand);
    } else {
        int64_t input = mutation->input == INPUT_NULL ? 0 : mutation->integer;
        status = aggregate_operand_of_int64(aggregate, input, &resolution->operand);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes operand = arena_copy(resolution->arena, buffer_bytes(&resolution->operand));
    if (operand.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    *ret_operand = operand;
    return STATUS_OK;
}

static struct change change_of_delete(const struct mutation *mutation, uint32_t family)
{
    if (mutation->kind == MUTATION_DELETE_FROM_ROW) {
        return (struct change){.kind = CHANGE_DELETE_ROW};
    }
    if (mutation->kind == MUTATION_DELETE_FROM_FAMILY) {
        return (struct change){.kind = CHANGE_DELETE_FAMILY, .family = family};
    }
    return (struct change){
        .kind = CHANGE_DELETE_CELLS,
        .family = family,
        .qualifier = mutation->qualifier,
        .start_us = mutation->start_us,
        .end_us = mutation->end_us == 0 ? INT64_MAX : mutation->end_us,
    };
}

/* One checked mutation.  *ret_any = false where nothing is to be done. */
static enum status make_change(struct resolution *resolution,
                               const struct mutation *mutation,
                               struct change *ret_change,
                               bool *ret_any)
{
    static const struct family none = {.number = 0};
    const struct family *family = mutation->kind == MUTATION_DELETE_FROM_ROW
                                      ? &none
                                      : table_family_by_name(resolution->table, mutation->family);
    ASSERT(family != NULL);
    struct change change = {
        .family = family->number,
        .qualifier = mutation->qualifier,
        .timestamp_us = mutation->timestamp_us,
        .value = mutation->value,
    };
    enum status status = STATUS_OK;
    bool any = true;

    switch (mutation->kind) {
    case MUTATION_SET_CELL:
        change.kind = CHANGE_PUT;
        if (mutation->timestamp_us == TIMESTAMP_SERVER) {
            change.timestamp_us = resolution->now_us;
        }
        break;
    case MUTATION_ADD_TO_CELL:
        change.kind = CHANGE_FOLD;
        change.aggregate = family->aggregate;
        status = make_operand(resolution, family->aggregate, mutation, &change.value);
        break;
    case MUTATION_MERGE_TO_CELL:
        change.kind = CHANGE_FOLD;
        change.aggregate = family->aggregate;
        any = !merges_nothing(mutation);
        break;
    case MUTATION_DELETE_FROM_COLUMN:
    case MUTATION_DELETE_FROM_FAMILY:
    case MUTATION_DELETE_FROM_ROW:
        change = change_of_delete(mutation, family->number);
        any = change.kind != CHANGE_DELETE_CELLS || change.start_us < change.end_us;
        break;
    }
    if (status == STATUS_OK) {
        *ret_change = change;
        *ret_any = any;
    }
    return status;
}

static enum status make_changes(struct resolution *resolution,
                                const struct mutation *mutations,
                                size_t count,
                                struct change **ret_changes,
                                size_t *ret_count)
{
    struct change *changes = arena_allocate_array(resolution->arena, count, sizeof *changes);
    if (changes == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool any = false;
        enum status status = make_change(resolution, &mutations[i], &changes[used], &any);
        if (status != STATUS_OK) {
            return status;
        }
        used += any ? 1 : 0;
    }
    *ret_changes = changes;
    *ret_count = used;
    return STATUS_OK;
}

static int64_t cut_to_granularity(const struct table *table, int64_t now_us)
{
    return table->granularity == GRANULARITY_MILLIS ? now_us - now_us % US_PER_MILLI : now_us;
}

enum status mutation_resolve(const struct table *table,
                             struct bytes row,
                             const struct mutation *mutations,
                             size_t count,
                             int64_t now_us,
                             struct arena *arena,
                             struct change **ret_changes,
                             size_t *ret_count,
                             struct error *ret_error)
{
    ASSERT(now_us >= 0);
    enum status status = row_key_check(row, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (count == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "No mutations provided");
    }
    status = mutation_check_list(table, mutations, count, "Mutation list", ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct resolution resolution = {
        .table = table,
        .row = row,
        .now_us = cut_to_granularity(table, now_us),
        .arena = arena,
        .operand = BUFFER_INIT,
        .error = ret_error,
    };
    for (size_t i = 0; i < count; i++) {
        status = check_family(&resolution, &mutations[i]);
        if (status != STATUS_OK) {
            return status;
        }
    }
    status = make_changes(&resolution, mutations, count, ret_changes, ret_count);
    buffer_deinit(&resolution.operand);
    return status == STATUS_OK ? STATUS_OK
                               : error_set(ret_error, status, "%s", status_text(status));
}
