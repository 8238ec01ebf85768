/*
 * Long-running operations that did not take long: each is done when it is returned.
 *
 * A method that the API says is long-running does its work as any other admin call, then answers
 * with operation_done().  A client that polls nevertheless (google.longrunning.Operations) is
 * answered by reading the resource anew: done, with what it is now.
 *
 * Thread rule: that of the admin call.
 */
#ifndef GATEWAY_OPERATIONS_OPERATION_H
#define GATEWAY_OPERATIONS_OPERATION_H

#include "gateway/table_admin/admin_call.h"
#include "longrunning.pb-c.h"

/* A google.longrunning.Operation about the resource of that whole name ("projects/..."), in the
 * call's arena.  metadata may be NULL; nothing is borrowed.  Errors: EDUBBA_UNAVAILABLE (no
 * memory). */
enum edubba_code operation_done(struct admin_call *call,
                                const char *resource,
                                const ProtobufCMessage *metadata,
                                const ProtobufCMessage *response,
                                const ProtobufCMessage **ret_answer);

/* The same for a poll of the operation of that name. */
enum edubba_code operation_again(struct admin_call *call,
                                 const char *name,
                                 const ProtobufCMessage *response,
                                 const ProtobufCMessage **ret_answer);

/* Reads a resource by its whole name, as the response of an operation about it.  A kind of resource
 * has one, in a list of operations.c.  Errors: EDUBBA_NOT_FOUND, and those of a master that is
 * away. */
typedef enum edubba_code operation_reader(struct admin_call *call,
                                          const char *resource,
                                          const ProtobufCMessage **ret_response);

/* A moment as messages have it. */
void operation_set_timestamp(int64_t time_us, Google__Protobuf__Timestamp *ret_timestamp);

#endif /* GATEWAY_OPERATIONS_OPERATION_H */
