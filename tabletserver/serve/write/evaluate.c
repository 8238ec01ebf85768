#include "tabletserver/serve/write/evaluate.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/limits.h"
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
        status = filter_compile(operation->filter, operation->filter_bytes, table,
                                (uint64_t)clock_monotonic_ns(), &program, &evaluation->error);
    }
    if (status == STATUS_OK) {
        status = row_read_any(reader, operation->row, program, &evaluation->matched);
    }
    filter_destroy(program);
    return status;
}

/* --- read, modify, write ---------------------------------------------------------------------- */

/* The evaluation is about to hold so much more: charge it to the budget.  Errors: STATUS_UNAVAILABLE. */
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

/* A rule, and the number of its family: what it is sorted by. */
struct placed_rule {
    const struct rmw_rule *rule;
    uint32_t family;
};

/* By column; rules of one column stay in the order in which they lie in the operation. */
static int compare_placed(const void *a, const void *b)
{
    const struct placed_rule *first = a;
    const struct placed_rule *second = b;
    if (first->family != second->family) {
        return first->family < second->family ? -1 : 1;
    }
    int order = bytes_compare(first->rule->qualifier, second->rule->qualifier);
    return order != 0 ? order : (first->rule > second->rule) - (first->rule < second->rule);
}

/* The operation's rules, column by column in the order of a row; NULL without memory. */
static const struct rmw_rule *sort_rules(struct evaluation *evaluation)
{
    const struct operation *operation = evaluation->work->operation;
    const struct table *table = schema_table(evaluation->schema);
    size_t count = operation->rule_count;
    struct placed_rule *placed = arena_allocate_array(&evaluation->arena, count, sizeof *placed);
    struct rmw_rule *sorted = arena_allocate_array(&evaluation->arena, count, sizeof *sorted);

    if (placed == NULL || sorted == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct family *family = table_family_by_name(table, operation->rules[i].family);
        ASSERT(family != NULL); /* rmw_check() was there first */
        placed[i] = (struct placed_rule){&operation->rules[i], family->number};
    }
    qsort(placed, count, sizeof *placed, compare_placed);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = *placed[i].rule;
    }
    return sorted;
}

/* How many of the sorted rules, from the first on, are about its column. */
static size_t count_of_column(const struct rmw_rule *rules, size_t count)
{
    size_t same = 1;
    while (same < count && bytes_equal(rules[same].family, rules[0].family) &&
           bytes_equal(rules[same].qualifier, rules[0].qualifier)) {
        same++;
    }
    return same;
}

static uint64_t result_bytes_max(const struct rmw_rule *rules,
                                 size_t count,
                                 const struct rmw_current *current)
{
    uint64_t bytes = current->found ? current->value.size_bytes : 0;
    for (size_t i = 0; i < count; i++) {
        bytes += rules[i].kind == RMW_INCREMENT ? INCREMENT_BYTES : rules[i].append.size_bytes;
    }
    return bytes < LIMIT_VALUE_BYTES ? bytes : LIMIT_VALUE_BYTES;
}

/* The rules of one column. */
static enum status apply_rules(struct evaluation *evaluation,
                               struct row_reader *reader,
                               const struct rmw_rule *rules,
                               size_t count)
{
    const struct table *table = schema_table(evaluation->schema);
    struct rmw_current current = {.found = false};
    struct change *change = &evaluation->changes[evaluation->change_count];

    enum status status = row_read_newest(reader, evaluation->work->operation->row,
                                         table_family_by_name(table, rules[0].family)->number,
                                         rules[0].qualifier, &current);
    if (status != STATUS_OK) {
        return error_set(&evaluation->error, status, "cannot read the row: %s",
                         status_text(status));
    }
    status = charge(evaluation, HOLDINGS_PER_RESULT * result_bytes_max(rules, count, &current));
    if (status == STATUS_OK) {
        status = rmw_apply(table, rules, count, &current, evaluation->now_us, &evaluation->arena,
                           change, &evaluation->error);
    }
    evaluation->change_count += status == STATUS_OK ? 1 : 0;
    return status;
}

static enum status answer_row(struct evaluation *evaluation)
{
    const struct table *table = schema_table(evaluation->schema);
    struct row_block_writer writer;

    row_block_writer_init(&writer, &evaluation->rows);
    row_block_begin_row(&writer, evaluation->work->operation->row);
    for (size_t i = 0; i < evaluation->change_count; i++) {
        const struct change *change = &evaluation->changes[i];
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

/* A row that is answered, and a record of its changes, must fit a message.  *bytes: of the columns
 * before the last one that was changed, then with it. */
static enum status check_size(struct evaluation *evaluation, uint64_t *bytes)
{
    const struct change *last = &evaluation->changes[evaluation->change_count - 1];
    *bytes += last->qualifier.size_bytes + last->value.size_bytes;
    return *bytes <= LIMIT_ROW_BYTES
               ? STATUS_OK
               : error_set(&evaluation->error, STATUS_INVALID_ARGUMENT,
                           "the cells that the rules change are more than 256 MiB together");
}

static enum status modify(struct evaluation *evaluation, struct row_reader *reader)
{
    const struct operation *operation = evaluation->work->operation;
    enum status status = rmw_check(schema_table(evaluation->schema), operation->row,
                                   operation->rules, operation->rule_count, &evaluation->error);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t bytes = 0;
    size_t left = operation->rule_count;
    const struct rmw_rule *rules = sort_rules(evaluation);
    evaluation->changes = arena_allocate_array(&evaluation->arena, left, sizeof(struct change));
    if (rules == NULL || evaluation->changes == NULL) {
        return error_set(&evaluation->error, STATUS_UNAVAILABLE, "out of memory; retry");
    }
    while (left > 0 && status == STATUS_OK) {
        size_t count = count_of_column(rules, left);
        status = apply_rules(evaluation, reader, rules, count);
        status = status == STATUS_OK ? check_size(evaluation, &bytes) : status;
        rules += count;
        left -= count;
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
    const struct batch *batch = evaluation->work->part->batch;
    struct row_read_for who = {batch->reply, batch->deadline_ns};
    struct row_reader *reader = store_read_reader(read);
    row_read_while_awaited(reader, &who);
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
