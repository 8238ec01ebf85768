#include "gateway/convert/convert.h"

#include <inttypes.h>

#include "common/base/checksum.h"
#include "common/base/limits.h"

typedef Google__Bigtable__V2__Mutation Mutation;
typedef Google__Bigtable__V2__Value Value;

#define MILLISECOND_US              1000
#define IDEMPOTENCY_TOKEN_BYTES_MIN 8
#define IDEMPOTENCY_SEED            UINT64_C(0x6964656d706f7465)
#define US_PER_SECOND               INT64_C(1000000)
#define NANOS_PER_SECOND            1000000000
#define NANOS_PER_US                1000
#define SECONDS_PER_MINUTE          60

#define CASE(name)  GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_##name
#define VALUE(name) GOOGLE__BIGTABLE__V2__VALUE__KIND_##name

/* --- typed values of aggregates --------------------------------------------------------------- */

static enum status convert_qualifier(const Value *value,
                                     struct edubba_bytes *ret_qualifier,
                                     struct error *ret_error)
{
    if (value != NULL && value->kind_case == VALUE(RAW_VALUE)) {
        *ret_qualifier = api_bytes(value->raw_value);
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'column_qualifier' : must use `raw_value`");
}

static enum status convert_timestamp(const Value *value,
                                     int64_t *ret_timestamp_us,
                                     struct error *ret_error)
{
    if (value != NULL && value->kind_case == VALUE(RAW_TIMESTAMP_MICROS)) {
        *ret_timestamp_us = value->raw_timestamp_micros;
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'timestamp' : must use `raw_timestamp_micros`");
}

/* Numbers of the kinds that are not in our messages: array, timestamp, date. */
static bool is_of_other_kind(const Value *value)
{
    for (unsigned i = 0; i < value->base.n_unknown_fields; i++) {
        uint32_t tag = value->base.unknown_fields[i].tag;
        if (tag == 4 || tag == 12 || tag == 13) {
            return true;
        }
    }
    return false;
}

/* What no family of any kind takes is refused here, with all that came along: as Bigtable does.
 * Whether a family adds integers or bytes is the servers' to say. */
static enum status refuse_input(const struct edubba_mutation *mutation, struct error *ret_error)
{
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Error in field 'input' : must use `%s`",
                     mutation->kind == EDUBBA_ADD_TO_CELL ? "int_value" : "bytes_value");
}

static enum status convert_input(const Value *value,
                                 struct edubba_mutation *mutation,
                                 struct error *ret_error)
{
    if (value == NULL) {
        mutation->input = EDUBBA_INPUT_NULL;
        return STATUS_OK;
    }
    switch ((int)value->kind_case) {
    case VALUE(_NOT_SET):
        mutation->input = EDUBBA_INPUT_NULL;
        return is_of_other_kind(value) ? refuse_input(mutation, ret_error) : STATUS_OK;
    case VALUE(INT_VALUE):
        mutation->input = EDUBBA_INPUT_INT64;
        mutation->integer = value->int_value;
        return mutation->kind == EDUBBA_MERGE_TO_CELL ? refuse_input(mutation, ret_error)
                                                      : STATUS_OK;
    case VALUE(BYTES_VALUE):
        mutation->input = EDUBBA_INPUT_BYTES;
        mutation->value = api_bytes(value->bytes_value);
        return STATUS_OK;
    case VALUE(RAW_VALUE):
        mutation->input = EDUBBA_INPUT_RAW;
        mutation->value = api_bytes(value->raw_value);
        return STATUS_OK;
    default:
        return refuse_input(mutation, ret_error);
    }
}

static enum status convert_aggregate(const char *family,
                                     const Value *qualifier,
                                     const Value *timestamp,
                                     const Value *input,
                                     struct edubba_mutation *mutation,
                                     struct error *ret_error)
{
    mutation->family = api_text(family);
    enum status status = convert_qualifier(qualifier, &mutation->qualifier, ret_error);
    if (status == STATUS_OK) {
        status = convert_timestamp(timestamp, &mutation->timestamp_us, ret_error);
    }
    return status == STATUS_OK ? convert_input(input, mutation, ret_error) : status;
}

/* --- mutations -------------------------------------------------------------------------------- */

/* A range that ends where it begins is refused by Bigtable; for edubba.h there is nothing to do then.
 * One that ends before is refused by servers. */
static enum status convert_time_range(const Google__Bigtable__V2__TimestampRange *range,
                                      struct edubba_mutation *mutation,
                                      struct error *ret_error)
{
    if (range == NULL) {
        return STATUS_OK;
    }
    mutation->start_us = range->start_timestamp_micros;
    mutation->end_us = range->end_timestamp_micros;
    if (mutation->end_us != 0 && mutation->end_us == mutation->start_us) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'time_range' : start %" PRId64
                         " must be before the end, which is the same",
                         mutation->start_us);
    }
    return STATUS_OK;
}

