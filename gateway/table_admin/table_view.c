#include "gateway/table_admin/table_view.h"

#include <stdio.h>

#include "gateway/convert/convert_schema.h"
#include "gateway/instance_admin/instances.h"

typedef Google__Bigtable__Admin__V2__Table Table;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;
typedef Google__Bigtable__Admin__V2__Table__ClusterState ClusterState;
typedef Google__Bigtable__Admin__V2__Table__ClusterStatesEntry StateEntry;

#define READY GOOGLE__BIGTABLE__ADMIN__V2__TABLE__CLUSTER_STATE__REPLICATION_STATE__READY

enum status table_view_choose(table_view view,
                              table_view otherwise,
                              table_view *ret_view,
                              struct error *ret_error)
{
    switch ((int)view) {
    case TABLE_VIEW(VIEW_UNSPECIFIED):
        *ret_view = otherwise;
        return STATUS_OK;
    case TABLE_VIEW(NAME_ONLY):
    case TABLE_VIEW(SCHEMA_VIEW):
    case TABLE_VIEW(REPLICATION_VIEW):
    case TABLE_VIEW(ENCRYPTION_VIEW):
    case TABLE_VIEW(FULL):
        *ret_view = view;
        return STATUS_OK;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'view' : no view of a table has the number %d", (int)view);
    }
}

bool table_view_needs_schema(table_view view)
{
    return view == TABLE_VIEW(SCHEMA_VIEW) || view == TABLE_VIEW(FULL);
}

static bool shows_clusters(table_view view)
{
    return view != TABLE_VIEW(NAME_ONLY) && view != TABLE_VIEW(SCHEMA_VIEW);
}

enum edubba_code table_view_clusters(struct admin_call *call,
                                     const struct resource_name *instance,
                                     table_view view,
                                     struct table_clusters *ret_clusters)
{
    struct resource_name parent = instances_of(instance);
    struct record_list list = {NULL, 0, NULL};
    *ret_clusters = (struct table_clusters){0};
    if (!shows_clusters(view)) {
        return EDUBBA_OK;
    }
    const struct record_page first = {NULL, 0};
    enum edubba_code code = instances_list_children(call, RESOURCE_CLUSTER, &parent, first, &list);
    if (code ==
        EDUBBA_NOT_FOUND) { /* whoever made the table did not come to it, or was no gateway */
        code = instances_ensure(call, &parent);
    }
    if (code == EDUBBA_OK && list.records == NULL) {
        code = instances_list_children(call, RESOURCE_CLUSTER, &parent, first, &list);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    ret_clusters->ids = arena_allocate_array(call->arena, list.count, sizeof(char *));
    for (size_t i = 0; i < list.count && ret_clusters->ids != NULL; i++) {
        const Cluster *cluster = (const Cluster *)list.records[i].message;
        ret_clusters->ids[i] = arena_copy_text(call->arena, record_id(cluster->name));
        if (ret_clusters->ids[i] == NULL) {
            return admin_call_no_memory(call);
        }
        ret_clusters->count++;
    }
    return ret_clusters->ids != NULL ? EDUBBA_OK : admin_call_no_memory(call);
}

struct cluster_parts {
    StateEntry entry;
    ClusterState state;
};

static enum status add_clusters(const struct table_clusters *clusters,
                                bool shows_replication,
                                struct arena *arena,
                                Table *table)
{
    struct cluster_parts *parts = arena_allocate_array(arena, clusters->count, sizeof *parts);
    StateEntry **list = arena_allocate_array(arena, clusters->count, sizeof(StateEntry *));
    if (parts == NULL || list == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < clusters->count; i++) {
        google__bigtable__admin__v2__table__cluster_states_entry__init(&parts[i].entry);
        google__bigtable__admin__v2__table__cluster_state__init(&parts[i].state);
        if (shows_replication) {
            parts[i].state.replication_state = READY;
        }
        parts[i].entry.key = clusters->ids[i];
        parts[i].entry.value = &parts[i].state;
        list[i] = &parts[i].entry;
    }
    table->cluster_states = list;
    table->n_cluster_states = clusters->count;
    return STATUS_OK;
}

/* NULL without memory. */
static char *name_of(const struct resource_name *instance, struct bytes id, struct arena *arena)
{
    size_t size = sizeof "projects//instances//tables/" + instance->project.size_bytes +
                  instance->instance.size_bytes + id.size_bytes;
    char *text = arena_allocate(arena, size);
    if (text != NULL) {
        (void)snprintf(text, size, "projects/%.*s/instances/%.*s/tables/%.*s",
                       (int)instance->project.size_bytes, (const char *)instance->project.data,
                       (int)instance->instance.size_bytes, (const char *)instance->instance.data,
                       (int)id.size_bytes, (const char *)id.data);
    }
    return text;
}

enum status table_view_make(const struct resource_name *instance,
                            struct bytes id,
                            const struct edubba_schema *schema,
                            const struct table_clusters *clusters,
                            table_view view,
                            struct arena *arena,
                            Table *ret_table)
{
    enum status status = STATUS_OK;
    google__bigtable__admin__v2__table__init(ret_table);
    ret_table->name = name_of(instance, id, arena);
    if (ret_table->name == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (table_view_needs_schema(view)) {
        status = convert_schema_back(schema, arena, ret_table);
    }
    if (status == STATUS_OK && shows_clusters(view)) {
        status = add_clusters(clusters, view != TABLE_VIEW(ENCRYPTION_VIEW), arena, ret_table);
    }
    return status;
}

enum edubba_code table_view_answer(struct admin_call *call,
                                   const struct admin_table *table,
                                   const struct edubba_schema *schema,
                                   table_view view,
                                   const ProtobufCMessage **ret_answer)
{
    struct table_clusters clusters;
    Table *answer = arena_allocate(call->arena, sizeof *answer);
    enum edubba_code code = table_view_clusters(call, &table->name, view, &clusters);
    if (code != EDUBBA_OK) {
        return code;
    }
    if (answer == NULL || table_view_make(&table->name, table->name.id, schema, &clusters, view,
                                          call->arena, answer) != STATUS_OK) {
        return admin_call_no_memory(call);
    }
    *ret_answer = &answer->base;
    return EDUBBA_OK;
}

enum edubba_code table_view_read(struct admin_call *call,
                                 const char *text,
                                 table_view view,
                                 const ProtobufCMessage **ret_answer)
{
    struct admin_table table;
    struct edubba_schema *schema = NULL;
    enum edubba_code code = admin_call_table(call, text, &table);
    if (code == EDUBBA_OK) {
        code = admin_call_schema(call, &table, &schema);
    }
    if (code == EDUBBA_OK) {
        code = table_view_answer(call, &table, schema, view, ret_answer);
    }
    edubba_schema_free(schema);
    return code;
}
