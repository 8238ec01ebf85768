#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/server/sim_server.h"

/*
 * The write order of production's store loop: route, wait behind barriers and locked rows, check
 * for duplicates, resolve, gather, append, answer at the commit.
 */

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_from_result(struct sim_work *work, struct bytes result)
{
    if (work->operation->kind == OPERATION_CHECK_AND_MUTATE) {
        work->answer.matched = result.size_bytes == 1 && result.data[0] == 1;
    } else if (work->operation->kind == OPERATION_READ_MODIFY_WRITE) {
        work->answer.rows = arena_copy(&work->batch->arena, result);
    }
}

static void pend(struct sim_server *server,
                 struct sim_order *order,
                 struct sim_work *work,
                 uint64_t sequence)
{
    struct sim_work **link = &order->pending_first;
    work->sequence = sequence;
    if (server->sim->planted == SIM_PLANTED_ACK_BEFORE_SYNC && !work->duplicate) {
        sim_answer_complete(work);
        return;
    }
    while (*link != NULL && (*link)->sequence <= sequence) {
        link = &(*link)->next;
    }
    work->next = *link;
    *link = work;
}

static struct request_id identity_of(const struct sim_work *work)
{
    const struct operations_request *request = &work->batch->request;
    return (struct request_id){
        .client = request->client,
        .sequence = work->operation->identity.sequence,
        .first_unfinished = request->first_unfinished,
        .first_attempt_us = work->operation->identity.first_attempt_us,
    };
}

/* True: go on and apply it.  False: the work has been dealt with. */
static bool is_new(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    struct request_id identity = identity_of(work);
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;

    work->tablet = tablet->tablet;
    work->loop = sim_loop_of(tablet);
    switch (dedupe_check(tablet->dedupe, &identity, work->loop->clock, &result, &sequence)) {
    case DEDUPE_NEW:
        return true;
    case DEDUPE_PENDING:
        server->sim->statistics.duplicates++;
        work->duplicate = true;
        if (server->sim->planted == SIM_PLANTED_ACK_PENDING) {
            sim_answer_complete(work);
        } else {
            pend(server, sim_order_of(tablet), work, sequence);
        }
        return false;
    case DEDUPE_DONE:
        server->sim->statistics.duplicates++;
        answer_from_result(work, result);
        sim_answer_complete(work);
        return false;
    case DEDUPE_EXPIRED:
        sim_answer_fail(work, STATUS_FAILED_PRECONDITION, "too long ago");
        return false;
    case DEDUPE_FULL:
        sim_answer_fail(work, STATUS_UNAVAILABLE, "too many clients");
        return false;
    }
    return false;
}

/* --- gathering -------------------------------------------------------------------------------- */

/* With several copies: the replica says whether, and under which sequence. */
static void give_out(struct sim_server *server,
                     struct sim_tablet *tablet,
                     const struct record_write *write,
                     uint64_t clock)
{
    struct sim_order *order = sim_order_of(tablet);
    struct buffer payload = BUFFER_INIT;
    uint32_t count = order->gathered_count;
    uint64_t sequence = 0;
    uint64_t reign = tablet->reign; /* it may end with this very entry: nobody waits for it then */
    record_encode_write(write, &payload);
    order->gathered_count = 0;
    enum status status = sim_store_give_out(tablet->store, tablet, RECORD_WRITE,
                                            buffer_bytes(&payload), clock, &sequence);
    buffer_deinit(&payload);
    for (uint32_t i = 0; i < count; i++) {
        if (status == STATUS_OK && tablet->reign == reign) {
            pend(server, order, order->gathered_works[i], sequence);
        } else if (status == STATUS_NO_SPACE &&
                   server->sim->planted == SIM_PLANTED_FULL_DISK_ACKNOWLEDGES) {
            sim_answer_complete(order->gathered_works[i]);
        } else {
            sim_answer_fail(order->gathered_works[i], STATUS_UNAVAILABLE, "not now");
        }
    }
}

static void flush(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    struct record_write write = {order->gathered, order->gathered_count};
    if (order->gathered_count == 0) {
        return;
    }
    uint64_t clock = sim_store_next_clock(tablet->store, sim_wall_us(server->sim, server->node));
    uint64_t sequence = 0;
    if (tablet->replicated) {
        give_out(server, tablet, &write, clock);
        return;
    }
    sequence = sim_store_append_write(tablet->store, tablet, &write, clock);
    for (uint32_t i = 0; i < order->gathered_count; i++) {
        pend(server, order, order->gathered_works[i], sequence);
    }
    order->gathered_count = 0;
}

