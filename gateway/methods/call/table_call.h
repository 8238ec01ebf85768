/*
 * A call that is about one table: what all of them have at their beginning and at their end.
 *
 *     table_call_allocate -> table_call_start -> run -> an answer, or table_call_fail
 *                                   |             ^            |
 *                            not open yet         |      the table is not there
 *                                   v             |            v
 *                               a waiter's thread opens it <- forget it
 *
 * The table is held from run on, and let go by table_call_end() or table_call_fail().  Calls that
 * come while it is being opened wait for that (questions.h).
 *
 * A TABLE THAT IS NOT THERE.  Servers know tables by number, and what was opened may have been
 * deleted and made anew since, perhaps through another gateway.  So the first time that a server
 * calls the table NOT_FOUND it is forgotten, opened again, and the method runs once more: nothing
 * was applied.
 *
 * Thread rule: one thread at a time; run may be called on another one than start.
 */
#ifndef GATEWAY_METHODS_CALL_TABLE_CALL_H
#define GATEWAY_METHODS_CALL_TABLE_CALL_H

#include "gateway/core/server_text.h"
#include "gateway/methods/call/questions.h"
#include "gateway/methods/gateway.h"
#include "gateway/rpc/rpc.h"

/* At the front of what a method keeps of its call, which lies in the call's arena. */
struct table_call {
    struct waiting waiting; /* of methods that wait for servers */
    struct question_wait wait;
    struct gateway *gateway;
    struct rpc_call *call;
    struct open_table *table; /* held; NULL before run */
    int64_t asked_ns;         /* when it began to wait for a table; 0 = it has not */
    const char *full_name;    /* as the request says it */
    const char *app_profile_id;
    bool is_transaction; /* the method's to say before it starts: profiles may forbid it */
    struct bytes row;    /* which one row is read, or could not be; empty = not known */
    void (*run)(struct table_call *on);
    bool may_run_again; /* after a table that was not there; cleared once something was sent */
    char name[RESOURCE_TABLE_NAME_BYTES_MAX];
};

/* Where a request says that its data is; NULL for fields that it does not have. */
struct table_place {
    const char *table_name;
    const char *authorized_view_name;
    const char *materialized_view_name;
    const char *app_profile_id; /* NULL, empty or "default": whichever an instance has */
};

/* What a method keeps, zeroed; it begins with a struct table_call.  NULL: no memory, and the call
 * has been failed. */
void *table_call_allocate(struct gateway *gateway, struct rpc_call *call, size_t size_bytes);

/* See that the app profile is there and allows the call, find or open the table, then run: at once, or
 * on a waiter's thread; or fail the call.  What the names point to lives as long as the call.  on may be gone when this returns. */
void table_call_start(struct table_call *on,
                      const struct table_place *place,
                      void (*run)(struct table_call *on));

/* Before a call is refused for what is known of its table: when that may be older than the call, open
 * the table anew and run again.  False: it is as it is.  on may be gone when this returns true. */
bool table_call_look_again(struct table_call *on);

/* For operations: what is left of the caller's patience, or the gateway's. */
uint32_t table_call_patience_ms(const struct table_call *on);

/* What an operation's code and text are for the caller. */
enum edubba_code table_call_translate(const struct table_call *on,
                                      enum edubba_code code,
                                      const char *text,
                                      char ret_text[SERVER_TEXT_SIZE_MAX]);

/* Let go of the table: the call is about to be answered. */
void table_call_end(struct table_call *on);

/* What libedubba said of an operation: end the call with it, or, see above, run again.  Nothing of
 * the method's may be left to be freed.  on may be gone when this returns. */
void table_call_fail(struct table_call *on, enum edubba_code code, const char *text);

/* The request itself is wrong, or there is no memory for it: STATUS_INVALID_ARGUMENT or
 * STATUS_NO_MEMORY.  Ends the call. */
void table_call_refuse(struct table_call *on, enum status status, const char *text);

#endif /* GATEWAY_METHODS_CALL_TABLE_CALL_H */
