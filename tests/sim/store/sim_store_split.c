/* A tablet split in its own log: two children of what it has, and the parent hidden. */
#include "tests/sim/store/sim_store.h"

#include "common/base/assert.h"

struct sim_tablet *sim_store_begin_child(struct sim_store *store,
                                         struct sim_tablet *parent,
                                         uint64_t number,
                                         const struct row_range *range,
                                         struct bytes dedupe)
{
    struct sim_tablet *child = sim_tablet_create(number, parent->table, parent->configuration + 1,
                                                 range);
    struct error error = {.status = STATUS_OK};
    sim_rows_copy(&child->committed_rows, &parent->committed_rows, range);
    sim_rows_copy(&child->prepared_rows, &parent->committed_rows, range);
    child->prepared = parent->committed;
    child->committed = parent->committed;
    child->prepared_clock = parent->prepared_clock;
    child->clock = parent->clock;
    child->horizons = parent->horizons;
    child->parent = parent->tablet;
    child->rotten = parent->rotten;
    child->cut = parent->cut;
    flush_progress_init(&child->progress, parent->committed, true);
    if (store->sim->planted != SIM_PLANTED_SPLIT_LOSES_DEDUPE &&
        dedupe_load(child->dedupe, dedupe, &error) != STATUS_OK) {
        sim_fail(store->sim, "exactly-once records do not load: %s", error.text);
    }
    dedupe_commit(child->dedupe, parent->committed);
    sim_store_add(store, child);
    return child;
}

void sim_store_split(struct sim_store *store,
                     struct sim_tablet *parent,
                     const struct record_split *split)
{
    struct buffer dedupe = BUFFER_INIT;
    const struct row_range left = {parent->range.start, split->key};
    const struct row_range right = {split->key, parent->range.end};

    ASSERT(parent->first == NULL && parent->committed == parent->prepared);
    dedupe_encode(parent->dedupe, &dedupe);
    parent->hidden = true;
    parent->split_sequence = parent->committed;
    parent->children[0] = split->left_tablet;
    parent->children[1] = split->right_tablet;
    struct sim_tablet *children[2] = {
        sim_store_begin_child(store, parent, split->left_tablet, &left, buffer_bytes(&dedupe)),
        sim_store_begin_child(store, parent, split->right_tablet, &right, buffer_bytes(&dedupe)),
    };
    buffer_deinit(&dedupe);
    store->sim->statistics.splits++;
    sim_flush_freeze(store, parent);
    if (store->callbacks.on_split != NULL) {
        store->callbacks.on_split(store->callbacks.context, parent, children[0], children[1]);
    }
}

struct bytes sim_tablet_middle(const struct sim_tablet *tablet)
{
    const struct sim_rows *rows = &tablet->committed_rows;
    if (rows->count < 2) {
        return BYTES_EMPTY;
    }
    return sim_row_key(&rows->rows[rows->count / 2]);
}