static void gather(struct sim_server *server,
                   struct sim_tablet *tablet,
                   struct sim_work *work,
                   const struct change *changes,
                   size_t change_count)
{
    struct sim_order *order = sim_order_of(tablet);
    uint32_t at = order->gathered_count++;
    order->gathered_works[at] = work;
    order->gathered[at] = (struct record_entry){
        .row = work->operation->row,
        .request = identity_of(work),
        .result = work->result,
        .changes = changes,
        .change_count = change_count,
    };
    if (order->gathered_count == SIM_GATHER_MAX) {
        flush(server, tablet);
    }
}

/* The checker is told by which schema a cell comes into the log. */
static void tell_versions(const struct sim_server *server,
                          const struct sim_work *work,
                          const struct table *schema,
                          const struct change *changes,
                          size_t change_count)
{
    for (size_t i = 0; i < change_count && work->operation->row.data[0] == 'g'; i++) {
        if (changes[i].kind == CHANGE_PUT) {
            sim_checker_on_version(server->sim->checker, changes[i].value, schema->version);
        }
    }
}

static void resolve_and_gather(struct sim_server *server,
                               struct sim_tablet *tablet,
                               struct sim_work *work,
                               const struct mutation *mutations,
                               size_t mutation_count)
{
    const struct table *schema = sim_server_schema(server, tablet->table);
    struct error error = {.status = STATUS_OK};
    struct change *changes = NULL;
    size_t change_count = 0;
    enum status status = STATUS_OK;

    if (mutation_count > 0 || work->operation->kind == OPERATION_MUTATE) {
        status = mutation_resolve(schema, work->operation->row, mutations, mutation_count,
                                  hlc_to_us(work->loop->clock), &work->batch->arena, &changes,
                                  &change_count, &error);
    }
    if (status == STATUS_OK) {
        tell_versions(server, work, schema, changes, change_count);
        gather(server, tablet, work, changes, change_count);
    } else {
        sim_answer_fail(work, status, error.text);
    }
}

/* --- rows that must be read first ------------------------------------------------------------- */

static bool needs_row(const struct operation *operation)
{
    return operation->kind == OPERATION_CHECK_AND_MUTATE ||
           operation->kind == OPERATION_READ_MODIFY_WRITE;
}

