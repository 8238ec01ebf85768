#include "client/operations/convert.h"

/* --- building --------------------------------------------------------------------------------- */

static struct edubba_mutation make(enum edubba_mutation_kind kind, const char *family)
{
    struct edubba_mutation mutation = {.kind = kind};
    mutation.family = family != NULL ? EDUBBA_TEXT(family) : EDUBBA_NOTHING;
    return mutation;
}

struct edubba_mutation edubba_set_cell(const char *family,
                                       struct edubba_bytes qualifier,
                                       int64_t timestamp_us,
                                       struct edubba_bytes value)
{
    struct edubba_mutation mutation = make(EDUBBA_SET_CELL, family);
    mutation.qualifier = qualifier;
    mutation.timestamp_us = timestamp_us;
    mutation.value = value;
    return mutation;
}

struct edubba_mutation edubba_add_int64(const char *family,
                                        struct edubba_bytes qualifier,
                                        int64_t timestamp_us,
                                        int64_t input)
{
    struct edubba_mutation mutation = make(EDUBBA_ADD_TO_CELL, family);
    mutation.qualifier = qualifier;
    mutation.timestamp_us = timestamp_us;
    mutation.input = EDUBBA_INPUT_INT64;
    mutation.integer = input;
    return mutation;
}

struct edubba_mutation edubba_add_bytes(const char *family,
                                        struct edubba_bytes qualifier,
                                        int64_t timestamp_us,
                                        struct edubba_bytes input)
{
    struct edubba_mutation mutation = make(EDUBBA_ADD_TO_CELL, family);
    mutation.qualifier = qualifier;
    mutation.timestamp_us = timestamp_us;
    mutation.input = EDUBBA_INPUT_BYTES;
    mutation.value = input;
    return mutation;
}

struct edubba_mutation edubba_merge_state(const char *family,
                                          struct edubba_bytes qualifier,
                                          int64_t timestamp_us,
                                          struct edubba_bytes state)
{
    struct edubba_mutation mutation = make(EDUBBA_MERGE_TO_CELL, family);
    mutation.qualifier = qualifier;
    mutation.timestamp_us = timestamp_us;
    mutation.input = EDUBBA_INPUT_BYTES;
    mutation.value = state;
    return mutation;
}

struct edubba_mutation edubba_delete_from_column(const char *family,
                                                 struct edubba_bytes qualifier,
                                                 int64_t start_us,
                                                 int64_t end_us)
{
    struct edubba_mutation mutation = make(EDUBBA_DELETE_FROM_COLUMN, family);
    mutation.qualifier = qualifier;
    mutation.start_us = start_us;
    mutation.end_us = end_us;
    return mutation;
}

struct edubba_mutation edubba_delete_from_family(const char *family)
{
    return make(EDUBBA_DELETE_FROM_FAMILY, family);
}

struct edubba_mutation edubba_delete_from_row(void)
{
    return make(EDUBBA_DELETE_FROM_ROW, NULL);
}

/* --- to the wire ------------------------------------------------------------------------------ */

enum status convert_check_row(struct edubba_bytes row, struct error *ret_error)
{
    return row_key_check(client_bytes(row), ret_error);
}

enum status convert_check_identity(const struct edubba_identity *identity, struct error *ret_error)
{
    if (identity != NULL && (identity->client == 0 || identity->sequence == 0)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "an identity's client and sequence must not be 0");
    }
    return STATUS_OK;
}

enum status convert_check_size(size_t size_bytes, struct error *ret_error)
{
    if (size_bytes > LIMIT_OPERATION_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%zu bytes to be sent for one row, the limit is %d", size_bytes,
                         LIMIT_OPERATION_BYTES);
    }
    return STATUS_OK;
}

enum status convert_check_count(size_t count, struct error *ret_error)
{
    if (count > LIMIT_MUTATIONS_PER_REQUEST) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%zu mutations in one request, the limit is %d", count,
                         LIMIT_MUTATIONS_PER_REQUEST);
    }
    return STATUS_OK;
}

static enum status check_mutation(const struct edubba_mutation *mutation,
                                  size_t index,
                                  struct error *ret_error)
{
    if ((unsigned)mutation->kind < EDUBBA_SET_CELL ||
        (unsigned)mutation->kind > EDUBBA_DELETE_FROM_ROW) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "mutation #%zu has unknown kind %d",
                         index, (int)mutation->kind);
    }
    if ((unsigned)mutation->input > EDUBBA_INPUT_RAW) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "mutation #%zu has unknown input %d",
                         index, (int)mutation->input);
    }
    if (mutation->value.size > LIMIT_VALUE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "mutation #%zu has a value of %zu bytes, the limit is %d", index,
                         mutation->value.size, LIMIT_VALUE_BYTES);
    }
    return STATUS_OK;
}

enum status convert_mutations(struct arena *arena,
                              const struct edubba_mutation *mutations,
                              size_t count,
                              const struct mutation **ret_mutations,
                              struct error *ret_error)
{
    struct mutation *converted = arena_allocate_array(arena, count, sizeof *converted);
    if (converted == NULL) {
        return client_status_no_memory(ret_error);
    }
    for (size_t i = 0; i < count; i++) {
        const struct edubba_mutation *from = &mutations[i];
        enum status status = check_mutation(from, i, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        converted[i] = (struct mutation){
            .kind = (enum mutation_kind)from->kind,
            .family = client_bytes(from->family),
            .qualifier = client_bytes(from->qualifier),
            .timestamp_us = from->timestamp_us,
            .start_us = from->start_us,
            .end_us = from->end_us,
            .input = (enum input_kind)from->input,
            .integer = from->integer,
            .value = client_bytes(from->value),
        };
    }
    *ret_mutations = converted;
    return STATUS_OK;
}

enum status convert_rules(struct arena *arena,
                          const struct edubba_rmw_rule *rules,
                          size_t count,
                          const struct rmw_rule **ret_rules,
                          struct error *ret_error)
{
    struct rmw_rule *converted = arena_allocate_array(arena, count, sizeof *converted);
    if (converted == NULL) {
        return client_status_no_memory(ret_error);
    }
    for (size_t i = 0; i < count; i++) {
        if (rules[i].kind != EDUBBA_APPEND && rules[i].kind != EDUBBA_INCREMENT) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT, "rule #%zu has unknown kind %d", i,
                             (int)rules[i].kind);
        }
        converted[i] = (struct rmw_rule){
            .kind = (enum rmw_kind)rules[i].kind,
            .family = client_bytes(rules[i].family),
            .qualifier = client_bytes(rules[i].qualifier),
            .append = client_bytes(rules[i].append),
            .increment = rules[i].increment,
        };
    }
    *ret_rules = converted;
    return STATUS_OK;
}
