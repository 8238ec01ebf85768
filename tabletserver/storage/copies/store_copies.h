/*
 * What the store's own files share of having copies elsewhere: configurations, conversions, merges, lessons,
 * marks into the log.
 *
 * Thread rule: the loop, unless a line says otherwise.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_COPIES_H
#define TABLETSERVER_STORAGE_COPIES_STORE_COPIES_H

#include "tabletserver/storage/store/store_internal.h"

/* --- store_replica.c, store_configure.c ----------------------------------------------------------- */

/* Apply what of the window lies at or below sequence, and commit as far as that came.  Errors: as of
 * store_tablet_commit(). */
enum status store_commit_up_to(struct store_tablet *tablet, uint64_t sequence);
bool store_is_alone(const struct store *store, const struct store_configuration *configuration);
void store_set_configuration(struct store_tablet *tablet,
                             const struct store_configuration *configuration);
/* Log a configuration: as a CONFIGURATION, or a CONVERSION.  Errors: as of log_append(). */
enum status store_log_configuration(struct store_tablet *tablet,
                                    enum record_type type,
                                    const struct store_configuration *configuration,
                                    uint64_t kept_sequence);
/* The configuration that the tablet has is durable in the log, in the batch at position. */
void store_note_durable_configuration(struct store_tablet *tablet, uint64_t position);
/* The log is synced up to there: is the configuration durable by that, which it was not before? */
bool store_settle_configuration(struct store_tablet *tablet, uint64_t synced);
/* From where on the log is needed for the configuration; STORE_POSITION_NONE = it is not. */
uint64_t store_configuration_holds(struct store_tablet *tablet);
/* Loop: have metadata records written of tablets whose configurations hold back much of the log, or of
 * all that hold any. */
void store_ask_metas(struct store *store, bool all);
/* Work thread: one transaction with all that were asked for. */
enum status store_metas_step(struct store *store, bool *ret_worked);
/* Work thread: the metadata record encoded last is in the base. */
void store_note_meta_written(struct store_tablet *tablet);

/* --- store_convert.c ------------------------------------------------------------------------------ */

/* Commit the tablet up to the barrier at `sequence`, and drop what lies behind it.  Errors: as of
 * store_tablet_convert(). */
enum status store_stand_at(struct store_tablet *tablet, uint64_t sequence);
/* The configuration of one whose parent is not in the base became durable. */
void store_conversion_settle(struct store_tablet *child);
/* A CONVERSION of the tablet at position in the log: what it keeps is committed. */
enum status store_conversion_replay(struct store_tablet *parent,
                                    const struct record_configuration *record,
                                    uint64_t position,
                                    struct error *ret_error);

/* --- store_merge.c -------------------------------------------------------------------------------- */

enum status store_merge_write(struct store_job *job); /* work thread */
void store_merge_finish(struct store_job *job);       /* loop */

/* --- store_slice_take.c, store_slice_write.c, store_slice_follow.c: see store_lesson.h --------------- */

/* The first slice of a child: the base has the child only when its parent ends there.  Taught before, it
 * would be made once more by a replay of CONVERSION, and what it was taught would be written over. */
bool store_lesson_waits_for_parent(const struct store_lesson *lesson);
enum status store_run_lesson(struct store *store, struct store_job *job); /* work thread */
void store_on_lesson(struct store *store, struct store_job *job);         /* loop */
void store_lesson_destroy(struct store *store, struct store_lesson *lesson);

/* --- store_log_read.c ------------------------------------------------------------------------------ */

/* Marks, by which the log of a shared tablet is found again: entry `sequence` is in the batch at position; or
 * there all above `kept` was dropped. */
void store_mark(struct store_tablet *tablet, uint64_t sequence, uint64_t position);
void store_mark_drop(struct store_tablet *tablet, uint64_t kept, uint64_t position);
/* Forget marks into what is not kept any more. */
void store_trim_marks(struct store *store);
/* After recovery: tell the log what replay has marked. */
void store_keep_replayed(struct store *store);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_COPIES_H */
