#include "client/load/lab/core/experiments/experiment.h"

const struct lab_experiment *const LAB_EXPERIMENTS[] = {
    &LAB_BATTERY, &LAB_QUOTE,     &LAB_METRIC,    &LAB_COLUMNS, &LAB_SENSOR,
    &LAB_BALLOON, &LAB_DONATIONS, &LAB_CELEBRITY, &LAB_GARDEN,  &LAB_GAMES,
};
const size_t LAB_EXPERIMENT_COUNT = sizeof LAB_EXPERIMENTS / sizeof LAB_EXPERIMENTS[0];

const struct lab_experiment *lab_experiment_find(const char *name)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        if (strcmp(LAB_EXPERIMENTS[i]->name, name) == 0) {
            return LAB_EXPERIMENTS[i];
        }
    }
    return NULL;
}
