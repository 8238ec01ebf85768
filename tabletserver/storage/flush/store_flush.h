/*
 * What the store's own files share of flushing: steps, and the metadata that goes with them.
 *
 * Thread rule: the work thread, or recovery; in transactions where a writer is handed in.
 */
#ifndef TABLETSERVER_STORAGE_FLUSH_STORE_FLUSH_H
#define TABLETSERVER_STORAGE_FLUSH_STORE_FLUSH_H

#include "tabletserver/storage/store/store_internal.h"

/* --- store_flush.c: work thread, or recovery ------------------------------------------------------ */

/* One transaction, if any is due; *ret_worked false when there is none. */
enum status store_flush_step(struct store *store, bool *ret_worked);
uint64_t store_flushes_pending(struct store *store);
/* Let what has failed be tried again. */
void store_flush_retry(struct store *store);

/* --- store_meta_write.c: in transactions ---------------------------------------------------------- */

/* Everything about a tablet but its applied map and dedupe image, as of `sequence`. */
enum status store_put_tablet_meta(struct base_writer *writer,
                                  struct store_tablet *tablet,
                                  uint64_t sequence,
                                  uint64_t clock,
                                  uint32_t dedupe_piece_count);
/* Cut in pieces; removes pieces of a longer image before. */
enum status store_put_dedupe(struct base_writer *writer,
                             uint64_t tablet,
                             struct bytes image,
                             uint32_t piece_count_before,
                             uint32_t *ret_piece_count);
enum status store_put_applied(struct base_writer *writer,
                              uint64_t tablet,
                              const struct buffer *applied);
enum status store_delete_tablet_meta(struct base_writer *writer,
                                     uint64_t tablet,
                                     uint32_t dedupe_piece_count);
/* The store's own record: highest clock, synced log position. */
enum status store_put_store_meta(struct base_writer *writer, struct store *store, uint64_t clock);

#endif /* TABLETSERVER_STORAGE_FLUSH_STORE_FLUSH_H */
