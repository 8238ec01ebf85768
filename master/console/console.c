#include <pthread.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/thread.h"
#include "master/console/console_page.h"
#include "master/console/console_state.h"

#define MAILBOX_CAPACITY 1024
#define MAILBOX_RESERVED \
    64 /* answers, which must not be refused: at most QUESTIONS_MAX, and the end */
#define MAILS_AT_ONCE 32
#define PAUSE_NS      INT64_C(500000000)
#define AGE_US        INT64_C(1000000)
#define SAVE_US       INT64_C(60000000)

_Static_assert(QUESTIONS_MAX < MAILBOX_RESERVED, "every answer has its place");

enum mail_kind {
    MAIL_CALL,
    MAIL_LOAD,
    MAIL_ANSWER,
    MAIL_END,
};

struct mail {
    enum mail_kind kind;
    struct http_call *call;
    struct located_report *report;
    struct question *question;
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

static void on_call(void *context, struct http_call *call)
{
    struct console *console = context;
    struct mail mail = {.kind = MAIL_CALL, .call = call};
    if (!mailbox_push(console->mailbox, &mail)) {
        page_refuse(call, 503, "UNAVAILABLE", "the console is busy or stopping: try again later");
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

/* False: the end. */
static bool take_mail(struct console *console, const struct mail *mail)
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
        console->saved_us = now_us;
    }
    sweep_begin(console, now_us);
}

static void *work(void *context)
{
    struct console *console = context;
    bool goes_on = true;

    thread_name_set("console");
    (void)thread_patient_set(true);
    if (console->store != NULL) {
        heat_store_load(console->store, &console->heat);
    }
    while (goes_on) {
        struct mail mails[MAILS_AT_ONCE];
        size_t count = mailbox_take(console->mailbox, mails, MAILS_AT_ONCE,
                                    clock_monotonic_ns() + PAUSE_NS);
        for (size_t i = 0; i < count; i++) {
            goes_on = take_mail(console, &mails[i]) && goes_on;
        }
        if (goes_on) {
            do_what_is_due(console);
        }
    }
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
    console->store = heat_store_open(console->options.folder);
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
        located_report_destroy(mail.report);
    }
    heat_store_close(console->store);
    console->store = NULL; /* what is let go of now stays in the file */
    heat_live_deinit(&console->live);
    heat_map_deinit(&console->heat);
    sweep_deinit(&console->sweep);
    mailbox_destroy(console->mailbox);
    memory_free(thread);
}