static void evaluate(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    flush(server, tablet); /* what was ordered before must be there to be read */
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
        flush(server, tablet); /* one of them may be the same request */
    }
    if (!is_new(server, tablet, work)) {
        return;
    }
    if (!needs_row(work->operation)) {
        resolve_and_gather(server, tablet, work, work->operation->mutations,
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

/* --- barriers --------------------------------------------------------------------------------- */

static void route(struct sim_server *server, struct sim_work *work);

static void give_out_drop(struct sim_server *server,
                          struct sim_tablet *tablet,
                          struct sim_work *work,
                          const struct record_drop_range *drop,
                          uint64_t clock)
{
    struct buffer payload = BUFFER_INIT;
    uint64_t sequence = 0;
    uint64_t reign = tablet->reign;
    record_encode_drop_range(drop, &payload);
    enum status status = sim_store_give_out(tablet->store, tablet, RECORD_DROP_RANGE,
                                            buffer_bytes(&payload), clock, &sequence);
    buffer_deinit(&payload);
    if (status == STATUS_OK && tablet->reign == reign) {
        pend(server, sim_order_of(tablet), work, sequence);
    } else {
        sim_answer_fail(work, STATUS_UNAVAILABLE, "not now");
    }
}

static void append_drop_range(struct sim_server *server,
                              struct sim_tablet *tablet,
                              struct sim_work *work)
{
    struct record_drop_range drop = {.request = identity_of(work)};
    flush(server, tablet);
    if (sim_answer_refuses(server, tablet, work) || !is_new(server, tablet, work)) {
        return;
    }
    if (!row_range_intersect(&work->operation->range, &tablet->range, &drop.range)) {
        sim_answer_complete(work);
        return;
    }
    uint64_t clock = sim_store_next_clock(tablet->store, sim_wall_us(server->sim, server->node));
    if (tablet->replicated) {
        give_out_drop(server, tablet, work, &drop, clock);
        return;
    }
    pend(server, sim_order_of(tablet), work,
         sim_store_append_drop_range(tablet->store, tablet, &drop, clock));
}

static void defer(struct sim_order *order, struct sim_work *work)
{
    work->next = NULL;
    if (order->deferred_last == NULL) {
        order->deferred_first = work;
    } else {
        order->deferred_last->next = work;
    }
    order->deferred_last = work;
}

static struct sim_work *take_deferred(struct sim_order *order)
{
    struct sim_work *first = order->deferred_first;
    order->deferred_first = NULL;
    order->deferred_last = NULL;
    return first;
}

static void release_deferred(struct sim_server *server, struct sim_work *work)
{
    while (work != NULL) {
        struct sim_work *next = work->next;
        route(server, work);
        work = next;
    }
}

static void fail_list(struct sim_work *work)
{
    while (work != NULL) {
        struct sim_work *next = work->next;
        sim_answer_fail(work, STATUS_NOT_FOUND, "the table has been deleted");
        work = next;
    }
}

static void finish_drop(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    flush(server, tablet);
    struct sim_work *pending = order->pending_first;
    struct sim_work *deferred = take_deferred(order);
    sim_served_replace((const struct sim_tablet *const[]){tablet}, 1, NULL, 0);
    fail_list(pending);
    fail_list(deferred);
    memory_free(order);
    if (tablet->replicated) {
        sim_host_remove(tablet);
    }
    sim_store_drop(tablet->store, tablet);
}

/* A barrier goes ahead once no row of its tablet is locked.  The tablet may be gone after it. */
static void try_barrier(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    if (!order->blocked || order->locks > 0) {
        return;
    }
    if (order->dropping) {
        finish_drop(server, tablet);
        return;
    }
    if (order->split_wanted) {
        uint64_t clock = sim_store_next_clock(tablet->store,
                                              sim_wall_us(server->sim, server->node));
        flush(server, tablet);
        order->split_wanted = false;
        clock = sim_store_next_clock(tablet->store, (int64_t)(clock >> HLC_COUNTER_BITS));
        (void)sim_store_append_split(tablet->store, tablet, &order->split, clock);
        return; /* blocked until it is committed */
    }
    if (tablet->splitting) {
        return;
    }
    order->blocked = false;
    struct sim_work *first = take_deferred(order);
    if (first != NULL && first->operation->kind == OPERATION_DROP_RANGE) {
        struct sim_work *rest = first->next;
        append_drop_range(server, tablet, first);
        first = rest;
    }
    release_deferred(server, first);
}

void sim_write_split(struct sim_server *server,
                     struct sim_tablet *tablet,
                     const struct record_split *split)
{
    struct sim_order *order = sim_order_of(tablet);
    if (order->blocked) {
        return; /* the master asks again */
    }
    order->blocked = true;
    order->split_wanted = true;
    order->split = *split;
    memcpy(order->split_key, split->key.data, split->key.size_bytes);
    order->split.key = bytes_of(order->split_key, split->key.size_bytes);
    try_barrier(server, tablet);
}

void sim_write_drop(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    if (order == NULL || order->blocked || tablet->merging) {
        return; /* the master asks again */
    }
    order->blocked = true;
    order->dropping = true;
    try_barrier(server, tablet);
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

static void route(struct sim_server *server, struct sim_work *work)
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
    if (order->blocked) {
        defer(order, work);
    } else if (operation->kind != OPERATION_DROP_RANGE) {
        order_write(server, tablet, work);
    } else if (order->locks == 0) {
        append_drop_range(server, tablet, work);
    } else {
        order->blocked = true;
        defer(order, work);
    }
}

void sim_write_take(struct sim_server *server, struct sim_batch *batch)
{
    for (size_t i = 0; i < batch->request.operation_count; i++) {
        route(server, &batch->works[i]);
    }
}

void sim_write_end(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            if (store->tablets[k]->context != NULL) {
                flush(server, store->tablets[k]);
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
    status = rmw_apply(schema, &operation->rules[0], &current, hlc_to_us(work->loop->clock), arena,
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
            gather(server, tablet, work, change, 1);
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
    resolve_and_gather(server, tablet, work, matched ? operation->mutations : operation->otherwise,
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
        route(server, (struct sim_work *)waiter);
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
    try_barrier(server, tablet);
}

/* --- commits and splits ----------------------------------------------------------------------- */

static void answer_duplicate(struct sim_server *server,
                             struct sim_tablet *tablet,
                             struct sim_work *work)
{
    work->duplicate = false;
    if (is_new(server, tablet, work)) {
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
    struct sim_work *deferred = take_deferred(order);
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
    release_deferred(server, deferred);
}

void sim_write_was_merged(struct sim_server *server,
                          struct sim_tablet *const gone[2],
                          struct sim_tablet *merged)
{
    struct sim_work *deferred[2] = {end_parent(gone[0]), end_parent(gone[1])};
    sim_server_add_order(merged);
    sim_served_replace((const struct sim_tablet *const[]){gone[0], gone[1]}, 2, &merged, 1);
    sim_store_forget_merged(merged->store, gone);
    release_deferred(server, deferred[0]);
    release_deferred(server, deferred[1]);
}
