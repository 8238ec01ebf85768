/*
 * Configuration files, against a table with a key of each type, and the same text as a command
 * line's "key=value".  A bad one is refused with a text; a good one's values are in their bounds.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/config.h"

#define ARENA_BYTES_MAX ((size_t)64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig forgets a text that is open where a file ends badly: once, before a process exits. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig\n";
}

struct values {
    const char *text;
    struct config_text_list list;
    bool flag;
    int64_t number;
    uint64_t size_bytes;
    int64_t duration_us;
    uint64_t free_bytes;
};

static void check(const struct values *values)
{
    ASSERT(values->number >= -5 && values->number <= 5);
    ASSERT(values->size_bytes >= 1024 && values->size_bytes <= UINT64_C(1) << 40);
    ASSERT(values->duration_us >= 1000 && values->duration_us <= INT64_C(3600000000));
    ASSERT(values->free_bytes <= INT64_MAX);
    ASSERT(strlen(values->text) <= ARENA_BYTES_MAX);
    for (size_t i = 0; i < values->list.count; i++) {
        ASSERT(strlen(values->list.items[i]) <= ARENA_BYTES_MAX);
    }
}

/* Each fault has a text. */
static void check_faults(const struct config_reading *reading)
{
    for (size_t i = 0; i < reading->fault_count && i < CONFIG_FAULTS_MAX; i++) {
        ASSERT(reading->faults[i][0] != '\0');
    }
}

/* A file without a name; *ret_path is good as long as it is open. */
static int make_file(const uint8_t *data, size_t size, char ret_path[64])
{
    int file = memfd_create("config", 0);
    ASSERT(file >= 0);
    ASSERT(write(file, data, size) == (ssize_t)size);
    (void)snprintf(ret_path, 64, "/proc/self/fd/%d", file);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct values values = {.text = "", .size_bytes = 1024, .duration_us = 1000};
    const struct config_key keys[] = {
        {"text", CONFIG_TEXT, &values.text, 0, 0, false},
        {"joined", CONFIG_TEXT_JOINED, &values.text, 0, 0, false},
        {"list", CONFIG_TEXT_LIST, &values.list, 0, 0, false},
        {"flag", CONFIG_BOOL, &values.flag, 0, 0, false},
        {"number", CONFIG_NUMBER, &values.number, -5, 5, false},
        {"log.size", CONFIG_SIZE_BYTES, &values.size_bytes, 1024, INT64_C(1) << 40, false},
        {"log.sync.every", CONFIG_DURATION_US, &values.duration_us, 1000, INT64_C(3600000000),
         false},
        {"free", CONFIG_SIZE_BYTES, &values.free_bytes, 0, 0, false},
    };
    struct config_reading reading;
    struct arena arena;
    char path[64];
    arena_init(&arena, 4096, ARENA_BYTES_MAX);
    int file = make_file(data, size, path);
    config_reading_begin(&reading, keys, sizeof keys / sizeof keys[0], &arena);
    ASSERT(config_load(&reading, path) == (reading.fault_count == 0));
    check(&values);
    (void)close(file);
    char *text = strndup((const char *)data, size);
    ASSERT(text != NULL);
    (void)config_set(&reading, text);
    check_faults(&reading);
    check(&values);
    free(text);
    arena_deinit(&arena);
    return 0;
}
