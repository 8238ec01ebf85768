#include "tabletserver/serve/sync/sync_missing.h"

/* The one that is followed, while it is missing; else the first that is; 0 = none. */
static uint64_t choose(const struct sync_missing *missing,
                       const struct assignment_action *actions,
                       size_t count)
{
    uint64_t first = 0;
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind == ASSIGNMENT_MISSING && actions[i].tablet == missing->tablet) {
            return missing->tablet;
        }
        if (actions[i].kind == ASSIGNMENT_MISSING && first == 0) {
            first = actions[i].tablet;
        }
    }
    return first;
}

bool sync_missing_look(struct sync_missing *missing,
                       const struct assignment_action *actions,
                       size_t count,
                       int64_t now_ns)
{
    uint64_t tablet = choose(missing, actions, count);
    if (tablet != missing->tablet) {
        missing->tablet = tablet;
        missing->since_ns = now_ns;
    }
    bool due = tablet != 0 && now_ns - missing->since_ns >= SYNC_MISSING_FOR_NS &&
               now_ns >= missing->not_before_ns;
    missing->not_before_ns = due ? now_ns + SYNC_MISSING_AGAIN_NS : missing->not_before_ns;
    return due;
}
