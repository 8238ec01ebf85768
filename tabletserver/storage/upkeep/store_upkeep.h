/*
 * Housekeeping in bounded steps: jobs of the loop, erasing, sweeping, garbage collection, scrubbing.
 *
 * Thread rule: the work thread, unless a line says otherwise.
 */
#ifndef TABLETSERVER_STORAGE_UPKEEP_STORE_UPKEEP_H
#define TABLETSERVER_STORAGE_UPKEEP_STORE_UPKEEP_H

#include "tabletserver/storage/store/store_internal.h"

/* May the job run now?  (A child waits until its parent is in the base.) */
bool store_job_is_due(struct store_job *job);
/* And those behind it (next), if it makes or drops a tablet: in one transaction, so that an error is of all. */
enum status store_run_job(struct store *store, struct store_job *job);
bool store_job_makes(const struct store_job *job); /* a tablet that is new */
#define STORE_ALIKE_MAX 64                         /* in one transaction */
/* Does the base know a tablet of that number? */
enum status store_is_in_base(struct store *store, uint64_t tablet, bool *ret_stored);
struct store_erasure *store_erasure_create(uint64_t number, const struct store_meta_erasure *what);
void store_erasures_add(struct store *store, struct store_erasure *erasure);
void store_erasures_clear(struct store *store);
enum status store_erase_step(struct store *store, bool *ret_worked);
enum status store_erase_range_step(struct store *store, bool *ret_worked);
enum status store_sweep_step(struct store *store, bool *ret_worked);
/* Once, when the store has been recovered. */
void store_collect_begin(struct store *store);
enum status store_collect_step(struct store *store, bool *ret_worked);
void store_collect_append(struct store *store);                            /* loop */
void store_collect_forget(struct store *store, struct store_layer *layer); /* flushed, or gone */
void store_collect_clear(struct store *store);
enum status store_scrub_step(struct store *store, bool *ret_worked);
enum status store_estimate_step(struct store *store, bool *ret_worked);

/* It is to be swept or estimated; it has range deletes.  Any thread, without its mutex and the store's. */
void store_note_untidy(struct store_tablet *tablet);
void store_note_erasing(struct store_tablet *tablet);
/* The first of those with that chore that `wants`, with a reference on it and on its pieces; NULL when there is none. */
struct store_tablet *store_choose_untidy(struct store *store,
                                         enum store_chore chore,
                                         bool (*wants)(struct store_tablet *tablet),
                                         struct store_pieces **ret_pieces);

/* May anything but a flush write to the tablet's rows?  Not while a flush stands in the middle of
 * them: a chunk joined across that place would look younger than deletes that are still to come. */
bool store_may_keep_house(struct store_tablet *tablet);

/* Damage was met where housekeeping was: that part rests so long, and the others have their turn. */
#define STORE_DAMAGE_REST_NS (INT64_C(60) * 1000 * 1000 * 1000)

/* Does the chore leave the tablet alone for now, for damage that it has met there?  One that has met none goes on:
 * what need not read a chunk takes it away, though others could not read it. */
bool store_rests_damaged(const struct store_tablet *tablet, enum store_chore chore);
#define STORE_DAMAGED_ROWS_MAX 1024 /* that a step of collection passes by: of more it rests */
/* Damage is noted, and told (on_damaged). */
void store_note_damage(struct store_tablet *tablet);
/* How a step in the tablet ended.  Damage is noted, and told (on_damaged); it is no error of the store's, or
 * every other tablet's turn would wait for ever behind what does not heal.  Returns what is one. */
enum status store_note_step(struct store_tablet *tablet,
                            enum store_chore chore,
                            enum status status);

/* Work thread, in a transaction: notes of all that the tablet's pieces cover; to be kept if it is written. */
enum status store_note_erasures(struct base_writer *writer,
                                struct store_tablet *tablet,
                                struct store_erasure **ret_erasures);
void store_keep_erasures(struct store *store, struct store_erasure *erasures, bool written);

#endif /* TABLETSERVER_STORAGE_UPKEEP_STORE_UPKEEP_H */
