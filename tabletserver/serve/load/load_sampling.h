/*
 * Load sampling: of the tablets that are busy, which of their rows it is.
 *
 *    tablet's counters --> ring (storage/store/key_ring.h) --each second--> sampler (tablet/key_sampler.h) --> detail
 *
 * A tablet that was busy gets a place with a ring and a sampler, and keeps it until it has been idle for
 * LOAD_SAMPLING_IDLE_NS or is gone.  There are LOAD_SAMPLING_PLACES_MAX; one that is not to be had is taken
 * from the least busy, if that does less than half of who wants it.  How many operations one sample stands
 * for follows the rate, so that about LOAD_SAMPLING_BUDGET of them are made a second on the whole server,
 * and of one tablet no more than LOAD_SAMPLING_SAMPLES_MAX of each kind.
 *
 * MEMORY.  A place is made when it is first needed and stays until the end: a ring of 64 KiB, and lists of
 * rows of up to 450 KiB where keys are very long, of about 100 KiB where they are not.
 *
 *    load_sampling_begin()     a report is begun
 *    load_sampling_see()       for each tablet, which stays where it is meanwhile
 *    load_sampling_end()       those that were not seen are gone; drains the rings
 *    load_sampling_detail()    for each place: good until the next begin
 *
 * Thread rule: the sync thread only.  Destroyed when nobody touches a tablet any more.
 */
#ifndef TABLETSERVER_SERVE_LOAD_LOAD_SAMPLING_H
#define TABLETSERVER_SERVE_LOAD_LOAD_SAMPLING_H

#include "common/base/status.h"
#include "common/wire/message_load.h"
#include "tabletserver/storage/store/store.h"

#define LOAD_SAMPLING_PLACES_MAX   128
#define LOAD_SAMPLING_SAMPLES_MAX  512
#define LOAD_SAMPLING_SAMPLES_MIN  32
#define LOAD_SAMPLING_BUDGET       4096
#define LOAD_SAMPLING_IDLE_NS      (INT64_C(30) * 1000 * 1000 * 1000)
#define LOAD_SAMPLING_BUSY_OPS     100  /* a second, and more: of reads and writes, */
#define LOAD_SAMPLING_BUSY_ROWS    1000 /* rows that scans look at, */
#define LOAD_SAMPLING_BUSY_BYTES   (1024 * 1024)
#define LOAD_SAMPLING_BUSY_PERCENT 1 /* or of a processor's time by the clock */

#define LOAD_SAMPLING_NO_PLACE UINT32_MAX

struct load_sampling;

/* seed: anything, for the draws.  Errors: STATUS_NO_MEMORY. */
enum status load_sampling_create(uint64_t seed, struct load_sampling **ret_sampling);
void load_sampling_destroy(struct load_sampling *sampling); /* NULL is fine */

void load_sampling_begin(struct load_sampling *sampling, int64_t now_ns, uint64_t elapsed_ns);

/* What the tablet had to do in that time.  Returns its place, or LOAD_SAMPLING_NO_PLACE: it is idle, or
 * there is none. */
uint32_t load_sampling_see(struct load_sampling *sampling,
                           struct store_tablet *tablet,
                           const struct load_counts *counts);

void load_sampling_end(struct load_sampling *sampling);

/* Empty for a tablet that is not busy, and until samples have come.  Its rows are good until the next
 * begin. */
struct load_detail load_sampling_detail(struct load_sampling *sampling, uint32_t place);

#endif /* TABLETSERVER_SERVE_LOAD_LOAD_SAMPLING_H */