static enum status convert(const Mutation *in,
                           struct edubba_mutation *mutation,
                           struct error *ret_error)
{
    *mutation = (struct edubba_mutation){0};
    switch ((int)in->mutation_case) {
    case CASE(SET_CELL):
        mutation->kind = EDUBBA_SET_CELL;
        mutation->family = api_text(in->set_cell->family_name);
        mutation->qualifier = api_bytes(in->set_cell->column_qualifier);
        mutation->timestamp_us = in->set_cell->timestamp_micros;
        mutation->value = api_bytes(in->set_cell->value);
        return STATUS_OK;
    case CASE(ADD_TO_CELL):
        mutation->kind = EDUBBA_ADD_TO_CELL;
        return convert_aggregate(in->add_to_cell->family_name, in->add_to_cell->column_qualifier,
                                 in->add_to_cell->timestamp, in->add_to_cell->input, mutation,
                                 ret_error);
    case CASE(MERGE_TO_CELL):
        mutation->kind = EDUBBA_MERGE_TO_CELL;
        return convert_aggregate(in->merge_to_cell->family_name,
                                 in->merge_to_cell->column_qualifier, in->merge_to_cell->timestamp,
                                 in->merge_to_cell->input, mutation, ret_error);
    case CASE(DELETE_FROM_COLUMN):
        mutation->kind = EDUBBA_DELETE_FROM_COLUMN;
        mutation->family = api_text(in->delete_from_column->family_name);
        mutation->qualifier = api_bytes(in->delete_from_column->column_qualifier);
        return convert_time_range(in->delete_from_column->time_range, mutation, ret_error);
    case CASE(DELETE_FROM_FAMILY):
        mutation->kind = EDUBBA_DELETE_FROM_FAMILY;
        mutation->family = api_text(in->delete_from_family->family_name);
        return STATUS_OK;
    case CASE(DELETE_FROM_ROW):
        mutation->kind = EDUBBA_DELETE_FROM_ROW;
        return STATUS_OK;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "No mutation is set");
    }
}

/* A client that draws its timestamps itself does not know how fine the table's are. */
static void cut_timestamp(const Mutation *in, bool is_micros, struct edubba_mutation *mutation)
{
    bool may_cut = in->timestamp_origin ==
                   GOOGLE__BIGTABLE__V2__MUTATION__TIMESTAMP_ORIGIN__CLIENT_AUTO_GENERATED;
    if (may_cut && !is_micros && mutation->timestamp_us > 0) {
        mutation->timestamp_us -= mutation->timestamp_us % MILLISECOND_US;
    }
}

enum status api_check_count(size_t count, const char *list, struct error *ret_error)
{
    if (count == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "No mutations provided");
    }
    if (count > LIMIT_MUTATIONS_PER_REQUEST) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%s%s%sToo many mutations: %zu provided; limit %d",
                         list != NULL ? "Error in field '" : "", list != NULL ? list : "",
                         list != NULL ? "' : " : "", count, LIMIT_MUTATIONS_PER_REQUEST);
    }
    return STATUS_OK;
}

