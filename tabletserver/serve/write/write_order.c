#include "tabletserver/serve/write/write_order.h"

#include "common/base/assert.h"
#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/evaluate.h"
#include "tabletserver/serve/write/write_parts.h"

#define ORDER_ARENA_BLOCK_BYTES (256 * 1024)

/* --- rows that must be read first --------------------------------------------------------------- */

static void evaluate(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    write_flush(order, tablet); /* what was ordered before must be there to be read */
    work->reigns_over = tablet->reigns_over;
    enum status status = evaluation_start(work, tablet->tablet, tablet->schema,
                                          hlc_to_us(order->clock));
    if (status != STATUS_OK) {
        write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    }
}

static bool starts_evaluation(struct work *work)
{
    return work->evaluation != NULL;
}

static void lock_and_evaluate(struct write_order *order,
                              struct tablet_order *tablet,
                              struct work *work)
{
    uint64_t number = store_tablet_describe(tablet->tablet)->tablet;
    if (row_lock_acquire(order->locks, number, work->operation->row) != STATUS_OK) {
        write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    tablet->locks += 1;
    struct bytes row = work->operation->row;
    evaluate(order, tablet, work);
    if (!starts_evaluation(work)) {
        (void)row_lock_next(order->locks, number, row); /* taken just now: nobody waits */
        tablet->locks -= 1;
    }
}

static bool needs_row(const struct operation *operation)
{
    return operation->kind == OPERATION_CHECK_AND_MUTATE ||
           operation->kind == OPERATION_READ_MODIFY_WRITE;
}

/* A bound may lie behind the longest row key, and no further: the log takes no longer one. */
static bool has_bounds(struct write_order *order, struct work *work)
{
    const struct row_range *range = &work->operation->range;
    if (range->start.size_bytes <= LIMIT_ROW_KEY_BYTES + 1 &&
        range->end.size_bytes <= LIMIT_ROW_KEY_BYTES + 1) {
        return true;
    }
    write_fail(order, work, STATUS_INVALID_ARGUMENT,
               "a bound of the range to be dropped is longer than any row key");
    return false;
}

/* Is the operation well formed?  What can be refused without looking at its row is refused here. */
static bool is_well_formed(struct write_order *order, struct work *work)
{
    const struct operation *operation = work->operation;
    struct error error = {.status = STATUS_OK};

    if (operation->kind == OPERATION_DROP_RANGE) {
        /* Its row only names a tablet: the first one's may be empty. */
        return has_bounds(order, work);
    }
    if (row_key_check(operation->row, &error) != STATUS_OK) {
        write_fail(order, work, error.status, error.text);
        return false;
    }
    if (operation->kind == OPERATION_CHECK_AND_MUTATE &&
        operation->mutation_count + operation->otherwise_count == 0) {
        write_fail(order, work, STATUS_INVALID_ARGUMENT,
                   "at least one of the true and false mutation lists must not be empty");
        return false;
    }
    return true;
}

bool write_is_late(struct write_order *order, struct work *work)
{
    if (order->now_ns <= work->part->batch->deadline_ns) {
        return false;
    }
    write_fail(order, work, STATUS_DEADLINE_EXCEEDED, "the deadline passed before the write began");
    return true;
}

/* The row is free, or its lock is the work's own (locked). */
static void start_write(struct write_order *order,
                        struct tablet_order *tablet,
                        struct work *work,
                        bool locked)
{
    if (write_is_late(order, work)) {
        return;
    }
    if (write_repeats_gathered(tablet, work)) {
        write_flush(order, tablet);
    }
    if (!write_is_new(order, tablet, work)) {
        return;
    }
    if (!needs_row(work->operation)) {
        write_resolve_and_gather(order, tablet, work, work->operation->mutations,
                                 work->operation->mutation_count);
    } else if (locked) {
        evaluate(order, tablet, work);
    } else {
        lock_and_evaluate(order, tablet, work);
    }
}

static void order_write(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    uint64_t number = store_tablet_describe(tablet->tablet)->tablet;

    if (tablet->locks > 0 && row_lock_is_held(order->locks, number, work->operation->row)) {
        row_lock_wait(order->locks, number, work->operation->row, &work->waiter);
        return;
    }
    start_write(order, tablet, work, false);
}

/* --- routing ---------------------------------------------------------------------------------- */

static struct tablet_order *find(struct write_order *order, const struct work *work)
{
    struct served served;
    const struct operation *operation = work->operation;
    struct tablet_order *last = order->last;

