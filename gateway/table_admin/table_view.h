/*
 * A table as the API shows it: as much of it as a view asks for.
 *
 *     NAME_ONLY          name
 *     SCHEMA_VIEW        name, families, granularity, deletion protection
 *     REPLICATION_VIEW   name, the state of each cluster: READY
 *     ENCRYPTION_VIEW    name, the clusters, without a word of encryption: data at rest has none
 *     FULL               all of it
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_TABLE_ADMIN_TABLE_VIEW_H
#define GATEWAY_TABLE_ADMIN_TABLE_VIEW_H

#include <stdbool.h>

#include "admin.pb-c.h"
#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gateway/table_admin/admin_call.h"

typedef Google__Bigtable__Admin__V2__Table__View table_view;

#define TABLE_VIEW(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__VIEW__##name

/* view, or if it is unspecified the other.  Errors: STATUS_INVALID_ARGUMENT (a view of no such
 * number). */
enum status table_view_choose(table_view view,
                              table_view otherwise,
                              table_view *ret_view,
                              struct error *ret_error);

/* Does the view show more than the name? */
bool table_view_needs_schema(table_view view);

/* IDs of the instance's clusters, in the call's arena. */
struct table_clusters {
    char **ids;
    size_t count;
};

/* Those that the view shows, so none for most, of an instance that holds a table: where it is not
 * there it comes into being.  Errors: those of a master that is away. */
enum edubba_code table_view_clusters(struct admin_call *call,
                                     const struct resource_name *instance,
                                     table_view view,
                                     struct table_clusters *ret_clusters);

/* Of the table of that ID in the instance; nothing is borrowed but the clusters' IDs.  schema may be
 * NULL where the view does not need it.  Errors: STATUS_NO_MEMORY. */
enum status table_view_make(const struct resource_name *instance,
                            struct bytes id,
                            const struct edubba_schema *schema,
                            const struct table_clusters *clusters,
                            table_view view,
                            struct arena *arena,
                            Google__Bigtable__Admin__V2__Table *ret_table);

/* The same of an admin call's table, as its answer. */
enum edubba_code table_view_answer(struct admin_call *call,
                                   const struct admin_table *table,
                                   const struct edubba_schema *schema,
                                   table_view view,
                                   const ProtobufCMessage **ret_answer);

/* The same of a table as it is now.  Errors: EDUBBA_INVALID_ARGUMENT (text names no table),
 * EDUBBA_NOT_FOUND, and those of a master that is away. */
enum edubba_code table_view_read(struct admin_call *call,
                                 const char *text,
                                 table_view view,
                                 const ProtobufCMessage **ret_answer);

#endif /* GATEWAY_TABLE_ADMIN_TABLE_VIEW_H */
