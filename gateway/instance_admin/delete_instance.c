/*
 * DeleteInstance: its tables, then itself with its clusters and profiles.
 *
 * Nothing is deleted where a table of it is protected.  A table that is made meanwhile makes the
 * instance anew, as its first: its maker looks for the instance when the table is there, and we look
 * for tables when the instance is gone, so one of the two finds the other.
 */
#include <string.h>

#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"

typedef Google__Bigtable__Admin__V2__DeleteInstanceRequest DeleteInstanceRequest;

static bool is_of(const struct admin_call *call,
                  const struct resource_name *instance,
                  const char *table)
{
    struct bytes id;
    return resource_table_id(bytes_of_text(table), instance, &call->gateway->home, &id);
}

static enum edubba_code refuse_protected(struct admin_call *call,
                                         const struct resource_name *instance,
                                         const char *table)
{
    const char *name = record_full_name(call, instance);
    struct bytes id = BYTES_EMPTY;
    (void)resource_table_id(bytes_of_text(table), instance, &call->gateway->home, &id);
    return name == NULL ? admin_call_no_memory(call)
                        : admin_call_fail(
                              call, EDUBBA_FAILED_PRECONDITION,
                              "Table '%s/tables/%.*s' has deletion protection: turn it off first",
                              name, (int)id.size_bytes, (const char *)id.data);
}

static enum edubba_code check_unprotected(struct admin_call *call,
                                          const struct resource_name *instance,
                                          char *const *tables)
{
    for (size_t i = 0; tables[i] != NULL; i++) {
        struct edubba_schema *schema = NULL;
        if (!is_of(call, instance, tables[i])) {
            continue;
        }
        enum edubba_code code = edubba_get_table(call->gateway->client, tables[i], &schema,
                                                 &call->error);
        if (code == EDUBBA_NOT_FOUND) {
            continue;
        }
        if (code != EDUBBA_OK) {
            return code;
        }
        bool is_protected = schema->deletion_protection;
        edubba_schema_free(schema);
        if (is_protected) {
            return refuse_protected(call, instance, tables[i]);
        }
    }
    return EDUBBA_OK;
}

static enum edubba_code delete_tables(struct admin_call *call,
                                      const struct resource_name *instance,
                                      char *const *tables)
{
    enum edubba_code code = check_unprotected(call, instance, tables);

    for (size_t i = 0; tables[i] != NULL && code == EDUBBA_OK; i++) {
        if (is_of(call, instance, tables[i])) {
            code = edubba_delete_table(call->gateway->client, tables[i], &call->error);
            tables_forget(call->gateway->tables, tables[i]);
            code = code == EDUBBA_NOT_FOUND ? EDUBBA_OK : code;
        }
    }
    return code;
}

/* A table that was made while the others were deleted. */
static enum edubba_code keep_new_tables(struct admin_call *call, const struct resource_name *name)
{
    bool has_any = false;
    enum edubba_code code = instances_has_tables(call, name, &has_any);
    return code == EDUBBA_OK && has_any ? instances_ensure(call, name) : code;
}

static enum edubba_code delete_all(struct admin_call *call, const struct resource_name *name)
{
    char **tables = NULL;
    struct record record = {NULL, 0};
    enum edubba_code code = instances_get(call, name, &record);

    if (code == EDUBBA_OK) {
        code = edubba_list_tables(call->gateway->client, &tables, &call->error);
    }
    if (code == EDUBBA_OK) {
        code = delete_tables(call, name, tables);
        edubba_free(tables);
    }
    if (code == EDUBBA_OK) {
        code = instances_delete(call, name);
        profiles_forget(call->gateway->profiles);
    }
    return code == EDUBBA_OK ? keep_new_tables(call, name) : code;
}

static enum edubba_code delete_instance(struct admin_call *call,
                                        const ProtobufCMessage **ret_answer)
{
    const DeleteInstanceRequest *request = (const DeleteInstanceRequest *)call->request;
    struct resource_name name;
    Google__Protobuf__Empty *empty = arena_allocate(call->arena, sizeof *empty);
    enum edubba_code code = record_name(call, request->name, RESOURCE_INSTANCE, &name);

    if (empty == NULL) {
        return admin_call_no_memory(call);
    }
    google__protobuf__empty__init(empty);
    if (code == EDUBBA_OK && instances_is_home(call, &name)) {
        code = admin_call_fail(call, EDUBBA_FAILED_PRECONDITION,
                               "'%.100s' is the instance of all tables that have no other: it "
                               "cannot be deleted",
                               request->name);
    }
    if (code == EDUBBA_OK) {
        code = delete_all(call, &name);
    }
    if (code == EDUBBA_OK) {
        *ret_answer = &empty->base;
    }
    return code;
}

void instance_admin_delete_instance(void *context,
                                    struct rpc_call *call,
                                    const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, delete_instance);
}
