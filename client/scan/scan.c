/* The caller's side of scans. */
#include "client/scan/scan.h"

#include "client/include/edubba_gather.h"
#include "client/operations/convert.h"
#include "client/operations/filter_copy.h"
#include "client/scan/row.h"
#include "common/base/memory.h"

#define SET_ARENA_BLOCK_BYTES 4096
#define ROW_ARENA_BLOCK_BYTES 16384
#define BUFFER_DEFAULT_BYTES  (UINT64_C(4) << 20)

static struct plain_scan *plain(struct edubba_scan *scan)
{
    return LIST_ELEMENT(scan, struct plain_scan, scan);
}

/* --- consuming -------------------------------------------------------------------------------- */

static void chunk_consumed(struct plain_scan *scan)
{
    struct link_event *chunk = scan->chunk;
    scan->chunk = NULL;
    pthread_mutex_lock(&scan->lock);
    scan->buffered_bytes -= chunk->size_bytes;
    scan->credit_bytes += chunk->size_bytes;
    bool post = !scan->credit_is_posted && !scan->has_ended;
    scan->credit_is_posted = scan->credit_is_posted || post;
    pthread_mutex_unlock(&scan->lock);
    if (post) {
        loop_post(&scan->client->loop, &scan->credit_task);
    }
    memory_free(chunk);
}

/* With the lock held. */
static bool take_chunk(struct plain_scan *scan)
{
    struct link_event *chunk = scan->first_chunk;
    if (chunk == NULL) {
        return false;
    }
    scan->first_chunk = (struct link_event *)(void *)chunk->task.next;
    if (scan->first_chunk == NULL) {
        scan->last_chunk = &scan->first_chunk;
    }
    scan->chunk = chunk;
    return true;
}

/* The next row of the chunk in hand, if there is one. */
static enum status next_in_chunk(struct plain_scan *scan, bool *ret_found, struct error *ret_error)
{
    *ret_found = false;
    if (scan->chunk == NULL) {
        return STATUS_OK;
    }
    arena_reset(&scan->row_arena);
    enum status status = row_take(&scan->chunk->rows, &scan->row_arena, &scan->row_now, ret_found,
                                  ret_error);
    if (status == STATUS_OK && !*ret_found) {
        chunk_consumed(scan);
    }
    return status;
}

static bool limit_is_reached(const struct plain_scan *scan)
{
    return scan->rows_limit > 0 && scan->rows_given >= scan->rows_limit;
}

struct outcome {
    enum status status;
    struct error error;
    bool is_row;
    bool is_end; /* with status: the error that ended it */
};

/* A row or the end, waiting if wait; neither: nothing yet, and on_ready is left. */
static void take_next(struct plain_scan *scan,
                      bool wait,
                      void (*on_ready)(void *context),
                      void *context,
                      struct outcome *outcome)
{
    while (!limit_is_reached(scan)) {
        outcome->status = next_in_chunk(scan, &outcome->is_row, &outcome->error);
        if (outcome->status != STATUS_OK || outcome->is_row) {
            scan->rows_given += outcome->is_row ? 1 : 0;
            return;
        }
        pthread_mutex_lock(&scan->lock);
        bool taken = take_chunk(scan);
        while (!taken && !scan->has_ended && wait) {
            pthread_cond_wait(&scan->changed, &scan->lock);
            taken = take_chunk(scan);
        }
        bool ended = !taken && scan->has_ended;
        if (!taken && !ended) {
            scan->on_ready = on_ready;
            scan->on_ready_context = context;
        }
        outcome->is_end = ended;
        if (ended) {
            outcome->status = scan->end.status;
            outcome->error = scan->end;
        }
        pthread_mutex_unlock(&scan->lock);
        if (!taken) {
            return;
        }
    }
    outcome->is_end = true;
}

static enum edubba_code hand_out(struct plain_scan *scan,
                                 const struct outcome *outcome,
                                 const struct edubba_row **row,
                                 struct edubba_error *error)
{
    *row = outcome->is_row ? &scan->row_now : NULL;
    return outcome->status == STATUS_OK ? client_success(error)
                                        : client_error_of(error, &outcome->error);
}

