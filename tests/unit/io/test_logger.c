#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/logger.h"
#include "tests/support/test_folder.h"

static char output[1 << 20];
static int log_file;

/* From here on the log goes into a file. */
static void capture(enum log_level level, bool json)
{
    struct logger_settings settings = {.level = level, .json = json};
    char path[256];
    logger_init(&settings);
    test_path_template(path, sizeof path, "logger");
    log_file = mkstemp(path);
    cr_assert_geq(log_file, 0);
    unlink(path);
    dup2(log_file, STDERR_FILENO);
}

static const char *captured(void)
{
    ssize_t size_bytes = pread(log_file, output, sizeof output - 1, 0);
    cr_assert_geq(size_bytes, 0);
    output[size_bytes] = '\0';
    return output;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

/* A pipe whose reader stands still keeps no thread: what is not read is lost, and counted. */
Test(logger, who_does_not_read_holds_nobody_up, .timeout = 60)
{
    const struct logger_settings settings = {.level = LOG_LEVEL_INFO};
    int ends[2];
    logger_init(&settings);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], output, 4096) > 0) {
    }
    cr_assert_eq(fcntl(ends[1], F_SETFL, 0), 0);
    dup2(ends[1], STDERR_FILENO);
    int64_t begun_ns = clock_monotonic_ns();
    for (int i = 0; i < 50; i++) {
        LOG_EVENT(LOG_LEVEL_INFO, "unread", LOG_I64("number", i));
    }
    cr_assert_lt(clock_monotonic_ns() - begun_ns, INT64_C(3000000000), "it waits once, for 100 ms");
    cr_assert_gt(read(ends[0], output, sizeof output - 1), 0);
    LOG_EVENT(LOG_LEVEL_INFO, "read");
    LOG_EVENT(LOG_LEVEL_INFO, "again");
    ssize_t size_bytes = read(ends[0], output, sizeof output - 1);
    cr_assert_gt(size_bytes, 0);
    output[size_bytes] = '\0';
    cr_assert_not_null(strstr(output, " read lost=50\n"), "%s", output);
    cr_assert_not_null(strstr(output, " again\n"), "%s", output);
}

Test(logger, one_event_a_line)
{
    capture(LOG_LEVEL_INFO, false);
    LOG_EVENT(LOG_LEVEL_INFO, "tablet_opened", LOG_ID("tablet", 17), LOG_TEXT("store", "a"),
              LOG_I64("delta", -3), LOG_BYTES("row", bytes_of_text("k1")));
    LOG_EVENT(LOG_LEVEL_WARN, "bare");
    const char *text = captured();
    cr_assert_eq(count_lines(text), 2);
    cr_assert_eq(text[10], 'T');
    cr_assert_eq(text[23], 'Z');
    cr_assert(strstr(text, "Z INFO  tablet_opened tablet=17 store=a delta=-3 row=k1\n") != NULL,
              "%s", text);
    cr_assert(strstr(text, "Z WARN  bare\n") != NULL, "%s", text);
}

Test(logger, levels_below_are_dropped)
{
    capture(LOG_LEVEL_WARN, false);
    cr_assert(!logger_wants(LOG_LEVEL_INFO));
    LOG_EVENT(LOG_LEVEL_INFO, "quiet");
    LOG_EVENT(LOG_LEVEL_ERROR, "loud");
    cr_assert_eq(count_lines(captured()), 1);
    cr_assert(strstr(captured(), "ERROR loud") != NULL);
}

Test(logger, a_hostile_value_forges_nothing)
{
    capture(LOG_LEVEL_INFO, false);
    LOG_EVENT(LOG_LEVEL_INFO, "read", LOG_BYTES("row", bytes_of("a\n2026 INFO x=\"1\"\\\xff", 20)),
              LOG_TEXT("empty", ""), LOG_TEXT("spaced", "a b"));
    const char *text = captured();
    cr_assert_eq(count_lines(text), 1);
    cr_assert(strstr(text, "row=\"a\\x0a2026 INFO x=\\x221\\x22\\x5c\\xff") != NULL, "%s", text);
    cr_assert(strstr(text, " empty=\"\" spaced=\"a b\"\n") != NULL, "%s", text);
}

