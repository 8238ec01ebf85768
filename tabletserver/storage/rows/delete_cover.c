#include "tabletserver/storage/rows/delete_cover.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SEGMENT_CAPACITY_MIN 16

void delete_cover_init(struct delete_cover *cover)
{
    *cover = (struct delete_cover){.column_qualifier = BUFFER_INIT};
}

void delete_cover_deinit(struct delete_cover *cover)
{
    buffer_deinit(&cover->column_qualifier);
    memory_free(cover->segments.items);
    memory_free(cover->scratch.items);
    delete_cover_init(cover);
}

void delete_cover_reset(struct delete_cover *cover, struct stamp row)
{
    cover->row = row;
    cover->family = 0;
    cover->column_family = 0;
    cover->segments.count = 0;
}

static enum status make_room(struct delete_segments *segments, size_t count)
{
    if (count <= segments->capacity) {
        return STATUS_OK;
    }
    size_t capacity = segments->capacity > 0 ? segments->capacity : SEGMENT_CAPACITY_MIN;
    while (capacity < count) {
        capacity *= 2;
    }
    void *items = memory_resize(segments->items, capacity * sizeof *segments->items);
    if (items == NULL) {
        return STATUS_NO_MEMORY;
    }
    segments->items = items;
    segments->capacity = capacity;
    return STATUS_OK;
}

/* What a segment that comes behind all of them knows of those above it. */
static struct delete_segment linked(const struct delete_segments *segments,
                                    struct delete_segment segment)
{
    const struct delete_segment *items = segments->items;
    size_t count = segments->count;
    segment.top = count;
    segment.above = SIZE_MAX;
    if (count > 0 && items[count - 1].start_us == segment.end_us) {
        segment.top = items[count - 1].top;
        segment.above = count - 1;
        while (segment.above != SIZE_MAX &&
               stamp_compare(items[segment.above].stamp, segment.stamp) >= 0) {
            segment.above = items[segment.above].above;
        }
    }
    return segment;
}

/* Put a segment below the last one, or let the last one grow if they touch and agree.  There is
 * room. */
static void push(struct delete_segments *segments,
                 int64_t start_us,
                 int64_t end_us,
                 struct stamp stamp)
{
    if (start_us >= end_us) {
        return;
    }
    if (segments->count > 0) {
        struct delete_segment *last = &segments->items[segments->count - 1];
        ASSERT(end_us <= last->start_us);
        if (end_us == last->start_us && stamp_compare(stamp, last->stamp) == 0) {
            last->start_us = start_us;
            return;
        }
    }
    segments->items[segments->count] = linked(
        segments, (struct delete_segment){.start_us = start_us, .end_us = end_us, .stamp = stamp});
    segments->count++;
}

/*
 * Where the delete begins to make a difference: the first segment that it overlaps which is older, or has a gap above it
 * that the delete reaches into.  The number of segments: only below them.
 */
static size_t find_first(const struct delete_segments *segments, const struct delete_segment *new)
{
    const struct delete_segment *items = segments->items;
    size_t first = segments->count;
    size_t left = segments->count; /* those before it are to be looked at */
    while (left > 0 && items[left - 1].start_us < new->end_us) {
        size_t at = left - 1;
        if (stamp_compare(items[at].stamp, new->stamp) < 0) {
            first = at;
            left = at;
        } else if (items[at].above != SIZE_MAX) {
            left = items[at].above + 1;
        } else if (items[items[at].top].end_us >= new->end_us) {
            break;
        } else {
            first = items[at].top;
            left = items[at].top;
        }
    }
    return first;
}

/*
 * Lay a delete over the segments.  No segment starts below it, so only those at the end of the
 * list overlap it: they are taken off, from `first` on, and come back in scratch's order, each
 * where its stamp is larger, with the new one in the gaps and where it is larger.
 */
