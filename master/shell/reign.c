#include "master/shell/reign.h"

#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/daemon.h"
#include "common/io/entropy.h"
#include "common/io/logger.h"
#include "master/coordinator/catalog_moved.h"
#include "master/coordinator/coordinator.h"
#include "master/shell/answers.h"
#include "master/shell/catalog_succeed.h"
#include "master/shell/master_metrics.h"
#include "master/shell/open_replies.h"
#include "master/shell/reign_clock.h"

#define SHORT_ANSWER_BYTES   ((size_t)65536)
#define SUSPENDED_PAUSE_NS   INT64_C(20000000)
#define QUESTION_PATIENCE_NS INT64_C(5000000000)
#define TRIAL_PAUSE_NS       INT64_C(10000000000)
#define COMMIT_PATIENCE_NS   INT64_C(10000000000)
#define NS_PER_SECOND        INT64_C(1000000000)
#define UNTOLD_NS_MAX        INT64_C(3000000000) /* then they are all gone, and people have to go on */
#define UNTOLD \
    "this master has just begun, and no tablet server has told it yet whether its catalog is the newest"

struct reign {
    struct reign_options options;
    int lock; /* on the folder of the embedded coordinator; -1 = none */
    struct coordinator *coordinator;
    struct catalog *catalog;
    struct committer *committer;
    struct open_replies open;
    struct reign_clock clock;
    /* Tablet servers are known, and none has come yet: at most until then. */
    int64_t untold_until_ns;
    struct error failure; /* why it must end; status OK = it need not */
    struct error refusal; /* why the last commit was refused; status OK = it was not */
    int64_t tried_ns;     /* refusal: when it was tried again last */
    int64_t commit_ns;    /* when the commit that is under way was begun; 0 = none is */
};

uint64_t reign_number(const struct reign *reign)
{
    return reign->options.number;
}

bool reign_may_act(const struct reign *reign)
{
    const struct reign_options *options = &reign->options;
    return options->elector == NULL || elector_may_act(options->elector, options->number);
}

const struct error *reign_failure(const struct reign *reign)
{
    return &reign->failure;
}

const struct error *reign_refusal(const struct reign *reign)
{
    return &reign->refusal;
}

/* --- performing effects ----------------------------------------------------------------------- */

static void log_answer(const struct reign *reign,
                       const struct open_reply *open,
                       enum status status,
                       const char *text,
                       int64_t duration_ns)
{
    int64_t slow_us = reign->options.settings->slow_us;
    bool slow = slow_us > 0 && duration_ns / 1000 >= slow_us && open->method != METHOD_SYNC;
    LOG_EVENT(slow ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG, slow ? "slow_request" : "request",
              LOG_TEXT("method", master_method_name(open->method)), LOG_ID("trace", open->trace),
              LOG_TEXT("status", status_name(status)), LOG_I64("duration_us", duration_ns / 1000),
              LOG_TEXT("text", text));
}

/* Too much waits to be taken already, and this would be a good part of it.  Nothing but questions
 * has answers so long: they may be asked again. */
static bool must_wait(const struct open_reply *open, const struct buffer *message)
{
    return message->size_bytes > SHORT_ANSWER_BYTES &&
           transport_reply_must_wait(open->reply, message->size_bytes);
}

static void fail_open(struct open_reply *open, enum status status, const char *text)
{
    if (open->question != NULL) {
        question_fail(open->question, status, text);
    } else {
        transport_reply_fail(open->reply, status, text);
    }
    memory_free(open);
}

static void answer_question(struct question *question, struct buffer *message)
{
    question->status = STATUS_OK;
    question->message = *message;
    buffer_init(message);
    question->answered(question);
}

/* Could this be an old copy of the catalog, and nobody has had the time to say so? */
static bool is_untold(const struct reign *reign)
{
    return clock_monotonic_ns() < reign->untold_until_ns;
}

