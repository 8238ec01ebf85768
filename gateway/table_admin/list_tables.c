/*
 * ListTables: the tables of an instance, in the order of their IDs, by pages.
 *
 * A page's token is the ID that it ends with: the next one begins behind it, whatever was made or
 * deleted meanwhile.  Views that show schemas ask for each table's, so their pages are shorter; and
 * any page ends early when it has become large, for clients take 4 MiB.  A table that is deleted
 * while it is looked at is left out.  Where there are tables there is their instance: see
 * create_table.c.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/instance_admin/instances.h"
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__ListTablesRequest Request;
typedef Google__Bigtable__Admin__V2__ListTablesResponse Response;
typedef Google__Bigtable__Admin__V2__Table Table;

#define PAGE_TABLES_MAX  1000
#define PAGE_SCHEMAS_MAX 100
#define PAGE_BYTES       (2 * 1024 * 1024) /* of memory: more than they are when encoded */

struct listing {
    struct admin_call *call;
    struct resource_name instance;
    table_view view;
    struct bytes after; /* IDs up to this one were listed */
    size_t page_max;
    struct table_clusters clusters;
    struct bytes *ids; /* of the instance, behind `after`, ascending */
    size_t id_count;
};

static enum edubba_code read_request(struct listing *listing, const Request *request)
{
    struct error error = {.status = STATUS_OK};
    enum status status = resource_name_parse(bytes_of_text(request->parent), RESOURCE_INSTANCE,
                                             &listing->instance, &error);
    if (status == STATUS_OK) {
        status = table_view_choose(request->view, TABLE_VIEW(NAME_ONLY), &listing->view, &error);
    }
    if (status == STATUS_OK && request->page_size < 0) {
        status = error_set(&error, STATUS_INVALID_ARGUMENT,
                           "Error in field 'page_size' : must not be negative");
    }
    if (status != STATUS_OK) {
        return admin_call_check(listing->call, status, &error);
    }
    size_t most = table_view_needs_schema(listing->view) ? PAGE_SCHEMAS_MAX : PAGE_TABLES_MAX;
    size_t asked = (size_t)request->page_size;
    listing->page_max = asked > 0 && asked < most ? asked : most;
    listing->after = bytes_of_text(request->page_token);
    return EDUBBA_OK;
}

/* --- which ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
    const struct bytes *first = a;
    const struct bytes *second = b;
    return bytes_compare(*first, *second);
}

static enum edubba_code select_ids(struct listing *listing, char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    listing->ids = arena_allocate_array(listing->call->arena, count, sizeof *listing->ids);
    if (listing->ids == NULL) {
        return admin_call_no_memory(listing->call);
    }
    for (size_t i = 0; i < count; i++) {
        struct bytes id = BYTES_EMPTY;
        if (resource_table_id(bytes_of_text(names[i]), &listing->instance,
                              &listing->call->gateway->home, &id) &&
            bytes_compare(id, listing->after) > 0) {
            listing->ids[listing->id_count++] = id;
        }
    }
    qsort(listing->ids, listing->id_count, sizeof *listing->ids, compare_ids);
    return EDUBBA_OK;
}

/* --- a page of them --------------------------------------------------------------------------- */

/* *ret_is_there false: it was deleted meanwhile. */
static enum edubba_code show(struct listing *listing,
                             struct bytes id,
                             Table *ret_table,
                             bool *ret_is_there)
{
    struct admin_call *call = listing->call;
    struct edubba_schema *schema = NULL;
    if (table_view_needs_schema(listing->view)) {
        struct resource_name name = listing->instance;
        char ours[RESOURCE_TABLE_NAME_BYTES_MAX];
        name.kind = RESOURCE_TABLE;
        name.id = id;
        resource_table_name(&name, &call->gateway->home, ours);
        enum edubba_code code = edubba_get_table(call->gateway->client, ours, &schema,
                                                 &call->error);
        if (code != EDUBBA_OK) {
            *ret_is_there = false;
            return code == EDUBBA_NOT_FOUND ? EDUBBA_OK : code;
        }
    }
    enum status status = table_view_make(&listing->instance, id, schema, &listing->clusters,
                                         listing->view, call->arena, ret_table);
    edubba_schema_free(schema);
    *ret_is_there = true;
    return status == STATUS_OK ? EDUBBA_OK : admin_call_no_memory(call);
}

static enum edubba_code fill(struct listing *listing, Response *answer)
{
    struct arena *arena = listing->call->arena;
    size_t room = listing->id_count < listing->page_max ? listing->id_count : listing->page_max;
    size_t next = 0;
    Table *tables = arena_allocate_array(arena, room, sizeof *tables);
    answer->tables = arena_allocate_array(arena, room, sizeof(Table *));
    if (tables == NULL || answer->tables == NULL) {
        return admin_call_no_memory(listing->call);
    }
    size_t used_bytes = arena->used_bytes;
    while (next < listing->id_count && answer->n_tables < room &&
           arena->used_bytes - used_bytes < PAGE_BYTES) {
        Table *table = &tables[answer->n_tables];
        bool is_there = false;
        enum edubba_code code = show(listing, listing->ids[next], table, &is_there);
        if (code != EDUBBA_OK) {
            return code;
        }
        if (is_there) {
            answer->tables[answer->n_tables++] = table;
        }
        next++;
    }
    if (next < listing->id_count) {
        answer->next_page_token = arena_copy_text(arena, listing->ids[next - 1]);
    }
    return answer->next_page_token != NULL ? EDUBBA_OK : admin_call_no_memory(listing->call);
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    struct listing listing = {.call = call};
    char **names = NULL;
    Response *answer = arena_allocate(call->arena, sizeof *answer);
    if (answer == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_tables_response__init(answer);
    *ret_answer = &answer->base;
    enum edubba_code code = read_request(&listing, (const Request *)call->request);
    if (code != EDUBBA_OK) {
        return code;
    }
    code = edubba_list_tables(call->gateway->client, &names, &call->error);
    if (code == EDUBBA_OK) {
        code = select_ids(&listing, names);
    }
    if (code == EDUBBA_OK && listing.id_count > 0) {
        (void)instances_ensure(call, &listing.instance); /* if not now, then when it is asked for */
        code = table_view_clusters(call, &listing.instance, listing.view, &listing.clusters);
    }
    if (code == EDUBBA_OK) {
        code = fill(&listing, answer);
    }
    edubba_free(names);
    return code;
}

void table_admin_list_tables(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, work);
}
