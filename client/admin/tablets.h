/* All tablets of a table, as a master knows them now. */
#ifndef CLIENT_ADMIN_TABLETS_H
#define CLIENT_ADMIN_TABLETS_H

#include "client/loop/block.h"
#include "client/loop/client.h"

struct listed_tablet {
    struct location location;
    bool has_replicas; /* a master told */
    struct located_replicas replicas;
};

struct tablet_list {
    struct arena arena; /* of all that is in it */
    /* In order of their ranges; the first is the one that holds the first row asked for. */
    struct listed_tablet *tablets;
    size_t count;
};

void tablet_list_init(struct tablet_list *list);
void tablet_list_deinit(struct tablet_list *list);

/* The tablets that overlap [start, end), empty end = to the last.  table 0 = by name.  What the
 * list held before is forgotten.  Errors: those of LOCATE; STATUS_UNAVAILABLE (gaps). */
enum status tablet_list_fetch(struct tablet_list *list,
                              struct edubba_client *client,
                              const struct locate_request *table,
                              const struct row_range *range,
                              struct error *ret_error);

/* What the caller of the library gets: written twice, first to measure (client/loop/block.h). */
typedef void *(*tablet_list_write)(struct block *block, const struct tablet_list *list);

/* All tablets of the table, written into one block that is the caller's. */
enum edubba_code tablet_list_answer(struct edubba_client *client,
                                    const struct locate_request *table,
                                    tablet_list_write write,
                                    void **ret_tablets,
                                    size_t *ret_count,
                                    struct edubba_error *ret_error);

/* "serving"; of enum tablet_state. */
const char *tablet_state_text(uint32_t state);

#endif /* CLIENT_ADMIN_TABLETS_H */
