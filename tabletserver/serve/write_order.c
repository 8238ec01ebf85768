#include "tabletserver/serve/write_order.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "tabletserver/serve/evaluate.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/store_loop.h"

#define ORDER_ARENA_BLOCK_BYTES (256 * 1024)
#define GATHER_BYTES_MAX        (4 * 1024 * 1024)

static void route(struct write_order *order, struct work *work);
static void order_write(struct write_order *order, struct tablet_order *tablet, struct work *work);

/* --- answers ---------------------------------------------------------------------------------- */

static void note_answered(struct write_order *order, struct part *part)
{
    ASSERT(order->waiting > 0);
    order->waiting -= 1;
    if (part->completed_count == 1) {
        part->next = order->answered;
        order->answered = part;
    }
}

static void succeed(struct write_order *order, struct work *work)
{
    batch_complete(work);
    note_answered(order, work->part);
}

static void fail(struct write_order *order, struct work *work, enum status status, const char *text)
{
    batch_fail(work, status, text);
    note_answered(order, work->part);
}

static void redirect(struct write_order *order, struct work *work)
{
    batch_redirect(work);
    note_answered(order, work->part);
}

static void send_answers(struct write_order *order)
{
    while (order->answered != NULL) {
        struct part *part = order->answered;
        order->answered = part->next;
        batch_send(part);
    }
}

/* What a failed append means for those who wait. */
static void fail_append(struct write_order *order, struct work *work, enum status status)
{
    if (status == STATUS_NO_SPACE) {
        fail(
            order, work, STATUS_RESOURCE_EXHAUSTED,
            "the tablet's store is full: writes are refused until space is freed; deletes still work");
    } else if (status == STATUS_RESOURCE_EXHAUSTED) {
        fail(order, work, STATUS_UNAVAILABLE, "writes come faster than they can be flushed; retry");
    } else if (status == STATUS_NO_MEMORY) {
        fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    } else {
        fail(order, work, STATUS_UNAVAILABLE, "the tablet's store has failed");
    }
}

/* The result that is logged for duplicates becomes the answer. */
static bool answer_from_result(struct work *work, struct bytes result)
{
    struct batch *batch = work->part->batch;
    switch (work->operation->kind) {
    case OPERATION_CHECK_AND_MUTATE:
        work->answer.matched = result.size_bytes == 1 && result.data[0] == 1;
        return true;
    case OPERATION_READ_MODIFY_WRITE:
        pthread_mutex_lock(&batch->lock);
        work->answer.rows = arena_copy(&batch->arena, result);
        pthread_mutex_unlock(&batch->lock);
        return work->answer.rows.data != NULL;
    case OPERATION_MUTATE:
    case OPERATION_DROP_RANGE:
    case OPERATION_READ:
        return true;
    }
    return true;
}

/* --- pending ---------------------------------------------------------------------------------- */

static void list_append(struct work **first, struct work **last, struct work *work)
{
    work->next = NULL;
    if (*last == NULL) {
        *first = work;
    } else {
        (*last)->next = work;
    }
    *last = work;
}

static void pend(struct tablet_order *tablet, struct work *work, uint64_t sequence)
{
    work->sequence = sequence;
    ASSERT(tablet->pending_last == NULL || tablet->pending_last->sequence <= sequence);
    list_append(&tablet->pending_first, &tablet->pending_last, work);
}

/* A duplicate waits at its first attempt's sequence, among those that came later. */
static void pend_duplicate(struct tablet_order *tablet, struct work *work, uint64_t sequence)
{
    struct work **link = &tablet->pending_first;
    while (*link != NULL && (*link)->sequence <= sequence) {
        link = &(*link)->next;
    }
    work->sequence = sequence;
    work->duplicate = true;
    work->next = *link;
    *link = work;
    if (work->next == NULL) {
        tablet->pending_last = work;
    }
}

/* --- exactly once ----------------------------------------------------------------------------- */

static struct request_id identity_of(const struct work *work)
{
    const struct operations_request *request = &work->part->batch->request;
    return (struct request_id){
        .client = request->client,
        .sequence = work->operation->identity.sequence,
        .first_unfinished = request->first_unfinished,
        .first_attempt_us = work->operation->identity.first_attempt_us,
    };
}

