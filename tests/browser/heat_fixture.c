/*
 * heat_fixture FOLDER TABLE [MINUTES]: write a known history of load into a master's folder, as if the table
 * had had it: what the browser test then reads back from the picture.
 *
 *   keys     user0000#00 ... user9999#99, 20 tablets of 500 users, all of one size
 *   always   128 reads/s, even over all users
 *   hot      in the second third of the time 2 560 reads/s more, of user2000 to user2499 alone: the 5th tablet
 *   writer   10 writes/s, to users that rise from user0000 to user9999 over the time: a diagonal
 *
 * Prints one line of JSON: when the hot time began and ended, in us, and how many operations there were.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/clock.h"
#include "master/console/heat_store.h"

#define SECOND_US  INT64_C(1000000)
#define STEP_US    (5 * SECOND_US)
#define USERS      10000
#define TABLETS    20
#define POINTS     32
#define EVEN_READS 640 /* a step */
#define HOT_READS  12800
#define OPERATION  10000 /* ns of CPU time */
#define READ_BYTES 1000

struct fixture {
    struct heat_map map;
    uint64_t table;
    int64_t begin_us;
    int64_t end_us;
    int64_t now_us;
    uint64_t operations;
};

static char keys[POINTS + 2][16];

static struct bytes user(size_t slot, uint64_t number)
{
    (void)snprintf(keys[slot], sizeof keys[slot], "user%04" PRIu64, number % 100000);
    return number == 0 || number >= USERS ? BYTES_EMPTY : bytes_of_text(keys[slot]);
}

/* Reads and writes of a tablet, even between two users: as a server would report them. */
static void report(
    struct fixture *fixture, uint64_t from, uint64_t to, uint64_t reads, uint64_t writes)
{
    struct load_point points[POINTS];
    struct tablet_load load = {.tablet = 100 + from / (USERS / TABLETS)};
    const struct load_report head = {.elapsed_ns = 5000000000, .capacity_ns = 10000000000};
    struct located_report *report = located_report_create(1, &head, 1);
    uint64_t first = from / (USERS / TABLETS) * (USERS / TABLETS);
    const struct row_range range = {user(POINTS, first), user(POINTS + 1, first + USERS / TABLETS)};
    size_t count = to - from < POINTS ? to - from : POINTS;

    for (size_t i = 0; i < count; i++) {
        uint64_t at = from + (to - from) * i / count;
        points[i] = (struct load_point){
            .row = at == 0 ? bytes_of_text("user0000") : user(i, at),
            .reads = reads / count + (i < reads % count),
            .writes = writes / count + (i < writes % count),
        };
    }
    load.figures = (struct load_figures){
        .reads = reads,
        .read_rows = reads,
        .read_bytes = reads * READ_BYTES,
        .read_cpu_ns = reads * OPERATION,
        .writes = writes,
        .write_cells = writes,
        .write_bytes = writes * READ_BYTES,
        .write_cpu_ns = writes * OPERATION,
    };
    load.detail = (struct load_detail){.points = points, .point_count = count};
    if (report == NULL || !located_report_add(report, fixture->table, &range, &load)) {
        abort();
    }
    heat_map_take(&fixture->map, report, fixture->now_us);
    located_report_destroy(report);
    fixture->operations += reads + writes;
}

static void sweep(struct fixture *fixture)
{
    heat_map_sweep_begin(&fixture->map);
    for (uint64_t i = 0; i < TABLETS; i++) {
        const struct row_range range = {user(POINTS, i * USERS / TABLETS),
                                        user(POINTS + 1, (i + 1) * USERS / TABLETS)};
        heat_map_sweep(&fixture->map, fixture->table, &range, UINT64_C(64) << 20);
    }
    heat_map_sweep_end(&fixture->map);
}

static void step(struct fixture *fixture)
{
    int64_t span_us = fixture->end_us - fixture->begin_us;
    int64_t gone_us = fixture->now_us - fixture->begin_us;
    uint64_t writer = (uint64_t)((double)(USERS - 10) * (double)gone_us / (double)span_us);

    for (uint64_t i = 0; i < TABLETS; i++) {
        report(fixture, i * USERS / TABLETS, (i + 1) * USERS / TABLETS, EVEN_READS / TABLETS, 0);
    }
    if (gone_us >= span_us / 3 && gone_us < span_us / 3 * 2) {
        report(fixture, 2000, 2500, HOT_READS, 0);
    }
    report(fixture, writer, writer + 5, 0, 50);
    if (gone_us / STEP_US % 2 == 0) {
        sweep(fixture);
    }
}

static void ignore(void *context, const struct heat_table *table, size_t layer, int64_t start_us)
{
    (void)context;
    (void)table;
    (void)layer;
    (void)start_us;
}

int main(int argument_count, char **arguments)
{
    const struct heat_gone_to nobody = {ignore, NULL};
    const struct console_owner owner = {1, ""}; /* as a master whose settings say nothing */
    struct fixture fixture = {0};
    int minutes = argument_count > 3 ? atoi(arguments[3]) : 60;

    if (argument_count < 3 || minutes < 3) {
        fprintf(stderr, "usage: heat_fixture FOLDER TABLE [MINUTES]\n");
        return 2;
    }
    fixture.table = strtoull(arguments[2], NULL, 10);
    fixture.end_us = clock_wall_us() / (60 * SECOND_US) * (60 * SECOND_US);
    fixture.begin_us = fixture.end_us - minutes * 60 * SECOND_US;
    heat_map_init(&fixture.map, HEAT_BYTES_MAX, &nobody);
    struct heat_store *store = heat_store_open(arguments[1], &owner);
    if (store == NULL) {
        return 1;
    }
    for (fixture.now_us = fixture.begin_us; fixture.now_us < fixture.end_us;
         fixture.now_us += STEP_US) {
        heat_map_age(&fixture.map, fixture.now_us, false);
        step(&fixture);
    }
    heat_map_age(&fixture.map, fixture.end_us, true);
    heat_store_save(store, &fixture.map);
    heat_store_close(store);
    heat_map_deinit(&fixture.map);
    printf("{\"begin_us\":%lld,\"end_us\":%lld,\"hot_begin_us\":%lld,\"hot_end_us\":%lld,"
           "\"operations\":%llu}\n",
           (long long)fixture.begin_us, (long long)fixture.end_us,
           (long long)(fixture.begin_us + (fixture.end_us - fixture.begin_us) / 3),
           (long long)(fixture.begin_us + (fixture.end_us - fixture.begin_us) / 3 * 2),
           (unsigned long long)fixture.operations);
    return 0;
}
