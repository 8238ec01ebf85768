/*
 * The tablets that are served at one moment, with references: whoever goes through all of them to read, or to write
 * much of them down, does so without the served map's lock, which every operation on any of the server's stores needs.
 *
 * Thread rule: any thread makes one; then it is its own.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SERVED_LIST_H
#define TABLETSERVER_SERVE_SYNC_SERVED_LIST_H

#include <stddef.h>

#include "tabletserver/serve/sync/served_map.h"

struct served_list {
    struct served *items;
    size_t count;
};

/* All of them, in the order of served_map_visit().  Errors: STATUS_NO_MEMORY. */
enum status served_list_make(struct served_map *map, struct served_list *ret_list);

/* Of one that was made, or is all zero. */
void served_list_release(struct served_list *list);

#endif /* TABLETSERVER_SERVE_SYNC_SERVED_LIST_H */
