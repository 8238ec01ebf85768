#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/server/sim_write_parts.h"

/*
 * The write order of production's store loop: route, wait behind barriers and locked rows, check
 * for duplicates, resolve, gather, append, answer at the commit.
 */

/* --- rows that must be read first ------------------------------------------------------------- */

static bool needs_row(const struct operation *operation)
{
    return operation->kind == OPERATION_CHECK_AND_MUTATE ||
           operation->kind == OPERATION_READ_MODIFY_WRITE;
}

static void evaluate(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    sim_write_flush(server, tablet); /* what was ordered before must be there to be read */
    work->evaluation = server->evaluation_next++;
    work->reign = tablet->reign;
    int64_t takes_ns = sim_about_ns(server->sim, server->sim->settings.evaluate_mean_ns);
    takes_ns += sim_buggify(server->sim, SIM_SITE_EVALUATION_SLOW) ? SIM_S : 0;
    sim_effects_timer(server->effects, work->evaluation * SIM_TIMER_KINDS + SIM_TIMER_EVALUATION,
                      takes_ns);
}

static void start_write(struct sim_server *server,
                        struct sim_tablet *tablet,
                        struct sim_work *work,
                        bool locked)
{
    struct sim_order *order = sim_order_of(tablet);
    if (sim_answer_refuses(server, tablet, work)) {
        return;
    }
    if (order->gathered_count > 0 &&
        order->gathered_works[order->gathered_count - 1]->batch != work->batch) {
        sim_write_flush(server, tablet); /* one of them may be the same request */
    }
    if (!sim_write_is_new(server, tablet, work)) {
        return;
    }
    if (!needs_row(work->operation)) {
        sim_write_resolve(server, tablet, work, work->operation->mutations,
                          work->operation->mutation_count);
        return;
    }
    if (!locked && server->sim->planted != SIM_PLANTED_NO_ROW_LOCK) {
        ASSERT(row_lock_acquire(work->loop->locks, tablet->tablet, work->operation->row) ==
               STATUS_OK);
        order->locks++;
    }
    if (server->sim->planted == SIM_PLANTED_NO_ROW_LOCK) {
        order->locks++;
    }
    evaluate(server, tablet, work);
}

/* --- routing ---------------------------------------------------------------------------------- */

static void order_write(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    struct sim_order *order = sim_order_of(tablet);
    struct row_lock_table *locks = sim_loop_of(tablet)->locks;
    struct error error = {.status = STATUS_OK};

    if (server->sim->now_ns > work->batch->deadline_ns) {
        sim_answer_fail(work, STATUS_DEADLINE_EXCEEDED, "the deadline passed");
    } else if (row_key_check(work->operation->row, &error) != STATUS_OK) {
        sim_answer_fail(work, error.status, error.text);
    } else if (order->locks > 0 && row_lock_is_held(locks, tablet->tablet, work->operation->row)) {
        row_lock_wait(locks, tablet->tablet, work->operation->row, &work->waiter);
    } else {
        start_write(server, tablet, work, false);
    }
}

void sim_write_route(struct sim_server *server, struct sim_work *work)
{
    const struct operation *operation = work->operation;
    if (operation->kind == OPERATION_READ) {
        sim_answer_read(server, work);
        return;
    }
    struct sim_tablet *tablet = sim_served_find(server, operation->table, operation->row);
    if (tablet == NULL || sim_server_schema(server, operation->table) == NULL) {
        sim_answer_redirect(server, work);
        return;
    }
    struct sim_order *order = sim_order_of(tablet);
    if (order->blocked || sim_write_must_hold(server, tablet)) {
        sim_write_defer(order, work);
    } else if (operation->kind != OPERATION_DROP_RANGE) {
        order_write(server, tablet, work);
    } else if (order->locks == 0) {
        sim_write_append_drop(server, tablet, work);
    } else {
        order->blocked = true;
        sim_write_defer(order, work);
    }
}

