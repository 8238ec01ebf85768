#include "master/shell/master.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/daemon.h"
#include "common/io/entropy.h"
#include "common/io/mailbox.h"
#include "common/io/transport.h"
#include "common/io/transport_budget.h"
#include "master/coordinator/coordinator.h"
#include "master/shell/committer.h"
#include "master/shell/master_metrics.h"
#include "master/shell/open_replies.h"
#include "master/shell/status_page.h"

#define MAILBOX_CAPACITY     16384
#define MAILBOX_RESERVED     16
#define MAILS_AT_ONCE        64
#define REQUESTS_PER_PEER    256
#define CONNECTION_BYTES_MAX (UINT64_C(64) << 20)
#define PUBLISH_NS           INT64_C(500000000)
#define SHORT_ANSWER_BYTES   ((size_t)65536)
#define CLOSE_GRACE_MS       500
#define AGENT                "edubba-master/" EDUBBA_VERSION

enum mail_kind {
    MAIL_REQUEST,
    MAIL_COMMITTED,
};

struct mail {
    enum mail_kind kind;
    struct transport_request request; /* its body belongs to the reply */
    struct transport_reply *reply;
    struct committer_result result;
};

struct master {
    const struct master_settings *settings;
    int lock; /* on the folder; -1 = none */
    struct coordinator *coordinator;
    struct catalog *catalog;
    struct mailbox *mailbox;
    struct committer *committer;
    struct transport_listener *listener;
    struct status_page *page;
    struct open_replies open;
    int64_t now_ns;       /* of the catalog: never goes back */
    int64_t published_ns; /* when the status was last made public */
    atomic_bool stopping;
    struct error failure; /* why the loop must end; status OK = it need not */
};

/* --- from other threads ----------------------------------------------------------------------- */

static void on_request(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_REQUEST, .request = *request, .reply = reply};
    if (!mailbox_push(master->mailbox, &mail)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE,
                             "the master is busy or stopping: try again later");
    }
}

/* Answers are short; a peer that went away simply does not get its own. */
static void on_progress(void *context, struct transport_reply *reply)
{
    (void)context;
    (void)reply;
}

static int64_t wall_clock_us(void *context)
{
    (void)context;
    return clock_wall_us();
}

static void on_committed(void *context, const struct committer_result *result)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_COMMITTED, .result = *result};
    bool pushed = mailbox_push_reserved(master->mailbox, &mail);
    ASSERT(pushed || atomic_load(&master->stopping));
}

/* --- performing effects ----------------------------------------------------------------------- */

