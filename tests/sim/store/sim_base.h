/*
 * What LMDB is to the real store: tablets with their rows, changed by atomic, synced transactions.
 *
 * One transaction is on its way at a time, the others queue.  A kill meets it either done or not
 * begun; the queue behind it is lost.  The base outlives the process; the queue does not.
 */
#ifndef TESTS_SIM_STORE_SIM_BASE_H
#define TESTS_SIM_STORE_SIM_BASE_H

#include "tabletserver/storage/copies/store_replica.h"
#include "tests/sim/store/sim_collect.h"
#include "tests/sim/store/sim_rows.h"

#define SIM_BASE_TABLETS_MAX 256

/* A tablet as the base has it. */
struct sim_base_tablet {
    uint64_t tablet;
    uint64_t table;
    uint64_t configuration;
    struct row_range range; /* into bounds */
    uint8_t bounds[2 * SIM_KEY_BYTES_MAX];
    uint64_t flushed_sequence;
    uint64_t clock; /* of the log stamps that are in it */
    struct sim_rows rows;
    struct buffer applied;        /* applied_map */
    struct buffer dedupe;         /* image, as of flushed_sequence */
    struct sim_horizons horizons; /* as of that, too */
    bool replicated;
    struct store_configuration held; /* version 0 = none yet */
    uint64_t proven;                 /* the highest sequence that any of its rows shows */
    bool half_taught;                /* a part of it is there: it counts for nothing */
    bool rotten;                     /* none of it can be read (sim_rot.h) */
    bool cut;                        /* of a store whose log was cut: it counts for nothing */
    uint64_t barrier_sequence;       /* of one that stands; 0 = none */
    uint64_t barrier_version;
    uint8_t barrier_type;
    struct buffer barrier;
};

struct sim_lesson;

enum sim_base_purpose {
    SIM_BASE_CREATED, /* tells which tablet was created */
    SIM_BASE_DROPPED,
    SIM_BASE_LEARNT,
    SIM_BASE_MERGED,
    SIM_BASE_FLUSH_ADVANCED,
    SIM_BASE_FLUSH_FINISHED,
};

struct sim_base_transaction {
    enum sim_base_purpose purpose;
    uint64_t tablet;     /* whom it is about */
    uint64_t removed[2]; /* 0 = none */
    struct sim_base_tablet *puts[2];
    uint32_t put_count;
    struct sim_lesson *lesson; /* LEARNT; owned */
    uint64_t life;             /* LEARNT: of the tablet */
    uint64_t log_from;         /* DROPPED: until it is done the log is kept from there on */
    uint64_t log_last;         /* of whom it removes the log has nothing behind this position */
};

/* As store_grave.h: what the log has of the tablet up to there is of a life that is over. */
struct sim_grave {
    uint64_t tablet;
    uint64_t position;
};

struct sim_base {
    struct sim_base_tablet *tablets[SIM_BASE_TABLETS_MAX];
    uint32_t tablet_count;
    struct sim_grave graves[SIM_BASE_TABLETS_MAX]; /* oldest first */
    uint32_t grave_count;
};

/* Heap; range is copied. */
struct sim_base_tablet *sim_base_tablet_create(uint64_t tablet,
                                               uint64_t table,
                                               uint64_t configuration,
                                               const struct row_range *range);
void sim_base_tablet_destroy(struct sim_base_tablet *tablet);
void sim_base_transaction_discard(struct sim_base_transaction *transaction);

void sim_base_deinit(struct sim_base *base);
/* NULL when there is none. */
const struct sim_base_tablet *sim_base_find(const struct sim_base *base, uint64_t tablet);
/* To be changed in place, as by a transaction that takes no time; NULL. */
struct sim_base_tablet *sim_base_change(struct sim_base *base, uint64_t tablet);
/* Takes over what it puts.  False: it makes a tablet that is there already (that was made to be taught, or of
 * two that were merged), and is discarded. */
bool sim_base_apply(struct sim_base *base, struct sim_base_transaction *transaction);

/* 0 = it has none. */
uint64_t sim_base_grave(const struct sim_base *base, uint64_t tablet);
/* At a start: none reaches beyond what the log has. */
void sim_base_cut_graves(struct sim_base *base, uint64_t last_position);

#endif /* TESTS_SIM_STORE_SIM_BASE_H */
