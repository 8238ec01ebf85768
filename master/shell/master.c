#include "master/shell/master.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/mailbox.h"
#include "common/io/transport/transport.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_budget.h"
#include "master/console/console.h"
#include "master/shell/elector.h"
#include "master/shell/master_metrics.h"
#include "master/shell/reign.h"
#include "master/shell/status_page.h"

#define MAILBOX_CAPACITY     16384
#define MAILBOX_RESERVED     16
#define MAILS_AT_ONCE        64
#define REQUESTS_PER_PEER    256
#define CONNECTION_BYTES_MAX (UINT64_C(64) << 20)
#define PUBLISH_NS           INT64_C(500000000)
#define CLOSE_GRACE_MS       500
#define ADDRESS_BYTES_MAX    256
#define EVENTS_ARENA_BYTES   ((size_t)65536)
#define EVENTS_ARENA_MAX     ((size_t)64 << 20)
#define STOPPING             "the master is stopping"
#define AGENT                "edubba-master/" EDUBBA_VERSION

enum mail_kind {
    MAIL_REQUEST,
    MAIL_COMMITTED,
    MAIL_QUESTION,
    MAIL_EVENTS,
};

struct mail {
    enum mail_kind kind;
    struct transport_request request; /* its body belongs to the reply */
    struct transport_reply *reply;
    uint64_t reign; /* COMMITTED: in which */
    struct committer_result result;
    struct question *question; /* QUESTION: the console's */
    struct buffer events;      /* EVENTS: of the active master; the mail's */
};

struct master {
    const struct master_settings *settings;
    struct mailbox *mailbox;
    struct transport_listener *listener;
    struct status_page *page;
    struct console *console;
    char address[ADDRESS_BYTES_MAX];      /* what others are told; "" = nothing */
    struct elector *elector;              /* NULL = the embedded coordinator */
    struct reign *reign;                  /* NULL = standing by */
    uint64_t given_up;                    /* a reign that we could not lead in */
    struct event_log events;              /* standing by; else the reign has them */
    uint64_t events_told;                 /* the last change that the console was given to keep */
    char followed[ETCD_LEADER_BYTES_MAX]; /* whom the console follows; "" = nobody */
    int64_t published_ns;                 /* when the status was last made public */
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

static void on_committed(void *context, uint64_t reign, const struct committer_result *result)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_COMMITTED, .reign = reign, .result = *result};
    bool pushed = mailbox_push_reserved(master->mailbox, &mail);
    ASSERT(pushed || atomic_load(&master->stopping));
}

static bool on_question(void *context, struct question *question)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_QUESTION, .question = question};
    return mailbox_push(master->mailbox, &mail);
}

static bool on_events(void *context, struct buffer *events)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_EVENTS, .events = *events};
    return mailbox_push(master->mailbox, &mail);
}

static void append_status(void *context, struct buffer *out)
{
    const struct master *master = context;
    status_page_append(master->page, out);
}

static void on_election(void *context)
{
    struct master *master = context;
    mailbox_wake(master->mailbox);
}

