/*
 * Writes through libedubba until told to stop, then reads everything back and compares exactly.
 *
 *   load_and_verify MASTERS TABLE SECONDS     (SIGTERM or SECONDS end the writing)
 *
 * Five kinds of write, each of which shows another way to lose or double one:
 *   add     AddToCell of 1 to one of few sums          total must equal the acknowledged adds
 *   rmw     increment of one of few plain counters     the same
 *   set     a row of its own                           every acknowledged row is there, unchanged
 *   claim   check-and-mutate "if absent" on a row      exactly one attempt was told "not matched"
 *   batch   adds of 1 to many sums in one call         total must equal the acknowledged adds
 *
 * Operations whose outcome stayed unknown (none, with a patient deadline) widen what is accepted
 * by just themselves, and are reported.  Ends with "N passed, N failed".
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edubba.h"

#define IN_FLIGHT   64
#define COUNTERS    8
#define BATCH_ROWS  40 /* each counter several times */
#define DEADLINE_MS 120000
#define ROWS_MAX    4000000

enum kind {
    KIND_ADD,
    KIND_RMW,
    KIND_SET,
    KIND_CLAIM,
    KIND_BATCH,
    KIND_COUNT,
};

static const char *const KIND_NAMES[KIND_COUNT] = {"add", "rmw", "set", "claim", "batch"};

struct slot {
    enum kind kind;
    uint64_t number;
};

static volatile sig_atomic_t stop_requested;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t in_flight;
static uint64_t acknowledged[KIND_COUNT][COUNTERS];
static uint64_t unknown[KIND_COUNT][COUNTERS];
static uint64_t refused;
static uint8_t *row_state; /* by number of SET: 1 = acknowledged, 2 = unknown */
static uint64_t first_error_shown;

static void on_signal(int number)
{
    (void)number;
    stop_requested = 1;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void one_less(void)
{
    in_flight -= 1;
    pthread_cond_signal(&changed);
}

static void on_done(void *context, const struct edubba_result *result)
{
    struct slot *slot = context;

    pthread_mutex_lock(&lock);
    uint64_t counter = slot->number % COUNTERS;
    if (result->code == EDUBBA_OK) {
        if (slot->kind != KIND_CLAIM || !result->matched) {
            acknowledged[slot->kind][counter] += 1;
        }
        if (slot->kind == KIND_SET) {
            row_state[slot->number] = 1;
        }
    } else if (result->code == EDUBBA_DEADLINE_EXCEEDED || result->code == EDUBBA_UNAVAILABLE) {
        unknown[slot->kind][counter] += 1;
        if (slot->kind == KIND_SET) {
            row_state[slot->number] = 2;
        }
    } else {
        refused += 1;
    }
    if (result->code != EDUBBA_OK && first_error_shown < 5) {
        first_error_shown += 1;
        fprintf(stderr, "%s: %s: %s\n", KIND_NAMES[slot->kind], edubba_code_name(result->code),
                result->text);
    }
    one_less();
    pthread_mutex_unlock(&lock);
    free(slot);
}

/* Entry i of a batch adds to counter i modulo their number. */
static void on_batch_done(void *context, const struct edubba_rows_result *result)
{
    size_t failure = 0;
    (void)context;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < result->entry_count; i++) {
        enum edubba_code code = EDUBBA_OK;
        if (failure < result->failure_count && result->failures[failure].entry == i) {
            code = result->failures[failure].code;
            failure += 1;
        }
        if (code == EDUBBA_OK) {
            acknowledged[KIND_BATCH][i % COUNTERS] += 1;
        } else if (code == EDUBBA_DEADLINE_EXCEEDED || code == EDUBBA_UNAVAILABLE) {
            unknown[KIND_BATCH][i % COUNTERS] += 1;
        } else {
            refused += 1;
        }
    }
    if (result->code != EDUBBA_OK && first_error_shown < 5) {
        first_error_shown += 1;
        fprintf(stderr, "batch: %s: %s\n", edubba_code_name(result->code),
                result->failures[0].text);
    }
    one_less();
    pthread_mutex_unlock(&lock);
}

static void row_of(char *out, size_t size, enum kind kind, uint64_t number)
{
    static const char *const SHAPES[KIND_COUNT] = {"add", "rmw", "set", "claim", "batch"};
    uint64_t spread = kind == KIND_SET ? number : number % COUNTERS;
    /* Rows spread over the table: the first character cuts it into tablets. */
    snprintf(out, size, "%c#%s#%012" PRIu64, (char)('a' + spread % 26), SHAPES[kind], spread);
}

