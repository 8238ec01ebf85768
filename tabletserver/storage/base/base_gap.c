#include "tabletserver/storage/base/base_gap.h"

void base_gap_deinit(struct base_gap *gap)
{
    buffer_deinit(&gap->start);
    buffer_deinit(&gap->end);
}

static enum status set(struct base_gap *gap, struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    gap->known = gap->known && !buffer->failed;
    return buffer->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

enum status base_gap_learn(struct base_gap *gap, struct bytes row, const struct bytes *end)
{
    gap->known = true;
    gap->has_end = end != NULL;
    enum status status = set(gap, &gap->start, row);
    return status == STATUS_OK && end != NULL ? set(gap, &gap->end, *end) : status;
}

void base_gap_forget(struct base_gap *gap)
{
    gap->known = false;
}

enum status base_gap_enter(struct base_gap *gap, struct bytes row, bool *ret_inside)
{
    *ret_inside = gap->known && bytes_compare(buffer_bytes(&gap->start), row) < 0 &&
                  (!gap->has_end || bytes_compare(row, buffer_bytes(&gap->end)) < 0);
    return *ret_inside ? set(gap, &gap->start, row) : STATUS_OK;
}
