#include "tabletserver/storage/log/log_marks.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define CAPACITY_MIN 8

static void forget_oldest(struct log_marks *marks, size_t count)
{
    marks->count -= count;
    if (marks->count > 0) {
        memmove(marks->marks, marks->marks + count, marks->count * sizeof *marks->marks);
    }
}

static bool reserve(struct log_marks *marks)
{
    if (marks->count == LOG_MARKS_MAX) {
        forget_oldest(marks, LOG_MARKS_MAX / 4);
    }
    if (marks->count < marks->capacity) {
        return true;
    }
    size_t capacity = marks->capacity == 0 ? CAPACITY_MIN : marks->capacity * 2;
    struct log_mark *more = memory_resize(marks->marks, capacity * sizeof *more);
    if (more == NULL) {
        return false;
    }
    marks->marks = more;
    marks->capacity = capacity;
    return true;
}

void log_marks_note(struct log_marks *marks, uint64_t sequence, uint64_t position)
{
    const struct log_mark *last = marks->count > 0 ? &marks->marks[marks->count - 1] : NULL;
    ASSERT(IMPLIES(last != NULL, last->sequence <= sequence && last->position <= position));
    if ((last == NULL ||
         (position - last->position >= LOG_MARK_BYTES && sequence > last->sequence)) &&
        reserve(marks)) {
        marks->marks[marks->count++] = (struct log_mark){sequence, position};
    }
}

void log_marks_drop(struct log_marks *marks, uint64_t kept, uint64_t position)
{
    while (marks->count > 0 && marks->marks[marks->count - 1].sequence > kept) {
        marks->count--;
    }
    if (!reserve(marks)) {
        marks->count = 0; /* what is left would lead to what was dropped */
        return;
    }
    marks->marks[marks->count++] = (struct log_mark){kept + 1, position};
}

void log_marks_trim(struct log_marks *marks, uint64_t position)
{
    size_t count = 0;
    while (count < marks->count && marks->marks[count].position < position) {
        count++;
    }
    forget_oldest(marks, count);
}

bool log_marks_find(const struct log_marks *marks,
                    uint64_t sequence,
                    uint64_t *ret_position,
                    uint64_t *ret_end_sequence)
{
    size_t above = 0; /* the first mark above it */
    while (above < marks->count && marks->marks[above].sequence <= sequence) {
        above++;
    }
    if (above == 0) {
        return false;
    }
    *ret_position = marks->marks[above - 1].position;
    *ret_end_sequence = above < marks->count ? marks->marks[above].sequence : UINT64_MAX;
    return true;
}

void log_marks_deinit(struct log_marks *marks)
{
    memory_free(marks->marks);
    *marks = (struct log_marks){.count = 0};
}
