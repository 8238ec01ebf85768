/*
 * The rows that an experiment of the lab has filled its table with.
 */
#ifndef TESTS_SUPPORT_LAB_TABLE_H
#define TESTS_SUPPORT_LAB_TABLE_H

#include <stdlib.h>

#include "tests/support/lab_keys.h"

enum {
    MODEL_ROWS = 16000
};

struct model_row {
    struct lab_change change;
    struct lab_row row;
    uint64_t number;
};

/* In the order of its events.  Returns how many; `rows` are MODEL_ROWS. */
static inline size_t fill(const struct lab_experiment *experiment,
                          const struct lab_variant *variant,
                          struct model_row *rows)
{
    size_t count = 0;
    for (uint64_t i = 0; i < WORLD.history; i++) {
        struct lab_event event;
        struct lab_change change;
        experiment->event(&WORLD, i, &event);
        lab_change_init(&change);
        variant->change(&event, &change);
        for (size_t j = 0; j < change.row_count; j++) {
            rows[count].row = change.rows[j];
            rows[count].number = i;
            count++;
        }
    }
    return count;
}

#endif /* TESTS_SUPPORT_LAB_TABLE_H */
