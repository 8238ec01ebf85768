/*
 * The same rows, once with plain keys and once with salted ones: filled, and scanned whole, in the order of the
 * plain keys.  Prints rows a second as one line of JSON.
 *
 *   salted_scan --masters A --table T --rows N --salts S --what fill|scan      (S 0 = plain keys)
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <edubba.h>
#include <edubba_keys.h>

#include "tests/bench/raw/raw.h"

#define FAMILY      "cf"
#define VALUE_BYTES 100
#define BATCH_ROWS  500
#define DIGITS      12

struct job {
    struct edubba_client *client;
    struct edubba_table *table;
    uint64_t rows;
    uint32_t salts;
};

static void check(enum edubba_code code, const struct edubba_error *error)
{
    if (code != EDUBBA_OK) {
        raw_fail(edubba_code_name(error->code), error->text);
    }
}

/* "1#000000000042": the salt first, where there are any. */
static void key_of(const struct job *job, uint64_t number, struct edubba_key *key)
{
    char digits[DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%0*" PRIu64, DIGITS, number);
    edubba_key_init(key);
    if (job->salts > 0) {
        edubba_key_add_salt(key, edubba_salt(EDUBBA_TEXT(digits), job->salts), job->salts);
    }
    edubba_key_add_text(key, digits);
}

static void fill(const struct job *job)
{
    static struct edubba_key keys[BATCH_ROWS];
    static char value[VALUE_BYTES];
    static struct edubba_error errors[BATCH_ROWS];
    struct edubba_entry entries[BATCH_ROWS];
    const struct edubba_mutation mutation = edubba_set_cell(
        FAMILY, EDUBBA_TEXT("v"), 0, (struct edubba_bytes){value, sizeof value});

    memset(value, 'v', sizeof value);
    for (uint64_t first = 0; first < job->rows; first += BATCH_ROWS) {
        size_t count = job->rows - first < BATCH_ROWS ? (size_t)(job->rows - first) : BATCH_ROWS;
        for (size_t i = 0; i < count; i++) {
            key_of(job, first + i, &keys[i]);
            entries[i] = (struct edubba_entry){edubba_key_bytes(&keys[i]), &mutation, 1, NULL};
        }
        (void)edubba_mutate_rows(job->table, entries, count, errors);
        for (size_t i = 0; i < count; i++) {
            check(errors[i].code, &errors[i]);
        }
    }
}

/* All rows, in order: what comes is compared with what must. */
static void scan(const struct job *job)
{
    const struct edubba_scan_options options = {.deadline_ms = 60000};
    struct edubba_scan *scan = NULL;
    const struct edubba_row *row = NULL;
    struct edubba_error error;
    uint64_t seen = 0;

    check(job->salts > 0 ? edubba_scan_open_salted(job->table, &options, job->salts, &scan, &error)
                         : edubba_scan_open(job->table, &options, &scan, &error),
          &error);
    for (;; seen++) {
        struct edubba_key key;
        check(edubba_scan_next(scan, &row, &error), &error);
        if (row == NULL) {
            break;
        }
        key_of(job, seen, &key);
        if (row->key.size != key.size || memcmp(row->key.data, key.data, key.size) != 0) {
            raw_fail("scan", "a row is missing, or out of order");
        }
    }
    edubba_scan_close(scan);
    if (seen != job->rows) {
        raw_fail("scan", "there are fewer rows than were written");
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"masters", "table", "rows", "salts", "what", NULL};
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_error error;
    struct job job = {0};

    raw_check_options(argc, argv, names);
    options.masters = raw_option_text(argc, argv, "masters", "tcp://127.0.0.1:7400");
    job.rows = raw_option_number(argc, argv, "rows", 1000000);
    job.salts = (uint32_t)raw_option_number(argc, argv, "salts", 0);
    check(edubba_client_open(&options, &job.client, &error), &error);
    check(edubba_table_open(job.client, raw_option_text(argc, argv, "table", "T"), &job.table,
                            &error),
          &error);
    int64_t begun_ns = raw_now_ns();
    if (strcmp(raw_option_text(argc, argv, "what", "scan"), "fill") == 0) {
        fill(&job);
    } else {
        scan(&job);
    }
    double seconds = (double)(raw_now_ns() - begun_ns) / 1e9;
    printf("{\"rows\":%" PRIu64 ",\"seconds\":%.6f,\"per_second\":%.1f}\n", job.rows, seconds,
           (double)job.rows / seconds);
    edubba_table_close(job.table);
    edubba_client_close(job.client);
    return 0;
}
