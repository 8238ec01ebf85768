/* The console over HTTP: what is answered at once, what is put to the catalog, who is refused, how it ends. */
#include "tests/support/transport_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "master/console/console.h"
#include "master/console/console_query.h"
#include "tests/support/skip.h"
#include "tests/support/test_folder.h"
#include "tests/support/wait_for.h"

static char folder[256];
static char answer[1 << 16];
static struct http_server *server;
static struct console *console;
static _Atomic(struct question *) waiting; /* a LOCATE that nobody has answered yet */
static atomic_bool holds;                  /* LOCATE is not answered */
static atomic_bool refuses;
static atomic_bool stops; /* the console's thread, where it asks for the status */
static atomic_uint shown;

/* The catalog of a test: one table, two tablets. */
static void reply(struct question *question)
{
    const struct response_head head = {.status = STATUS_OK};
    const struct table table = {.number = 5, .version = 1, .id = bytes_of_text("T")};
    struct table_response one = {.table = table, .tablet_count = 2};
    const struct tables_response tables = {&one, 1};
    const struct location locations[] = {
        {.tablet = 11,
         .table = 5,
         .state = TABLET_SERVING,
         .range = {BYTES_EMPTY, bytes_of_text("m")}},
        {.tablet = 12,
         .table = 5,
         .state = TABLET_SERVING,
         .range = {bytes_of_text("m"), BYTES_EMPTY}},
    };
    const struct located_replicas replicas[2] = {{.size_bytes = 100}, {.size_bytes = 300}};
    const struct locate_response located = {table, locations, 2, replicas, 2};

    buffer_init(&question->message);
    response_head_encode(&head, &question->message);
    if (question->method == METHOD_LIST_TABLES) {
        tables_response_encode(&tables, &question->message);
    } else {
        locate_response_encode(&located, &question->message);
    }
    question->status = STATUS_OK;
    question->answered(question);
}

static bool ask_catalog(void *context, struct question *question)
{
    (void)context;
    if (atomic_load(&refuses)) {
        return false;
    }
    if (question->method == METHOD_LOCATE && atomic_load(&holds)) {
        atomic_store(&waiting, question);
        return true;
    }
    if (question->method != METHOD_LIST_TABLES && question->method != METHOD_LOCATE) {
        question_fail(question, STATUS_NOT_FOUND, "there is none");
        return true;
    }
    reply(question);
    return true;
}

static struct event_log events;

static void append_status(void *context, struct buffer *out)
{
    (void)context;
    atomic_fetch_add(&shown, 1);
    while (atomic_load(&stops)) {
        usleep(1000);
    }
    buffer_append_format(out, "{\"role\":\"active\"}");
}

/* In a folder that is there. */
static void open_again(bool local)
{
    struct error error = {0};
    const struct logger_settings log = {.level = LOG_LEVEL_ERROR};
    logger_init(&log);
    cr_assert_eq(http_server_open("127.0.0.1:0", !local, &server, &error), STATUS_OK, "%s",
                 error.text);
    const struct console_options options = {
        .server = server,
        .folder = folder,
        .owner = {1, ""},
        .heat_bytes_max = 1 << 20,
        .ask = ask_catalog,
        .append_status = append_status,
        .events = &events,
    };
    event_log_init(&events);
    cr_assert_eq(console_open(&options, &console, &error), STATUS_OK, "%s", error.text);
}

static void open_console(bool local)
{
    test_folder_make(folder, sizeof folder, "console");
    open_again(local);
}

static void start(void)
{
    open_console(true);
}

static void close_console(void)
{
    http_server_close(server);
    console_close(console);
    event_log_deinit(&events);
}

static void stop(void)
{
    char command[300];
    close_console();
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(console, .init = start, .fini = stop, .timeout = 600);

static int ask_by(const char *method, const char *path, const char *host, const char *more)
{
    static char request[QUERY_BYTES_MAX + 256];
    int raw = raw_connect(INADDR_LOOPBACK, http_server_port(server));
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n", method, path,
                          host, more);
    raw_send(raw, request, (size_t)length);
    return raw;
}

static int ask_raw(const char *path, const char *host, const char *more)
{
    return ask_by("GET", path, host, more);
}

static const char *hear(int raw)
{
    raw_receive_all(raw, answer, sizeof answer);
    return answer;
}

static const char *ask(const char *path)
{
    return hear(ask_raw(path, "localhost:7480", ""));
}

static void says(const char *path, int code, const char *text)
{
    ask(path);
    cr_assert_eq(atoi(answer + 9), code, "%s: %.900s", path, answer);
    cr_assert(strstr(answer, text) != NULL, "%s: %.900s", path, answer);
}

