#include "tabletserver/storage/record/replay_plan.h"

enum replay_verdict replay_plan_row(const struct applied_map *map,
                                    uint64_t sequence,
                                    struct bytes row)
{
    uint64_t lowest = 0;
    uint64_t highest = 0;
    applied_map_span_of_row(map, row, &lowest, &highest);
    if (sequence <= lowest) {
        return REPLAY_NONE;
    }
    return sequence > highest ? REPLAY_ALL : REPLAY_SOME;
}

bool replay_plan_change(const struct applied_map *map,
                        uint64_t sequence,
                        struct bytes row,
                        const struct change *change)
{
    switch (change->kind) {
    case CHANGE_DELETE_CELLS:
    case CHANGE_DELETE_FAMILY:
    case CHANGE_DELETE_ROW:
        return true;
    case CHANGE_PUT:
    case CHANGE_FOLD:
        break;
    }
    struct tablet_position position = {.row = row,
                                       .family = change->family,
                                       .qualifier = change->qualifier,
                                       .timestamp_us = change->timestamp_us};
    return sequence > applied_map_at(map, &position);
}
