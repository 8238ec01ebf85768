/*
 * What the raw programs share: options, a clock, samples of latency, rows.
 *
 * A raw program does by itself, with nothing of Edubba around it, what a record of tests/bench/run
 * stands on, and prints one line of JSON.  So it says what the disk, LMDB or nng allow on this
 * machine, in the same minute.  Wrong use and failing calls end the program with a sentence on
 * stderr: it has nobody to hand an error to.
 */
#ifndef TESTS_BENCH_RAW_H
#define TESTS_BENCH_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/load/core/row_key.h"

/* --- options: --name VALUE ----------------------------------------------------------------------- */

/* Ends the program when an option is not in the list (NULL-terminated), or has no value. */
void raw_check_options(int argc, char **argv, const char *const *names);
uint64_t raw_option_number(int argc, char **argv, const char *name, uint64_t otherwise);
const char *raw_option_text(int argc, char **argv, const char *name, const char *otherwise);

/* --- time ---------------------------------------------------------------------------------------- */

int64_t raw_now_ns(void);

/* Microseconds of single operations, kept one by one.  One thread at a time. */
struct raw_samples {
    uint32_t *ns;
    size_t count;
    size_t capacity;
};

void raw_samples_add(struct raw_samples *samples, int64_t ns);
void raw_samples_join(struct raw_samples *samples, struct raw_samples *from); /* empties `from` */
/* Sorts them. 0 when there are none. */
double raw_samples_percentile_us(struct raw_samples *samples, double percentile);
void raw_samples_deinit(struct raw_samples *samples);

/* --- files --------------------------------------------------------------------------------------- */

/* Open for reading and writing, of this size (a multiple of 1 MiB), written from end to end and
 * synced: no later write changes its size or place.  One of this size is taken as it is. */
int raw_written_file(const char *path, uint64_t size_bytes);

/* --- rows: the load generator's (client/load/core) ------------------------------------------------ */

/* Ends the program for anything but "hashed" (scattered) and "series" (1 000 hosts in arrival
 * order). */
enum load_key_form raw_keys_of_name(const char *name);
size_t raw_key(enum load_key_form form, uint64_t number, uint8_t ret_key[LOAD_ROW_KEY_BYTES_MAX]);
void raw_value(uint64_t number, uint8_t *ret_value, size_t value_bytes);

/* --- failing ------------------------------------------------------------------------------------- */

_Noreturn void raw_fail(const char *what, const char *why);
void *raw_allocate(size_t size_bytes); /* zeroed */

#endif /* TESTS_BENCH_RAW_H */
