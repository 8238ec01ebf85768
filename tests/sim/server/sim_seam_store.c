#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tests/sim/store/sim_store.h"

/*
 * The simulated store as production's host sees it: the functions of tabletserver/storage/copies/store_replica.h
 * and store.h that tabletserver/host calls, under their own names.  The program is linked with these in place of the
 * real store's, so the host runs as it is.  (Slices: sim_slice.c and sim_learn.c.)
 */

/* --- looking -------------------------------------------------------------------------------------- */

const struct store_tablet_descriptor *store_tablet_describe(const struct store_tablet *tablet)
{
    return &sim_tablet_of(tablet)->descriptor;
}

struct store *store_tablet_store(const struct store_tablet *tablet)
{
    return (struct store *)(void *)sim_tablet_of(tablet)->store;
}

uint64_t store_tablet_committed(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->committed;
}

uint64_t store_tablet_prepared(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->prepared;
}

uint64_t store_tablet_appended(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->prepared;
}

/* Its flushes are whole: no base has a part of what its log has lost. */
bool store_tablet_is_torn(const struct store_tablet *tablet)
{
    (void)tablet;
    return false;
}

uint64_t store_tablet_committed_version(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->copy.committed_version;
}

bool store_tablet_is_alone(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->copy.alone;
}

bool store_tablet_leads(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->copy.leads;
}

const struct store_configuration *store_tablet_configuration(const struct store_tablet *tablet)
{
    return &sim_tablet_of(tablet)->copy.held;
}

uint32_t store_tablet_window_count(const struct store_tablet *tablet)
{
    return (uint32_t)(sim_tablet_of(tablet)->prepared - sim_tablet_of(tablet)->committed);
}

struct store_entry store_tablet_window_at(const struct store_tablet *tablet, uint32_t index)
{
    const struct sim_pending *record = sim_tablet_of(tablet)->first;
    for (uint32_t i = 0; i < index; i++) {
        record = record->next;
    }
    return sim_entry_of(record);
}

bool store_tablet_barrier(const struct store_tablet *tablet, struct store_entry *ret_barrier)
{
    const struct store_entry *barrier = sim_copy_standing(sim_tablet_of(tablet));
    if (barrier != NULL) {
        *ret_barrier = *barrier;
    }
    return barrier != NULL;
}

bool store_tablet_last_split(const struct store_tablet *tablet,
                             struct store_entry *ret_entry,
                             struct record_split *ret_split)
{
    bool found = sim_copy_last_barrier(sim_tablet_of(tablet), RECORD_SPLIT, ret_entry);
    ASSERT(!found || record_decode_split(ret_entry->payload, ret_split, NULL) == STATUS_OK);
    return found;
}

/* --- whose it is ---------------------------------------------------------------------------------- */

void store_tablet_ref(struct store_tablet *tablet)
{
    sim_tablet_ref(sim_tablet_of(tablet));
}

void store_tablet_unref(struct store_tablet *tablet)
{
    sim_tablet_unref(sim_tablet_of(tablet));
}

void store_tablet_set_replica(struct store_tablet *tablet, void *replica)
{
    sim_tablet_of(tablet)->copy.hosted = replica;
}

void *store_tablet_replica(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->copy.hosted;
}

/* --- changing ------------------------------------------------------------------------------------- */

uint64_t store_next_clock(struct store *stored)
{
    struct sim_store *store = (struct sim_store *)(void *)stored;
    return sim_store_next_clock(store, sim_wall_us(store->sim, store->node));
}

/* What has gathered is written at the end of the step, by an effect. */
void store_commit(struct store *store)
{
    (void)store;
}

enum status store_append_entry(struct store_tablet *stored,
                               const struct store_entry *entry,
                               struct error *ret_error)
{
    struct sim_tablet *tablet = sim_tablet_of(stored);
    const struct sim_learning *learning = &tablet->copy.learning;
    (void)ret_error;
    ASSERT(!tablet->copy.leads);
    if (learning->first || (learning->learning && !learning->follows)) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    enum status status = sim_store_room(tablet->store);
    if (status == STATUS_OK) {
        sim_store_append_entry(tablet->store, tablet, entry);
    }
    return status;
}

/* Planted: it is believed to have been given out. */
static bool is_swallowed(const struct sim_tablet *tablet, enum record_type type)
{
    enum sim_planted planted = tablet->store->sim->planted;
    return (planted == SIM_PLANTED_NEVER_THAWED && type == RECORD_THAWED) ||
           (planted == SIM_PLANTED_NEVER_LIFTED && type == RECORD_ABSORB_ABORTED);
}

