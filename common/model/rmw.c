/*
 * ReadModifyWriteRow: what may be asked, and what the rules of a column make of its newest cell.
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

static enum status check_increment(const struct rmw_rule *rule,
                                   bool found,
                                   size_t size_bytes,
                                   struct error *ret_error)
{
    char qualifier[BYTES_PRINTABLE_SIZE_MAX];
    if (!found || size_bytes == INTEGER_SIZE_BYTES) {
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'increment_amount' : the value of column '%s' is %zu "
                     "bytes, not a 64-bit big-endian integer",
                     bytes_printable(rule->qualifier, qualifier), size_bytes);
}

static enum status check_append(const struct rmw_rule *rule,
                                size_t size_bytes,
                                struct error *ret_error)
{
    ASSERT(rule->append.size_bytes <= LIMIT_VALUE_BYTES);
    if (size_bytes <= LIMIT_VALUE_BYTES - rule->append.size_bytes) {
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'append_value' : the value would be %zu bytes, the limit "
                     "is %d",
                     size_bytes + rule->append.size_bytes, LIMIT_VALUE_BYTES);
}

/* Sizes alone tell whether all rules can be applied, and the room that their values need.  An
 * existing value of any other size than 8 bytes is not incremented; none counts as 0. */
static enum status check_values(const struct rmw_rule *rules,
                                size_t count,
                                const struct rmw_current *current,
                                size_t *ret_most_bytes,
                                struct error *ret_error)
{
    bool found = current->found;
    size_t size_bytes = found ? current->value.size_bytes : 0;
    size_t most_bytes = size_bytes;
    for (size_t i = 0; i < count; i++) {
        bool increments = rules[i].kind == RMW_INCREMENT;
        enum status status = increments ? check_increment(&rules[i], found, size_bytes, ret_error)
                                        : check_append(&rules[i], size_bytes, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        size_bytes = increments ? INTEGER_SIZE_BYTES : size_bytes + rules[i].append.size_bytes;
        most_bytes = size_bytes > most_bytes ? size_bytes : most_bytes;
        found = true;
    }
    *ret_most_bytes = most_bytes;
    return STATUS_OK;
}

/* Into value, which has room; returns the size it ends with.  Sums wrap. */
static size_t make_value(const struct rmw_rule *rules,
                         size_t count,
                         const struct rmw_current *current,
                         uint8_t *value)
{
    size_t size_bytes = current->found ? current->value.size_bytes : 0;
    if (size_bytes > 0) {
        memcpy(value, current->value.data, size_bytes);
    }
    for (size_t i = 0; i < count; i++) {
        if (rules[i].kind == RMW_INCREMENT) {
            uint64_t before = size_bytes == INTEGER_SIZE_BYTES ? load_be64(value) : 0;
            store_be64(value, before + (uint64_t)rules[i].increment);
            size_bytes = INTEGER_SIZE_BYTES;
        } else if (rules[i].append.size_bytes > 0) {
            memcpy(value + size_bytes, rules[i].append.data, rules[i].append.size_bytes);
            size_bytes += rules[i].append.size_bytes;
        }
    }
    return size_bytes;
}

static int64_t timestamp_of(const struct table *table,
                            const struct rmw_current *current,
                            int64_t now_us)
{
    int64_t timestamp_us = table->granularity == GRANULARITY_MILLIS ? now_us - now_us % US_PER_MILLI
                                                                    : now_us;
    return current->found && current->timestamp_us > timestamp_us ? current->timestamp_us
                                                                  : timestamp_us;
}

enum status rmw_apply(const struct table *table,
                      const struct rmw_rule *rules,
                      size_t count,
                      const struct rmw_current *current,
                      int64_t now_us,
                      struct arena *arena,
                      struct change *ret_change,
                      struct error *ret_error)
{
    ASSERT(count > 0);
    const struct family *family = table_family_by_name(table, rules[0].family);
    ASSERT(family != NULL); /* rmw_check() said so */
    ASSERT(family->aggregate == AGGREGATE_NONE);

    size_t most_bytes = 0;
    enum status status = check_values(rules, count, current, &most_bytes, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    uint8_t *value = arena_allocate(arena, most_bytes);
    if (value == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    *ret_change = (struct change){
        .kind = CHANGE_PUT,
        .family = family->number,
        .qualifier = rules[0].qualifier,
        .timestamp_us = timestamp_of(table, current, now_us),
        .value = {value, make_value(rules, count, current, value)},
    };
    return STATUS_OK;
}
