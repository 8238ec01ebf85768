/* A store of the simulator: its life, its tablets, what its base has done, and what must hold. */
#include "tests/sim/store/sim_store.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* --- life ------------------------------------------------------------------------------------- */

void sim_store_disk_init(struct sim_store_disk *disk, uint64_t number)
{
    *disk = (struct sim_store_disk){.number = number};
    sim_log_disk_init(&disk->log, number);
}

void sim_store_disk_deinit(struct sim_store_disk *disk)
{
    sim_log_disk_deinit(&disk->log);
    sim_base_deinit(&disk->base);
}

struct sim_tablet *sim_tablet_create(uint64_t number,
                                     uint64_t table,
                                     uint64_t configuration,
                                     const struct row_range *range)
{
    const struct dedupe_limits limits = {64, 100000, 1 << 24};
    struct sim_tablet *tablet = memory_allocate_zeroed(1, sizeof *tablet);
    ASSERT(tablet != NULL && dedupe_create(&limits, &tablet->dedupe) == STATUS_OK);
    ASSERT(range->start.size_bytes <= SIM_KEY_BYTES_MAX);
    ASSERT(range->end.size_bytes <= SIM_KEY_BYTES_MAX);
    tablet->tablet = number;
    tablet->table = table;
    tablet->configuration = configuration;
    if (range->start.size_bytes > 0) {
        memcpy(tablet->bounds, range->start.data, range->start.size_bytes);
    }
    if (range->end.size_bytes > 0) {
        memcpy(tablet->bounds + SIM_KEY_BYTES_MAX, range->end.data, range->end.size_bytes);
    }
    tablet->range.start = bytes_of(tablet->bounds, range->start.size_bytes);
    tablet->range.end = bytes_of(tablet->bounds + SIM_KEY_BYTES_MAX, range->end.size_bytes);
    tablet->active_position = LOG_POSITION_NONE;
    tablet->copy.configuration_position = LOG_POSITION_NONE;
    return tablet;
}

static void tablet_destroy(struct sim_tablet *tablet)
{
    while (tablet->first != NULL) {
        struct sim_pending *next = tablet->first->next;
        buffer_deinit(&tablet->first->payload);
        memory_free(tablet->first);
        tablet->first = next;
    }
    for (uint32_t i = 0; i < tablet->frozen_count; i++) {
        sim_rows_deinit(&tablet->frozen[i].rows);
        buffer_deinit(&tablet->frozen[i].dedupe);
    }
    sim_rows_deinit(&tablet->prepared_rows);
    sim_rows_deinit(&tablet->committed_rows);
    buffer_deinit(&tablet->flushed_row);
    dedupe_destroy(tablet->dedupe);
    sim_copy_destroy(&tablet->copy);
    memory_free(tablet);
}

void sim_tablet_ref(struct sim_tablet *tablet)
{
    tablet->references++;
}

void sim_tablet_unref(struct sim_tablet *tablet)
{
    ASSERT(tablet->references > 0);
    if (--tablet->references == 0) {
        tablet_destroy(tablet);
    }
}

void sim_store_kill(struct sim_store *store, bool power_cut)
{
    struct sim_store_disk *disk = store->disk;
    for (uint32_t i = 0; i < store->queue_count; i++) {
        if (i == 0 && store->committing && prng_chance(&store->sim->prng, 2)) {
            (void)sim_base_apply(&disk->base, &store->queue[i]);
        }
        sim_base_transaction_discard(&store->queue[i]);
    }
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        sim_tablet_unref(store->tablets[i]);
    }
    memory_free(store->told);
    arena_deinit(&store->collection.arena);
    sim_log_close(&store->log);
    arena_deinit(&store->arena);
    if (power_cut) {
        sim_log_disk_cut_power(&disk->log, &store->sim->prng);
    }
}

void sim_store_add(struct sim_store *store, struct sim_tablet *tablet)
{
    ASSERT(store->tablet_count < SIM_TABLETS_MAX);
    ASSERT(sim_store_find_any(store, tablet->tablet) == NULL);
    tablet->life = ++store->life_next;
    tablet->store = store;
    tablet->references = 1;
    store->tablets[store->tablet_count++] = tablet;
}

void sim_store_remove(struct sim_store *store, struct sim_tablet *tablet)
{
    uint32_t at = 0;
    while (store->tablets[at] != tablet) {
        at++;
    }
    memmove(&store->tablets[at], &store->tablets[at + 1],
            (--store->tablet_count - at) * sizeof(struct sim_tablet *));
    sim_tablet_unref(tablet);
}

/* --- creating and dropping -------------------------------------------------------------------- */

void sim_store_queue(struct sim_store *store, const struct sim_base_transaction *transaction)
{
    const struct sim_log *log = &store->log;
    ASSERT(store->queue_count < SIM_QUEUE_MAX);
    store->queue[store->queue_count] = *transaction;
    /* As store_last_position(): the batch that gathers begins there, and in a store where nothing is left none does. */
    store->queue[store->queue_count++].log_last = log->gathering_position -
                                                  (log->gathering_records == 0 ? 1 : 0);
}

