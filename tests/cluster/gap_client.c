/*
 * How long each of some rows could not be written to, or read, for test_hand_over.sh:
 *
 *   gap_client TABLE FAMILY ROW...
 *
 * Adds one to a cell of each row, over and over, one request a row at a time, and beside it reads each row, some hundred
 * times a second.  Prints "ready" when every row has been written to for a while; from then on it notes, a row, the longest
 * time from one acknowledgement to the next, and that of a read.  On SIGTERM it prints, a row,
 *
 *   ROW gap_ms=N p50_ms=N adds=N read_ms=N reads=N
 *
 * Exit status 1, and why: an add or a read failed, a read shows less than was acknowledged before it began, or a row's sum
 * is not the number of adds that were acknowledged.
 * Masters: EDUBBA_MASTERS.
 */
#include <edubba.h>

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MAX   64
#define WARM_ADDS  200     /* a row, before anything is noted */
#define STEP_US    50      /* of the histogram that the median is read from */
#define STEPS      20000   /* up to a second */
#define TICK_NS    2000000 /* how often the main thread looks, and each row is read */
#define PATIENCE_S 300

struct lane {
    const char *row;
    struct edubba_table *table;
    const char *family;
    _Atomic uint64_t adds;
    /* From then on the completion alone touches what follows about reads; until then the main
     * thread does. */
    atomic_bool is_read;
    uint64_t reads;
    uint64_t added;  /* when the read began */
    double begun_ms; /* the read */
    double read_ms;
    double last_ms; /* the adds' completion's, from here on */
    double gap_ms;
    uint32_t steps[STEPS];
};

static struct lane lanes[ROWS_MAX];
static int lane_count;
static atomic_bool noting;
static atomic_bool ending;
static atomic_bool failed;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&ending, true);
}

