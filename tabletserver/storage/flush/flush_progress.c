#include "tabletserver/storage/flush/flush_progress.h"

#include "common/base/assert.h"

void flush_progress_init(struct flush_progress *progress, uint64_t committed, bool blocked)
{
    *progress = (struct flush_progress){.committed = committed, .blocked = blocked};
}

void flush_progress_check(const struct flush_progress *progress)
{
    ASSERT(progress->frozen_count <= FLUSH_FROZEN_MAX);
    for (uint32_t i = 1; i < progress->frozen_count; i++) {
        ASSERT(progress->last_sequences[i - 1] < progress->last_sequences[i]);
    }
    ASSERT(IMPLIES(progress->state == FLUSH_RUNNING, progress->frozen_count > 0));
    ASSERT(IMPLIES(progress->state == FLUSH_RUNNING,
                   progress->last_sequences[0] <= progress->committed));
    ASSERT(IMPLIES(progress->state == FLUSH_RUNNING, !progress->blocked));
}

bool flush_progress_ready(const struct flush_progress *progress)
{
    return progress->state != FLUSH_FAILING && !progress->blocked && progress->frozen_count > 0 &&
           progress->last_sequences[0] <= progress->committed;
}

/* Start the oldest memtable if nothing is in the way. */
static enum flush_effect begin(struct flush_progress *progress)
{
    if (progress->state != FLUSH_IDLE || !flush_progress_ready(progress)) {
        return FLUSH_WAIT;
    }
    progress->state = FLUSH_RUNNING;
    return FLUSH_RUN;
}

static enum flush_effect finish(struct flush_progress *progress)
{
    ASSERT(progress->state == FLUSH_RUNNING);
    progress->frozen_count--;
    for (uint32_t i = 0; i < progress->frozen_count; i++) {
        progress->last_sequences[i] = progress->last_sequences[i + 1];
    }
    progress->state = FLUSH_IDLE;
    return begin(progress) == FLUSH_RUN ? FLUSH_DROP_AND_RUN : FLUSH_DROP;
}

static void cut(struct flush_progress *progress, const struct flush_event *event)
{
    ASSERT(event->last_sequence >= progress->committed);
    ASSERT(event->frozen_count <= progress->frozen_count);
    ASSERT(IMPLIES(progress->state == FLUSH_RUNNING, event->frozen_count > 0));
    progress->frozen_count = event->frozen_count;
    for (uint32_t i = 0; i < progress->frozen_count; i++) {
        if (progress->last_sequences[i] > event->last_sequence) {
            ASSERT(i + 1 == progress->frozen_count);
            progress->last_sequences[i] = event->last_sequence;
            /* It is not begun before the next COMMITTED: what goes along with it is not ready. */
            uint64_t before = event->last_sequence - 1;
            progress->committed = before < progress->committed ? before : progress->committed;
        }
    }
}

enum flush_effect flush_progress_step(struct flush_progress *progress,
                                      const struct flush_event *event)
{
    switch (event->kind) {
    case FLUSH_EVENT_FROZEN:
        ASSERT(progress->frozen_count < FLUSH_FROZEN_MAX);
        progress->last_sequences[progress->frozen_count++] = event->last_sequence;
        return begin(progress);
    case FLUSH_EVENT_COMMITTED:
        ASSERT(event->last_sequence >= progress->committed);
        progress->committed = event->last_sequence;
        return begin(progress);
    case FLUSH_EVENT_CUT:
        cut(progress, event);
        return FLUSH_WAIT;
    case FLUSH_EVENT_UNBLOCKED:
        ASSERT(progress->blocked);
        progress->blocked = false;
        return begin(progress);
    case FLUSH_EVENT_ADVANCED:
        ASSERT(progress->state == FLUSH_RUNNING);
        return FLUSH_RUN;
    case FLUSH_EVENT_FINISHED:
        return finish(progress);
    case FLUSH_EVENT_FAILED:
        ASSERT(progress->state == FLUSH_RUNNING);
        progress->state = FLUSH_FAILING;
        return FLUSH_WAIT;
    case FLUSH_EVENT_RETRY:
        if (progress->state == FLUSH_FAILING) {
            progress->state = FLUSH_IDLE;
        }
        return begin(progress);
    }
    UNREACHABLE();
}
