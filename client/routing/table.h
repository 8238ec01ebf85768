/* A table as a caller opened it: a number and a name.  Any thread. */
#ifndef CLIENT_ROUTING_TABLE_H
#define CLIENT_ROUTING_TABLE_H

#include "client/loop/client.h"
#include "client/routing/request.h"

struct edubba_table {
    struct edubba_client *client;
    uint64_t number;
    char *name;
    struct list_link link; /* in client->tables */
    struct task task;      /* when it is closed: forgets another table */
    uint64_t forgotten;    /* that one's number */
};

/* Ask a master for locations from row on; *ret_answer holds what *ret_response borrows.
 * number 0 = by name; deadline_ms 0 = the client's. */
enum status table_locate(struct edubba_client *client,
                         const struct locate_request *locate,
                         uint32_t deadline_ms,
                         struct arena *arena,
                         struct buffer *ret_answer,
                         struct locate_response *ret_response,
                         struct error *ret_error);

#endif /* CLIENT_ROUTING_TABLE_H */
