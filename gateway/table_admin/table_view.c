#include "gateway/table_admin/table_view.h"

#include <stdio.h>

#include "gateway/convert/convert_schema.h"

typedef Google__Bigtable__Admin__V2__Table Table;
typedef Google__Bigtable__Admin__V2__Table__ClusterState ClusterState;
typedef Google__Bigtable__Admin__V2__Table__ClusterStatesEntry StateEntry;

#define READY GOOGLE__BIGTABLE__ADMIN__V2__TABLE__CLUSTER_STATE__REPLICATION_STATE__READY

#define CLUSTER_ID_BYTES_MAX 96

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

/* The cluster that every instance has, by the name that it comes into being with. */
struct cluster_parts {
    StateEntry entry;
    StateEntry *list[1];
    ClusterState state;
    char id[CLUSTER_ID_BYTES_MAX];
};

static enum status add_clusters(const struct resource_name *instance,
                                bool shows_replication,
                                struct arena *arena,
                                Table *table)
{
    struct cluster_parts *parts = arena_allocate(arena, sizeof *parts);
    if (parts == NULL) {
        return STATUS_NO_MEMORY;
    }
    google__bigtable__admin__v2__table__cluster_states_entry__init(&parts->entry);
    google__bigtable__admin__v2__table__cluster_state__init(&parts->state);
    (void)snprintf(parts->id, sizeof parts->id, "%.*s-c1", (int)instance->instance.size_bytes,
                   (const char *)instance->instance.data);
    if (shows_replication) {
        parts->state.replication_state = READY;
    }
    parts->entry.key = parts->id;
    parts->entry.value = &parts->state;
    parts->list[0] = &parts->entry;
    table->cluster_states = parts->list;
    table->n_cluster_states = 1;
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
    if (status == STATUS_OK && view != TABLE_VIEW(NAME_ONLY) && view != TABLE_VIEW(SCHEMA_VIEW)) {
        status = add_clusters(instance, view != TABLE_VIEW(ENCRYPTION_VIEW), arena, ret_table);
    }
    return status;
}

enum edubba_code table_view_answer(struct admin_call *call,
                                   const struct admin_table *table,
                                   const struct edubba_schema *schema,
                                   table_view view,
                                   const ProtobufCMessage **ret_answer)
{
    Table *answer = arena_allocate(call->arena, sizeof *answer);
    if (answer == NULL || table_view_make(&table->name, table->name.id, schema, view, call->arena,
                                          answer) != STATUS_OK) {
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
