#include "master/shell/master.h"

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_address.h"
#include "common/io/transport/transport_budget.h"
#include "master/shell/master_metrics.h"
#include "master/shell/master_parts.h"

#define MAILBOX_CAPACITY     16384
#define MAILBOX_RESERVED     16
#define MAILS_AT_ONCE        64
#define REQUESTS_PER_PEER    256
#define CONNECTION_BYTES_MAX (UINT64_C(64) << 20)
#define PUBLISH_NS           INT64_C(500000000)
#define CLOSE_GRACE_MS       500
#define AGENT                "edubba-master/" EDUBBA_VERSION

/* --- opening ---------------------------------------------------------------------------------- */

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
        .on_request = mail_on_request,
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
        .owner = {(uint64_t)settings->cluster,
                  master->elector != NULL ? settings->etcd.prefix : ""},
        .heat_bytes_max = settings->heat_bytes_max,
        .context = master,
        .ask = mail_on_question,
        .append_status = append_status,
        .on_events = mail_on_events,
        .events = &master->events,
    };
    enum status status = console_open(&options, &master->console, ret_error);
    master->events_told = master->events.last_change;
    if (master->reign !=
        NULL) { /* also where it failed: the reign's end gives them back, to an empty log */
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
        status = master_begin_reign(master, 0, ret_error);
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
    master_publish(master);
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
        mail_take(master, &mails[i]);
    }
}

enum status master_run(struct master *master, struct error *ret_error)
{
    while (!atomic_load(&master->stopping) && master->failure.status == STATUS_OK) {
        take_mails(master);
        if (master->elector != NULL) {
            master_follow_election(master);
        } else {
            master_follow_reign(master);
        }
        if (master->reign != NULL) {
            reign_tick(master->reign);
        }
        if (clock_monotonic_ns() - master->published_ns >= PUBLISH_NS) {
            master_publish(master);
            master_keep_events(master);
            master_follow_active(master);
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

/* The reign ends before the lead is given up: the next one finds nothing under way. */
void master_close(struct master *master)
{
    if (master == NULL) {
        return;
    }
    atomic_store(&master->stopping, true);
    if (master->console != NULL && master->reign != NULL) {
        master_keep_events(master);
    }
    master_end_reign(master, STOPPING "; it may or may not have been done");
    elector_close(master->elector);
    if (master->mailbox != NULL) {
        mail_refuse_all(master);
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
