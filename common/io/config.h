/*
 * Configuration files (libconfig syntax), checked against a table of what may stand in them.
 *
 * An unknown key, a wrong type or a value out of range is an error that names file, line and key.
 * Sizes are written "512 MiB" or as a number of bytes, durations "250 ms", "10 s", "15 min".
 * Keys are plain names or paths: "http.address".
 */
#ifndef COMMON_IO_CONFIG_H
#define COMMON_IO_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

enum config_type {
    CONFIG_TEXT,        /* const char *, in the arena */
    CONFIG_TEXT_LIST,   /* struct config_text_list */
    CONFIG_BOOL,        /* bool */
    CONFIG_NUMBER,      /* int64_t */
    CONFIG_SIZE_BYTES,  /* uint64_t */
    CONFIG_DURATION_US, /* int64_t */
};

struct config_text_list {
    const char **items;
    size_t count;
};

/* One allowed key.  The target keeps its value (the default) when the key is absent. */
struct config_key {
    const char *name;
    enum config_type type;
    void *target;
    int64_t minimum; /* numbers, sizes, durations; both 0 = any */
    int64_t maximum;
    bool required;
};

/* Errors: STATUS_INVALID_ARGUMENT ("conf/master.conf:12: unknown key 'adress'"), STATUS_NOT_FOUND,
 * STATUS_IO, STATUS_NO_MEMORY. */
enum status config_load(const char *path,
                        const struct config_key *keys,
                        size_t key_count,
                        struct arena *arena,
                        struct error *ret_error);

/* The same for one "key=value" given on a command line. */
enum status config_set(const char *assignment,
                       const struct config_key *keys,
                       size_t key_count,
                       struct arena *arena,
                       struct error *ret_error);

/* "512 MiB" -> bytes, "250 ms" -> microseconds. */
bool config_parse_size(const char *text, uint64_t *ret_bytes);
bool config_parse_duration(const char *text, int64_t *ret_us);

#endif /* COMMON_IO_CONFIG_H */
