#include <pthread.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/thread.h"
#include "master/console/console_page.h"
#include "master/console/console_state.h"
#include "master/heat/heat_following.h"

#define MAILBOX_CAPACITY 1024
#define MAILBOX_RESERVED \
    64 /* answers, which must not be refused: at most QUESTIONS_MAX, and the end */
#define MAILS_AT_ONCE 32
#define PAUSE_NS      INT64_C(500000000)
#define AGE_US        INT64_C(1000000)
#define SAVE_US       INT64_C(60000000)
#define ARENA_BYTES   ((size_t)65536)
#define ARENA_MAX     ((size_t)64 << 20)
#define NOT_OPENED    "its file could not be opened when it started, as its log says"
#define BUSY          "the console is busy or stopping: try again later"
#define STUCK_NS      INT64_C(10000000000)
#define STUCK         "the disk does not answer"
#define STUCK_TEXT    "the console waits for the disk of the master's folder, which does not answer"

_Static_assert(QUESTIONS_MAX < MAILBOX_RESERVED, "every answer has its place");

enum mail_kind {
    MAIL_CALL,
    MAIL_LOAD,
    MAIL_ANSWER,
    MAIL_EVENTS,
    MAIL_HEAT_REQUEST,
    MAIL_LEADER,
    MAIL_FOLLOWED,
    MAIL_END,
};

struct mail {
    enum mail_kind kind;
    struct http_call *call;
    struct located_report *report;
    struct question *question;
    struct transport_reply *reply; /* HEAT_REQUEST: has the body */
    struct bytes body;
    uint64_t request;     /* FOLLOWED: what is answered */
    struct buffer buffer; /* EVENTS, LEADER, FOLLOWED: the mail's */
};

/* The console, and the thread that owns it. */
struct console_thread {
    struct console console; /* first: others know the console only */
    pthread_t thread;
    bool started;
    struct page page;
};

static struct console_thread *thread_of(struct console *console)
{
    return (struct console_thread *)(void *)console;
}

/* --- from other threads ------------------------------------------------------------------------- */

/* Its files are written by the thread that answers. */
static bool is_stuck(const struct console *console)
{
    int64_t round_ns = atomic_load(&console->round_ns);
    return round_ns != 0 && clock_monotonic_ns() - round_ns > STUCK_NS;
}

static void on_call(void *context, struct http_call *call)
{
    struct console *console = context;
    struct mail mail = {.kind = MAIL_CALL, .call = call};
    if (is_stuck(console)) {
        page_refuse(call, 503, "UNAVAILABLE", STUCK_TEXT);
    } else if (!mailbox_push(console->mailbox, &mail)) {
        page_refuse(call, 503, "UNAVAILABLE", BUSY);
    }
}

void console_take_load(struct console *console, struct located_report *report)
{
    struct mail mail = {.kind = MAIL_LOAD, .report = report};
    if (!mailbox_push(console->mailbox, &mail)) {
        located_report_destroy(report);
    }
}

void console_on_answer(struct question *question)
{
    struct console *console = question->context;
    struct mail mail = {.kind = MAIL_ANSWER, .question = question};
    (void)mailbox_push_reserved(console->mailbox, &mail); /* it has its place */
}

bool console_take_events(struct console *console, struct buffer *events)
{
    struct mail mail = {.kind = MAIL_EVENTS, .buffer = *events};
    return mailbox_push(console->mailbox, &mail);
}

void console_take_heat_request(struct console *console,
                               const struct transport_request *request,
                               struct transport_reply *reply)
{
    struct mail mail = {.kind = MAIL_HEAT_REQUEST, .reply = reply, .body = request->body};
    if (!mailbox_push(console->mailbox, &mail)) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, BUSY);
    }
}

bool console_follow(struct console *console, const char *address)
{
    struct mail mail = {.kind = MAIL_LEADER};
    if (address[0] != '\0') {
        buffer_append(&mail.buffer, address, strlen(address) + 1);
    }
    if (mail.buffer.failed || !mailbox_push(console->mailbox, &mail)) {
        buffer_deinit(&mail.buffer);
        return false;
    }
    return true;
}

bool console_push_followed(struct console *console, uint64_t request, struct buffer *message)
{
    struct mail mail = {.kind = MAIL_FOLLOWED, .request = request, .buffer = *message};
    return mailbox_push(console->mailbox, &mail);
}

void console_look(const struct console *console, struct console_keeping *ret_keeping)
{
    bool stuck = is_stuck(console);
    ret_keeping->heat = stuck ? STUCK : atomic_load(&console->heat_trouble);
    ret_keeping->events = stuck ? STUCK : atomic_load(&console->event_trouble);
}

