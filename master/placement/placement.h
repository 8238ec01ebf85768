/*
 * Placement: on which server and store do new tablets go?
 *
 * The tablets of one table are spread over zones and servers before a server gets a second one; then
 * the server with the fewest tablets; on it the store with the fewest, then the one with the most free
 * space.  Stores that are not healthy, or nearly full, are not used while another one is there.
 * Copies of one tablet go to different servers, and to different zones where there are enough.
 * Ties are broken by the tablet's salt, then by number, so equal inputs give equal answers.
 *
 * Pure: no clock, no randomness, no allocation.
 */
#ifndef MASTER_PLACEMENT_PLACEMENT_H
#define MASTER_PLACEMENT_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* One place where a tablet can go.  In an array, the stores of one server stand together. */
struct placement_store {
    uint64_t server;
    uint64_t store;
    struct bytes zone;
    bool usable;            /* server alive, store healthy */
    uint64_t free_bytes;    /* at the last report */
    uint32_t tablet_count;  /* assigned, pending ones included; placement_choose() counts on */
    bool taken;             /* its server has a copy of the tablet already: never a second one */
    bool zone_taken;        /* its zone has one: another zone is better */
    uint64_t order;         /* of its server among equals; placement_begin() */
    uint32_t lead_count;    /* tablets that it should lead; placement_lead() counts on */
    uint32_t table_tablets; /* of the table that is being placed; placement_choose() counts on */
};

/* Less free space than this: used only when no store has more. */
#define PLACEMENT_FREE_BYTES_LOW (UINT64_C(1) << 30)

/*
 * The next choices are for another tablet: no server has a copy of it.  salt (0 = none) tells tablets
 * apart: servers that are as good as one another are taken in an order of its own, so that not
 * always the same ones have copies together; when one dies all others share its work.
 */
void placement_begin(struct placement_store *stores, size_t store_count, uint64_t salt);

/* The server has a copy of the tablet, or will have. */
void placement_take(struct placement_store *stores, size_t store_count, uint64_t server);

/*
 * The store for one more tablet of the table, by index; it is counted in at once, so that calling
 * again places the next one.  avoid_server (0 = none) is taken only if no other is usable.
 * Returns false when no store is usable.
 */
bool placement_choose(struct placement_store *stores,
                      size_t store_count,
                      uint64_t avoid_server,
                      size_t *ret_index);

/* Put the one of the chosen copies first whose server leads the fewest tablets: it leads this one. */
void placement_lead(struct placement_store *stores,
                    size_t store_count,
                    size_t *chosen,
                    size_t chosen_count);

#endif /* MASTER_PLACEMENT_PLACEMENT_H */
