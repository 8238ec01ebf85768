#include "common/base/assert.h"
#include "tests/sim/store/sim_store.h"
#include "tests/sim/world/sim_rot.h"

/*
 * A log that is refused, as storage/store_relearn.c deals with it: where all tablets have other copies it is cut, with a
 * note beforehand, and all copies are marked as damaged; when that is durable the note goes.
 */

const struct sim_base_tablet *sim_store_only_copy(const struct sim_store_disk *disk)
{
    for (uint32_t i = 0; i < disk->base.tablet_count; i++) {
        if (disk->base.tablets[i]->held.members.member_count < 2) {
            return disk->base.tablets[i];
        }
    }
    return NULL;
}

/* `cut` is not production's: what the simulator knows of a copy, whoever forgets to note it. */
static void cut_log(struct sim_store *store)
{
    struct sim_store_disk *disk = store->disk;
    enum sim_planted planted = store->sim->planted;
    sim_trace(store->sim, "server %u: the log is cut at %llu", store->node,
              (unsigned long long)store->log.bad_position);
    store->sim->statistics.log_cuts++;
    if (planted != SIM_PLANTED_ROT_ENDS_LOG) {
        disk->relearns = planted != SIM_PLANTED_RELEARN_UNNOTED;
        store->marks = true;
        for (uint32_t i = 0; i < disk->base.tablet_count; i++) {
            disk->base.tablets[i]->cut = true;
        }
        for (uint32_t i = 0; i < store->tablet_count; i++) {
            store->tablets[i]->cut = true;
        }
    }
    sim_log_cut(&disk->log, store->log.bad_position);
    sim_rot_log_was_cut(store->sim, store->node);
}

enum status sim_store_open_log(struct sim_store *store,
                               const struct sim_log_open_options *options,
                               struct error *ret_error)
{
    const struct sim_log_disk *log = &store->disk->log;
    bool rots = sim_log_rots(log);
    store->marks = store->disk->relearns;
    enum status status = sim_log_open(&store->log, &store->disk->log, options, ret_error);
    if (!rots) {
        return status;
    }
    if (status != STATUS_CORRUPT || store->log.bad_position != log->rot.position) {
        sim_fail(store->sim, "server %u: the log rots at %llu, and that is not found", store->node,
                 (unsigned long long)log->rot.position);
        return status;
    }
    if (sim_store_only_copy(store->disk) != NULL) {
        return status;
    }
    cut_log(store);
    return sim_log_open(&store->log, &store->disk->log, options, ret_error);
}

bool sim_store_relearns(const struct sim_tablet *tablet)
{
    return tablet->store->marks || tablet->copy.held.flags.damaged;
}

/* What is hidden has given place to its children, which are marked themselves. */
void sim_store_relearn_mark(struct sim_store *store)
{
    store->relearn_position = store->log.gathering_position;
    for (uint32_t i = 0; i < store->tablet_count && store->marks; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        struct store_configuration configuration = tablet->copy.held;
        if (configuration.members.version != 0 && !tablet->hidden) {
            configuration.flags.damaged = true;
            sim_store_configure(store, tablet, &configuration, UINT64_MAX);
        }
    }
    if (store->log.gathering_records == 0) {
        store->disk->relearns = false; /* nothing is there to be marked */
    }
}

void sim_store_relearn_end(struct sim_store *store, uint64_t synced)
{
    if (store->disk->relearns && synced > store->relearn_position) {
        store->disk->relearns = false;
    }
}
