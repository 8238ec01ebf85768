#include "tests/sim/store/sim_collect.h"

#include <string.h>

#include "common/base/assert.h"
#include "tests/sim/store/sim_store.h"

/* --- horizons ------------------------------------------------------------------------------------- */

static struct horizon_list list_of(struct sim_horizons *horizons)
{
    return (struct horizon_list){horizons->items, horizons->count};
}

void sim_horizons_raise(struct sim_horizons *horizons, const struct horizon *to)
{
    struct horizon_list list = list_of(horizons);
    if (!horizon_raise(&list, to)) {
        ASSERT(horizons->count < SIM_HORIZONS_MAX);
        horizons->items[horizons->count++] = *to;
    }
}

void sim_horizons_take(struct sim_horizons *horizons,
                       const struct horizon *from,
                       uint32_t count,
                       uint64_t sequence)
{
    horizons->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (from[i].sequence <= sequence) {
            sim_horizons_raise(horizons, &from[i]);
        }
    }
}

void sim_horizons_forget_above(struct sim_horizons *horizons, uint64_t sequence)
{
    struct horizon_list list = list_of(horizons);
    horizon_forget_above(&list, sequence);
    horizons->count = list.count;
}

void sim_collect_note(struct sim_tablet *tablet, const struct sim_pending *record)
{
    struct record_gc_horizon said;
    if (record->type == RECORD_GC_HORIZON) {
        ASSERT(record_decode_gc_horizon(buffer_bytes(&record->payload), &said, NULL) == STATUS_OK);
        sim_horizons_raise(&tablet->horizons, &(struct horizon){said.family, said.rule_version,
                                                                said.horizon_us, record->sequence});
    }
}

/* --- HORIZONS ------------------------------------------------------------------------------------- */

static bool leads(const struct sim_tablet *tablet)
{
    return !tablet->replicated || tablet->copy.leads;
}

/* Refused is fine: the next look finds the same. */
static void give_out(struct sim_store *store,
                     struct sim_tablet *tablet,
                     enum record_type type,
                     struct bytes payload,
                     int64_t now_us)
{
    uint64_t clock = sim_store_next_clock(store, now_us);
    uint64_t sequence = 0;
    if (tablet->replicated) {
        (void)sim_store_give_out(store, tablet, type, payload, clock, &sequence);
    } else {
        (void)sim_store_append_payload(store, tablet, type, payload, clock);
    }
}

enum status sim_collect_say_rules(struct sim_store *store,
                                  struct sim_tablet *tablet,
                                  uint64_t clock)
{
    const struct table *schema = store->callbacks.schema_of(store->callbacks.context,
                                                            tablet->table);
    uint32_t count = schema == NULL || store->sim->planted == SIM_PLANTED_RULES_UNSAID
                         ? 0
                         : schema->family_count;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        const struct horizon_list list = list_of(&tablet->horizons);
        struct record_gc_horizon said;
        if (horizon_must_say(&list, schema, &schema->families[i], &said)) {
            struct buffer payload = BUFFER_INIT;
            uint64_t sequence = 0;
            record_encode_gc_horizon(&said, &payload);
            status = sim_store_give_out(store, tablet, RECORD_GC_HORIZON, buffer_bytes(&payload),
                                        sim_store_next_clock(store, hlc_to_us(clock)), &sequence);
            buffer_deinit(&payload);
        }
    }
    return status;
}

void sim_collect_say(struct sim_store *store,
                     struct sim_tablet *tablet,
                     const struct table *schema,
                     int64_t now_us)
{
    for (uint32_t i = 0; i < schema->family_count && leads(tablet); i++) {
        struct horizon_list list = list_of(&tablet->horizons);
        struct record_gc_horizon said;
        if (horizon_is_due(&list, schema, &schema->families[i], now_us, &said)) {
            struct buffer payload = BUFFER_INIT;
            record_encode_gc_horizon(&said, &payload);
            give_out(store, tablet, RECORD_GC_HORIZON, buffer_bytes(&payload), now_us);
            buffer_deinit(&payload);
            store->sim->statistics.horizons++;
            sim_trace(store->sim, "server %u: tablet %llu says horizon %lld, by schema %llu",
                      store->node, (unsigned long long)tablet->tablet, (long long)said.horizon_us,
                      (unsigned long long)said.rule_version);
        }
    }
}

/* --- ERASE ---------------------------------------------------------------------------------------- */

struct eraser {
    struct horizon_list list;
    const struct table *schema;
    uint64_t committed;
    uint64_t flushed; /* what is newer is in no base */
};

static bool must_erase(void *context, const struct sim_cell *cell)
{
    const struct eraser *eraser = context;
    return cell->sequence <= eraser->flushed &&
           horizon_may_erase(&eraser->list, eraser->schema, eraser->committed, cell->family,
                             cell->timestamp_us);
}

/* As store_may_keep_house(), and nothing of it is on its way to the base. */
static bool may_keep_house(const struct sim_store *store, const struct sim_tablet *tablet)
{
    const struct sim_learning *learning = &tablet->copy.learning;
    bool may = tablet->frozen_count == 0 && tablet->parent == 0 && !learning->learning &&
               !learning->first && !tablet->hidden && !tablet->merging && !tablet->rotten;
    for (uint32_t i = 0; i < store->queue_count; i++) {
        may = may && store->queue[i].tablet != tablet->tablet;
    }
    return may;
}

/* Planted: whatever rule a horizon came from. */
static struct eraser eraser_of(const struct sim_store *store,
                               const struct sim_tablet *tablet,
                               const struct table *schema,
                               struct sim_horizons *horizons)
{
    struct eraser eraser = {.schema = schema, .committed = tablet->committed};
    for (uint32_t i = 0; i < horizons->count; i++) {
        struct horizon *horizon = &horizons->items[i];
        if (store->sim->planted == SIM_PLANTED_HORIZON_OUTLIVES_RULE) {
            horizon->rule_version = schema->version;
        }
    }
    eraser.list = list_of(horizons);
    return eraser;
}

