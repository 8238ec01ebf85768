/*
 * CreateTable: the table, its families and its first tablets.
 *
 * A master answers when the tablets are served, so a write that follows finds them.
 *
 * The instance comes into being behind its first table, so one that is refused leaves none.  It is
 * looked for when the table is there, also by who finds the table there already: whoever made it may
 * have died in between, and delete_instance.c may have deleted the instance meanwhile.  Who asks for
 * the instance by its name, or for its tables, makes it in that case too (instances_get()).
 */
#include "gateway/convert/convert_schema.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__CreateTableRequest Request;

/* The table that parent and table_id make. */
static enum edubba_code name_table(struct admin_call *call,
                                   const Request *request,
                                   struct admin_table *ret_table)
{
    struct error error = {.status = STATUS_OK};
    struct resource_name parent;
    enum status status = resource_name_parse(bytes_of_text(request->parent), RESOURCE_INSTANCE,
                                             &parent, &error);
    if (status == STATUS_OK) {
        status = resource_id_check(RESOURCE_TABLE, bytes_of_text(request->table_id), &error);
    }
    if (status != STATUS_OK) {
        return admin_call_check(call, status, &error);
    }
    const char *text = admin_call_format(call, "%s/tables/%s", request->parent, request->table_id);
    return text != NULL ? admin_call_table(call, text, ret_table) : admin_call_no_memory(call);
}

/* NULL without memory. */
static struct edubba_bytes *convert_splits(const Request *request, struct arena *arena)
{
    struct edubba_bytes *splits = arena_allocate_array(arena, request->n_initial_splits,
                                                       sizeof *splits);
    for (size_t i = 0; i < request->n_initial_splits && splits != NULL; i++) {
        splits[i] = edubba_bytes_of(request->initial_splits[i]->key.data,
                                    request->initial_splits[i]->key.len);
    }
    return splits;
}

static enum edubba_code create(struct admin_call *call,
                               const Request *request,
                               const struct admin_table *table,
                               struct edubba_schema *ret_schema)
{
    struct error error = {.status = STATUS_OK};
    enum status status = convert_schema(request->table, table->ours, call->arena, ret_schema,
                                        &error);
    if (status != STATUS_OK) {
        return admin_call_check(call, status, &error);
    }
    const struct edubba_bytes *splits = convert_splits(request, call->arena);
    if (splits == NULL) {
        return admin_call_no_memory(call);
    }
    enum edubba_code code = instances_check(call, &table->name);
    if (code != EDUBBA_OK) {
        return code;
    }
    code = edubba_create_table(call->gateway->client, ret_schema, splits, request->n_initial_splits,
                               &call->error);
    if (code == EDUBBA_OK || code == EDUBBA_ALREADY_EXISTS) {
        enum edubba_code ensured = instances_ensure(call, &table->name);
        code = ensured == EDUBBA_OK ? code : ensured;
    }
    return admin_call_table_error(call, table, code);
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct admin_table table;
    struct edubba_schema schema;
    enum edubba_code code = name_table(call, request, &table);
    if (code == EDUBBA_OK) {
        code = create(call, request, &table, &schema);
    }
    if (code == EDUBBA_OK) {
        code = table_view_answer(call, &table, &schema, TABLE_VIEW(SCHEMA_VIEW), ret_answer);
    }
    return code;
}

void table_admin_create_table(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}