/* True: go on and apply it.  False: the work has been dealt with. */
static bool is_new(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    struct request_id identity = identity_of(work);
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;

    switch (dedupe_check(store_tablet_dedupe(tablet->tablet), &identity, order->clock, &result,
                         &sequence)) {
    case DEDUPE_NEW:
        return true;
    case DEDUPE_PENDING:
        pend_duplicate(tablet, work, sequence);
        return false;
    case DEDUPE_DONE:
        if (answer_from_result(work, result)) {
            succeed(order, work);
        } else {
            fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        }
        return false;
    case DEDUPE_EXPIRED:
        fail(order, work, STATUS_FAILED_PRECONDITION,
             "the request's first attempt is too long ago to tell whether it was applied");
        return false;
    case DEDUPE_FULL:
        fail(order, work, STATUS_UNAVAILABLE, "too many clients have requests under way; retry");
        return false;
    }
    return false;
}

/* --- gather and flush ------------------------------------------------------------------------- */

static void flush(struct write_order *order, struct tablet_order *tablet)
{
    struct record_write write = {tablet->gathered, tablet->gathered_count};
    uint64_t sequence = 0;

    if (tablet->gathered_count == 0) {
        return;
    }
    enum status status = store_append_write(tablet->tablet, &write, store_next_clock(order->store),
                                            &sequence);
    for (uint32_t i = 0; i < tablet->gathered_count; i++) {
        struct work *work = tablet->gathered_works[i];
        if (status == STATUS_OK) {
            pend(tablet, work, sequence);
        } else {
            fail_append(order, work, status);
        }
    }
    tablet->gathered_count = 0;
    tablet->gathered_bytes = 0;
}

static void gather(struct write_order *order,
                   struct tablet_order *tablet,
                   struct work *work,
                   const struct change *changes,
                   size_t change_count)
{
    uint32_t at = tablet->gathered_count++;
    tablet->gathered_works[at] = work;
    tablet->gathered[at] = (struct record_entry){
        .row = work->operation->row,
        .request = identity_of(work),
        .result = work->result,
        .changes = changes,
        .change_count = change_count,
    };
    for (size_t i = 0; i < change_count; i++) {
        tablet->gathered_bytes += changes[i].value.size_bytes;
    }
    if (!tablet->dirty) {
        tablet->dirty = true;
        tablet->dirty_next = order->dirty;
        order->dirty = tablet;
    }
    if (tablet->gathered_count == GATHER_ENTRIES_MAX || tablet->gathered_bytes > GATHER_BYTES_MAX) {
        flush(order, tablet);
    }
}

/* Could a gathered entry be the same request as this one?  Only of the same client, and one
 * message never holds a request twice. */
static bool may_repeat_gathered(const struct tablet_order *tablet, const struct work *work)
{
    if (tablet->gathered_count == 0) {
        return false;
    }
    const struct batch *last = tablet->gathered_works[tablet->gathered_count - 1]->part->batch;
    return last != work->part->batch;
}

static void resolve_and_gather(struct write_order *order,
                               struct tablet_order *tablet,
                               struct work *work,
                               const struct mutation *mutations,
                               size_t mutation_count)
{
    struct error error = {.status = STATUS_OK};
    struct change *changes = NULL;
    size_t change_count = 0;

    enum status status = STATUS_OK;
    if (mutation_count > 0 || work->operation->kind == OPERATION_MUTATE) {
        status = mutation_resolve(schema_table(tablet->schema), work->operation->row, mutations,
                                  mutation_count, hlc_to_us(order->clock), &order->arena, &changes,
                                  &change_count, &error);
    }
    if (status == STATUS_OK) {
        gather(order, tablet, work, changes, change_count);
    } else {
        fail(order, work, status == STATUS_NO_MEMORY ? STATUS_UNAVAILABLE : status, error.text);
    }
}

/* --- rows that must be read first --------------------------------------------------------------- */

