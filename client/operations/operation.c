/* edubba_submit: from a caller's operation to a submission. */
#include <stdalign.h>
#include <stddef.h>

#include "client/operations/convert.h"
#include "client/operations/submission.h"
#include "client/routing/table.h"

#define ARENA_BLOCK_BYTES 2048
#define ARENA_LENT_BYTES  1024 /* one mutation needs no more */

static enum status convert_kind(enum edubba_operation_kind kind,
                                enum operation_kind *ret_kind,
                                struct error *ret_error)
{
    switch ((int)kind) {
    case EDUBBA_OPERATION_MUTATE:
    case EDUBBA_OPERATION_READ:
    case EDUBBA_OPERATION_CHECK_AND_MUTATE:
    case EDUBBA_OPERATION_READ_MODIFY_WRITE:
        *ret_kind = (enum operation_kind)kind;
        return STATUS_OK;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "unknown kind of operation: %d",
                         (int)kind);
    }
}

static enum status convert(struct arena *arena,
                           const struct edubba_operation *from,
                           struct operation *ret_operation,
                           struct error *ret_error)
{
    struct operation operation = {
        .row = client_bytes(from->row),
        .mutation_count = from->mutation_count,
        .otherwise_count = from->otherwise_count,
        .filter = convert_filter(from->filter),
        .rule_count = from->rule_count,
    };
    enum status status = convert_kind(from->kind, &operation.kind, ret_error);
    if (status == STATUS_OK) {
        status = convert_check_row(from->row, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_check_identity(from->identity, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_check_count(from->mutation_count, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_check_count(from->otherwise_count, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_mutations(arena, from->mutations, from->mutation_count,
                                   &operation.mutations, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_mutations(arena, from->otherwise, from->otherwise_count,
                                   &operation.otherwise, ret_error);
    }
    if (status == STATUS_OK) {
        status = convert_rules(arena, from->rules, from->rule_count, &operation.rules, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_operation = operation;
    }
    return status;
}

enum edubba_code edubba_submit(struct edubba_table *table,
                               const struct edubba_operation *operation,
                               edubba_completion completion,
                               void *context,
                               struct edubba_error *error)
{
    struct operation converted;
    struct error trouble = {0};
    struct arena arena;
    alignas(max_align_t) uint8_t lent[ARENA_LENT_BYTES];

    if (completion == NULL) {
        return client_error(error, STATUS_INVALID_ARGUMENT, "no completion to be called");
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    arena_lend(&arena, lent, sizeof lent);
    enum status status = convert(&arena, operation, &converted, &trouble);
    if (status == STATUS_OK) {
        /* Before it starts: its completion may set the same error, from another thread. */
        (void)client_success(error);
        converted.table = table->number;
        status = submission_start(table->client, &converted, operation->identity,
                                  operation->deadline_ms, completion, context, &trouble);
    }
    arena_deinit(&arena);
    return status == STATUS_OK ? EDUBBA_OK : client_error_of(error, &trouble);
}
