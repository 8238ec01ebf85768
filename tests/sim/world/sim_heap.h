/*
 * Events that are still to come, earliest first; of equal times, the one that was added first.
 *
 * That second rule makes the order total, so a seed gives one run and no other.
 */
#ifndef TESTS_SIM_WORLD_SIM_HEAP_H
#define TESTS_SIM_WORLD_SIM_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"

enum sim_event_kind {
    SIM_EVENT_MESSAGE,   /* a frame arrives */
    SIM_EVENT_TIMER,     /* number: the node's own */
    SIM_EVENT_DISK_LOG,  /* the log's batch is durable */
    SIM_EVENT_DISK_BASE, /* the base's transaction is durable */
    SIM_EVENT_COMMITTED, /* what became of the coordinator's transaction; number: sim_etcd.h */
    SIM_EVENT_ELECTION,  /* an answer to a master's election; number: of the question */
    SIM_EVENT_FAULT,     /* the fault maker's turn */
    SIM_EVENT_RESTART,   /* of a node that is down */
    SIM_EVENT_LATE,      /* the next act of what sim_late.h tells; number: which */
    SIM_EVENT_COMMIT,    /* a commit arrives at the coordinator; number: which */
    SIM_EVENT_QUESTION,  /* a question of a master's election arrives there */
    SIM_EVENT_LEAVE,     /* a server that is to end is looked at again */
    SIM_EVENT_KILL,      /* of one that has started not long ago: number 1 = with its power */
};

struct sim_event {
    int64_t time_ns;
    uint64_t order; /* set by sim_heap_add */
    enum sim_event_kind kind;
    uint32_t node; /* whose event it is */
    uint32_t life; /* of that node: in another life the event is void; 0 = of any */
    uint32_t from; /* MESSAGE */
    uint64_t number;
    struct buffer message; /* MESSAGE, QUESTION, ELECTION: owned */
};

struct sim_heap {
    struct sim_event *events;
    uint32_t count;
    uint32_t capacity;
    uint64_t order_next;
};

/* What is on its way from one node to another. */
void sim_heap_drop_messages(struct sim_heap *heap, uint32_t from, uint32_t to);
void sim_heap_deinit(struct sim_heap *heap);
void sim_heap_add(struct sim_heap *heap, const struct sim_event *event);
/* False when there is none. */
bool sim_heap_take(struct sim_heap *heap, struct sim_event *ret_event);

#endif /* TESTS_SIM_WORLD_SIM_HEAP_H */
