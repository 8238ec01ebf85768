#include "tabletserver/storage/base/base.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base/base_cursor.h"

#define FORMAT_VERSION 1

/*
 * SYSTEM records:
 *   "f"  "edubba base" (11), version (4), checksum (4)      written once
 *   "c"  next extent (8), next number (8), checksum (4)     all little-endian
 */
static const uint8_t FORMAT_KEY[] = {BASE_SPACE_SYSTEM, 'f'};
static const uint8_t COUNTERS_KEY[] = {BASE_SPACE_SYSTEM, 'c'};
static const char FORMAT_NAME[] = "edubba base";

#define FORMAT_NAME_BYTES 11
#define FORMAT_BYTES      (FORMAT_NAME_BYTES + 8)
#define COUNTERS_BYTES    20

static void seal(struct bytes key, uint8_t *data, size_t size_bytes)
{
    store_le32(data + size_bytes - 4, checksum32(data, size_bytes - 4, base_seed(key)));
}

static bool is_sealed(struct bytes key, struct bytes data)
{
    return load_le32(data.data + data.size_bytes - 4) ==
           checksum32(data.data, data.size_bytes - 4, base_seed(key));
}

enum status base_counters_load(const struct base_store *store, struct base_counters *ret_counters)
{
    struct bytes key = bytes_of(COUNTERS_KEY, sizeof COUNTERS_KEY);
    struct bytes value;
    bool found = false;
    enum status status = base_store_get(store, key, &value, &found);
    if (status != STATUS_OK) {
        return status;
    }
    *ret_counters = (struct base_counters){1, 1};
    if (!found) {
        return STATUS_OK;
    }
    if (value.size_bytes != COUNTERS_BYTES || !is_sealed(key, value)) {
        return STATUS_CORRUPT;
    }
    *ret_counters = (struct base_counters){load_le64(value.data), load_le64(value.data + 8)};
    return STATUS_OK;
}

enum status base_counters_save(struct kv_write *write, const struct base_counters *counters)
{
    struct bytes key = bytes_of(COUNTERS_KEY, sizeof COUNTERS_KEY);
    uint8_t data[COUNTERS_BYTES];
    store_le64(data, counters->extent_next);
    store_le64(data + 8, counters->number_next);
    seal(key, data, sizeof data);
    return kv_write_put(write, key, bytes_of(data, sizeof data));
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum status write_format(struct kv *kv)
{
    struct bytes key = bytes_of(FORMAT_KEY, sizeof FORMAT_KEY);
    uint8_t data[FORMAT_BYTES];
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(kv, &write);
    if (status != STATUS_OK) {
        return status;
    }
    memcpy(data, FORMAT_NAME, FORMAT_NAME_BYTES);
    store_le32(data + FORMAT_NAME_BYTES, FORMAT_VERSION);
    seal(key, data, sizeof data);
    status = kv_write_put(write, key, bytes_of(data, sizeof data));
    if (status != STATUS_OK) {
        kv_write_abort(write);
        return status;
    }
    return kv_write_commit(write);
}

static enum status check_format(struct bytes value, struct error *ret_error)
{
    struct bytes key = bytes_of(FORMAT_KEY, sizeof FORMAT_KEY);
    if (value.size_bytes != FORMAT_BYTES ||
        memcmp(value.data, FORMAT_NAME, FORMAT_NAME_BYTES) != 0 || !is_sealed(key, value)) {
        return error_set(ret_error, STATUS_CORRUPT, "base: the format record is damaged");
    }
    uint32_t version = load_le32(value.data + FORMAT_NAME_BYTES);
    if (version != FORMAT_VERSION) {
        return error_set(ret_error, STATUS_VERSION,
                         "base: written in format %u, this program knows format %d", version,
                         FORMAT_VERSION);
    }
    return STATUS_OK;
}

/* *ret_empty: there is no record at all, so the format may be written. */
static enum status read_format(struct kv *kv, bool *ret_empty, struct error *ret_error)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    *ret_empty = false;
    enum status status = kv_read_begin(kv, &read);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "base: cannot read: %s", status_text(status));
    }
    status = kv_cursor_open_read(read, &cursor);
    if (status == STATUS_OK) {
        const uint8_t least[1] = {0};
        status = kv_cursor_move(cursor, KV_SEEK, bytes_of(least, 1), &key, &value, &found);
        kv_cursor_close(cursor);
    }
    if (status == STATUS_OK && found) {
        status = kv_read_get(read, bytes_of(FORMAT_KEY, sizeof FORMAT_KEY), &value, &found);
        if (status == STATUS_OK) {
            status = found ? check_format(value, ret_error)
                           : error_set(ret_error, STATUS_CORRUPT, "base: no format record");
        }
    } else if (status == STATUS_OK) {
        *ret_empty = true;
    } else {
        status = error_set(ret_error, status, "base: cannot read: %s", status_text(status));
    }
    kv_read_end(read);
    return status;
}

enum status base_open(struct kv *kv, struct base **ret_base, struct error *ret_error)
{
    bool empty = false;
    enum status status = read_format(kv, &empty, ret_error);
    if (status == STATUS_OK && empty) {
        status = write_format(kv);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "base: cannot begin: %s", status_text(status));
        }
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct base *base = memory_allocate_zeroed(1, sizeof *base);
    if (base == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "base: out of memory");
    }
    base->kv = kv;
    base_links_init(&base->links);
    base_spares_init(&base->spares);
    *ret_base = base;
    return STATUS_OK;
}

void base_close(struct base *base)
{
    base_links_deinit(&base->links);
    base_spares_deinit(&base->spares);
    memory_free(base);
}

/* --- snapshots -------------------------------------------------------------------------------- */

enum status base_snapshot_begin(struct base *base, struct base_snapshot **ret_snapshot)
{
    struct base_snapshot *snapshot = memory_allocate(sizeof *snapshot);
    if (snapshot == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = kv_read_begin(base->kv, &snapshot->read);
    if (status != STATUS_OK) {
        memory_free(snapshot);
        return status;
    }
    snapshot->base = base;
    snapshot->store = (struct base_store){.read = snapshot->read, .links = &base->links};
    snapshot->tombstones_known = false;
    snapshot->tombstones_exist = false;
    snapshot->trouble.status = STATUS_OK;
    snapshot->trouble.text[0] = '\0';
    *ret_snapshot = snapshot;
    return STATUS_OK;
}

void base_snapshot_end(struct base_snapshot *snapshot)
{
    kv_read_end(snapshot->read);
    memory_free(snapshot);
}

const char *base_snapshot_trouble(const struct base_snapshot *snapshot)
{
    return snapshot->trouble.text;
}