void sim_collect_erase(struct sim_store *store,
                       struct sim_tablet *tablet,
                       const struct table *schema)
{
    struct sim_horizons horizons = tablet->horizons;
    struct eraser eraser = eraser_of(store, tablet, schema, &horizons);
    struct sim_base_tablet *base = sim_base_change(&store->disk->base, tablet->tablet);
    if (base == NULL || !may_keep_house(store, tablet) ||
        !horizon_all_committed(&eraser.list, eraser.committed)) {
        return;
    }
    eraser.flushed = base->flushed_sequence;
    uint32_t erased = sim_rows_erase(&base->rows, must_erase, &eraser);
    store->sim->statistics.erased += erased;
    if (erased > 0) {
        sim_trace(store->sim, "server %u: tablet %llu erases %u cells, by schema %llu", store->node,
                  (unsigned long long)tablet->tablet, erased, (unsigned long long)schema->version);
    }
    (void)sim_rows_erase(&tablet->committed_rows, must_erase, &eraser);
    (void)sim_rows_erase(&tablet->prepared_rows, must_erase, &eraser);
}

/* --- VERSIONS ------------------------------------------------------------------------------------- */

static bool any_explicit_rule(const struct table *schema)
{
    for (uint32_t i = 0; i < schema->family_count; i++) {
        if (!horizon_does_all(&schema->families[i].gc)) {
            return true;
        }
    }
    return false;
}

static struct change delete_of(struct sim_collection *collection, const struct sim_cell *cell)
{
    return (struct change){
        .kind = CHANGE_DELETE_CELLS,
        .family = cell->family,
        .qualifier = arena_copy(&collection->arena,
                                bytes_of(cell->qualifier, cell->qualifier_bytes)),
        .start_us = cell->timestamp_us,
        .end_us = cell->timestamp_us + 1};
}

static void find_in_row(struct sim_collection *collection,
                        const struct sim_row *row,
                        const struct table *schema,
                        int64_t now_us)
{
    struct change *changes = arena_allocate_array(&collection->arena, row->cell_count,
                                                  sizeof *changes);
    size_t count = 0;
    ASSERT(changes != NULL);
    for (uint32_t i = 0; i < row->cell_count; i++) {
        if (sim_row_drops(row, i, schema, now_us)) {
            changes[count++] = delete_of(collection, &row->cells[i]);
        }
    }
    if (count > 0) {
        collection->rows[collection->row_count++] = (struct record_entry){
            .row = arena_copy(&collection->arena, sim_row_key(row)),
            .changes = changes,
            .change_count = count};
        collection->cell_count += count;
    }
}

bool sim_collect_find(struct sim_store *store,
                      struct sim_tablet *tablet,
                      const struct table *schema,
                      int64_t now_us)
{
    struct sim_collection *collection = &store->collection;
    const struct sim_rows *rows = &tablet->prepared_rows;
    if (collection->full || !leads(tablet) || !any_explicit_rule(schema)) {
        return false;
    }
    arena_reset(&collection->arena);
    collection->tablet = tablet->tablet;
    collection->life = tablet->life;
    collection->cuts = tablet->copy.cuts;
    collection->sequence = tablet->prepared;
    collection->rule_version = schema->version;
    collection->row_count = 0;
    collection->cell_count = 0;
    for (uint32_t i = 0; i < rows->count && collection->row_count < SIM_COLLECT_ROWS_MAX; i++) {
        find_in_row(collection, &rows->rows[i], schema, now_us);
    }
    collection->full = collection->row_count > 0;
    return collection->full;
}

/* It is judged anew by the next look. */
static bool is_newer(const struct sim_tablet *tablet, struct bytes key, uint64_t sequence)
{
    const struct sim_row *row = sim_rows_find(&tablet->prepared_rows, key);
    for (uint32_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (row->cells[i].sequence > sequence) {
            return true;
        }
    }
    return false;
}

/* By other rules, or among what has been dropped from the log since. */
static bool is_void(const struct sim_store *store,
                    const struct sim_tablet *tablet,
                    const struct table *schema)
{
    const struct sim_collection *collection = &store->collection;
    bool other_rules = schema == NULL || schema->version != collection->rule_version;
    bool was_cut = tablet->copy.cuts != collection->cuts;
    const struct horizon_list list = {(struct horizon *)tablet->horizons.items,
                                      tablet->horizons.count};
    bool outdated = schema != NULL && horizon_is_outdated(&list, schema);
    return tablet->life != collection->life || outdated || other_rules || was_cut;
}

void sim_collect_append(struct sim_store *store,
                        struct sim_tablet *tablet,
                        const struct table *schema,
                        int64_t now_us)
{
    struct sim_collection *collection = &store->collection;
    struct record_entry rows[SIM_COLLECT_ROWS_MAX];
    struct buffer payload = BUFFER_INIT;
    size_t count = 0;
    for (uint32_t i = 0; i < collection->row_count; i++) {
        if (!is_newer(tablet, collection->rows[i].row, collection->sequence)) {
            rows[count++] = collection->rows[i];
        }
    }
    if (count > 0 && leads(tablet) && !is_void(store, tablet, schema)) {
        record_encode_write(&(struct record_write){rows, count}, &payload);
        give_out(store, tablet, RECORD_WRITE, buffer_bytes(&payload), now_us);
        store->sim->statistics.doomed += collection->cell_count;
    }
    buffer_deinit(&payload);
}