void sim_write_take(struct sim_server *server, struct sim_batch *batch)
{
    for (size_t i = 0; i < batch->request.operation_count; i++) {
        sim_write_route(server, &batch->works[i]);
    }
}

void sim_write_end(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            if (store->tablets[k]->context != NULL) {
                sim_write_flush(server, store->tablets[k]);
            }
        }
    }
}

/* --- the end of an evaluation ----------------------------------------------------------------- */

static enum status modify(struct sim_server *server,
                          struct sim_tablet *tablet,
                          struct sim_work *work,
                          struct change *change,
                          struct error *ret_error)
{
    const struct table *schema = sim_server_schema(server, tablet->table);
    const struct operation *operation = work->operation;
    struct arena *arena = &work->batch->arena;
    struct rmw_current current = {.found = false};
    struct buffer rows = BUFFER_INIT;
    struct row_block_writer writer;

    enum status status = rmw_check(schema, operation->row, operation->rules, operation->rule_count,
                                   ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    ASSERT(operation->rule_count == 1);
    const struct family *family = table_family_by_name(schema, operation->rules[0].family);
    const struct sim_cell *cell = sim_row_newest(
        sim_rows_find(&tablet->prepared_rows, operation->row), family->number,
        operation->rules[0].qualifier);
    if (cell != NULL) {
        current = (struct rmw_current){true, cell->timestamp_us,
                                       bytes_of(cell->value, cell->value_bytes)};
    }
    status = rmw_apply(schema, operation->rules, 1, &current, hlc_to_us(work->loop->clock), arena,
                       change, ret_error);
    if (status == STATUS_OK) {
        row_block_writer_init(&writer, &rows);
        row_block_begin_row(&writer, operation->row);
        row_block_add_cell(&writer, family->name,
                           &(struct cell){.family = change->family,
                                          .qualifier = change->qualifier,
                                          .timestamp_us = change->timestamp_us,
                                          .value = change->value});
        (void)row_block_end_row(&writer);
        work->answer.rows = arena_copy(arena, buffer_bytes(&rows));
        work->result = work->answer.rows;
        buffer_deinit(&rows);
    }
    return status;
}

static void gather_evaluated(struct sim_server *server,
                             struct sim_tablet *tablet,
                             struct sim_work *work)
{
    static const uint8_t matched_result[] = {0, 1};
    const struct operation *operation = work->operation;
    struct error error = {.status = STATUS_OK};

