/*
 * What a cluster of the API may look like.  Pure, but for what admin calls do.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_CLUSTERS_H
#define GATEWAY_INSTANCE_ADMIN_CLUSTERS_H

#include "gateway/instance_admin/records.h"

/* A cluster of that name out of what a request gives (may be NULL), in *cluster, whose parts belong
 * to the request and the call's arena.  Errors: EDUBBA_INVALID_ARGUMENT (its ID, or below). */
enum edubba_code clusters_make(struct admin_call *call,
                               const struct resource_name *name,
                               const Google__Bigtable__Admin__V2__Cluster *wanted,
                               Google__Bigtable__Admin__V2__Cluster *cluster);

/* What is said where no node is asked for: EDUBBA_INVALID_ARGUMENT. */
enum edubba_code clusters_refuse_nodes(struct admin_call *call);

/* Limits of autoscaling; without any, the number of nodes.  Errors: EDUBBA_INVALID_ARGUMENT. */
enum edubba_code clusters_check(struct admin_call *call,
                                const Google__Bigtable__Admin__V2__Cluster *cluster);

#endif /* GATEWAY_INSTANCE_ADMIN_CLUSTERS_H */
