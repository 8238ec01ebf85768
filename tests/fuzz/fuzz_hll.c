/*
 * Sketches from anywhere.  The input is two states: two bytes, little-endian, say how long the
 * first one is.
 *
 * Whatever they are, nothing may crash.  What passes the check must merge with itself, extract,
 * and stay a state; two that pass must merge alike both ways, and in place alike if at all.  The form of what passes
 * passes too, and every form is its own.
 */
#include <stdlib.h>
#include <string.h>

#include "common/aggregate/aggregate_form.h"
#include "common/base/assert.h"
#include "common/base/endian.h"

static const enum aggregate_kind kinds[] = {AGGREGATE_INTHLL, AGGREGATE_BYTESHLL};

/* Checked states always merge. */
static void check_pair(enum aggregate_kind kind, struct bytes a, struct bytes b)
{
    struct buffer merged = BUFFER_INIT;
    struct buffer swapped = BUFFER_INIT;
    struct buffer folded = BUFFER_INIT;
    int64_t value = 0;
    ASSERT(aggregate_merge(kind, a, b, &merged) == STATUS_OK);
    ASSERT(aggregate_merge(kind, b, a, &swapped) == STATUS_OK);
    ASSERT(bytes_equal(buffer_bytes(&merged), buffer_bytes(&swapped)));
    ASSERT(aggregate_check_state(kind, buffer_bytes(&merged), NULL) == STATUS_OK);
    ASSERT(aggregate_extract(kind, buffer_bytes(&merged), &value) == STATUS_OK);
    ASSERT(value >= 0);
    buffer_append_bytes(&folded, a);
    bool is_folded = aggregate_merge_in_place(kind, folded.data, folded.size_bytes, b);
    ASSERT(bytes_equal(buffer_bytes(&folded), is_folded ? buffer_bytes(&merged) : a));
    buffer_deinit(&merged);
    buffer_deinit(&swapped);
    buffer_deinit(&folded);
}

/* States that did not pass may give anything, as long as memory stays whole. */
static void merge_unchecked(enum aggregate_kind kind, struct bytes a, struct bytes b)
{
    struct buffer out = BUFFER_INIT;
    struct buffer folded = BUFFER_INIT;
    (void)!(aggregate_merge(kind, a, b, &out) == STATUS_OK);
    buffer_append_bytes(&folded, a);
    (void)aggregate_merge_in_place(kind, folded.data, folded.size_bytes, b);
    buffer_deinit(&out);
    buffer_deinit(&folded);
}

static void check_form(enum aggregate_kind kind, struct bytes state, bool passes)
{
    struct buffer rooms[2] = {BUFFER_INIT, BUFFER_INIT};
    struct bytes form = BYTES_EMPTY;
    struct bytes again = BYTES_EMPTY;
    ASSERT(aggregate_form(kind, state, &rooms[0], &form) == STATUS_OK);
    ASSERT(aggregate_form(kind, form, &rooms[1], &again) == STATUS_OK);
    ASSERT(bytes_equal(form, again));
    ASSERT(IMPLIES(passes, aggregate_check_state(kind, form, NULL) == STATUS_OK));
    buffer_deinit(&rooms[0]);
    buffer_deinit(&rooms[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t first_bytes = load_le16(data);
    if (first_bytes > size - 2) {
        first_bytes = size - 2;
    }
    struct bytes a = bytes_of(data + 2, first_bytes);
    struct bytes b = bytes_of(data + 2 + first_bytes, size - 2 - first_bytes);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct error error;
        bool a_passes = aggregate_check_state(kinds[i], a, &error) == STATUS_OK;
        bool b_passes = aggregate_check_state(kinds[i], b, &error) == STATUS_OK;
        check_form(kinds[i], a, a_passes);
        check_form(kinds[i], b, b_passes);
        if (a_passes) {
            check_pair(kinds[i], a, a);
        }
        if (b_passes) {
            check_pair(kinds[i], b, b);
        }
        if (a_passes && b_passes) {
            check_pair(kinds[i], a, b);
        } else {
            merge_unchecked(kinds[i], a, b);
        }
    }
    return 0;
}