    if (operation->kind == OPERATION_READ_MODIFY_WRITE) {
        struct change *change = arena_allocate(&work->batch->arena, sizeof *change);
        if (modify(server, tablet, work, change, &error) == STATUS_OK) {
            sim_write_gather(server, tablet, work, change, 1);
        } else {
            sim_answer_fail(work, error.status, error.text);
        }
        return;
    }
    /* No predicate: does the row have any cell? */
    bool matched = sim_row_is_visible(sim_rows_find(&tablet->prepared_rows, operation->row),
                                      sim_server_schema(server, tablet->table));
    work->answer.matched = matched;
    work->result = bytes_of(&matched_result[matched ? 1 : 0], 1);
    sim_write_resolve(server, tablet, work, matched ? operation->mutations : operation->otherwise,
                      matched ? operation->mutation_count : operation->otherwise_count);
}

/* Its tablet, which has copies, was converted meanwhile: nothing of it was given out. */
static void route_evaluated(struct sim_server *server, struct sim_work *work, struct bytes row)
{
    uint64_t tablet = work->tablet;
    ASSERT(server->replicates); /* where there are no copies barriers wait for locks */
    sim_answer_redirect(server, work);
    if (server->sim->planted == SIM_PLANTED_NO_ROW_LOCK) {
        return;
    }
    struct row_lock_table *locks = work->loop->locks;
    for (struct row_waiter *waiter = row_lock_next(locks, tablet, row); waiter != NULL;
         waiter = row_lock_next(locks, tablet, row)) {
        sim_write_route(server, (struct sim_work *)waiter);
    }
}

void sim_write_evaluated(struct sim_server *server, struct sim_work *work)
{
    struct sim_tablet *tablet = sim_store_find(&work->loop->store, work->tablet);
    struct row_lock_table *locks = work->loop->locks;
    struct bytes row = arena_copy(&server->arena, work->operation->row);

    work->evaluation = 0;
    if (tablet == NULL) {
        route_evaluated(server, work, row);
        return;
    }
    struct sim_order *order = sim_order_of(tablet);
    if (work->reign == tablet->reign) {
        gather_evaluated(server, tablet, work);
    } else {
        /* Somebody else led meanwhile: the request may have been done there. */
        sim_answer_fail(work, STATUS_UNAVAILABLE, "the primary changed");
    }
    if (server->sim->planted != SIM_PLANTED_NO_ROW_LOCK) {
        for (struct row_waiter *waiter = row_lock_next(locks, tablet->tablet, row); waiter != NULL;
             waiter = row_lock_next(locks, tablet->tablet, row)) {
            struct sim_work *next = (struct sim_work *)waiter;
            start_write(server, tablet, next, true);
            if (next->evaluation != 0) {
                return; /* it holds the lock now */
            }
        }
    }
    order->locks--;
    sim_write_try_barrier(server, tablet);
}

/* --- commits and splits ----------------------------------------------------------------------- */

static void answer_duplicate(struct sim_server *server,
                             struct sim_tablet *tablet,
                             struct sim_work *work)
{
    work->duplicate = false;
    if (sim_write_is_new(server, tablet, work)) {
        sim_answer_fail(work, STATUS_ABORTED, "the client gave this request up");
    }
}

void sim_write_committed(struct sim_server *server, struct sim_tablet *tablet, uint64_t sequence)
{
    struct sim_order *order = sim_order_of(tablet);
    while (order != NULL && order->pending_first != NULL &&
           order->pending_first->sequence <= sequence) {
        struct sim_work *work = order->pending_first;
        order->pending_first = work->next;
        if (work->duplicate) {
            answer_duplicate(server, tablet, work);
        } else {
            sim_answer_complete(work);
        }
    }
}

void sim_write_fail(struct sim_server *server, struct sim_tablet *tablet, uint64_t sequence)
{
    struct sim_order *order = sim_order_of(tablet);
    (void)server;
    while (order != NULL && order->pending_first != NULL &&
           order->pending_first->sequence <= sequence) {
        struct sim_work *work = order->pending_first;
        order->pending_first = work->next;
        sim_answer_fail(work, STATUS_UNAVAILABLE, "it is not known whether it was done");
    }
}

/* Something else has its rows now.  What waited behind a barrier of its is the caller's to let go. */
static struct sim_work *end_parent(struct sim_tablet *parent)
{
    struct sim_order *order = sim_order_of(parent);
    ASSERT(order->pending_first == NULL && order->gathered_count == 0);
    struct sim_work *deferred = sim_write_take_deferred(order);
    parent->context = NULL;
    memory_free(order);
    return deferred;
}

void sim_write_was_split(struct sim_server *server,
                         struct sim_tablet *parent,
                         struct sim_tablet *left,
                         struct sim_tablet *right)
{
    struct sim_work *deferred = end_parent(parent);
    sim_server_add_order(left);
    sim_server_add_order(right);
    sim_served_replace((const struct sim_tablet *const[]){parent}, 1,
                       (struct sim_tablet *const[]){left, right}, 2);
    sim_write_release_deferred(server, deferred);
}

void sim_write_was_merged(struct sim_server *server,
                          struct sim_tablet *const gone[2],
                          struct sim_tablet *merged)
{
    struct sim_work *deferred[2] = {end_parent(gone[0]), end_parent(gone[1])};
    sim_server_add_order(merged);
    sim_served_replace((const struct sim_tablet *const[]){gone[0], gone[1]}, 2, &merged, 1);
    sim_store_forget_merged(merged->store, gone);
    sim_write_release_deferred(server, deferred[0]);
    sim_write_release_deferred(server, deferred[1]);
}
