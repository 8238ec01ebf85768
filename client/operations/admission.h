/*
 * Letting in what callers submit: how much is in flight, and the numbers it gets.
 *
 * A ticket counts what edubba_drain() waits for; identities are the exactly-once sequences, and stay
 * unfinished until no more attempt will be made under them.
 *
 * Thread rule: any thread.
 */
#ifndef CLIENT_OPERATIONS_ADMISSION_H
#define CLIENT_OPERATIONS_ADMISSION_H

#include "client/loop/client.h"

struct admission {
    uint64_t ticket;
    uint64_t sequence_first;
    uint32_t operations;
    uint32_t identities; /* numbers from sequence_first on; 0 = none was wanted */
    size_t size_bytes;
};

/* Wait for room, unless this thread holds the loop, then take places, a ticket and identities.
 * Errors: STATUS_NO_MEMORY. */
enum status admission_enter(struct edubba_client *client,
                            uint32_t operations,
                            uint32_t identities,
                            struct admission *ret_admission);

/* It is so large. */
void admission_add_bytes(struct edubba_client *client,
                         struct admission *admission,
                         size_t size_bytes);

/* No more attempt will be made.  Once; before the completion. */
void admission_finish_identities(struct edubba_client *client, struct admission *admission);

/* It is over.  After the completion. */
void admission_leave(struct edubba_client *client, struct admission *admission);

/* Wait until all that entered before have left. */
void admission_wait_for_all(struct edubba_client *client);

#endif /* CLIENT_OPERATIONS_ADMISSION_H */
