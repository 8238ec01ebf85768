/* Events across restarts: what was kept is there, the newest of each; what is damaged is left out. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io/logger.h"
#include "master/console/event_store.h"
#include "tests/support/test_folder.h"

static char folder[256];
static const struct console_owner ours = {1, ""};
static struct event_log event_log;
static struct arena arena;

static void start(void)
{
    const struct logger_settings log = {.level = LOG_LEVEL_ERROR};
    logger_init(&log);
    test_folder_make(folder, sizeof folder, "events");
    event_log_init(&event_log);
    arena_init(&arena, 4096, SIZE_MAX);
}

static void stop(void)
{
    char command[300];
    event_log_deinit(&event_log);
    arena_deinit(&arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(event_store, .init = start, .fini = stop, .timeout = 600);

static struct event event_of(uint64_t number, uint64_t change, const char *outcome)
{
    return (struct event){.number = number,
                          .change = change,
                          .kind = bytes_of_text("split"),
                          .outcome = bytes_of_text(outcome),
                          .text = bytes_of_text("the text of an event")};
}

static void save(struct event_store *store, const struct event *events, size_t count)
{
    cr_assert(event_store_save(store, events, count));
}

/* A new process. */
static struct list_events_response restart(void)
{
    struct list_events_response response;
    const struct list_events_request all = {BYTES_EMPTY, 0, 0};
    struct event_store *store = event_store_open(folder, &ours);
    cr_assert_not_null(store);
    event_store_load(store, &event_log);
    event_store_close(store);
    event_log_check(&event_log);
    cr_assert_eq(event_log_list(&event_log, &all, &arena, &response), STATUS_OK);
    return response;
}

Test(event_store, the_newest_of_each_is_there_after_a_restart)
{
    const struct event events[] = {event_of(5, 5, "under_way"), event_of(6, 6, "under_way")};
    const struct event ended = event_of(5, 7, "done");
    struct event_store *store = event_store_open(folder, &ours);
    cr_assert_not_null(store);
    save(store, events, 2);
    save(store, &ended, 1);
    cr_assert_null(event_store_open(folder, &ours), "one owner");
    event_store_close(store);
    struct list_events_response now = restart();
    cr_assert_eq(now.event_count, 2);
    cr_assert_eq(now.events[0].number, 6);
    cr_assert_eq(now.events[1].number, 5);
    cr_assert_eq(now.events[1].change, 7);
    cr_assert(bytes_equal(now.events[1].outcome, bytes_of_text("done")));
    cr_assert(bytes_equal(now.events[1].text, bytes_of_text("the text of an event")));
}

Test(event_store, what_was_decided_in_another_cluster_is_not_told_in_this_one)
{
    const struct console_owner another = {2, ""};
    const struct event event = event_of(5, 5, "done");
    struct event_store *store = event_store_open(folder, &another);
    save(store, &event, 1);
    event_store_close(store);
    cr_assert_eq(restart().event_count, 0);
    cr_assert_eq(event_log.last_change, 0);
}

Test(event_store, only_so_many_are_kept)
{
    static struct event events[EVENT_LOG_MAX];
    struct event_store *store = event_store_open(folder, &ours);
    for (uint64_t i = 0; i < EVENT_LOG_MAX; i++) {
        events[i] = event_of(i + 1, i + 1, "done");
    }
    save(store, events, EVENT_LOG_MAX);
    const struct event more = event_of(EVENT_LOG_MAX + 1, EVENT_LOG_MAX + 1, "done");
    save(store, &more, 1);
    event_store_close(store);
    struct list_events_response now = restart();
    cr_assert_eq(now.events[0].number, 2);
    cr_assert_eq(event_log.count, EVENT_LOG_MAX);
    cr_assert_eq(event_log.last_change, EVENT_LOG_MAX + 1);
}

Test(event_store, one_that_is_damaged_is_left_out)
{
    char path[300];
    static uint8_t bytes[1 << 20];
    const struct event events[] = {event_of(5, 5, "done"), event_of(6, 6, "done")};
    struct event_store *store = event_store_open(folder, &ours);
    save(store, events, 2);
    event_store_close(store);
    (void)snprintf(path, sizeof path, "%s/events/data.mdb", folder);
    int file = open(path, O_RDWR);
    ssize_t size = read(file, bytes, sizeof bytes);
    ssize_t at = size - 1;
    while (at > 0 && memcmp(bytes + at, "the text", 8) != 0) {
        at--;
    }
    cr_assert_gt(at, 0);
    bytes[at] = 'T';
    cr_assert_eq(pwrite(file, bytes, (size_t)size, 0), size);
    close(file);
    struct list_events_response now = restart();
    cr_assert_eq(now.event_count, 1);
}
