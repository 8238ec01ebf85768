/*
 * Silence: a server from which nothing comes while it is waited for.
 *
 * A machine that lost its power, or its network, closes no connection: whoever waits for an answer
 * would wait until his deadline, while another server has long since taken the tablet over.  So each
 * lane that carries operations or scans is watched while something is on its way:
 *
 *   connecting for a second       what is queued looks for another way; the connecting goes on
 *   nothing heard for a second    the server is asked for a sign of life, over its lane for control
 *   none within 1.5 more          its silent lanes are closed, as if the connections had broken
 *
 * A server that has much to do gives the sign: it takes no worker to do so.  What was on its way is
 * sent again under its identity, as after any lost connection, so a server that was only slow costs
 * work and nothing else.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_SILENCE_H
#define CLIENT_ROUTING_SILENCE_H

#include "client/loop/client.h"

struct silence;

/* Of a lane that is being made; NULL without memory. */
struct silence *silence_create(struct server_lane *lane);
void silence_destroy(struct silence *silence); /* NULL is fine */

/* Something is on its way, or queued: watch, if that is not done already. */
void silence_watch(struct silence *silence);

/* Something came. */
void silence_heard(struct silence *silence);

#endif /* CLIENT_ROUTING_SILENCE_H */
