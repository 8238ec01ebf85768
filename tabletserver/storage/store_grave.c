#include "tabletserver/storage/store_grave.h"

#include "common/base/memory.h"
#include "tabletserver/storage/store_meta.h"

struct store_grave {
    struct store_grave *next;
    uint64_t tablet;
    uint64_t position; /* of the last batch that may be about it */
};

static struct store_grave *find(const struct store *store, uint64_t tablet)
{
    struct store_grave *grave = store->graves;
    while (grave != NULL && grave->tablet != tablet) {
        grave = grave->next;
    }
    return grave;
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

enum status store_add_grave(struct store *store, uint64_t tablet, uint64_t position)
{
    struct store_grave *grave = find(store, tablet);
    if (grave == NULL) {
        grave = memory_allocate_zeroed(1, sizeof *grave);
        if (grave == NULL) {
            return STATUS_NO_MEMORY;
        }
        grave->tablet = tablet;
        grave->next = store->graves;
        store->graves = grave;
    }
    grave->position = position > grave->position ? position : grave->position;
    return STATUS_OK;
}

void store_graves_clear(struct store *store)
{
    while (store->graves != NULL) {
        struct store_grave *first = store->graves;
        store->graves = first->next;
        memory_free(first);
    }
}

enum status store_put_grave(struct base_writer *writer, const struct store *store, uint64_t tablet)
{
    struct buffer value = BUFFER_INIT;
    struct store_meta_key key = store_meta_key(STORE_META_GRAVE, tablet, 0);
    const struct store_grave *grave = find(store, tablet);
    if (grave == NULL) {
        return STATUS_OK;
    }
    store_meta_encode_grave(tablet, grave->position, &value);
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : base_writer_meta_put(writer, store_meta_key_bytes(&key),
                                                             buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

/* --- at a start --------------------------------------------------------------------------------- */

static enum status settle(struct store *store,
                          const struct log_statistics *numbers,
                          struct base_writer *writer)
{
    enum status status = STATUS_OK;
    struct store_grave **link = &store->graves;
    while (*link != NULL && status == STATUS_OK) {
        struct store_grave *grave = *link;
        if (grave->position < numbers->first_position) {
            struct store_meta_key key = store_meta_key(STORE_META_GRAVE, grave->tablet, 0);
            status = base_writer_meta_delete(writer, store_meta_key_bytes(&key));
            *link = grave->next;
            memory_free(grave);
            continue;
        }
        if (grave->position >= numbers->next_position) {
            grave->position = numbers->next_position - 1;
            status = store_put_grave(writer, store, grave->tablet);
        }
        link = &grave->next;
    }
    return status;
}

enum status store_settle_graves(struct store *store)
{
    struct log_statistics numbers;
    struct base_writer *writer = NULL;
    bool due = false;
    log_statistics(store->log, &numbers);
    for (const struct store_grave *grave = store->graves; grave != NULL; grave = grave->next) {
        due = due || grave->position < numbers.first_position ||
              grave->position >= numbers.next_position;
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
        base_writer_abort(writer);
        return status;
    }
    return base_writer_commit(writer);
}
