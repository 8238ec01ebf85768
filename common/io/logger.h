/*
 * Structured logs: one event a line, on stderr, for people and for machines.
 *
 *   text  2026-11-21T12:00:00.123Z INFO  tablet_opened tablet=17 store=1 rows=12
 *   json  {"time":"2026-11-21T12:00:00.123Z","level":"info","event":"tablet_opened","tablet":17,...}
 *
 * Event names and keys are stable: tests and dashboards read them.  Only shells log; library code
 * returns errors.  Lines above the rate limit of one event name are counted, not written; so are those that nobody
 * reads within 100 ms, where stderr is a pipe or a socket: the next line that is read says how many were lost.
 *
 * Thread rule: any thread after logger_init().
 */
#ifndef COMMON_IO_LOGGER_H
#define COMMON_IO_LOGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
};

struct logger_settings {
    enum log_level level;
    bool json;
};

void logger_init(const struct logger_settings *settings);
bool logger_wants(enum log_level level);

enum log_field_type {
    LOG_FIELD_END,
    LOG_FIELD_TEXT,
    LOG_FIELD_BYTES,
    LOG_FIELD_I64,
    LOG_FIELD_U64,
    LOG_FIELD_ID, /* u64; a string in JSON, whose readers mostly hold no more than 53 bits */
};

struct log_field {
    enum log_field_type type;
    const char *key;
    const char *text;
    struct bytes bytes;
    int64_t i64;
    uint64_t u64;
};

#define LOG_TEXT(key_, text_) \
    ((struct log_field){.type = LOG_FIELD_TEXT, .key = (key_), .text = (text_)})
#define LOG_BYTES(key_, bytes_) \
    ((struct log_field){.type = LOG_FIELD_BYTES, .key = (key_), .bytes = (bytes_)})
#define LOG_I64(key_, value_) \
    ((struct log_field){.type = LOG_FIELD_I64, .key = (key_), .i64 = (value_)})
#define LOG_ID(key_, value_) \
    ((struct log_field){.type = LOG_FIELD_ID, .key = (key_), .u64 = (value_)})
#define LOG_U64(key_, value_) \
    ((struct log_field){.type = LOG_FIELD_U64, .key = (key_), .u64 = (value_)})

void logger_write(enum log_level level, const char *event, const struct log_field *fields);

/* LOG_EVENT(LOG_LEVEL_INFO, "tablet_opened", LOG_ID("tablet", 17), LOG_TEXT("store", "a")); */
#define LOG_EVENT(level, event, ...)                                                            \
    do {                                                                                        \
        if (logger_wants(level)) {                                                              \
            logger_write(                                                                       \
                level, event,                                                                   \
                (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.type = LOG_FIELD_END}}); \
        }                                                                                       \
    } while (0)

#endif /* COMMON_IO_LOGGER_H */
