#include "client/operations/submission.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>

#include "client/operations/bundle.h"
#include "client/operations/convert.h"
#include "client/scan/row.h"
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define NS_PER_MS             INT64_C(1000000)
#define ROW_ARENA_BLOCK_BYTES 4096
#define ROW_ARENA_LENT_BYTES  1024 /* a few cells */
#define TROUBLE_BYTES_MAX     300

#define OPERATION_OWN_BYTES 64 /* of one that is encoded, beside its row and mutations */
#define MUTATION_OWN_BYTES  64 /* numbers, and how long the rest is */

/* --- the end ---------------------------------------------------------------------------------- */

static void release(struct submission *submission)
{
    memory_free(submission->trouble);
    memory_free(submission);
}

static void leave(struct submission *submission)
{
    loop_clear_timer(&submission->client->loop, &submission->timer);
    list_remove(&submission->parcel.link);
    list_remove(&submission->waiter.link);
    batch_leave(&submission->parcel);
}

static void complete(struct submission *submission, const struct edubba_result *result)
{
    struct edubba_client *client = submission->client;
    leave(submission);
    if (submission->bundle != NULL) {
        struct bundle *bundle = submission->bundle;
        uint32_t row = submission->bundle_row;
        release(submission);
        bundle_end_row(bundle, row, result->code, bytes_of_text(result->text));
        return;
    }
    struct admission admission = submission->admission;
    admission_finish_identities(client, &admission);
    submission->completion(submission->context, result);
    release(submission);
    admission_leave(client, &admission);
}

static void complete_with(struct submission *submission, enum status status, struct bytes text)
{
    char copy[ERROR_TEXT_SIZE_MAX];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.size_bytes, (const char *)text.data);
    struct edubba_result result = {.code = client_code(status), .text = copy};
    complete(submission, &result);
}

void submission_say_expired(const struct edubba_client *client,
                            uint32_t deadline_ms,
                            uint32_t address,
                            const char *trouble,
                            struct error *ret_error)
{
    (void)error_set(ret_error, STATUS_DEADLINE_EXCEEDED, "the deadline of %u ms has passed",
                    deadline_ms);
    client_append_waited_for(client, address, trouble, ret_error);
}

static void expire(struct submission *submission)
{
    struct edubba_client *client = submission->client;
    bool is_located = list_is_empty(&submission->waiter.link);
    struct error error = {0};
    submission_say_expired(client, submission->deadline_ms,
                           is_located ? submission->address
                                      : route_asked(client, submission->table),
                           submission->trouble != NULL ? submission->trouble : "", &error);
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
    alignas(max_align_t) uint8_t lent[ROW_ARENA_LENT_BYTES];
    arena_init(&arena, ROW_ARENA_BLOCK_BYTES, SIZE_MAX);
    arena_lend(&arena, lent, sizeof lent);
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
    submission->trouble = memory_copy_text(bytes_of(text.data, size_bytes));
}

static void pause_for(struct submission *submission, int64_t pause_ns)
{
    struct loop *loop = &submission->client->loop;
    int64_t due_ns = loop->now_ns + pause_ns;
    submission->is_paused = true;
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
        } else if (retry_looks_again(&submission->retry)) {
            route_refresh(client, submission->table, submission->row);
        }
        remember_trouble(submission, text);
        client_tell_trouble(client, submission->deadline_ns - submission->deadline_ms * NS_PER_MS,
                            submission->trouble);
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
    ASSERT(submission->is_paused);
    if (!retry_may_start(&submission->retry, 1, &client->budget, &client->prng, now_ns,
                         &pause_ns)) {
        pause_for(submission, pause_ns);
        return;
    }
    submission->is_paused = false;
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
        submission->address = LOCATION_NOT_SERVED;
        on_failure(submission, status, text, false);
    }
}

