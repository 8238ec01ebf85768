/*
 * What can be wrong with a list of mutations before any row is looked at: shapes, sizes,
 * timestamps and kinds of input.  Texts are Bigtable's where they are known.
 */
#include "common/model/mutation.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/limits.h"

#define US_PER_MILLI 1000

enum status row_key_check(struct bytes row, struct error *ret_error)
{
    if (row.size_bytes == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Row keys must be non-empty");
    }
    if (row.size_bytes > LIMIT_ROW_KEY_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Row key is %zu bytes, the limit is %d", row.size_bytes,
                         LIMIT_ROW_KEY_BYTES);
    }
    return STATUS_OK;
}

static enum status check_timestamp(const struct table *table,
                                   int64_t timestamp_us,
                                   struct error *ret_error)
{
    if (timestamp_us < 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Timestamp must not be negative, but got %" PRId64 ".", timestamp_us);
    }
    if (table->granularity == GRANULARITY_MILLIS && timestamp_us % US_PER_MILLI != 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Timestamp granularity mismatch. Expected a multiple of 1000 "
                         "(millisecond granularity), but got %" PRId64 ".",
                         timestamp_us);
    }
    return STATUS_OK;
}

static enum status check_time_range(const struct table *table,
                                    const struct mutation *mutation,
                                    struct error *ret_error)
{
    enum status status = check_timestamp(table, mutation->start_us, ret_error);
    if (status == STATUS_OK) {
        status = check_timestamp(table, mutation->end_us, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (mutation->end_us != 0 && mutation->end_us < mutation->start_us) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'time_range' : start %" PRId64
                         " must not be after end %" PRId64,
                         mutation->start_us, mutation->end_us);
    }
    return STATUS_OK;
}

static enum status check_qualifier(struct bytes qualifier, struct error *ret_error)
{
    if (qualifier.size_bytes > LIMIT_QUALIFIER_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'column_qualifier' : %zu bytes, the limit is %d",
                         qualifier.size_bytes, LIMIT_QUALIFIER_BYTES);
    }
    return STATUS_OK;
}

static enum status check_value(struct bytes value, struct error *ret_error)
{
    if (value.size_bytes > LIMIT_VALUE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'value' : %zu bytes, the limit is %d", value.size_bytes,
                         LIMIT_VALUE_BYTES);
    }
    return STATUS_OK;
}

static enum status refuse_input(const char *wanted, struct error *ret_error)
{
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Error in field 'input' : must use `%s`",
                     wanted);
}

/*
 * Production wants int_value in AddToCell and bytes_value in MergeToCell, whatever the family.
 * Differences: byteshll (ours) adds bytes; raw_value passes wherever bytes do, because the
 * official clients send it.
 */
static enum status check_input(const struct table *table,
                               const struct mutation *mutation,
                               struct error *ret_error)
{
    bool is_bytes = mutation->input == INPUT_BYTES || mutation->input == INPUT_RAW;
    bool is_integer = mutation->input == INPUT_INT64;
    if (mutation->input != INPUT_NULL && !is_bytes && !is_integer) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'input' : unknown kind %d", (int)mutation->input);
    }
    if (mutation->kind == MUTATION_MERGE_TO_CELL) {
        return is_integer ? refuse_input("bytes_value", ret_error) : STATUS_OK;
    }
    const struct family *family = table_family_by_name(table, mutation->family);
    bool adds_bytes = family != NULL && family->aggregate == AGGREGATE_BYTESHLL;
    if (adds_bytes) {
        return is_integer ? refuse_input("bytes_value", ret_error) : STATUS_OK;
    }
    return is_bytes ? refuse_input("int_value", ret_error) : STATUS_OK;
}

static enum status check_aggregate_cell(const struct table *table,
                                        const struct mutation *mutation,
                                        struct error *ret_error)
{
    enum status status = check_input(table, mutation, ret_error);
    if (status == STATUS_OK) {
        status = check_timestamp(table, mutation->timestamp_us, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_value(mutation->value, ret_error);
    }
    return status;
}

static enum status check_set_cell(const struct table *table,
                                  const struct mutation *mutation,
                                  struct error *ret_error)
{
    if (mutation->timestamp_us != TIMESTAMP_SERVER) {
        enum status status = check_timestamp(table, mutation->timestamp_us, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return check_value(mutation->value, ret_error);
}

static enum status check_mutation(const struct table *table,
                                  const struct mutation *mutation,
                                  struct error *ret_error)
{
    if (mutation->kind == MUTATION_DELETE_FROM_ROW) {
        return STATUS_OK;
    }
    enum status status = family_name_check(mutation->family, ret_error);
    if (status == STATUS_OK) {
        status = check_qualifier(mutation->qualifier, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    switch (mutation->kind) {
    case MUTATION_SET_CELL:
        return check_set_cell(table, mutation, ret_error);
    case MUTATION_ADD_TO_CELL:
    case MUTATION_MERGE_TO_CELL:
        return check_aggregate_cell(table, mutation, ret_error);
    case MUTATION_DELETE_FROM_COLUMN:
        return check_time_range(table, mutation, ret_error);
    case MUTATION_DELETE_FROM_FAMILY:
    case MUTATION_DELETE_FROM_ROW:
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "unknown kind of mutation %d",
                     (int)mutation->kind);
}

enum status mutation_check_list(const struct table *table,
                                const struct mutation *mutations,
                                size_t count,
                                const char *list,
                                struct error *ret_error)
{
    if (count > LIMIT_MUTATIONS_PER_REQUEST) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field '%s' : %zu mutations, the limit is %d", list, count,
                         LIMIT_MUTATIONS_PER_REQUEST);
    }
    for (size_t i = 0; i < count; i++) {
        struct error reason;
        enum status status = check_mutation(table, &mutations[i], &reason);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "Error in field '%s' : Error in element #%zu : %s",
                             list, i, reason.text);
        }
    }
    return STATUS_OK;
}
