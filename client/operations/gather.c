/* Threads that say when what they submitted is to start. */
#include "client/include/edubba_gather.h"

#include "client/loop/client.h"

static _Thread_local bool thread_gathers;

void edubba_thread_gathers(bool gathers)
{
    thread_gathers = gathers;
}

bool client_thread_gathers(void)
{
    return thread_gathers;
}

void edubba_client_go(struct edubba_client *client)
{
    if (!loop_is_held_here(&client->loop)) { /* else it goes when the loop is let go */
        loop_run_posted(&client->loop);
    }
}