static enum status lay_over(struct delete_cover *cover, struct delete_segment new)
{
    struct delete_segments *segments = &cover->segments;
    struct delete_segments *scratch = &cover->scratch;
    size_t first = find_first(segments, &new);
    size_t overlap_count = segments->count - first;
    if (make_room(scratch, overlap_count) != STATUS_OK ||
        make_room(segments, segments->count + overlap_count + 2) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < overlap_count; i++) {
        scratch->items[i] = segments->items[first + i];
    }
    segments->count = first;
    if (first > 0 && segments->items[first - 1].start_us < new.end_us) {
        new.end_us = segments->items[first - 1].start_us;
    }
    int64_t end_us = new.end_us; /* what of the new one lies at or above it has been laid */
    for (size_t i = 0; i < overlap_count; i++) {
        struct delete_segment old = scratch->items[i];
        bool old_wins = stamp_compare(old.stamp, new.stamp) >= 0;
        struct delete_segment part = old;
        if (old_wins) {
            push(segments, old.end_us, end_us, new.stamp); /* the gap */
        } else {
            part.start_us = old.end_us > new.end_us ? new.end_us : old.end_us; /* what juts out */
            if (part.start_us == old.end_us) {
                continue;
            }
        }
        push(segments, part.start_us, part.end_us, part.stamp);
        end_us = part.start_us < end_us ? part.start_us : end_us;
    }
    push(segments, new.start_us, end_us, new.stamp);
    return STATUS_OK;
}

static enum status enter_column(struct delete_cover *cover, const struct entry *entry)
{
    if (cover->column_family == entry->family &&
        bytes_equal(buffer_bytes(&cover->column_qualifier), entry->qualifier)) {
        return STATUS_OK;
    }
    cover->segments.count = 0;
    cover->column_family = 0;
    buffer_reset(&cover->column_qualifier);
    buffer_append_bytes(&cover->column_qualifier, entry->qualifier);
    if (cover->column_qualifier.failed) {
        return STATUS_NO_MEMORY;
    }
    cover->column_family = entry->family;
    return STATUS_OK;
}

enum status delete_cover_add(struct delete_cover *cover, const struct entry *entry)
{
    if (entry->kind == ENTRY_ROW_DELETE) {
        cover->row = stamp_later(cover->row, entry->stamp);
        return STATUS_OK;
    }
    if (entry->kind == ENTRY_FAMILY_DELETE) {
        bool is_same = cover->family == entry->family;
        cover->family_stamp = is_same ? stamp_later(cover->family_stamp, entry->stamp)
                                      : entry->stamp;
        cover->family = entry->family;
        return STATUS_OK;
    }
    ASSERT(entry->kind == ENTRY_COLUMN_DELETE);
    enum status status = enter_column(cover, entry);
    if (status != STATUS_OK || entry->start_us >= entry->end_us) {
        return status;
    }
    return lay_over(cover, (struct delete_segment){.start_us = entry->start_us,
                                                   .end_us = entry->end_us,
                                                   .stamp = entry->stamp});
}

struct stamp delete_cover_at(const struct delete_cover *cover,
                             uint32_t family,
                             struct bytes qualifier,
                             int64_t timestamp_us)
{
    struct stamp covered = cover->row;
    if (cover->family == family) {
        covered = stamp_later(covered, cover->family_stamp);
    }
    if (cover->segments.count == 0 || cover->column_family != family ||
        !bytes_equal(buffer_bytes(&cover->column_qualifier), qualifier)) {
        return covered;
    }
    /* The first segment that starts at or below the timestamp is the only one that may hold it. */
    size_t low = 0;
    size_t high = cover->segments.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cover->segments.items[middle].start_us <= timestamp_us) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low < cover->segments.count) {
        const struct delete_segment *segment = &cover->segments.items[low];
        /* A cell at INT64_MAX itself lies in "for ever" too. */
        if (timestamp_us < segment->end_us || segment->end_us == INT64_MAX) {
            covered = stamp_later(covered, segment->stamp);
        }
    }
    return covered;
}
