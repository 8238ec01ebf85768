/*
 * Messages about where load was: part of message.h, which every user includes.
 *
 * A master that stands by asks the active one for them (docs/console.md).
 */
#ifndef COMMON_WIRE_MESSAGE_HEAT_H
#define COMMON_WIRE_MESSAGE_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

struct list_heat_request {
    int64_t after_us; /* columns that began then or later */
    uint64_t table;   /* and of those only what is behind this one's, */
    int64_t start_us; /* which began then; 0 and 0 = from the beginning */
};

/* master/heat/heat_column.h */
struct heat_column_image {
    uint64_t table;
    uint32_t layer;
    int64_t start_us;
    int64_t end_us;
    struct bytes packed;
};

struct list_heat_response {
    int64_t newest_us; /* when the newest of all ended, whatever was asked for; 0 = there is none */
    const struct heat_column_image *columns; /* ascending by table, and then by when they began */
    size_t column_count;
    bool more; /* others follow: ask again, behind the last one */
};

#endif /* COMMON_WIRE_MESSAGE_HEAT_H */
