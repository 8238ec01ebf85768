/*
 * What of a log record still has to be applied at recovery: decided key by key from the applied map.
 *
 * Adds must be applied exactly once, so a PUT or FOLD is applied where its very position is not yet
 * in the base.  A delete reaches over a whole row, family or column; where a flush was cut inside
 * the row, part of that reach may lie above the cut while the delete itself stands below, so it is
 * applied again: deletes are idempotent, for nothing that survived one can be killed by it.
 *
 * Pure.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_REPLAY_PLAN_H
#define TABLETSERVER_STORAGE_RECORD_REPLAY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/model/mutation.h"
#include "tabletserver/storage/record/applied_map.h"

enum replay_verdict {
    REPLAY_NONE, /* all of the row's changes are in the base */
    REPLAY_ALL,
    REPLAY_SOME, /* ask for each change */
};

enum replay_verdict replay_plan_row(const struct applied_map *map,
                                    uint64_t sequence,
                                    struct bytes row);

/* For REPLAY_SOME: must this change be applied? */
bool replay_plan_change(const struct applied_map *map,
                        uint64_t sequence,
                        struct bytes row,
                        const struct change *change);

#endif /* TABLETSERVER_STORAGE_RECORD_REPLAY_PLAN_H */