static void perform_reply(struct reign *reign, struct catalog_effect *effect)
{
    struct open_reply *open = open_replies_take(&reign->open, effect->number);
    int64_t duration_ns = clock_monotonic_ns() - open->received_ns;

    /* Looked at after the answer was made: as it is now, so it was then. */
    if (answer_is_belief(open->method, effect->status) && !reign_may_act(reign)) {
        buffer_deinit(&effect->message);
        effect->status = answer_in_doubt(open->method, effect->status);
        (void)snprintf(effect->text, sizeof effect->text, "this master may not be the active one%s",
                       effect->status == STATUS_CLOSED ? "; it may or may not have been done" : "");
    } else if (answer_needs_servers(open->method, effect->status) && is_untold(reign)) {
        effect->status = STATUS_UNAVAILABLE;
        (void)snprintf(effect->text, sizeof effect->text, "%s", UNTOLD);
    }
    master_metrics_request(open->method, effect->status, duration_ns);
    log_answer(reign, open, effect->status, effect->text, duration_ns);
    if (effect->status != STATUS_OK) {
        fail_open(open, effect->status, effect->text);
        return;
    }
    if (open->question != NULL) {
        answer_question(open->question, &effect->message);
    } else if (must_wait(open, &effect->message)) {
        buffer_deinit(&effect->message);
        transport_reply_fail(open->reply, STATUS_UNAVAILABLE,
                             "answers that nobody takes hold too much memory; retry");
    } else {
        transport_reply_send(open->reply, &effect->message, true);
    }
    memory_free(open);
}

/* Only the numbers that apply. */
static void perform_note(const struct catalog_note *note)
{
    const struct log_field all[] = {
        LOG_ID("table", note->table),
        LOG_ID("tablet", note->tablet),
        LOG_ID("server", note->server),
        LOG_ID("store", note->store),
    };
    struct log_field fields[6] = {0};
    size_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        if (all[i].u64 != 0) {
            fields[count++] = all[i];
        }
    }
    if (note->text[0] != '\0') {
        fields[count++] = LOG_TEXT("text", note->text);
    }
    fields[count].type = LOG_FIELD_END;
    enum log_level level = note->warning ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
    if (logger_wants(level)) {
        logger_write(level, note->event, fields);
    }
}

static void perform(struct reign *reign, const struct catalog_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        struct catalog_effect *effect = &effects->items[i];
        switch (effect->type) {
        case CATALOG_EFFECT_PERSIST:
            reign->commit_ns = clock_monotonic_ns();
            committer_start(reign->committer, effect->number, effect->puts, effect->put_count);
            break;
        case CATALOG_EFFECT_REPLY:
            perform_reply(reign, effect);
            break;
        case CATALOG_EFFECT_LOG:
            perform_note(&effect->note);
            break;
        case CATALOG_EFFECT_LOAD:
            reign->options.on_load(reign->options.context, effect->load);
            break;
        }
    }
}

/* The catalog's time now. */
static int64_t look_at_clock(struct reign *reign)
{
    return reign_clock_look(&reign->clock, clock_monotonic_ns(), reign_may_act(reign));
}

static enum status step(struct reign *reign, struct catalog_event *event)
{
    struct catalog_effects effects;

    event->now_ns = look_at_clock(reign);
    event->now_us = clock_wall_us();
    enum status status = catalog_step(reign->catalog, event, &effects);
    perform(reign, &effects);
    return status;
}

/* --- events ----------------------------------------------------------------------------------- */

/* When the answer must leave us to be there in time: a twentieth of its patience is for the way. */
static int64_t deadline_of(struct reign *reign, const struct transport_request *request)
{
    int64_t patience_ns = (int64_t)request->head.deadline_ms * 1000000;

    (void)look_at_clock(reign);
    return request->head.deadline_ms == 0
               ? 0
               : reign_clock_of(&reign->clock,
                                request->received_ns + patience_ns - patience_ns / 20);
}

void reign_take_request(struct reign *reign,
                        const struct transport_request *request,
                        struct transport_reply *reply)
{
    if (request->method == METHOD_SYNC) {
        reign->untold_until_ns = 0;
    } else if (change_needs_servers(request->method) && is_untold(reign)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, UNTOLD);
        return;
    }
    struct open_reply *open = open_replies_add(&reign->open, request, reply);
    if (open == NULL) {
        transport_reply_fail(reply, STATUS_RESOURCE_EXHAUSTED, "the master has no memory");
        return;
    }
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = open->number,
        .method = request->method,
        .body = request->body,
        .deadline_ns = deadline_of(reign, request),
    };
    if (step(reign, &event) == STATUS_NO_MEMORY) {
        fail_open(open_replies_take(&reign->open, event.number), STATUS_RESOURCE_EXHAUSTED,
                  "the master has no memory");
    }
}

