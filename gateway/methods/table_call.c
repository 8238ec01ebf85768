#include "gateway/methods/table_call.h"

#include <string.h>

#include "gateway/methods/large_row.h"

#define NO_MEMORY "No memory for the request; try again"

void *table_call_allocate(struct gateway *gateway, struct rpc_call *call, size_t size_bytes)
{
    struct table_call *on = arena_allocate(rpc_call_arena(call), size_bytes);
    if (on == NULL) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, NO_MEMORY);
        return NULL;
    }
    memset(on, 0, size_bytes);
    on->gateway = gateway;
    on->call = call;
    on->may_run_again = true;
    return on;
}

/* --- the end ---------------------------------------------------------------------------------- */

void table_call_end(struct table_call *on)
{
    if (on->table != NULL) {
        table_release(on->table);
        on->table = NULL;
    }
}

uint32_t table_call_patience_ms(const struct table_call *on)
{
    return rpc_call_patience_ms(on->call, on->gateway->deadline_max_ms);
}

/* An operation's deadline may have been the gateway's: a caller that still waits may try again. */
static enum edubba_code code_of(const struct table_call *on, enum edubba_code code)
{
    bool still_waits = table_call_patience_ms(on) > 1;
    return code == EDUBBA_DEADLINE_EXCEEDED && still_waits ? EDUBBA_UNAVAILABLE
                                                           : server_text_code(code);
}

enum edubba_code table_call_translate(const struct table_call *on,
                                      enum edubba_code code,
                                      const char *text,
                                      char ret_text[SERVER_TEXT_SIZE_MAX])
{
    server_text_rename(text, on->name, on->full_name, ret_text);
    return code_of(on, code);
}

static void fail(struct table_call *on, enum edubba_code code, const char *text)
{
    char renamed[SERVER_TEXT_SIZE_MAX];
    table_call_end(on);
    if (server_text_is_of_table(code, text)) {
        rpc_fail(on->call, EDUBBA_NOT_FOUND, "Not found: %s", on->full_name);
    } else if (server_text_is_large_row(code, text)) {
        large_row_fail(on->call, text, on->row);
    } else {
        code = table_call_translate(on, code, text, renamed);
        rpc_fail(on->call, code, "%s", renamed);
    }
}

void table_call_refuse(struct table_call *on, enum status status, const char *text)
{
    table_call_end(on);
    if (status == STATUS_NO_MEMORY) {
        rpc_fail(on->call, EDUBBA_UNAVAILABLE, NO_MEMORY);
    } else {
        rpc_fail(on->call, EDUBBA_INVALID_ARGUMENT, "%s", text);
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static void open_table(struct waiting *waiting)
{
    struct table_call *on = (struct table_call *)waiting;
    struct tables *tables = on->gateway->tables;
    struct edubba_error error = {0};
    enum edubba_code code = EDUBBA_OK;
    if (rpc_call_is_cancelled(on->call)) {
        rpc_fail(on->call, EDUBBA_CANCELLED, "The caller is gone");
        return;
    }
    on->table = tables_find(tables, on->name); /* another call was faster */
    if (on->table == NULL) {
        on->may_run_again = false;
        edubba_thread_deadline(table_call_patience_ms(on));
        code = tables_open(tables, on->name, &on->table, &error);
        edubba_thread_deadline(0);
    }
    if (code == EDUBBA_OK) {
        on->run(on);
    } else {
        fail(on, code, error.text);
    }
}

static void open_later(struct table_call *on)
{
    on->waiting.run = open_table;
    rpc_call_watch(on->call); /* open_table() asks */
    if (!waiters_add(on->gateway->waiters, &on->waiting)) {
        rpc_fail(on->call, EDUBBA_UNAVAILABLE, "Too many calls wait for a master; try again");
    }
}

void table_call_fail(struct table_call *on, enum edubba_code code, const char *text)
{
    bool is_gone = server_text_is_of_table(code, text);
    if (is_gone) {
        tables_forget_table(on->gateway->tables, on->table);
    }
    if (!is_gone || !on->may_run_again) {
        fail(on, code, text);
        return;
    }
    on->may_run_again = false;
    table_call_end(on);
    open_later(on);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Under which name we know it.  False: the call has been failed. */
static bool find_place(struct table_call *on, const struct table_place *place)
{
    struct resource_name name;
    struct error error = {.status = STATUS_OK};
    if (is_set(place->authorized_view_name)) {
        rpc_fail(on->call, EDUBBA_UNIMPLEMENTED, "Authorized views are not served: %.500s",
                 place->authorized_view_name);
        return false;
    }
    if (is_set(place->materialized_view_name)) {
        rpc_fail(on->call, EDUBBA_UNIMPLEMENTED, "Materialized views are not served: %.500s",
                 place->materialized_view_name);
        return false;
    }
    if (resource_name_parse(bytes_of_text(place->table_name), RESOURCE_TABLE, &name, &error) !=
        STATUS_OK) {
        rpc_fail(on->call, EDUBBA_INVALID_ARGUMENT, "%s", error.text);
        return false;
    }
    on->full_name = place->table_name;
    resource_table_name(&name, &on->gateway->home, on->name);
    return true;
}

void table_call_start(struct table_call *on,
                      const struct table_place *place,
                      void (*run)(struct table_call *on))
{
    if (!find_place(on, place)) {
        return;
    }
    on->run = run;
    on->table = tables_find(on->gateway->tables, on->name);
    if (on->table != NULL) {
        run(on);
    } else {
        open_later(on);
    }
}
