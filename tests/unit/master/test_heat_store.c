/* The heat map's file: what was kept is there after a restart; what is damaged is set aside. */
#include "tests/support/heat_loads.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/logger.h"
#include "master/console/console_file.h"
#include "master/console/heat_store.h"
#include "tests/support/test_folder.h"

static char folder[256];
static const struct console_owner ours = {1, ""};
static const struct console_owner *owner;

static void start(void)
{
    const struct logger_settings log = {.level = LOG_LEVEL_ERROR};
    logger_init(&log);
    test_folder_make(folder, sizeof folder, "heat");
    owner = &ours;
    heat_start();
}

static void stop(void)
{
    char command[300];
    heat_stop();
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(heat_store, .init = start, .fini = stop, .timeout = 600);

static void load_some(void)
{
    static const char *const keys[] = {"b", "f", "k", NULL};
    for (int i = 0; i < 40; i++) {
        heat_report(1, "", "", keys, 100, 10);
        heat_report(2, "", "", NULL, 1, 0);
        heat_pass(20);
    }
    heat_map_age(&heat_map, heat_now_us, true);
}

static void save_all(void)
{
    struct heat_store *store = heat_store_open(folder, owner);
    cr_assert_not_null(store);
    heat_store_save(store, &heat_map);
    heat_store_close(store);
}

static void tell_store(void *context,
                       const struct heat_table *table,
                       size_t layer,
                       int64_t start_us)
{
    heat_store_gone(context, table->number, layer, start_us);
}

/* A new process, which may keep so much, and saves what it has loaded. */
static void restart_with(uint64_t bytes_max)
{
    int64_t now_us = heat_now_us;
    heat_stop();
    heat_start();
    heat_now_us = now_us;
    heat_map_age(&heat_map, heat_now_us, false);
    struct heat_store *store = heat_store_open(folder, owner);
    cr_assert_not_null(store);
    heat_map.bytes_max = bytes_max;
    heat_map.gone = (struct heat_gone_to){tell_store, store};
    heat_store_load(store, &heat_map);
    heat_store_save(store, &heat_map);
    heat_map.gone = (struct heat_gone_to){heat_on_gone, NULL};
    heat_store_close(store);
}

static void restart(void)
{
    restart_with(HEAT_BYTES_MAX);
}

Test(heat_store, what_was_saved_is_there_after_a_restart)
{
    load_some();
    save_all();
    restart();
    cr_assert(fabs(heat_total(1, HEAT_METRIC_OPS) - 4400) < 1e-6);
    cr_assert(fabs(heat_total(2, HEAT_METRIC_OPS) - 40) < 1e-6);
}

Test(heat_store, what_is_gone_stays_gone)
{
    load_some();
    struct heat_store *store = heat_store_open(folder, &ours);
    heat_store_save(store, &heat_map);
    const struct heat_table *table = heat_map_table(&heat_map, 1);
    for (size_t i = 0; i < table->layers[1].count; i++) {
        heat_store_gone(store, 1, 1, table->layers[1].columns[i]->start_us);
    }
    heat_store_save(store, &heat_map);
    heat_store_close(store);
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1));
    cr_assert_not_null(heat_map_table(&heat_map, 2));
}

Test(heat_store, a_file_that_is_something_else_is_set_aside)
{
    char path[300];
    struct stat there;
    load_some();
    save_all();
    (void)snprintf(path, sizeof path, "%s/heat/data.mdb", folder);
    int file = open(path, O_WRONLY | O_TRUNC);
    static const char text[8192] = "this is not what it should be";
    cr_assert_eq(write(file, text, sizeof text), (ssize_t)sizeof text);
    close(file);
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1));
    (void)snprintf(path, sizeof path, "%s/heat/damaged-1.mdb", folder);
    cr_assert_eq(stat(path, &there), 0);
    cr_assert_eq(there.st_size, sizeof text);
    load_some();
    save_all();
    restart();
    cr_assert_gt(heat_total(1, HEAT_METRIC_OPS), 4000, "it goes on");
}

static bool is_set_aside(const char *as)
{
    char path[300];
    struct stat there;
    (void)snprintf(path, sizeof path, "%s/heat/%s-1.mdb", folder, as);
    return stat(path, &there) == 0;
}

/* Tables have the same numbers in every cluster: its tables were shown with the load of those of another one. */
Test(heat_store, what_another_cluster_had_to_do_is_set_aside)
{
    const struct console_owner another = {2, ""};
    load_some();
    save_all();
    owner = &another;
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1));
    cr_assert(is_set_aside("other") && !is_set_aside("damaged"));
    load_some();
    save_all();
    restart();
    cr_assert_gt(heat_total(1, HEAT_METRIC_OPS), 4000, "it goes on");
}