void reign_take_question(struct reign *reign, struct question *question)
{
    int64_t now_ns = clock_monotonic_ns();
    struct open_reply *open = open_replies_add_question(&reign->open, question, now_ns);
    if (open == NULL) {
        question_fail(question, STATUS_RESOURCE_EXHAUSTED, "the master has no memory");
        return;
    }
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = open->number,
        .method = question->method,
        .body = buffer_bytes(&question->body),
        .deadline_ns = look_at_clock(reign) + QUESTION_PATIENCE_NS,
    };
    if (step(reign, &event) == STATUS_NO_MEMORY) {
        fail_open(open_replies_take(&reign->open, event.number), STATUS_RESOURCE_EXHAUSTED,
                  "the master has no memory");
    }
}

/* A refusal lasts until something is written: the catalog may have nothing to change for weeks. */
static void note_refusal(struct reign *reign, const struct committer_result *result)
{
    reign->tried_ns = clock_monotonic_ns();
    reign->refusal = (struct error){.status = STATUS_OK};
    if (result->status != STATUS_OK) {
        (void)error_set(&reign->refusal, result->status, "%s", result->text);
    }
}

/* A disk that hangs refuses nothing. */
static void note_silence(struct reign *reign)
{
    if (reign->commit_ns != 0 && reign->refusal.status == STATUS_OK &&
        clock_monotonic_ns() - reign->commit_ns >= COMMIT_PATIENCE_NS) {
        (void)error_set(&reign->refusal, STATUS_UNAVAILABLE,
                        "a change waits for more than %d s to be written",
                        (int)(COMMIT_PATIENCE_NS / NS_PER_SECOND));
        LOG_EVENT(LOG_LEVEL_ERROR, "catalog_not_written", LOG_TEXT("error", reign->refusal.text));
    }
}

static void try_refused(struct reign *reign)
{
    int64_t now_ns = clock_monotonic_ns();
    if (reign->commit_ns != 0) {
        return; /* it will tell */
    }
    if (reign->refusal.status != STATUS_OK && now_ns - reign->tried_ns >= TRIAL_PAUSE_NS) {
        reign->tried_ns = now_ns;
        committer_try(reign->committer);
    }
}

void reign_take_committed(struct reign *reign, const struct committer_result *result)
{
    struct error error = {0};
    struct catalog_event event = {
        .type = CATALOG_EVENT_PERSISTED,
        .number = result->transaction,
        .error = &error,
    };

    note_refusal(reign, result);
    reign->commit_ns = result->transaction == 0 ? reign->commit_ns : 0;
    if (result->status != STATUS_OK) {
        (void)error_set(&error, result->status, "%s", result->text);
        if (!coordinator_is_clean_failure(result->status)) {
            reign->failure = error; /* written or not: only loading can tell */
        }
        event.type = CATALOG_EVENT_PERSIST_FAILED;
    }
    if (result->transaction == 0) {
        return; /* a trial: nothing of the catalog was in it */
    }
    master_metrics_commit(result->status, result->duration_ns);
    if (reign->failure.status != STATUS_OK) {
        return;
    }
    enum status status = step(reign, &event);
    ASSERT(status == STATUS_OK);
}

void reign_tick(struct reign *reign)
{
    note_silence(reign);
    struct catalog_event tick = {.type = CATALOG_EVENT_TICK};
    int64_t now_ns = look_at_clock(reign);
    if (reign_may_act(reign) && now_ns >= catalog_deadline_ns(reign->catalog)) {
        enum status status = step(reign, &tick);
        ASSERT(status == STATUS_OK);
    }
    if (reign_may_act(reign)) {
        try_refused(reign);
    }
}

/* One that is suspended looks now and then whether it still is. */
int64_t reign_deadline_ns(const struct reign *reign)
{
    return reign_may_act(reign)
               ? reign_clock_when(&reign->clock, catalog_deadline_ns(reign->catalog))
               : clock_monotonic_ns() + SUSPENDED_PAUSE_NS;
}

void reign_describe(struct reign *reign, struct catalog_counts *ret_counts, struct buffer *status)
{
    catalog_look(reign->catalog, look_at_clock(reign));
    catalog_counts(reign->catalog, ret_counts);
    catalog_status_json(reign->catalog, reign_may_act(reign) ? "active" : "in_doubt", status);
}

void reign_take_events(struct reign *reign, struct event_log *events)
{
    catalog_take_events(reign->catalog, events, clock_wall_us());
}

void reign_give_events(struct reign *reign, struct event_log *ret_events)
{
    catalog_give_events(reign->catalog, ret_events);
}