static enum edubba_code plain_next(struct edubba_scan *scan,
                                   const struct edubba_row **row,
                                   struct edubba_error *error)
{
    struct outcome outcome = {.status = STATUS_OK};
    if (client_check_may_block(plain(scan)->client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    if (client_thread_gathers()) {
        edubba_client_go(plain(scan)->client); /* what it gathered does not wait for a row */
    }
    take_next(plain(scan), true, NULL, NULL, &outcome);
    return hand_out(plain(scan), &outcome, row, error);
}

static enum edubba_code plain_poll(struct edubba_scan *scan,
                                   const struct edubba_row **row,
                                   bool *ready,
                                   void (*on_ready)(void *context),
                                   void *context,
                                   struct edubba_error *error)
{
    struct outcome outcome = {.status = STATUS_OK};
    take_next(plain(scan), false, on_ready, context, &outcome);
    *ready = outcome.is_row || outcome.is_end || outcome.status != STATUS_OK;
    return hand_out(plain(scan), &outcome, row, error);
}

/* Rows that were received lie before it, so they are to be given first. */
static bool plain_progress(struct edubba_scan *scan, struct edubba_bytes *row)
{
    struct plain_scan *own = plain(scan);
    bool is_new = false;
    pthread_mutex_lock(&own->lock);
    if (own->chunk == NULL && own->first_chunk == NULL && own->progress.size_bytes > 0) {
        buffer_reset(&own->progress_given);
        buffer_append_bytes(&own->progress_given, buffer_bytes(&own->progress));
        buffer_reset(&own->progress);
        is_new = !own->progress_given.failed;
    }
    pthread_mutex_unlock(&own->lock);
    if (is_new) {
        *row = client_public_bytes(buffer_bytes(&own->progress_given));
    }
    return is_new;
}

/* Nobody writes it any more once the caller knows of the end. */
static bool plain_failed_row(const struct edubba_scan *scan, struct edubba_bytes *row)
{
    const struct plain_scan *own = plain((struct edubba_scan *)(uintptr_t)scan);
    *row = client_public_bytes(buffer_bytes(&own->failed_row));
    return row->size > 0;
}

static void plain_statistics(const struct edubba_scan *scan,
                             struct edubba_scan_statistics *statistics)
{
    /* The lock is the scan's own; what is read through it does not change by that. */
    struct plain_scan *own = plain((struct edubba_scan *)(uintptr_t)scan);
    pthread_mutex_lock(&own->lock);
    *statistics = own->statistics;
    pthread_mutex_unlock(&own->lock);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void scan_free(struct plain_scan *scan)
{
    for (struct link_event *chunk = scan->first_chunk; chunk != NULL;) {
        struct link_event *next = (struct link_event *)(void *)chunk->task.next;
        memory_free(chunk);
        chunk = next;
    }
    memory_free(scan->chunk);
    scan_plan_deinit(&scan->plan);
    buffer_deinit(&scan->progress);
    buffer_deinit(&scan->progress_given);
    buffer_deinit(&scan->failed_row);
    buffer_deinit(&scan->row);
    buffer_deinit(&scan->asked_start);
    buffer_deinit(&scan->asked_end);
    arena_deinit(&scan->arena);
    arena_deinit(&scan->row_arena);
    pthread_cond_destroy(&scan->changed);
    pthread_mutex_destroy(&scan->lock);
    memory_free(scan);
}

static void run_close(void *context, struct task *task)
{
    struct plain_scan *scan = LIST_ELEMENT(task, struct plain_scan, close_task);
    (void)context;
    scan_run_stop(scan);
    scan_free(scan);
}

static void run_start(void *context, struct task *task)
{
    (void)context;
    scan_run_start(LIST_ELEMENT(task, struct plain_scan, start_task));
}

static void run_credit(void *context, struct task *task)
{
    (void)context;
    scan_run_credit(LIST_ELEMENT(task, struct plain_scan, credit_task));
}

/* Tasks run in the order of their posts: this one comes after all of the scan's others. */
static void plain_close(struct edubba_scan *scan)
{
    struct plain_scan *own = plain(scan);
    bool is_loop = loop_is_held_here(&own->client->loop);
    pthread_mutex_lock(&own->lock);
    own->on_ready = NULL;
    while (own->is_telling && !is_loop) {
        pthread_cond_wait(&own->changed, &own->lock);
    }
    pthread_mutex_unlock(&own->lock);
    loop_post(&own->client->loop, &own->close_task);
}

static const struct scan_source plain_source = {
    .next = plain_next,
    .poll = plain_poll,
    .progress = plain_progress,
    .failed_row = plain_failed_row,
    .statistics = plain_statistics,
    .close = plain_close,
};

static struct plain_scan *make(struct edubba_table *table,
                               const struct edubba_scan_options *options)
{
    struct plain_scan *scan = memory_allocate_zeroed(1, sizeof *scan);
    if (scan == NULL) {
        return NULL;
    }
    scan->scan.source = &plain_source;
    scan->client = table->client;
    scan->table = table->number;
    scan->rows_limit = options->rows_limit;
    scan->buffer_bytes = options->buffer_bytes > 0 ? options->buffer_bytes : BUFFER_DEFAULT_BYTES;
    scan->deadline_ms = options->deadline_ms > 0 ? options->deadline_ms
                                                 : table->client->deadline_ms;
    scan->reversed = options->reversed;
    scan->tells_progress = options->tells_progress;
    scan->start_task.run = run_start;
    scan->credit_task.run = run_credit;
    scan->close_task.run = run_close;
    scan->last_chunk = &scan->first_chunk;
    list_init(&scan->waiter.link);
    pthread_mutex_init(&scan->lock, NULL);
    pthread_cond_init(&scan->changed, NULL);
    arena_init(&scan->arena, SET_ARENA_BLOCK_BYTES, SIZE_MAX);
    arena_init(&scan->row_arena, ROW_ARENA_BLOCK_BYTES, SIZE_MAX);
    return scan;
}

/* Copies of the options' keys and bounds in the arena. */
static enum status copy_set(struct arena *arena,
                            const struct edubba_scan_options *options,
                            struct bytes *keys,
                            struct row_bounds *bounds)
{
    bool complete = true;
    for (size_t i = 0; i < options->key_count; i++) {
        keys[i] = arena_copy(arena, client_bytes(options->keys[i]));
        complete = complete && keys[i].data != NULL;
    }
    for (size_t i = 0; i < options->range_count; i++) {
        const struct edubba_bounds *from = &options->ranges[i];
        bounds[i] = (struct row_bounds){
            .start = arena_copy(arena, client_bytes(from->start)),
            .end = arena_copy(arena, client_bytes(from->end)),
            .start_open = from->start_open,
            .end_closed = from->end_closed,
        };
        complete = complete && bounds[i].start.data != NULL && bounds[i].end.data != NULL;
    }
    return complete ? STATUS_OK : STATUS_NO_MEMORY;
}

/* No row is asked for; but what is wrong with a filter says a server, which knows the table.  So one is asked, for a
 * range that holds nothing. */
static enum status ask_for_nothing(struct plain_scan *scan)
{
    static const uint8_t least[] = {0};
    struct row_range *nothing = arena_allocate(&scan->arena, sizeof *nothing);
    if (nothing == NULL) {
        return STATUS_NO_MEMORY;
    }
    *nothing = (struct row_range){bytes_of(least, sizeof least), bytes_of(least, sizeof least)};
    scan->set = (struct row_set){nothing, 1};
    return STATUS_OK;
}

static enum status take_options(struct plain_scan *scan,
                                const struct edubba_scan_options *options,
                                struct error *ret_error)
{
    struct arena *arena = &scan->arena;
    struct bytes *keys = arena_allocate_array(arena, options->key_count, sizeof *keys);
    struct row_bounds *bounds = arena_allocate_array(arena, options->range_count, sizeof *bounds);
    enum status status = STATUS_NO_MEMORY;

    if (keys != NULL && bounds != NULL) {
        status = copy_set(arena, options, keys, bounds);
    }
    if (status == STATUS_OK) {
        status = filter_copy(arena, convert_filter(options->filter), &scan->filter_tree);
    }
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "out of memory");
    }
    status = row_set_normalise(arena, keys, options->key_count, bounds, options->range_count,
                               &scan->set, ret_error);
    if (status == STATUS_OK && scan->set.count == 0 && scan->filter_tree != NULL) {
        status = ask_for_nothing(scan);
        return status == STATUS_OK ? status : error_set(ret_error, status, "out of memory");
    }
    return status;
}

enum edubba_code edubba_scan_open(struct edubba_table *table,
                                  const struct edubba_scan_options *options,
                                  struct edubba_scan **scan,
                                  struct edubba_error *error)
{
    static const struct edubba_scan_options everything = {0};
    struct error trouble = {0};
    options = options != NULL ? options : &everything;
    struct plain_scan *own = make(table, options);
    if (own == NULL) {
        return client_no_memory(error);
    }
    if (take_options(own, options, &trouble) != STATUS_OK) {
        scan_free(own);
        return client_error_of(error, &trouble);
    }
    scan_plan_init(&own->plan, &own->set, own->reversed);
    *scan = &own->scan;
    loop_post(&own->client->loop, &own->start_task);
    return client_success(error);
}

/* --- what callers see ------------------------------------------------------------------------- */

enum edubba_code edubba_scan_next(struct edubba_scan *scan,
                                  const struct edubba_row **row,
                                  struct edubba_error *error)
{
    return scan->source->next(scan, row, error);
}

enum edubba_code edubba_scan_poll(struct edubba_scan *scan,
                                  const struct edubba_row **row,
                                  bool *ready,
                                  void (*on_ready)(void *context),
                                  void *context,
                                  struct edubba_error *error)
{
    return scan->source->poll(scan, row, ready, on_ready, context, error);
}

bool edubba_scan_progress(struct edubba_scan *scan, struct edubba_bytes *row)
{
    return scan->source->progress != NULL && scan->source->progress(scan, row);
}

bool edubba_scan_failed_row(const struct edubba_scan *scan, struct edubba_bytes *row)
{
    return scan->source->failed_row != NULL && scan->source->failed_row(scan, row);
}

void edubba_scan_statistics(const struct edubba_scan *scan,
                            struct edubba_scan_statistics *statistics)
{
    scan->source->statistics(scan, statistics);
}

void edubba_scan_close(struct edubba_scan *scan)
{
    if (scan != NULL) {
        scan->source->close(scan);
    }
}
