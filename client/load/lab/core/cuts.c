#include "client/load/lab/core/cuts.h"

#include <stdlib.h>

#define SAMPLES_MAX 20000

static int compare(const void *a, const void *b)
{
    const struct lab_cut *left = a;
    const struct lab_cut *right = b;
    size_t common = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->key, right->key, common);
    return order != 0 ? order : left->size < right->size ? -1 : left->size > right->size;
}

/* Events of the history at even distances. */
struct samples {
    uint64_t count;
    uint64_t step;
};

static struct samples samples_of(const struct lab_world *world)
{
    uint64_t step = world->history / SAMPLES_MAX + 1;
    return (struct samples){(world->history + step - 1) / step, step};
}

static size_t gather(const struct lab_experiment *experiment,
                     const struct lab_variant *variant,
                     const struct lab_world *world,
                     struct lab_cut *ret_keys)
{
    struct samples samples = samples_of(world);
    struct lab_change change;
    size_t count = 0;
    for (uint64_t i = 0; i < samples.count; i++) {
        struct lab_event event;
        experiment->event(world, i * samples.step, &event);
        lab_change_init(&change);
        variant->change(&event, &change);
        for (size_t j = 0; j < change.row_count; j++) {
            struct lab_cut *cut = &ret_keys[count++];
            memcpy(cut->key, change.rows[j].key, change.rows[j].key_size);
            cut->size = change.rows[j].key_size;
        }
    }
    return count;
}

bool lab_cuts_make(const struct lab_experiment *experiment,
                   const struct lab_variant *variant,
                   const struct lab_world *world,
                   size_t tablets,
                   struct lab_cut *cuts,
                   size_t *ret_count)
{
    uint64_t most = samples_of(world).count * LAB_ROWS_MAX;
    struct lab_cut *keys = malloc((size_t)most * sizeof *keys);
    size_t made = 0;
    if (keys == NULL) {
        return false;
    }
    size_t count = gather(experiment, variant, world, keys);
    qsort(keys, count, sizeof *keys, compare);
    for (size_t i = 1; i < tablets; i++) {
        const struct lab_cut *key = &keys[count * i / tablets];
        const struct lab_cut *last = made > 0 ? &cuts[made - 1] : &keys[0];
        if (compare(key, last) > 0) {
            cuts[made++] = *key;
        }
    }
    free(keys);
    *ret_count = made;
    return true;
}

bool lab_event_bytes(const struct lab_experiment *experiment,
                     const struct lab_variant *variant,
                     const struct lab_world *world,
                     double *ret_bytes)
{
    struct samples samples = samples_of(world);
    struct lab_change change;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < samples.count; i++) {
        struct lab_event event;
        experiment->event(world, i * samples.step, &event);
        lab_change_init(&change);
        variant->change(&event, &change);
        if (!change.fits) {
            return false;
        }
        bytes += lab_change_bytes(&change);
    }
    *ret_bytes = (double)bytes / (double)samples.count;
    return true;
}