const struct event_log *reign_events(const struct reign *reign)
{
    return catalog_events(reign->catalog);
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_over(const struct reign_options *options)
{
    return atomic_load(options->stopping) ||
           (options->elector != NULL && elector_reign(options->elector) != options->number);
}

static enum status load_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    struct reign *reign = context;
    if (is_over(&reign->options)) {
        return error_set(ret_error, STATUS_CANCELLED, "the catalog is not needed any more");
    }
    return catalog_load(reign->catalog, key, value, ret_error);
}

static enum status open_embedded(struct reign *reign, struct error *ret_error)
{
    const struct master_settings *settings = reign->options.settings;
    const struct coordinator_identity identity = {(uint64_t)settings->cluster, entropy_u64()};
    enum status status = daemon_lock_folder(settings->folder, &reign->lock, ret_error);

    if (status == STATUS_OK) {
        status = catalog_moved_check(settings->folder, ret_error);
    }
    return status == STATUS_OK ? coordinator_open_embedded(settings->folder, &identity,
                                                           &reign->coordinator, ret_error)
                               : status;
}

static enum status open_etcd(struct reign *reign, struct error *ret_error)
{
    const struct master_settings *settings = reign->options.settings;
    const struct coordinator_etcd_options options = {
        .settings = &settings->etcd,
        .cluster = (uint64_t)settings->cluster,
        .generation = entropy_u64(),
        .reign = reign->options.number,
        .endpoint = elector_endpoint(reign->options.elector),
    };
    return coordinator_open_etcd(&options, &reign->coordinator, ret_error);
}

static enum status load_catalog(struct reign *reign, struct error *ret_error)
{
    const struct master_settings *settings = reign->options.settings;
    enum status status = catalog_create(&settings->catalog, &reign->catalog);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory for the catalog");
    }
    status = coordinator_load(reign->coordinator, load_record, reign, ret_error);
    if (status == STATUS_OK) {
        reign_clock_start(&reign->clock, clock_monotonic_ns());
        status = catalog_load_end(reign->catalog, reign->clock.now_ns, ret_error);
    }
    if (status != STATUS_OK && reign->options.elector == NULL) {
        return error_prefix(ret_error, "%s/catalog", settings->folder);
    }
    return status;
}

static void await_servers(struct reign *reign)
{
    struct catalog_counts counts;
    catalog_counts(reign->catalog, &counts);
    reign->untold_until_ns = counts.servers > 0 ? clock_monotonic_ns() + UNTOLD_NS_MAX : 0;
}

static void on_done(void *context, const struct committer_result *result)
{
    struct reign *reign = context;
    reign->options.on_committed(reign->options.context, reign->options.number, result);
}

enum status reign_open(const struct reign_options *options,
                       struct reign **ret_reign,
                       struct error *ret_error)
{
    struct reign *reign = memory_allocate_zeroed(1, sizeof *reign);

    if (reign == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the catalog");
    }
    reign->options = *options;
    reign->lock = -1;
    open_replies_init(&reign->open);
    enum status status = options->elector == NULL ? open_embedded(reign, ret_error)
                                                  : open_etcd(reign, ret_error);
    if (status == STATUS_OK && options->settings->succeeds != 0) {
        status = catalog_succeed(reign->coordinator, options->settings->succeeds, ret_error);
    }
    if (status == STATUS_OK) {
        status = load_catalog(reign, ret_error);
    }
    if (status == STATUS_OK) {
        const struct committer_options committer = {reign->coordinator, reign, on_done};
        status = committer_open(&committer, &reign->committer, ret_error);
    }
    if (status != STATUS_OK) {
        reign_close(reign, "");
        return status;
    }
    await_servers(reign);
    *ret_reign = reign;
    return STATUS_OK;
}

void reign_close(struct reign *reign, const char *text)
{
    if (reign == NULL) {
        return;
    }
    if (reign->coordinator != NULL) {
        coordinator_cancel(reign->coordinator);
    }
    committer_close(reign->committer);
    for (struct open_reply *open = open_replies_take_any(&reign->open); open != NULL;
         open = open_replies_take_any(&reign->open)) {
        fail_open(open, answer_at_end(open->method), text);
    }
    catalog_destroy(reign->catalog);
    coordinator_close(reign->coordinator);
    open_replies_deinit(&reign->open);
    if (reign->lock != -1) {
        daemon_unlock_folder(reign->lock);
    }
    memory_free(reign);
}
