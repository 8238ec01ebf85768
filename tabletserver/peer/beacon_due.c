#include "tabletserver/peer/beacon_due.h"

struct beacon_due beacon_due_begin(void)
{
    return (struct beacon_due){.due_ns = 0, .reckoned_ns = 0, .stepped = true};
}

void beacon_due_note_step(struct beacon_due *due, bool ticked)
{
    due->stepped = true;
    due->reckoned_ns = ticked ? 0 : due->reckoned_ns;
}

bool beacon_due_is_unsure(const struct beacon_due *due, int64_t now_ns)
{
    return due->stepped && now_ns - due->reckoned_ns >= BEACON_DUE_RECKON_NS;
}

void beacon_due_reckon(struct beacon_due *due, int64_t deadline_ns, int64_t now_ns)
{
    *due = (struct beacon_due){.due_ns = deadline_ns, .reckoned_ns = now_ns, .stepped = false};
}

int64_t beacon_due_wake_ns(const struct beacon_due *due)
{
    int64_t reckon_ns = due->reckoned_ns + BEACON_DUE_RECKON_NS;
    return due->stepped && reckon_ns < due->due_ns ? reckon_ns : due->due_ns;
}
