/*
 * Requests of one client, which a test knows by number: what goes along with a write, and whether a tablet knows of it.
 */
#ifndef TESTS_SUPPORT_NUMBERED_REQUESTS_H
#define TESTS_SUPPORT_NUMBERED_REQUESTS_H

#include "tabletserver/storage/record/dedupe.h"
#include "tabletserver/storage/store/store.h"

/* No other is over, and all are as old. */
static inline struct request_id numbered_request(uint64_t number)
{
    return (struct request_id){77, number, 1, INT64_C(1700000000000000)};
}

static inline enum dedupe_verdict verdict_of(struct store_tablet *tablet, uint64_t number)
{
    struct request_id request = numbered_request(number);
    struct bytes result;
    uint64_t sequence;
    return dedupe_check(store_tablet_dedupe(tablet), &request,
                        store_next_clock(store_tablet_store(tablet)), &result, &sequence);
}

#endif /* TESTS_SUPPORT_NUMBERED_REQUESTS_H */