/* From the loop.  Of a reign that begins, the console may not be there yet. */
static void on_load(void *context, struct located_report *load)
{
    struct master *master = context;
    if (master->console == NULL) {
        located_report_destroy(load);
    } else {
        console_take_load(master->console, load);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

/* Where the active master is, as far as we know; text has ETCD_LEADER_BYTES_MAX. */
static void find_active(const struct master *master, char *text)
{
    text[0] = '\0';
    if (master->elector == NULL) {
        (void)snprintf(text, ETCD_LEADER_BYTES_MAX, "%s", master->address);
    } else if (master->reign == NULL) {
        elector_leader(master->elector, text);
    }
}

static void send(struct transport_reply *reply, struct buffer *message)
{
    if (message->failed) {
        buffer_deinit(message);
        transport_reply_fail(reply, STATUS_RESOURCE_EXHAUSTED, "the master has no memory");
        return;
    }
    transport_reply_send(reply, message, true);
}

/* Not ours to answer: say whose it is. */
static void redirect(const struct master *master, struct transport_reply *reply)
{
    char active[ETCD_LEADER_BYTES_MAX];
    char text[ETCD_LEADER_BYTES_MAX + 64];
    struct buffer message = BUFFER_INIT;

    find_active(master, active);
    (void)snprintf(text, sizeof text, "this master stands by; the active one is %s%s",
                   active[0] == '\0' ? "not known yet" : "at ", active);
    const struct response_head head = {STATUS_UNAVAILABLE, bytes_of_text(text)};
    const struct standby_response standby = {bytes_of_text(active)};
    response_head_encode(&head, &message);
    standby_response_encode(&standby, &message);
    send(reply, &message);
}

static void describe_role(const struct master *master, struct transport_reply *reply)
{
    char active[ETCD_LEADER_BYTES_MAX];
    struct buffer message = BUFFER_INIT;
    const struct response_head head = {.status = STATUS_OK};
    struct master_response role = {
        .cluster = (uint64_t)master->settings->cluster,
        .state = MASTER_STANDBY,
    };

    find_active(master, active);
    role.active = bytes_of_text(active);
    if (master->reign != NULL) {
        role.reign = reign_number(master->reign);
        role.state = reign_may_act(master->reign) ? MASTER_ACTIVE : MASTER_IN_DOUBT;
        role.active = role.state == MASTER_ACTIVE ? bytes_of_text(master->address) : BYTES_EMPTY;
    }
    response_head_encode(&head, &message);
    master_response_encode(&role, &message);
    send(reply, &message);
}

static bool may_act(const struct master *master)
{
    return master->reign != NULL && reign_may_act(master->reign);
}

static void take_request(struct master *master, const struct mail *mail)
{
    if (mail->request.method == METHOD_MASTER) {
        describe_role(master, mail->reply);
    } else if (mail->request.method == METHOD_LIST_HEAT && may_act(master)) {
        console_take_heat_request(master->console, &mail->request, mail->reply);
    } else if (may_act(master)) {
        reign_take_request(master->reign, &mail->request, mail->reply);
    } else {
        redirect(master, mail->reply);
    }
}

static void take_question(struct master *master, struct question *question)
{
    if (may_act(master)) {
        reign_take_question(master->reign, question);
    } else {
        question_fail(question, STATUS_UNAVAILABLE, "this master is not the active one");
    }
}

/* The active one's. */
static void take_events(struct master *master, struct buffer *events)
{
    struct list_events_response response = {0};
    struct error error = {0};
    struct arena arena;

    arena_init(&arena, EVENTS_ARENA_BYTES, EVENTS_ARENA_MAX);
    if (master->reign == NULL &&
        list_events_response_decode(buffer_bytes(events), &arena, &response, &error) == STATUS_OK) {
        for (size_t i = 0; i < response.event_count; i++) {
            (void)event_log_take(&master->events, &response.events[i]);
        }
    }
    arena_deinit(&arena);
    buffer_deinit(events);
}

static void take_mail(struct master *master, struct mail *mail)
{
    switch (mail->kind) {
    case MAIL_REQUEST:
        take_request(master, mail);
        break;
    case MAIL_COMMITTED:
        /* One of a reign that is over belongs to a catalog that is gone. */
        if (master->reign != NULL && reign_number(master->reign) == mail->reign) {
            reign_take_committed(master->reign, &mail->result);
        }
        break;
    case MAIL_QUESTION:
        take_question(master, mail->question);
        break;
    case MAIL_EVENTS:
        take_events(master, &mail->events);
        break;
    }
}

static void publish(struct master *master)
{
    struct buffer status = BUFFER_INIT;
    struct catalog_counts counts;
    char active[ETCD_LEADER_BYTES_MAX];

    master->published_ns = clock_monotonic_ns();
    if (master->reign != NULL) {
        reign_describe(master->reign, &counts, &status);
    } else {
        find_active(master, active);
        buffer_append_format(&status,
                             "{\"role\":\"standby\",\"cluster\":\"%lld\",\"active\":\"%s\"}",
                             (long long)master->settings->cluster, active);
    }
    master_metrics_state(may_act(master) ? &counts : NULL, mailbox_depth(master->mailbox));
    status_page_publish(master->page, &status);
}

/* --- what the console keeps ------------------------------------------------------------------- */

/* The next page of those that are new.  False: there is none, or the console takes nothing now. */
static bool keep_page(struct master *master, const struct event_log *log, struct arena *arena)
{
    const struct list_events_request request = {.after = master->events_told};
    struct list_events_response response = {0};
    struct buffer events = BUFFER_INIT;

    if (log->last_change <= master->events_told ||
        event_log_list(log, &request, arena, &response) != STATUS_OK) {
        return false;
    }
    if (response.event_count == 0) { /* changes are counted from the time on when a reign begins */
        master->events_told = log->last_change;
        return false;
    }
    list_events_response_encode(&response, &events);
    if (events.failed || !console_take_events(master->console, &events)) {
        buffer_deinit(&events);
        return false;
    }
    master->events_told = response.events[response.event_count - 1].change;
    return true;
}

static void keep_events(struct master *master)
{
    const struct event_log *log = master->reign == NULL ? &master->events
                                                        : reign_events(master->reign);
    struct arena arena;
    arena_init(&arena, EVENTS_ARENA_BYTES, EVENTS_ARENA_MAX);
    while (keep_page(master, log, &arena)) {
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

/* Standing by: what the active one shows. */
static void follow_active(struct master *master)
{
    char active[ETCD_LEADER_BYTES_MAX] = "";

    if (master->elector != NULL && master->reign == NULL) {
        find_active(master, active);
    }
    if (strcmp(active, master->address) == 0) {
        active[0] = '\0'; /* of a life before */
    }
    if (strcmp(active, master->followed) != 0 && console_follow(master->console, active)) {
        (void)snprintf(master->followed, sizeof master->followed, "%s", active);
    }
}

/* --- reigns ----------------------------------------------------------------------------------- */

static enum status begin_reign(struct master *master, uint64_t number, struct error *ret_error)
{
    const struct reign_options options = {
        .settings = master->settings,
        .elector = master->elector,
        .number = number,
        .stopping = &master->stopping,
        .context = master,
        .on_committed = on_committed,
        .on_load = on_load,
    };
    master->published_ns = 0; /* soon: it has another role now */
    return reign_open(&options, &master->reign, ret_error);
}

static void end_reign(struct master *master, const char *text)
{
    if (master->reign != NULL) {
        reign_give_events(master->reign, &master->events);
    }
    reign_close(master->reign, text);
    master->reign = NULL;
    master->published_ns = 0;
}

/* A catalog that another try will not make readable ends the process: a person has to look. */
static bool is_final(enum status status)
{
    return status == STATUS_VERSION || status == STATUS_FAILED_PRECONDITION ||
           status == STATUS_CORRUPT || status == STATUS_INVALID_ARGUMENT;
}

static void give_up(struct master *master, uint64_t number)
{
    master->given_up = number;
    elector_resign(master->elector, number);
}

static void try_reign(struct master *master, uint64_t number)
{
    struct error error = {.status = STATUS_OK};
    int64_t begun_ns = clock_monotonic_ns();
    enum status status = begin_reign(master, number, &error);

    if (status == STATUS_OK) {
        reign_take_events(master->reign, &master->events);
        LOG_EVENT(LOG_LEVEL_INFO, "active", LOG_ID("reign", number),
                  LOG_I64("load_us", (clock_monotonic_ns() - begun_ns) / 1000));
        return;
    }
    LOG_EVENT(LOG_LEVEL_WARN, "reign_failed", LOG_ID("reign", number),
              LOG_TEXT("error", error.text));
    give_up(master, number);
    if (is_final(status)) {
        master->failure = error;
    }
}

/* Be what the election says: active in its reign, or standing by. */
static void follow_election(struct master *master)
{
    uint64_t wanted = elector_reign(master->elector);
    uint64_t number = master->reign == NULL ? 0 : reign_number(master->reign);

    if (master->reign != NULL && reign_failure(master->reign)->status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "reign_failed", LOG_ID("reign", number),
                  LOG_TEXT("error", reign_failure(master->reign)->text));
        end_reign(master, "the catalog could not be written; it may or may not have been done");
        give_up(master, number);
    } else if (master->reign != NULL && wanted != number) {
        end_reign(master, "this master is not the active one any more; it may or may not have been "
                          "done");
    }
    if (master->reign == NULL && wanted != 0 && wanted != master->given_up) {
        try_reign(master, wanted);
    }
}

/* The embedded coordinator's only reign: without it there is no master. */
static void follow_reign(struct master *master)
{
    const struct error *failure = reign_failure(master->reign);
    if (failure->status != STATUS_OK) {
        master->failure = *failure;
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

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

/* What others are told: the port that was really bound; nothing where nobody elsewhere could dial
 * it, or they would take themselves for the master (on etcd settings_check() refuses that). */
static void settle_address(struct master *master)
{
    const struct master_settings *settings = master->settings;
    const char *colon = strrchr(settings->address, ':');

    if (settings->advertise[0] != '\0') {
        (void)snprintf(master->address, sizeof master->address, "%s", settings->advertise);
    } else if (transport_address_is_any(settings->address)) {
        master->address[0] = '\0';
    } else if (strncmp(settings->address, "tcp", 3) == 0 && colon != NULL) {
        (void)snprintf(master->address, sizeof master->address, "%.*s:%u",
                       (int)(colon - settings->address), settings->address,
                       transport_listener_port(master->listener));
    } else {
        (void)snprintf(master->address, sizeof master->address, "%s", settings->address);
    }
}

static enum status open_elector(struct master *master, struct error *ret_error)
{
    const struct elector_options options = {
        .settings = &master->settings->etcd,
        .cluster = (uint64_t)master->settings->cluster,
        .address = master->address,
        .context = master,
        .on_change = on_election,
    };
    return elector_open(&options, &master->elector, ret_error);
}

static enum status open_console(struct master *master, struct error *ret_error)
{
    const struct master_settings *settings = master->settings;
    const struct console_options options = {
        .server = status_page_server(master->page),
        .folder = settings->folder,
        .heat_bytes_max = settings->heat_bytes_max,
        .context = master,
        .ask = on_question,
        .append_status = append_status,
        .on_events = on_events,
        .events = &master->events,
    };
    enum status status = console_open(&options, &master->console, ret_error);
    master->events_told = master->events.last_change;
    if (status == STATUS_OK && master->reign != NULL) {
        reign_take_events(master->reign, &master->events);
    }
    return status;
}

static enum status open_parts(struct master *master, struct error *ret_error)
{
    const struct mailbox_settings mailbox = {sizeof(struct mail), MAILBOX_CAPACITY,
                                             MAILBOX_RESERVED};
    bool on_etcd = master->settings->on_etcd;
    enum status status = mailbox_create(&mailbox, &master->mailbox);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory for the mailbox");
    }
    if (!on_etcd) {
        status = begin_reign(master, 0, ret_error);
    }
    if (status == STATUS_OK) {
        status = open_network(master, ret_error);
    }
    if (status == STATUS_OK) {
        status = open_console(master, ret_error);
    }
    if (status == STATUS_OK) {
        settle_address(master);
        status = on_etcd ? open_elector(master, ret_error) : STATUS_OK;
    }
    return status;
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
    event_log_init(&master->events);
    master_metrics_init();
    enum status status = open_parts(master, ret_error);
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
    int64_t publish_ns = master->published_ns + PUBLISH_NS;
    int64_t deadline_ns = master->reign == NULL ? publish_ns : reign_deadline_ns(master->reign);
    return deadline_ns < publish_ns ? deadline_ns : publish_ns;
}

static void take_mails(struct master *master)
{
    struct mail mails[MAILS_AT_ONCE];
    size_t count = mailbox_take(master->mailbox, mails, MAILS_AT_ONCE, next_deadline_ns(master));

    for (size_t i = 0; i < count; i++) {
        take_mail(master, &mails[i]);
    }
}

enum status master_run(struct master *master, struct error *ret_error)
{
    while (!atomic_load(&master->stopping) && master->failure.status == STATUS_OK) {
        take_mails(master);
        if (master->elector != NULL) {
            follow_election(master);
        } else {
            follow_reign(master);
        }
        if (master->reign != NULL) {
            reign_tick(master->reign);
        }
        if (clock_monotonic_ns() - master->published_ns >= PUBLISH_NS) {
            publish(master);
            keep_events(master);
            follow_active(master);
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

static void refuse_mails(struct master *master)
{
    struct mail mail;

    mailbox_close(master->mailbox);
    while (mailbox_take(master->mailbox, &mail, 1, 0) > 0) {
        if (mail.kind == MAIL_REQUEST) {
            transport_reply_fail(mail.reply, STATUS_UNAVAILABLE, STOPPING);
        } else if (mail.kind == MAIL_QUESTION) {
            question_fail(mail.question, STATUS_UNAVAILABLE, STOPPING);
        }
        buffer_deinit(&mail.events);
    }
}

/* The reign ends before the lead is given up: the next one finds nothing under way. */
void master_close(struct master *master)
{
    if (master == NULL) {
        return;
    }
    atomic_store(&master->stopping, true);
    if (master->console != NULL && master->reign != NULL) {
        keep_events(master);
    }
    end_reign(master, STOPPING);
    elector_close(master->elector);
    if (master->mailbox != NULL) {
        refuse_mails(master);
    }
    if (master->listener != NULL) {
        transport_listener_close(master->listener, CLOSE_GRACE_MS);
    }
    status_page_close(master->page); /* it waits for calls that the console answers */
    console_close(master->console);
    mailbox_destroy(master->mailbox);
    event_log_deinit(&master->events);
    memory_free(master);
}
