#include "client/submission.h"

#include <stdio.h>

#include "client/row.h"
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define NS_PER_MS INT64_C(1000000)
/* A minute less than servers remember: a retry is always let in, or nobody waits for it. */
#define DEADLINE_MAX_MS       ((uint32_t)(LIMIT_DEDUPE_WINDOW_US / 1000 - 60000))
#define ROW_ARENA_BLOCK_BYTES 4096
#define TROUBLE_BYTES_MAX     300

static void submission_route(struct submission *submission);

/* --- the end ---------------------------------------------------------------------------------- */

static void release(struct submission *submission)
{
    struct edubba_client *client = submission->client;
    pthread_mutex_lock(&client->lock);
    sequence_window_finish(&client->tickets, submission->ticket);
    client->in_flight--;
    client->in_flight_bytes -= submission->encoded.size_bytes;
    if (client->waiting > 0) {
        pthread_cond_broadcast(&client->room);
    }
    pthread_mutex_unlock(&client->lock);
    memory_free(submission->trouble);
    memory_free(submission);
}

static void leave(struct submission *submission)
{
    loop_clear_timer(&submission->client->loop, &submission->timer);
    list_remove(&submission->link);
    list_remove(&submission->waiter.link);
    if (submission->batch != NULL) {
        struct batch *batch = submission->batch;
        submission->batch = NULL;
        batch_abandon(batch, submission->index);
    }
}

static void complete(struct submission *submission, const struct edubba_result *result)
{
    struct edubba_client *client = submission->client;
    leave(submission);
    if (submission->sequence != 0) {
        pthread_mutex_lock(&client->lock);
        sequence_window_finish(&client->identities, submission->sequence);
        pthread_mutex_unlock(&client->lock);
    }
    submission->completion(submission->context, result);
    release(submission);
}

static void complete_with(struct submission *submission, enum status status, struct bytes text)
{
    char copy[ERROR_TEXT_SIZE_MAX];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.size_bytes, (const char *)text.data);
    struct edubba_result result = {.code = client_code(status), .text = copy};
    complete(submission, &result);
}

static void expire(struct submission *submission)
{
    struct error error = {0};
    const char *trouble = submission->trouble != NULL ? submission->trouble : "";
    (void)error_set(&error, STATUS_DEADLINE_EXCEEDED, "the deadline of %u ms has passed%s%s",
                    submission->deadline_ms, trouble[0] != '\0' ? "; the last attempt: " : "",
                    trouble);
    complete_with(submission, error.status, bytes_of_text(error.text));
}

