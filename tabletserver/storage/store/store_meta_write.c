/* The store's metadata records, put together and written inside a base transaction. */
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_internal.h"

#define SEAL_BYTES 8

static enum status put(struct base_writer *writer,
                       const struct store_meta_key *key,
                       const struct buffer *value)
{
    return value->failed
               ? STATUS_NO_MEMORY
               : base_writer_meta_put(writer, store_meta_key_bytes(key), buffer_bytes(value));
}

/* Under the mutex: what was true at `sequence`, encoded. */
static void encode_tablet(struct store_tablet *tablet,
                          struct store_meta_tablet *meta,
                          struct range_delete *deletes,
                          struct horizon *horizons,
                          struct buffer *out)
{
    meta->pieces = tablet->pieces->pieces;
    meta->piece_count = tablet->pieces->count;
    for (uint32_t i = 0; i < tablet->range_deletes->count; i++) {
        const struct range_delete *delete = &tablet->range_deletes->deletes[i];
        if (delete->sequence <= meta->sequence && delete->sequence != tablet->erase.sequence) {
            deletes[meta->range_delete_count++] = *delete;
        }
    }
    for (uint32_t i = 0; i < tablet->horizons.count; i++) {
        if (tablet->horizons.items[i].sequence <= meta->sequence) {
            horizons[meta->horizon_count++] = tablet->horizons.items[i];
        }
    }
    meta->range_deletes = deletes;
    meta->horizons = horizons;
    meta->half_taught = tablet->half_taught;
    meta->configuration = tablet->durable;
    if (tablet->durable.members.version != 0) {
        meta->descriptor.configuration = tablet->durable.members.version;
    }
    const struct store_entry *barrier = store_barriers_standing(tablet->barriers, meta->sequence);
    if (barrier != NULL) {
        meta->barrier = *barrier;
    }
    tablet->encoded_number = tablet->durable_number;
    store_meta_encode_tablet(meta, out);
}

enum status store_put_tablet_meta(struct base_writer *writer,
                                  struct store_tablet *tablet,
                                  uint64_t sequence,
                                  uint64_t clock,
                                  uint32_t dedupe_piece_count)
{
    struct store_meta_tablet meta = {.sequence = sequence,
                                     .clock = clock,
                                     .row_estimate = atomic_load(&tablet->row_estimate),
                                     .dedupe_piece_count = dedupe_piece_count};
    struct buffer value = BUFFER_INIT;
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    (void)pthread_mutex_lock(&tablet->mutex);
    meta.descriptor = tablet->descriptor;
    struct range_delete *deletes = arena_allocate_array(&arena, tablet->range_deletes->count + 1U,
                                                        sizeof *deletes);
    struct horizon *horizons = arena_allocate_array(&arena, tablet->horizons.count + 1U,
                                                    sizeof *horizons);
    bool room = deletes != NULL && horizons != NULL;
    if (room) {
        encode_tablet(tablet, &meta, deletes, horizons, &value);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    struct store_meta_key key = store_meta_key(STORE_META_TABLET, tablet->descriptor.tablet, 0);
    enum status status = room ? put(writer, &key, &value) : STATUS_NO_MEMORY;
    buffer_deinit(&value);
    arena_deinit(&arena);
    return status;
}

enum status store_put_applied(struct base_writer *writer,
                              uint64_t tablet,
                              const struct buffer *applied)
{
    struct store_meta_key key = store_meta_key(STORE_META_APPLIED, tablet, 0);
    return put(writer, &key, applied);
}

static enum status delete_dedupe(struct base_writer *writer,
                                 uint64_t tablet,
                                 uint32_t first,
                                 uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        struct store_meta_key key = store_meta_key(STORE_META_DEDUPE, tablet, i);
        enum status status = base_writer_meta_delete(writer, store_meta_key_bytes(&key));
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status store_put_dedupe(struct base_writer *writer,
                             uint64_t tablet,
                             struct bytes image,
                             uint32_t piece_count_before,
                             uint32_t *ret_piece_count)
{
    uint32_t count = 0;
    struct buffer value = BUFFER_INIT;
    enum status status = STATUS_OK;
    for (size_t at = 0; at < image.size_bytes && status == STATUS_OK; count++) {
        size_t size = image.size_bytes - at;
        size = size < STORE_META_DEDUPE_PIECE_BYTES ? size : STORE_META_DEDUPE_PIECE_BYTES;
        struct store_meta_key key = store_meta_key(STORE_META_DEDUPE, tablet, count);
        uint8_t seal[SEAL_BYTES];
        store_le64(seal, checksum64(image.data + at, size, store_meta_seed(&key)));
        buffer_reset(&value);
        buffer_append(&value, image.data + at, size);
        buffer_append(&value, seal, sizeof seal);
        status = put(writer, &key, &value);
        at += size;
    }
    buffer_deinit(&value);
    if (status == STATUS_OK) {
        status = delete_dedupe(writer, tablet, count, piece_count_before);
    }
    if (status == STATUS_OK) {
        *ret_piece_count = count;
    }
    return status;
}

enum status store_delete_tablet_meta(struct base_writer *writer,
                                     uint64_t tablet,
                                     uint32_t dedupe_piece_count)
{
    struct store_meta_key key = store_meta_key(STORE_META_TABLET, tablet, 0);
    enum status status = base_writer_meta_delete(writer, store_meta_key_bytes(&key));
    if (status == STATUS_OK) {
        key = store_meta_key(STORE_META_APPLIED, tablet, 0);
        status = base_writer_meta_delete(writer, store_meta_key_bytes(&key));
    }
    return status == STATUS_OK ? delete_dedupe(writer, tablet, 0, dedupe_piece_count) : status;
}

enum status store_put_store_meta(struct base_writer *writer, struct store *store, uint64_t clock)
{
    /* The work thread is the only one to write it, so the highest clock is its own to keep. */
    store->meta_clock = clock > store->meta_clock ? clock : store->meta_clock;
    struct store_meta_store meta = {
        .store_number = store->identity.store_number,
        .clock = store->meta_clock,
        .synced_position = atomic_load(&store->synced_position),
    };
    struct store_meta_key key = store_meta_key(STORE_META_STORE, 0, 0);
    struct buffer value = BUFFER_INIT;
    store_meta_encode_store(&meta, &value);
    enum status status = put(writer, &key, &value);
    buffer_deinit(&value);
    return status;
}
