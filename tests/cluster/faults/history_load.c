/*
 * Load whose history is kept, for check_history.py.  Masters: EDUBBA_MASTERS.
 *
 *   history_load TABLE HISTORY write|read|add|final KEYS SECONDS [THREADS [PAUSE_MS [FIRST]]]
 *     write   a thread a key, each changes its row over and over
 *     read    so many threads (default 4) read rows at random
 *     add     so many threads increment p:t of rows at random
 *     final   each row once, whole, patiently
 *   PAUSE_MS (default 4) after each operation.  At random: from key FIRST (default 0) on.  SIGTERM or SECONDS end it.  Families: plain p, aggregate s (intsum).
 *
 * A row is three registers in one.  Change number n of a row, from 1, sets p:a and p:b, both to n at the
 * timestamp n ms, and adds 1 to s:n, in one call; every fourth time an increment of p:t comes before it.
 * So the newest version of p:a never goes back whatever comes late; all versions together are all
 * changes that were made; and the sum is their count, exactly, whether they were acknowledged or not.
 *
 * HISTORY, a line an operation, times in ns of CLOCK_BOOTTIME, OUTCOME a code's name:
 *   W key n begin end OUTCOME
 *   T key begin end OUTCOME value          value after the increment
 *   R key begin end OUTCOME a b sum t      newest versions; 0 where there is none
 *   F key OUTCOME sum t a,a,... b,b,...    all versions
 *   S text                                 what an outcome other than OK says, some of them
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

#define KEYS_MAX         256
#define WRITE_DEADLINE   20000 /* ms */
#define READ_DEADLINE    2000
#define FINAL_DEADLINE   20000
#define PAUSE_MS         4
#define PAUSE_MS_MAX     999
#define MS_PER_CHANGE_US 1000
#define TEXTS_MAX        40

struct worker {
    pthread_t thread;
    struct edubba_table *table;
    FILE *history;
    uint32_t key;
    uint32_t keys;
    uint32_t first;
    long pause_ms;
    uint64_t random;
};

static volatile sig_atomic_t stop_requested;
static uint64_t end_ns;
static atomic_uint texts;

