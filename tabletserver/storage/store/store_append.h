/*
 * What the store's own files share of appending and committing (store_append.c, store_write.c, store_tablet_change.c, store_commit.c).
 *
 * Thread rule: the loop, unless a line says otherwise.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_APPEND_H
#define TABLETSERVER_STORAGE_STORE_STORE_APPEND_H

#include "tabletserver/storage/store/store_internal.h"

/* May anything be appended to the tablet now, by its state, the store's, and memory?  Errors: as of
 * store_append_write(). */
enum status store_check_append(struct store_tablet *tablet, bool only_deletes);
/* Does it lead here, so that this store gives out its sequences, and does its state let it take anything?
 * Errors: STATUS_NOT_OWNER, STATUS_UNAVAILABLE (it stands at a barrier). */
enum status store_check_leads(const struct store_tablet *tablet);
/* Clocks of one tablet rise with its sequences, whatever the caller hands in. */
uint64_t store_take_clock(struct store_tablet *tablet, uint64_t clock);
/* Append the record to the log; store->log_position is that of its batch then.  A full disk is noted.  Errors: as
 * of log_append(). */
enum status store_log_record(struct store *store, const struct log_record *record);
/* Note that the sequence is durable when the batch at position is.  With room reserved before, pushing cannot
 * fail. */
enum status store_reserve_pending(struct store_tablet *tablet);
void store_push_pending(struct store_tablet *tablet, uint64_t position, uint64_t sequence);
/* Entries above sequence are dropped: forget when they would have been durable. */
void store_cut_pending(struct store_tablet *tablet, uint64_t sequence);
/* Have the next poll look whether more of the tablet is committed. */
void store_list_pending(struct store_tablet *tablet);
/* The layer needs the log from this position on. */
void store_layer_hold_log(struct store_layer *layer, uint64_t position);
/* Everything up to sequence is in the memtables now: prepared. */
void store_publish_prepared(struct store_tablet *tablet, uint64_t sequence, uint64_t clock);
/* At the end of each append by which the store gives out a sequence: publish it as prepared, and tell whoever
 * performs its replica (on_appended). */
void store_finish_append(struct store_tablet *tablet);
/* Append one encoded record of the tablet (barriers and limits were checked). */
enum status store_append_record(struct store_tablet *tablet,
                                enum record_type type,
                                struct bytes payload,
                                struct stamp stamp,
                                uint64_t *ret_sequence);
/* The barrier was applied, as prepared, and is the tablet's last entry: keep it.  Takes it over. */
void store_note_barrier(struct store_tablet *tablet, struct store_barrier *barrier);
enum status store_append_gc_horizon(struct store_tablet *tablet,
                                    const struct record_gc_horizon *horizon,
                                    uint64_t clock,
                                    uint64_t *ret_sequence);
/* Freeze the active memtable if anything was logged into it.  Errors: STATUS_NO_MEMORY,
 * STATUS_RESOURCE_EXHAUSTED (as many frozen ones as there may be). */
enum status store_freeze(struct store_tablet *tablet);
/* Freeze the active memtable now, or as soon as there is a free layer. */
void store_flush_soon(struct store_tablet *tablet);
/* Account for what the active layer has grown. */
void store_count_memory(struct store *store, struct store_layer *layer);
uint64_t store_memory_limit(const struct store *store);
/* Writers are short of memory: flush without pause. */
bool store_memory_presses(const struct store *store);
/* Does memory fill up faster than it is flushed?  Not yet at the point above: where there are many
 * tablets, memory is there even if flushing keeps up, for only there they begin to be frozen. */
bool store_flush_lags(const struct store *store);
void store_raise_floor(struct store_tablet *tablet);
/* Everything up to sequence is committed: floor, dedupe, flush.  Not the callback.  False: without
 * memory; call again with the same sequence. */
bool store_advance(struct store_tablet *tablet, uint64_t sequence);
/* Loop: commit what is synced, call back. */
void store_commit_synced(struct store *store);
/* Is the active memtable to be frozen: for its bytes, or for the log that it holds back? */
bool store_is_full(const struct store_tablet *tablet);
void store_freeze_full_tablets(struct store *store);
/* Freeze what there is, of each tablet that has nothing frozen yet: on a full disk deletes must not
 * wait until a memtable is full. */
void store_freeze_for_room(struct store *store);
void store_release_log(struct store *store);
void store_on_synced(void *context, uint64_t position);
void store_on_log_failed(void *context, const struct error *error);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_APPEND_H */