enum status api_convert_mutations(Mutation *const *mutations,
                                  size_t count,
                                  const char *list,
                                  bool is_micros,
                                  struct arena *arena,
                                  struct edubba_mutation **ret_mutations,
                                  struct error *ret_error)
{
    struct edubba_mutation *made = arena_allocate_array(arena, count, sizeof *made);
    if (made == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct error reason = {.status = STATUS_OK};
        enum status status = convert(mutations[i], &made[i], &reason);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "Error in field '%s' : Error in element #%zu : %s",
                             list, i, reason.text);
        }
        cut_timestamp(mutations[i], is_micros, &made[i]);
    }
    *ret_mutations = made;
    return STATUS_OK;
}

/* Never 0. */
static uint64_t hash(const void *data, size_t size_bytes, uint64_t seed)
{
    return checksum64(data, size_bytes, seed) | 1;
}

enum status api_convert_idempotency(const Google__Bigtable__V2__Idempotency *idempotency,
                                    const ProtobufCBinaryData *row_key,
                                    struct arena *arena,
                                    const struct edubba_identity **ret_identity,
                                    struct error *ret_error)
{
    *ret_identity = NULL;
    if (idempotency == NULL) {
        return STATUS_OK;
    }
    if (idempotency->token.len < IDEMPOTENCY_TOKEN_BYTES_MIN) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'idempotency' : a token has at least %d bytes, not %zu",
                         IDEMPOTENCY_TOKEN_BYTES_MIN, idempotency->token.len);
    }
    const Google__Protobuf__Timestamp *start = idempotency->start_time;
    if (start == NULL || start->seconds < 0 || start->seconds > INT64_MAX / US_PER_SECOND - 1 ||
        start->nanos < 0 || start->nanos >= NANOS_PER_SECOND) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'idempotency' : a token needs its start_time");
    }
    struct edubba_identity *identity = arena_allocate(arena, sizeof *identity);
    if (identity == NULL) {
        return STATUS_NO_MEMORY;
    }
    int64_t minute = start->seconds / SECONDS_PER_MINUTE;
    *identity = (struct edubba_identity){
        .client = hash(&minute, sizeof minute, IDEMPOTENCY_SEED),
        .sequence = hash(idempotency->token.data, idempotency->token.len,
                         hash(row_key->data, row_key->len, IDEMPOTENCY_SEED)),
        .first_attempt_us = start->seconds * US_PER_SECOND + start->nanos / NANOS_PER_US,
    };
    *ret_identity = identity;
    return STATUS_OK;
}

/* --- read-modify-write ------------------------------------------------------------------------ */

enum status api_convert_rules(Google__Bigtable__V2__ReadModifyWriteRule *const *rules,
                              size_t count,
                              struct arena *arena,
                              struct edubba_rmw_rule **ret_rules,
                              struct error *ret_error)
{
    struct edubba_rmw_rule *made = arena_allocate_array(arena, count, sizeof *made);
    if (made == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        made[i] = (struct edubba_rmw_rule){
            .family = api_text(rules[i]->family_name),
            .qualifier = api_bytes(rules[i]->column_qualifier),
        };
        switch ((int)rules[i]->rule_case) {
        case GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_APPEND_VALUE:
            made[i].kind = EDUBBA_APPEND;
            made[i].append = api_bytes(rules[i]->append_value);
            break;
        case GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT:
            made[i].kind = EDUBBA_INCREMENT;
            made[i].increment = rules[i]->increment_amount;
            break;
        default:
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "Error in field 'rules' : Error in element #%zu : No rule is set", i);
        }
    }
    *ret_rules = made;
    return STATUS_OK;
}
