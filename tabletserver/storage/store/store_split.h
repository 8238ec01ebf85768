/*
 * What the store's own files share of splits (store_split.c).
 *
 * Thread rule: the loop, unless a line says otherwise.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_SPLIT_H
#define TABLETSERVER_STORAGE_STORE_STORE_SPLIT_H

#include "tabletserver/storage/store/store_internal.h"

/* Make the children of a committed split.  Errors: STATUS_NO_MEMORY (nothing changed). */
enum status store_split_apply(struct store_tablet *parent);
/* The same in two parts: all that may fail, and may be done again; and what cannot. */
enum status store_split_make_ready(struct store_tablet *parent);
void store_split_begin(struct store_tablet *parent);
/* An applied map, encoded: everything up to sequence is in the base. */
enum status store_encode_whole(uint64_t sequence, struct buffer *out);
/* Work thread, in the transaction that ends the parent's last layer: the children's metadata come,
 * the parent's goes. */
enum status store_split_write(struct base_writer *writer, struct store_tablet *parent);
/* It is durable. */
void store_split_note_written(struct store_tablet *parent);
/* Loop: the parent is in the base. */
void store_split_forget(struct store_tablet *parent);
/* Remember what the record says (at append, and at replay).  The layer whose last sequence is `ending`
 * is flushed together with the tablet. */
enum status store_split_prepare(struct store_tablet *parent,
                                const struct record_split *split,
                                uint64_t sequence,
                                uint64_t ending);

void store_split_cancel(struct store_tablet *parent);
/* Its last layer may be flushed, and with it the tablet. */
void store_split_let_end(struct store_tablet *parent);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_SPLIT_H */
