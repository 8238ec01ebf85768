#include "common/base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The failure armed by a test: a count-down, negative when disarmed. */
static atomic_llong fail_countdown = -1;
static atomic_bool fail_all = false;

static bool failure_is_due(void)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0) {
        return false;
    }
    long long before = atomic_fetch_sub(&fail_countdown, 1);
    if (before > 0) {
        return false;
    }
    if (atomic_load(&fail_all)) {
        atomic_store(&fail_countdown, 0);
    }
    return before == 0;
}

void *memory_allocate(size_t size_bytes)
{
    return failure_is_due() ? NULL : malloc(size_bytes > 0 ? size_bytes : 1);
}

void *memory_allocate_zeroed(size_t count, size_t size_bytes)
{
    return failure_is_due() ? NULL : calloc(count > 0 ? count : 1, size_bytes > 0 ? size_bytes : 1);
}

void *memory_allocate_aligned(size_t alignment_bytes, size_t size_bytes)
{
    return failure_is_due() ? NULL : aligned_alloc(alignment_bytes, size_bytes);
}

void *memory_resize(void *pointer, size_t size_bytes)
{
    return failure_is_due() ? NULL : realloc(pointer, size_bytes > 0 ? size_bytes : 1);
}

char *memory_copy_text(struct bytes text)
{
    char *copy = memory_allocate(text.size_bytes + 1);
    if (copy == NULL) {
        return NULL;
    }
    if (text.size_bytes > 0) {
        memcpy(copy, text.data, text.size_bytes);
    }
    copy[text.size_bytes] = '\0';
    return copy;
}

void memory_free(void *pointer)
{
    free(pointer);
}

void memory_fail_arm(uint64_t after, int all_that_follow)
{
    atomic_store(&fail_all, all_that_follow != 0);
    atomic_store(&fail_countdown, (long long)after);
}

void memory_fail_disarm(void)
{
    atomic_store(&fail_countdown, -1);
}
