/*
 * The elector: the thread on which a master stands for election (master/coordinator/election.h), and
 * what the others may know of it.
 *
 * Thread rule: any thread, but for open and close.  on_change is called on the elector's thread and
 * must only hand over.
 */
#ifndef MASTER_SHELL_ELECTOR_H
#define MASTER_SHELL_ELECTOR_H

#include "master/coordinator/etcd_election.h"

struct elector;

struct elector_options {
    const struct etcd_settings *settings; /* borrowed until close, like address */
    uint64_t cluster;
    const char *address; /* where others reach this master */
    void *context;
    void (*on_change)(void *context); /* a reign has begun or ended */
};

/* Errors: STATUS_INVALID_ARGUMENT, STATUS_NO_MEMORY, STATUS_IO (no thread). */
enum status elector_open(const struct elector_options *options,
                         struct elector **ret_elector,
                         struct error *ret_error);

/* Gives up the reign, so that another master need not wait for the lease.  NULL is fine. */
void elector_close(struct elector *elector);

/* Our reign; 0 = we do not lead, or are about to give it up (elector_resign()). */
uint64_t elector_reign(const struct elector *elector);

/* Is that one ours, and is it sure now? */
bool elector_may_act(const struct elector *elector, uint64_t reign);

/* The endpoint of etcd that answered last (etcd_client.h): who begins a reign asks there first. */
uint32_t elector_endpoint(const struct elector *elector);

/* Whom etcd named last, "" for nobody.  text has ETCD_LEADER_BYTES_MAX. */
void elector_leader(struct elector *elector, char *ret_text);

/* We cannot lead in that reign any more: give it up.  elector_reign() does not name it from now on. */
void elector_resign(struct elector *elector, uint64_t reign);

#endif /* MASTER_SHELL_ELECTOR_H */
