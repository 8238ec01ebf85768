/*
 * Which app profiles there are, for calls that name one, and whether they allow transactions: the
 * conditional writes of CheckAndMutateRow and ReadModifyWriteRow.
 *
 * Profiles are documents (instance_admin/records.h).  What a master said of one is believed for a
 * while, so no call of a busy profile waits: PROFILES_THERE_NS that it is there, PROFILES_MISSING_NS
 * that it is not.  Who makes or deletes some through this gateway has it forget all of that; what
 * happens through another one is seen when the time is over.
 *
 * AN OLD ANSWER is renewed by one call, while others go on by it for PROFILES_RENEWAL_NS; then
 * another asks, as callers go away.  Where no master answers, data is served all the same: a profile
 * counts as there then, unless it was seen to be missing.
 *
 * A fixed number is remembered, those that were asked for last, whatever callers name.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_CALL_PROFILES_H
#define GATEWAY_METHODS_CALL_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/include/edubba.h"

#define PROFILES_THERE_NS   (INT64_C(10) * 1000000000)
#define PROFILES_MISSING_NS (INT64_C(1) * 1000000000)
#define PROFILES_RENEWAL_NS (INT64_C(1) * 1000000000)

struct profiles;

enum profile_state {
    PROFILE_IS_THERE,
    PROFILE_FORBIDS_TRANSACTIONS, /* and is there: it routes to any cluster, or does not allow them */
    PROFILE_IS_MISSING,
    PROFILE_MUST_BE_ASKED,
};

/* Errors: STATUS_NO_MEMORY as NULL. */
struct profiles *profiles_create(void);
void profiles_destroy(struct profiles *profiles); /* NULL is fine */

/* Of a document's name (resource_document_name()), at now_ns.  Who is told PROFILE_MUST_BE_ASKED is to
 * ask; where it was there before, others go on by that for a while. */
enum profile_state profiles_look(struct profiles *profiles, const char *document, int64_t now_ns);

/* Ask a master, and keep what it says: the state, which is not PROFILE_MUST_BE_ASKED. */
enum profile_state profiles_ask(struct profiles *profiles,
                                struct edubba_client *client,
                                const char *document);

void profiles_forget(struct profiles *profiles);

#endif /* GATEWAY_METHODS_CALL_PROFILES_H */
