#include "tabletserver/storage/copies/store_grave.h"

#include <string.h>

#include "common/base/memory.h"
#include "tabletserver/storage/store/store_meta.h"

struct store_grave {
    uint64_t tablet;
    uint64_t position; /* of the last batch that may be about it */
};

/* The place of the tablet's grave among all, or where it would be. */
static size_t place_of(const struct store *store, uint64_t tablet)
{
    size_t from = 0;
    size_t to = store->grave_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (store->graves[middle].tablet < tablet) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static struct store_grave *find(const struct store *store, uint64_t tablet)
{
    size_t at = place_of(store, tablet);
    return at < store->grave_count && store->graves[at].tablet == tablet ? &store->graves[at]
                                                                         : NULL;
}

bool store_is_buried(const struct store *store, uint64_t tablet, uint64_t position)
{
    const struct store_grave *grave = find(store, tablet);
    return grave != NULL && position <= grave->position;
}

/* Before anything was appended log_position is where the next batch will begin. */
uint64_t store_last_position(const struct store *store)
{
    struct log_statistics numbers;
    if (store->log == NULL) {
        return store->log_position;
    }
    log_statistics(store->log, &numbers);
    return store->log_position < numbers.next_position ? store->log_position
                                                       : numbers.next_position - 1;
}

bool store_may_make_again(struct store *store, uint64_t tablet)
{
    struct log_statistics numbers;
    const struct store_grave *grave = find(store, tablet);
    if (grave == NULL) {
        return true;
    }
    log_statistics(store->log, &numbers);
    return numbers.synced_position > grave->position;
}

static bool reserve(struct store *store)
{
    if (store->grave_count < store->grave_capacity) {
        return true;
    }
    size_t capacity = 2 * store->grave_capacity + 16;
    struct store_grave *grown = memory_resize(store->graves, capacity * sizeof *grown);
    if (grown != NULL) {
        store->graves = grown;
        store->grave_capacity = capacity;
    }
    return grown != NULL;
}

enum status store_add_grave(struct store *store, uint64_t tablet, uint64_t position)
{
    struct store_grave *grave = find(store, tablet);
    if (grave != NULL) {
        grave->position = position > grave->position ? position : grave->position;
        return STATUS_OK;
    }
    if (!reserve(store)) {
        return STATUS_NO_MEMORY;
    }
    size_t at = place_of(store, tablet);
    memmove(&store->graves[at + 1], &store->graves[at],
            (store->grave_count - at) * sizeof *store->graves);
    store->graves[at] = (struct store_grave){tablet, position};
    store->grave_count++;
    return STATUS_OK;
}

void store_graves_clear(struct store *store)
{
    memory_free(store->graves);
    store->graves = NULL;
    store->grave_count = 0;
    store->grave_capacity = 0;
}

static enum status put(struct base_writer *writer, const struct store_grave *grave)
{
    struct buffer value = BUFFER_INIT;
    struct store_meta_key key = store_meta_key(STORE_META_GRAVE, grave->tablet, 0);
    store_meta_encode_grave(grave->tablet, grave->position, &value);
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : base_writer_meta_put(writer, store_meta_key_bytes(&key),
                                                             buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

enum status store_put_grave(struct base_writer *writer, const struct store *store, uint64_t tablet)
{
    const struct store_grave *grave = find(store, tablet);
    return grave == NULL ? STATUS_OK : put(writer, grave);
}

enum status store_bury(struct base_writer *writer,
                       struct store *store,
                       uint64_t tablet,
                       uint64_t position)
{
    enum status status = store_add_grave(store, tablet, position);
    return status == STATUS_OK ? store_put_grave(writer, store, tablet) : status;
}

/* --- at a start --------------------------------------------------------------------------------- */

static enum status remove_grave(struct base_writer *writer, uint64_t tablet)
{
    struct store_meta_key key = store_meta_key(STORE_META_GRAVE, tablet, 0);
    return base_writer_meta_delete(writer, store_meta_key_bytes(&key));
}

static enum status settle(struct store *store,
                          const struct log_statistics *numbers,
                          struct base_writer *writer)
{
    enum status status = STATUS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < store->grave_count && status == STATUS_OK; i++) {
        struct store_grave grave = store->graves[i];
        if (grave.position < numbers->first_position) {
            status = remove_grave(writer, grave.tablet);
            continue;
        }
        bool beyond = grave.position >= numbers->next_position;
        grave.position = beyond ? numbers->next_position - 1 : grave.position;
        store->graves[kept++] = grave;
        status = beyond ? put(writer, &grave) : STATUS_OK;
    }
    store->grave_count = kept;
    return status;
}

enum status store_settle_graves(struct store *store)
{
    struct log_statistics numbers;
    struct base_writer *writer = NULL;
    bool due = false;
    log_statistics(store->log, &numbers);
    for (size_t i = 0; i < store->grave_count; i++) {
        due = due || store->graves[i].position < numbers.first_position ||
              store->graves[i].position >= numbers.next_position;
    }
    if (!due) {
        return STATUS_OK;
    }
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    status = settle(store, &numbers, writer);
    if (status != STATUS_OK) {
        base_writer_abort(writer); /* and the store does not open */
        return status;
    }
    return base_writer_commit(writer);
}
