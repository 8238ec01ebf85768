/* edubba_submit_rows, and the call that waits for it: from a caller's entries to a bundle. */
#include "client/operations/bundle.h"
#include "client/operations/convert.h"
#include "client/operations/submission.h"
#include "client/routing/table.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define ARENA_BLOCK_BYTES  8192
#define NS_PER_MS          INT64_C(1000000)
#define ROW_BYTES_MAX      40 /* encoded, besides its key and mutations */
#define MUTATION_BYTES_MAX 32 /* encoded, besides its bytes: kinds, lengths, two numbers */

/* --- converting ------------------------------------------------------------------------------- */

/* No less than what the entries take when they are encoded. */
static size_t bound_bytes(const struct edubba_entry *entries, size_t entry_count)
{
    size_t bound = 0;
    for (size_t i = 0; i < entry_count; i++) {
        bound += ROW_BYTES_MAX + entries[i].row.size;
        for (size_t j = 0; j < entries[i].count; j++) {
            const struct edubba_mutation *mutation = &entries[i].mutations[j];
            bound += MUTATION_BYTES_MAX + mutation->family.size + mutation->qualifier.size +
                     mutation->value.size;
        }
    }
    return bound;
}

static enum status check_counts(const struct edubba_entry *entries,
                                size_t entry_count,
                                struct error *ret_error)
{
    size_t mutations = 0;
    for (size_t i = 0; i < entry_count && mutations <= LIMIT_MUTATIONS_PER_REQUEST; i++) {
        mutations += entries[i].count;
    }
    enum status status = convert_check_count(mutations, ret_error);
    if (status == STATUS_OK && entry_count > LIMIT_MUTATIONS_PER_REQUEST) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT,
                           "%zu rows in one request, the limit is %d", entry_count,
                           LIMIT_MUTATIONS_PER_REQUEST);
    }
    return status;
}

static void add_wrong(struct row_table *rows, const struct error *trouble)
{
    row_table_add(rows, 0, 0);
    row_table_fail(rows, rows->count - 1, client_code(trouble->status),
                   bytes_of_text(trouble->text));
}

/* One entry into the bundle.  What is wrong with it is its own outcome.  Errors: STATUS_NO_MEMORY. */
static enum status add_entry(struct bundle *bundle,
                             struct arena *arena,
                             const struct edubba_entry *entry,
                             struct operation *operation)
{
    struct row_table *rows = &bundle->rows;
    struct error trouble = {0};
    enum status status = convert_check_row(entry->row, &trouble);
    if (status == STATUS_OK) {
        status = convert_check_identity(entry->identity, &trouble);
    }
    if (status == STATUS_OK) {
        arena_reset(arena);
        status = convert_mutations(arena, entry->mutations, entry->count, &operation->mutations,
                                   &trouble);
    }
    if (status == STATUS_NO_MEMORY) {
        return status;
    }
    if (status != STATUS_OK) {
        add_wrong(rows, &trouble);
        return STATUS_OK;
    }
    operation->row = client_bytes(entry->row);
    operation->mutation_count = entry->count;
    size_t begin = rows->encoded.size_bytes;
    size_t key_offset = operation_encode(operation, &rows->encoded);
    if (rows->encoded.failed) {
        return STATUS_NO_MEMORY;
    }
    if (convert_check_size(rows->encoded.size_bytes - begin, &trouble) != STATUS_OK) {
        rows->encoded.size_bytes = begin;
        add_wrong(rows, &trouble);
        return STATUS_OK;
    }
    row_table_add(rows, key_offset, entry->row.size);
    return STATUS_OK;
}

static enum status add_entries(struct bundle *bundle,
                               const struct edubba_entry *entries,
                               size_t entry_count,
                               int64_t first_attempt_us)
{
    struct arena arena;
    struct operation operation = {.kind = OPERATION_MUTATE, .table = bundle->table};
    enum status status = STATUS_OK;
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    (void)buffer_reserve(&bundle->rows.encoded, bound_bytes(entries, entry_count));
    for (size_t i = 0; i < entry_count && status == STATUS_OK; i++) {
        const struct edubba_identity *identity = entries[i].identity;
        operation.identity.sequence = bundle->admission.sequence_first + i;
        operation.identity.first_attempt_us = first_attempt_us;
        if (identity != NULL) {
            operation.identity.sequence = identity->sequence;
            operation.identity.first_attempt_us = identity->first_attempt_us;
            status = bundle_set_process(bundle, entry_count, (uint32_t)i, identity->client);
        }
        if (status == STATUS_OK) {
            status = add_entry(bundle, &arena, &entries[i], &operation);
        }
    }
    arena_deinit(&arena);
    return status;
}

/* --- submitting ------------------------------------------------------------------------------- */

static enum status submit(struct edubba_table *table,
                          const struct edubba_entry *entries,
                          size_t entry_count,
                          uint32_t deadline_ms,
                          edubba_rows_completion completion,
                          void *context)
{
    struct edubba_client *client = table->client;
    struct admission admission;
    uint32_t count = (uint32_t)entry_count;
    int64_t now_ns = clock_monotonic_ns(); /* waiting for room is part of the deadline */
    enum status status = admission_enter(client, count, count, &admission);
    if (status != STATUS_OK) {
        return status;
    }
    struct bundle *bundle = bundle_make(entry_count);
    if (bundle != NULL) {
        bundle->client = client;
        bundle->admission = admission;
        bundle->table = table->number;
        bundle->deadline_ms = submission_deadline_ms(client, deadline_ms);
        bundle->deadline_ns = now_ns + bundle->deadline_ms * NS_PER_MS;
        bundle->completion = completion;
        bundle->context = context;
        status = add_entries(bundle, entries, entry_count,
                             submission_first_attempt_us(client, now_ns));
    }
    if (bundle == NULL || status != STATUS_OK) {
        if (bundle != NULL) {
            bundle_free(bundle);
        }
        admission_leave(client, &admission);
        return STATUS_NO_MEMORY;
    }
    admission_add_bytes(client, &bundle->admission, bundle->rows.encoded.size_bytes);
    bundle_start(bundle);
    return STATUS_OK;
}

enum edubba_code edubba_submit_rows(struct edubba_table *table,
                                    const struct edubba_entry *entries,
                                    size_t entry_count,
                                    uint32_t deadline_ms,
                                    edubba_rows_completion completion,
                                    void *context,
                                    struct edubba_error *error)
{
    struct error trouble = {0};
    if (completion == NULL) {
        return client_error(error, STATUS_INVALID_ARGUMENT, "no completion to be called");
    }
    if (check_counts(entries, entry_count, &trouble) != STATUS_OK) {
        return client_error_of(error, &trouble);
    }
    /* Before it starts: its completion may set the same error, from another thread. */
    (void)client_success(error);
    if (submit(table, entries, entry_count, deadline_ms, completion, context) != STATUS_OK) {
        return client_no_memory(error);
    }
    return EDUBBA_OK;
}
