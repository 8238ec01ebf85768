/*
 * ReadModifyWriteRow: what may be asked, and what one rule makes of the newest cell.
 */
#include "common/model/mutation.h"

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/limits.h"

#define INTEGER_SIZE_BYTES 8
#define US_PER_MILLI       1000

static enum status check_rule(const struct rmw_rule *rule, struct error *ret_error)
{
    enum status status = family_name_check(rule->family, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (rule->qualifier.size_bytes > LIMIT_QUALIFIER_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'column_qualifier' : %zu bytes, the limit is %d",
                         rule->qualifier.size_bytes, LIMIT_QUALIFIER_BYTES);
    }
    if (rule->kind != RMW_APPEND && rule->kind != RMW_INCREMENT) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "unknown kind of rule %d",
                         (int)rule->kind);
    }
    if (rule->kind == RMW_APPEND && rule->append.size_bytes > LIMIT_VALUE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'append_value' : %zu bytes, the limit is %d",
                         rule->append.size_bytes, LIMIT_VALUE_BYTES);
    }
    return STATUS_OK;
}

static enum status check_rules(const struct rmw_rule *rules, size_t count, struct error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        struct error reason;
        enum status status = check_rule(&rules[i], &reason);
        if (status != STATUS_OK) {
            return error_set(ret_error, status,
                             "Error in field 'rules' : Error in element #%zu : %s", i, reason.text);
        }
    }
    return STATUS_OK;
}

static enum status check_family(const struct table *table,
                                struct bytes row,
                                const struct rmw_rule *rule,
                                struct error *ret_error)
{
    char row_text[BYTES_PRINTABLE_SIZE_MAX];
    char table_text[BYTES_PRINTABLE_SIZE_MAX];
    const struct family *family = table_family_by_name(table, rule->family);
    if (family != NULL && family->aggregate == AGGREGATE_NONE) {
        return STATUS_OK;
    }
    (void)bytes_printable(row, row_text);
    (void)bytes_printable(table->id, table_text);
    if (family == NULL) {
        char name[BYTES_PRINTABLE_SIZE_MAX];
        return error_set(ret_error, STATUS_NOT_FOUND,
                         "Error while mutating the row '%s' (%s) : Requested column family not "
                         "found: '%s'",
                         row_text, table_text, bytes_printable(rule->family, name));
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error while mutating the row '%s' (%s) : Column family type mismatch",
                     row_text, table_text);
}

enum status rmw_check(const struct table *table,
                      struct bytes row,
                      const struct rmw_rule *rules,
                      size_t count,
                      struct error *ret_error)
{
    enum status status = row_key_check(row, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (count == 0 || count > LIMIT_MUTATIONS_PER_REQUEST) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'rules' : there must be 1 to %d rules, not %zu",
                         LIMIT_MUTATIONS_PER_REQUEST, count);
    }
    status = check_rules(rules, count, ret_error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = check_family(table, row, &rules[i], ret_error);
    }
    return status;
}

/* An existing value of any other size than 8 bytes fails; none counts as 0; sums wrap. */
static enum status increment(const struct rmw_rule *rule,
                             const struct rmw_current *current,
                             struct arena *arena,
                             struct bytes *ret_value,
                             struct error *ret_error)
{
    uint64_t sum = (uint64_t)rule->increment;
    if (current->found) {
        if (current->value.size_bytes != INTEGER_SIZE_BYTES) {
            char qualifier[BYTES_PRINTABLE_SIZE_MAX];
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "Error in field 'increment_amount' : the value of column '%s' is %zu "
                             "bytes, not a 64-bit big-endian integer",
                             bytes_printable(rule->qualifier, qualifier),
                             current->value.size_bytes);
        }
        sum += load_be64(current->value.data);
    }
    uint8_t *value = arena_allocate(arena, INTEGER_SIZE_BYTES);
    if (value == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    store_be64(value, sum);
    *ret_value = (struct bytes){value, INTEGER_SIZE_BYTES};
    return STATUS_OK;
}

static enum status append(const struct rmw_rule *rule,
                          const struct rmw_current *current,
                          struct arena *arena,
                          struct bytes *ret_value,
                          struct error *ret_error)
{
    struct bytes before = current->found ? current->value : BYTES_EMPTY;
    ASSERT(rule->append.size_bytes <= LIMIT_VALUE_BYTES);
    if (before.size_bytes > LIMIT_VALUE_BYTES - rule->append.size_bytes) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'append_value' : the value would be %zu bytes, the limit "
                         "is %d",
                         before.size_bytes + rule->append.size_bytes, LIMIT_VALUE_BYTES);
    }
    uint8_t *value = arena_allocate(arena, before.size_bytes + rule->append.size_bytes);
    if (value == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    if (before.size_bytes > 0) {
        memcpy(value, before.data, before.size_bytes);
    }
    if (rule->append.size_bytes > 0) {
        memcpy(value + before.size_bytes, rule->append.data, rule->append.size_bytes);
    }
    *ret_value = (struct bytes){value, before.size_bytes + rule->append.size_bytes};
    return STATUS_OK;
}

enum status rmw_apply(const struct table *table,
                      const struct rmw_rule *rule,
                      const struct rmw_current *current,
                      int64_t now_us,
                      struct arena *arena,
                      struct change *ret_change,
                      struct error *ret_error)
{
    const struct family *family = table_family_by_name(table, rule->family);
    ASSERT(family != NULL); /* rmw_check() said so */
    ASSERT(family->aggregate == AGGREGATE_NONE);

    int64_t timestamp_us = now_us;
    if (table->granularity == GRANULARITY_MILLIS) {
        timestamp_us -= now_us % US_PER_MILLI;
    }
    if (current->found && current->timestamp_us > timestamp_us) {
        timestamp_us = current->timestamp_us;
    }
    struct bytes value = BYTES_EMPTY;
    enum status status = rule->kind == RMW_INCREMENT
                             ? increment(rule, current, arena, &value, ret_error)
                             : append(rule, current, arena, &value, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    *ret_change = (struct change){
        .kind = CHANGE_PUT,
        .family = family->number,
        .qualifier = rule->qualifier,
        .timestamp_us = timestamp_us,
        .value = value,
    };
    return STATUS_OK;
}
