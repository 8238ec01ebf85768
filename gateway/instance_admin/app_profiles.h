/*
 * What an app profile may say, and what a change of one should be warned of.
 *
 * There is one cluster below whatever profiles say, so where they route to changes nothing; they are
 * checked as Bigtable does, because programs that manage them rely on it.  Whether they allow
 * transactional writes is kept to: methods/call/profiles.h.
 *
 * WARNINGS end a call with EDUBBA_FAILED_PRECONDITION unless it says ignore_warnings:
 *   - a change between routing to one cluster and to any;
 *   - a change of the cluster where transactional writes are allowed before or after;
 *   - transactional writes, where none were before, on another cluster than another profile of the
 *     instance allows them on.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_APP_PROFILES_H
#define GATEWAY_INSTANCE_ADMIN_APP_PROFILES_H

#include "gateway/instance_admin/records.h"

/* Its routing names clusters that are there.  Errors: EDUBBA_INVALID_ARGUMENT (no routing, or no
 * cluster named), EDUBBA_NOT_FOUND (a cluster). */
enum edubba_code app_profiles_check(struct admin_call *call,
                                    const struct resource_name *name,
                                    const Google__Bigtable__Admin__V2__AppProfile *profile);

/* before NULL: it is new.  Errors: EDUBBA_FAILED_PRECONDITION. */
enum edubba_code app_profiles_warn(struct admin_call *call,
                                   const struct resource_name *name,
                                   const Google__Bigtable__Admin__V2__AppProfile *before,
                                   const Google__Bigtable__Admin__V2__AppProfile *after);

/* As it is shown: with its etag, the version of its document.  False without memory. */
bool app_profiles_show(struct admin_call *call,
                       Google__Bigtable__Admin__V2__AppProfile *profile,
                       uint64_t version);

/* *ret_profile: full name of one that routes to the cluster by its ID, NULL if none does. */
enum edubba_code app_profiles_routing_to(struct admin_call *call,
                                         const struct resource_name *cluster,
                                         const char **ret_profile);

#endif /* GATEWAY_INSTANCE_ADMIN_APP_PROFILES_H */
