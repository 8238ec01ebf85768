#include "tabletserver/serve/write/evaluate.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/read/row_read.h"
#include "tabletserver/serve/server.h"

#define EVALUATION_ARENA_BLOCK_BYTES 4096
#define HOLDINGS_PER_RESULT          2 /* the change, and the row to answer with */
#define INCREMENT_BYTES              8

/* --- check and mutate ------------------------------------------------------------------------- */

static enum status check(struct evaluation *evaluation, struct row_reader *reader)
{
    const struct operation *operation = evaluation->work->operation;
    const struct table *table = schema_table(evaluation->schema);
    struct filter_program *program = NULL;

    /* What is wrong with either branch fails the call, whichever would be taken. */
    enum status status = mutation_check_list(table, operation->mutations, operation->mutation_count,
                                             "true mutation list", &evaluation->error);
    if (status == STATUS_OK) {
        status = mutation_check_list(table, operation->otherwise, operation->otherwise_count,
                                     "false mutation list", &evaluation->error);
    }
    if (status == STATUS_OK) {
        status = filter_compile(operation->filter, operation->filter_bytes, table, 0, &program,
                                &evaluation->error);
    }
    if (status == STATUS_OK) {
        status = row_read_any(reader, operation->row, program, &evaluation->matched);
    }
    filter_destroy(program);
    return status;
}

/* --- read, modify, write ---------------------------------------------------------------------- */

/* So much more is about to be held. */
static enum status charge(struct evaluation *evaluation, uint64_t bytes)
{
    const struct batch *batch = evaluation->work->part->batch;
    if (!request_budget_charge(&batch->server->budget, bytes,
                               batch->charged_bytes + evaluation->charged_bytes)) {
        return error_set(&evaluation->error, STATUS_UNAVAILABLE,
                         "the results of operations under way hold too much memory; retry");
    }
    evaluation->charged_bytes += bytes;
    return STATUS_OK;
}

static bool same_column(const struct change *change, uint32_t family, struct bytes qualifier)
{
    return change->family == family && bytes_equal(change->qualifier, qualifier);
}

/* What the rule's column holds: the result of an earlier rule, or the newest stored cell. */
static enum status current_of(struct evaluation *evaluation,
                              struct row_reader *reader,
                              const struct rmw_rule *rule,
                              struct rmw_current *ret_current)
{
    const struct family *family = table_family_by_name(schema_table(evaluation->schema),
                                                       rule->family);
    ASSERT(family != NULL); /* rmw_check() was there first */

    for (size_t i = evaluation->change_count; i > 0; i--) {
        const struct change *change = &evaluation->changes[i - 1];
        if (same_column(change, family->number, rule->qualifier)) {
            *ret_current = (struct rmw_current){
                .found = true, .timestamp_us = change->timestamp_us, .value = change->value};
            return STATUS_OK;
        }
    }
    return row_read_newest(reader, evaluation->work->operation->row, family->number,
                           rule->qualifier, ret_current);
}

static uint64_t result_bytes_max(const struct rmw_rule *rule, const struct rmw_current *current)
{
    return rule->kind == RMW_INCREMENT ? INCREMENT_BYTES
                                       : current->value.size_bytes + rule->append.size_bytes;
}

static enum status apply_rule(struct evaluation *evaluation,
                              struct row_reader *reader,
                              const struct rmw_rule *rule)
{
    struct rmw_current current = {.found = false};
    struct change *change = &evaluation->changes[evaluation->change_count];

    enum status status = current_of(evaluation, reader, rule, &current);
    if (status != STATUS_OK) {
        return error_set(&evaluation->error, status, "cannot read the row: %s",
                         status_text(status));
    }
    status = charge(evaluation, HOLDINGS_PER_RESULT * result_bytes_max(rule, &current));
    if (status == STATUS_OK) {
        status = rmw_apply(schema_table(evaluation->schema), rule, &current, evaluation->now_us,
                           &evaluation->arena, change, &evaluation->error);
    }
    if (status == STATUS_OK) {
        evaluation->change_count += 1;
    }
    return status;
}