enum status store_append_barrier(struct store_tablet *tablet,
                                 enum record_type type,
                                 struct bytes payload,
                                 uint64_t clock,
                                 uint64_t *ret_sequence)
{
    if (sim_tablet_of(tablet)->merging) {
        return STATUS_NOT_OWNER;
    }
    if (is_swallowed(sim_tablet_of(tablet), type)) {
        return STATUS_OK;
    }
    if (sim_copy_has_open_barrier(sim_tablet_of(tablet))) {
        return STATUS_UNAVAILABLE;
    }
    return sim_store_give_out(sim_tablet_of(tablet)->store, sim_tablet_of(tablet), type, payload,
                              clock, ret_sequence);
}

enum status store_tablet_configure(struct store_tablet *stored,
                                   const struct store_configuration *configuration,
                                   uint64_t kept_sequence)
{
    struct sim_tablet *tablet = sim_tablet_of(stored);
    uint64_t kept = kept_sequence < tablet->prepared ? kept_sequence : tablet->prepared;
    ASSERT(replica_configuration_is_sound(&configuration->members));
    ASSERT(kept >= tablet->committed);
    if (tablet->copy.learning.first) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    if (tablet->copy.held.members.version == 0 && tablet->committed < tablet->prepared) {
        return STATUS_UNAVAILABLE;
    }
    sim_store_configure(tablet->store, tablet, configuration, kept);
    return STATUS_OK;
}

enum status store_tablet_commit(struct store_tablet *stored, uint64_t sequence)
{
    struct sim_tablet *tablet = sim_tablet_of(stored);
    const struct sim_learning *learning = &tablet->copy.learning;
    ASSERT(!tablet->copy.alone);
    ASSERT(sequence <= tablet->copy.synced ||
           tablet->store->sim->planted == SIM_PLANTED_REPLICA_SYNCED_EARLY);
    bool is_full = !tablet->copy.leads && sim_buggify(tablet->store->sim, SIM_SITE_NO_MEMORY);
    if (learning->first || is_full) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    if (learning->learning && sequence > learning->hold_until) {
        sequence = learning->hold_until;
    }
    return sim_store_commit(tablet->store, tablet, sequence);
}

enum status store_tablet_lead(struct store_tablet *stored)
{
    struct sim_tablet *tablet = sim_tablet_of(stored);
    if (tablet->copy.learning.learning || tablet->copy.learning.first) {
        return STATUS_RESOURCE_EXHAUSTED; /* a part of it leads nobody */
    }
    sim_store_lead(tablet->store, tablet);
    return STATUS_OK;
}

void store_tablet_follow(struct store_tablet *tablet)
{
    sim_tablet_of(tablet)->copy.leads = false;
}

enum status store_tablet_convert(struct store_tablet *parent, struct store_tablet *ret_children[2])
{
    struct sim_tablet *children[2] = {NULL, NULL};
    enum status status = sim_store_convert(sim_tablet_of(parent)->store, sim_tablet_of(parent),
                                           children);
    for (int i = 0; i < 2; i++) {
        ret_children[i] = (struct store_tablet *)(void *)children[i];
    }
    return status;
}

struct store_tablet *store_tablet_find(struct store *store, uint64_t tablet)
{
    return (struct store_tablet *)(void *)sim_store_find((struct sim_store *)(void *)store, tablet);
}

void store_tablet_statistics(struct store_tablet *tablet, struct store_tablet_statistics *ret)
{
    *ret = (struct store_tablet_statistics){
        .base_bytes = sim_rows_size_bytes(&sim_tablet_of(tablet)->committed_rows),
        .flush_count = sim_tablet_of(tablet)->flush_count};
}

/* --- merges ----------------------------------------------------------------------------------------- */

bool store_tablet_last_absorb(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_absorb *ret_absorb)
{
    bool found = sim_copy_last_barrier(sim_tablet_of(tablet), RECORD_ABSORB, ret_entry);
    ASSERT(!found || record_decode_absorb(ret_entry->payload, ret_absorb, NULL) == STATUS_OK);
    return found;
}

bool store_tablet_last_frozen(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_frozen *ret_frozen)
{
    bool found = sim_copy_last_barrier(sim_tablet_of(tablet), RECORD_FROZEN, ret_entry);
    ASSERT(!found || record_decode_frozen(ret_entry->payload, ret_frozen, NULL) == STATUS_OK);
    return found;
}

void store_tablet_flush(struct store_tablet *tablet)
{
    sim_flush_soon(sim_tablet_of(tablet)->store, sim_tablet_of(tablet));
}

bool store_tablet_is_flushed(struct store_tablet *tablet)
{
    return sim_flush_is_done(sim_tablet_of(tablet));
}

enum status store_tablet_merge(struct store_tablet *left, struct store_tablet *right)
{
    return sim_store_merge(sim_tablet_of(left)->store, sim_tablet_of(left), sim_tablet_of(right));
}

bool store_tablet_is_merging(const struct store_tablet *tablet)
{
    return sim_tablet_of(tablet)->merging;
}
