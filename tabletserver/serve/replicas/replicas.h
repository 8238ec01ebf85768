/*
 * The replicas of a store loop: its host (host.h), tied to write order, workers, sync and peers.
 *
 *   lanes: batch -------------\
 *   sync: what the master told +--> [ the loop's mailbox ] --> host --> write_order: answers
 *   workers: log read back ---/                                 |---> sync: proposals, questions
 *                                                               '---> workers: read the log back
 *
 * A server that does not replicate has none of it: its tablets are alone (store_replica.h).
 *
 * Thread rule: the store loop, but for what says otherwise.
 */
#ifndef TABLETSERVER_SERVE_REPLICAS_H
#define TABLETSERVER_SERVE_REPLICAS_H

#include "common/wire/message.h"
#include "tabletserver/host/host.h"
#include "tabletserver/storage/copies/store_replica.h"

struct log_reading;
struct replicas;
struct store_loop;
struct write_order;

/* What the master said of a tablet: its configuration, if it has one, and what it wishes. */
struct catalog_word {
    uint64_t tablet;
    bool gone;         /* the catalog has it no more */
    uint64_t heirs[2]; /* gone: tablets that came of it; 0 = none */
    /* Of the right neighbour, where this tablet has proposed their merge; 0 = nothing is said of
     * it. */
    uint64_t right_version;
    bool creating;                              /* nobody was told of it yet (docs/catalog.md) */
    struct replica_configuration configuration; /* version 0: nothing is said */
    bool recovered;                             /* it was chosen by a person */
    bool has_goal;
    struct goal goal; /* bytes follow */
    bool hurried;     /* has_goal: somebody waits for it */
    uint8_t bytes[];
};

/* A copy of it all; NULL without memory.  memory_free(). */
struct catalog_word *catalog_word_copy(const struct catalog_word *word);

/* The loop's store is open with these settings, its thread not started.  Errors: STATUS_NO_MEMORY. */
enum status replicas_create(struct store_loop *loop,
                            struct write_order *order,
                            const struct store_settings *settings,
                            struct replicas **ret_replicas);
/* The beacon thread has ended, no reading is under way.  NULL is fine. */
void replicas_destroy(struct replicas *replicas);

struct host *replicas_host(const struct replicas *replicas);

/* The store's tablet has a replica from now on.  Errors: those of host_add(). */
enum status replicas_add(struct replicas *replicas, struct store_tablet *tablet);

/* The table may say otherwise how many copies must have a write. */
void replicas_refresh(struct replicas *replicas, struct store_tablet *tablet);

/* All three take over what they are given. */
void replicas_receive(struct replicas *replicas, struct lanes_batch *batch);
void replicas_take_word(struct replicas *replicas, struct catalog_word *word);
void replicas_take_reading(struct replicas *replicas, struct log_reading *reading);

/* It will not be taken any more.  Any thread. */
void log_reading_discard(struct log_reading *reading);

#endif /* TABLETSERVER_SERVE_REPLICAS_H */