static int compare_changes(const struct change *a, const struct change *b)
{
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    int order = bytes_compare(a->qualifier, b->qualifier);
    if (order != 0) {
        return order;
    }
    return (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
}

/* The next column's last change after `after`, in column order; rules are few: no sort needed. */
static const struct change *next_result(const struct evaluation *evaluation,
                                        const struct change *after)
{
    const struct change *best = NULL;
    for (size_t i = 0; i < evaluation->change_count; i++) {
        const struct change *change = &evaluation->changes[i];
        bool beyond = after == NULL || (compare_changes(change, after) > 0 &&
                                        !same_column(change, after->family, after->qualifier));
        if (!beyond) {
            continue;
        }
        /* Of one column the later rule's result stands for it. */
        if (best == NULL || same_column(best, change->family, change->qualifier) ||
            compare_changes(change, best) < 0) {
            best = change;
        }
    }
    return best;
}

static enum status answer_row(struct evaluation *evaluation)
{
    const struct table *table = schema_table(evaluation->schema);
    struct row_block_writer writer;

    row_block_writer_init(&writer, &evaluation->rows);
    row_block_begin_row(&writer, evaluation->work->operation->row);
    for (const struct change *change = next_result(evaluation, NULL); change != NULL;
         change = next_result(evaluation, change)) {
        struct cell cell = {.family = change->family,
                            .qualifier = change->qualifier,
                            .timestamp_us = change->timestamp_us,
                            .value = change->value};
        row_block_add_cell(&writer, table_family_by_number(table, change->family)->name, &cell);
    }
    (void)row_block_end_row(&writer); /* at least one rule, so at least one cell */
    return evaluation->rows.failed
               ? error_set(&evaluation->error, STATUS_UNAVAILABLE, "out of memory; retry")
               : STATUS_OK;
}

static enum status modify(struct evaluation *evaluation, struct row_reader *reader)
{
    const struct operation *operation = evaluation->work->operation;
    enum status status = rmw_check(schema_table(evaluation->schema), operation->row,
                                   operation->rules, operation->rule_count, &evaluation->error);
    if (status != STATUS_OK) {
        return status;
    }
    evaluation->changes = arena_allocate_array(&evaluation->arena, operation->rule_count,
                                               sizeof(struct change));
    if (evaluation->changes == NULL) {
        return error_set(&evaluation->error, STATUS_UNAVAILABLE, "out of memory; retry");
    }
    for (size_t i = 0; i < operation->rule_count && status == STATUS_OK; i++) {
        status = apply_rule(evaluation, reader, &operation->rules[i]);
    }
    return status == STATUS_OK ? answer_row(evaluation) : status;
}

/* --- the job ---------------------------------------------------------------------------------- */

static enum status evaluate(struct evaluation *evaluation)
{
    struct store_read *read = NULL;
    enum status status = store_read_begin(evaluation->tablet, schema_table(evaluation->schema),
                                          STORE_READ_PREPARED, evaluation->now_us, &read);
    if (status != STATUS_OK) {
        return error_set(&evaluation->error, status, "cannot read the row: %s",
                         status_text(status));
    }
    struct row_reader *reader = store_read_reader(read);
    if (evaluation->work->operation->kind == OPERATION_CHECK_AND_MUTATE) {
        status = check(evaluation, reader);
    } else {
        status = modify(evaluation, reader);
    }
    status = store_read_explain(read, status, &evaluation->error);
    store_read_end(read);
    if (status != STATUS_OK && evaluation->error.status == STATUS_OK) {
        (void)error_set(&evaluation->error, status, "cannot read the row: %s", status_text(status));
    }
    return status;
}

static void run(struct job *job)
{
    struct evaluation *evaluation = (struct evaluation *)job;
    const struct transport_reply *reply = evaluation->work->part->batch->reply;
    int64_t begun_ns = clock_monotonic_ns();

    evaluation->status = evaluate(evaluation);
    load_counters_add_read(
        store_tablet_load(evaluation->tablet),
        &(struct load_read_counts){.evaluate_ns = (uint64_t)(clock_monotonic_ns() - begun_ns)});
    if (evaluation->status == STATUS_OK &&
        transport_reply_must_wait(reply, evaluation->rows.size_bytes)) {
        /* Before it is applied: it could not be told what it made. */
        evaluation->status = error_set(&evaluation->error, STATUS_UNAVAILABLE, TOO_MUCH_QUEUED);
    }
    store_loop_evaluated(evaluation->work->part->loop, evaluation->work);
}

enum status evaluation_start(struct work *work,
                             struct store_tablet *tablet,
                             struct schema *schema,
                             int64_t now_us)
{
    struct batch *batch = work->part->batch;
    struct evaluation *evaluation = memory_allocate_zeroed(1, sizeof *evaluation);
    if (evaluation == NULL) {
        return STATUS_NO_MEMORY;
    }
    evaluation->job.run = run;
    evaluation->work = work;
    evaluation->tablet = tablet;
    evaluation->schema = schema;
    evaluation->now_us = now_us;
    store_tablet_ref(tablet);
    schema_retain(schema);
    arena_init(&evaluation->arena, EVALUATION_ARENA_BLOCK_BYTES, 2 * REQUEST_ARENA_BYTES_MAX);

    work->evaluation = evaluation;
    worker_pool_submit(batch->server->workers, &evaluation->job, JOB_URGENT);
    return STATUS_OK;
}

static void release(struct evaluation *evaluation, uint64_t keep_bytes)
{
    if (evaluation->charged_bytes > keep_bytes) {
        request_budget_release(&evaluation->work->part->batch->server->budget,
                               evaluation->charged_bytes - keep_bytes);
        evaluation->charged_bytes = keep_bytes;
    }
}

void evaluation_forget_changes(struct evaluation *evaluation)
{
    evaluation->changes = NULL;
    evaluation->change_count = 0;
    arena_deinit(&evaluation->arena);
    release(evaluation, evaluation->rows.size_bytes);
}

void evaluation_destroy(struct evaluation *evaluation)
{
    store_tablet_unref(evaluation->tablet);
    schema_release(evaluation->schema);
    arena_deinit(&evaluation->arena);
    buffer_deinit(&evaluation->rows);
    release(evaluation, 0);
    memory_free(evaluation);
}
