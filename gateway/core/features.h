/*
 * What a client says of itself: in its header `bigtable-features`, a FeatureFlags message in
 * base64, and in its user agent.
 *
 * Only what changes our answers is looked at.  A header that cannot be read says nothing: old
 * clients send none, and new ones may send more than we know.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_CORE_FEATURES_H
#define GATEWAY_CORE_FEATURES_H

#include <stdbool.h>

#include "common/base/bytes.h"

#define FEATURES_HEADER   "bigtable-features"
#define USER_AGENT_HEADER "user-agent"

struct features {
    bool has_reverse_scans;     /* knows what comes in descending order */
    bool has_last_scanned_rows; /* knows messages that only say how far a scan has come */
};

/* Of the header's value; empty = there is none. */
struct features features_parse(struct bytes header);

/*
 * Must every message end with a row's end?  The API lets a row go on in the next one; the official
 * Go client, and so cbt, takes that for the end of the stream.  It is known by its gRPC library.
 */
bool features_wants_whole_rows(struct bytes user_agent);

#endif /* GATEWAY_CORE_FEATURES_H */
