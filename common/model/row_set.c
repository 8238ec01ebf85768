#include "common/model/row_set.h"

#include "common/base/assert.h"
#include "common/base/limits.h"

/* A bound may be the successor of the longest key: key + "\0". */
#define BOUND_BYTES_MAX (LIMIT_ROW_KEY_BYTES + 1)

/* Order of range ends, where empty is +infinity. */
static int compare_ends(struct bytes a, struct bytes b)
{
    if (a.size_bytes == 0 || b.size_bytes == 0) {
        return (a.size_bytes == 0) - (b.size_bytes == 0);
    }
    return bytes_compare(a, b);
}

static bool is_empty(const struct row_range *range)
{
    return range->end.size_bytes != 0 && bytes_compare(range->start, range->end) >= 0;
}

bool row_range_contains(const struct row_range *range, struct bytes row)
{
    return bytes_compare(range->start, row) <= 0 &&
           (range->end.size_bytes == 0 || bytes_compare(row, range->end) < 0);
}

bool row_range_intersect(const struct row_range *a,
                         const struct row_range *b,
                         struct row_range *ret_range)
{
    struct row_range both = {
        .start = bytes_compare(a->start, b->start) >= 0 ? a->start : b->start,
        .end = compare_ends(a->end, b->end) <= 0 ? a->end : b->end,
    };
    if (is_empty(&both)) {
        return false;
    }
    *ret_range = both;
    return true;
}

enum status row_range_of_prefix(struct arena *arena,
                                struct bytes prefix,
                                struct row_range *ret_range)
{
    /* The least key above all of the prefix: drop trailing 0xff bytes, raise the last one left. */
    size_t size = prefix.size_bytes;
    while (size > 0 && prefix.data[size - 1] == 0xff) {
        size--;
    }
    if (size == 0) {
        *ret_range = (struct row_range){.start = prefix, .end = BYTES_EMPTY};
        return STATUS_OK;
    }
    uint8_t *end = arena_allocate(arena, size);
    if (end == NULL) {
        return STATUS_NO_MEMORY;
    }
    memcpy(end, prefix.data, size);
    end[size - 1]++;
    *ret_range = (struct row_range){.start = prefix, .end = {end, size}};
    return STATUS_OK;
}

enum status row_key_after(struct arena *arena, struct bytes row, struct bytes *ret_row)
{
    uint8_t *after = arena_allocate(arena, row.size_bytes + 1);
    if (after == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (row.size_bytes > 0) {
        memcpy(after, row.data, row.size_bytes);
    }
    after[row.size_bytes] = 0;
    *ret_row = (struct bytes){after, row.size_bytes + 1};
    return STATUS_OK;
}

static enum status check_key(struct bytes key, size_t index, struct error *ret_error)
{
    if (key.size_bytes == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'row_keys' : Error in element #%zu : Row keys must be "
                         "non-empty",
                         index);
    }
    if (key.size_bytes > LIMIT_ROW_KEY_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'row_keys' : Error in element #%zu : Row key is %zu "
                         "bytes, the limit is %d",
                         index, key.size_bytes, LIMIT_ROW_KEY_BYTES);
    }
    return STATUS_OK;
}

static enum status check_bounds(const struct row_bounds *bounds,
                                size_t index,
                                struct error *ret_error)
{
    size_t longest = bounds->start.size_bytes > bounds->end.size_bytes ? bounds->start.size_bytes
                                                                       : bounds->end.size_bytes;
    if (longest > BOUND_BYTES_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'row_ranges' : Error in element #%zu : a bound is %zu "
                         "bytes, the limit is %d",
                         index, longest, BOUND_BYTES_MAX);
    }
    if (bounds->end.size_bytes > 0 && bytes_compare(bounds->start, bounds->end) > 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'row_ranges' : Error in element #%zu : start_key must be "
                         "less than end_key",
                         index);
    }
    return STATUS_OK;
}

static enum status range_of_bounds(struct arena *arena,
                                   const struct row_bounds *bounds,
                                   struct row_range *ret_range)
{
    struct row_range range = {.start = bounds->start, .end = bounds->end};
    enum status status = STATUS_OK;
    /* An open empty start still excludes nothing that exists: there is no empty row key. */
    if (bounds->start_open && bounds->start.size_bytes > 0) {
        status = row_key_after(arena, bounds->start, &range.start);
    }
    if (status == STATUS_OK && bounds->end_closed && bounds->end.size_bytes > 0) {
        status = row_key_after(arena, bounds->end, &range.end);
    }
    if (status == STATUS_OK) {
        *ret_range = range;
    }
    return status;
}

static bool starts_before(const struct row_range *a, const struct row_range *b)
{
    return bytes_compare(a->start, b->start) < 0;
}

