/* The blocking forms of single operations: submit and wait. */
#include <stdio.h>

#include "client/include/edubba_gather.h"
#include "client/operations/convert.h"
#include "client/routing/table.h"
#include "client/scan/row.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t left; /* operations not completed yet */
};

/* One operation that a blocking call waits for. */
struct waited {
    struct waiting *waiting;
    struct edubba_error *error; /* set; may be NULL */
    enum edubba_code code;
    bool matched;
    bool wants_row;
    struct edubba_row *row;
};

static void waiting_init(struct waiting *waiting, size_t count)
{
    pthread_mutex_init(&waiting->lock, NULL);
    pthread_cond_init(&waiting->done, NULL);
    waiting->left = count;
}

static void waiting_deinit(struct waiting *waiting)
{
    pthread_cond_destroy(&waiting->done);
    pthread_mutex_destroy(&waiting->lock);
}

static void one_is_done(struct waiting *waiting)
{
    pthread_mutex_lock(&waiting->lock);
    waiting->left--;
    if (waiting->left == 0) {
        pthread_cond_signal(&waiting->done);
    }
    pthread_mutex_unlock(&waiting->lock);
}

static void wait_for_all(struct waiting *waiting)
{
    pthread_mutex_lock(&waiting->lock);
    while (waiting->left > 0) {
        pthread_cond_wait(&waiting->done, &waiting->lock);
    }
    pthread_mutex_unlock(&waiting->lock);
}

static void on_completion(void *context, const struct edubba_result *result)
{
    struct waited *waited = context;
    waited->code = result->code;
    waited->matched = result->matched;
    if (waited->error != NULL) {
        waited->error->code = result->code;
        (void)snprintf(waited->error->text, sizeof waited->error->text, "%s", result->text);
    }
    if (waited->wants_row && result->row != NULL) {
        waited->row = row_copy(result->row);
        if (waited->row == NULL) {
            waited->code = client_no_memory(waited->error);
        }
    }
    one_is_done(waited->waiting);
}

static enum edubba_code run(struct edubba_table *table,
                            const struct edubba_operation *operation,
                            struct waited *waited,
                            struct edubba_error *error)
{
    struct waiting waiting;
    if (client_check_may_block(table->client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    struct edubba_operation timed = *operation;
    timed.deadline_ms = client_blocking_deadline_ms(table->client);
    waiting_init(&waiting, 1);
    waited->waiting = &waiting;
    waited->error = error;
    enum edubba_code code = edubba_submit(table, &timed, on_completion, waited, error);
    if (code == EDUBBA_OK) {
        edubba_client_go(table->client);
        wait_for_all(&waiting);
        code = waited->code;
    }
    waiting_deinit(&waiting);
    return code;
}

enum edubba_code edubba_mutate_row(struct edubba_table *table,
                                   struct edubba_bytes row,
                                   const struct edubba_mutation *mutations,
                                   size_t count,
                                   struct edubba_error *error)
{
    struct waited waited = {0};
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_MUTATE,
        .row = row,
        .mutations = mutations,
        .mutation_count = count,
    };
    return run(table, &operation, &waited, error);
}

enum edubba_code edubba_read_row(struct edubba_table *table,
                                 struct edubba_bytes key,
                                 const struct edubba_filter *filter,
                                 struct edubba_row **row,
                                 struct edubba_error *error)
{
    struct waited waited = {.wants_row = true};
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = key,
        .filter = filter,
    };
    enum edubba_code code = run(table, &operation, &waited, error);
    if (code == EDUBBA_OK) {
        *row = waited.row;
    }
    return code;
}

enum edubba_code edubba_check_and_mutate_row(struct edubba_table *table,
                                             struct edubba_bytes row,
                                             const struct edubba_filter *predicate,
                                             const struct edubba_mutation *if_true,
                                             size_t true_count,
                                             const struct edubba_mutation *if_false,
                                             size_t false_count,
                                             bool *matched,
                                             struct edubba_error *error)
{
    struct waited waited = {0};
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_CHECK_AND_MUTATE,
        .row = row,
        .filter = predicate,
        .mutations = if_true,
        .mutation_count = true_count,
        .otherwise = if_false,
        .otherwise_count = false_count,
    };
    enum edubba_code code = run(table, &operation, &waited, error);
    if (code == EDUBBA_OK && matched != NULL) {
        *matched = waited.matched;
    }
    return code;
}

enum edubba_code edubba_read_modify_write_row(struct edubba_table *table,
                                              struct edubba_bytes row,
                                              const struct edubba_rmw_rule *rules,
                                              size_t count,
                                              struct edubba_row **result,
                                              struct edubba_error *error)
{
    struct waited waited = {.wants_row = result != NULL};
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ_MODIFY_WRITE,
        .row = row,
        .rules = rules,
        .rule_count = count,
    };
    enum edubba_code code = run(table, &operation, &waited, error);
    if (code == EDUBBA_OK && result != NULL) {
        *result = waited.row;
    }
    return code;
}

/* --- many rows -------------------------------------------------------------------------------- */

