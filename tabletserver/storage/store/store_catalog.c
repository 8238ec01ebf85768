#include "tabletserver/storage/store/store_catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"

#define NAME       "CATALOG"
#define NEW_NAME   "CATALOG.tmp"
#define MAGIC      "EDUCATLG"
#define SEED       UINT64_C(0x636174616c6f67)
#define SLOT_BYTES 4096
#define SLOT_COUNT 2
#define MARK_BYTES 40
#define SUM_OFFSET (MARK_BYTES - 8)

static void encode(const struct store_catalog_mark *mark, uint64_t serial, uint8_t out[MARK_BYTES])
{
    memcpy(out, MAGIC, 8);
    store_le64(out + 8, serial);
    store_le64(out + 16, mark->generation);
    store_le64(out + 24, mark->version);
    store_le64(out + SUM_OFFSET, checksum64(out, SUM_OFFSET, SEED));
}

/* The slot, if it is good and newer than what was found so far. */
static void take_slot(struct store_catalog *catalog, const uint8_t in[MARK_BYTES])
{
    uint64_t serial = load_le64(in + 8);
    bool good = memcmp(in, MAGIC, 8) == 0 &&
                load_le64(in + SUM_OFFSET) == checksum64(in, SUM_OFFSET, SEED);

    if (good && serial > catalog->serial) {
        catalog->serial = serial;
        catalog->mark = (struct store_catalog_mark){load_le64(in + 16), load_le64(in + 24)};
    }
}

static enum status read_slots(struct store_catalog *catalog, struct error *ret_error)
{
    enum status status = STATUS_OK;

    for (uint64_t slot = 0; slot < SLOT_COUNT && status == STATUS_OK; slot++) {
        uint8_t bytes[MARK_BYTES];
        status = file_read_at(&catalog->file, slot * SLOT_BYTES, bytes, sizeof bytes, ret_error);
        if (status == STATUS_OK) {
            take_slot(catalog, bytes);
        }
    }
    if ((status == STATUS_OK && catalog->serial == 0) || status == STATUS_OUT_OF_RANGE) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "%s: damaged: it said which catalog this store belongs to. Put it back "
                         "from a copy; or remove it: the store then takes the catalog that its "
                         "master has, so be sure that this is the right one",
                         catalog->file.path);
    }
    return status;
}

enum status store_catalog_open(const char *folder,
                               struct store_catalog *ret_catalog,
                               struct error *ret_error)
{
    struct store_catalog catalog = {.file = FILE_CLOSED};
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, NAME, ret_error);

    (void)snprintf(catalog.folder, sizeof catalog.folder, "%s", folder);
    if (status == STATUS_OK) {
        status = file_open(path, &catalog.file, ret_error);
    }
    if (status == STATUS_OK) {
        status = read_slots(&catalog, ret_error);
    } else if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        catalog.file = FILE_CLOSED;
        status = STATUS_OK;
    }
    if (status != STATUS_OK) {
        file_close(&catalog.file);
        return status;
    }
    *ret_catalog = catalog;
    return STATUS_OK;
}

void store_catalog_close(struct store_catalog *catalog)
{
    if (catalog->folder[0] != '\0') {
        file_close(&catalog->file);
    }
}

enum status store_catalog_check(const struct store_catalog *catalog,
                                const struct store_catalog_offer *offer,
                                struct error *ret_error)
{
    const struct store_catalog_mark *mark = &catalog->mark;

    if (mark->generation == 0 || mark->generation == offer->predecessor) {
        return STATUS_OK;
    }
    if (mark->generation != offer->generation) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "the store in %s belongs to catalog %" PRIu64
                         "; the master has catalog %" PRIu64
                         ": nothing of it is done. Put the right catalog back, or, if it is lost, "
                         "order the master's to succeed it (docs/operations.md, \"A lost "
                         "catalog\")",
                         catalog->folder, mark->generation, offer->generation);
    }
    if (offer->version != 0 && offer->version < mark->version) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "the master's copy of catalog %" PRIu64
                         " is an old one, of version %" PRIu64
                         ": the store in %s was told of version %" PRIu64
                         "; nothing of it is done. Put the newest back (docs/operations.md, \"A "
                         "lost catalog\")",
                         offer->generation, offer->version, catalog->folder, mark->version);
    }
    return STATUS_OK;
}

/* The file with its first mark, under another name until it is all there. */
static enum status make(struct store_catalog *catalog,
                        const uint8_t bytes[MARK_BYTES],
                        struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    char new_path[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    enum status status = file_path_join(path, catalog->folder, NAME, ret_error);

    if (status == STATUS_OK) {
        status = file_path_join(new_path, catalog->folder, NEW_NAME, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    (void)file_unlink(new_path, NULL); /* left over from a crash */
    status = file_create(new_path, &file, ret_error);
    if (status == STATUS_OK) {
        status = file_preallocate(&file, (uint64_t)SLOT_COUNT * SLOT_BYTES, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_write_at(&file, 0, bytes, MARK_BYTES, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_sync(&file, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_rename(&file, path, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_sync_folder(catalog->folder, ret_error);
    }
    if (status != STATUS_OK) {
        file_close(&file);
        return status;
    }
    catalog->file = file;
    return STATUS_OK;
}

bool store_catalog_has(const struct store_catalog *catalog, const struct store_catalog_mark *mark)
{
    return mark->generation == catalog->mark.generation && mark->version <= catalog->mark.version;
}

enum status store_catalog_note(struct store_catalog *catalog,
                               const struct store_catalog_mark *mark,
                               struct error *ret_error)
{
    uint8_t bytes[MARK_BYTES];
    uint64_t serial = catalog->serial + 1;
    enum status status = STATUS_OK;

    if (store_catalog_has(catalog, mark)) {
        return STATUS_OK;
    }
    encode(mark, serial, bytes);
    if (catalog->file.descriptor == -1) {
        status = make(catalog, bytes, ret_error);
    } else {
        status = file_write_at(&catalog->file, (serial + 1) % SLOT_COUNT * SLOT_BYTES, bytes,
                               sizeof bytes, ret_error);
        if (status == STATUS_OK) {
            status = file_sync(&catalog->file, ret_error);
        }
    }
    if (status == STATUS_OK) {
        catalog->serial = serial;
        catalog->mark = *mark;
    }
    return status;
}
