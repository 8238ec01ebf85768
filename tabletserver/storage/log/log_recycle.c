#include "tabletserver/storage/log/log_recycle.h"

#include "common/base/assert.h"
#include "tabletserver/storage/log/log_format.h"

struct log_recycle_plan log_recycle_plan(const struct log_recycle_segment *segments,
                                         size_t count,
                                         uint64_t start_segment,
                                         uint64_t start_position,
                                         uint64_t release_position)
{
    struct log_recycle_plan plan = {0, start_segment, start_position};
    for (size_t i = 0; i < count; i++) {
        const struct log_recycle_segment *segment = &segments[i];
        ASSERT(IMPLIES(i > 0, segment->number == segments[i - 1].number + 1));
        if (segment->first_batch_position == LOG_POSITION_NONE ||
            segment->first_batch_position < start_position) {
            continue;
        }
        if (segment->first_batch_position > release_position) {
            break;
        }
        plan = (struct log_recycle_plan){i, segment->number, segment->first_batch_position};
    }
    ASSERT(plan.start_position >= start_position);
    return plan;
}

enum log_recycle_fate log_recycle_fate(const struct log_recycle_segment *segment,
                                       const struct log_recycle_spares *spares)
{
    bool keep = spares->count < spares->count_max &&
                segment->segment_bytes == spares->segment_bytes;
    return keep ? LOG_RECYCLE_SPARE : LOG_RECYCLE_DELETE;
}

bool log_recycle_gives_up(const struct log_recycle_kept *kept, int64_t now_ns)
{
    return kept->count > 0 && (kept->room_wanted || kept->bytes > kept->bytes_max ||
                               now_ns - kept->oldest_ns >= kept->keep_ns);
}
