/*
 * Instances, clusters and app profiles as the catalog keeps them: documents, named by what they
 * are, holding the API's own messages.
 *
 *     bigtable/instances/P/I         Instance
 *     bigtable/clusters/P/I/C        Cluster
 *     bigtable/appProfiles/P/I/A     AppProfile, without its etag: that is the document's version
 *
 * Invariants:
 *   1. Clusters and app profiles count only while there is a document of their instance; what is
 *      left of a deleted one is written over or deleted when it is made anew.
 *   2. An instance whose document says CREATING may lack some of them: whoever made it has died, or
 *      is about to write them.  Making it once more finishes it.
 *
 * Everything that is returned lies in the call's arena.  All functions ask a master and wait; their
 * errors, with texts in call->error, are those of a master that is away, EDUBBA_DATA_LOSS for a
 * document that is no such message, and what is said at each.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_RECORDS_H
#define GATEWAY_INSTANCE_ADMIN_RECORDS_H

#include <stdbool.h>

#include "admin.pb-c.h"
#include "gateway/core/resource_name.h"
#include "gateway/table_admin/admin_call.h"

struct record {
    ProtobufCMessage *message; /* of the kind that was asked for; NULL = there is none */
    uint64_t version;          /* 0 = there is none */
};

/* "projects/P/instances/I/clusters/C"; NULL without memory. */
char *record_full_name(struct admin_call *call, const struct resource_name *name);

/* Parse a name that a request gives.  Errors: EDUBBA_INVALID_ARGUMENT. */
enum edubba_code record_name(struct admin_call *call,
                             const char *text,
                             enum resource_kind kind,
                             struct resource_name *ret_name);

/* *ret_record without message where there is none; what invariant 1 says is not looked at. */
enum edubba_code record_find(struct admin_call *call,
                             const struct resource_name *name,
                             struct record *ret_record);

/* The same, where it has to be there.  Errors: EDUBBA_NOT_FOUND, `Not found: projects/...`. */
enum edubba_code record_get(struct admin_call *call,
                            const struct resource_name *name,
                            struct record *ret_record);

/* Write it over the version expected (0 = there is none), or delete it (message NULL).
 * *ret_version (may be NULL): the new one.
 * Errors: EDUBBA_ABORTED (another version is there), EDUBBA_INVALID_ARGUMENT (too large). */
enum edubba_code record_put(struct admin_call *call,
                            const struct resource_name *name,
                            const ProtobufCMessage *message,
                            uint64_t expected,
                            uint64_t *ret_version);

/* Write it over whatever is there. */
enum edubba_code record_replace(struct admin_call *call,
                                const struct resource_name *name,
                                const ProtobufCMessage *message);

struct record_list {
    struct record *records; /* ascending by name */
    size_t count;
    char *next; /* where the next page begins; NULL = there is none */
};

/* All of the kind in the parent: a project for instances, else an instance, "-" for all of the
 * project.  from: NULL, or what `next` said; count_max: 0 = all.
 * Errors: EDUBBA_INVALID_ARGUMENT (from is none of this parent's). */
enum edubba_code record_list(struct admin_call *call,
                             enum resource_kind kind,
                             const struct resource_name *parent,
                             const char *from,
                             uint32_t count_max,
                             struct record_list *ret_list);

/* The ID at the end of a full name. */
struct bytes record_id(const char *full_name);

/* How often a change is tried again that others get in the way of. */
#define RECORD_ATTEMPTS 10

#endif /* GATEWAY_INSTANCE_ADMIN_RECORDS_H */