    if (last != NULL && store_tablet_describe(last->tablet)->table == operation->table &&
        row_range_contains(&store_tablet_describe(last->tablet)->range, operation->row)) {
        return last;
    }
    if (!served_map_find(order->server->served, operation->table, operation->row, &served)) {
        return NULL;
    }
    struct tablet_order *tablet = served.loop == order->loop ? store_tablet_context(served.tablet)
                                                             : NULL;
    served_release(&served); /* the store keeps it: this is its loop */
    order->last = tablet;
    return tablet;
}

/* Asked once a round: what it says is looked at again when a commit is answered.  False: the work was
 * refused, or is held. */
static bool may_answer(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    if (order->replicas == NULL) {
        return true;
    }
    if (tablet->looked_ns != order->now_ns) {
        tablet->looked_ns = order->now_ns;
        tablet->may_answer = host_may_answer(tablet->tablet, order->now_ns);
        tablet->holds = hold_is_due(order, tablet);
    }
    if (tablet->holds) {
        hold_for_change(order, tablet, work);
    } else if (tablet->may_answer != STATUS_OK) {
        write_fail_append(order, work, tablet->may_answer);
    }
    return !tablet->holds && tablet->may_answer == STATUS_OK;
}

void write_route(struct write_order *order, struct work *work)
{
    if (!is_well_formed(order, work)) {
        return;
    }
    struct tablet_order *tablet = find(order, work);
    if (tablet == NULL || tablet->schema == NULL) {
        write_redirect(order, work);
        return;
    }
    if (!may_answer(order, tablet, work)) {
        return;
    }
    if (tablet->blocked) {
        work_list_append(&tablet->deferred_first, &tablet->deferred_last, work);
        return;
    }
    if (work->operation->kind == OPERATION_DROP_RANGE) {
        if (tablet->locks == 0) {
            barrier_append_drop_range(order, tablet, work);
            return;
        }
        tablet->blocked = true;
        work_list_append(&tablet->deferred_first, &tablet->deferred_last, work);
        return;
    }
    order_write(order, tablet, work);
}

void write_take_part(struct write_order *order, struct part *part)
{
    struct work *work = part->first;
    part->first = NULL;
    part->last = NULL;
    while (work != NULL) {
        struct work *next = work->next;
        write_route(order, work);
        work = next;
    }
}

/* --- the end of an evaluation ----------------------------------------------------------------- */

static void gather_evaluated(struct write_order *order,
                             struct tablet_order *tablet,
                             struct work *work)
{
    static const uint8_t matched_result[] = {0, 1};
    struct evaluation *evaluation = work->evaluation;
    const struct operation *operation = work->operation;

