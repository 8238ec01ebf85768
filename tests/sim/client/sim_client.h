/*
 * A simulated client: production's cores (location cache, retry, sequence window, scan plan) and
 * the loop around them.
 *
 *   task -> READY -> routed: location known? -- no --> LOCATE to the master
 *                      | yes: all that is ready for one server goes in one message
 *                      v
 *                    SENT -- answer --> done, or retry's verdict: READY at once, or PAUSED
 *                         \- silence --> the connection counts as closed: retry's verdict
 */
#ifndef TESTS_SIM_CLIENT_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_SIM_CLIENT_H

#include "client/core/location_cache.h"
#include "client/core/retry.h"
#include "client/core/scan_plan.h"
#include "client/core/sequence_window.h"
#include "tests/sim/checker/sim_checker.h"

#define SIM_WINDOW_MAX 8

enum sim_operation_state {
    SIM_OPERATION_FREE,
    SIM_OPERATION_READY,
    SIM_OPERATION_LOCATING,
    SIM_OPERATION_SENT,
    SIM_OPERATION_PAUSED,
};

struct sim_operation {
    enum sim_operation_state state;
    struct sim_task *task;
    uint64_t number;   /* of the operation: tells a late timer from one that counts */
    uint64_t sequence; /* exactly once; 0 = a read */
    int64_t first_attempt_us;
    struct retry retry;
    int64_t deadline_ns; /* INT64_MAX = none */
    uint64_t request;    /* LOCATING, SENT: the message it is in */
    uint32_t index;
    uint32_t address;
    uint32_t locator; /* LOCATING: the node that was asked */
    /* scans */
    struct arena arena;
    struct scan_plan plan;
    struct row_range range;
    struct row *rows;
    size_t row_count;
    size_t row_capacity;
    struct buffer next_row;
};

struct sim_client {
    struct sim *sim;
    uint32_t node;
    uint64_t id;
    struct prng prng;
    struct sim_effects *effects; /* of the step under way */
    struct arena arena;          /* of the step */
    uint32_t master;             /* whom it asks */
    struct location_cache cache;
    struct sequence_window window;
    struct retry_budget budget;
    uint64_t request_next;
    uint64_t operation_next;
    bool knows_time;
    uint64_t hello_request;
    int64_t server_time_offset_us; /* to the monotonic clock */
    uint32_t tasks_left;
    struct sim_operation operations[SIM_WINDOW_MAX];
};

struct sim_client *sim_client_create(struct sim *sim, uint32_t node);
void sim_client_destroy(struct sim_client *client);
void sim_client_start(struct sim_client *client, struct sim_effects *effects);
void sim_client_on_message(struct sim_client *client,
                           const struct sim_message *message,
                           struct sim_effects *effects);
void sim_client_on_timer(struct sim_client *client, uint64_t number, struct sim_effects *effects);

/* So many tasks are left for it, from now on. */
void sim_client_work(struct sim_client *client, uint32_t tasks, struct sim_effects *effects);
/* A task out of turn: the final scans.  Requires: idle. */
void sim_client_do(struct sim_client *client, struct sim_task *task, struct sim_effects *effects);
bool sim_client_is_idle(const struct sim_client *client); /* nothing under way */
bool sim_client_is_done(const struct sim_client *client); /* and nothing left to do */

/* --- between its files: sim_request.c puts messages together and takes them apart ---------------- */

#define SIM_CLIENT_TIMER_THINK   UINT64_C(1)
#define SIM_CLIENT_TIMER_PAUSE   UINT64_C(2) /* number of the operation */
#define SIM_CLIENT_TIMER_SILENCE UINT64_C(3) /* number of the request */
#define SIM_CLIENT_TIMER_HELLO   UINT64_C(4)
#define SIM_CLIENT_TIMER_KINDS   UINT64_C(16)

bool sim_operation_is_write(const struct sim_operation *operation);
struct bytes sim_operation_row(struct sim_operation *operation);
/* One message with all of these operations, of one kind of lane, to their server. */
void sim_request_send(struct sim_client *client,
                      struct sim_operation *const *operations,
                      size_t count);
void sim_request_scan(struct sim_client *client, struct sim_operation *operation);
void sim_request_locate(struct sim_client *client, struct sim_operation *operation);

/* How an attempt ended. */
void sim_client_finish(struct sim_client *client,
                       struct sim_operation *operation,
                       const struct sim_outcome *outcome);
void sim_client_fail(struct sim_client *client,
                     struct sim_operation *operation,
                     enum status status,
                     bool located);
void sim_response_take(struct sim_client *client, const struct sim_message *message);

#endif /* TESTS_SIM_CLIENT_SIM_CLIENT_H */
