#include "master/shell/master_parts.h"

#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "master/shell/master_metrics.h"

#define RETELL_PAUSE_NS INT64_C(10000000000)

/* What the catalog says ends as an object does: ours goes into it. */
static void open_again(struct buffer *json)
{
    if (!json->failed) {
        ASSERT(json->size_bytes > 1 && json->data[json->size_bytes - 1] == '}');
        json->size_bytes -= 1;
        buffer_append_u8(json, ',');
    }
}

void master_status_json(struct master *master,
                        struct catalog_counts *ret_counts,
                        struct buffer *out)
{
    char active[ETCD_LEADER_BYTES_MAX];

    if (master->reign != NULL) {
        reign_describe(master->reign, ret_counts, out);
        open_again(out);
    } else {
        master_find_active(master, active);
        buffer_append_format(out, "{\"role\":\"standby\",\"cluster\":\"%lld\",\"active\":\"%s\",",
                             (long long)master->settings->cluster, active);
    }
    master_append_alarms(master, out);
    buffer_append_u8(out, '}');
}

void master_publish(struct master *master)
{
    struct buffer status = BUFFER_INIT;
    struct catalog_counts counts;

    master->published_ns = clock_monotonic_ns();
    master_status_json(master, &counts, &status);
    master_metrics_state(master_may_act(master) ? &counts : NULL, mailbox_depth(master->mailbox));
    status_page_publish(master->page, &status);
}

/* --- what the console keeps ------------------------------------------------------------------- */

/* The next page of those that are new.  False: there is none, or the console takes nothing now. */
static bool keep_page(struct master *master, const struct event_log *log, struct arena *arena)
{
    const struct list_events_request request = {.after = master->events_told};
    struct list_events_response response = {0};
    struct buffer events = BUFFER_INIT;

    if (log->last_change <= master->events_told ||
        event_log_list(log, &request, arena, &response) != STATUS_OK) {
        return false;
    }
    if (response.event_count == 0) { /* changes are counted from the time on when a reign begins */
        master->events_told = log->last_change;
        return false;
    }
    list_events_response_encode(&response, &events);
    if (events.failed || !console_take_events(master->console, &events)) {
        buffer_deinit(&events);
        return false;
    }
    master->events_told = response.events[response.event_count - 1].change;
    return true;
}

/* What could not be written is told once more, all of it: there may be room now. */
static void tell_again(struct master *master)
{
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns - master->retold_ns >= RETELL_PAUSE_NS && console_lost_events(master->console)) {
        master->retold_ns = now_ns;
        master->events_told = 0;
    }
}

void master_keep_events(struct master *master)
{
    const struct event_log *log = master->reign == NULL ? &master->events
                                                        : reign_events(master->reign);
    struct arena arena;
    arena_init(&arena, EVENTS_ARENA_BYTES, EVENTS_ARENA_MAX);
    tell_again(master);
    while (keep_page(master, log, &arena)) {
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

void master_follow_active(struct master *master)
{
    char active[ETCD_LEADER_BYTES_MAX] = "";

    if (master->elector != NULL && master->reign == NULL) {
        master_find_active(master, active);
    }
    if (strcmp(active, master->address) == 0) {
        active[0] = '\0'; /* of a life before */
    }
    if (strcmp(active, master->followed) != 0 && console_follow(master->console, active)) {
        (void)snprintf(master->followed, sizeof master->followed, "%s", active);
    }
}
