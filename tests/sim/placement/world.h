/*
 * A world for placement: servers, one table's tablets, and load on rows that changes with time.  No
 * network, no store, no catalog: only what master/placement looks at, so that a thousand servers and
 * a hundred thousand tablets are a matter of milliseconds.
 *
 * Each second: the load is what its scenario says; servers that are asked for more than they have give
 * each tablet its part; what was under way is done; one round of balance_round() decides; what it
 * decides is under way.  Everything follows from the scenario and the seed.
 */
#ifndef TESTS_SIM_PLACEMENT_WORLD_H
#define TESTS_SIM_PLACEMENT_WORLD_H

#include "common/base/arena.h"
#include "common/base/prng.h"
#include "master/placement/balance.h"
#include "master/placement/balance_cut.h"

#define SECOND_NS INT64_C(1000000000)

/* Load on a row; rows ascend. */
struct point {
    struct bytes row;
    double read_cost; /* ns of CPU a second that it would take */
    double write_cost;
    double operations; /* a second */
    uint32_t stream;   /* rows are appended here: one stream's points stand together; 0 = not so */
};

struct points {
    struct arena arena; /* of rows */
    struct point *items;
    size_t count;
    size_t capacity;
};

struct world;

struct scenario {
    const char *name;
    const char *what;
    uint32_t servers;
    uint32_t tablets; /* at first; more than one: by start_row */
    uint32_t replicas;
    uint32_t seconds;
    double crossing; /* share of the operations that touch both sides of any cut */
    void (*load)(struct world *world, uint32_t second);  /* fill world->points when it changes */
    void (*event)(struct world *world, uint32_t second); /* servers come and go; or NULL */
    void (*start_row)(uint32_t tablet, uint32_t count, char *row, size_t row_bytes);
    /* what must come of it */
    double after_max;       /* busiest / mean at the end; 0 = whatever */
    uint32_t balanced_max;  /* seconds until it is, for good; 0 = whatever */
    uint32_t quiet_seconds; /* nothing is decided in the last so many */
    uint32_t splits_max;    /* UINT32_MAX: whatever */
    uint32_t moves_max;
    uint32_t undone_max;
    enum balance_reason refusal; /* that must be there */
    enum balance_reason split;   /* splits of this kind must be there */
    size_t tablets_max;          /* at the end; 0 = whatever */
};

struct server {
    double capacity_ns;
    uint32_t zone;
    bool usable;
    struct balance_server state;
    double demand_ns; /* of this second */
};

struct tablet {
    uint64_t number;
    uint8_t *start; /* owned */
    size_t start_bytes;
    struct balance_tablet state;
    struct balance_members now;
    struct balance_members wanted;
    /* under way: */
    enum balance_kind doing; /* 0 = nothing */
    uint32_t done;           /* second */
    bool ahead;
    struct bytes rows[BALANCE_PIECES_MAX - 1]; /* SPLIT; owned */
    size_t row_count;
    /* of this second: */
    size_t first; /* points in it */
    size_t count;
    double read_ns;
    double write_ns;
    double operations;
};

/* LEAD and MOVE that were decided, to see what is undone. */
struct moved {
    uint32_t second;
    uint32_t from;
    uint32_t to;
    struct bytes start; /* of the tablet's range; owned */
};

struct world_report {
    uint32_t seconds;
    uint32_t splits; /* rows cut at */
    uint32_t ahead;  /* of those, ahead of who appends */
    uint32_t merges;
    uint32_t leads;
    uint32_t moves;
    uint32_t undone; /* moves back to where it was, within ten minutes */
    uint32_t refusals;
    uint32_t refused[BALANCE_REASON_LAST + 1];
    uint32_t split_for[BALANCE_REASON_LAST + 1];
    uint32_t last_decision; /* second */
    uint32_t last_uneven;   /* the last second with busiest > UNEVEN x mean */
    double first_busiest;   /* busiest / mean in the first second */
    double first_scatter;
    double busiest; /* now */
    double scatter;
    size_t tablets;
    double round_ms_max;
    double round_ms_sum;
    uint32_t faults; /* promises that were broken */
    char fault[160];
};

#define UNEVEN 1.25

struct world {
    const struct scenario *scenario;
    struct balance_settings settings;
    struct prng prng;
    struct points points;
    struct server *servers;
    uint32_t server_count;
    struct tablet *tablets; /* ascending */
    size_t tablet_count;
    size_t tablet_capacity;
    uint64_t last_number;
    struct moved *moved;
    size_t moved_count;
    size_t moved_capacity;
    struct arena arena; /* of a round */
    double (*clock_ms)(void);
    struct world_report report;
};

void world_init(struct world *world, const struct scenario *scenario, uint64_t seed);
void world_deinit(struct world *world);
void world_step(struct world *world, uint32_t second);

/* For scenarios. */
void points_clear(struct world *world);
void points_add(struct world *world,
                const char *row,
                double reads,
                double writes,
                double cost_ns,
                uint32_t stream);
void points_sort(struct world *world);
void world_add_servers(struct world *world, uint32_t count);
/* It goes: its tablets are moved to others, as draining does. */
void world_drain(struct world *world, uint32_t server);

extern const struct scenario scenarios[];
extern const size_t scenario_count;

#endif /* TESTS_SIM_PLACEMENT_WORLD_H */
