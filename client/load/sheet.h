/*
 * Sheets: where the rows of a batch are written before they are submitted, which copies them.
 *
 * A client has two: its completions come one at a time and need one, and whoever else starts its
 * requests (the main thread at first, or its starter) needs the other.  So there is no sheet for
 * each request in flight, and those there are stay in the processor's caches.  All that does not
 * change from batch to batch is written once.
 *
 * Thread rule: take and give from any thread; what is between belongs to who took.
 */
#ifndef CLIENT_LOAD_SHEET_H
#define CLIENT_LOAD_SHEET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/load/core/row_key.h"
#include "edubba.h"

struct load_run;

#define LOAD_SHEETS 2

struct load_sheet {
    atomic_flag is_taken;
    struct edubba_entry *entries;
    uint8_t (*keys)[LOAD_ROW_KEY_BYTES_MAX];
    uint8_t *values;                 /* fields of a row one behind the other */
    struct edubba_mutation *rows;    /* all fields of each row */
    struct edubba_mutation *changes; /* of one field of each row */
};

/* False: no memory.  deinit in any case. */
bool load_sheet_init(struct load_sheet *sheet, const struct load_run *run);
void load_sheet_deinit(struct load_sheet *sheet);

/* One of a client's sheets. */
struct load_sheet *load_sheet_take(struct load_sheet sheets[LOAD_SHEETS]);
void load_sheet_give(struct load_sheet *sheet);

#endif /* CLIENT_LOAD_SHEET_H */
