/*
 * edubba_gather.h -- gathering: for threads that submit many operations in a row, and know when
 * there are no more for now.
 *
 *     edubba_thread_gathers(true);
 *     for (;;) {
 *         for each request that is there: edubba_submit(table, &operation, ...);
 *         edubba_client_go(client);
 *         ... wait for more requests
 *     }
 *
 * What is submitted in between travels together, and is sent by this thread: the library's own does
 * not have to be woken for it.  Servers that take requests from a queue of events do well with it;
 * a program that submits now and then has no use for it.
 */
#ifndef EDUBBA_GATHER_H
#define EDUBBA_GATHER_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on what this thread submits with edubba_submit(), to any client, may wait until it calls
 * edubba_client_go(), which it must do before it waits for anything.  Calls of the library that
 * wait, edubba_submit() for room among them, go by themselves. */
void edubba_thread_gathers(bool gathers);

/* Starts what was gathered.  May call completions, of whatever operations, before it returns. */
void edubba_client_go(struct edubba_client *client);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_GATHER_H */