static void log_answer(const struct master *master,
                       const struct open_reply *open,
                       enum status status,
                       const char *text,
                       int64_t duration_ns)
{
    bool slow = duration_ns / 1000 >= master->settings->slow_us && open->method != METHOD_SYNC;
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

static void perform_reply(struct master *master, struct catalog_effect *effect)
{
    struct open_reply *open = open_replies_take(&master->open, effect->number);
    int64_t duration_ns = clock_monotonic_ns() - open->received_ns;

    master_metrics_request(open->method, effect->status, duration_ns);
    log_answer(master, open, effect->status, effect->text, duration_ns);
    if (effect->status == STATUS_OK && must_wait(open, &effect->message)) {
        buffer_deinit(&effect->message);
        transport_reply_fail(open->reply, STATUS_UNAVAILABLE,
                             "answers that nobody takes hold too much memory; retry");
    } else if (effect->status == STATUS_OK) {
        transport_reply_send(open->reply, &effect->message, true);
    } else {
        transport_reply_fail(open->reply, effect->status, effect->text);
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

static void perform(struct master *master, const struct catalog_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++) {
        struct catalog_effect *effect = &effects->items[i];
        switch (effect->type) {
        case CATALOG_EFFECT_PERSIST:
            committer_start(master->committer, effect->number, effect->puts, effect->put_count);
            break;
        case CATALOG_EFFECT_REPLY:
            perform_reply(master, effect);
            break;
        case CATALOG_EFFECT_LOG:
            perform_note(&effect->note);
            break;
        }
    }
}

static enum status step(struct master *master, struct catalog_event *event)
{
    struct catalog_effects effects;
    int64_t now_ns = clock_monotonic_ns();

    master->now_ns = now_ns > master->now_ns ? now_ns : master->now_ns;
    event->now_ns = master->now_ns;
    event->now_us = clock_wall_us();
    enum status status = catalog_step(master->catalog, event, &effects);
    perform(master, &effects);
    return status;
}

/* --- events ----------------------------------------------------------------------------------- */

/* When the answer must leave us to be there in time: a twentieth of its patience is for the way. */
static int64_t deadline_of(const struct transport_request *request)
{
    int64_t patience_ns = (int64_t)request->head.deadline_ms * 1000000;
    return request->head.deadline_ms == 0 ? 0
                                          : request->received_ns + patience_ns - patience_ns / 20;
}

static void take_request(struct master *master, const struct mail *mail)
{
    struct open_reply *open = open_replies_add(&master->open, &mail->request, mail->reply);
    if (open == NULL) {
        transport_reply_fail(mail->reply, STATUS_RESOURCE_EXHAUSTED, "the master has no memory");
        return;
    }
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = open->number,
        .method = mail->request.method,
        .body = mail->request.body,
        .deadline_ns = deadline_of(&mail->request),
    };
    if (step(master, &event) == STATUS_NO_MEMORY) {
        open = open_replies_take(&master->open, event.number);
        transport_reply_fail(open->reply, STATUS_RESOURCE_EXHAUSTED, "the master has no memory");
        memory_free(open);
    }
}

static void take_committed(struct master *master, const struct committer_result *result)
{
    struct error error = {0};
    struct catalog_event event = {
        .type = CATALOG_EVENT_PERSISTED,
        .number = result->transaction,
        .error = &error,
    };

    master_metrics_commit(result->status, result->duration_ns);
    if (result->status != STATUS_OK) {
        (void)error_set(&error, result->status, "%s", result->text);
        if (!coordinator_is_clean_failure(result->status)) {
            master->failure = error; /* written or not: only a new start can tell */
            return;
        }
        event.type = CATALOG_EVENT_PERSIST_FAILED;
    }
    enum status status = step(master, &event);
    ASSERT(status == STATUS_OK);
}

static void take_mail(struct master *master, const struct mail *mail)
{
    switch (mail->kind) {
    case MAIL_REQUEST:
        take_request(master, mail);
        break;
    case MAIL_COMMITTED:
        take_committed(master, &mail->result);
        break;
    }
}

static void publish(struct master *master)
{
    struct catalog_counts counts;
    struct buffer status = BUFFER_INIT;

    master->published_ns = master->now_ns;
    catalog_counts(master->catalog, &counts);
    master_metrics_catalog(&counts, mailbox_depth(master->mailbox));
    catalog_status_json(master->catalog, &status);
    status_page_publish(master->page, &status);
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum status load_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    return catalog_load(context, key, value, ret_error);
}

static enum status open_catalog(struct master *master, struct error *ret_error)
{
    const struct master_settings *settings = master->settings;
    const struct coordinator_identity identity = {(uint64_t)settings->cluster, entropy_u64()};
    enum status status = daemon_lock_folder(settings->folder, &master->lock, ret_error);

    if (status == STATUS_OK) {
        status = coordinator_open_embedded(settings->folder, &identity, &master->coordinator,
                                           ret_error);
    }
    if (status == STATUS_OK) {
        status = catalog_create(&settings->catalog, &master->catalog);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "no memory for the catalog");
        }
        status = coordinator_load(master->coordinator, load_record, master->catalog, ret_error);
    }
    if (status == STATUS_OK) {
        master->now_ns = clock_monotonic_ns();
        status = catalog_load_end(master->catalog, master->now_ns, ret_error);
    }
    if (status != STATUS_OK && master->coordinator != NULL) {
        return error_prefix(ret_error, "%s/catalog", settings->folder);
    }
    return status;
}

static enum status open_threads(struct master *master, struct error *ret_error)
{
    const struct mailbox_settings mailbox = {sizeof(struct mail), MAILBOX_CAPACITY,
                                             MAILBOX_RESERVED};
    const struct committer_options committer = {master->coordinator, master, on_committed};
    enum status status = mailbox_create(&mailbox, &master->mailbox);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory for the mailbox");
    }
    return committer_open(&committer, &master->committer, ret_error);
}

static enum status open_network(struct master *master, struct error *ret_error)
{
    const struct master_settings *settings = master->settings;
    const struct transport_listener_options listener = {
        .address = settings->address,
        .agent = AGENT,
        .process = (uint64_t)settings->cluster,
        .insecure = settings->insecure,
        .connections_max = (uint32_t)settings->connections_max,
        .requests_max = REQUESTS_PER_PEER,
        .connection_bytes_max = CONNECTION_BYTES_MAX,
        .context = master,
        .on_request = on_request,
        .on_progress = on_progress,
        .now_us = wall_clock_us,
    };
    transport_budget_set(&(struct transport_budget){
        .unfinished_bytes_max = BUDGET_UNFINISHED_BYTES_DEFAULT,
        .queued_bytes_max = settings->answer_bytes_max,
    });
    enum status status = status_page_open(settings->http_address, settings->insecure, &master->page,
                                          ret_error);
    return status == STATUS_OK ? transport_listen(&listener, &master->listener, ret_error) : status;
}