bool console_lost_events(struct console *console)
{
    return atomic_exchange(&console->lost_events, false);
}

/* --- the thread --------------------------------------------------------------------------------- */

bool console_ask(struct console *console, struct question *question)
{
    if (console->questions == QUESTIONS_MAX) {
        return false;
    }
    console->questions += 1; /* before it is out: the answer may come at once */
    bool asked = console->options.ask(console->options.context, question);
    console->questions -= !asked;
    return asked;
}

static void take_report(struct console *console, struct located_report *report)
{
    int64_t now_us = clock_wall_us();
    heat_map_take(&console->heat, report, now_us);
    heat_live_take(&console->live, report, now_us);
    located_report_destroy(report);
}

static void take_answer(struct console *console, struct question *question)
{
    console->questions -= 1;
    if (question == &console->sweep.question) {
        sweep_take_answer(console);
    } else {
        api_take_answer(console, question);
    }
}

static void take_events(struct console *console, struct buffer *events)
{
    struct list_events_response response = {0};
    struct error error = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    if (console->event_store != NULL &&
        list_events_response_decode(buffer_bytes(events), &arena, &response, &error) == STATUS_OK) {
        bool kept = event_store_save(console->event_store, response.events, response.event_count);
        if (!kept) {
            atomic_store(&console->lost_events, true);
        }
        atomic_store(&console->event_trouble, event_store_trouble(console->event_store));
    }
    arena_deinit(&arena);
    buffer_deinit(events);
}

static enum status tell_heat(struct console *console,
                             struct bytes body,
                             struct buffer *out,
                             struct error *ret_error)
{
    const struct response_head head = {.status = STATUS_OK};
    struct list_heat_request request = {0};
    struct list_heat_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    enum status status = list_heat_request_decode(body, &arena, &request, ret_error);
    if (status == STATUS_OK) {
        status = heat_map_list(&console->heat, &request, &arena, &response);
    }
    if (status == STATUS_OK) {
        response_head_encode(&head, out);
        list_heat_response_encode(&response, out);
    }
    arena_deinit(&arena);
    return status == STATUS_OK && out->failed ? STATUS_NO_MEMORY : status;
}

static void take_heat_request(struct console *console,
                              struct transport_reply *reply,
                              struct bytes body)
{
    struct error error = {0};
    struct buffer message = BUFFER_INIT;
    enum status status = tell_heat(console, body, &message, &error);

    if (status == STATUS_OK && transport_reply_must_wait(reply, message.size_bytes)) {
        status = error_set(&error, STATUS_UNAVAILABLE,
                           "answers that nobody takes hold too much memory; retry");
    } else if (status == STATUS_NO_MEMORY) {
        status = error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
    }
    if (status != STATUS_OK) {
        buffer_deinit(&message);
        transport_reply_fail(reply, status, error.text);
        return;
    }
    transport_reply_send(reply, &message, true);
}

/* False: the end. */
static bool take_mail(struct console *console, struct mail *mail)
{
    switch (mail->kind) {
    case MAIL_CALL:
        api_take_call(console, mail->call);
        break;
    case MAIL_LOAD:
        take_report(console, mail->report);
        break;
    case MAIL_ANSWER:
        take_answer(console, mail->question);
        break;
    case MAIL_EVENTS:
        take_events(console, &mail->buffer);
        break;
    case MAIL_HEAT_REQUEST:
        take_heat_request(console, mail->reply, mail->body);
        break;
    case MAIL_LEADER:
        follow_begin(console, &mail->buffer);
        break;
    case MAIL_FOLLOWED:
        follow_take(console, mail->request, &mail->buffer);
        break;
    case MAIL_END:
        return false;
    }
    return true;
}

/* However the clock was set meanwhile. */
static bool is_due(int64_t last_us, int64_t pause_us, int64_t now_us)
{
    return now_us < last_us || now_us - last_us >= pause_us;
}

static void do_what_is_due(struct console *console)
{
    int64_t now_us = clock_wall_us();

    if (is_due(console->aged_us, AGE_US, now_us)) {
        heat_map_age(&console->heat, now_us, false);
        heat_live_age(&console->live, now_us);
        console->aged_us = now_us;
    }
    if (console->store != NULL && is_due(console->saved_us, SAVE_US, now_us)) {
        heat_store_save(console->store, &console->heat);
        atomic_store(&console->heat_trouble, heat_store_trouble(console->store));
        console->saved_us = now_us;
    }
    sweep_begin(console, now_us);
    follow_tick(console);
}

