#include "tabletserver/storage/store/store_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/checksum.h"

#define IDENTITY_NAME           "STORE"
#define LOCK_NAME               "LOCK"
#define BALLAST_NAME            "ballast"
#define IDENTITY_FILE_BYTES_MAX 4096
#define IDENTITY_SEED           UINT64_C(0x65647562626173)
#define NUMBER_BASE             10
#define CHECKSUM_BASE           16

void store_identity_encode(const struct store_identity *identity, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_format(
        out, "edubba store\nformat %" PRIu64 "\nfeatures %" PRIu64 "\nstore %" PRIu64 "\n",
        identity->format, identity->features, identity->store_number);
    if (!out->failed) {
        uint64_t sum = checksum64(out->data + start, out->size_bytes - start, IDENTITY_SEED);
        buffer_append_format(out, "checksum %016" PRIx64 "\n", sum);
    }
}

static int digit_of(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + NUMBER_BASE : -1;
}

/* "<name> <number>\n" at *at; moves past it. */
static bool take_line(
    const uint8_t **at, const uint8_t *end, const char *name, unsigned base, uint64_t *ret)
{
    size_t name_size = strlen(name);
    const uint8_t *p = *at;
    if ((size_t)(end - p) < name_size + 1 || memcmp(p, name, name_size) != 0 ||
        p[name_size] != ' ') {
        return false;
    }
    p += name_size + 1;
    uint64_t value = 0;
    const uint8_t *digits = p;
    while (p < end && *p != '\n') {
        int digit = digit_of(*p);
        if (digit < 0 || (unsigned)digit >= base || value > (UINT64_MAX - (unsigned)digit) / base) {
            return false;
        }
        value = value * base + (unsigned)digit;
        p++;
    }
    if (p == end || p == digits) {
        return false;
    }
    *at = p + 1;
    *ret = value;
    return true;
}

enum status store_identity_decode(struct bytes text,
                                  const char *path,
                                  struct store_identity *ret_identity,
                                  struct error *ret_error)
{
    static const char head[] = "edubba store\n";
    const uint8_t *at = text.data;
    const uint8_t *end = text.data + text.size_bytes;
    struct store_identity identity = {0};
    if (text.size_bytes < sizeof head - 1 || memcmp(at, head, sizeof head - 1) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "%s: not the identity of a store", path);
    }
    at += sizeof head - 1;
    /* The format is judged first: of a newer one we know nothing more than its number. */
    if (!take_line(&at, end, "format", NUMBER_BASE, &identity.format) || identity.format == 0) {
        return error_set(ret_error, STATUS_CORRUPT, "%s: the line `format' is damaged", path);
    }
    if (identity.format > STORE_FORMAT_VERSION) {
        return error_set(ret_error, STATUS_VERSION,
                         "%s: format %" PRIu64
                         " was written by a newer version of edubba; this one "
                         "knows formats up to %d. Run the newer version",
                         path, identity.format, STORE_FORMAT_VERSION);
    }
    uint64_t sum = 0;
    bool fine = take_line(&at, end, "features", NUMBER_BASE, &identity.features) &&
                take_line(&at, end, "store", NUMBER_BASE, &identity.store_number);
    uint64_t expected = checksum64(text.data, (size_t)(at - text.data), IDENTITY_SEED);
    if (!fine || !take_line(&at, end, "checksum", CHECKSUM_BASE, &sum) || sum != expected ||
        at != end || identity.store_number == 0) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "%s: damaged (checksum does not match); restore this file or re-learn the "
                         "store from its replicas",
                         path);
    }
    if ((identity.features & ~STORE_FEATURES_KNOWN) != 0) {
        return error_set(ret_error, STATUS_VERSION,
                         "%s: feature bits 0x%" PRIx64 " are not known to this version of edubba. "
                         "Run the newer version",
                         path, identity.features & ~STORE_FEATURES_KNOWN);
    }
    *ret_identity = identity;
    return STATUS_OK;
}

