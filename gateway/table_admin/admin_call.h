/*
 * The frame of every method that asks a master.
 *
 * Such a method is one function, its work, which runs on one of the gateway's waiters, may block
 * there, and returns the message to answer with or an error:
 *
 *     static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer);
 *
 *     void table_admin_get_table(void *context, struct rpc_call *call, const ProtobufCMessage *in)
 *     {
 *         admin_call_read(context, call, in, work);
 *     }
 *
 * A call whose caller is gone when its turn comes is not worked on.  One that is being worked on is
 * ended by the outcome, even if nobody waits for it any more: what a master was asked for cannot be
 * taken back.
 *
 * MEMORY.  What an answer is made of lies in an arena of its own (call->arena), as a table's schema
 * is larger than the request for it; it lives until the call has ended.  The answer itself counts with
 * request_memory_max until its reader has taken it.
 *
 * Thread rule: a call belongs to the thread that works on it.
 */
#ifndef GATEWAY_TABLE_ADMIN_ADMIN_CALL_H
#define GATEWAY_TABLE_ADMIN_ADMIN_CALL_H

#include <protobuf-c/protobuf-c.h>

#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/error.h"
#include "gateway/core/resource_name.h"
#include "gateway/methods/gateway.h"
#include "gateway/rpc/rpc.h"

struct admin_call;

/* EDUBBA_OK with *ret_answer, alive as long as call->arena; else a code, with its text in
 * call->error. */
typedef enum edubba_code admin_work(struct admin_call *call, const ProtobufCMessage **ret_answer);

struct admin_call {
    struct waiting waiting;
    struct gateway *gateway;
    struct rpc_call *call;
    const ProtobufCMessage *request;
    admin_work *work;
    bool only_reads; /* and may be done again, where its answer is lost */
    struct arena *arena;
    struct edubba_error error;
};

/* A table that a request names. */
struct admin_table {
    struct resource_name name; /* borrows from text */
    const char *text;          /* "projects/P/instances/I/tables/T"; the request's */
    char ours[RESOURCE_TABLE_NAME_BYTES_MAX];
};

/* Work on the call when a waiter is free.  When too many wait it is failed with
 * EDUBBA_UNAVAILABLE. */
void admin_call_start(struct gateway *gateway,
                      struct rpc_call *call,
                      const ProtobufCMessage *request,
                      admin_work *work);

/* The same for work that changes nothing. */
void admin_call_read(struct gateway *gateway,
                     struct rpc_call *call,
                     const ProtobufCMessage *request,
                     admin_work *work);

/* --- for works -------------------------------------------------------------------------------- */

/* Each sets call->error and returns its code. */
enum edubba_code admin_call_fail(struct admin_call *call,
                                 enum edubba_code code,
                                 const char *format,
                                 ...) __attribute__((format(printf, 3, 4)));
enum edubba_code admin_call_no_memory(struct admin_call *call);

/* As a caller sees it: STATUS_NO_MEMORY is EDUBBA_UNAVAILABLE.  EDUBBA_OK for STATUS_OK. */
enum edubba_code admin_call_check(struct admin_call *call,
                                  enum status status,
                                  const struct error *error);

/* In the call's arena; NULL without memory. */
char *admin_call_format(struct admin_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Errors: EDUBBA_INVALID_ARGUMENT (text names no table). */
enum edubba_code admin_call_table(struct admin_call *call,
                                  const char *text,
                                  struct admin_table *ret_table);

/* What libedubba said of the table (in call->error), in the words of the API. */
enum edubba_code admin_call_table_error(struct admin_call *call,
                                        const struct admin_table *table,
                                        enum edubba_code code);

/* The same where the table is there, so that it is about something in it: only the table's name is
 * the caller's. */
enum edubba_code admin_call_rename(struct admin_call *call,
                                   const struct admin_table *table,
                                   enum edubba_code code);

/* Its schema; edubba_schema_free() it.  Errors: EDUBBA_NOT_FOUND, and those of a master that is
 * away. */
enum edubba_code admin_call_schema(struct admin_call *call,
                                   const struct admin_table *table,
                                   struct edubba_schema **ret_schema);

#endif /* GATEWAY_TABLE_ADMIN_ADMIN_CALL_H */
