/*
 * A server's load report on its way from the catalog to whoever shows load: with the table and the range of
 * each tablet in it.  One piece of memory, which is handed over.
 *
 * Pure.  Thread rule: one owner at a time.
 */
#ifndef MASTER_CORE_LOAD_LOCATED_LOAD_H
#define MASTER_CORE_LOAD_LOCATED_LOAD_H

#include "common/base/arena.h"
#include "common/wire/message.h"

struct located_load {
    uint64_t table;
    uint64_t tablet;
    struct row_range range;
    struct load_figures figures;
    struct load_detail detail;
};

struct located_report {
    struct arena arena; /* this very struct lies outside; all else in it */
    uint64_t server;
    uint64_t elapsed_ns;
    uint64_t capacity_ns;
    struct located_load *loads;
    size_t load_count;
};

/* An empty one with room for so many tablets; NULL without memory. */
struct located_report *located_report_create(uint64_t server,
                                             const struct load_report *report,
                                             size_t tablet_count);
void located_report_destroy(struct located_report *report); /* NULL is fine */

/* Everything is copied.  False without memory: it is left out. */
bool located_report_add(struct located_report *report,
                        uint64_t table,
                        const struct row_range *range,
                        const struct tablet_load *load);

#endif /* MASTER_CORE_LOAD_LOCATED_LOAD_H */
