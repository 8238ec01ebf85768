/*
 * Addresses: how many of them a client knows.
 *
 * Each address that is heard of gets a number (core/location_cache.h), and lanes by that number.  Where
 * servers come and go, each with an address of its own, a client that lives for months hears of ever
 * more of them.  So above a number they are thinned out.  Left are those that
 *
 *     were given, or are masters'
 *     a request that is under way is about
 *     have a lane that is waited for, or was heard lately
 *
 * and they get new numbers; what is known of rows goes, and is asked for again.  A cluster may well have
 * so many servers that are all there: where they were heard of within an hour, more of them are kept.
 *
 * Operations and scans keep the number of the address that their last attempt went to.  After this it may
 * be another's, or nobody's.  It only tells whom to doubt, and to name in the text of a deadline: the
 * next attempt has the right one.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_ADDRESSES_H
#define CLIENT_ROUTING_ADDRESSES_H

#include "client/loop/client.h"

/* Of a client that is being made. */
void addresses_begin(struct edubba_client *client, int64_t now_ns);

/* When the loop has settled: nobody is about to use a number, or what is known of a row.  Without memory they stay
 * until the next time. */
void addresses_bound(struct edubba_client *client);

#endif /* CLIENT_ROUTING_ADDRESSES_H */
