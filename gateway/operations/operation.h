/*
 * Long-running operations as they are answered: done, with their response.
 *
 * A method that the API says is long-running does its work as any other admin call, then answers
 * with operation_answer().  A client that polls nevertheless (google.longrunning.Operations) is
 * answered by reading the resource anew: done, with what it is now.
 *
 * Thread rule: that of the admin call.
 */
#ifndef GATEWAY_OPERATIONS_OPERATION_H
#define GATEWAY_OPERATIONS_OPERATION_H

#include "gateway/operations/operation_name.h"
#include "gateway/table_admin/admin_call.h"
#include "longrunning.pb-c.h"

/* The answer to the call that did it, at time_us, to the resource of that whole name.  metadata may
 * be NULL; it, the response and the name are not borrowed. */
enum edubba_code operation_answer(struct admin_call *call,
                                  enum operation_verb verb,
                                  const char *resource,
                                  int64_t time_us,
                                  const ProtobufCMessage *metadata,
                                  const ProtobufCMessage *response,
                                  const ProtobufCMessage **ret_answer);

/* Reads a resource by its whole name, as an operation's response.  Errors: EDUBBA_NOT_FOUND. */
typedef enum edubba_code operation_reader(struct admin_call *call,
                                          const char *resource,
                                          const ProtobufCMessage **ret_response);

/* A moment as messages have it. */
void operation_set_timestamp(int64_t time_us, Google__Protobuf__Timestamp *ret_timestamp);

#endif /* GATEWAY_OPERATIONS_OPERATION_H */
