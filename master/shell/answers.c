#include "master/shell/answers.h"

/* Does the method change something durable, so that "done" is true whoever says it? */
static bool is_change(enum method method)
{
    return method == METHOD_CREATE_TABLE || method == METHOD_DELETE_TABLE ||
           method == METHOD_ALTER_TABLE || method == METHOD_SPLIT_TABLET ||
           method == METHOD_MERGE_TABLETS || method == METHOD_PUT_DOCUMENTS;
}

bool answer_is_belief(enum method method, enum status status)
{
    return status == STATUS_OK ? !is_change(method)
                               : status != STATUS_UNAVAILABLE &&
                                     status != STATUS_DEADLINE_EXCEEDED && status != STATUS_ABORTED;
}

/* RECOVER is a change where a loss is accepted, and else a look at what there is. */
enum status answer_in_doubt(enum method method, enum status status)
{
    return method == METHOD_RECOVER && status == STATUS_OK ? STATUS_CLOSED : STATUS_UNAVAILABLE;
}

enum status answer_at_end(enum method method)
{
    return is_change(method) || method == METHOD_RECOVER ? STATUS_CLOSED : STATUS_UNAVAILABLE;
}

bool answer_needs_servers(enum method method, enum status status)
{
    return status == STATUS_NOT_FOUND && method != METHOD_SYNC;
}

bool change_needs_servers(enum method method)
{
    return (is_change(method) && method != METHOD_PUT_DOCUMENTS) || method == METHOD_DRAIN_SERVER;
}