static void fail(const char *row, const char *text)
{
    printf("FAILED: row %s: %s\n", row, text);
    atomic_store(&failed, true);
    atomic_store(&ending, true);
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void add(struct lane *lane);

static void note(struct lane *lane)
{
    double done_ms = now_ms();
    double took_ms = done_ms - lane->last_ms;
    lane->last_ms = done_ms;
    if (!atomic_load(&noting)) {
        return;
    }
    uint64_t step = (uint64_t)(took_ms * 1000 / STEP_US);
    lane->steps[step < STEPS ? step : STEPS - 1]++;
    lane->gap_ms = took_ms > lane->gap_ms ? took_ms : lane->gap_ms;
}

static void on_added(void *context, const struct edubba_result *result)
{
    struct lane *lane = context;
    if (result->code != EDUBBA_OK) {
        fail(lane->row, result->text);
        return;
    }
    note(lane);
    atomic_fetch_add(&lane->adds, 1);
    if (!atomic_load(&ending)) {
        add(lane);
    }
}

static void add(struct lane *lane)
{
    struct edubba_error error;
    const struct edubba_mutation one = edubba_add_int64(lane->family, EDUBBA_TEXT("n"), 0, 1);
    const struct edubba_operation operation = {.kind = EDUBBA_OPERATION_MUTATE,
                                               .row = EDUBBA_TEXT(lane->row),
                                               .mutations = &one,
                                               .mutation_count = 1};
    if (edubba_submit(lane->table, &operation, on_added, lane, &error) != EDUBBA_OK) {
        fail(lane->row, error.text);
    }
}

/* --- reading ------------------------------------------------------------------------------------ */

static uint64_t load_be64_of(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static uint64_t sum_in(const struct edubba_row *row)
{
    bool is_sum = row != NULL && row->cell_count == 1 && row->cells[0].value.size == 8;
    return is_sum ? load_be64_of(row->cells[0].value.data) : 0;
}

static void fail_at(const char *row, const char *format, uint64_t sum, uint64_t adds)
{
    char text[96];
    (void)snprintf(text, sizeof text, format, sum, adds);
    fail(row, text);
}

static void on_read(void *context, const struct edubba_result *result)
{
    struct lane *lane = context;
    double took_ms = now_ms() - lane->begun_ms;
    if (result->code != EDUBBA_OK) {
        fail(lane->row, result->text);
    } else if (sum_in(result->row) < lane->added) {
        fail_at(lane->row, "read: %" PRIu64 ", when %" PRIu64 " adds had been acknowledged",
                sum_in(result->row), lane->added);
    }
    if (atomic_load(&noting)) {
        lane->read_ms = took_ms > lane->read_ms ? took_ms : lane->read_ms;
        lane->reads++;
    }
    atomic_store(&lane->is_read, false);
}

static void read_lane(struct lane *lane)
{
    struct edubba_error error;
    const struct edubba_operation operation = {.kind = EDUBBA_OPERATION_READ,
                                               .row = EDUBBA_TEXT(lane->row)};
    lane->begun_ms = now_ms();
    lane->added = atomic_load(&lane->adds);
    atomic_store(&lane->is_read, true);
    if (edubba_submit(lane->table, &operation, on_read, lane, &error) != EDUBBA_OK) {
        fail(lane->row, error.text);
    }
}

static void read_lanes(void)
{
    for (int i = 0; i < lane_count && !atomic_load(&ending); i++) {
        if (!atomic_load(&lanes[i].is_read)) {
            read_lane(&lanes[i]);
        }
    }
}

/* --- the whole ---------------------------------------------------------------------------------- */

static double median_ms(const struct lane *lane)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    int step = 0;
    for (int i = 0; i < STEPS; i++) {
        total += lane->steps[i];
    }
    while (step < STEPS - 1 && seen + lane->steps[step] < (total + 1) / 2) {
        seen += lane->steps[step++];
    }
    return (double)step * STEP_US / 1000;
}

static void pause_a_little(void)
{
    const struct timespec pause = {0, TICK_NS};
    (void)nanosleep(&pause, NULL);
}

static bool all_are_warm(void)
{
    for (int i = 0; i < lane_count; i++) {
        if (atomic_load(&lanes[i].adds) < WARM_ADDS) {
            return false;
        }
    }
    return true;
}

/* The sum is what was acknowledged, no more and no less. */
static void check(const struct lane *lane)
{
    struct edubba_error error;
    struct edubba_row *row = NULL;
    enum edubba_code code = edubba_read_row(lane->table, EDUBBA_TEXT(lane->row), NULL, &row,
                                            &error);
    uint64_t sum = code == EDUBBA_OK ? sum_in(row) : 0;
    edubba_row_free(row);
    if (code != EDUBBA_OK) {
        fail(lane->row, error.text);
    } else if (lane->reads == 0) {
        fail(lane->row, "it was never read beside the adds");
    } else if (sum != atomic_load(&lane->adds)) {
        fail_at(lane->row, "the sum is %" PRIu64 ", %" PRIu64 " adds were acknowledged", sum,
                atomic_load(&lane->adds));
    }
}

static void run(void)
{
    double begun_ms = now_ms();
    for (int i = 0; i < lane_count; i++) {
        lanes[i].last_ms = begun_ms;
        add(&lanes[i]);
    }
    while (!atomic_load(&ending) && !all_are_warm()) {
        pause_a_little();
        if (now_ms() - begun_ms > PATIENCE_S * 1000) {
            fail("of all", "not every row was written to in time");
        }
    }
    atomic_store(&noting, true);
    printf("ready\n");
    (void)fflush(stdout);
    while (!atomic_load(&ending)) {
        read_lanes();
        pause_a_little();
    }
}

int main(int argument_count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client = NULL;
    struct edubba_table *table = NULL;
    struct edubba_error error;
    lane_count = argument_count - 3;
    if (lane_count < 1 || lane_count > ROWS_MAX) {
        fprintf(stderr, "usage: gap_client TABLE FAMILY ROW...\n");
        return 2;
    }
    (void)signal(SIGTERM, on_signal);
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[1], &table, &error) != EDUBBA_OK) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    for (int i = 0; i < lane_count; i++) {
        lanes[i].row = arguments[3 + i];
        lanes[i].table = table;
        lanes[i].family = arguments[2];
    }
    run();
    edubba_drain(client);
    for (int i = 0; i < lane_count; i++) {
        printf("%s gap_ms=%.1f p50_ms=%.2f adds=%" PRIu64 " read_ms=%.1f reads=%" PRIu64 "\n",
               lanes[i].row, lanes[i].gap_ms, median_ms(&lanes[i]),
               (uint64_t)atomic_load(&lanes[i].adds), lanes[i].read_ms, lanes[i].reads);
        check(&lanes[i]);
    }
    edubba_table_close(table);
    edubba_client_close(client);
    return atomic_load(&failed) ? 1 : 0;
}