Test(logger, json_is_json_whatever_the_bytes)
{
    capture(LOG_LEVEL_INFO, true);
    uint8_t all[256];
    for (int i = 0; i < 256; i++) {
        all[i] = (uint8_t)i;
    }
    LOG_EVENT(LOG_LEVEL_INFO, "read", LOG_BYTES("row", bytes_of(all, sizeof all)),
              LOG_U64("count", UINT64_C(5)), LOG_ID("server", UINT64_MAX - 1),
              LOG_TEXT("text", "say \"hi\" = \\"));
    json_error_t error;
    json_t *line = json_loads(captured(), 0, &error);
    cr_assert(line != NULL, "%s in %s", error.text, output);
    cr_assert_str_eq(json_string_value(json_object_get(line, "event")), "read");
    cr_assert_str_eq(json_string_value(json_object_get(line, "level")), "info");
    cr_assert_eq(json_integer_value(json_object_get(line, "count")), 5);
    cr_assert_str_eq(json_string_value(json_object_get(line, "server")), "18446744073709551614",
                     "more than a reader's number may hold");
    json_decref(line);
}

Test(logger, a_long_line_is_cut_between_fields)
{
    static char big[3000];
    capture(LOG_LEVEL_INFO, true);
    memset(big, '\n', sizeof big - 1);
    LOG_EVENT(LOG_LEVEL_INFO, "big", LOG_TEXT("a", big), LOG_TEXT("b", "small"));
    json_error_t error;
    json_t *line = json_loads(captured(), 0, &error);
    cr_assert(line != NULL, "%s in %s", error.text, output);
    cr_assert_str_eq(json_string_value(json_object_get(line, "b")), "small");
    json_decref(line);
}

#define FLOOD_THREADS 4

struct flood {
    /* More than a second ahead, so that a second turns while others are in the midst of it. */
    int64_t until_ns;
    uint64_t events;
};

static void *write_many(void *context)
{
    struct flood *flood = context;
    for (; flood->events < 2000 || clock_monotonic_ns() < flood->until_ns; flood->events++) {
        LOG_EVENT(LOG_LEVEL_INFO, "flood", LOG_U64("i", flood->events));
    }
    return NULL;
}

/* Returns how many events there were. */
static uint64_t flood_for_us(int64_t duration_us)
{
    pthread_t threads[FLOOD_THREADS];
    struct flood floods[FLOOD_THREADS];
    uint64_t events = 0;
    for (int i = 0; i < FLOOD_THREADS; i++) {
        floods[i] = (struct flood){.until_ns = clock_monotonic_ns() + duration_us * 1000};
        pthread_create(&threads[i], NULL, write_many, &floods[i]);
    }
    for (int i = 0; i < FLOOD_THREADS; i++) {
        pthread_join(threads[i], NULL);
        events += floods[i].events;
    }
    return events;
}

/* Of all lines together. */
static uint64_t count_suppressed(const char *text)
{
    uint64_t count = 0;
    for (const char *at = strstr(text, "suppressed="); at != NULL; at = strstr(at, "suppressed=")) {
        at += strlen("suppressed=");
        count += strtoull(at, NULL, 10);
    }
    return count;
}

Test(logger, floods_are_counted_not_written)
{
    capture(LOG_LEVEL_INFO, false);
    int64_t began_ns = clock_monotonic_ns();
    uint64_t events = flood_for_us(1200000);
    LOG_EVENT(LOG_LEVEL_INFO, "other");
    int64_t seconds = (clock_monotonic_ns() - began_ns) / 1000000000;
    cr_assert_leq(count_lines(captured()), (size_t)(seconds + 2) * 100 + 1,
                  "100 in each second begun, and the other");
    cr_assert(strstr(captured(), " other\n") != NULL, "one flood does not silence the rest");
    usleep(1100 * 1000);
    LOG_EVENT(LOG_LEVEL_INFO, "flood");
    cr_assert_eq(count_suppressed(captured()), events + 2 - count_lines(captured()),
                 "what was not written is counted");
}
