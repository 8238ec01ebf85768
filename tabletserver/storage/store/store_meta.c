#include "tabletserver/storage/store/store_meta.h"

#include "common/base/assert.h"
#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "tabletserver/storage/copies/store_barrier.h"
#include "tabletserver/storage/record/record_replica.h"

#define FORMAT_VERSION            1
#define TABLET_VERSION_CONFIGURED 2
#define TABLET_VERSION_BARRED     3 /* with a barrier, too */
#define TABLET_VERSION_TAUGHT     4 /* as 2, and half taught */
#define CHECKSUM_BYTES            8
#define ITEMS_MAX                 (1 << 20) /* of each list in one record */

struct store_meta_key store_meta_key(enum store_meta_kind kind, uint64_t number, uint32_t piece)
{
    struct store_meta_key key = {.data = {(uint8_t)kind}, .size_bytes = 1};
    if (kind != STORE_META_STORE) {
        store_be64(key.data + 1, number);
        key.size_bytes = 9;
    }
    if (kind == STORE_META_DEDUPE) {
        store_be32(key.data + 9, piece);
        key.size_bytes = 13;
    }
    return key;
}

bool store_meta_key_number(struct bytes key, enum store_meta_kind kind, uint64_t *ret_number)
{
    if (key.size_bytes < 9 || key.data[0] != (uint8_t)kind) {
        return false;
    }
    *ret_number = load_be64(key.data + 1);
    return true;
}

uint64_t store_meta_seed(const struct store_meta_key *key)
{
    return checksum64(key->data, key->size_bytes, 0);
}

static uint64_t seed_of(enum store_meta_kind kind, uint64_t number)
{
    struct store_meta_key key = store_meta_key(kind, number, 0);
    return store_meta_seed(&key);
}

/* Close a value that began at `start`. */
static void seal(struct buffer *out, size_t start, enum store_meta_kind kind, uint64_t number)
{
    if (out->failed) {
        return;
    }
    uint64_t sum = checksum64(out->data + start, out->size_bytes - start, seed_of(kind, number));
    uint8_t *to = buffer_reserve(out, CHECKSUM_BYTES);
    if (to != NULL) {
        store_le64(to, sum);
        buffer_advance(out, CHECKSUM_BYTES);
    }
}

/* Check the seal and the version (1 to version_max); *ret_reader reads from the version on. */
static enum status open_value(struct bytes value,
                              enum store_meta_kind kind,
                              uint64_t number,
                              uint8_t version_max,
                              struct byte_reader *ret_reader,
                              struct error *ret_error)
{
    if (value.size_bytes < 1 + CHECKSUM_BYTES) {
        return error_set(ret_error, STATUS_CORRUPT, "metadata record %c%llu is too short",
                         (int)kind, (unsigned long long)number);
    }
    size_t body = value.size_bytes - CHECKSUM_BYTES;
    if (checksum64(value.data, body, seed_of(kind, number)) != load_le64(value.data + body)) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "metadata record %c%llu: checksum does not match", (int)kind,
                         (unsigned long long)number);
    }
    if (value.data[0] < 1 || value.data[0] > version_max) {
        return error_set(ret_error, STATUS_VERSION,
                         "metadata record %c%llu has format %u; this version knows up to %d",
                         (int)kind, (unsigned long long)number, value.data[0], version_max);
    }
    *ret_reader = byte_reader_of(bytes_of(value.data, body));
    return STATUS_OK;
}

static void put_barrier(struct buffer *out, const struct store_entry *barrier)
{
    buffer_append_u8(out, barrier->type);
    byte_append_varint(out, barrier->sequence);
    byte_append_varint(out, barrier->version);
    byte_append_bytes(out, barrier->payload);
}

static struct store_entry get_barrier(struct byte_reader *reader)
{
    struct store_entry barrier = {.type = byte_reader_u8(reader)};
    barrier.sequence = byte_reader_varint(reader);
    barrier.version = byte_reader_varint(reader);
    barrier.payload = byte_reader_bytes(reader);
    if (barrier.sequence == 0 || !store_barrier_is_one(barrier.type)) {
        reader->failed = true;
    }
    return barrier;
}

static void put_range(struct buffer *out, const struct row_range *range)
{
    byte_append_bytes(out, range->start);
    byte_append_bytes(out, range->end);
}

static struct row_range get_range(struct byte_reader *reader)
{
    struct row_range range;
    range.start = byte_reader_bytes(reader);
    range.end = byte_reader_bytes(reader);
    return range;
}

