/*
 * One heat map follows another: what a master that stands by is told of the active one's.
 *
 *   active:  heat_map_list() --- columns of a minute and more, in pages ---> heat_map_follow()  :standing by
 *
 * Who follows asks in rounds, page by page, and ages what it gets by itself.  So what both have is the same but for what
 * is not a minute yet, and for the edge of a stretch in which it did not listen: what overlaps with what is there is
 * passed over.
 *
 * Invariant: of what began before complete_us the follower has all that those had whom it followed.  A round that ends
 * early leaves some tables behind others; so how new the newest column is says nothing, and a follower that was just
 * started asks for everything once.
 *
 * Pure.  Thread rule: each map's owner.
 */
#ifndef MASTER_HEAT_HEAT_FOLLOWING_H
#define MASTER_HEAT_HEAT_FOLLOWING_H

#include "common/base/arena.h"
#include "common/wire/message.h"
#include "master/heat/heat_map.h"

#define HEAT_PAGE_COLUMNS_MAX 4096
#define HEAT_PAGE_BYTES_MAX   (1024 * 1024) /* and one column more */

/* A page.  Columns point into the map: good until its next change.  Errors: STATUS_NO_MEMORY. */
enum status heat_map_list(const struct heat_map *map,
                          const struct list_heat_request *request,
                          struct arena *arena,
                          struct list_heat_response *ret_response);

struct heat_following {
    int64_t complete_us;           /* see above; 0 = nothing is sure */
    int64_t newest_us;             /* of the map that is followed, when this round began */
    struct list_heat_request next; /* the page to ask for */
};

/* A round, from its beginning; whatever became of the one before. */
void heat_following_begin(struct heat_following *following);

/* Take a page in.  True: ask for the next one.  False: the round is over. */
bool heat_following_take(struct heat_following *following,
                         struct heat_map *map,
                         const struct list_heat_response *page,
                         int64_t now_us);

/* Take one column in.  False: it is passed over, being no column, of the future, of a time that is known, or without
 * memory. */
bool heat_map_follow(struct heat_map *map, const struct heat_column_image *image, int64_t now_us);

#endif /* MASTER_HEAT_HEAT_FOLLOWING_H */
