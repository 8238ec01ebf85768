/*
 * What recovery consists of: what the base knows (store_recover.c), then what the log adds (store_replay.c,
 * store_replay_replica.c).
 *
 * Thread rule: whoever opens the store, before there are other threads.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_REPLAY_H
#define TABLETSERVER_STORAGE_STORE_STORE_REPLAY_H

#include "tabletserver/storage/store/store_internal.h"

/* --- store_recover.c ------------------------------------------------------------------------------ */

enum status store_load_metas(struct store *store,
                             uint64_t *ret_synced_position,
                             struct error *ret_error);
/* After the log is open: everything replayed counts as committed. */
enum status store_finish_recovery(struct store *store, struct error *ret_error);

/* --- store_replay.c, store_replay_replica.c -------------------------------------------------------- */

enum status store_on_replay(void *context,
                            const struct log_record *record,
                            uint64_t position,
                            struct error *ret_error);
/* A write of which the base may have a part (up to hold_until). */
enum status store_replay_write(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               const struct record_write *write);
/* Flush until it may freeze again. */
enum status store_replay_free_layer(struct store_tablet *tablet);
/* Flush until it may be split. */
enum status store_replay_make_room(struct store_tablet *tablet);
/* Freeze and flush where memory or the log's limit asks for it. */
enum status store_replay_relieve(struct store_tablet *tablet);
enum status store_replay_explain_gap(uint64_t expected, uint64_t found, struct error *ret_error);
/* A record of a tablet that has a configuration, or gets one by it. */
enum status store_replay_of_replica(struct store_tablet *tablet,
                                    const struct log_record *record,
                                    uint64_t position,
                                    struct error *ret_error);
/* The log was cut, and nobody else has the tablet: entries up to hold_until that a flush was in the middle of are lost,
 * and what the base has of them stays.  It goes on behind them, with all of that in the base. */
enum status store_replay_lift(struct store_tablet *tablet, struct error *ret_error);
/* The log has no more of it. */
enum status store_replay_end(struct store_tablet *tablet, struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_REPLAY_H */
