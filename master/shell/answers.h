/*
 * What an answer of the master says of the time after its reign, and before it has heard of any tablet server.
 *
 * Pure.  Thread rule: any.
 */
#ifndef MASTER_SHELL_ANSWERS_H
#define MASTER_SHELL_ANSWERS_H

#include <stdbool.h>

#include "common/base/status.h"
#include "common/wire/message.h"

/*
 * Does the answer tell of what this master believes, so that it may be given only while it surely leads?  That a
 * change was made tells of what is durable; that something could not be done for now, or may have been done, asks to
 * come again anyway; and that what was made has been undone since (ABORTED) tells of what is durable, too.  But that
 * there is no such table, or that there is one already, is believed only.
 */
bool answer_is_belief(enum method method, enum status status);

/* What is said instead of a belief: that nothing was done, so that it is asked again; or that it may have been. */
enum status answer_in_doubt(enum method method, enum status status);

/*
 * What is said of a request that is under way when the reign ends, and may have been done.  UNAVAILABLE says that it has
 * not, and clients ask the next master for it: a table would be there already, or one that was made since be deleted.
 * So who asked for something that is not to be done twice is told what a connection that breaks would tell.
 */
enum status answer_at_end(enum method method);

/*
 * A catalog that was put back from an old copy is known for one by the first tablet server that comes.  Until then who
 * has just begun does not say that there is no such table, and begins no change: it would be one of the old copy.  What a
 * change needs a tablet server for waits no longer for it; documents need none, and are put.
 */
bool answer_needs_servers(enum method method, enum status status);
bool change_needs_servers(enum method method);

#endif /* MASTER_SHELL_ANSWERS_H */
