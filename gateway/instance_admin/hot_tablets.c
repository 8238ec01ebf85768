/*
 * ListHotTablets.  Tablet servers do not tell yet how much of their time a tablet takes, so the
 * list is empty; what is asked for is checked all the same.
 */
#include "common/io/clock.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"

typedef Google__Bigtable__Admin__V2__ListHotTabletsRequest ListHotTabletsRequest;
typedef Google__Bigtable__Admin__V2__ListHotTabletsResponse ListHotTabletsResponse;

#define HOUR_SECONDS   INT64_C(3600)
#define WINDOW_SECONDS (48 * HOUR_SECONDS)
#define PAST_SECONDS   (14 * 24 * HOUR_SECONDS)

static enum edubba_code check_times(struct admin_call *call, const ListHotTabletsRequest *request)
{
    int64_t now = clock_wall_us() / 1000000;
    int64_t end = request->end_time != NULL ? request->end_time->seconds : now;
    int64_t start = request->start_time != NULL ? request->start_time->seconds
                    : end > 0                   ? end - 24 * HOUR_SECONDS
                                                : end;
    const char *wrong = NULL;
    /* in this order no difference can overflow */
    if (start < now - PAST_SECONDS) {
        wrong = "Error in field 'start_time' : it is in the last 14 days";
    } else if (end < start) {
        wrong = "Error in field 'end_time' : it is not before start_time";
    } else if (end - start > WINDOW_SECONDS) {
        wrong = "Error in field 'end_time' : it is at most 48 hours behind start_time";
    }
    return wrong != NULL ? admin_call_fail(call, EDUBBA_INVALID_ARGUMENT, "%s", wrong) : EDUBBA_OK;
}

static enum edubba_code list_hot_tablets(struct admin_call *call,
                                         const ProtobufCMessage **ret_answer)
{
    const ListHotTabletsRequest *request = (const ListHotTabletsRequest *)call->request;
    struct resource_name name;
    struct record record = {NULL, 0};
    ListHotTabletsResponse *response = arena_allocate(call->arena, sizeof *response);
    enum edubba_code code = record_name(call, request->parent, RESOURCE_CLUSTER, &name);

    if (response == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_hot_tablets_response__init(response);
    if (code == EDUBBA_OK) {
        code = instances_get(call, &name, &record);
    }
    if (code == EDUBBA_OK && !bytes_equal(name.id, bytes_of_text("-"))) {
        code = record_get(call, &name, &record);
    }
    if (code == EDUBBA_OK) {
        code = check_times(call, request);
    }
    if (code == EDUBBA_OK) {
        *ret_answer = &response->base;
    }
    return code;
}

void instance_admin_list_hot_tablets(void *context,
                                     struct rpc_call *call,
                                     const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, list_hot_tablets);
}