Test(heat_store, one_that_goes_into_etcd_takes_along_what_it_had_to_do)
{
    const struct console_owner in_etcd = {1, "/edubba"};
    const struct console_owner elsewhere = {1, "/edubba2"};
    load_some();
    save_all();
    owner = &in_etcd;
    restart();
    cr_assert_not_null(heat_map_table(&heat_map, 1));
    owner = &elsewhere;
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1));
    cr_assert(is_set_aside("other"));
    load_some();
    save_all();
    owner = &ours;
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1), "nor is it what an embedded one had to do");
}

/* Versions before did not say whose it is. */
static void forget_owner(void)
{
    struct console_file file;
    struct kv_write *write = NULL;
    bool found = false;
    cr_assert(console_file_open(folder, "heat", owner, &file));
    cr_assert_eq(kv_write_begin(file.kv, &write), STATUS_OK);
    cr_assert_eq(kv_write_delete(write, bytes_of_text("cluster"), &found), STATUS_OK);
    cr_assert(found);
    cr_assert_eq(kv_write_commit(write), STATUS_OK);
    console_file_close(&file);
}

Test(heat_store, a_file_that_does_not_say_whose_it_is_becomes_that_of_who_opens_it)
{
    const struct console_owner first = {7, "/edubba"};
    load_some();
    save_all();
    forget_owner();
    owner = &first;
    restart();
    cr_assert_not_null(heat_map_table(&heat_map, 1));
    owner = &ours;
    restart();
    cr_assert_null(heat_map_table(&heat_map, 1));
}

static size_t columns_in_file(void)
{
    struct console_file file;
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    size_t count = 0;
    cr_assert(console_file_open(folder, "heat", &ours, &file));
    cr_assert_eq(kv_read_begin(file.kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found), STATUS_OK);
    for (; found; count++) {
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
    kv_cursor_close(cursor);
    kv_read_end(read);
    console_file_close(&file);
    return count - 2; /* the format, and whose it is */
}

/* A clock that was wrong when they were made, and was set right before the next start: what is new would lie before
 * them, and not be told to who follows. */
Test(heat_store, what_lies_in_the_future_goes_out_of_the_file)
{
    load_some();
    save_all();
    size_t before = columns_in_file();
    heat_now_us -= 400 * HEAT_SECOND_US;
    int64_t now_us = heat_now_us;
    restart();
    size_t after = columns_in_file();
    cr_assert(after < before && after > 0, "%zu of %zu", after, before);
    heat_now_us += 4000 * HEAT_SECOND_US;
    restart();
    cr_assert_eq(columns_in_file(), after);
    const struct heat_table *table = heat_map_table(&heat_map, 1);
    for (size_t i = 0; i < table->layers[1].count; i++) {
        cr_assert_leq(table->layers[1].columns[i]->start_us, now_us);
    }
}

/* Of the file what there was room for was taken in the order of tables, old or new; the rest stayed for ever. */
Test(heat_store, the_oldest_go_out_of_the_file_where_there_is_room_for_less)
{
    load_some();
    save_all();
    size_t before = columns_in_file();
    int64_t oldest_us = heat_table_oldest_us(heat_map_table(&heat_map, 2));
    restart();
    cr_assert_eq(columns_in_file(), before);
    uint64_t bytes = heat_map_column_bytes(&heat_map);
    restart_with(bytes / 2);
    size_t after = columns_in_file();
    cr_assert(after < before && after > before / 4, "%zu of %zu", after, before);
    for (uint64_t table = 1; table <= 2; table++) {
        cr_assert_gt(heat_table_oldest_us(heat_map_table(&heat_map, table)),
                     oldest_us + 120 * HEAT_SECOND_US, "of table %d the newest", (int)table);
    }
    restart();
    cr_assert_leq(heat_map_column_bytes(&heat_map), bytes / 2, "they are no more");
}

Test(heat_store, a_column_that_is_damaged_is_left_out)
{
    char path[300];
    static uint8_t bytes[1 << 20];
    load_some();
    save_all();
    size_t saved = columns_in_file();
    (void)snprintf(path, sizeof path, "%s/heat/data.mdb", folder);
    int file = open(path, O_RDWR);
    ssize_t size = read(file, bytes, sizeof bytes);
    for (ssize_t i = 0; i + 4 < size; i++) {
        if (bytes[i] == 'f' && bytes[i - 1] == 1 && bytes[i - 2] == 0) { /* a key of a row */
            bytes[i] = 'g';
            break;
        }
    }
    cr_assert_eq(pwrite(file, bytes, (size_t)size, 0), size);
    close(file);
    restart();
    double rest = heat_total(1, HEAT_METRIC_OPS);
    cr_assert(rest > 3000 && rest < 4400, "%f", rest);
    cr_assert_eq(columns_in_file(), saved - 1, "it is erased");
}

Test(heat_store, a_folder_that_another_has_is_left_alone)
{
    struct heat_store *first = heat_store_open(folder, &ours);
    cr_assert_not_null(first);
    cr_assert_null(heat_store_open(folder, &ours));
    cr_assert_null(heat_store_open("/proc/nowhere", &ours));
    heat_store_close(first);
}