static void sift_down(struct row_range *ranges, size_t root, size_t count)
{
    struct row_range moving = ranges[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && starts_before(&ranges[child], &ranges[child + 1])) {
            child++;
        }
        if (!starts_before(&moving, &ranges[child])) {
            break;
        }
        ranges[root] = ranges[child];
        root = child;
    }
    ranges[root] = moving;
}

/* Heap sort: no memory, no recursion, no bad case.  Sorted input, the usual one, costs one pass. */
static void sort_by_start(struct row_range *ranges, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && !starts_before(&ranges[sorted], &ranges[sorted - 1])) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    for (size_t i = count / 2; i > 0; i--) {
        sift_down(ranges, i - 1, count);
    }
    for (size_t last = count - 1; last > 0; last--) {
        struct row_range greatest = ranges[0];
        ranges[0] = ranges[last];
        ranges[last] = greatest;
        sift_down(ranges, 0, last);
    }
}

/* Joins sorted ranges that touch or overlap; returns how many are left. */
static size_t merge_sorted(struct row_range *ranges, size_t count)
{
    size_t merged = 0;
    for (size_t i = 0; i < count; i++) {
        struct row_range *last = merged > 0 ? &ranges[merged - 1] : NULL;
        bool touches = last != NULL && (last->end.size_bytes == 0 ||
                                        bytes_compare(ranges[i].start, last->end) <= 0);
        if (!touches) {
            ranges[merged++] = ranges[i];
        } else if (compare_ends(ranges[i].end, last->end) > 0) {
            last->end = ranges[i].end;
        }
    }
    return merged;
}

static enum status check_all(const struct bytes *keys,
                             size_t key_count,
                             const struct row_bounds *bounds,
                             size_t bounds_count,
                             struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < key_count && status == STATUS_OK; i++) {
        status = check_key(keys[i], i, ret_error);
    }
    for (size_t i = 0; i < bounds_count && status == STATUS_OK; i++) {
        status = check_bounds(&bounds[i], i, ret_error);
    }
    return status;
}

/* keys and bounds as half-open ranges, in the order given, without empty ones. */
static enum status make_ranges(struct arena *arena,
                               const struct bytes *keys,
                               size_t key_count,
                               const struct row_bounds *bounds,
                               size_t bounds_count,
                               struct row_range *ranges,
                               size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < key_count; i++) {
        ranges[count].start = keys[i];
        enum status status = row_key_after(arena, keys[i], &ranges[count].end);
        if (status != STATUS_OK) {
            return status;
        }
        count++;
    }
    for (size_t i = 0; i < bounds_count; i++) {
        enum status status = range_of_bounds(arena, &bounds[i], &ranges[count]);
        if (status != STATUS_OK) {
            return status;
        }
        count += is_empty(&ranges[count]) ? 0 : 1;
    }
    *ret_count = count;
    return STATUS_OK;
}

enum status row_set_normalise(struct arena *arena,
                              const struct bytes *keys,
                              size_t key_count,
                              const struct row_bounds *bounds,
                              size_t bounds_count,
                              struct row_set *ret_set,
                              struct error *ret_error)
{
    static const struct row_bounds everything = {.start = {NULL, 0}};
    enum status status = check_all(keys, key_count, bounds, bounds_count, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (key_count == 0 && bounds_count == 0) {
        bounds = &everything;
        bounds_count = 1;
    }
    struct row_range *ranges = NULL;
    if (key_count <= SIZE_MAX - bounds_count) {
        ranges = arena_allocate_array(arena, key_count + bounds_count, sizeof *ranges);
    }
    size_t count = 0;
    if (ranges == NULL ||
        make_ranges(arena, keys, key_count, bounds, bounds_count, ranges, &count) != STATUS_OK) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    sort_by_start(ranges, count);
    *ret_set = (struct row_set){ranges, merge_sorted(ranges, count)};
    return STATUS_OK;
}

/* The first range that ends after start: where a clip begins. */
static size_t find_first(const struct row_set *set, struct bytes start)
{
    size_t low = 0;
    size_t high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct bytes end = set->ranges[middle].end;
        if (end.size_bytes != 0 && bytes_compare(end, start) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum status row_set_clip(struct arena *arena,
                         const struct row_set *set,
                         const struct row_range *range,
                         struct row_set *ret_set)
{
    size_t first = find_first(set, range->start);
    size_t count = 0;
    struct row_range part;
    while (first + count < set->count &&
           row_range_intersect(&set->ranges[first + count], range, &part)) {
        count++;
    }
    struct row_range *ranges = arena_allocate_array(arena, count, sizeof *ranges);
    if (ranges == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        bool meets = row_range_intersect(&set->ranges[first + i], range, &ranges[i]);
        ASSERT(meets);
    }
    *ret_set = (struct row_set){ranges, count};
    return STATUS_OK;
}
