/*
 * Which copies of a tablet servers have, as their last full reports named them, and which of them is the best.
 * For what is lost (catalog_recover.c), and for what may be dropped (catalog_report.c).
 */
#include <stdlib.h>

#include "common/base/memory.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/* --- what servers hold -------------------------------------------------------------------------- */

void copies_take_report(struct server *server, const struct sync_request *sync)
{
    server->held_count = 0;
    server->held_in_order = false;
    if (sync->held_count > server->held_capacity) {
        struct held_copy *grown = memory_resize(server->held,
                                                sync->held_count * sizeof(struct held_copy));
        if (grown == NULL) {
            return; /* then its copies are not told of */
        }
        server->held = grown;
        server->held_capacity = sync->held_count;
    }
    for (size_t i = 0; i < sync->held_count; i++) {
        const struct held_tablet *held = &sync->held[i];
        server->held[server->held_count++] = (struct held_copy){
            .tablet = held->tablet,
            .store = held->store,
            .version = held->version,
            .committed = held->committed,
            .empty = held->state != HELD_SERVING,
            .damaged = held->damaged,
        };
    }
}

static struct found_copy found_copy(const struct server *server,
                                    const struct tablet *tablet,
                                    uint64_t store)
{
    const struct server_image *image = server->seen != NULL ? server->seen : server->image;
    const struct replica_configuration *members = &tablet->record.configuration;
    bool is_member = replica_configuration_find(members, store) < members->member_count;
    return (struct found_copy){
        .server = server->number,
        .store = store,
        .address = image == NULL ? BYTES_EMPTY : image->record.address,
        .heard_us = server->heard_us,
        .flags = (is_member ? FOUND_MEMBER : 0U) | (server->alive ? FOUND_ALIVE : 0U),
    };
}

/* --- which is best ------------------------------------------------------------------------------ */

bool copies_is_usable(const struct found_copy *copy)
{
    return (copy->flags & (FOUND_HELD | FOUND_ALIVE | FOUND_EMPTY)) == (FOUND_HELD | FOUND_ALIVE);
}

/* Where a copy was chosen by hand before, those of lower versions are of a history that was given up. */
static bool is_of_now(const struct tablet *tablet, const struct found_copy *copy)
{
    return copy->version >= tablet->record.recovered_version;
}

/* Two copies have the same entries up to the lower of their committed points (I6), so the higher one has more. */
static bool is_better(const struct tablet *tablet,
                      const struct found_copy *a,
                      const struct found_copy *b)
{
    if (copies_is_usable(a) != copies_is_usable(b)) {
        return copies_is_usable(a);
    }
    if (is_of_now(tablet, a) != is_of_now(tablet, b)) {
        return is_of_now(tablet, a);
    }
    if ((a->flags & FOUND_DAMAGED) != (b->flags & FOUND_DAMAGED)) {
        return (a->flags & FOUND_DAMAGED) == 0;
    }
    return a->committed != b->committed ? a->committed > b->committed : a->version > b->version;
}

static void add_copy(const struct tablet *tablet,
                     struct found_copy *copies,
                     size_t *count,
                     const struct found_copy *copy)
{
    size_t at = (*count)++;
    while (at > 0 && is_better(tablet, copy, &copies[at - 1])) {
        copies[at] = copies[at - 1];
        at--;
    }
    copies[at] = *copy;
}

static int compare_held(const void *a, const void *b)
{
    const struct held_copy *left = a;
    const struct held_copy *right = b;
    if (left->tablet != right->tablet) {
        return left->tablet < right->tablet ? -1 : 1;
    }
    return (left->store > right->store) - (left->store < right->store);
}

static bool is_in_order(const struct server *server)
{
    for (size_t i = 1; i < server->held_count; i++) {
        if (compare_held(&server->held[i - 1], &server->held[i]) > 0) {
            return false;
        }
    }
    return true;
}

/* The server's copies of the tablet, side by side.  They are sorted when somebody asks, not when they are
 * reported: reports come all the time, and a list of a thousand lost tablets asks every server for each. */
static const struct held_copy *held_of(struct server *server, uint64_t tablet, size_t *ret_count)
{
    size_t low = 0;
    size_t high = server->held_count;
    size_t count = 0;

    if (!server->held_in_order && !is_in_order(server)) {
        qsort(server->held, server->held_count, sizeof *server->held, compare_held);
    }
    server->held_in_order = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (server->held[middle].tablet < tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low + count < server->held_count && server->held[low + count].tablet == tablet) {
        count++;
    }
    *ret_count = count;
    return count == 0 ? NULL : &server->held[low];
}

bool copies_has(struct server *server, uint64_t tablet, uint64_t store)
{
    size_t count = 0;
    const struct held_copy *held = held_of(server, tablet, &count);
    for (size_t i = 0; i < count; i++) {
        if (held[i].store == store) {
            return true;
        }
    }
    return false;
}

static size_t count_held(const struct catalog *catalog, uint64_t tablet)
{
    size_t all = 0;
    for (size_t i = 0; i < catalog->server_count; i++) {
        size_t count = 0;
        (void)held_of(catalog->servers[i], tablet, &count);
        all += count;
    }
    return all;
}

static bool is_among(const struct found_copy *copies, size_t count, uint64_t store)
{
    for (size_t i = 0; i < count; i++) {
        if (copies[i].store == store) {
            return true;
        }
    }
    return false;
}

struct found_copy *copies_find(struct catalog *catalog,
                               const struct tablet *tablet,
                               size_t *ret_count)
{
    const struct replica_configuration *members = &tablet->record.configuration;
    size_t most = count_held(catalog, tablet->record.number) + members->member_count;
    struct found_copy *copies = arena_allocate_array(&catalog->scratch, most, sizeof *copies);
    *ret_count = 0;
    for (size_t i = 0; copies != NULL && i < catalog->server_count; i++) {
        size_t held_count = 0;
        const struct held_copy *held = held_of(catalog->servers[i], tablet->record.number,
                                               &held_count);
        for (size_t j = 0; j < held_count; j++) {
            struct found_copy copy = found_copy(catalog->servers[i], tablet, held[j].store);
            copy.version = held[j].version;
            copy.committed = held[j].committed;
            copy.flags |= FOUND_HELD | (held[j].empty ? FOUND_EMPTY : 0U) |
                          (held[j].damaged ? FOUND_DAMAGED : 0U);
            add_copy(tablet, copies, ret_count, &copy);
        }
    }
    for (uint32_t i = 0; copies != NULL && i < members->member_count; i++) {
        if (!is_among(copies, *ret_count, members->members[i].store)) {
            const struct server *server = state_server(catalog, members->members[i].server);
            struct found_copy copy = found_copy(server, tablet, members->members[i].store);
            add_copy(tablet, copies, ret_count, &copy);
        }
    }
    return copies;
}
