/* A filter that outlives its maker. */
#ifndef CLIENT_OPERATIONS_FILTER_COPY_H
#define CLIENT_OPERATIONS_FILTER_COPY_H

#include "common/base/arena.h"
#include "common/model/filter.h"

/* A deep copy in the arena; NULL of NULL.  Levels below MESSAGE_DEPTH_MAX, which no message carries,
 * are left out.  Errors: STATUS_NO_MEMORY. */
enum status filter_copy(struct arena *arena,
                        const struct filter *filter,
                        const struct filter **ret_copy);

#endif /* CLIENT_OPERATIONS_FILTER_COPY_H */
