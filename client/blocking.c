/* The blocking forms of single operations: submit and wait. */
#include <stdio.h>

#include "client/convert.h"
#include "client/row.h"
#include "client/table.h"
#include "common/base/memory.h"

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
    waiting_init(&waiting, 1);
    waited->waiting = &waiting;
    waited->error = error;
    enum edubba_code code = edubba_submit(table, operation, on_completion, waited, error);
    if (code == EDUBBA_OK) {
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

static void submit_entry(struct edubba_table *table,
                         const struct edubba_entry *entry,
                         struct waited *waited)
{
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_MUTATE,
        .row = entry->row,
        .mutations = entry->mutations,
        .mutation_count = entry->count,
    };
    enum edubba_code code = edubba_submit(table, &operation, on_completion, waited, waited->error);
    if (code != EDUBBA_OK) {
        waited->code = code;
        one_is_done(waited->waiting);
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

    if (check_entries(table->client, entries, entry_count, &trouble) != STATUS_OK) {
        return fail_all(errors, entry_count, &trouble);
    }
    struct waited *waited = memory_allocate_zeroed(entry_count + 1, sizeof *waited);
    if (waited == NULL) {
        (void)error_set(&trouble, STATUS_NO_MEMORY, "out of memory");
        return fail_all(errors, entry_count, &trouble);
    }
    waiting_init(&waiting, entry_count);
    for (size_t i = 0; i < entry_count; i++) {
        waited[i].waiting = &waiting;
        waited[i].error = errors != NULL ? &errors[i] : NULL;
        submit_entry(table, &entries[i], &waited[i]);
    }
    wait_for_all(&waiting);
    for (size_t i = entry_count; i > 0; i--) {
        code = waited[i - 1].code != EDUBBA_OK ? waited[i - 1].code : code;
    }
    waiting_deinit(&waiting);
    memory_free(waited);
    return code;
}