static void submit(struct edubba_table *table, enum kind kind, uint64_t number)
{
    char row[64];
    char value[32];
    struct edubba_mutation mutation = {0};
    struct edubba_rmw_rule rule = {0};
    struct edubba_error error;
    struct edubba_operation operation = {.deadline_ms = DEADLINE_MS};
    struct slot *slot = malloc(sizeof *slot);

    *slot = (struct slot){kind, number};
    row_of(row, sizeof row, kind, number);
    operation.row = EDUBBA_TEXT(row);
    snprintf(value, sizeof value, "%" PRIu64, number);
    if (kind == KIND_ADD) {
        mutation = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    } else {
        mutation = edubba_set_cell("plain", EDUBBA_TEXT("v"), 0, EDUBBA_TEXT(value));
    }
    operation.kind = EDUBBA_OPERATION_MUTATE;
    operation.mutations = &mutation;
    operation.mutation_count = 1;
    if (kind == KIND_RMW) {
        rule = (struct edubba_rmw_rule){EDUBBA_INCREMENT, EDUBBA_TEXT("plain"), EDUBBA_TEXT("n"),
                                        EDUBBA_NOTHING, 1};
        operation.kind = EDUBBA_OPERATION_READ_MODIFY_WRITE;
        operation.rules = &rule;
        operation.rule_count = 1;
    } else if (kind == KIND_CLAIM) {
        operation.kind = EDUBBA_OPERATION_CHECK_AND_MUTATE;
        operation.mutations = NULL;
        operation.mutation_count = 0;
        operation.otherwise = &mutation;
        operation.otherwise_count = 1;
    }
    if (edubba_submit(table, &operation, on_done, slot, &error) != EDUBBA_OK) {
        fprintf(stderr, "submit: %s\n", error.text);
        exit(1);
    }
}

static void submit_batch(struct edubba_table *table)
{
    char rows[COUNTERS][64];
    struct edubba_entry entries[BATCH_ROWS];
    struct edubba_mutation add = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_error error;
    for (uint64_t i = 0; i < COUNTERS; i++) {
        row_of(rows[i], sizeof rows[i], KIND_BATCH, i);
    }
    for (size_t i = 0; i < BATCH_ROWS; i++) {
        entries[i] = (struct edubba_entry){EDUBBA_TEXT(rows[i % COUNTERS]), &add, 1};
    }
    if (edubba_submit_rows(table, entries, BATCH_ROWS, DEADLINE_MS, on_batch_done, NULL, &error) !=
        EDUBBA_OK) {
        fprintf(stderr, "submit: %s\n", error.text);
        exit(1);
    }
}

static uint64_t write_until_told(struct edubba_table *table, int seconds)
{
    uint64_t random = 88172645463325252u;
    uint64_t number = 0;
    uint64_t sets = 0;
    time_t end = time(NULL) + seconds;

    while (!stop_requested && time(NULL) < end && sets < ROWS_MAX) {
        pthread_mutex_lock(&lock);
        while (in_flight >= IN_FLIGHT) {
            pthread_cond_wait(&changed, &lock);
        }
        in_flight += 1;
        pthread_mutex_unlock(&lock);
        uint64_t dice = random_next(&random) % 100;
        enum kind kind = dice < 10   ? KIND_BATCH
                         : dice < 60 ? KIND_ADD
                         : dice < 75 ? KIND_RMW
                         : dice < 95 ? KIND_SET
                                     : KIND_CLAIM;
        if (kind == KIND_BATCH) {
            submit_batch(table);
        } else {
            submit(table, kind, kind == KIND_SET ? sets++ : number);
        }
        number += 1;
    }
    pthread_mutex_lock(&lock);
    while (in_flight > 0) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return sets;
}

/* --- reading back ------------------------------------------------------------------------------- */

static uint64_t passed;
static uint64_t failed;

static void expect(bool good, const char *format, const char *row, uint64_t got, uint64_t wanted)
{
    if (good) {
        passed += 1;
    } else {
        failed += 1;
        if (failed < 20) {
            printf(format, row, got, wanted);
        }
    }
}

static int64_t read_number(struct edubba_table *table, const char *row)
{
    struct edubba_row *found = NULL;
    struct edubba_error error;
    int64_t value = 0;

    if (edubba_read_row(table, EDUBBA_TEXT(row), NULL, &found, &error) != EDUBBA_OK) {
        printf("read %s: %s\n", row, error.text);
        failed += 1;
        return -1;
    }
    if (found != NULL && found->cell_count > 0) {
        (void)edubba_aggregate_value(found->cells[0].value, &value);
    }
    edubba_row_free(found);
    return value;
}