/* Waits for room as often, so that no call holds more in flight than the bounds and one piece. */
#define PIECE_ROWS  1024
#define PIECE_BYTES (UINT64_C(1) << 20) /* of values */

#define NS_PER_MS INT64_C(1000000)

/* A piece of the entries that a blocking call waits for. */
struct piece {
    struct waiting *waiting;
    struct edubba_error *errors; /* of its entries; may be NULL */
    enum edubba_code code;
};

static void on_rows_completion(void *context, const struct edubba_rows_result *result)
{
    struct piece *piece = context;
    piece->code = result->code;
    for (size_t i = 0; piece->errors != NULL && i < result->failure_count; i++) {
        const struct edubba_row_failure *failure = &result->failures[i];
        struct edubba_error *error = &piece->errors[failure->entry];
        error->code = failure->code;
        (void)snprintf(error->text, sizeof error->text, "%s", failure->text);
    }
    one_is_done(piece->waiting);
}

static enum edubba_code fail_all(struct edubba_error *errors,
                                 size_t count,
                                 const struct error *trouble)
{
    for (size_t i = 0; errors != NULL && i < count; i++) {
        (void)client_error_of(&errors[i], trouble);
    }
    return client_code(trouble->status);
}

static enum status check_entries(struct edubba_client *client,
                                 const struct edubba_entry *entries,
                                 size_t entry_count,
                                 struct error *ret_error)
{
    size_t mutations = 0;
    for (size_t i = 0; i < entry_count && mutations <= LIMIT_MUTATIONS_PER_REQUEST; i++) {
        mutations += entries[i].count;
    }
    if (loop_is_held_here(&client->loop)) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "a completion must not call a blocking function");
    }
    return convert_check_count(mutations, ret_error);
}

/* How many entries the next piece has. */
static size_t piece_of(const struct edubba_entry *entries, size_t entry_count)
{
    uint64_t bytes = 0;
    size_t count = 0;
    while (count < entry_count && count < PIECE_ROWS && bytes < PIECE_BYTES) {
        for (size_t i = 0; i < entries[count].count; i++) {
            bytes += entries[count].mutations[i].value.size;
        }
        count++;
    }
    return count;
}

/* All pieces have one deadline, that of the call: those that waited for room have less of it. */
static void submit_piece(struct edubba_table *table,
                         const struct edubba_entry *entries,
                         size_t count,
                         int64_t end_ns,
                         struct piece *piece)
{
    struct edubba_error error;
    int64_t left_ms = (end_ns - clock_monotonic_ns() + NS_PER_MS - 1) / NS_PER_MS;
    for (size_t i = 0; piece->errors != NULL && i < count; i++) {
        (void)client_success(&piece->errors[i]); /* the completion sets those that failed */
    }
    enum edubba_code code = left_ms > 0
                                ? edubba_submit_rows(table, entries, count, (uint32_t)left_ms,
                                                     on_rows_completion, piece, &error)
                                : client_error(
                                      &error, STATUS_DEADLINE_EXCEEDED,
                                      "the deadline of %u ms has passed before it was sent",
                                      client_blocking_deadline_ms(table->client));
    if (code != EDUBBA_OK) {
        piece->code = code;
        for (size_t i = 0; piece->errors != NULL && i < count; i++) {
            piece->errors[i] = error;
        }
        one_is_done(piece->waiting);
    }
}

enum edubba_code edubba_mutate_rows(struct edubba_table *table,
                                    const struct edubba_entry *entries,
                                    size_t entry_count,
                                    struct edubba_error *errors)
{
    struct waiting waiting;
    struct error trouble = {0};
    enum edubba_code code = EDUBBA_OK;
    size_t piece_count = 0;

    if (check_entries(table->client, entries, entry_count, &trouble) != STATUS_OK) {
        return fail_all(errors, entry_count, &trouble);
    }
    for (size_t i = 0; i < entry_count; i += piece_of(&entries[i], entry_count - i)) {
        piece_count++;
    }
    struct piece *pieces = memory_allocate_zeroed(piece_count + 1, sizeof *pieces);
    if (pieces == NULL) {
        (void)client_status_no_memory(&trouble);
        return fail_all(errors, entry_count, &trouble);
    }
    waiting_init(&waiting, piece_count);
    int64_t end_ns = clock_monotonic_ns() + client_blocking_deadline_ms(table->client) * NS_PER_MS;
    size_t count = 0;
    for (size_t i = 0, at = 0; i < piece_count; i++, at += count) {
        count = piece_of(&entries[at], entry_count - at);
        pieces[i].waiting = &waiting;
        pieces[i].errors = errors != NULL ? &errors[at] : NULL;
        submit_piece(table, &entries[at], count, end_ns, &pieces[i]);
    }
    wait_for_all(&waiting);
    for (size_t i = piece_count; i > 0; i--) {
        code = pieces[i - 1].code != EDUBBA_OK ? pieces[i - 1].code : code;
    }
    waiting_deinit(&waiting);
    memory_free(pieces);
    return code;
}