/* One second of one tablet of table 5. */
static void load(uint64_t reads)
{
    const struct load_report head = {.elapsed_ns = 1000000000, .capacity_ns = 2000000000};
    const struct row_range range = {BYTES_EMPTY, bytes_of_text("m")};
    const struct tablet_load one = {.tablet = 11,
                                    .figures = {.reads = reads, .read_cpu_ns = 5000000}};
    struct located_report *report = located_report_create(3, &head, 1);
    cr_assert(located_report_add(report, 5, &range, &one));
    console_take_load(console, report);
}

Test(console, the_page_and_its_files)
{
    says("/", 200, "<title>Edubba console</title>");
    cr_assert(strstr(answer, "Content-Security-Policy: default-src 'none'; script-src 'self'") !=
              NULL);
    cr_assert(strstr(answer, "text/html; charset=utf-8") != NULL);
    const char *tag = strstr(answer, "ETag: ");
    cr_assert_not_null(tag);
    char same[128];
    (void)snprintf(same, sizeof same, "If-None-Match: %.18s\r\n", tag + 6);
    hear(ask_raw("/index.html", "127.0.0.1", same));
    cr_assert_eq(atoi(answer + 9), 304, "%.300s", answer);
    says("/main.js", 200, "text/javascript");
    says("/console.css", 200, "text/css");
    says("/nothing.js", 404, "");
}

Test(console, only_for_this_machine)
{
    hear(ask_raw("/api/v1/cluster", "evil.example:7480", ""));
    cr_assert_eq(atoi(answer + 9), 403);
    static const char *const foreign[] = {"localhost.evil.example", "127.evil.example",
                                          "127.0.0.1.evil.example:7480", "[::1].evil.example"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        hear(ask_raw("/", foreign[i], ""));
        cr_assert_eq(atoi(answer + 9), 403, "%s", foreign[i]);
    }
    hear(ask_raw("/", "[::1]:7480", ""));
    cr_assert_eq(atoi(answer + 9), 200);
    says("/api/v1/cluster", 200, "{\"role\":\"active\"}");
    cr_assert(strstr(answer, "no-store") != NULL);
}

Test(console, bad_questions_are_told_why)
{
    says("/api/v1/cluster?x=1", 400, "'x' is not asked for here");
    says("/api/v1/load?count=0", 400, "count must be a number from 1 to 1000");
    says("/api/v1/heat?table=%", 400, "INVALID_ARGUMENT");
    says("/api/v1/heat", 400, "table: which one?");
    says("/api/v1/heat?table=T&metric=opps", 400,
         "there is no metric 'opps': ops, reads, writes, rows_read, ");
    says("/api/v1/tablets", 400, "which one?");
    says("/api/v1/advice?table=T", 404, "there is none");
    says("/api/v1/hot_tablets?from_us=9&to_us=9", 400, "the window of time is empty");
}

Test(console, a_table_that_is_not_there_is_another_thing_than_one_without_load)
{
    /* Until the tables were listed. */
    WAIT_FOR((ask("/api/v1/heat?table=T"), strstr(answer, "table 'T' is there") != NULL));
    says("/api/v1/heat?table=T", 404, "table 'T' is there, and has had no load so far");
    says("/api/v1/heat?table=NOWHERE", 404, "there is no table 'NOWHERE'");
    says("/api/v1/heat?table=99", 404, "there is no table '99'");
    says("/api/v1/load?table=NOWHERE", 404, "there is no table 'NOWHERE'");
}

Test(console, whatever_is_asked_of_the_api_the_answer_is_json)
{
    static const char *const nowhere[] = {
        "/api", "/api/", "/api/v1", "/api/v1/nothing", "/api/v2/heat?table=T", "/api/v1/heat/more"};
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        says(nowhere[i], 404, "{\"error\":{\"status\":\"NOT_FOUND\"");
        cr_assert(strstr(answer, "application/json") != NULL, "%s", nowhere[i]);
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        hear(ask_by(methods[i], "/api/v1/cluster", "localhost", "Content-Length: 0\r\n"));
        cr_assert_eq(atoi(answer + 9), 405, "%s: %.300s", methods[i], answer);
        cr_assert(strstr(answer, "{\"error\":{") != NULL, "%s: %.300s", methods[i], answer);
    }
    hear(ask_by("POST", "/api/v1/cluster", "evil.example", "Content-Length: 0\r\n"));
    cr_assert_eq(atoi(answer + 9), 403);
    hear(ask_by("HEAD", "/api/v1/cluster", "localhost", ""));
    cr_assert_eq(atoi(answer + 9), 200, "%.300s", answer);
    cr_assert(strstr(answer, "\"role\"") == NULL, "the head alone: %.600s", answer);
}

