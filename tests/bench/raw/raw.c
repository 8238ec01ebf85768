#include "tests/bench/raw/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/prng.h"

#define NS_A_SECOND   INT64_C(1000000000)
#define SERIES_HOSTS  1000
#define SAMPLES_FIRST 4096

_Noreturn void raw_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

void *raw_allocate(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL) {
        raw_fail("memory", strerror(errno));
    }
    return memory;
}

/* --- options -------------------------------------------------------------------------------------- */

static bool is_option(const char *argument, const char *name)
{
    return strncmp(argument, "--", 2) == 0 && strcmp(argument + 2, name) == 0;
}

void raw_check_options(int argc, char **argv, const char *const *names)
{
    for (int i = 1; i < argc; i += 2) {
        const char *const *name = names;
        while (*name != NULL && !is_option(argv[i], *name)) {
            name++;
        }
        if (*name == NULL) {
            raw_fail(argv[i], "unknown option");
        }
        if (i + 1 == argc) {
            raw_fail(argv[i], "needs a value");
        }
    }
}

const char *raw_option_text(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (is_option(argv[i], name)) {
            return argv[i + 1];
        }
    }
    return otherwise;
}

uint64_t raw_option_number(int argc, char **argv, const char *name, uint64_t otherwise)
{
    const char *text = raw_option_text(argc, argv, name, NULL);
    if (text == NULL) {
        return otherwise;
    }
    char *end = NULL;
    uint64_t number = strtoull(text, &end, 10);
    if (end == text || *end != '\0') {
        raw_fail(name, "must be a number");
    }
    return number;
}

/* --- time ----------------------------------------------------------------------------------------- */

int64_t raw_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_A_SECOND + now.tv_nsec;
}

static void reserve(struct raw_samples *samples, size_t count)
{
    size_t capacity = samples->capacity == 0 ? SAMPLES_FIRST : samples->capacity;
    while (capacity < count) {
        capacity *= 2;
    }
    if (capacity != samples->capacity) {
        samples->ns = realloc(samples->ns, capacity * sizeof *samples->ns);
        if (samples->ns == NULL) {
            raw_fail("memory", "no room for samples");
        }
        samples->capacity = capacity;
    }
}

void raw_samples_add(struct raw_samples *samples, int64_t ns)
{
    reserve(samples, samples->count + 1);
    samples->ns[samples->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void raw_samples_join(struct raw_samples *samples, struct raw_samples *from)
{
    if (from->count > 0) {
        reserve(samples, samples->count + from->count);
        memcpy(samples->ns + samples->count, from->ns, from->count * sizeof *from->ns);
        samples->count += from->count;
    }
    raw_samples_deinit(from);
}

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

double raw_samples_percentile_us(struct raw_samples *samples, double percentile)
{
    if (samples->count == 0) {
        return 0;
    }
    qsort(samples->ns, samples->count, sizeof *samples->ns, compare);
    size_t index = (size_t)((double)(samples->count - 1) * percentile / 100.0);
    return (double)samples->ns[index] / 1000.0;
}

void raw_samples_deinit(struct raw_samples *samples)
{
    free(samples->ns);
    *samples = (struct raw_samples){0};
}

/* --- files ---------------------------------------------------------------------------------------- */

int raw_written_file(const char *path, uint64_t size_bytes)
{
    const size_t step_bytes = 1 << 20;
    struct stat found;
    int file = open(path, O_RDWR | O_CREAT, 0644);
    if (file < 0 || fstat(file, &found) != 0) {
        raw_fail(path, strerror(errno));
    }
    if ((uint64_t)found.st_size == size_bytes) {
        return file;
    }
    uint8_t *zeros = raw_allocate(step_bytes);
    for (uint64_t at = 0; at < size_bytes; at += step_bytes) {
        if (pwrite(file, zeros, step_bytes, (off_t)at) != (ssize_t)step_bytes) {
            raw_fail(path, strerror(errno));
        }
    }
    free(zeros);
    if (fsync(file) != 0) {
        raw_fail(path, strerror(errno));
    }
    return file;
}

/* --- rows ----------------------------------------------------------------------------------------- */

enum load_key_form raw_keys_of_name(const char *name)
{
    if (strcmp(name, "hashed") == 0) {
        return LOAD_KEY_HASHED;
    }
    if (strcmp(name, "series") == 0) {
        return LOAD_KEY_SERIES;
    }
    raw_fail(name, "keys are hashed or series");
}

size_t raw_key(enum load_key_form form, uint64_t number, uint8_t ret_key[LOAD_ROW_KEY_BYTES_MAX])
{
    return load_row_key(form, SERIES_HOSTS, number, ret_key);
}

void raw_value(uint64_t number, uint8_t *ret_value, size_t value_bytes)
{
    struct prng prng = prng_of_seed(number);
    for (size_t i = 0; i < value_bytes; i += sizeof(uint64_t)) {
        uint64_t word = prng_next(&prng);
        size_t left = value_bytes - i;
        memcpy(ret_value + i, &word, left < sizeof word ? left : sizeof word);
    }
}
