/*
 * The store loop: the one thread that owns a store and orders its writes.
 *
 * A round: take what has come (parts of batches, evaluated operations, commands, the store's own
 * wake-ups); append what may be appended, grouped by tablet; let the log go; answer what has been
 * committed.  While the log syncs one round, the next gathers.
 *
 *   part --> by row: free? --------------------------> append --> pending --> committed: answer
 *                     | locked: wait its turn             ^
 *                     | must read first: lock, evaluate on a worker
 *
 * A split or range delete is a barrier for its tablet: it waits until no row is locked, and what
 * comes meanwhile waits behind it.
 *
 * Thread rule: who opens the server opens, stops and closes its loops; meanwhile any thread may call the
 * rest, but for what says otherwise.
 */
#ifndef TABLETSERVER_SERVE_LOOP_STORE_LOOP_H
#define TABLETSERVER_SERVE_LOOP_STORE_LOOP_H

#include <stdint.h>

#include "common/base/error.h"
#include "tabletserver/serve/write/batch.h"
#include "tabletserver/storage/store/store.h"
#include "tabletserver/storage/store/store_catalog.h"

struct catalog_word;
struct lanes_batch;
struct lease_effect;
struct log_reading;
struct server;
struct store_loop;

/* Open the store in folder (created when it is empty) and start its thread. */
enum status store_loop_open(struct server *server,
                            const char *folder,
                            const struct store_settings *settings,
                            struct store_loop **ret_loop,
                            struct error *ret_error);

/* Answer every write that is under way, then end the thread.  No more may be submitted.  Workers
 * must run still (evaluations), and may go on reading. */
void store_loop_stop(struct store_loop *loop);

/* Stop, close the store.  No read may be open, no batch alive.  NULL is fine. */
void store_loop_close(struct store_loop *loop);

/* The same as long as the loop is open, as is its folder. */
struct store *store_loop_store(const struct store_loop *loop);
/* Of the sync thread alone (catalog_keeper.h). */
struct store_catalog *store_loop_catalog(struct store_loop *loop);
const char *store_loop_folder(const struct store_loop *loop);

/* store_statistics() of at most a second ago, unless a round takes longer.  STORE_FAILED also while the disk stands
 * still: nothing that waits for the log was synced for 10 s, or the loop itself hangs. */
void store_loop_statistics(struct store_loop *loop, struct store_statistics *ret_statistics);

/* Has a round taken more than 10 s, as of a thread that waits for a disk?  Any thread. */
bool store_loop_is_stuck(const struct store_loop *loop);

/* CPU time of the loop's thread so far.  Until store_loop_stop(). */
int64_t store_loop_cpu_ns(const struct store_loop *loop);

/* False: too much waits already; the caller answers "unavailable". */
bool store_loop_submit(struct store_loop *loop, struct part *part);

/* A worker has evaluated this operation.  Waits for a place in the mailbox: not from the loop. */
void store_loop_evaluated(struct store_loop *loop, struct work *work);

/* Commands of the sync thread; level-triggered, so a refused one is simply given again. */
enum store_command_kind {
    STORE_COMMAND_CREATE,
    STORE_COMMAND_DROP,
    STORE_COMMAND_SPLIT,
};

struct store_command {
    enum store_command_kind kind;
    struct store_tablet_descriptor descriptor; /* CREATE; SPLIT: tablet = the parent; DROP: tablet,
                                                  configuration as host_may_remove() */
    struct bytes key;                          /* SPLIT */
    uint64_t left;
    uint64_t right;
    uint8_t bytes[]; /* what the fields above borrow from */
};

/* The schema cache knows something new.  Never refused. */
void store_loop_tables_changed(struct store_loop *loop);

/* Takes over the command (memory_free), refused or not.  False: refused, the mailbox is full. */
bool store_loop_command(struct store_loop *loop, struct store_command *command);

/* A round soon. */
void store_loop_wake(struct store_loop *loop);

/* Is a write under way?  As of some moments ago. */
bool store_loop_is_busy(const struct store_loop *loop);

/* --- of a server that replicates (replicas.h) --------------------------------------------------- */

/* The beacon thread. */
void store_loop_hear(struct store_loop *loop, const struct lease_effect *effect);

/* The process is about to end: hand over what others can lead.  False: some of it is not yet, as of
 * some moments ago. */
void store_loop_leave(struct store_loop *loop);
bool store_loop_has_left(const struct store_loop *loop);

/* These take over what they are given.  False: the mailbox is full; it stays the caller's. */
bool store_loop_batch(struct store_loop *loop, struct lanes_batch *batch);
bool store_loop_word(struct store_loop *loop, struct catalog_word *word);
/* By a worker.  Waits for a place in the mailbox: not from the loop. */
void store_loop_read_back(struct store_loop *loop, struct log_reading *reading);

#endif /* TABLETSERVER_SERVE_LOOP_STORE_LOOP_H */