static void verify_counters(struct edubba_table *table, enum kind kind)
{
    for (uint64_t i = 0; i < COUNTERS; i++) {
        char row[64];
        row_of(row, sizeof row, kind, i);
        uint64_t got = (uint64_t)read_number(table, row);
        uint64_t low = acknowledged[kind][i];
        expect(got >= low && got <= low + unknown[kind][i],
               "%s holds %" PRIu64 ", acknowledged were %" PRIu64 "\n", row, got, low);
    }
}

static void verify_claims(struct edubba_table *table)
{
    for (uint64_t i = 0; i < COUNTERS; i++) {
        char row[64];
        struct edubba_row *found = NULL;
        row_of(row, sizeof row, KIND_CLAIM, i);
        bool there = edubba_read_row(table, EDUBBA_TEXT(row), NULL, &found, NULL) == EDUBBA_OK &&
                     found != NULL;
        uint64_t claims = acknowledged[KIND_CLAIM][i];
        expect(there ? claims + unknown[KIND_CLAIM][i] >= 1 && claims <= 1 : claims == 0,
               "%s was claimed %" PRIu64 " times, wanted %" PRIu64 "\n", row, claims, 1);
        edubba_row_free(found);
    }
}

static void verify_rows(struct edubba_table *table, uint64_t sets)
{
    struct edubba_scan *scan = NULL;
    struct edubba_scan_options options = {.filter = NULL};
    struct edubba_error error;
    const struct edubba_row *row = NULL;
    uint64_t seen = 0;

    if (edubba_scan_open(table, &options, &scan, &error) != EDUBBA_OK) {
        printf("scan: %s\n", error.text);
        failed += 1;
        return;
    }
    while (edubba_scan_next(scan, &row, &error) == EDUBBA_OK && row != NULL) {
        char key[64] = "";
        char wanted[64];
        memcpy(key, row->key.data, row->key.size < sizeof key ? row->key.size : sizeof key - 1);
        if (strncmp(key + 1, "#set#", 5) != 0) {
            continue;
        }
        uint64_t number = strtoull(key + 6, NULL, 10);
        char value[32];
        int length = snprintf(value, sizeof value, "%" PRIu64, number);
        row_of(wanted, sizeof wanted, KIND_SET, number);
        bool good = strcmp(key, wanted) == 0 && row->cell_count == 1 &&
                    row->cells[0].value.size == (size_t)length &&
                    memcmp(row->cells[0].value.data, value, (size_t)length) == 0 && number < sets;
        expect(good, "row %s is not what was written (%" PRIu64 " of %" PRIu64 ")\n", key, number,
               sets);
        if (good) {
            row_state[number] |= 4;
            seen += 1;
        }
    }
    edubba_scan_close(scan);
    for (uint64_t i = 0; i < sets; i++) {
        if (row_state[i] == 1) {
            char key[64];
            row_of(key, sizeof key, KIND_SET, i);
            expect(false, "acknowledged row %s is lost (%" PRIu64 " of %" PRIu64 ")\n", key, i,
                   sets);
        }
    }
    printf("rows written %" PRIu64 ", read back %" PRIu64 "\n", sets, seen);
}

int main(int argument_count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client = NULL;
    struct edubba_table *table = NULL;
    struct edubba_error error;

    if (argument_count != 4) {
        fprintf(stderr, "usage: load_and_verify MASTERS TABLE SECONDS\n");
        return 2;
    }
    options.masters = arguments[1];
    options.deadline_ms = DEADLINE_MS;
    row_state = calloc(ROWS_MAX, 1);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[2], &table, &error) != EDUBBA_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    uint64_t sets = write_until_told(table, (int)strtol(arguments[3], NULL, 10));
    uint64_t total = 0;
    uint64_t lost_sight = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (int i = 0; i < COUNTERS; i++) {
            total += acknowledged[kind][i];
            lost_sight += unknown[kind][i];
        }
    }
    verify_counters(table, KIND_ADD);
    verify_counters(table, KIND_RMW);
    verify_counters(table, KIND_BATCH);
    verify_claims(table);
    verify_rows(table, sets);
    edubba_table_close(table);
    edubba_client_close(client);
    printf("acknowledged %" PRIu64 ", unknown %" PRIu64 ", refused %" PRIu64 "\n", total,
           lost_sight, refused);
    failed += refused > 0;
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
