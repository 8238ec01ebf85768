/*
 * What the work thread of a store tells its loop: store_tell(), taken by store_take_events().
 *
 * For the store's own files only.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_EVENT_H
#define TABLETSERVER_STORAGE_STORE_STORE_EVENT_H

enum store_event_kind {
    STORE_EVENT_LAYER_FLUSHED,
    STORE_EVENT_SPLIT_FINISHED, /* parent and children are written */
    STORE_EVENT_CREATED,
    STORE_EVENT_DROPPED,
    STORE_EVENT_MERGED,
    STORE_EVENT_RANGE_DELETE_DONE,
    STORE_EVENT_TAUGHT,
    STORE_EVENT_COLLECT, /* garbage collection asks for records to be appended */
};

/* Lives inside what it tells of, so that telling cannot fail. */
struct store_event {
    struct store_event *next;
    enum store_event_kind kind;
    void *subject;
};

#endif /* TABLETSERVER_STORAGE_STORE_STORE_EVENT_H */
