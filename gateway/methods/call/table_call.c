#include "gateway/methods/call/table_call.h"

#include <string.h>

#include "common/io/clock.h"
#include "gateway/methods/call/large_row.h"
#include "gateway/methods/call/profiles.h"

#define NO_MEMORY           "No memory for the request; try again"
#define DEFAULT_PROFILE     "default"
#define PROFILE_PATIENCE_MS 1000 /* then data is served without knowing */

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

/* Is it as it is now, as far as this call is concerned? */
static bool is_fresh(const struct table_call *on)
{
    return on->asked_ns != 0 && on->table->asked_ns >= on->asked_ns;
}

static enum edubba_code open_anew(void *context, const char *name, struct edubba_error *error)
{
    const struct gateway *gateway = context;
    struct open_table *table = NULL;
    enum edubba_code code = tables_open(gateway->tables, name, &table, error);
    if (code == EDUBBA_OK) {
        table_release(table);
    }
    return code;
}

/* Open the table, unless another call has done so meanwhile. */
static enum edubba_code open_table(void *context, const char *name, struct edubba_error *error)
{
    const struct gateway *gateway = context;
    struct open_table *table = tables_find(gateway->tables, name);
    if (table == NULL) {
        return open_anew(context, name, error);
    }
    table_release(table);
    return EDUBBA_OK;
}

static void open_later(struct table_call *on, bool is_anew);

static struct table_call *call_of(struct question_wait *wait)
{
    return (struct table_call *)(void *)((char *)wait - offsetof(struct table_call, wait));
}

static void on_opened(struct question_wait *wait, enum edubba_code code, const char *text)
{
    struct table_call *on = call_of(wait);
    if (code != EDUBBA_OK) {
        fail(on, code, text);
        return;
    }
    on->table = tables_find(on->gateway->tables, on->name);
    if (on->table == NULL) { /* it was forgotten in this very moment */
        open_later(on, false);
        return;
    }
    on->may_run_again = on->may_run_again && !is_fresh(on);
    on->run(on);
}

/* The table is opened, or opened anew; then the call runs. */
static void open_later(struct table_call *on, bool is_anew)
{
    static const struct question_kind kinds[] = {{open_table, 0}, {open_anew, 0}};
    on->wait.call = on->call;
    on->wait.answered = on_opened;
    on->asked_ns = clock_monotonic_ns();
    rpc_call_watch(on->call); /* it is asked whether its caller is gone */
    questions_join(on->gateway->questions, &kinds[is_anew ? 1 : 0], on->name, &on->wait);
}

bool table_call_look_again(struct table_call *on)
{
    if (is_fresh(on)) {
        return false;
    }
    table_call_end(on);
    open_later(on, true);
    return true;
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
    open_later(on, false);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* Under which name we know it.  False: the call has been failed. */
static bool find_place(struct table_call *on,
                       const struct table_place *place,
                       struct resource_name *ret_name)
{
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
    if (resource_name_parse(bytes_of_text(place->table_name), RESOURCE_TABLE, ret_name, &error) !=
        STATUS_OK) {
        rpc_fail(on->call, EDUBBA_INVALID_ARGUMENT, "%s", error.text);
        return false;
    }
    on->full_name = place->table_name;
    resource_table_name(ret_name, &on->gateway->home, on->name);
    return true;
}

static void begin(struct table_call *on)
{
    on->table = tables_find(on->gateway->tables, on->name);
    if (on->table != NULL) {
        on->run(on);
    } else {
        open_later(on, false);
    }
}

/* --- app profiles ----------------------------------------------------------------------------- */

static void refuse_profile(struct table_call *on)
{
    const char *end = strrchr(on->full_name, '/') - strlen("/tables"); /* of the instance */
    rpc_fail(on->call, EDUBBA_NOT_FOUND, "Not found: %.*s/appProfiles/%.200s",
             (int)(end - on->full_name), on->full_name, on->app_profile_id);
}

static void refuse_transaction(struct table_call *on)
{
    rpc_fail(on->call, EDUBBA_FAILED_PRECONDITION,
             "Single-row transactions are not allowed by this app profile: %.200s",
             on->app_profile_id);
}

/* The call goes by what is known of its profile, or is refused. */
static void begin_by_profile(struct table_call *on, enum profile_state state)
{
    if (state == PROFILE_IS_MISSING) {
        refuse_profile(on);
    } else if (state == PROFILE_FORBIDS_TRANSACTIONS && on->is_transaction) {
        refuse_transaction(on);
    } else {
        begin(on);
    }
}

/* The error says what was found: the call knows what it named. */
static enum edubba_code ask_profile(void *context, const char *document, struct edubba_error *error)
{
    const struct gateway *gateway = context;
    (void)error;
    switch (profiles_ask(gateway->profiles, gateway->client, document)) {
    case PROFILE_IS_MISSING:
        return EDUBBA_NOT_FOUND;
    case PROFILE_FORBIDS_TRANSACTIONS:
        return EDUBBA_FAILED_PRECONDITION;
    case PROFILE_IS_THERE:
    case PROFILE_MUST_BE_ASKED:
        break;
    }
    return EDUBBA_OK;
}

/* Where it could not be asked for, data is served all the same. */
static void on_profile(struct question_wait *wait, enum edubba_code code, const char *text)
{
    struct table_call *on = call_of(wait);
    if (code == EDUBBA_NOT_FOUND) {
        begin_by_profile(on, PROFILE_IS_MISSING);
    } else if (code == EDUBBA_FAILED_PRECONDITION) {
        begin_by_profile(on, PROFILE_FORBIDS_TRANSACTIONS);
    } else if (code == EDUBBA_CANCELLED) {
        rpc_fail(on->call, code, "%s", text);
    } else {
        begin(on);
    }
}

/* name is the table's. */
static void begin_with_profile(struct table_call *on, struct resource_name name)
{
    static const struct question_kind kind = {ask_profile, PROFILE_PATIENCE_MS};
    char document[RESOURCE_DOCUMENT_BYTES_MAX];
    name.kind = RESOURCE_APP_PROFILE;
    name.id = bytes_of_text(on->app_profile_id);
    enum profile_state state = PROFILE_IS_MISSING; /* none can have another name */
    if (resource_id_check(name.kind, name.id, NULL) == STATUS_OK) {
        (void)resource_document_name(&name, document);
        state = profiles_look(on->gateway->profiles, document, clock_monotonic_ns());
    }
    if (state != PROFILE_MUST_BE_ASKED) {
        begin_by_profile(on, state);
    } else {
        on->wait.call = on->call;
        on->wait.answered = on_profile;
        rpc_call_watch(on->call); /* it is asked whether its caller is gone */
        questions_join(on->gateway->questions, &kind, document, &on->wait);
    }
}

void table_call_start(struct table_call *on,
                      const struct table_place *place,
                      void (*run)(struct table_call *on))
{
    struct resource_name name;
    if (!find_place(on, place, &name)) {
        return;
    }
    on->run = run;
    if (is_set(place->app_profile_id) && strcmp(place->app_profile_id, DEFAULT_PROFILE) != 0) {
        on->app_profile_id = place->app_profile_id;
        begin_with_profile(on, name);
    } else {
        begin(on);
    }
}
