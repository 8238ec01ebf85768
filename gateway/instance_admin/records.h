/*
 * Instances, clusters and app profiles as the catalog keeps them: documents, named by what they
 * are, holding the API's own messages.
 *
 *     bigtable/instances/P/I         Instance
 *     bigtable/clusters/P/I/C        Cluster
 *     bigtable/appProfiles/P/I/A     AppProfile, without its etag: that is the document's version
 *
 * Invariants:
 *   1. Clusters and app profiles are there only together with their instance: it is made with its
 *      first ones in one step, and deleted with its last ones in one.
 *   2. An instance's version is that of the set of what is in it, too: who makes or deletes a
 *      cluster or a profile, or changes a profile's routing, puts the instance again in that step,
 *      over the version that it read before it looked.  So what was looked at is still so.
 *
 * LOST ANSWERS.  Where nobody can tell whether a put took place, it is tried again, and what is
 * there then is compared with what is wanted.  So an error says that it did not take place, but for
 * a master that stays away.
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

struct record_change {
    struct resource_name name;
    const ProtobufCMessage *message; /* NULL = delete it */
    uint64_t expected;               /* 0 = there is none */
};

#define RECORD_CHANGES_MAX 128
#define RECORD_BYTES_MAX   (32 * 1024) /* so that lists of them stay small */

/* The same with so many, 1 to RECORD_CHANGES_MAX of different names, in one step: all or none.  The
 * first one is looked at after a lost answer: it must not be one that may be there already as it is
 * wanted.  *ret_version (may be NULL): the new one of all. */
enum edubba_code record_put_all(struct admin_call *call,
                                const struct record_change *changes,
                                size_t count,
                                uint64_t *ret_version);

struct record_list {
    struct record *records; /* ascending by name */
    size_t count;
    char *next; /* where the next page begins; NULL = there is none */
};

/* Which part of a list. */
struct record_page {
    const char *from;   /* NULL or empty: its beginning; else what `next` said */
    uint32_t count_max; /* 0 = as many as an answer should have; never more than those */
};

/* All of the kind in the parent: a project for instances, else an instance, "-" for all of the
 * project. */
enum edubba_code record_list(struct admin_call *call,
                             enum resource_kind kind,
                             const struct resource_name *parent,
                             struct record_list *ret_list);

/* A page of them: at most RECORD_PAGE_COUNT, and about RECORD_PAGE_BYTES, as clients take 4 MiB.
 * Errors: EDUBBA_INVALID_ARGUMENT (from is none of this parent's). */
enum edubba_code record_list_page(struct admin_call *call,
                                  enum resource_kind kind,
                                  const struct resource_name *parent,
                                  struct record_page page,
                                  struct record_list *ret_list);

#define RECORD_PAGE_COUNT 1000
#define RECORD_PAGE_BYTES (2 * 1024 * 1024)

/* The ID at the end of a full name. */
struct bytes record_id(const char *full_name);

/* How often a change is tried again that others get in the way of. */
#define RECORD_ATTEMPTS 10

#endif /* GATEWAY_INSTANCE_ADMIN_RECORDS_H */
