#include "master/shell/complaint.h"

bool complaint_is_due(struct complaint *complaint, int64_t now_ns)
{
    bool begins = complaint->met_ns == 0 || now_ns - complaint->met_ns >= COMPLAINT_OVER_NS;
    bool due = begins || now_ns - complaint->said_ns >= COMPLAINT_AGAIN_NS;

    complaint->met_ns = now_ns;
    complaint->said_ns = due ? now_ns : complaint->said_ns;
    return due;
}
