/*
 * The questions of an election (election.h), asked of etcd.
 *
 * Thread rule: that of the client.
 */
#ifndef MASTER_COORDINATOR_ETCD_ELECTION_H
#define MASTER_COORDINATOR_ETCD_ELECTION_H

#include "master/coordinator/election.h"
#include "master/coordinator/etcd_client.h"
#include "master/coordinator/etcd_keys.h"

#define ETCD_LEADER_BYTES_MAX 256 /* of its address, with the NUL */

struct etcd_candidate {
    struct etcd_client *client; /* borrowed, like the others */
    const struct etcd_keys *keys;
    const char *address; /* what is written into the key: where we can be reached */
    int64_t lease_ns;
    char leader[ETCD_LEADER_BYTES_MAX]; /* whom the last answer named; "" = nobody, or no address */
};

/* Not WAIT.  What goes wrong is no answer; *ret_error says what it was, STATUS_OK if nothing. */
struct election_answer etcd_election_ask(struct etcd_candidate *candidate,
                                         const struct election_question *question,
                                         struct error *ret_error);

#endif /* MASTER_COORDINATOR_ETCD_ELECTION_H */
