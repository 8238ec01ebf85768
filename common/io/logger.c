#include "common/io/logger.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/clock.h"

#define LINE_BYTES_MAX      4096
#define VALUE_BYTES_MAX     1024 /* of one text, before escaping; more is cut */
#define EVENT_SLOTS         64
#define EVENT_LINES_PER_SEC 100
#define STALL_MS            100
#define US_PER_MS           1000

/* A line is built on the stack, so that lack of memory can still be reported. */
struct line {
    char text[LINE_BYTES_MAX];
    size_t size_bytes;
    bool full;
    uint64_t lost_before; /* which it tells of */
};

/* How often one event name was written in the current second.  Names that share a slot share the
 * allowance. */
struct rate {
    int64_t second;
    uint32_t written;
    uint64_t suppressed;
};

static atomic_int logger_level = LOG_LEVEL_INFO;
static atomic_bool logger_json;
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stalled;       /* nobody took a line for STALL_MS */
static atomic_uint_fast64_t lost; /* lines since the last one that was written */
static pthread_mutex_t rates_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rate rates[EVENT_SLOTS];

static void line_append(struct line *line, const char *text, size_t size_bytes)
{
    /* Two bytes stay free for the closing brace and the newline. */
    if (line->full || size_bytes > sizeof line->text - 2 - line->size_bytes) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->size_bytes, text, size_bytes);
    line->size_bytes += size_bytes;
}

static void line_append_text(struct line *line, const char *text)
{
    line_append(line, text, strlen(text));
}

/* Stands for itself between quotes. */
static bool is_printable(uint8_t byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* What is not plain ASCII as \xNN, so that a hostile key can forge neither line nor field. */
static void line_append_escaped(struct line *line, struct bytes bytes, bool json)
{
    static const char digits[] = "0123456789abcdef";
    size_t size_bytes = bytes.size_bytes < VALUE_BYTES_MAX ? bytes.size_bytes : VALUE_BYTES_MAX;
    for (size_t i = 0; i < size_bytes; i++) {
        uint8_t byte = bytes.data[i];
        if (is_printable(byte)) {
            line_append(line, (const char *)&bytes.data[i], 1);
        } else {
            char escaped[5] = {'\\', '\\', 'x', digits[byte >> 4], digits[byte & 15]};
            line_append(line, json ? escaped : escaped + 1, json ? 5 : 4);
        }
    }
    if (size_bytes < bytes.size_bytes) {
        line_append_text(line, "...");
    }
}

static void line_append_value(struct line *line, struct bytes bytes, bool json)
{
    bool quoted = json || bytes.size_bytes == 0;
    for (size_t i = 0; i < bytes.size_bytes && !quoted; i++) {
        uint8_t byte = bytes.data[i];
        quoted = !is_printable(byte) || byte == ' ' || byte == '=';
    }
    line_append_text(line, quoted ? "\"" : "");
    line_append_escaped(line, bytes, json);
    line_append_text(line, quoted ? "\"" : "");
}

static void line_append_field(struct line *line, const struct log_field *field, bool json)
{
    char number[24];
    if (json) {
        line_append_text(line, ",\"");
        line_append_text(line, field->key);
        line_append_text(line, "\":");
    } else {
        line_append_text(line, " ");
        line_append_text(line, field->key);
        line_append_text(line, "=");
    }
    switch (field->type) {
    case LOG_FIELD_TEXT:
        line_append_value(line, bytes_of_text(field->text == NULL ? "" : field->text), json);
        break;
    case LOG_FIELD_BYTES:
        line_append_value(line, field->bytes, json);
        break;
    case LOG_FIELD_I64:
        (void)snprintf(number, sizeof number, "%" PRId64, field->i64);
        line_append_text(line, number);
        break;
    case LOG_FIELD_U64:
    case LOG_FIELD_ID:
        (void)snprintf(number, sizeof number,
                       json && field->type == LOG_FIELD_ID ? "\"%" PRIu64 "\"" : "%" PRIu64,
                       field->u64);
        line_append_text(line, number);
        break;
    case LOG_FIELD_END:
        UNREACHABLE();
    }
}

static void line_begin(struct line *line, enum log_level level, const char *event, bool json)
{
    static const char *const names[][2] = {
        {"DEBUG", "debug"}, {"INFO ", "info"}, {"WARN ", "warn"}, {"ERROR", "error"}};
    int64_t now_us = clock_wall_us();
    time_t seconds = now_us / 1000000;
    struct tm parts = {0};
    char date[32];
    char head[160];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(head, sizeof head,
                   json ? "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"event\":\"%s\""
                        : "%s.%03dZ %s %s",
                   date, (int)(now_us / 1000 % 1000), names[level][json], event);
    line->size_bytes = 0;
    line->full = false;
    line_append_text(line, head);
}

/* A field goes in whole or not at all, so that a cut line is still a good one. */
static void line_add_field(struct line *line, const struct log_field *field, bool json)
{
    size_t before = line->size_bytes;
    line_append_field(line, field, json);
    if (line->full) {
        line->size_bytes = before;
        line->full = false;
    }
}

/*
 * Whoever reads the log may stop reading: a pipe's reader that stands still, journald whose own disk hangs.  Threads that
 * keep leases and give up reigns must not wait for that.  So one at a time writes, once there is room for a line; who has
 * waited for STALL_MS in vain counts its line as lost, as all do at once from then on, until there is room again.
 */
static bool take_turn(void)
{
    for (int i = 0; i < STALL_MS; i++) {
        if (pthread_mutex_trylock(&write_lock) == 0) {
            return true;
        }
        if (atomic_load(&stalled)) {
            return false;
        }
        clock_sleep_us(US_PER_MS);
    }
    atomic_store(&stalled, true);
    return false;
}

/* Of a pipe or a socket; what is closed, or has no reader, says so at once when it is written to. */
static bool has_room(void)
{
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};
    bool room = poll(&to, 1, atomic_load(&stalled) ? 0 : STALL_MS) != 0;
    atomic_store(&stalled, !room);
    return room;
}

