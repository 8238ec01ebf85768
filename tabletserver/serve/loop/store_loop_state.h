/*
 * What the files of a store loop share: the loop itself, and what is put into its mailbox.
 *
 * Thread rule: the loop's thread, but for what is atomic or under the lock.
 */
#ifndef TABLETSERVER_SERVE_LOOP_STORE_LOOP_STATE_H
#define TABLETSERVER_SERVE_LOOP_STORE_LOOP_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "common/io/mailbox.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/write_order.h"

#define LOOP_FOLDER_BYTES_MAX 1024

enum loop_item_type {
    ITEM_PART,
    ITEM_EVALUATED,
    ITEM_COMMAND,
    ITEM_BATCH,
    ITEM_WORD,
    ITEM_READING,
};

#define LOOP_STALLED_NS (INT64_C(10) * 1000 * 1000 * 1000)

struct loop_item {
    enum loop_item_type type;
    void *pointer;
};

/* Creating takes a transaction; meanwhile the master's wish is repeated with every sync. */
struct creating {
    struct creating *next;
    uint64_t tablet;
};

struct store_loop {
    struct server *server;
    struct store *store;
    struct store_catalog catalog; /* that it belongs to: the sync thread's */
    struct mailbox *mailbox;
    struct write_order order;
    struct replicas *replicas; /* NULL: the server does not replicate */
    pthread_mutex_t statistics_lock;
    struct store_statistics statistics; /* as of some moments ago, for other threads */
    int64_t statistics_due_ns;
    enum store_condition
        condition;      /* the store's own, as of then: a disk that stands still is not in it */
    uint64_t log_syncs; /* as of then */
    int64_t
        log_moved_ns; /* when they last were others, or nothing waited for one; 0 = not looked yet */
    atomic_int_fast64_t
        round_ns; /* when the round that is under way began; 0 = none is, nor will be */
    struct creating *creating;
    atomic_bool tables_changed;
    atomic_bool stopping;
    atomic_bool busy;
    atomic_bool leaving; /* asked */
    atomic_bool left;    /* and done */
    bool started;
    pthread_t thread;
    char folder[LOOP_FOLDER_BYTES_MAX];
};

static inline struct host *store_loop_host(const struct store_loop *loop)
{
    return replicas_host(loop->replicas);
}

/* --- store_loop_events.c: what the store calls -------------------------------------------------- */

struct store_callbacks store_loop_callbacks(struct store_loop *loop);

/* The tablet is there: replicas and the write order take it up, where they have not.  Errors:
 * STATUS_NO_MEMORY (say it again). */
enum status store_loop_add_tablet(struct store_loop *loop, struct store_tablet *tablet);

/* Is the store making a tablet of this number, by a command? */
bool store_loop_is_creating(struct store_loop *loop, uint64_t tablet);
/* Errors: STATUS_NO_MEMORY. */
enum status store_loop_note_creating(struct store_loop *loop, uint64_t tablet);
void store_loop_forget_creating(struct store_loop *loop, uint64_t tablet);

/* --- store_loop_round.c --------------------------------------------------------------------------- */

/* The thread: rounds, until all is answered after `stopping`. */
void *store_loop_run(void *argument);
/* The store and the tablets take what the schema cache knows.  Errors: STATUS_NO_MEMORY. */
enum status store_loop_take_tables(struct store_loop *loop);
/* What others are told of a store whose disk stands still, where nothing else is the matter with it. */
void store_loop_set_stalled(const struct store_loop *loop, struct store_statistics *statistics);
/* What others may look at, now and then, and when the store's condition has changed. */
void store_loop_publish_statistics(struct store_loop *loop, int64_t now_ns);

#endif /* TABLETSERVER_SERVE_LOOP_STORE_LOOP_STATE_H */
