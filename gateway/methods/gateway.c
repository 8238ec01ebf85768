#include "gateway/methods/gateway.h"

#include <string.h>

/* --- the table of a call --------------------------------------------------------------------------- */

/* A call whose table has to be asked for. */
struct opening {
    struct waiting waiting;
    struct gateway *gateway;
    struct rpc_call *call;
    void (*then)(void *context, struct table *table);
    void *context;
    char name[RESOURCE_TABLE_NAME_BYTES_MAX];
};

static void open_table(struct waiting *waiting)
{
    struct opening *opening = (struct opening *)waiting;
    struct edubba_error error = {0};
    struct table *table = NULL;
    enum edubba_code code = tables_open(opening->gateway->tables, opening->name, &table, &error);
    if (code == EDUBBA_OK) {
        opening->then(opening->context, table);
    } else {
        rpc_fail(opening->call, code, "%s", error.text);
    }
}

void gateway_with_table(struct gateway *gateway,
                        struct rpc_call *call,
                        const char *table_name,
                        void (*then)(void *context, struct table *table),
                        void *context)
{
    struct resource_name name;
    struct error error = {.status = STATUS_OK};
    struct opening *opening = arena_allocate(rpc_call_arena(call), sizeof *opening);
    if (resource_name_parse(bytes_of_text(table_name), RESOURCE_TABLE, &name, &error) !=
        STATUS_OK) {
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "%s", error.text);
        return;
    }
    if (opening == NULL) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "No memory for the request; try again");
        return;
    }
    *opening = (struct opening){
        .waiting = {.run = open_table},
        .gateway = gateway,
        .call = call,
        .then = then,
        .context = context,
    };
    resource_table_name(&name, &gateway->home, opening->name);
    struct table *table = tables_find(gateway->tables, opening->name);
    if (table != NULL) {
        then(context, table);
    } else if (!waiters_add(gateway->waiters, &opening->waiting)) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "Too many calls wait for a master; try again");
    }
}

void gateway_fail(struct rpc_call *call,
                  const struct table *table,
                  enum edubba_code code,
                  const char *text)
{
    (void)table;
    rpc_fail(call, code, "%s", text);
}
