/*
 * Instances: made, by request or on first use, and found.
 *
 * MAKING takes several documents, one after the other: the instance as CREATING, its clusters and
 * app profiles, the instance as READY.  Who finds one that is CREATING and makes it too takes it
 * over, so a gateway that dies in the middle leaves nothing that cannot be finished.
 *
 * HOME, the instance whose tables have here the names that they have there, is always there: it is
 * made when it is first asked for.
 *
 * Errors, with texts in call->error: those of records.h, and what is said at each.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_INSTANCES_H
#define GATEWAY_INSTANCE_ADMIN_INSTANCES_H

#include <stdbool.h>

#include "gateway/instance_admin/records.h"

/* What an instance is made with; none of it is kept by reference. */
struct instance_parts {
    Google__Bigtable__Admin__V2__Instance *instance; /* its name and state are set */
    Google__Bigtable__Admin__V2__Cluster **clusters; /* with their full names, checked */
    size_t cluster_count;                            /* one at least */
};

/* Make it.  Errors: EDUBBA_ALREADY_EXISTS, EDUBBA_ABORTED (somebody else makes it just now). */
enum edubba_code instances_create(struct admin_call *call,
                                  const struct resource_name *name,
                                  const struct instance_parts *parts);

/* For a table's creation: the instance that `name` (of an instance, or of anything in one) names is
 * there afterwards, with a cluster "<instance>-c1" and the app profile "default" if it had to be
 * made.  Errors: EDUBBA_INVALID_ARGUMENT ("-" is no instance). */
enum edubba_code instances_ensure(struct admin_call *call, const struct resource_name *name);

bool instances_is_home(const struct admin_call *call, const struct resource_name *name);

/* Errors: EDUBBA_NOT_FOUND. */
enum edubba_code instances_get(struct admin_call *call,
                               const struct resource_name *name,
                               struct record *ret_record);

/* A cluster or an app profile of an instance that is there.  Errors: EDUBBA_NOT_FOUND. */
enum edubba_code instances_get_child(struct admin_call *call,
                                     const struct resource_name *name,
                                     struct record *ret_record);

/* Of the project.  What is CREATING is in it. */
enum edubba_code instances_list(struct admin_call *call,
                                const struct resource_name *project,
                                struct record_list *ret_list);

/* record_list() of clusters or app profiles, of instances that are there.
 * Errors: EDUBBA_NOT_FOUND (the instance; not with "-"). */
enum edubba_code instances_list_children(struct admin_call *call,
                                         enum resource_kind kind,
                                         const struct resource_name *parent,
                                         const char *from,
                                         uint32_t count_max,
                                         struct record_list *ret_list);

/* Delete all clusters and app profiles but those whose full names are given. */
enum edubba_code instances_clear(struct admin_call *call,
                                 const struct resource_name *instance,
                                 const char *const *kept,
                                 size_t kept_count);

/* The instance that something is in. */
struct resource_name instances_of(const struct resource_name *name);

/* Now, in the call's arena; NULL without memory. */
Google__Protobuf__Timestamp *instances_now(struct admin_call *call);

#endif /* GATEWAY_INSTANCE_ADMIN_INSTANCES_H */
