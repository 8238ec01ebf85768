/*
 * Who goes through all tablets of a server misses none, and keeps nobody from the map: what is read and written down
 * meanwhile may take long.
 */
#include "tabletserver/serve/sync/served_list.h"

#include "common/base/memory.h"
#include "tabletserver/serve/status_report.h"
#include "tests/support/server_steps.h"

#define TABLETS 40 /* more than there is room for besides */
#define AT_ONCE 100

static atomic_bool counts_none;  /* as if all had come since they were counted */
static atomic_bool takes_map;    /* while a tablet is looked at */
static atomic_uint took_for_row; /* so often, when its last row was read */

uint32_t __real_served_map_count(struct served_map *map);
uint32_t __wrap_served_map_count(struct served_map *map);
void __real_store_tablet_statistics(struct store_tablet *tablet,
                                    struct store_tablet_statistics *ret_statistics);
void __wrap_store_tablet_statistics(struct store_tablet *tablet,
                                    struct store_tablet_statistics *ret_statistics);
enum status __real_store_tablet_last_row(struct store_tablet *tablet,
                                         struct buffer *row,
                                         bool *ret_found);
enum status __wrap_store_tablet_last_row(struct store_tablet *tablet,
                                         struct buffer *row,
                                         bool *ret_found);

uint32_t __wrap_served_map_count(struct served_map *map)
{
    return atomic_load(&counts_none) ? 0 : __real_served_map_count(map);
}

/* As a store loop whose tablet is split.  Whoever holds the map himself waits for ever. */
static void take_map(void)
{
    if (atomic_load(&takes_map)) {
        cr_assert_eq(served_map_replace(fixture.server->served, NULL, NULL, 0), STATUS_OK);
    }
}

void __wrap_store_tablet_statistics(struct store_tablet *tablet,
                                    struct store_tablet_statistics *ret_statistics)
{
    take_map();
    __real_store_tablet_statistics(tablet, ret_statistics);
}

enum status __wrap_store_tablet_last_row(struct store_tablet *tablet,
                                         struct buffer *row,
                                         bool *ret_found)
{
    take_map();
    atomic_fetch_add(&took_for_row, atomic_load(&takes_map));
    return __real_store_tablet_last_row(tablet, row, ret_found);
}

static void start(void)
{
    static char bounds[TABLETS + 1][8]; /* the script borrows them */
    uint64_t tablets[TABLETS];
    fixture_init(&fixture);
    for (unsigned i = 1; i < TABLETS; i++) {
        (void)snprintf(bounds[i], sizeof bounds[i], "%u", 100 + i);
    }
    for (unsigned i = 0; i < TABLETS; i++) {
        tablets[i] = 10 + i;
        script_assign(&fixture.script, tablets[i], bounds[i], bounds[i + 1], false);
    }
    WAIT_FOR(script_sees(&fixture.script, tablets, TABLETS));
}

static void end(void)
{
    atomic_store(&takes_map, false);
    fixture_deinit(&fixture);
}

TestSuite(served_list, .init = start, .fini = end, .timeout = 120);

Test(served_list, what_came_since_they_were_counted_is_in_it)
{
    struct served_list list = {.items = NULL};
    atomic_store(&counts_none, true);
    cr_assert_eq(served_list_make(fixture.server->served, &list), STATUS_OK);
    cr_assert_eq(list.count, TABLETS);
    served_list_release(&list);
}

Test(served_list, the_master_is_told_of_all_of_them)
{
    atomic_store(&counts_none, true);
    unsigned syncs = atomic_load(&fixture.script.syncs);
    WAIT_FOR(atomic_load(&fixture.script.syncs) > syncs + 2);
    pthread_mutex_lock(&fixture.script.lock);
    size_t held_count = fixture.script.held_count;
    pthread_mutex_unlock(&fixture.script.lock);
    cr_assert_eq(held_count, TABLETS);
}

Test(served_list, without_memory_there_is_none)
{
    struct served_list list = {.items = NULL};
    memory_fail_arm(0, 0);
    enum status status = served_list_make(fixture.server->served, &list);
    memory_fail_disarm();
    served_list_release(&list);
    cr_assert(status == STATUS_NO_MEMORY ||
              status == STATUS_OK); /* another thread may have met it */
}

Test(served_list, a_report_of_all_tablets_is_in_no_loops_way)
{
    struct buffer report = BUFFER_INIT;
    atomic_store(&takes_map, true);
    status_report_write(fixture.server, false, &report);
    cr_assert_not(report.failed);
    buffer_append_u8(&report, '\0');
    cr_assert_not_null(strstr((const char *)report.data + 5, "\"number\":\"49\""));
    buffer_deinit(&report);
}

static void write_many(struct client *client, uint64_t first_sequence)
{
    struct operation operations[AT_ONCE];
    for (uint64_t i = 0; i < AT_ONCE; i++) {
        operations[i] = client_put(client, "row", "q", "v", first_sequence + i);
    }
    uint64_t request = client_send_operations(client, operations, AT_ONCE, 0);
    struct operation_result *results = client_results(client, request, AT_ONCE);
    cr_assert_not_null(results);
    arena_reset(&client->arena);
}

Test(served_list, nor_is_the_reading_of_a_row_that_load_is_judged_by)
{
    struct client *client = client_start(fixture.server->address, 5);
    atomic_store(&takes_map, true);
    for (uint64_t sequence = 1; atomic_load(&took_for_row) == 0; sequence += AT_ONCE) {
        write_many(client, sequence); /* one tablet is busy, so that its rows are looked at */
        clock_sleep_us(20000);
    }
    client_stop(client);
}