    if (work->reigns_over != tablet->reigns_over) {
        write_fail_append(order, work, STATUS_NOT_OWNER); /* others may have written since */
    } else if (tablet->schema == NULL) {
        write_redirect(order, work);
    } else if (evaluation->status == STATUS_NO_MEMORY || evaluation->status == STATUS_LIMIT) {
        write_fail(order, work, STATUS_UNAVAILABLE, "too little memory to read the row; retry");
    } else if (evaluation->status != STATUS_OK) {
        write_fail(order, work, evaluation->error.status, evaluation->error.text);
    } else if (operation->kind == OPERATION_READ_MODIFY_WRITE) {
        work->answer.rows = buffer_bytes(&evaluation->rows);
        work->result = write_result_to_keep(order, tablet, work->answer.rows);
        write_gather(order, tablet, work, evaluation->changes, evaluation->change_count);
    } else {
        bool matched = evaluation->matched;
        work->answer.matched = matched;
        work->result = bytes_of(&matched_result[matched ? 1 : 0], 1);
        write_resolve_and_gather(order, tablet, work,
                                 matched ? operation->mutations : operation->otherwise,
                                 matched ? operation->mutation_count : operation->otherwise_count);
    }
}

/* What has waited for the row: since it was routed the tablet's reign may be over, and its table deleted.  False: it was
 * refused, or is held. */
static bool may_begin(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    if (tablet->schema == NULL) {
        write_redirect(order, work);
        return false;
    }
    return may_answer(order, tablet, work);
}

/* Its tablet, which has copies, was converted or dropped meanwhile: nothing of it was given out. */
static void route_evaluated(struct write_order *order, struct work *work, uint64_t tablet)
{
    struct bytes row = work->operation->row;
    ASSERT(order->replicas != NULL); /* where there are no copies barriers wait for locks */
    write_redirect(order, work);
    for (struct row_waiter *waiter = row_lock_next(order->locks, tablet, row); waiter != NULL;
         waiter = row_lock_next(order->locks, tablet, row)) {
        write_route(order, (struct work *)waiter);
    }
}

void write_order_evaluated(struct write_order *order, struct work *work)
{
    struct evaluation *evaluation = work->evaluation;
    struct tablet_order *tablet = store_tablet_context(evaluation->tablet);
    uint64_t number = store_tablet_describe(evaluation->tablet)->tablet;
    struct bytes row = work->operation->row; /* stays: answers are sent at the round's end */

    if (tablet == NULL) {
        route_evaluated(order, work, number);
        return;
    }
    gather_evaluated(order, tablet, work);
    for (struct row_waiter *waiter = row_lock_next(order->locks, number, row); waiter != NULL;
         waiter = row_lock_next(order->locks, number, row)) {
        struct work *next = (struct work *)waiter;
        if (!may_begin(order, tablet, next)) {
            continue;
        }
        start_write(order, tablet, next, true);
        if (starts_evaluation(next)) {
            return; /* it holds the lock now */
        }
    }
    tablet->locks -= 1;
    barrier_try(order, tablet);
}

/* --- commits and splits ----------------------------------------------------------------------- */

static void answer_duplicate(struct write_order *order,
                             struct tablet_order *tablet,
                             struct work *work)
{
    work->duplicate = false;
    if (write_is_new(order, tablet, work)) {
        /* Its record was trimmed between commit and now: the client no longer waits. */
        write_fail(order, work, STATUS_ABORTED, "the client gave this request up");
    }
}

void write_order_committed(struct write_order *order,
                           struct store_tablet *stored,
                           uint64_t sequence,
                           bool answers)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    struct load_write_counts counts = {.writes = 0};

    if (tablet == NULL || tablet->pending_first == NULL) {
        return;
    }
    int64_t now_ns = clock_monotonic_ns();
    while (tablet->pending_first != NULL && tablet->pending_first->sequence <= sequence) {
        struct work *work = tablet->pending_first;
        uint64_t latency_ns = (uint64_t)(now_ns - work->part->batch->received_ns);
        counts.latency_ns += latency_ns;
        counts.latency_max_ns = latency_ns > counts.latency_max_ns ? latency_ns
                                                                   : counts.latency_max_ns;
        tablet->pending_first = work->next;
        if (tablet->pending_first == NULL) {
            tablet->pending_last = NULL;
        }
        if (!answers) {
            write_fail_unknown(order, work);
        } else if (work->duplicate) {
            answer_duplicate(order, tablet, work);
        } else {
            write_succeed(order, work);
        }
    }
    load_counters_add_write(store_tablet_load(stored), &counts);
}

void write_order_look_again(struct store_tablet *stored)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    if (tablet != NULL) {
        tablet->looked_ns = 0;
    }
}

void write_order_ceased(struct write_order *order, struct store_tablet *stored)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    if (tablet == NULL) {
        return;
    }
    struct work *work = tablet->pending_first;
    tablet->pending_first = NULL;
    tablet->pending_last = NULL;
    tablet->reigns_over += 1;
    tablet->looked_ns = 0;
    while (work != NULL) {
        struct work *next = work->next;
        write_fail_unknown(order, work);
        work = next;
    }
}

static struct tablet_order *tablet_order_create(struct write_order *order,
                                                struct store_tablet *stored)
{
    struct tablet_order *tablet = memory_allocate_zeroed(1, sizeof *tablet);
    if (tablet != NULL) {
        tablet->tablet = stored;
        tablet->schema = schema_cache_find(order->server->schemas,
                                           store_tablet_describe(stored)->table);
        store_tablet_set_context(stored, tablet);
    }
    return tablet;
}

static struct served served_here(const struct write_order *order, struct store_tablet *stored)
{
    return (struct served){.table = store_tablet_describe(stored)->table,
                           .tablet = stored,
                           .loop = order->loop,
                           .serving = store_tablet_replica(stored) != NULL ? host_serving(stored)
                                                                           : NULL};
}