static void on_signal(int number)
{
    (void)number;
    stop_requested = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool goes_on(void)
{
    return !stop_requested && now_ns() < end_ns;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {0, ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* Keys spread over the alphabet, so that splits at letters cut them into tablets. */
static void key_text(char ret_text[32], uint32_t key)
{
    (void)snprintf(ret_text, 32, "%c%03u", (char)('a' + key % 26), key);
}

static void tell(const struct worker *worker,
                 enum edubba_code code,
                 const struct edubba_error *error)
{
    if (code != EDUBBA_OK && atomic_fetch_add(&texts, 1) < TEXTS_MAX) {
        fprintf(worker->history, "S %s %s\n", edubba_code_name(code), error->text);
    }
}

static void random_key(struct worker *worker, char ret_text[32])
{
    worker->random = worker->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    key_text(ret_text, worker->first + (uint32_t)((worker->random >> 33) % worker->keys));
}

/* --- writing ------------------------------------------------------------------------------------ */

static void increment(const struct worker *worker, const char *key)
{
    struct edubba_rmw_rule rule = {EDUBBA_INCREMENT, EDUBBA_TEXT("p"), EDUBBA_TEXT("t"),
                                   EDUBBA_NOTHING, 1};
    struct edubba_row *row = NULL;
    struct edubba_error error;
    int64_t value = 0;
    uint64_t begin = now_ns();
    enum edubba_code code = edubba_read_modify_write_row(worker->table, EDUBBA_TEXT(key), &rule, 1,
                                                         &row, &error);
    uint64_t end = now_ns();
    if (code == EDUBBA_OK && row != NULL && row->cell_count == 1) {
        (void)edubba_aggregate_value(row->cells[0].value, &value);
    }
    edubba_row_free(row);
    fprintf(worker->history, "T %s %" PRIu64 " %" PRIu64 " %s %" PRId64 "\n", key, begin, end,
            edubba_code_name(code), value);
    tell(worker, code, &error);
}

static void change(const struct worker *worker, const char *key, uint64_t n)
{
    char value[32];
    struct edubba_error error;
    int64_t at_us = (int64_t)n * MS_PER_CHANGE_US;
    (void)snprintf(value, sizeof value, "%" PRIu64, n);
    struct edubba_mutation mutations[3] = {
        edubba_set_cell("p", EDUBBA_TEXT("a"), at_us, EDUBBA_TEXT(value)),
        edubba_add_int64("s", EDUBBA_TEXT("n"), 0, 1),
        edubba_set_cell("p", EDUBBA_TEXT("b"), at_us, EDUBBA_TEXT(value)),
    };
    uint64_t begin = now_ns();
    enum edubba_code code = edubba_mutate_row(worker->table, EDUBBA_TEXT(key), mutations, 3,
                                              &error);
    fprintf(worker->history, "W %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", key, n, begin,
            now_ns(), edubba_code_name(code));
    tell(worker, code, &error);
}

static void *write_rows(void *context)
{
    struct worker *worker = context;
    char key[32];
    key_text(key, worker->key);
    edubba_thread_deadline(WRITE_DEADLINE);
    for (uint64_t n = 1; goes_on(); n++) {
        if (n % 4 == 0) {
            increment(worker, key);
        }
        change(worker, key, n);
        pause_ms(worker->pause_ms);
    }
    return NULL;
}

static void *add_to_rows(void *context)
{
    struct worker *worker = context;
    char key[32];
    edubba_thread_deadline(WRITE_DEADLINE);
    while (goes_on()) {
        random_key(worker, key);
        increment(worker, key);
        pause_ms(worker->pause_ms);
    }
    return NULL;
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool is(struct edubba_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static uint64_t number_in(const struct edubba_cell *cell)
{
    char text[32] = "";
    int64_t value = 0;
    if (is(cell->family, "s") || is(cell->qualifier, "t")) {
        (void)edubba_aggregate_value(cell->value, &value);
        return (uint64_t)value;
    }
    memcpy(text, cell->value.data, cell->value.size < 31 ? cell->value.size : 31);
    return strtoull(text, NULL, 10);
}

/* The newest in a column; 0: none. */
static uint64_t newest(const struct edubba_row *row, const char *qualifier)
{
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (is(row->cells[i].qualifier, qualifier)) {
            return number_in(&row->cells[i]);
        }
    }
    return 0;
}

static void *read_rows(void *context)
{
    struct worker *worker = context;
    struct edubba_filter *filter = edubba_filter_cells_per_column_limit(1);
    char key[32];
    edubba_thread_deadline(READ_DEADLINE);
    while (goes_on()) {
        struct edubba_row *row = NULL;
        struct edubba_error error;
        random_key(worker, key);
        uint64_t begin = now_ns();
        enum edubba_code code = edubba_read_row(worker->table, EDUBBA_TEXT(key), filter, &row,
                                                &error);
        uint64_t end = now_ns();
        fprintf(worker->history,
                "R %s %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                key, begin, end, edubba_code_name(code), newest(row, "a"), newest(row, "b"),
                newest(row, "n"), newest(row, "t"));
        tell(worker, code, &error);
        edubba_row_free(row);
        pause_ms(worker->pause_ms);
    }
    edubba_filter_free(filter);
    return NULL;
}

static void print_versions(FILE *to, const struct edubba_row *row, const char *qualifier)
{
    const char *between = " ";
    for (size_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (is(row->cells[i].qualifier, qualifier)) {
            fprintf(to, "%s%" PRIu64, between, number_in(&row->cells[i]));
            between = ",";
        }
    }
    if (*between == ' ') {
        fprintf(to, " -");
    }
}

static void read_final(struct worker *worker)
{
    char key[32];
    edubba_thread_deadline(FINAL_DEADLINE);
    for (uint32_t i = 0; i < worker->keys && goes_on(); i++) {
        struct edubba_row *row = NULL;
        struct edubba_error error;
        key_text(key, i);
        enum edubba_code code = edubba_read_row(worker->table, EDUBBA_TEXT(key), NULL, &row,
                                                &error);
        fprintf(worker->history, "F %s %s %" PRIu64 " %" PRIu64, key, edubba_code_name(code),
                newest(row, "n"), newest(row, "t"));
        print_versions(worker->history, row, "a");
        print_versions(worker->history, row, "b");
        fprintf(worker->history, "\n");
        tell(worker, code, &error);
        edubba_row_free(row);
    }
}

/* --- both --------------------------------------------------------------------------------------- */

static void run_threads(const struct worker *model, uint32_t count, void *(*work)(void *))
{
    struct worker *workers = calloc(count, sizeof *workers);
    uint32_t started = 0;
    while (workers != NULL && started < count) {
        workers[started] = *model;
        workers[started].key = started;
        workers[started].random = now_ns() + started;
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) {
            break;
        }
        started += 1;
    }
    printf("READY\n");
    (void)fflush(stdout);
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    free(workers);
    if (started < count) {
        fprintf(stderr, "history_load: no memory for %" PRIu32 " threads\n", count);
        exit(1);
    }
}

int main(int argument_count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client = NULL;
    struct worker model = {0};
    struct edubba_error error;
    if (argument_count < 6 || argument_count > 9) {
        fprintf(stderr,
                "usage: history_load TABLE HISTORY write|read|add|final KEYS SECONDS [THREADS "
                "[PAUSE_MS [FIRST]]]\n");
        return 2;
    }
    (void)signal(SIGTERM, on_signal);
    model.keys = (uint32_t)strtoul(arguments[4], NULL, 10);
    model.history = fopen(arguments[2], "we");
    model.pause_ms = argument_count > 7 ? strtol(arguments[7], NULL, 10) : PAUSE_MS;
    model.first = argument_count > 8 ? (uint32_t)strtoul(arguments[8], NULL, 10) : 0;
    if (model.history == NULL || model.keys == 0 || model.keys > KEYS_MAX || model.pause_ms < 0 ||
        model.pause_ms > PAUSE_MS_MAX) {
        fprintf(stderr, "history_load: cannot write %s, not 1 to %d keys, or not 0 to %d ms\n",
                arguments[2], KEYS_MAX, PAUSE_MS_MAX);
        return 2;
    }
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[1], &model.table, &error) != EDUBBA_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    end_ns = now_ns() + strtoull(arguments[5], NULL, 10) * 1000000000;
    if (strcmp(arguments[3], "write") == 0) {
        run_threads(&model, model.keys, write_rows);
    } else if (strcmp(arguments[3], "read") == 0 || strcmp(arguments[3], "add") == 0) {
        uint32_t threads = argument_count > 6 ? (uint32_t)strtoul(arguments[6], NULL, 10) : 4;
        run_threads(&model, threads, arguments[3][0] == 'r' ? read_rows : add_to_rows);
    } else {
        read_final(&model);
    }
    edubba_table_close(model.table);
    edubba_client_close(client);
    return fclose(model.history) == 0 ? 0 : 1;
}
