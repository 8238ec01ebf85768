/*
 * Garbage collection of a simulated store, as tabletserver/storage/upkeep has it: who leads says horizons and deletes
 * through the log what other rules drop; each copy erases by itself what lies below a horizon.  What is said and what may
 * be erased is production's (storage/record/horizon.h).
 *
 * What other rules drop is found at one moment and deleted at another: there is one such collection a store.
 *
 * Different from production: an erasure is done at once, where nothing of the tablet is on its way to the base.  What is
 * on its way to be written by then may bring an erased cell back to the base; no read shows it.
 */
#ifndef TESTS_SIM_STORE_SIM_COLLECT_H
#define TESTS_SIM_STORE_SIM_COLLECT_H

#include "tabletserver/storage/record/horizon.h"
#include "tests/sim/store/sim_rows.h"

#define SIM_HORIZONS_MAX     4
#define SIM_COLLECT_ROWS_MAX 8

struct sim_store;
struct sim_tablet;
struct sim_pending;

struct sim_horizons {
    struct horizon items[SIM_HORIZONS_MAX];
    uint32_t count;
};

/* What was found in a tablet and is to be deleted. */
struct sim_collection {
    bool full;
    uint64_t tablet;
    uint64_t life;
    uint64_t cuts;         /* of the tablet, when it was read */
    uint64_t sequence;     /* at which it was read */
    uint64_t rule_version; /* of the schema by which it was judged */
    struct record_entry rows[SIM_COLLECT_ROWS_MAX];
    uint32_t row_count;
    uint64_t cell_count;
    struct arena arena;
};

void sim_horizons_raise(struct sim_horizons *horizons, const struct horizon *to);
/* In place of what is there: those that were said up to that sequence. */
void sim_horizons_take(struct sim_horizons *horizons,
                       const struct horizon *from,
                       uint32_t count,
                       uint64_t sequence);
void sim_horizons_forget_above(struct sim_horizons *horizons, uint64_t sequence);
/* An entry takes effect: if it is a horizon, that is raised. */
void sim_collect_note(struct sim_tablet *tablet, const struct sim_pending *record);

/* What a write must come behind: the schema that it goes by.  Errors: sim_store_give_out()'s. */
enum status sim_collect_say_rules(struct sim_store *store,
                                  struct sim_tablet *tablet,
                                  uint64_t clock);
/* HORIZONS, of one that leads. */
void sim_collect_say(struct sim_store *store,
                     struct sim_tablet *tablet,
                     const struct table *schema,
                     int64_t now_us);
/* ERASE */
void sim_collect_erase(struct sim_store *store,
                       struct sim_tablet *tablet,
                       const struct table *schema);
/* VERSIONS, of one that leads.  True: something was found, and waits for sim_collect_append(). */
bool sim_collect_find(struct sim_store *store,
                      struct sim_tablet *tablet,
                      const struct table *schema,
                      int64_t now_us);
/* schema: of now; NULL: it is not known any more. */
void sim_collect_append(struct sim_store *store,
                        struct sim_tablet *tablet,
                        const struct table *schema,
                        int64_t now_us);

#endif /* TESTS_SIM_STORE_SIM_COLLECT_H */