static void evaluate(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    flush(order, tablet); /* what was ordered before must be there to be read */
    enum status status = evaluation_start(work, tablet->tablet, tablet->schema,
                                          hlc_to_us(order->clock));
    if (status != STATUS_OK) {
        fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
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
        fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
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

/* Shapes that need no row to be refused. */
static bool is_well_formed(struct write_order *order, struct work *work)
{
    const struct operation *operation = work->operation;
    struct error error = {.status = STATUS_OK};

    if (row_key_check(operation->row, &error) != STATUS_OK) {
        fail(order, work, error.status, error.text);
        return false;
    }
    if (operation->kind == OPERATION_CHECK_AND_MUTATE &&
        operation->mutation_count + operation->otherwise_count == 0) {
        fail(order, work, STATUS_INVALID_ARGUMENT,
             "at least one of the true and false mutation lists must not be empty");
        return false;
    }
    return true;
}

/* The row is free, or its lock is the work's own (locked). */
static void start_write(struct write_order *order,
                        struct tablet_order *tablet,
                        struct work *work,
                        bool locked)
{
    if (may_repeat_gathered(tablet, work)) {
        flush(order, tablet);
    }
    if (!is_new(order, tablet, work)) {
        return;
    }
    if (!needs_row(work->operation)) {
        resolve_and_gather(order, tablet, work, work->operation->mutations,
                           work->operation->mutation_count);
    } else if (locked) {
        evaluate(order, tablet, work);
    } else {
        lock_and_evaluate(order, tablet, work);
    }
}

static bool is_expired(const struct work *work)
{
    int64_t deadline_ns = work->part->batch->deadline_ns;
    return deadline_ns != INT64_MAX && clock_monotonic_ns() > deadline_ns;
}

static void order_write(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    uint64_t number = store_tablet_describe(tablet->tablet)->tablet;

    if (is_expired(work)) {
        fail(order, work, STATUS_DEADLINE_EXCEEDED, "the deadline passed before the write began");
        return;
    }
    if (!is_well_formed(order, work)) {
        return;
    }
    if (tablet->locks > 0 && row_lock_is_held(order->locks, number, work->operation->row)) {
        row_lock_wait(order->locks, number, work->operation->row, &work->waiter);
        return;
    }
    start_write(order, tablet, work, false);
}

/* --- barriers --------------------------------------------------------------------------------- */

static void append_drop_range(struct write_order *order,
                              struct tablet_order *tablet,
                              struct work *work)
{
    const struct row_range *range = &store_tablet_describe(tablet->tablet)->range;
    struct record_drop_range drop = {.request = identity_of(work)};
    uint64_t sequence = 0;

    flush(order, tablet);
    if (!is_new(order, tablet, work)) {
        return;
    }
    if (!row_range_intersect(&work->operation->range, range, &drop.range)) {
        succeed(order, work); /* nothing of it is here */
        return;
    }
    enum status status = store_append_drop_range(tablet->tablet, &drop,
                                                 store_next_clock(order->store), &sequence);
    if (status == STATUS_OK) {
        pend(tablet, work, sequence);
    } else {
        fail_append(order, work, status);
    }
}

static void append_split(struct write_order *order, struct tablet_order *tablet)
{
    struct record_split split = {
        .key = tablet->split->key,
        .left_tablet = tablet->split->left,
        .right_tablet = tablet->split->right,
    };
    uint64_t sequence = 0;

    flush(order, tablet);
    enum status status = store_append_split(tablet->tablet, &split, store_next_clock(order->store),
                                            &sequence);
    if (status != STATUS_OK) {
        /* The master asks again with the next sync. */
        LOG_EVENT(LOG_LEVEL_WARN, "split_not_appended",
                  LOG_U64("tablet", store_tablet_describe(tablet->tablet)->tablet),
                  LOG_TEXT("status", status_name(status)));
        tablet->blocked = false;
    }
    memory_free(tablet->split);
    tablet->split = NULL;
}

/* Let go what waited behind a barrier that is over. */
static void release_deferred(struct write_order *order, struct work *first)
{
    while (first != NULL) {
        struct work *next = first->next;
        route(order, first);
        first = next;
    }
}

static struct work *take_deferred(struct tablet_order *tablet)
{
    struct work *first = tablet->deferred_first;
    tablet->deferred_first = NULL;
    tablet->deferred_last = NULL;
    return first;
}

static void finish_drop(struct write_order *order, struct tablet_order *tablet)
{
    struct store_tablet *stored = tablet->tablet;
    flush(order, tablet);
    struct work *pending = tablet->pending_first;
    struct work *deferred = take_deferred(tablet);
    tablet->pending_first = NULL;
    tablet->pending_last = NULL;
    for (struct work *lists[] = {pending, deferred}, **list = lists; list < lists + 2; list++) {
        for (struct work *work = *list; work != NULL;) {
            struct work *next = work->next;
            fail(order, work, STATUS_NOT_FOUND, "the table has been deleted");
            work = next;
        }
    }
    (void)served_map_replace(order->server->served, stored, NULL, 0); /* takes out: cannot fail */
    store_tablet_set_context(stored, NULL);
    schema_release(tablet->schema);
    memory_free(tablet);
    store_tablet_drop(order->store, stored);
}

/* Everything gathered is flushed before a tablet_order may go: it must not stay in the list. */
static void forget_dirty(struct write_order *order, struct tablet_order *tablet)
{
    struct tablet_order **link = &order->dirty;
    while (*link != NULL && *link != tablet) {
        link = &(*link)->dirty_next;
    }
    if (*link == tablet) {
        *link = tablet->dirty_next;
    }
    tablet->dirty = false;
}

/* A barrier goes ahead once no row of its tablet is locked. */
static void try_barrier(struct write_order *order, struct tablet_order *tablet)
{
    if (!tablet->blocked || tablet->locks > 0) {
        return;
    }
    if (tablet->dropping) {
        flush(order, tablet);
        forget_dirty(order, tablet);
        finish_drop(order, tablet);
        return;
    }
    if (tablet->split != NULL) {
        append_split(order, tablet);
        if (tablet->blocked) {
            return; /* until on_split */
        }
    }
    tablet->blocked = false;
    struct work *first = take_deferred(tablet);
    if (first != NULL && first->operation->kind == OPERATION_DROP_RANGE) {
        struct work *rest = first->next;
        append_drop_range(order, tablet, first);
        first = rest;
    }
    release_deferred(order, first);
}

/* --- routing ---------------------------------------------------------------------------------- */

static struct tablet_order *find(struct write_order *order, const struct work *work)
{
    struct served served;
    const struct operation *operation = work->operation;

    if (!served_map_find(order->server->served, operation->table, operation->row, &served)) {
        return NULL;
    }
    struct tablet_order *tablet = served.loop == order->loop ? store_tablet_context(served.tablet)
                                                             : NULL;
    store_tablet_unref(served.tablet); /* the store keeps it: this is its loop */
    return tablet;
}

static void route(struct write_order *order, struct work *work)
{
    struct tablet_order *tablet = find(order, work);

    if (tablet == NULL || tablet->schema == NULL) {
        redirect(order, work);
        return;
    }
    if (tablet->blocked) {
        list_append(&tablet->deferred_first, &tablet->deferred_last, work);
        return;
    }
    if (work->operation->kind == OPERATION_DROP_RANGE) {
        if (tablet->locks == 0) {
            append_drop_range(order, tablet, work);
            return;
        }
        tablet->blocked = true;
        list_append(&tablet->deferred_first, &tablet->deferred_last, work);
        return;
    }
    order_write(order, tablet, work);
}

void write_order_take(struct write_order *order, struct part *part)
{
    struct work *work = part->first;
    part->first = NULL;
    part->last = NULL;
    for (const struct work *each = work; each != NULL; each = each->next) {
        order->waiting += 1;
    }
    while (work != NULL) {
        struct work *next = work->next;
        route(order, work);
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

    if (evaluation->status != STATUS_OK) {
        fail(order, work, evaluation->error.status, evaluation->error.text);
    } else if (operation->kind == OPERATION_READ_MODIFY_WRITE) {
        work->answer.rows = buffer_bytes(&evaluation->rows);
        work->result = work->answer.rows;
        gather(order, tablet, work, evaluation->changes, evaluation->change_count);
    } else {
        bool matched = evaluation->matched;
        work->answer.matched = matched;
        work->result = bytes_of(&matched_result[matched ? 1 : 0], 1);
        resolve_and_gather(order, tablet, work,
                           matched ? operation->mutations : operation->otherwise,
                           matched ? operation->mutation_count : operation->otherwise_count);
    }
}

void write_order_evaluated(struct write_order *order, struct work *work)
{
    struct evaluation *evaluation = work->evaluation;
    struct tablet_order *tablet = store_tablet_context(evaluation->tablet);
    uint64_t number = store_tablet_describe(evaluation->tablet)->tablet;
    /* The work's bytes go with its batch, which an answer may free: the waiters need the key. */
    struct bytes row = arena_copy(&order->arena, work->operation->row);

    ASSERT(tablet != NULL); /* barriers wait for locks */
    if (row.data == NULL) {
        row = work->operation->row; /* answers are sent at the round's end only */
    }
    gather_evaluated(order, tablet, work);
    for (struct row_waiter *waiter = row_lock_next(order->locks, number, row); waiter != NULL;
         waiter = row_lock_next(order->locks, number, row)) {
        struct work *next = (struct work *)waiter;
        start_write(order, tablet, next, true);
        if (starts_evaluation(next)) {
            return; /* it holds the lock now */
        }
    }
    tablet->locks -= 1;
    try_barrier(order, tablet);
}

/* --- commits and splits ----------------------------------------------------------------------- */

static void answer_duplicate(struct write_order *order,
                             struct tablet_order *tablet,
                             struct work *work)
{
    work->duplicate = false;
    if (is_new(order, tablet, work)) {
        /* Its record was trimmed between commit and now: the client no longer waits. */
        fail(order, work, STATUS_ABORTED, "the client gave this request up");
    }
}

void write_order_committed(struct write_order *order,
                           struct store_tablet *stored,
                           uint64_t sequence)
{
    struct tablet_order *tablet = store_tablet_context(stored);

    while (tablet != NULL && tablet->pending_first != NULL &&
           tablet->pending_first->sequence <= sequence) {
        struct work *work = tablet->pending_first;
        tablet->pending_first = work->next;
        if (tablet->pending_first == NULL) {
            tablet->pending_last = NULL;
        }
        if (work->duplicate) {
            answer_duplicate(order, tablet, work);
        } else {
            succeed(order, work);
        }
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

enum status write_order_add(struct write_order *order, struct store_tablet *stored)
{
    struct served served = {
        .table = store_tablet_describe(stored)->table, .tablet = stored, .loop = order->loop};
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
    return status;
}

void write_order_was_split(struct write_order *order,
                           struct store_tablet *parent,
                           struct store_tablet *left,
                           struct store_tablet *right)
{
    struct tablet_order *tablet = store_tablet_context(parent);
    uint64_t table = store_tablet_describe(parent)->table;
    struct served children[] = {{table, left, order->loop}, {table, right, order->loop}};

    struct tablet_order *orders[] = {tablet_order_create(order, left),
                                     tablet_order_create(order, right)};
    enum status status = orders[0] != NULL && orders[1] != NULL
                             ? served_map_replace(order->server->served, parent, children, 2)
                             : STATUS_NO_MEMORY;
    ASSERT(status == STATUS_OK); /* a split that is logged cannot be taken back */
    if (tablet != NULL) {
        ASSERT(tablet->pending_first == NULL);
        struct work *deferred = take_deferred(tablet);
        forget_dirty(order, tablet);
        schema_release(tablet->schema);
        memory_free(tablet);
        store_tablet_set_context(parent, NULL);
        release_deferred(order, deferred);
    }
}

void write_order_split(struct write_order *order,
                       struct store_tablet *stored,
                       struct store_command *command)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    if (tablet == NULL || tablet->blocked) {
        memory_free(command); /* another barrier is on its way: the master asks again */
        return;
    }
    tablet->blocked = true;
    tablet->split = command;
    try_barrier(order, tablet);
}

void write_order_drop(struct write_order *order, struct store_tablet *stored)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    if (tablet == NULL) {
        store_tablet_drop(order->store, stored);
        return;
    }
    if (tablet->blocked) {
        return; /* asked again with the next sync */
    }
    tablet->blocked = true;
    tablet->dropping = true;
    try_barrier(order, tablet);
}

void write_order_refresh(struct write_order *order, uint64_t table)
{
    for (uint32_t i = 0; i < store_tablet_count(order->store); i++) {
        struct store_tablet *stored = store_tablet_at(order->store, i);
        struct tablet_order *tablet = store_tablet_context(stored);
        if (tablet != NULL && store_tablet_describe(stored)->table == table) {
            flush(order, tablet);
            schema_release(tablet->schema);
            tablet->schema = schema_cache_find(order->server->schemas, table);
        }
    }
}

/* --- rounds ----------------------------------------------------------------------------------- */

void write_order_begin(struct write_order *order)
{
    order->clock = store_next_clock(order->store);
}

void write_order_end(struct write_order *order)
{
    while (order->dirty != NULL) {
        struct tablet_order *tablet = order->dirty;
        order->dirty = tablet->dirty_next;
        tablet->dirty = false;
        flush(order, tablet);
    }
    store_commit(order->store);
    arena_reset(&order->arena);
    send_answers(order);
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
    arena_deinit(&order->arena);
}