enum status write_order_add(struct write_order *order, struct store_tablet *stored)
{
    struct served served = served_here(order, stored);
    if (store_tablet_context(stored) != NULL) {
        return STATUS_OK;
    }
    struct tablet_order *tablet = tablet_order_create(order, stored);
    if (tablet == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = served_map_replace(order->server->served, NULL, &served, 1);
    if (status != STATUS_OK) {
        store_tablet_set_context(stored, NULL);
        schema_release(tablet->schema);
        memory_free(tablet);
    }
    order->last = NULL; /* it may be over now */
    return status;
}

/* Something else has its rows now.  What waited behind a barrier of its is the caller's to let go. */
static struct work *end_parent(struct write_order *order, struct store_tablet *parent)
{
    struct tablet_order *tablet = store_tablet_context(parent);
    if (tablet == NULL) {
        return NULL;
    }
    ASSERT(tablet->pending_first == NULL);
    ASSERT(tablet->gather == NULL); /* nothing is appended any more */
    struct work *deferred = barrier_take_deferred(tablet);
    barrier_forget_dirty(order, tablet);
    hold_forget_change(order, tablet);
    schema_release(tablet->schema);
    memory_free(tablet);
    store_tablet_set_context(parent, NULL);
    return deferred;
}

void write_order_was_split(struct write_order *order,
                           struct store_tablet *parent,
                           struct store_tablet *left,
                           struct store_tablet *right)
{
    struct served children[] = {served_here(order, left), served_here(order, right)};
    struct tablet_order *orders[] = {tablet_order_create(order, left),
                                     tablet_order_create(order, right)};
    enum status status = orders[0] != NULL && orders[1] != NULL
                             ? served_map_replace(order->server->served, parent, children, 2)
                             : STATUS_NO_MEMORY;
    ASSERT(status == STATUS_OK); /* a split that is logged cannot be taken back */
    order->last = NULL;
    barrier_release_deferred(order, end_parent(order, parent));
}

void write_order_was_merged(struct write_order *order,
                            struct store_tablet *const gone[2],
                            struct store_tablet *merged)
{
    struct served served = served_here(order, merged);
    enum status status = tablet_order_create(order, merged) != NULL
                             ? served_map_replace(order->server->served, gone[0], &served, 1)
                             : STATUS_NO_MEMORY;
    ASSERT(status == STATUS_OK); /* what is in the base cannot be taken back */
    (void)served_map_replace(order->server->served, gone[1], NULL, 0);
    order->last = NULL;
    for (int i = 0; i < 2; i++) {
        barrier_release_deferred(order, end_parent(order, gone[i]));
    }
}

void write_order_refresh(struct write_order *order)
{
    for (uint32_t i = 0; i < store_tablet_count(order->store); i++) {
        struct store_tablet *stored = store_tablet_at(order->store, i);
        struct tablet_order *tablet = store_tablet_context(stored);
        if (tablet != NULL) {
            write_flush(order, tablet); /* resolved against the schema that now goes */
            schema_release(tablet->schema);
            tablet->schema = schema_cache_find(order->server->schemas,
                                               store_tablet_describe(stored)->table);
            if (order->replicas != NULL) {
                replicas_refresh(order->replicas, stored);
            }
        }
    }
}

/* --- rounds ----------------------------------------------------------------------------------- */

void write_order_begin(struct write_order *order)
{
    order->clock = store_next_clock(order->store);
    order->now_ns = clock_monotonic_ns();
}

void write_order_flush(struct write_order *order)
{
    while (order->dirty != NULL) {
        struct tablet_order *tablet = order->dirty;
        order->dirty = tablet->dirty_next;
        tablet->dirty = false;
        write_flush(order, tablet);
    }
    arena_reset(&order->arena);
}

enum status write_order_init(struct write_order *order,
                             struct server *server,
                             struct store_loop *loop,
                             struct store *store)
{
    *order = (struct write_order){.server = server, .store = store, .loop = loop};
    arena_init(&order->arena, ORDER_ARENA_BLOCK_BYTES, SIZE_MAX);
    return row_lock_table_create(&order->locks);
}

void write_order_deinit(struct write_order *order)
{
    for (uint32_t i = 0; order->store != NULL && i < store_tablet_count(order->store); i++) {
        struct store_tablet *stored = store_tablet_at(order->store, i);
        struct tablet_order *tablet = store_tablet_context(stored);
        if (tablet != NULL) {
            (void)served_map_replace(order->server->served, stored, NULL, 0);
            store_tablet_set_context(stored, NULL);
            schema_release(tablet->schema);
            memory_free(tablet->split);
            memory_free(tablet);
        }
    }
    row_lock_table_destroy(order->locks);
    write_free_spares(order);
    arena_deinit(&order->arena);
}
