#include "master/shell/master_parts.h"

#include <stdio.h>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/wire/writer.h"
#include "master/shell/master_metrics.h"

/* --- from other threads ----------------------------------------------------------------------- */

void mail_on_request(void *context,
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

void mail_on_committed(void *context, uint64_t reign, const struct committer_result *result)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_COMMITTED, .reign = reign, .result = *result};
    bool pushed = mailbox_push_reserved(master->mailbox, &mail);
    ASSERT(pushed || atomic_load(&master->stopping));
}

bool mail_on_question(void *context, struct question *question)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_QUESTION, .question = question};
    return mailbox_push(master->mailbox, &mail);
}

bool mail_on_events(void *context, struct buffer *events)
{
    struct master *master = context;
    struct mail mail = {.kind = MAIL_EVENTS, .events = *events};
    return mailbox_push(master->mailbox, &mail);
}

/* --- requests ----------------------------------------------------------------------------------- */

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

    master_find_active(master, active);
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

    master_find_active(master, active);
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

/* Of the catalog, and of what the catalog does not know: disk, or etcd, that is full. */
static void tell_status(struct master *master, const struct mail *mail)
{
    const struct response_head head = {.status = STATUS_OK};
    struct buffer message = BUFFER_INIT;
    struct buffer json = BUFFER_INIT;
    struct catalog_counts counts;

    master_status_json(master, &counts, &json);
    response_head_encode(&head, &message);
    wire_write_bytes(&message, buffer_bytes(&json));
    message.failed = message.failed || json.failed;
    buffer_deinit(&json);
    if (!master_may_act(master)) { /* looked at after it was made: as it is now, so it was then */
        buffer_deinit(&message);
        redirect(master, mail->reply);
        return;
    }
    master_metrics_request(METHOD_STATUS, message.failed ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK,
                           clock_monotonic_ns() - mail->request.received_ns);
    send(mail->reply, &message);
}

static void take_request(struct master *master, const struct mail *mail)
{
    if (mail->request.method == METHOD_MASTER) {
        describe_role(master, mail->reply);
    } else if (!master_may_act(master)) {
        redirect(master, mail->reply);
    } else if (mail->request.method == METHOD_STATUS) {
        tell_status(master, mail);
    } else if (mail->request.method == METHOD_LIST_HEAT) {
        console_take_heat_request(master->console, &mail->request, mail->reply);
    } else {
        reign_take_request(master->reign, &mail->request, mail->reply);
    }
}

static void take_question(struct master *master, struct question *question)
{
    if (master_may_act(master)) {
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

void mail_take(struct master *master, struct mail *mail)
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

void mail_refuse_all(struct master *master)
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