static void *work(void *context)
{
    struct console *console = context;
    bool goes_on = true;

    thread_name_set("console");
    (void)thread_patient_set(true);
    heat_map_age(&console->heat, clock_wall_us(), false); /* what comes in first counts from now */
    if (console->store != NULL) {
        heat_store_load(console->store, &console->heat);
    }
    while (goes_on) {
        struct mail mails[MAILS_AT_ONCE];
        atomic_store(&console->round_ns, clock_monotonic_ns());
        size_t count = mailbox_take(console->mailbox, mails, MAILS_AT_ONCE,
                                    clock_monotonic_ns() + PAUSE_NS);
        for (size_t i = 0; i < count; i++) {
            goes_on = take_mail(console, &mails[i]) && goes_on;
        }
        if (goes_on) {
            do_what_is_due(console);
        }
    }
    atomic_store(&console->round_ns, 0);
    follow_end(console);
    heat_map_age(&console->heat, clock_wall_us(), true);
    if (console->store != NULL) {
        heat_store_save(console->store, &console->heat);
    }
    return NULL;
}

/* --- life --------------------------------------------------------------------------------------- */

static void on_gone(void *context, const struct heat_table *table, size_t layer, int64_t start_us)
{
    struct console *console = context;
    if (console->store != NULL) {
        heat_store_gone(console->store, table->number, layer, start_us);
    }
}

static enum status start(struct console_thread *thread, struct error *ret_error)
{
    struct console *console = &thread->console;
    const struct mailbox_settings mailbox = {sizeof(struct mail), MAILBOX_CAPACITY,
                                             MAILBOX_RESERVED};
    enum status status = mailbox_create(&mailbox, &console->mailbox);

    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory for the console");
    }
    console->store = heat_store_open(console->options.folder, &console->options.owner);
    console->event_store = event_store_open(console->options.folder, &console->options.owner);
    if (console->event_store != NULL) {
        event_store_load(console->event_store, console->options.events);
    }
    atomic_store(&console->heat_trouble, console->store == NULL ? NOT_OPENED : NULL);
    atomic_store(&console->event_trouble, console->event_store == NULL ? NOT_OPENED : NULL);
    console->saved_us = clock_wall_us();
    int result = pthread_create(&thread->thread, NULL, work, console);
    if (result != 0) {
        return error_set(ret_error, STATUS_IO, "cannot start the console: %s", strerror(result));
    }
    thread->started = true;
    thread->page = (struct page){on_call, console};
    return page_serve(&thread->page, console->options.server, ret_error);
}

enum status console_open(const struct console_options *options,
                         struct console **ret_console,
                         struct error *ret_error)
{
    struct console_thread *thread = memory_allocate_zeroed(1, sizeof *thread);

    if (thread == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the console");
    }
    struct console *console = &thread->console;
    const struct heat_gone_to gone = {on_gone, console};
    console->options = *options;
    heat_map_init(&console->heat, options->heat_bytes_max, &gone);
    heat_live_init(&console->live);
    /* Set before anything can fail: what is given back is this, and the HTTP server may have routes of it
     * until it is closed. */
    *ret_console = console;
    return start(thread, ret_error);
}

/* What came behind the end. */
static void refuse_mail(struct mail *mail)
{
    located_report_destroy(mail->report);
    buffer_deinit(&mail->buffer);
    if (mail->reply != NULL) {
        transport_reply_fail(mail->reply, STATUS_UNAVAILABLE, BUSY);
    }
}

void console_close(struct console *console)
{
    if (console == NULL) {
        return;
    }
    struct console_thread *thread = thread_of(console);
    if (thread->started) {
        struct mail mail = {.kind = MAIL_END};
        (void)mailbox_push_reserved(console->mailbox, &mail);
        (void)pthread_join(thread->thread, NULL);
    }
    struct mail mail;
    if (console->mailbox != NULL) {
        mailbox_close(console->mailbox);
    }
    while (console->mailbox != NULL && mailbox_take(console->mailbox, &mail, 1, 0) > 0) {
        refuse_mail(&mail);
    }
    event_store_close(console->event_store);
    heat_store_close(console->store);
    console->store = NULL; /* what is let go of now stays in the file */
    heat_live_deinit(&console->live);
    heat_map_deinit(&console->heat);
    sweep_deinit(&console->sweep);
    mailbox_destroy(console->mailbox);
    memory_free(thread);
}
