/* A tablet's entries out of the log, for a copy that was away. */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"

struct reading {
    uint64_t tablet;
    uint64_t from;
    uint64_t limit; /* nothing above it */
    uint64_t bytes_max;
    struct arena *arena;
    struct buffer entries; /* of struct store_entry */
    uint64_t bytes;
    uint64_t batch; /* position of the one being read */
    enum status status;
};

static uint64_t count_of(const struct reading *reading)
{
    return reading->entries.size_bytes / sizeof(struct store_entry);
}

/* What a configuration drops was taken from its own batch: the mark stands there. */
static void drop(struct reading *reading, const struct log_record *record)
{
    struct record_configuration decoded;
    if (record_decode_configuration(record->payload, &decoded, NULL) != STATUS_OK) {
        reading->status = STATUS_NOT_FOUND;
        return;
    }
    uint64_t kept = decoded.kept_sequence;
    uint64_t count = kept < reading->from ? 0 : kept - reading->from + 1;
    if (count < count_of(reading)) {
        reading->entries.size_bytes = count * sizeof(struct store_entry);
    }
}

static void take(struct reading *reading, const struct log_record *record)
{
    struct store_entry entry = {record->sequence, record->configuration, record->stamp,
                                record->type, arena_copy(reading->arena, record->payload)};
    if (entry.payload.data == NULL && record->payload.size_bytes > 0) {
        reading->status = STATUS_NO_MEMORY;
        return;
    }
    buffer_append(&reading->entries, &entry, sizeof entry);
    reading->bytes += record->payload.size_bytes;
    reading->status = reading->entries.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* Batches are taken whole, for what is dropped in them. */
static bool on_record(void *context, const struct log_record *record, uint64_t position)
{
    struct reading *reading = context;
    uint64_t next = reading->from + count_of(reading);
    if (position != reading->batch &&
        (next > reading->limit || reading->bytes >= reading->bytes_max)) {
        return false;
    }
    reading->batch = position;
    if (record->tablet != reading->tablet) {
        return true;
    }
    if (record->type == RECORD_CONFIGURATION) {
        drop(reading, record);
    } else if (record->type < LOG_RECORD_TYPE_OWN && record->sequence == next) {
        take(reading, record);
    }
    return reading->status == STATUS_OK;
}

/* Copy the entries that were read into the arena, as far as they are committed. */
static enum status hand_out(struct reading *reading, struct store_log_slice *ret_slice)
{
    uint64_t count = count_of(reading);
    uint64_t most = reading->limit - reading->from + 1;
    count = count < most ? count : most;
    if (count == 0) {
        return STATUS_NOT_FOUND;
    }
    struct store_entry *entries = arena_allocate_array(reading->arena, count, sizeof *entries);
    if (entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    memcpy(entries, reading->entries.data, count * sizeof *entries);
    *ret_slice = (struct store_log_slice){entries, (uint32_t)count};
    return STATUS_OK;
}

enum status store_log_read(struct store_tablet *tablet,
                           uint64_t from_sequence,
                           uint64_t bytes_max,
                           struct arena *arena,
                           struct store_log_slice *ret_slice)
{
    struct reading reading = {.tablet = tablet->descriptor.tablet,
                              .from = from_sequence,
                              .limit = store_tablet_committed(tablet),
                              .bytes_max = bytes_max,
                              .arena = arena};
    uint64_t position = 0;
    uint64_t end = 0;
    ASSERT(from_sequence > 0);
    if (from_sequence > reading.limit) {
        *ret_slice = (struct store_log_slice){.count = 0};
        return STATUS_OK;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    bool found = log_marks_find(&tablet->marks, from_sequence, &position, &end);
    (void)pthread_mutex_unlock(&tablet->mutex);
    if (!found) {
        return STATUS_NOT_FOUND;
    }
    reading.limit = end - 1 < reading.limit ? end - 1 : reading.limit;
    buffer_init(&reading.entries);
    enum status status = log_read(tablet->store->log, position, on_record, &reading);
    status = status == STATUS_OK ? reading.status : status;
    if (status == STATUS_OK) {
        status = hand_out(&reading, ret_slice);
    }
    buffer_deinit(&reading.entries);
    return status;
}

/* --- marks ---------------------------------------------------------------------------------------- */

static void begin_keeping(struct store_tablet *tablet, uint64_t position)
{
    struct store *store = tablet->store;
    if (store->log != NULL && position < store->log_keep_from) {
        store->log_keep_from = position;
        log_keep_from(store->log, position);
    }
}

void store_mark(struct store_tablet *tablet, uint64_t sequence, uint64_t position)
{
    begin_keeping(tablet, position);
    (void)pthread_mutex_lock(&tablet->mutex);
    log_marks_note(&tablet->marks, sequence, position);
    (void)pthread_mutex_unlock(&tablet->mutex);
}

void store_mark_drop(struct store_tablet *tablet, uint64_t kept, uint64_t position)
{
    begin_keeping(tablet, position);
    (void)pthread_mutex_lock(&tablet->mutex);
    log_marks_drop(&tablet->marks, kept, position);
    (void)pthread_mutex_unlock(&tablet->mutex);
}

void store_trim_marks(struct store *store)
{
    struct log_statistics numbers;
    if (store->log == NULL) {
        return; /* replay: nothing goes meanwhile */
    }
    log_statistics(store->log, &numbers);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (tablet->shared) {
            (void)pthread_mutex_lock(&tablet->mutex);
            log_marks_trim(&tablet->marks, numbers.kept_position);
            (void)pthread_mutex_unlock(&tablet->mutex);
        }
    }
}

void store_keep_replayed(struct store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct store_tablet *tablet = store->tablets[i];
        if (tablet->marks.count > 0) {
            begin_keeping(store->tablets[i], tablet->marks.marks[0].position);
        }
    }
}
