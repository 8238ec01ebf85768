/*
 * Those that came of a tablet by splits, and of these: one after the other (store_line.c).
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_LINE_H
#define TABLETSERVER_STORAGE_STORE_STORE_LINE_H

#include "tabletserver/storage/store/store_internal.h"

/* Who is still to be visited: of each generation one half waits while the other one is. */
struct store_line {
    uint32_t count;
    struct store_tablet *tablets[STORE_LINEAGE_MAX + 2];
};

void store_line_add_children(struct store_line *line, const struct store_tablet *tablet);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_LINE_H */
