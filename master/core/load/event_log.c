#include "master/core/load/event_log.h"

#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

struct event_entry {
    struct list_link link;
    struct event event; /* bytes point behind the struct, and at outcome and why */
    char why[EVENT_WHY_SIZE_MAX];
    size_t size_bytes;
};

void event_log_init(struct event_log *log)
{
    *log = (struct event_log){.count_max = EVENT_LOG_MAX};
    list_init(&log->entries);
}

static void drop(struct event_log *log, struct event_entry *entry)
{
    list_remove(&entry->link);
    log->count--;
    log->size_bytes -= entry->size_bytes;
    memory_free(entry);
}

void event_log_deinit(struct event_log *log)
{
    LIST_FOREACH(struct event_entry, entry, &log->entries) {
        drop(log, entry);
    }
}

#define EVENT_PARTS 10

/* All that an event points at. */
static void parts_of(struct event *event, struct bytes *ret_parts[EVENT_PARTS])
{
    struct bytes *const parts[EVENT_PARTS] = {
        &event->kind,       &event->reason,      &event->outcome,   &event->text, &event->why,
        &event->table_name, &event->range.start, &event->range.end, &event->row,  &event->key};
    memcpy(ret_parts, parts, sizeof parts);
}

static struct event_entry *entry_create(const struct event *event)
{
    struct event copy = *event;
    struct bytes *parts[EVENT_PARTS];
    size_t size_bytes = sizeof(struct event_entry);

    parts_of(&copy, parts);
    for (size_t i = 0; i < EVENT_PARTS; i++) {
        size_bytes += parts[i]->size_bytes;
    }
    struct event_entry *entry = memory_allocate_zeroed(1, size_bytes);
    if (entry == NULL) {
        return NULL;
    }
    uint8_t *at = (uint8_t *)(entry + 1);
    entry->event = *event;
    entry->size_bytes = size_bytes;
    parts_of(&entry->event, parts);
    for (size_t i = 0; i < EVENT_PARTS; i++) {
        if (parts[i]->size_bytes > 0) {
            memcpy(at, parts[i]->data, parts[i]->size_bytes);
        }
        parts[i]->data = at;
        at += parts[i]->size_bytes;
    }
    return entry;
}

static void append(struct event_log *log, struct event_entry *entry)
{
    list_append(&log->entries, &entry->link, entry);
    log->count++;
    log->size_bytes += entry->size_bytes;
    while (log->count > log->count_max || log->size_bytes > EVENT_LOG_BYTES_MAX) {
        drop(log, list_first(&log->entries));
    }
}

uint64_t event_log_add(struct event_log *log, const struct event *event)
{
    struct event_entry *entry = entry_create(event);
    if (entry == NULL) {
        return 0;
    }
    entry->event.number = ++log->last_number;
    entry->event.change = ++log->last_change;
    append(log, entry);
    return log->last_number;
}

void event_log_end(
    struct event_log *log, uint64_t number, const char *outcome, const char *why, int64_t now_us)
{
    LIST_FOREACH(struct event_entry, entry, &log->entries) {
        if (entry->event.number == number && number != 0) {
            (void)snprintf(entry->why, sizeof entry->why, "%s", why);
            entry->event.why = bytes_of_text(entry->why);
            entry->event.outcome = bytes_of_text(outcome);
            entry->event.ended_us = now_us;
            entry->event.change = ++log->last_change;
            list_append(&log->entries, &entry->link, entry);
            return;
        }
    }
}

/* --- from one reign to the next ----------------------------------------------------------------- */

static uint64_t at_least(uint64_t last, int64_t now_us)
{
    uint64_t now = now_us > 0 ? (uint64_t)now_us : 0;
    return last > now ? last : now;
}

void event_log_begin(struct event_log *log, int64_t now_us)
{
    log->begun = true;
    log->last_number = at_least(log->last_number, now_us);
    log->last_change = at_least(log->last_change, now_us);
    LIST_FOREACH(struct event_entry, entry, &log->entries) {
        if (entry->event.ended_us == 0) {
            event_log_end(log, entry->event.number, "unknown", "the master that began it is gone",
                          now_us);
        }
    }
}

void event_log_move(struct event_log *log, struct event_log *from)
{
    ASSERT(log->count == 0);
    LIST_FOREACH(struct event_entry, entry, &from->entries) {
        list_append(&log->entries, &entry->link, entry);
    }
    log->count = from->count;
    log->size_bytes = from->size_bytes;
    log->last_number = from->last_number;
    log->last_change = from->last_change;
    log->begun = false;
    event_log_init(from);
}

bool event_log_take(struct event_log *log, const struct event *event)
{
    struct event_entry *taken = event->change > log->last_change ? entry_create(event) : NULL;
    if (taken == NULL) {
        return false;
    }
    LIST_FOREACH(struct event_entry, entry, &log->entries) {
        if (entry->event.number == event->number) {
            drop(log, entry);
        }
    }
    log->last_change = event->change;
    log->last_number = event->number > log->last_number ? event->number : log->last_number;
    append(log, taken);
    return true;
}

/* --- listing ------------------------------------------------------------------------------------ */

enum status event_log_list(const struct event_log *log,
                           const struct list_events_request *request,
                           struct arena *arena,
                           struct list_events_response *ret_response)
{
    size_t count_max = request->count_max == 0 || request->count_max > EVENT_PAGE_MAX
                           ? EVENT_PAGE_MAX
                           : request->count_max;
    struct event *events = arena_allocate_array(arena, count_max, sizeof *events);
    struct list_events_response response = {.events = events};
    size_t size_bytes = 0;

    if (events == NULL) {
        return STATUS_NO_MEMORY;
    }
    LIST_FOREACH(const struct event_entry, entry, &log->entries) {
        if (entry->event.change <= request->after ||
            (request->table.size_bytes > 0 &&
             !bytes_equal(request->table, entry->event.table_name))) {
            continue;
        }
        if (response.event_count == count_max ||
            (size_bytes > 0 && size_bytes + entry->size_bytes > EVENT_PAGE_BYTES_MAX)) {
            response.more = true;
            *ret_response = response;
            return STATUS_OK;
        }
        size_bytes += entry->size_bytes;
        events[response.event_count++] = entry->event;
    }
    *ret_response = response;
    return STATUS_OK;
}

void event_log_check(const struct event_log *log)
{
    uint64_t change = 0;
    size_t count = 0;
    size_t size_bytes = 0;

    LIST_FOREACH(const struct event_entry, entry, &log->entries) {
        ASSERT(entry->event.change > change);
        ASSERT(entry->event.number <= log->last_number);
        change = entry->event.change;
        count++;
        size_bytes += entry->size_bytes;
    }
    ASSERT(change <= log->last_change);
    ASSERT(count == log->count && count <= log->count_max);
    ASSERT(size_bytes == log->size_bytes && size_bytes <= EVENT_LOG_BYTES_MAX);
}
