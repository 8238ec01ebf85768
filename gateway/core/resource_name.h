/*
 * Names of Bigtable's resources, "projects/P/instances/I/tables/T" and so on, taken apart and put
 * together, and checked by Bigtable's rules for IDs.
 *
 * Which table of ours a Bigtable table is: see resource_table_name().
 *
 * Names that were parsed borrow from their text.  Pure.
 */
#ifndef GATEWAY_CORE_RESOURCE_NAME_H
#define GATEWAY_CORE_RESOURCE_NAME_H

#include <stdbool.h>

#include "common/base/bytes.h"
#include "common/base/error.h"

#define RESOURCE_TABLE_NAME_BYTES_MAX 256

enum resource_kind {
    RESOURCE_PROJECT,
    RESOURCE_INSTANCE,
    RESOURCE_TABLE,
    RESOURCE_CLUSTER,
    RESOURCE_APP_PROFILE,
};

struct resource_name {
    enum resource_kind kind;
    struct bytes project;
    struct bytes instance; /* empty for a project */
    struct bytes id;       /* of a table, cluster or app profile */
};

/* The instance whose tables have here the names that they have there. */
struct resource_home {
    struct bytes project;
    struct bytes instance;
};

/* Errors: STATUS_INVALID_ARGUMENT, saying what was expected in its place. */
enum status resource_name_parse(struct bytes text,
                                enum resource_kind kind,
                                struct resource_name *ret_name,
                                struct error *ret_error);

/* Is this an ID that a new one may have?  Errors: STATUS_INVALID_ARGUMENT, naming the rule. */
enum status resource_id_check(enum resource_kind kind, struct bytes id, struct error *ret_error);

#define RESOURCE_DOCUMENT_BYTES_MAX 320 /* three parts of 80 bytes fit */

/* The document of the catalog that holds an instance, cluster or app profile:
 * "bigtable/appProfiles/P/I/A".  Without an ID, or also an instance: what begins all of theirs.
 * NUL-terminated; returns its bytes without that. */
size_t resource_document_name(const struct resource_name *name,
                              char ret_document[RESOURCE_DOCUMENT_BYTES_MAX]);

/* "T" for a table of home, "P/I/T" for others; NUL-terminated. */
void resource_table_name(const struct resource_name *table,
                         const struct resource_home *home,
                         char ret_name[RESOURCE_TABLE_NAME_BYTES_MAX]);

/* Back: is the table of ours one of the instance?  *ret_id borrows from name. */
bool resource_table_id(struct bytes name,
                       const struct resource_name *instance,
                       const struct resource_home *home,
                       struct bytes *ret_id);

#endif /* GATEWAY_CORE_RESOURCE_NAME_H */