Test(console, what_the_catalog_says_is_told)
{
    says("/api/v1/tablets?table=T", 200, "\"tablet\":\"11\",\"start\":\"\",\"end\":\"m\"");
    cr_assert(strstr(answer, "\"next\":null") != NULL);
    atomic_store(&refuses, true);
    says("/api/v1/tablets?table=T", 503, "try again");
}

/* "&from=" or so, and the longest key there is, of bytes that are written longest. */
static size_t append_longest_key(char *text, const char *name)
{
    size_t size = (size_t)sprintf(text, "&%s=", name);
    for (size_t i = 0; i < LIMIT_ROW_KEY_BYTES; i++) {
        size += (size_t)sprintf(text + size, "%%5Cx%02x", i % 2 == 0 ? 0xff : 0);
    }
    return size;
}

/* A page of tablets ends where the next one is asked for to begin: with any key that there may be. */
Test(console, keys_may_be_as_long_as_row_keys_are_and_of_any_bytes)
{
    static char path[QUERY_BYTES_MAX + 1];
    size_t size = (size_t)sprintf(path, "/api/v1/tablets?table=T");
    (void)append_longest_key(path + size, "from");
    says(path, 200, "\"next\":null");
    load(1000);
    WAIT_FOR((ask("/api/v1/heat?table=T&last_s=60"), strstr(answer, "\"total\":1000,") != NULL));
    size = (size_t)sprintf(path, "/api/v1/heat?table=T&last_s=60");
    size += append_longest_key(path + size, "start");
    (void)append_longest_key(path + size, "end");
    says(path, 400, "the window of keys is empty");
}

Test(console, load_is_seen_within_seconds)
{
    load(1000);
    says("/api/v1/load", 200, "\"tablet\":\"11\"");
    cr_assert(strstr(answer, "\"reads\":1000,") != NULL, "%s", answer);
    WAIT_FOR((ask("/api/v1/heat?table=T&last_s=60"), strstr(answer, "\"total\":1000,") != NULL));
    cr_assert(strstr(answer, "\"name\":\"T\"") != NULL);
}

/* Of a table that was there before the first report came before the first look at the clock, and was counted into the
 * time since 1970. */
Test(console, load_that_comes_at_once_after_a_restart_is_of_now)
{
    load(1000);
    WAIT_FOR((ask("/api/v1/heat?table=T&last_s=600"), strstr(answer, "\"total\":1000,") != NULL));
    close_console();
    open_again(true);
    load(500);
    WAIT_FOR((ask("/api/v1/heat?table=T&last_s=600"), strstr(answer, "\"total\":1500,") != NULL));
}

/* A question that is out when everything ends is answered first. */
Test(console, a_call_waits_for_the_catalog_and_nobody_else_does)
{
    atomic_store(&holds, true);
    int raw = ask_raw("/api/v1/tablets?table=T", "localhost", "");
    WAIT_FOR(atomic_load(&waiting) != NULL);
    says("/api/v1/cluster", 200, "active");
    reply(atomic_load(&waiting));
    hear(raw);
    cr_assert_eq(atoi(answer + 9), 200);
}

static void *close_server(void *context)
{
    http_server_close(server);
    atomic_store((atomic_bool *)context, true);
    return NULL;
}

Test(console, the_end_waits_for_calls)
{
    pthread_t closer;
    atomic_bool closed = false;
    struct error error = {0};
    atomic_store(&holds, true);
    int raw = ask_raw("/api/v1/tablets?table=T", "localhost", "");
    WAIT_FOR(atomic_load(&waiting) != NULL);
    cr_assert_eq(pthread_create(&closer, NULL, close_server, &closed), 0);
    usleep(200000);
    cr_assert_not(atomic_load(&closed));
    question_fail(atomic_load(&waiting), STATUS_UNAVAILABLE, "the master is stopping");
    cr_assert_eq(pthread_join(closer, NULL), 0);
    close(raw);
    cr_assert_eq(http_server_open("127.0.0.1:0", false, &server, &error),
                 STATUS_OK); /* for stop() */
}

/* --- many ask, and it takes its time --------------------------------------------------------------- */

#define ASKERS 40