static void complete_ok(struct submission *submission, const struct operation_result *answer)
{
    struct edubba_result result = {.code = EDUBBA_OK, .text = "", .matched = answer->matched};
    struct error error = {0};
    struct bytes block = answer->rows;
    struct edubba_row row;
    struct arena arena;
    bool found = false;

    retry_on_success(&submission->retry, &submission->client->budget);
    if (block.size_bytes == 0) {
        complete(submission, &result);
        return;
    }
    arena_init(&arena, ROW_ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = row_take(&block, &arena, &row, &found, &error);
    if (status == STATUS_OK) {
        result.row = found ? &row : NULL;
        complete(submission, &result);
    } else {
        complete_with(submission, status, bytes_of_text(error.text));
    }
    arena_deinit(&arena);
}

/* --- trouble ---------------------------------------------------------------------------------- */

static void remember_trouble(struct submission *submission, struct bytes text)
{
    size_t size_bytes = text.size_bytes < TROUBLE_BYTES_MAX ? text.size_bytes : TROUBLE_BYTES_MAX;
    memory_free(submission->trouble);
    submission->trouble = client_copy_text(bytes_of(text.data, size_bytes));
}

static void pause_for(struct submission *submission, int64_t pause_ns)
{
    struct loop *loop = &submission->client->loop;
    int64_t due_ns = loop->now_ns + pause_ns;
    submission->state = SUBMISSION_PAUSED;
    loop_set_timer(loop, &submission->timer,
                   due_ns < submission->deadline_ns ? due_ns : submission->deadline_ns);
}

static void on_failure(struct submission *submission,
                       enum status status,
                       struct bytes text,
                       bool located)
{
    struct edubba_client *client = submission->client;
    int64_t pause_ns = 0;

    switch (retry_on_failure(&submission->retry, status, located, &client->prng, &pause_ns)) {
    case RETRY_FINAL:
        complete_with(submission, status, text);
        return;
    case RETRY_NOW:
        submission_route(submission);
        return;
    case RETRY_LATER:
        if (status == STATUS_NOT_OWNER) {
            route_doubt(client, submission->table, submission->row);
        }
        remember_trouble(submission, text);
        pause_for(submission, pause_ns);
        return;
    }
    UNREACHABLE();
}

void submission_on_closed(struct submission *submission, struct bytes text)
{
    location_cache_invalidate(&submission->client->locations, submission->table, submission->row,
                              submission->address);
    on_failure(submission, STATUS_CLOSED, text, false);
}

void submission_on_result(struct submission *submission, const struct operation_result *result)
{
    enum status status = client_status_of_number(result->status);
    bool located = false;
    if (status == STATUS_OK) {
        complete_ok(submission, result);
        return;
    }
    if (status == STATUS_NOT_OWNER) {
        located = route_learn(submission->client, submission->table, submission->row,
                              submission->address, result->has_location ? &result->location : NULL);
    }
    on_failure(submission, status, result->text, located);
}

/* --- the way ---------------------------------------------------------------------------------- */

static void on_timer(void *context, struct timer *timer)
{
    struct edubba_client *client = context;
    struct submission *submission = LIST_ELEMENT(timer, struct submission, timer);
    int64_t now_ns = client->loop.now_ns;
    int64_t pause_ns = 0;

    if (now_ns >= submission->deadline_ns) {
        expire(submission);
        return;
    }
    ASSERT(submission->state == SUBMISSION_PAUSED);
    if (!retry_may_start(&submission->retry, &client->budget, &client->prng, now_ns, &pause_ns)) {
        pause_for(submission, pause_ns);
        return;
    }
    loop_set_timer(&client->loop, &submission->timer, submission->deadline_ns);
    submission_route(submission);
}

static void on_located(struct edubba_client *client,
                       struct route_waiter *waiter,
                       enum status status,
                       struct bytes text)
{
    struct submission *submission = LIST_ELEMENT(waiter, struct submission, waiter);
    (void)client;
    if (status == STATUS_OK) {
        submission_route(submission);
    } else {
        on_failure(submission, status, text, false);
    }
}

static void submission_route(struct submission *submission)
{
    struct edubba_client *client = submission->client;
    const struct location_entry *entry = location_cache_find(&client->locations, submission->table,
                                                             submission->row);
    if (entry == NULL) {
        submission->state = SUBMISSION_LOCATING;
        route_wait(client, submission->table, &submission->waiter);
        return;
    }
    submission->address = entry->address;
    if (entry->address == LOCATION_NOT_SERVED) {
        /* Asked again after the pause. */
        submission_on_closed(submission, bytes_of_text("no server holds the row's tablet now"));
        return;
    }
    struct server_lane *lane = lane_choose(
        client, entry->address, submission->kind == OPERATION_READ ? LANE_READ : LANE_SMALL);
    if (lane == NULL) {
        complete_with(submission, STATUS_NO_MEMORY, bytes_of_text("out of memory"));
        return;
    }
    submission->state = SUBMISSION_QUEUED;
    lane_enqueue(lane, submission);
}

static void run_start(void *context, struct task *task)
{
    struct edubba_client *client = context;
    struct submission *submission = LIST_ELEMENT(task, struct submission, task);
    loop_set_timer(&client->loop, &submission->timer, submission->deadline_ns);
    submission_route(submission);
}

/* --- from the submitting thread --------------------------------------------------------------- */

static bool there_is_room(const struct edubba_client *client)
{
    return client->in_flight < client->in_flight_max &&
           client->in_flight_bytes < client->in_flight_bytes_max;
}

/* Wait for room, take a place, a ticket and, for what changes something, an identity. */
static enum status enter(struct edubba_client *client,
                         bool wants_identity,
                         uint64_t *ret_ticket,
                         uint64_t *ret_sequence)
{
    enum status status = STATUS_OK;
    bool may_wait = !loop_is_current_thread(&client->loop);
    pthread_mutex_lock(&client->lock);
    while (may_wait && !there_is_room(client)) {
        client->waiting++;
        pthread_cond_wait(&client->room, &client->lock);
        client->waiting--;
    }
    status = sequence_window_begin(&client->tickets, ret_ticket);
    if (status == STATUS_OK && wants_identity) {
        status = sequence_window_begin(&client->identities, ret_sequence);
        if (status != STATUS_OK) {
            sequence_window_finish(&client->tickets, *ret_ticket);
        }
    }
    client->in_flight += status == STATUS_OK ? 1 : 0;
    pthread_mutex_unlock(&client->lock);
    return status;
}

static void leave_unsent(struct edubba_client *client, uint64_t ticket, uint64_t sequence)
{
    pthread_mutex_lock(&client->lock);
    sequence_window_finish(&client->tickets, ticket);
    if (sequence != 0) {
        sequence_window_finish(&client->identities, sequence);
    }
    client->in_flight--;
    pthread_cond_broadcast(&client->room);
    pthread_mutex_unlock(&client->lock);
}

static struct submission *make(const struct operation *operation)
{
    struct buffer encoded = BUFFER_INIT;
    operation_encode(operation, &encoded);
    struct submission *submission = NULL;
    if (!encoded.failed) {
        submission = memory_allocate(sizeof *submission + encoded.size_bytes +
                                     operation->row.size_bytes);
    }
    if (submission != NULL) {
        uint8_t *row = submission->memory + encoded.size_bytes;
        memset(submission, 0, sizeof *submission);
        memcpy(submission->memory, encoded.data, encoded.size_bytes);
        if (operation->row.size_bytes > 0) {
            memcpy(row, operation->row.data, operation->row.size_bytes);
        }
        submission->encoded = bytes_of(submission->memory, encoded.size_bytes);
        submission->row = bytes_of(row, operation->row.size_bytes);
        submission->kind = operation->kind;
        submission->table = operation->table;
        submission->sequence = operation->identity.sequence;
    }
    buffer_deinit(&encoded);
    return submission;
}

enum status submission_start(struct edubba_client *client,
                             struct operation *operation,
                             uint32_t deadline_ms,
                             edubba_completion completion,
                             void *context,
                             struct error *ret_error)
{
    uint64_t ticket = 0;
    bool wants_identity = operation->kind != OPERATION_READ;
    operation->identity = (struct operation_identity){0};
    enum status status = enter(client, wants_identity, &ticket, &operation->identity.sequence);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "out of memory");
    }
    int64_t now_ns = clock_monotonic_ns();
    operation->identity.first_attempt_us = now_ns / 1000 +
                                           atomic_load(&client->server_clock_offset_us);
    struct submission *submission = make(operation);
    if (submission == NULL) {
        leave_unsent(client, ticket, operation->identity.sequence);
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    deadline_ms = deadline_ms > 0 ? deadline_ms : client->deadline_ms;
    submission->client = client;
    submission->ticket = ticket;
    submission->deadline_ms = deadline_ms < DEADLINE_MAX_MS ? deadline_ms : DEADLINE_MAX_MS;
    submission->deadline_ns = now_ns + submission->deadline_ms * NS_PER_MS;
    submission->completion = completion;
    submission->context = context;
    submission->task.run = run_start;
    submission->timer.run = on_timer;
    submission->waiter.row = submission->row;
    submission->waiter.on_located = on_located;
    list_init(&submission->link);
    list_init(&submission->waiter.link);
    pthread_mutex_lock(&client->lock);
    client->in_flight_bytes += submission->encoded.size_bytes;
    pthread_mutex_unlock(&client->lock);
    loop_post(&client->loop, &submission->task);
    return STATUS_OK;
}

void submission_wait_for_all(struct edubba_client *client)
{
    pthread_mutex_lock(&client->lock);
    uint64_t end = client->tickets.next;
    client->waiting++;
    while (sequence_window_lowest_unfinished(&client->tickets) < end) {
        pthread_cond_wait(&client->room, &client->lock);
    }
    client->waiting--;
    pthread_mutex_unlock(&client->lock);
}