void submission_route(struct submission *submission)
{
    struct edubba_client *client = submission->client;
    const struct location_entry *entry = location_cache_find(&client->locations, submission->table,
                                                             submission->row);
    if (entry == NULL) {
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
    lane_enqueue(lane, &submission->parcel);
}

static void run_start(void *context, struct task *task)
{
    struct edubba_client *client = context;
    struct submission *submission = LIST_ELEMENT(task, struct submission, task);
    loop_set_timer(&client->loop, &submission->timer, submission->deadline_ns);
    submission_route(submission);
}

/* --- as a parcel ------------------------------------------------------------------------------ */

static struct submission *submission_of(struct parcel *parcel)
{
    return LIST_ELEMENT(parcel, struct submission, parcel);
}

/* Until now nobody has seen it, and the server to which it goes has told its clock. */
static void tell_time(struct submission *submission)
{
    int64_t begun_ns = submission->deadline_ns - submission->deadline_ms * NS_PER_MS;
    operation_set_first_attempt(submission->encoded, submission->key_end,
                                submission_first_attempt_us(submission->client, begun_ns));
    submission->is_timed = true;
}

static void parcel_write(struct parcel *parcel, struct buffer *out)
{
    struct submission *submission = submission_of(parcel);
    if (!submission->is_timed) {
        tell_time(submission);
    }
    buffer_append(out, submission->encoded, submission->parcel.size_bytes);
}

static void parcel_on_end(struct parcel *parcel, const struct operation_result *result)
{
    batch_leave(parcel);
    submission_on_result(submission_of(parcel), result);
}

static void parcel_on_result(struct parcel *parcel,
                             uint32_t index,
                             const struct operation_result *result)
{
    (void)index; /* there is one */
    parcel_on_end(parcel, result);
}

static void parcel_on_closed(struct parcel *parcel, struct bytes text)
{
    submission_on_closed(submission_of(parcel), text);
}

static const struct parcel_kind PARCEL = {
    .write = parcel_write,
    .on_result = parcel_on_result,
    .on_end = parcel_on_end,
    .on_closed = parcel_on_closed,
};

/* --- making one ------------------------------------------------------------------------------- */

uint32_t submission_deadline_ms(const struct edubba_client *client, uint32_t asked_ms)
{
    uint32_t deadline_ms = asked_ms > 0 ? asked_ms : client->deadline_ms;
    return deadline_ms < DEADLINE_MAX_MS ? deadline_ms : DEADLINE_MAX_MS;
}

int64_t submission_first_attempt_us(struct edubba_client *client, int64_t begun_ns)
{
    return begun_ns / 1000 + atomic_load(&client->server_clock_offset_us);
}

/* What every submission has; bytes, row and deadline are set. */
static void init(struct submission *submission, struct edubba_client *client)
{
    submission->client = client;
    submission->parcel.kind = &PARCEL;
    submission->parcel.count = 1;
    submission->parcel.deadline_ns = submission->deadline_ns;
    submission->timer.run = on_timer;
    submission->waiter.row = submission->row;
    submission->waiter.on_located = on_located;
    list_init(&submission->parcel.link);
    list_init(&submission->waiter.link);
}

struct submission *submission_of_row(struct bundle *bundle,
                                     uint32_t row,
                                     bool was_sent,
                                     uint32_t address)
{
    struct edubba_client *client = bundle->client;
    struct submission *submission = memory_allocate_zeroed(1, sizeof *submission);
    if (submission == NULL) {
        return NULL;
    }
    submission->bundle = bundle;
    submission->bundle_row = row;
    submission->kind = OPERATION_MUTATE;
    submission->table = bundle->table;
    submission->row = row_table_key(&bundle->rows, row);
    submission->encoded = bundle_encoded(bundle, row, &submission->key_end);
    submission->parcel.size_bytes = row_table_encoded(&bundle->rows, row).size_bytes;
    submission->deadline_ms = bundle->deadline_ms;
    submission->deadline_ns = bundle->deadline_ns;
    submission->address = address;
    init(submission, client);
    submission->parcel.was_sent = was_sent;
    submission->parcel.process = bundle_process(bundle, row);
    submission->is_timed = was_sent || submission->parcel.process != 0;
    loop_set_timer(&client->loop, &submission->timer, submission->deadline_ns);
    return submission;
}

/* About as much as it is encoded: with less, memory is got twice. */
static size_t expected_bytes(const struct operation *operation)
{
    size_t size = OPERATION_OWN_BYTES + operation->row.size_bytes;
    for (uint32_t i = 0; i < operation->mutation_count; i++) {
        const struct mutation *mutation = &operation->mutations[i];
        size += MUTATION_OWN_BYTES + mutation->family.size_bytes + mutation->qualifier.size_bytes +
                mutation->value.size_bytes;
    }
    return size;
}

/* In one piece of memory: itself, the operation as it is encoded, and its row. */
static struct submission *make(const struct operation *operation)
{
    struct buffer piece = BUFFER_INIT;
    struct bytes row = operation->row;
    buffer_expect(&piece, sizeof(struct submission) + expected_bytes(operation) + row.size_bytes);
    if (buffer_reserve(&piece, sizeof(struct submission)) != NULL) {
        buffer_advance(&piece, sizeof(struct submission));
    }
    size_t key_offset = operation_encode(operation, &piece);
    size_t encoded_bytes = piece.size_bytes - sizeof(struct submission);
    buffer_append_bytes(&piece, row);
    if (piece.failed) {
        buffer_deinit(&piece);
        return NULL;
    }
    size_t size_bytes = 0;
    struct submission *submission = (struct submission *)(void *)buffer_detach(&piece, &size_bytes);
    memset(submission, 0, sizeof *submission);
    submission->encoded = submission->memory;
    submission->parcel.size_bytes = encoded_bytes;
    submission->key_end = key_offset + row.size_bytes;
    submission->row = bytes_of(submission->memory + encoded_bytes, row.size_bytes);
    submission->kind = operation->kind;
    submission->table = operation->table;
    submission->address = LOCATION_NOT_SERVED;
    return submission;
}

enum status submission_start(struct edubba_client *client,
                             struct operation *operation,
                             const struct edubba_identity *identity,
                             uint32_t deadline_ms,
                             edubba_completion completion,
                             void *context,
                             struct error *ret_error)
{
    struct admission admission;
    bool wants_identity = operation->kind != OPERATION_READ && identity == NULL;
    int64_t now_ns = clock_monotonic_ns(); /* waiting for room is part of the deadline */
    enum status status = admission_enter(client, 1, wants_identity ? 1 : 0, &admission);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "out of memory");
    }
    operation->identity = (struct operation_identity){
        .sequence = wants_identity ? admission.sequence_first : 0,
        .first_attempt_us = submission_first_attempt_us(client, now_ns),
    };
    if (identity != NULL) {
        operation->identity.sequence = identity->sequence;
        operation->identity.first_attempt_us = identity->first_attempt_us;
    }
    struct submission *submission = make(operation);
    if (submission == NULL) {
        admission_leave(client, &admission);
        return client_status_no_memory(ret_error);
    }
    status = convert_check_size(submission->parcel.size_bytes, ret_error);
    if (status != STATUS_OK) {
        memory_free(submission);
        admission_leave(client, &admission);
        return status;
    }
    submission->deadline_ms = submission_deadline_ms(client, deadline_ms);
    submission->deadline_ns = now_ns + submission->deadline_ms * NS_PER_MS;
    submission->completion = completion;
    submission->context = context;
    submission->task.run = run_start;
    init(submission, client);
    submission->parcel.process = identity != NULL ? identity->client : 0;
    submission->is_timed = !wants_identity; /* a caller's is as he says */
    admission_add_bytes(client, &admission, submission->parcel.size_bytes);
    submission->admission = admission;
    if (client_thread_gathers()) {
        loop_post_quietly(&client->loop, &submission->task);
    } else {
        loop_post(&client->loop, &submission->task);
    }
    return STATUS_OK;
}
