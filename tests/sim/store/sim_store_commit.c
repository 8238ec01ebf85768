/* What is committed: where nobody else has it, all that is synced. */
#include "tests/sim/store/sim_store.h"

#include "common/base/assert.h"

/* What a slice has is passed over. */
static enum status apply_committed(struct sim_store *store,
                                   struct sim_tablet *tablet,
                                   const struct sim_pending *record)
{
    struct error error = {.status = STATUS_OK};
    if (record->type == RECORD_DROP_RANGE && tablet->copy.learning.learning) {
        return STATUS_CORRUPT; /* its primary gives out none meanwhile */
    }
    arena_reset(&store->arena);
    if (sim_store_apply_to(store, tablet, record, &error) != STATUS_OK) {
        sim_fail(store->sim, "a logged record does not decode: %s", error.text);
    }
    return STATUS_OK;
}

enum status sim_store_commit_first(struct sim_store *store, struct sim_tablet *tablet)
{
    struct sim_pending *record = tablet->first;
    struct record_split split;
    struct error error = {.status = STATUS_OK};

    enum status status = apply_committed(store, tablet, record);
    if (status != STATUS_OK) {
        return status;
    }
    sim_collect_note(tablet, record);
    tablet->first = record->next;
    if (tablet->first == NULL) {
        tablet->last = NULL;
    }
    tablet->committed = record->sequence;
    tablet->clock = record->clock;
    if (tablet->replicated) {
        sim_store_record_requests(store, tablet, record);
    }
    dedupe_commit(tablet->dedupe, record->sequence);
    sim_flush_note_committed(store, tablet);
    if (tablet->replicated) {
        tablet->copy.committed_version = record->version;
        sim_copy_note_barrier(&tablet->copy, record);
        sim_copy_keep(store, tablet, record);
        return STATUS_OK;
    }
    if (record->type == RECORD_SPLIT) {
        ASSERT(record_decode_split(buffer_bytes(&record->payload), &split, &error) == STATUS_OK);
        sim_store_split(store, tablet, &split);
    }
    sim_pending_destroy(record);
    return STATUS_OK;
}

void sim_store_log_synced(struct sim_store *store)
{
    uint64_t synced = sim_log_synced(&store->log);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        uint64_t before = tablet->committed;
        while (!tablet->replicated && tablet->first != NULL && tablet->first->position < synced) {
            if (tablet->first->type == RECORD_SPLIT && tablet->committed > before) {
                store->callbacks.on_committed(store->callbacks.context, tablet, tablet->committed);
                before = tablet->committed;
            }
            (void)sim_store_commit_first(store, tablet);
        }
        if (!tablet->hidden && tablet->committed > before) {
            store->callbacks.on_committed(store->callbacks.context, tablet, tablet->committed);
        }
    }
    sim_store_relearn_end(store, synced);
    sim_store_tell_synced(store, synced);
}