void sim_store_create(struct sim_store *store,
                      uint64_t number,
                      uint64_t table,
                      uint64_t configuration,
                      const struct row_range *range,
                      bool replicated)
{
    struct applied_map map;
    uint64_t grave = sim_base_grave(&store->disk->base, number);
    if (sim_store_find_any(store, number) != NULL ||
        (grave != 0 && store->log.synced_position <= grave)) {
        return; /* asked for again */
    }
    for (uint32_t i = 0; i < store->queue_count; i++) {
        if (store->queue[i].purpose == SIM_BASE_CREATED && store->queue[i].tablet == number) {
            return; /* asked for again: it is on its way */
        }
    }
    struct sim_base_tablet *created = sim_base_tablet_create(number, table, configuration, range);
    created->replicated = replicated;
    arena_reset(&store->arena);
    ASSERT(applied_map_whole(&store->arena, 0, &map) == STATUS_OK);
    applied_map_encode(&map, &created->applied);
    sim_store_queue(store, &(struct sim_base_transaction){.purpose = SIM_BASE_CREATED,
                                                          .tablet = number,
                                                          .puts = {created},
                                                          .put_count = 1});
}

void sim_store_drop(struct sim_store *store, struct sim_tablet *tablet)
{
    sim_store_queue(store, &(struct sim_base_transaction){.purpose = SIM_BASE_DROPPED,
                                                          .tablet = tablet->tablet,
                                                          .removed = {tablet->tablet},
                                                          .log_from = sim_flush_log_from(tablet)});
    sim_store_remove(store, tablet);
}

static void on_created(struct sim_store *store, const struct sim_base_tablet *created)
{
    struct sim_tablet *tablet = sim_tablet_create(created->tablet, created->table,
                                                  created->configuration, &created->range);
    tablet->replicated = created->replicated;
    tablet->copy.alone = true;
    tablet->copy.leads = true;
    flush_progress_init(&tablet->progress, 0, false);
    sim_store_add(store, tablet);
    store->callbacks.on_created(store->callbacks.context, tablet);
}

enum status sim_store_room(const struct sim_store *store)
{
    struct sim *sim = store->sim;
    if (sim->nodes[store->node].full_until_ns[store->index] <= sim->now_ns) {
        return sim_buggify(sim, SIM_SITE_NO_MEMORY) ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK;
    }
    sim->statistics.refused++;
    return STATUS_NO_SPACE;
}

/* --- the base ----------------------------------------------------------------------------------- */

void sim_store_base_committed(struct sim_store *store)
{
    struct sim_base_transaction done = store->queue[0];

    ASSERT(store->committing && store->queue_count > 0);
    store->committing = false;
    store->queue_count--;
    memmove(&store->queue[0], &store->queue[1], store->queue_count * sizeof store->queue[0]);
    if (done.purpose == SIM_BASE_LEARNT) {
        sim_store_learnt(store, &done);
        return;
    }
    bool stored = sim_base_apply(&store->disk->base, &done);
    switch (done.purpose) {
    case SIM_BASE_CREATED:
        if (stored) {
            on_created(store, sim_base_find(&store->disk->base, done.tablet));
        }
        break;
    case SIM_BASE_DROPPED:
    case SIM_BASE_LEARNT:
        break;
    case SIM_BASE_MERGED:
        sim_store_merged(store, &done, stored);
        break;
    case SIM_BASE_FLUSH_ADVANCED:
    case SIM_BASE_FLUSH_FINISHED:
        sim_flush_done(store, &done);
        break;
    }
}

static void flush_wanted(struct sim_store *store)
{
    store->flush_wanted = false;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->flush_wanted) {
            sim_flush_soon(store, store->tablets[i]);
        }
    }
}

void sim_store_want(struct sim_store *store, struct sim_effects *effects)
{
    if (store->flush_wanted) {
        flush_wanted(store);
    }
    if (sim_log_wants_write(&store->log)) {
        sim_effects_add(effects,
                        &(struct sim_effect){.kind = SIM_EFFECT_LOG, .number = store->index});
    }
    if (store->queue_count > 0 && !store->committing) {
        store->committing = true;
        sim_effects_add(effects,
                        &(struct sim_effect){.kind = SIM_EFFECT_BASE, .number = store->index});
    }
}

/* --- checking --------------------------------------------------------------------------------- */

void sim_store_check(struct sim_store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct sim_tablet *tablet = store->tablets[i];
        flush_progress_check(&tablet->progress);
        ASSERT(tablet->committed <= tablet->prepared);
        ASSERT(tablet->frozen_count == tablet->progress.frozen_count);
        if (tablet->committed == tablet->prepared && !tablet->hidden &&
            (!tablet->replicated || tablet->copy.leads) &&
            !sim_rows_equal(&tablet->committed_rows, &tablet->prepared_rows)) {
            sim_fail(store->sim, "tablet %llu: all is committed, yet prepared rows differ",
                     (unsigned long long)tablet->tablet);
        }
        for (uint32_t j = 0; j < i; j++) {
            const struct sim_tablet *other = store->tablets[j];
            struct row_range both;
            /* A child that is taught here may lie beside its parent's copy, an outsider's. */
            if (!tablet->replicated && !tablet->hidden && !other->hidden &&
                tablet->table == other->table &&
                row_range_intersect(&tablet->range, &other->range, &both)) {
                sim_fail(store->sim, "tablets %llu and %llu of one store overlap",
                         (unsigned long long)tablet->tablet, (unsigned long long)other->tablet);
            }
        }
    }
}
