/*
 * A simulated tablet server: production's decisions (assignment, served map, row locks, exactly-once records,
 * mutation rules, location map) around the simulated stores, with the write order of production's store loop.
 *
 *   sim_server_step(server, event, effects)
 *
 * The disks outlive the server: they are made with the world, the server with each start.
 */
#ifndef TESTS_SIM_SERVER_SIM_SERVER_H
#define TESTS_SIM_SERVER_SIM_SERVER_H

#include "tabletserver/serve/sync/location_map.h"
#include "tabletserver/tablet/assignment.h"
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_loop.h"
#include "tests/sim/sim.h"

#define SIM_SCHEMAS_MAX 64
#define SIM_GATHER_MAX  64

struct sim_server_disk {
    uint64_t incarnation;
    int64_t noted_grace_ns; /* 0 = none is noted */
    struct buffer schemas;  /* what the schema cache keeps: encoded tables, each with its size */
    uint32_t store_count;
    struct sim_store_disk stores[SIM_STORES_MAX];
};

struct sim_batch;

struct sim_work {
    struct row_waiter waiter; /* first */
    struct sim_work *next;    /* in one list at a time */
    struct sim_batch *batch;
    const struct operation *operation;
    uint64_t sequence;
    uint64_t tablet;       /* EVALUATING: whose row is locked, */
    struct sim_loop *loop; /* and of which store's */
    uint64_t evaluation;   /* number; 0 = not evaluating */
    uint64_t reign;        /* of the tablet, when it began to be evaluated */
    bool duplicate;
    uint64_t asked; /* READ: before it is (sim_confirm.h); 0 = not yet, or it need not be */
    struct bytes result;
    struct operation_result answer;
};

/* One OPERATIONS request; it goes with its last answer. */
struct sim_batch {
    struct sim_batch *next; /* of all */
    uint32_t from;
    uint64_t request_number;
    struct operations_request request;
    int64_t deadline_ns; /* INT64_MAX = none */
    uint32_t remaining;
    struct sim_work *works;
    struct sim_work *completed; /* to be sent at the end of the step */
    struct arena arena;
};

/* The server's side of a tablet. */
struct sim_order {
    struct sim_work *pending_first; /* ascending by sequence */
    struct sim_work *deferred_first;
    struct sim_work *deferred_last;
    bool blocked;
    bool dropping;
    uint64_t drop_version; /* it was said with this one in view */
    int64_t hold_until_ns; /* of the change that goes on, for its first works; 0 = none does */
    bool split_wanted;
    struct record_split split;
    uint8_t split_key[SIM_KEY_BYTES_MAX];
    uint32_t locks;
    uint32_t gathered_count;
    struct record_entry gathered[SIM_GATHER_MAX];
    struct sim_work *gathered_works[SIM_GATHER_MAX];
};

struct sim_schema {
    struct arena arena;
    struct table table;
};

struct sim_server {
    struct sim *sim;
    uint32_t node;
    struct sim_server_disk *disk;
    struct sim_effects *effects; /* of the step under way */
    struct sim_loop *loops[SIM_STORES_MAX];
    uint32_t loop_count;
    struct served_map *served;
    struct sim_batch *batches;
    struct arena arena; /* of the step */
    uint64_t evaluation_next;

    struct assignment_list *assignments;
    struct sim_schema *schemas[SIM_SCHEMAS_MAX];
    uint32_t schema_count;
    struct location_map *locations;
    uint64_t known_version;
    uint64_t known_generation;
    uint32_t master;       /* whom it asks */
    int64_t heard_ns;      /* when it began to wait for that one's answer */
    bool is_connected;     /* it has answered since */
    uint64_t sync_request; /* the one that an answer is due to; 0 = none */
    uint64_t sync_next;
    uint64_t sync_timer; /* the one that counts */
    int64_t sync_interval_ns;
    bool replicates;
    bool leaving; /* it is to end */
    int64_t leaves_at_ns;
    struct sim_peers peers;
};

struct sim_server *sim_server_create(struct sim *sim, uint32_t node, struct sim_server_disk *disk);
/* Start: recover, and ask for timers. */
void sim_server_start(struct sim_server *server, struct sim_effects *effects);
void sim_server_kill(struct sim_server *server, bool power_cut); /* and destroy */

void sim_server_on_message(struct sim_server *server,
                           const struct sim_message *message,
                           struct sim_effects *effects);
void sim_server_on_timer(struct sim_server *server, uint64_t number, struct sim_effects *effects);
void sim_server_on_log_synced(struct sim_server *server,
                              uint64_t store,
                              struct sim_effects *effects);
