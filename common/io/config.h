/*
 * Configuration files (libconfig syntax), checked against a table of what may stand in them.
 *
 * An unknown key, a wrong type or a value out of range is a fault that names file, line and key.
 * A READING gathers the faults of the file, of the command line and of what keys say together, so
 * that all of them are told at once; it remembers where each key's value stands.
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
    CONFIG_TEXT_JOINED, /* const char *, in the arena: a text, or a list of them joined with commas */
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

#define CONFIG_KEYS_MAX   128 /* of one table */
#define CONFIG_FAULTS_MAX 16  /* kept; who has more of them begins with these */

struct config_reading {
    const struct config_key *keys;
    size_t key_count;
    struct arena *arena;                 /* of values, places and faults */
    const char *places[CONFIG_KEYS_MAX]; /* "conf/master.conf:12", "command line"; NULL = default */
    bool seen[CONFIG_KEYS_MAX];          /* the file has keys[i] */
    bool refused[CONFIG_KEYS_MAX];       /* a value of keys[i] was; its target has another */
    const char *faults[CONFIG_FAULTS_MAX];
    size_t fault_count; /* found: may be more than are kept */
};

/* keys and arena must outlive the reading; key_count <= CONFIG_KEYS_MAX. */
void config_reading_begin(struct config_reading *reading,
                          const struct config_key *keys,
                          size_t key_count,
                          struct arena *arena);

/* A whole file.  False: it has faults ("conf/master.conf:12: unknown key 'adress'"); what is good
 * in it has been taken all the same, unless it could not be read or parsed at all. */
bool config_load(struct config_reading *reading, const char *path);

/* The same for one "key=value" given on a command line. */
bool config_set(struct config_reading *reading, const char *assignment);

/* A fault that a key's value has only together with others, or only by its sense; the text names
 * the key, and the place of its value is put before it.  key NULL: of none. */
void config_refuse(struct config_reading *reading, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuse a file that is named and cannot be read; path "" names none. */
void config_refuse_unreadable(struct config_reading *reading, const char *key, const char *path);

/* Was a value of this key refused?  Then what its target holds says nothing about others. */
bool config_is_refused(const struct config_reading *reading, const char *key);

/* "512 MiB" -> bytes, "250 ms" -> microseconds. */
bool config_parse_size(const char *text, uint64_t *ret_bytes);
bool config_parse_duration(const char *text, int64_t *ret_us);

#define CONFIG_VALUE_SIZE_MAX 512 /* with the NUL */

/* What a key's target holds, as a file may have it: `"127.0.0.1:7400"`, `"1 GiB"`, `true`.  A longer
 * one is cut. */
void config_format_value(const struct config_key *key, char ret_text[CONFIG_VALUE_SIZE_MAX]);

#endif /* COMMON_IO_CONFIG_H */