/* The console's thread is at the first of them, the others wait behind it. */
static void ask_many(int raws[ASKERS])
{
    atomic_store(&shown, 0);
    atomic_store(&stops, true);
    for (int i = 0; i < ASKERS; i++) {
        raws[i] = ask_raw("/api/v1/cluster", "localhost", "");
    }
    WAIT_FOR(atomic_load(&shown) == 1);
    usleep(300000); /* until all were handed over: nothing tells */
}

static void hang_up(const int raws[ASKERS])
{
    for (int i = 0; i < ASKERS; i++) {
        close(raws[i]);
    }
}

Test(console, for_who_has_hung_up_nothing_is_made)
{
    int raws[ASKERS];
    ask_many(raws);
    hang_up(raws);
    atomic_store(&stops, false);
    says("/api/v1/cluster", 200, "active");
    cr_assert_leq(atomic_load(&shown), 2U, "the first one, and the last");
}

static void *go_on(void *context)
{
    (void)context;
    usleep(300000);
    atomic_store(&stops, false);
    return NULL;
}

Test(console, the_end_does_not_wait_until_all_are_answered)
{
    struct error error = {0};
    pthread_t later;
    int raws[ASKERS];
    ask_many(raws);
    cr_assert_eq(pthread_create(&later, NULL, go_on, NULL), 0);
    http_server_close(server);
    cr_assert_eq(pthread_join(later, NULL), 0);
    cr_assert_eq(atomic_load(&shown), 1U);
    hang_up(raws);
    cr_assert_eq(http_server_open("127.0.0.1:0", false, &server, &error),
                 STATUS_OK); /* for stop() */
}

/* As in a disk that hangs. */
Test(console, who_asks_while_its_thread_hangs_is_told_so)
{
    struct console_keeping keeping = {NULL, NULL};
    atomic_store(&shown, 0);
    atomic_store(&stops, true);
    int raw = ask_raw("/api/v1/cluster", "localhost", "");
    WAIT_FOR(atomic_load(&shown) == 1);
    WAIT_FOR((console_look(console, &keeping), keeping.heat != NULL));
    cr_assert_str_eq(keeping.heat, "the disk does not answer");
    cr_assert_not_null(keeping.events);
    says("/api/v1/cluster", 503, "waits for the disk of the master's folder");
    says("/", 200, "<title>Edubba console</title>");
    atomic_store(&stops, false);
    hear(raw);
    cr_assert_eq(atoi(answer + 9), 200, "%.300s", answer);
    says("/api/v1/cluster", 200, "active");
    console_look(console, &keeping);
    cr_assert_null(keeping.heat);
}

Test(console, is_for_all_where_that_was_said)
{
    stop();
    open_console(false);
    hear(ask_raw("/api/v1/cluster", "edubba.example", ""));
    cr_assert_eq(atoi(answer + 9), 200);
}

static bool take_event(uint64_t number)
{
    const struct event event = {.number = number,
                                .change = number,
                                .kind = bytes_of_text("split"),
                                .outcome = bytes_of_text("done"),
                                .text = bytes_of_text("an event")};
    const struct list_events_response one = {.events = &event, .event_count = 1};
    struct buffer buffer = BUFFER_INIT;
    list_events_response_encode(&one, &buffer);
    return console_take_events(console, &buffer);
}

static void fill_disk(const char *path)
{
    static const char block[4096];
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    while (write(file, block, sizeof block) > 0) {
    }
    close(file);
}

static const char *event_trouble(void)
{
    struct console_keeping keeping;
    console_look(console, &keeping);
    return keeping.events;
}

/* Nobody was told, and what had come meanwhile was not there after the next start. */
Test(console, what_could_not_be_kept_is_told_and_asked_for_again)
{
    char filler[300];
    stop();
    test_folder_make(folder, sizeof folder, "console");
    if (mount("tmpfs", folder, "tmpfs", 0, "size=1m") != 0) {
        open_again(true);
        test_skip("mounting a tmpfs is not permitted here: %s", strerror(errno));
    }
    open_again(true);
    uint64_t number = 1;
    cr_assert(take_event(number));
    cr_assert_null(event_trouble());
    (void)snprintf(filler, sizeof filler, "%s/filler", folder);
    fill_disk(filler);
    WAIT_FOR(take_event(++number) && event_trouble() != NULL);
    cr_assert_str_eq(event_trouble(), status_text(STATUS_NO_SPACE));
    WAIT_FOR(console_lost_events(console));
    cr_assert_eq(unlink(filler), 0);
    WAIT_FOR(take_event(number) && event_trouble() == NULL);
    close_console();
    open_again(true);
    cr_assert_eq(events.last_change, number);
    close_console();
    cr_assert_eq(umount(folder), 0);
    open_again(true);
}
