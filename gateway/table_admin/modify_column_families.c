/*
 * ModifyColumnFamilies: families made, changed and dropped, all or none, in the request's order.
 *
 * One alteration of a master's does all of it.  An update says with a mask what it is about: the GC
 * rule (also without a mask), or the type, which never changes; naming the one that is there is
 * fine.  ignore_warnings has nothing to ignore: warnings are about replicated tables.
 */
#include <string.h>

#include "gateway/convert/convert_schema.h"
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest Request;
typedef Google__Bigtable__Admin__V2__ModifyColumnFamiliesRequest__Modification Modification;
typedef Google__Bigtable__Admin__V2__ColumnFamily Family;

#define MOD(name) \
    GOOGLE__BIGTABLE__ADMIN__V2__MODIFY_COLUMN_FAMILIES_REQUEST__MODIFICATION__MOD_##name

struct changes {
    struct arena *arena;
    const struct edubba_schema *before;
    struct edubba_alteration *alterations;
    size_t count;
};

static void add(struct changes *changes,
                enum edubba_alteration_kind kind,
                const struct edubba_family *family)
{
    changes->alterations[changes->count++] = (struct edubba_alteration){.kind = kind,
                                                                        .family = *family};
}

/* --- updates ---------------------------------------------------------------------------------- */

struct update_mask {
    bool has_rule;
    bool has_type;
};

static enum status read_mask(const Google__Protobuf__FieldMask *mask,
                             struct update_mask *ret_mask,
                             struct error *ret_error)
{
    struct update_mask read = {0};
    size_t count = mask != NULL ? mask->n_paths : 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = mask->paths[i];
        if (strcmp(path, "gc_rule") == 0) {
            read.has_rule = true;
        } else if (strcmp(path, "value_type") == 0 ||
                   bytes_starts_with(bytes_of_text(path), bytes_of_text("value_type."))) {
            read.has_type = true;
        } else {
            char shown[BYTES_PRINTABLE_SIZE_MAX];
            return error_set(
                ret_error, STATUS_INVALID_ARGUMENT,
                "Error in field 'update_mask' : a column family has no field '%s' that "
                "can be updated",
                bytes_printable(bytes_of_text(path), shown));
        }
    }
    read.has_rule = read.has_rule || count == 0;
    *ret_mask = read;
    return STATUS_OK;
}

/* The type of the family as it is after the changes before this one; false = it is not there. */
static bool find_type(const struct changes *changes,
                      const char *name,
                      enum edubba_aggregate *ret_aggregate)
{
    for (size_t i = changes->count; i > 0; i--) {
        const struct edubba_alteration *each = &changes->alterations[i - 1];
        if (each->kind == EDUBBA_SET_GC_RULE || strcmp(each->family.name, name) != 0) {
            continue;
        }
        *ret_aggregate = each->family.aggregate;
        return each->kind == EDUBBA_CREATE_FAMILY;
    }
    for (size_t i = 0; i < changes->before->family_count; i++) {
        const struct edubba_family *each = &changes->before->families[i];
        if (strcmp(each->name, name) == 0) {
            *ret_aggregate = each->aggregate;
            return true;
        }
    }
    return false;
}

static enum status check_type(const struct changes *changes,
                              const struct edubba_family *wanted,
                              struct error *ret_error)
{
    enum edubba_aggregate aggregate = EDUBBA_PLAIN;
    if (!find_type(changes, wanted->name, &aggregate)) {
        char shown[BYTES_PRINTABLE_SIZE_MAX];
        return error_set(ret_error, STATUS_NOT_FOUND, "Column family '%s' was not found",
                         bytes_printable(bytes_of_text(wanted->name), shown));
    }
    if (wanted->aggregate != aggregate) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Immutable fields 'value_type.aggregate_type' cannot be updated");
    }
    return STATUS_OK;
}

static enum status add_update(struct changes *changes,
                              const Modification *modification,
                              struct error *ret_error)
{
    struct update_mask mask = {false};
    struct edubba_family family;
    Family masked = *modification->update;
    enum status status = read_mask(modification->update_mask, &mask, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    masked.gc_rule = mask.has_rule ? masked.gc_rule : NULL;
    masked.value_type = mask.has_type ? masked.value_type : NULL;
    status = convert_family(modification->id, &masked, changes->arena, &family, ret_error);
    if (status == STATUS_OK && mask.has_type) {
        status = check_type(changes, &family, ret_error);
    }
    if (status == STATUS_OK && mask.has_rule) {
        family.aggregate = EDUBBA_PLAIN; /* says nothing of the type */
        add(changes, EDUBBA_SET_GC_RULE, &family);
    }
    return status;
}

/* --- all of them ------------------------------------------------------------------------------ */

static enum status add_modification(struct changes *changes,
                                    const Modification *modification,
                                    struct error *ret_error)
{
    struct edubba_family family = {.name = modification->id};
    enum status status = STATUS_OK;
    switch ((int)modification->mod_case) {
    case MOD(CREATE):
        status = convert_family(modification->id, modification->create, changes->arena, &family,
                                ret_error);
        if (status == STATUS_OK) {
            add(changes, EDUBBA_CREATE_FAMILY, &family);
        }
        return status;
    case MOD(UPDATE):
        return add_update(changes, modification, ret_error);
    case MOD(DROP):
        if (!modification->drop) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "Error in field 'drop' : must be true if it is set");
        }
        add(changes, EDUBBA_DROP_FAMILY, &family);
        return STATUS_OK;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'mod' : create, update or drop must be set");
    }
}

static enum edubba_code convert(struct admin_call *call,
                                const Request *request,
                                struct changes *changes)
{
    struct error error = {.status = STATUS_OK};
    if (request->n_modifications == 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'modifications' : must not be empty");
    }
    changes->alterations = arena_allocate_array(call->arena, request->n_modifications,
                                                sizeof *changes->alterations);
    if (changes->alterations == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < request->n_modifications; i++) {
        enum status status = add_modification(changes, request->modifications[i], &error);
        if (status == STATUS_INVALID_ARGUMENT) {
            status = error_prefix(&error, "Error in field 'modifications' : Error in element #%zu ",
                                  i);
        }
        if (status != STATUS_OK) {
            return admin_call_check(call, status, &error);
        }
    }
    return EDUBBA_OK;
}

/* The table is there, so what is not found or exists already is a family: the master's text says
 * which. */
static enum edubba_code alter(struct admin_call *call,
                              const Request *request,
                              const struct admin_table *table)
{
    struct edubba_schema *before = NULL;
    enum edubba_code code = admin_call_schema(call, table, &before);
    if (code != EDUBBA_OK) {
        return code;
    }
    struct changes changes = {.arena = call->arena, .before = before};
    code = convert(call, request, &changes);
    if (code == EDUBBA_OK && changes.count > 0) {
        code = edubba_alter_table(call->gateway->client, table->ours, changes.alterations,
                                  changes.count, &call->error);
        tables_forget(call->gateway->tables, table->ours); /* what is known of its families */
        code = admin_call_rename(call, table, code);
    }
    edubba_schema_free(before);
    return code;
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct admin_table table;
    enum edubba_code code = admin_call_table(call, request->name, &table);
    if (code == EDUBBA_OK) {
        code = alter(call, request, &table);
    }
    if (code == EDUBBA_OK) {
        code = table_view_read(call, request->name, TABLE_VIEW(SCHEMA_VIEW), ret_answer);
    }
    return code;
}

void table_admin_modify_column_families(void *context,
                                        struct rpc_call *call,
                                        const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}
