/* How long a thread's blocking calls wait. */
#include "client/loop/client.h"

static _Thread_local uint32_t thread_deadline_ms; /* 0 = the client's */

void edubba_thread_deadline(uint32_t deadline_ms)
{
    thread_deadline_ms = deadline_ms;
}

uint32_t client_blocking_deadline_ms(const struct edubba_client *client)
{
    return thread_deadline_ms > 0 ? thread_deadline_ms : client->deadline_ms;
}
