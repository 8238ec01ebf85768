/*
 * Before a copy of a lost tablet is made the tablet: is its server there?
 *
 * A server that has died counts as alive for some seconds more (the masters' server.timeout).  A copy
 * on it, chosen, would be the tablet, and nobody could serve it.  So the server must be heard of once
 * more, after the order was given; where it is not, it soon counts as gone, and another copy is first.
 */
#ifndef CLIENT_CLI_HEARD_AGAIN_H
#define CLIENT_CLI_HEARD_AGAIN_H

#include "client/cli/command.h"
#include "edubba_replicas.h"

/* Which tablets, and which of their copies. */
struct recover_order {
    const char *table; /* "" = all */
    uint64_t tablet;
    uint64_t store; /* 0 = the first of each */
    bool accepts;
};

struct lost_list {
    struct edubba_lost_tablet *tablets; /* edubba_free() it */
    size_t count;
    bool more;
};

/* EDUBBA_OK, and what edubba_list_lost() tells of the order. */
enum edubba_code list_lost(const struct session *session,
                           const struct recover_order *order,
                           struct lost_list *ret_list,
                           struct edubba_error *ret_error);

/*
 * Wait, some seconds at most, until the server of each copy that would be chosen from the list is heard
 * of; the list is a later one then.  Copies that could not be chosen are not waited for: that refuses
 * them.  Errors: those of list_lost(), EDUBBA_UNAVAILABLE (a server is silent, and still counts as alive).
 */
enum edubba_code wait_heard_again(const struct session *session,
                                  const struct recover_order *order,
                                  struct lost_list *list,
                                  struct edubba_error *ret_error);

#endif /* CLIENT_CLI_HEARD_AGAIN_H */
