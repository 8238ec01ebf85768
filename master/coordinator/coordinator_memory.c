#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"

/* Records in a sorted array.  A commit builds the next array apart, so it is all or nothing even
 * when memory runs out in the middle. */

struct entry {
    uint8_t *data; /* key, then value; owned */
    size_t key_bytes;
    size_t value_bytes;
};

struct memory_coordinator {
    struct coordinator base;
    struct entry *entries; /* ascending by key */
    size_t count;
    uint64_t fail_after;
    uint64_t fail_count;
};

static struct memory_coordinator *memory_of(struct coordinator *coordinator)
{
    return (struct memory_coordinator *)coordinator;
}

static struct bytes entry_key(const struct entry *entry)
{
    return bytes_of(entry->data, entry->key_bytes);
}

static void entries_destroy(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory_free(entries[i].data);
    }
    memory_free(entries);
}

static bool entry_create(struct bytes key, struct bytes value, struct entry *ret_entry)
{
    uint8_t *data = memory_allocate(key.size_bytes + value.size_bytes);
    if (data == NULL) {
        return false;
    }
    memcpy(data, key.data, key.size_bytes);
    if (value.size_bytes > 0) {
        memcpy(data + key.size_bytes, value.data, value.size_bytes);
    }
    *ret_entry = (struct entry){data, key.size_bytes, value.size_bytes};
    return true;
}

/* A copy with room for extra more; NULL without memory. */
static struct entry *entries_copy(const struct memory_coordinator *memory, size_t extra)
{
    struct entry *copy = memory_allocate_zeroed(memory->count + extra + 1, sizeof *copy);
    for (size_t i = 0; i < memory->count && copy != NULL; i++) {
        const struct entry *from = &memory->entries[i];
        if (!entry_create(entry_key(from),
                          bytes_of(from->data + from->key_bytes, from->value_bytes), &copy[i])) {
            entries_destroy(copy, i);
            copy = NULL;
        }
    }
    return copy;
}

static size_t find(const struct entry *entries, size_t count, struct bytes key)
{
    size_t at = 0;
    while (at < count && bytes_compare(entry_key(&entries[at]), key) < 0) {
        at++;
    }
    return at;
}

/* One put in an array that has room for it. */
static bool apply(struct entry *entries, size_t *count, const struct catalog_put *put)
{
    size_t at = find(entries, *count, put->key);
    bool there = at < *count && bytes_equal(entry_key(&entries[at]), put->key);
    struct entry fresh = {0};

    if (!put->removed && !entry_create(put->key, put->value, &fresh)) {
        return false;
    }
    if (there) {
        memory_free(entries[at].data);
        memmove(entries + at, entries + at + 1, (*count - at - 1) * sizeof *entries);
        (*count)--;
    }
    if (!put->removed) {
        memmove(entries + at + 1, entries + at, (*count - at) * sizeof *entries);
        entries[at] = fresh;
        (*count)++;
    }
    return true;
}

static enum status memory_load(struct coordinator *coordinator,
                               coordinator_take take,
                               void *context,
                               struct error *ret_error)
{
    const struct memory_coordinator *memory = memory_of(coordinator);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < memory->count && status == STATUS_OK; i++) {
        const struct entry *entry = &memory->entries[i];
        status = take(context, entry_key(entry),
                      bytes_of(entry->data + entry->key_bytes, entry->value_bytes), ret_error);
    }
    return status;
}

static bool must_fail(struct memory_coordinator *memory)
{
    if (memory->fail_after > 0) {
        memory->fail_after--;
        return false;
    }
    bool fail = memory->fail_count > 0;
    memory->fail_count -= fail;
    return fail;
}

static enum status memory_commit(struct coordinator *coordinator,
                                 const struct catalog_put *puts,
                                 size_t put_count,
                                 struct error *ret_error)
{
    struct memory_coordinator *memory = memory_of(coordinator);
    size_t count = memory->count;
    bool good = true;

    if (must_fail(memory)) {
        return error_set(ret_error, STATUS_NO_SPACE, "no space left (made to fail)");
    }
    struct entry *next = entries_copy(memory, put_count);
    for (size_t i = 0; i < put_count && next != NULL && good; i++) {
        good = apply(next, &count, &puts[i]);
    }
    if (next == NULL || !good) {
        if (next != NULL) {
            entries_destroy(next, count);
        }
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a commit");
    }
    entries_destroy(memory->entries, memory->count);
    memory->entries = next;
    memory->count = count;
    return STATUS_OK;
}

static void memory_close(struct coordinator *coordinator)
{
    struct memory_coordinator *memory = memory_of(coordinator);
    entries_destroy(memory->entries, memory->count);
    memory_free(memory);
}

static const struct coordinator_methods memory_methods = {
    .load = memory_load,
    .commit = memory_commit,
    .close = memory_close,
};

enum status coordinator_create_memory(const struct coordinator_identity *identity,
                                      struct coordinator **ret_coordinator,
                                      struct error *ret_error)
{
    struct memory_coordinator *memory = memory_allocate_zeroed(1, sizeof *memory);
    if (memory == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a coordinator");
    }
    memory->base.methods = &memory_methods;
    enum status status = coordinator_settle_identity(&memory->base, identity, ret_error);
    if (status != STATUS_OK) {
        memory_close(&memory->base);
        return status;
    }
    *ret_coordinator = &memory->base;
    return STATUS_OK;
}

void coordinator_memory_fail(struct coordinator *coordinator, uint64_t after, uint64_t count)
{
    struct memory_coordinator *memory = memory_of(coordinator);
    ASSERT(coordinator->methods == &memory_methods);
    memory->fail_after = after;
    memory->fail_count = count;
}
