#include "client/load/open.h"

#define UNREACHABLE_MS  5000 /* as ebt's: a master that restarts is back by then */
#define IN_FLIGHT_LEAST 64   /* beside the requests: what is asked for while they go on */

enum edubba_code load_open(const struct load_options *options,
                           const char *agent,
                           uint64_t rows_per_request,
                           struct edubba_client **ret_client,
                           struct edubba_error *error)
{
    uint64_t in_flight = options->in_flight * rows_per_request + IN_FLIGHT_LEAST;
    bool is_patient = options->timeout_s > 0;
    struct edubba_options how = EDUBBA_OPTIONS_DEFAULT;
    how.masters = options->masters;
    how.agent = agent;
    how.deadline_ms = (uint32_t)((is_patient ? options->timeout_s : LOAD_TIMEOUT_DEFAULT_S) * 1000);
    how.unreachable_ms = is_patient ? 0 : UNREACHABLE_MS;
    how.in_flight_max = (uint32_t)(in_flight > how.in_flight_max ? in_flight : how.in_flight_max);
    how.in_flight_bytes_max = UINT64_MAX / 2; /* in_flight bounds it */
    how.messages_per_lane = (uint32_t)options->messages;
    how.connections = (uint32_t)options->connections;
    return edubba_client_open(&how, ret_client, error);
}