void store_meta_encode_tablet(const struct store_meta_tablet *tablet, struct buffer *out)
{
    size_t start = out->size_bytes;
    bool configured = tablet->configuration.members.version != 0;
    ASSERT(IMPLIES(configured,
                   tablet->configuration.members.version == tablet->descriptor.configuration));
    bool barred = tablet->barrier.sequence != 0;
    ASSERT(IMPLIES(barred, configured && !tablet->half_taught));
    ASSERT(IMPLIES(tablet->half_taught, configured));
    buffer_append_u8(out, tablet->half_taught ? TABLET_VERSION_TAUGHT
                          : barred            ? TABLET_VERSION_BARRED
                          : configured        ? TABLET_VERSION_CONFIGURED
                                              : FORMAT_VERSION);
    byte_append_varint(out, tablet->descriptor.table);
    byte_append_varint(out, tablet->descriptor.configuration);
    if (configured) {
        record_append_members(out, &tablet->configuration.members);
        buffer_append_u8(out, tablet->configuration.role);
        record_append_flags(out, tablet->configuration.flags);
    }
    if (barred) {
        put_barrier(out, &tablet->barrier);
    }
    put_range(out, &tablet->descriptor.range);
    byte_append_varint(out, tablet->sequence);
    byte_append_varint(out, tablet->clock);
    byte_append_varint(out, tablet->row_estimate);
    byte_append_varint(out, tablet->dedupe_piece_count);
    byte_append_varint(out, tablet->piece_count);
    for (uint32_t i = 0; i < tablet->piece_count; i++) {
        put_range(out, &tablet->pieces[i].range);
        byte_append_varint(out, tablet->pieces[i].extent);
    }
    byte_append_varint(out, tablet->range_delete_count);
    for (uint32_t i = 0; i < tablet->range_delete_count; i++) {
        const struct range_delete *delete = &tablet->range_deletes[i];
        put_range(out, &delete->range);
        byte_append_varint(out, delete->stamp.clock);
        byte_append_varint(out, delete->stamp.cluster);
        byte_append_varint(out, delete->stamp.index);
        byte_append_varint(out, delete->sequence);
    }
    byte_append_varint(out, tablet->horizon_count);
    for (uint32_t i = 0; i < tablet->horizon_count; i++) {
        byte_append_varint(out, tablet->horizons[i].family);
        byte_append_varint(out, tablet->horizons[i].rule_version);
        byte_append_zigzag(out, tablet->horizons[i].horizon_us);
        byte_append_varint(out, tablet->horizons[i].sequence);
    }
    seal(out, start, STORE_META_TABLET, tablet->descriptor.tablet);
}

/* An array for a list whose length is next; NULL (and failed or *ret_status) when it cannot be. */
static void *list_of(struct byte_reader *reader,
                     struct arena *arena,
                     size_t item_bytes,
                     uint32_t *ret_count,
                     enum status *status)
{
    /* Every item takes a byte at least: no count can make us allocate more than that. */
    uint64_t count = byte_reader_varint_max(reader, ITEMS_MAX);
    if (!byte_reader_ok(reader) || count > byte_reader_left(reader)) {
        reader->failed = true;
        count = 0;
    }
    void *items = arena_allocate_array(arena, count + 1, item_bytes);
    if (items == NULL) {
        *status = STATUS_NO_MEMORY;
        count = 0;
    }
    *ret_count = (uint32_t)count;
    return items;
}

static void get_lists(struct byte_reader *reader,
                      struct arena *arena,
                      struct store_meta_tablet *tablet,
                      enum status *status)
{
    struct base_piece *pieces = list_of(reader, arena, sizeof *pieces, &tablet->piece_count,
                                        status);
    for (uint32_t i = 0; i < tablet->piece_count; i++) {
        pieces[i].range = get_range(reader);
        pieces[i].extent = byte_reader_varint(reader);
    }
    tablet->pieces = pieces;
    struct range_delete *deletes = list_of(reader, arena, sizeof *deletes,
                                           &tablet->range_delete_count, status);
    for (uint32_t i = 0; i < tablet->range_delete_count; i++) {
        deletes[i].range = get_range(reader);
        deletes[i].stamp.clock = byte_reader_varint(reader);
        deletes[i].stamp.cluster = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
        deletes[i].stamp.index = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
        deletes[i].sequence = byte_reader_varint(reader);
    }
    tablet->range_deletes = deletes;
    struct horizon *horizons = list_of(reader, arena, sizeof *horizons, &tablet->horizon_count,
                                       status);
    for (uint32_t i = 0; i < tablet->horizon_count; i++) {
        horizons[i].family = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
        horizons[i].rule_version = byte_reader_varint(reader);
        horizons[i].horizon_us = byte_reader_zigzag(reader);
        horizons[i].sequence = byte_reader_varint(reader);
    }
    tablet->horizons = horizons;
}