/* A folder without STORE must hold nothing that could be a store's data. */
static enum status check_empty(const char *folder, struct error *ret_error)
{
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    arena_init(&arena, 1024, SIZE_MAX);
    enum status status = file_list_folder(folder, &arena, &names, &count, ret_error);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        if (strcmp(names[i], "data.mdb") == 0 || strcmp(names[i], "log") == 0) {
            status = error_set(ret_error, STATUS_FAILED_PRECONDITION,
                               "%s: there is data (%s) but no STORE file; it is not overwritten. "
                               "Restore STORE, or empty the folder",
                               folder, names[i]);
        }
    }
    arena_deinit(&arena);
    return status;
}

static enum status create(const char *folder,
                          const char *path,
                          uint64_t store_number,
                          struct error *ret_error)
{
    enum status status = check_empty(folder, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_identity identity = {store_number, STORE_FORMAT_VERSION, 0};
    struct buffer text = BUFFER_INIT;
    store_identity_encode(&identity, &text);
    status = text.failed ? error_set(ret_error, STATUS_NO_MEMORY, "%s: out of memory", path)
                         : file_write_atomic(path, text.data, text.size_bytes, ret_error);
    buffer_deinit(&text);
    return status;
}

enum status store_identity_open(const char *folder,
                                uint64_t store_number,
                                struct store_identity *ret_identity,
                                bool *ret_created,
                                struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, IDENTITY_NAME, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct buffer text = BUFFER_INIT;
    bool created = false;
    status = file_read_whole(path, IDENTITY_FILE_BYTES_MAX, &text, ret_error);
    if (status == STATUS_NOT_FOUND && store_number != 0) {
        created = true;
        status = create(folder, path, store_number, ret_error);
        if (status == STATUS_OK) {
            buffer_reset(&text);
            status = file_read_whole(path, IDENTITY_FILE_BYTES_MAX, &text, ret_error);
        }
    } else if (status == STATUS_NOT_FOUND) {
        status = error_set(ret_error, STATUS_NOT_FOUND, "%s: there is no store here", folder);
    }
    struct store_identity identity;
    if (status == STATUS_OK) {
        status = store_identity_decode(buffer_bytes(&text), path, &identity, ret_error);
    }
    buffer_deinit(&text);
    if (status != STATUS_OK) {
        return status;
    }
    if (store_number != 0 && identity.store_number != store_number) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "%s: this is store %" PRIu64 ", not %" PRIu64, path, identity.store_number,
                         store_number);
    }
    *ret_identity = identity;
    *ret_created = created;
    return STATUS_OK;
}

enum status store_lock_take(const char *folder,
                            struct store_lock *ret_lock,
                            struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    enum status status = file_path_join(path, folder, LOCK_NAME, ret_error);
    if (status == STATUS_OK) {
        status = file_create(path, &file, ret_error);
        if (status == STATUS_ALREADY_EXISTS) {
            status = file_open(path, &file, ret_error);
        }
    }
    if (status == STATUS_OK) {
        status = file_lock(&file, ret_error);
    }
    if (status != STATUS_OK) {
        file_close(&file);
        return status;
    }
    ret_lock->file = file;
    return STATUS_OK;
}

void store_lock_release(struct store_lock *lock)
{
    file_close(&lock->file);
}

enum status store_ballast_find(const char *folder,
                               uint64_t *ret_size_bytes,
                               bool *ret_found,
                               struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    uint64_t size = 0;
    enum status status = file_path_join(path, folder, BALLAST_NAME, ret_error);
    if (status == STATUS_OK) {
        status = file_open_read(path, &file, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_size(&file, &size, ret_error);
        file_close(&file);
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        return status;
    }
    *ret_found = status == STATUS_OK;
    *ret_size_bytes = size;
    return STATUS_OK;
}

enum status store_ballast_keep(const char *folder, uint64_t size_bytes, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    enum status status = file_path_join(path, folder, BALLAST_NAME, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    status = file_create(path, &file, ret_error);
    if (status == STATUS_ALREADY_EXISTS) {
        return STATUS_OK;
    }
    if (status == STATUS_OK && size_bytes > 0) {
        status = file_preallocate(&file, size_bytes, ret_error);
    }
    file_close(&file);
    if (status != STATUS_OK) {
        /* Half a ballast would only take space; the next call tries again. */
        (void)file_unlink(path, NULL);
    }
    return status;
}

enum status store_ballast_release(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, BALLAST_NAME, ret_error);
    if (status == STATUS_OK) {
        status = file_unlink(path, ret_error);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}
