/*
 * The scrub: everything stored is read again, slowly, so that bad disks are found while there are
 * still good copies.  LMDB keeps no checksums; our chunks do.
 */
#include "common/io/clock.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define SCRUB_BUDGET_BYTES (256 * 1024)
#define NS_A_SECOND        INT64_C(1000000000)

/* The smallest extent above `after` that any tablet has; false when there is none.  That tablet
 * is charged with what is found. */
static bool next_extent(struct store *store,
                        uint64_t after,
                        uint64_t *ret_extent,
                        struct store_tablet **ret_tablet)
{
    bool found = false;
    (void)pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        (void)pthread_mutex_lock(&tablet->mutex);
        for (uint32_t j = 0; j < tablet->pieces->count; j++) {
            uint64_t extent = tablet->pieces->pieces[j].extent;
            if (extent > after && (!found || extent < *ret_extent)) {
                *ret_extent = extent;
                *ret_tablet = tablet;
                found = true;
            }
        }
        (void)pthread_mutex_unlock(&tablet->mutex);
    }
    if (found) {
        store_tablet_ref(*ret_tablet);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return found;
}

enum status store_scrub_step(struct store *store, bool *ret_worked)
{
    int64_t now_ns = clock_monotonic_ns();
    uint64_t rate = store->settings.scrub_bytes_per_second;
    *ret_worked = false;
    if (rate == 0 || now_ns < store->scrub_next_ns) {
        return STATUS_OK;
    }
    store->scrub_next_ns = now_ns + (int64_t)(SCRUB_BUDGET_BYTES * (uint64_t)NS_A_SECOND / rate);
    uint64_t extent = 0;
    struct store_tablet *tablet = NULL;
    if (!next_extent(store, store->scrub_extent, &extent, &tablet)) {
        store->scrub_extent = 0; /* all round: begin again */
        return STATUS_OK;
    }
    struct base_snapshot *snapshot = NULL;
    struct error error = {0};
    uint64_t bad = 0;
    bool done = false;
    enum status status = base_snapshot_begin(store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_scrub_step(snapshot, extent, &store->scrub_resume, SCRUB_BUDGET_BYTES, &bad,
                                 &done, &error);
        base_snapshot_end(snapshot);
    }
    if (bad > 0) {
        store_trouble_note_damage(tablet, bad, "scrub", error.text);
    }
    if (status == STATUS_OK) {
        atomic_fetch_add(&store->scrubbed_bytes, SCRUB_BUDGET_BYTES);
    }
    if (done || status != STATUS_OK) {
        buffer_reset(&store->scrub_resume);
        store->scrub_extent = extent;
    }
    store_tablet_unref(tablet);
    return status;
}