static void get_configuration(struct byte_reader *reader, struct store_meta_tablet *meta)
{
    record_read_members(reader, meta->descriptor.configuration, &meta->configuration.members);
    meta->configuration.role = byte_reader_u8(reader);
    if (!record_read_flags(reader, &meta->configuration.flags)) {
        reader->failed = true;
    }
}

enum status store_meta_decode_tablet(uint64_t tablet,
                                     struct bytes value,
                                     struct arena *arena,
                                     struct store_meta_tablet *ret_tablet,
                                     struct error *ret_error)
{
    struct byte_reader reader;
    enum status status = open_value(value, STORE_META_TABLET, tablet, TABLET_VERSION_TAUGHT,
                                    &reader, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_meta_tablet meta = {.descriptor.tablet = tablet};
    uint8_t version = byte_reader_u8(&reader);
    meta.descriptor.table = byte_reader_varint(&reader);
    meta.descriptor.configuration = byte_reader_varint(&reader);
    meta.half_taught = version == TABLET_VERSION_TAUGHT;
    if (version >= TABLET_VERSION_CONFIGURED) {
        get_configuration(&reader, &meta);
    }
    if (version == TABLET_VERSION_BARRED) {
        meta.barrier = get_barrier(&reader);
    }
    meta.descriptor.range = get_range(&reader);
    meta.sequence = byte_reader_varint(&reader);
    meta.clock = byte_reader_varint(&reader);
    meta.row_estimate = byte_reader_varint(&reader);
    meta.dedupe_piece_count = (uint32_t)byte_reader_varint_max(&reader, UINT32_MAX);
    get_lists(&reader, arena, &meta, &status);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "metadata of tablet %llu", (unsigned long long)tablet);
    }
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "metadata of tablet %llu does not decode",
                         (unsigned long long)tablet);
    }
    *ret_tablet = meta;
    return STATUS_OK;
}

void store_meta_encode_store(const struct store_meta_store *store, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, FORMAT_VERSION);
    byte_append_varint(out, store->store_number);
    byte_append_varint(out, store->clock);
    byte_append_varint(out, store->synced_position);
    seal(out, start, STORE_META_STORE, 0);
}

enum status store_meta_decode_store(struct bytes value,
                                    struct store_meta_store *ret_store,
                                    struct error *ret_error)
{
    struct byte_reader reader;
    enum status status = open_value(value, STORE_META_STORE, 0, FORMAT_VERSION, &reader, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_meta_store store;
    (void)byte_reader_u8(&reader); /* the version */
    store.store_number = byte_reader_varint(&reader);
    store.clock = byte_reader_varint(&reader);
    store.synced_position = byte_reader_varint(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "metadata of the store does not decode");
    }
    *ret_store = store;
    return STATUS_OK;
}

void store_meta_encode_erasure(uint64_t number,
                               const struct store_meta_erasure *erasure,
                               struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, FORMAT_VERSION);
    byte_append_varint(out, erasure->extent);
    put_range(out, &erasure->range);
    seal(out, start, STORE_META_ERASURE, number);
}

enum status store_meta_decode_erasure(uint64_t number,
                                      struct bytes value,
                                      struct store_meta_erasure *ret_erasure,
                                      struct error *ret_error)
{
    struct byte_reader reader;
    enum status status = open_value(value, STORE_META_ERASURE, number, FORMAT_VERSION, &reader,
                                    ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_meta_erasure erasure;
    (void)byte_reader_u8(&reader); /* the version */
    erasure.extent = byte_reader_varint(&reader);
    erasure.range = get_range(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "record of a dropped range does not decode");
    }
    *ret_erasure = erasure;
    return STATUS_OK;
}

void store_meta_encode_grave(uint64_t tablet, uint64_t position, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, FORMAT_VERSION);
    byte_append_varint(out, position);
    seal(out, start, STORE_META_GRAVE, tablet);
}

enum status store_meta_decode_grave(uint64_t tablet,
                                    struct bytes value,
                                    uint64_t *ret_position,
                                    struct error *ret_error)
{
    struct byte_reader reader;
    enum status status = open_value(value, STORE_META_GRAVE, tablet, FORMAT_VERSION, &reader,
                                    ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    (void)byte_reader_u8(&reader); /* the version */
    uint64_t position = byte_reader_varint(&reader);
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "record of a dropped tablet does not decode");
    }
    *ret_position = position;
    return STATUS_OK;
}
