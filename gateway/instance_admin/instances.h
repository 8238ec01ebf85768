/*
 * Instances: made, by request or on first use, and found.
 *
 * MAKING puts the instance, its clusters and its app profile in one step, so of many that make one
 * at once, here or on other gateways, one makes it and the others find it made.
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

#define INSTANCE_CLUSTERS_MAX 64

/* What an instance is made with; none of it is kept by reference. */
struct instance_parts {
    Google__Bigtable__Admin__V2__Instance *instance; /* its name and state are set */
    Google__Bigtable__Admin__V2__Cluster **clusters; /* with their full names, checked */
    size_t cluster_count;                            /* 1 to INSTANCE_CLUSTERS_MAX */
};

/* Make it.  Errors: EDUBBA_ALREADY_EXISTS. */
enum edubba_code instances_create(struct admin_call *call,
                                  const struct resource_name *name,
                                  const struct instance_parts *parts);

/* For a table that is there: the instance that `name` (of an instance, or of anything in one) names
 * is there afterwards, with a cluster "<instance>-c1" (of a long name as much as an ID may have) and
 * the app profile "default" if it had to be made.  Errors: those of instances_check(). */
enum edubba_code instances_ensure(struct admin_call *call, const struct resource_name *name);

/* May there be such an instance?  Project and instance are made of what tables' names may have, and
 * "-", which stands for all, is none.  Errors: EDUBBA_INVALID_ARGUMENT. */
enum edubba_code instances_check(struct admin_call *call, const struct resource_name *name);

bool instances_is_home(const struct admin_call *call, const struct resource_name *name);

/* Has the cluster a table of the instance, whether that is there or not? */
enum edubba_code instances_has_tables(struct admin_call *call,
                                      const struct resource_name *name,
                                      bool *ret_has_any);

/* One that is missing though it has tables (a gateway died in between) is made.
 * Errors: EDUBBA_NOT_FOUND. */
enum edubba_code instances_get(struct admin_call *call,
                               const struct resource_name *name,
                               struct record *ret_record);

/* A cluster or an app profile of an instance that is there.  Errors: EDUBBA_NOT_FOUND. */
enum edubba_code instances_get_child(struct admin_call *call,
                                     const struct resource_name *name,
                                     struct record *ret_record);

/* record_list_page() of the project. */
enum edubba_code instances_list(struct admin_call *call,
                                const struct resource_name *project,
                                struct record_page page,
                                struct record_list *ret_list);

/* record_list_page() of clusters or app profiles.
 * Errors: EDUBBA_NOT_FOUND (the instance; not with "-"). */
enum edubba_code instances_list_children(struct admin_call *call,
                                         enum resource_kind kind,
                                         const struct resource_name *parent,
                                         struct record_page page,
                                         struct record_list *ret_list);

/* All of an instance, which is there or not. */
enum edubba_code instances_all_children(struct admin_call *call,
                                        enum resource_kind kind,
                                        const struct resource_name *name,
                                        struct record_list *ret_list);

/* Change what is in an instance, which was read before it was looked at what is there: record_put_all()
 * of these, fewer than RECORD_CHANGES_MAX, and of the instance.
 * Errors: EDUBBA_ABORTED (the instance, what is in it, or one of these has changed: look again). */
enum edubba_code instances_put_children(struct admin_call *call,
                                        const struct record *instance,
                                        const struct record_change *changes,
                                        size_t count,
                                        uint64_t *ret_version);

/* Delete it with all that is in it; of very many app profiles some go before it does.
 * Errors: EDUBBA_NOT_FOUND. */
enum edubba_code instances_delete(struct admin_call *call, const struct resource_name *name);

/*
 * The whole of DeleteCluster and DeleteAppProfile: what is named is deleted, over the instance as it is then, and
 * tried again while that changes.  may_delete, asked each time, says by its error why it must stay; NULL: it never
 * must.  Errors: EDUBBA_NOT_FOUND, those of may_delete, EDUBBA_ABORTED.
 */
enum edubba_code instances_delete_child(
    struct admin_call *call,
    const char *name,
    enum resource_kind kind,
    enum edubba_code (*may_delete)(struct admin_call *call, const struct resource_name *name),
    const ProtobufCMessage **ret_answer);

/* The instance that something is in. */
struct resource_name instances_of(const struct resource_name *name);

/* Now, in the call's arena; NULL without memory. */
Google__Protobuf__Timestamp *instances_now(struct admin_call *call);

#endif /* GATEWAY_INSTANCE_ADMIN_INSTANCES_H */