void sim_server_on_base_committed(struct sim_server *server,
                                  uint64_t store,
                                  struct sim_effects *effects);
/* A round, of one that is to end. */
void sim_server_on_leave(struct sim_server *server, struct sim_effects *effects);
void sim_server_check(struct sim_server *server);

/* --- between its files ------------------------------------------------------------------------- */

#define SIM_TIMER_SYNC       UINT64_C(1) /* and above it, in steps of 16: the generation */
#define SIM_TIMER_FLUSH      UINT64_C(2)
#define SIM_TIMER_EVALUATION UINT64_C(3)
#define SIM_TIMER_PEERS      UINT64_C(4)
#define SIM_TIMER_READING    UINT64_C(5)
#define SIM_TIMER_SCRUB      UINT64_C(6)
#define SIM_TIMER_COLLECT    UINT64_C(7)
#define SIM_TIMER_COLLECTED  UINT64_C(8)
#define SIM_TIMER_KINDS      UINT64_C(16)

static inline struct sim_order *sim_order_of(struct sim_tablet *tablet)
{
    return tablet->context;
}

void sim_server_begin_step(struct sim_server *server, struct sim_effects *effects);
void sim_server_end_step(struct sim_server *server);

const struct table *sim_server_schema(const struct sim_server *server, uint64_t table);
/* NULL when it is not known; in the step's arena. */
const struct location *sim_server_locate(struct sim_server *server,
                                         uint64_t table,
                                         struct bytes row);
/* It is served from now on. */
void sim_server_add_tablet(struct sim_tablet *tablet);
void sim_server_add_order(struct sim_tablet *tablet);

/* sim_write.c: the write order. */
void sim_write_take(struct sim_server *server, struct sim_batch *batch);
void sim_write_evaluated(struct sim_server *server, struct sim_work *work);
void sim_write_end(struct sim_server *server); /* append what was gathered */
void sim_write_committed(struct sim_server *server, struct sim_tablet *tablet, uint64_t sequence);
/* "Unknown", to whoever waits for what lies up to sequence. */
void sim_write_fail(struct sim_server *server, struct sim_tablet *tablet, uint64_t sequence);
void sim_write_was_split(struct sim_server *server,
                         struct sim_tablet *parent,
                         struct sim_tablet *left,
                         struct sim_tablet *right);
/* The two are gone when it returns. */
void sim_write_was_merged(struct sim_server *server,
                          struct sim_tablet *const gone[2],
                          struct sim_tablet *merged);
void sim_write_split(struct sim_server *server,
                     struct sim_tablet *tablet,
                     const struct record_split *split);
/* What waited for a change that is over, or has taken too long. */
void sim_write_release_held(struct sim_server *server);
void sim_write_drop(struct sim_server *server, struct sim_tablet *tablet, uint64_t version);

/* sim_answer.c: batches and their answers; reads. */
void sim_answer_start(struct sim_server *server, const struct sim_message *message);
void sim_answer_complete(struct sim_work *work);
void sim_answer_fail(struct sim_work *work, enum status status, const char *text);
/* It may not be served here and now: why, if so. */
bool sim_answer_refuses(struct sim_server *server,
                        struct sim_tablet *tablet,
                        struct sim_work *work);
void sim_answer_redirect(struct sim_server *server, struct sim_work *work);
void sim_answer_send(struct sim_server *server);
void sim_answer_scan(struct sim_server *server, const struct sim_message *message);
/* When it is confirmed (sim_confirm.h). */
void sim_answer_scan_asked(struct sim_server *server,
                           const struct sim_message *message,
                           uint64_t asked);
void sim_answer_locate(struct sim_server *server, const struct sim_message *message);
void sim_answer_read(struct sim_server *server, struct sim_work *work);
void sim_answer_destroy_all(struct sim_server *server);
/* An error, or a head of OK to which the caller adds the body. */
void sim_answer_error(struct sim_server *server,
                      const struct sim_message *message,
                      enum status status,
                      const char *text);

/* sim_sync.c: the heartbeat. */
void sim_sync_ask(struct sim_server *server);
void sim_sync_answered(struct sim_server *server, const struct sim_message *message);
void sim_sync_load_schemas(struct sim_server *server);

/* --- sim_upkeep.c ------------------------------------------------------------------------------- */

void sim_upkeep_start(struct sim_server *server);
/* Garbage collection's look at each tablet. */
void sim_upkeep_look(struct sim_server *server);
/* What it found in that store is deleted. */
void sim_upkeep_append(struct sim_server *server, uint64_t index);
void sim_sync_hurry(struct sim_server *server);
void sim_sync_destroy(struct sim_server *server);

#endif /* TESTS_SIM_SERVER_SIM_SERVER_H */
