/*
 * UpdateTable: deletion protection, which is the one thing of a table that can be changed here.
 *
 * A mask that names what is not served (change streams, backups, row key schemas) and leaves it
 * unset asks to switch off what is off: nothing is done.  One that sets it is refused.
 */
#include "gateway/table_admin/update_table.h"

#include <string.h>

#include "common/io/clock.h"
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__UpdateTableRequest Request;
typedef Google__Bigtable__Admin__V2__UpdateTableMetadata Metadata;
typedef Google__Bigtable__Admin__V2__Table Table;

/* --- the mask --------------------------------------------------------------------------------- */

/* Does the path name the field, or something in it? */
static bool is_in(const char *path, const char *field)
{
    size_t size = strlen(field);
    return strncmp(path, field, size) == 0 && (path[size] == '\0' || path[size] == '.');
}

static enum edubba_code check_off(struct admin_call *call, const char *path, bool is_off)
{
    return is_off ? EDUBBA_OK
                  : admin_call_fail(call, EDUBBA_UNIMPLEMENTED,
                                    "Error in field '%s' : this is not served", path);
}

static enum edubba_code check_path(struct admin_call *call,
                                   const Table *table,
                                   const char *path,
                                   bool *sets_protection)
{
    if (strcmp(path, "deletion_protection") == 0) {
        *sets_protection = true;
        return EDUBBA_OK;
    }
    if (is_in(path, "change_stream_config")) {
        return check_off(call, path, table->change_stream_config == NULL);
    }
    if (is_in(path, "automated_backup_policy")) {
        return check_off(call, path,
                         table->automated_backup_config_case ==
                             GOOGLE__BIGTABLE__ADMIN__V2__TABLE__AUTOMATED_BACKUP_CONFIG__NOT_SET);
    }
    if (is_in(path, "row_key_schema")) {
        return check_off(call, path, table->row_key_schema == NULL);
    }
    if (is_in(path, "tiered_storage_config")) {
        return check_off(call, path, false);
    }
    if (is_in(path, "column_families")) {
        return admin_call_fail(call, EDUBBA_UNIMPLEMENTED,
                               "Error in field 'update_mask' : column_families are changed with "
                               "ModifyColumnFamilies");
    }
    char shown[BYTES_PRINTABLE_SIZE_MAX];
    return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                           "Error in field 'update_mask' : a table has no field '%s' that can be "
                           "updated",
                           bytes_printable(bytes_of_text(path), shown));
}

static enum edubba_code read_mask(struct admin_call *call,
                                  const Request *request,
                                  bool *sets_protection)
{
    size_t count = request->update_mask != NULL ? request->update_mask->n_paths : 0;
    enum edubba_code code = EDUBBA_OK;
    if (request->table == NULL) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'table' : must be set");
    }
    if (count == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'update_mask' : must not be empty");
    }
    for (size_t i = 0; i < count && code == EDUBBA_OK; i++) {
        code = check_path(call, request->table, request->update_mask->paths[i], sets_protection);
    }
    return code;
}

/* --- the work --------------------------------------------------------------------------------- */

static enum edubba_code protect(struct admin_call *call, const Table *wanted)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_SET_PROTECTION,
                                           .flag = wanted->deletion_protection != 0};
    struct admin_table table;
    enum edubba_code code = admin_call_table(call, wanted->name, &table);
    if (code == EDUBBA_OK) {
        code = edubba_alter_table(call->gateway->client, table.ours, &alteration, 1, &call->error);
        code = admin_call_table_error(call, &table, code);
    }
    return code;
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    const ProtobufCMessage *response = NULL;
    Google__Protobuf__Timestamp start;
    Google__Protobuf__Timestamp end;
    Metadata metadata;
    bool sets_protection = false;
    operation_set_timestamp(clock_wall_us(), &start);
    enum edubba_code code = read_mask(call, request, &sets_protection);
    if (code == EDUBBA_OK && sets_protection) {
        code = protect(call, request->table);
    }
    if (code == EDUBBA_OK) {
        code = table_admin_read_table(call, request->table->name, &response);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    operation_set_timestamp(clock_wall_us(), &end);
    google__bigtable__admin__v2__update_table_metadata__init(&metadata);
    metadata.name = request->table->name;
    metadata.start_time = &start;
    metadata.end_time = &end;
    return operation_done(call, request->table->name, &metadata.base, response, ret_answer);
}

void table_admin_update_table(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}

enum edubba_code table_admin_read_table(struct admin_call *call,
                                        const char *resource,
                                        const ProtobufCMessage **ret_response)
{
    return table_view_read(call, resource, TABLE_VIEW(SCHEMA_VIEW), ret_response);
}
