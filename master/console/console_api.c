/* Calls of the API: taken apart, answered at once, or put to the catalog and answered then. */
#include "master/console/console_api.h"

#include <string.h>

#include "common/base/memory.h"
#include "master/console/console_page.h"

/* A path: one of the two is there. */
struct path {
    const char *path;
    enum status (*answer)(struct console *console,
                          const struct query *query,
                          struct buffer *out,
                          struct error *ret_error);
    enum status (*ask)(struct console *console,
                       const struct query *query,
                       struct api_wait *wait,
                       struct error *ret_error);
};

static enum status api_cluster(struct console *console,
                               const struct query *query,
                               struct buffer *out,
                               struct error *ret_error)
{
    const char *const known[] = {NULL};
    enum status status = query_check(query, known, ret_error);
    if (status == STATUS_OK) {
        console->options.append_status(console->options.context, out);
        buffer_append_u8(out, '\n');
    }
    return status;
}

static const struct path paths[] = {
    {"/api/v1/cluster", api_cluster, NULL},
    {"/api/v1/load", api_load, NULL},
    {"/api/v1/heat", api_heat, NULL},
    {"/api/v1/tablets", NULL, api_ask_tablets},
    {"/api/v1/hot_tablets", NULL, api_ask_hot_tablets},
    {"/api/v1/advice", NULL, api_ask_advice},
    {"/api/v1/events", NULL, api_ask_events},
};

#define PATHS (sizeof paths / sizeof *paths)

/* --- answering ---------------------------------------------------------------------------------- */

static uint16_t code_of(enum status status)
{
    switch ((int)status) {
    case STATUS_INVALID_ARGUMENT:
        return 400;
    case STATUS_NOT_FOUND:
        return 404;
    case STATUS_UNAVAILABLE:
    case STATUS_NO_MEMORY:
    case STATUS_RESOURCE_EXHAUSTED:
        return 503;
    case STATUS_DEADLINE_EXCEEDED:
        return 504;
    default:
        return 500;
    }
}

static void refuse(struct http_call *call, enum status status, const char *text)
{
    page_refuse(call, code_of(status), status_name(status), text);
}

static void answer(struct http_call *call,
                   enum status status,
                   struct buffer *body,
                   const struct error *error)
{
    if (status == STATUS_OK && !body->failed) {
        page_answer(call, 200, body);
        return;
    }
    buffer_deinit(body);
    refuse(call, status == STATUS_OK ? STATUS_NO_MEMORY : status,
           status == STATUS_OK ? "the answer is too large for the memory there is" : error->text);
}

static void wait_destroy(struct api_wait *wait)
{
    buffer_deinit(&wait->question.body);
    buffer_deinit(&wait->question.message);
    memory_free(wait);
}

static void put_question(struct console *console,
                         const struct path *path,
                         const struct query *query,
                         struct http_call *call)
{
    struct error error = {0};
    struct api_wait *wait = memory_allocate_zeroed(1, sizeof *wait);

    if (wait == NULL) {
        refuse(call, STATUS_NO_MEMORY, "no memory");
        return;
    }
    wait->call = call;
    wait->question.context = console;
    wait->question.answered = console_on_answer;
    enum status status = path->ask(console, query, wait, &error);
    if (status == STATUS_OK && wait->question.body.failed) {
        status = error_set(&error, STATUS_NO_MEMORY, "no memory");
    }
    if (status == STATUS_OK && !console_ask(console, &wait->question)) {
        status = error_set(&error, STATUS_UNAVAILABLE, "too many ask at once: try again");
    }
    if (status != STATUS_OK) {
        refuse(call, status, error.text);
        wait_destroy(wait);
    }
}

void api_take_call(struct console *console, struct http_call *call)
{
    if (!http_call_is_awaited(call)) { /* others wait behind it, perhaps for minutes */
        refuse(call, STATUS_UNAVAILABLE, "nobody waits for this answer");
        return;
    }
    struct query query;
    struct error error = {0};
    enum status status = query_parse(http_call_uri(call), &query, &error);

    if (status != STATUS_OK) {
        refuse(call, status, error.text);
        return;
    }
    const struct path *path = paths;
    while (path < paths + PATHS && strcmp(path->path, query.path) != 0) {
        path++;
    }
    if (path == paths + PATHS) {
        refuse(call, STATUS_NOT_FOUND, "there is no such path");
    } else if (path->ask != NULL) {
        put_question(console, path, &query, call);
    } else {
        struct buffer body = BUFFER_INIT;
        status = path->answer(console, &query, &body, &error);
        answer(call, status, &body, &error);
    }
    query_deinit(&query);
}

void api_take_answer(struct console *console, struct question *question)
{
    struct api_wait *wait = (struct api_wait *)(void *)question; /* its first member */
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct buffer out = BUFFER_INIT;
    struct error error = {0};
    enum status status = question->status;

    (void)console;
    if (status != STATUS_OK) {
        (void)error_set(&error, status, "%s", question->text);
    } else {
        status = response_head_decode(buffer_bytes(&question->message), &head, &body, &error);
    }
    if (status == STATUS_OK) {
        status = wait->tell(body, &out, &error);
    }
    answer(wait->call, status, &out, &error);
    wait_destroy(wait);
}
