#include "client/operations/admission.h"

#include "client/include/edubba_gather.h"

static bool there_is_room(const struct edubba_client *client)
{
    return client->in_flight < client->in_flight_max &&
           client->in_flight_bytes < client->in_flight_bytes_max;
}

/* With client->lock held. */
static void wait_for_room(struct edubba_client *client)
{
    if (client_thread_gathers() && !there_is_room(client)) {
        pthread_mutex_unlock(&client->lock);
        edubba_client_go(client); /* what this thread gathered may be what takes it */
        pthread_mutex_lock(&client->lock);
    }
    while (!there_is_room(client)) {
        client->waiting++;
        pthread_cond_wait(&client->room, &client->lock);
        client->waiting--;
    }
}

enum status admission_enter(struct edubba_client *client,
                            uint32_t operations,
                            uint32_t identities,
                            struct admission *ret_admission)
{
    struct admission admission = {.operations = operations, .identities = identities};
    bool may_wait = !loop_is_held_here(&client->loop);
    pthread_mutex_lock(&client->lock);
    if (may_wait) {
        wait_for_room(client);
    }
    enum status status = sequence_window_begin(&client->tickets, &admission.ticket);
    if (status == STATUS_OK) {
        status = sequence_window_begin_many(&client->identities, identities,
                                            &admission.sequence_first);
        if (status != STATUS_OK) {
            sequence_window_finish(&client->tickets, admission.ticket);
        }
    }
    if (status == STATUS_OK) {
        client->in_flight += operations;
        *ret_admission = admission;
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}

void admission_add_bytes(struct edubba_client *client,
                         struct admission *admission,
                         size_t size_bytes)
{
    admission->size_bytes = size_bytes;
    pthread_mutex_lock(&client->lock);
    client->in_flight_bytes += size_bytes;
    pthread_mutex_unlock(&client->lock);
}

void admission_finish_identities(struct edubba_client *client, struct admission *admission)
{
    if (admission->identities > 0) {
        pthread_mutex_lock(&client->lock);
        sequence_window_finish_many(&client->identities, admission->sequence_first,
                                    admission->identities);
        pthread_mutex_unlock(&client->lock);
        admission->identities = 0;
    }
}

void admission_leave(struct edubba_client *client, struct admission *admission)
{
    pthread_mutex_lock(&client->lock);
    sequence_window_finish(&client->tickets, admission->ticket);
    if (admission->identities > 0) {
        sequence_window_finish_many(&client->identities, admission->sequence_first,
                                    admission->identities);
    }
    client->in_flight -= admission->operations;
    client->in_flight_bytes -= admission->size_bytes;
    if (client->waiting > 0) {
        pthread_cond_broadcast(&client->room);
    }
    pthread_mutex_unlock(&client->lock);
}

void admission_wait_for_all(struct edubba_client *client)
{
    edubba_client_go(client);
    pthread_mutex_lock(&client->lock);
    uint64_t end = client->tickets.next;
    client->waiting++;
    while (sequence_window_lowest_unfinished(&client->tickets) < end) {
        pthread_cond_wait(&client->room, &client->lock);
    }
    client->waiting--;
    pthread_mutex_unlock(&client->lock);
}