/* One write, so that lines of several threads and processes do not mix. */
static void line_write(struct line *line, bool json)
{
    if (json) {
        line->text[line->size_bytes++] = '}';
    }
    line->text[line->size_bytes++] = '\n';
    bool taken = take_turn();
    if (taken && has_room()) {
        ssize_t written = write(STDERR_FILENO, line->text, line->size_bytes);
        (void)written; /* there is nowhere left to say that the log cannot be written */
    } else {
        (void)atomic_fetch_add(&lost, line->lost_before + 1);
    }
    if (taken) {
        (void)pthread_mutex_unlock(&write_lock);
    }
}

/* May the event be written now?  Then also how many were held back since the last one. */
static bool take_allowance(const char *event, uint64_t *ret_suppressed)
{
    uint32_t hash = 2166136261u;
    for (const char *at = event; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    }
    pthread_mutex_lock(&rates_lock);
    /* Under the lock: a thread that came with a second already over would begin it anew. */
    int64_t second = clock_monotonic_ns() / 1000000000;
    struct rate *rate = &rates[hash % EVENT_SLOTS];
    if (rate->second != second) {
        rate->second = second;
        rate->written = 0;
    }
    bool allowed = rate->written < EVENT_LINES_PER_SEC;
    if (allowed) {
        rate->written++;
        *ret_suppressed = rate->suppressed;
        rate->suppressed = 0;
    } else {
        rate->suppressed++;
    }
    pthread_mutex_unlock(&rates_lock);
    return allowed;
}

void logger_init(const struct logger_settings *settings)
{
    atomic_store(&logger_level, (int)settings->level);
    atomic_store(&logger_json, settings->json);
}

bool logger_wants(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&logger_level, memory_order_relaxed);
}

void logger_write(enum log_level level, const char *event, const struct log_field *fields)
{
    struct line line;
    uint64_t suppressed = 0;
    bool json = atomic_load_explicit(&logger_json, memory_order_relaxed);
    if (!take_allowance(event, &suppressed)) {
        return;
    }
    line_begin(&line, level, event, json);
    for (const struct log_field *field = fields; field->type != LOG_FIELD_END; field++) {
        line_add_field(&line, field, json);
    }
    if (suppressed > 0) {
        struct log_field field = LOG_U64("suppressed", suppressed);
        line_add_field(&line, &field, json);
    }
    line.lost_before = atomic_exchange(&lost, 0);
    if (line.lost_before > 0) {
        struct log_field field = LOG_U64("lost", line.lost_before);
        line_add_field(&line, &field, json);
    }
    line_write(&line, json);
}