enum status master_open(const struct master_settings *settings,
                        struct master **ret_master,
                        struct error *ret_error)
{
    struct master *master = memory_allocate_zeroed(1, sizeof *master);

    if (master == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the master");
    }
    master->settings = settings;
    master->lock = -1;
    open_replies_init(&master->open);
    master_metrics_init();
    enum status status = open_catalog(master, ret_error);
    if (status == STATUS_OK) {
        status = open_threads(master, ret_error);
    }
    if (status == STATUS_OK) {
        status = open_network(master, ret_error);
    }
    if (status != STATUS_OK) {
        master_close(master);
        return status;
    }
    publish(master);
    *ret_master = master;
    return STATUS_OK;
}

/* "tcp://host:0" was asked for: say which port it became. */
void master_describe(const struct master *master, char *text, size_t text_size)
{
    const char *address = master->settings->address;
    const char *http = master->settings->http_address;
    const char *colon = strrchr(address, ':');
    const char *http_colon = strrchr(http, ':');
    char port[16] = "";

    if (strncmp(address, "tcp", 3) == 0 && colon != NULL) {
        (void)snprintf(port, sizeof port, ":%u", transport_listener_port(master->listener));
    } else {
        colon = address + strlen(address);
    }
    int http_host = http_colon == NULL ? (int)strlen(http) : (int)(http_colon - http);
    (void)snprintf(text, text_size, "address=%.*s%s http=%.*s:%u", (int)(colon - address), address,
                   port, http_host, http, status_page_port(master->page));
}

/* --- the loop --------------------------------------------------------------------------------- */

static int64_t next_deadline_ns(const struct master *master)
{
    int64_t deadline_ns = catalog_deadline_ns(master->catalog);
    int64_t publish_ns = master->published_ns + PUBLISH_NS;
    return deadline_ns < publish_ns ? deadline_ns : publish_ns;
}

enum status master_run(struct master *master, struct error *ret_error)
{
    struct mail mails[MAILS_AT_ONCE];

    while (!atomic_load(&master->stopping) && master->failure.status == STATUS_OK) {
        size_t count = mailbox_take(master->mailbox, mails, MAILS_AT_ONCE,
                                    next_deadline_ns(master));
        for (size_t i = 0; i < count; i++) {
            take_mail(master, &mails[i]);
        }
        if (clock_monotonic_ns() >= catalog_deadline_ns(master->catalog)) {
            struct catalog_event tick = {.type = CATALOG_EVENT_TICK};
            enum status status = step(master, &tick);
            ASSERT(status == STATUS_OK);
        }
        int64_t now_ns = clock_monotonic_ns();
        if (now_ns - master->published_ns >= PUBLISH_NS) {
            master->now_ns = now_ns;
            publish(master);
            transport_listener_drop_stalled(master->listener,
                                            (uint32_t)(master->settings->answer_stall_us / 1000));
        }
    }
    if (master->failure.status != STATUS_OK) {
        *ret_error = master->failure;
    }
    return master->failure.status;
}

void master_stop(struct master *master)
{
    atomic_store(&master->stopping, true);
    mailbox_wake(master->mailbox);
}

/* --- closing ---------------------------------------------------------------------------------- */

static void refuse_all(struct master *master)
{
    static const char text[] = "the master is stopping";
    struct mail mail;

    mailbox_close(master->mailbox);
    while (mailbox_take(master->mailbox, &mail, 1, 0) > 0) {
        if (mail.kind == MAIL_REQUEST) {
            transport_reply_fail(mail.reply, STATUS_UNAVAILABLE, text);
        }
    }
    for (struct open_reply *open = open_replies_take_any(&master->open); open != NULL;
         open = open_replies_take_any(&master->open)) {
        transport_reply_fail(open->reply, STATUS_UNAVAILABLE, text);
        memory_free(open);
    }
}

void master_close(struct master *master)
{
    if (master == NULL) {
        return;
    }
    atomic_store(&master->stopping, true);
    committer_close(master->committer);
    if (master->mailbox != NULL) {
        refuse_all(master);
    }
    if (master->listener != NULL) {
        transport_listener_close(master->listener, CLOSE_GRACE_MS);
    }
    status_page_close(master->page);
    mailbox_destroy(master->mailbox);
    catalog_destroy(master->catalog);
    coordinator_close(master->coordinator);
    open_replies_deinit(&master->open);
    if (master->lock != -1) {
        daemon_unlock_folder(master->lock);
    }
    memory_free(master);
}
