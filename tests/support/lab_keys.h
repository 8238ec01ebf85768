/*
 * The lab's experiments as tests look at them: a world, a variant by name, the key of an event's row.
 */
#ifndef TESTS_SUPPORT_LAB_KEYS_H
#define TESTS_SUPPORT_LAB_KEYS_H

#include <criterion/criterion.h>
#include <string.h>

#include "client/load/lab/core/experiments/story.h"

static const struct lab_world WORLD = {.seed = 1, .history = 2000};

static inline const struct lab_variant *variant_of(const struct lab_experiment *experiment,
                                                   const char *name)
{
    for (size_t i = 0; i < experiment->variant_count; i++) {
        if (strcmp(experiment->variants[i].name, name) == 0) {
            return &experiment->variants[i];
        }
    }
    cr_assert_fail("no variant %s", name);
    return NULL;
}

/* The key of the event's row-th row; lives until the next call. */
static inline const char *key_of(const struct lab_experiment *experiment,
                                 const char *name,
                                 struct lab_event event,
                                 size_t row)
{
    static struct lab_change change;
    static char text[LAB_KEY_BYTES_MAX + 1];
    lab_change_init(&change);
    variant_of(experiment, name)->change(&event, &change);
    cr_assert(change.fits && row < change.row_count);
    memcpy(text, change.rows[row].key, change.rows[row].key_size);
    text[change.rows[row].key_size] = '\0';
    return text;
}

/* As tables sort. */
static inline int compare_bytes(struct edubba_bytes a, struct edubba_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

#endif /* TESTS_SUPPORT_LAB_KEYS_H */
