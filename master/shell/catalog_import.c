#include "master/shell/catalog_import.h"

#include <stdio.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/daemon.h"
#include "common/io/entropy.h"
#include "common/io/file.h"
#include "master/coordinator/catalog_moved.h"
#include "master/coordinator/coordinator.h"
#include "master/shell/elector.h"

#define ARENA_BLOCK_BYTES (1U << 20)
#define LEAD_PATIENCE_NS  INT64_C(15000000000)
#define LEAD_PAUSE_US     20000
#define LEASE_US          10000000 /* at least: commits may take their time */
#define IMPORTER          "edubba-import-catalog"
#define WHERE_SIZE        1024

struct records {
    struct arena arena;
    struct catalog_put *puts;
    size_t count;
    size_t capacity;
    uint64_t generation; /* of the identity */
    size_t compared;     /* of those that were read back */
};

static enum status no_memory(struct error *ret_error)
{
    return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the catalog's records");
}

/* --- gathering ------------------------------------------------------------------------------------ */

static bool make_room(struct records *records)
{
    if (records->count < records->capacity) {
        return true;
    }
    size_t capacity = records->capacity * 2 + 1024;
    struct catalog_put *puts = memory_resize(records->puts, capacity * sizeof *puts);
    if (puts == NULL) {
        return false;
    }
    records->puts = puts;
    records->capacity = capacity;
    return true;
}

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    struct records *records = context;
    const struct catalog_put put = {.key = arena_copy(&records->arena, key),
                                    .value = arena_copy(&records->arena, value)};
    struct identity_record identity = {0};
    enum status status = STATUS_OK;

    if (key.data[0] == RECORD_KIND_IDENTITY) {
        status = identity_record_decode(value, &identity, ret_error);
        records->generation = identity.generation;
    }
    if (status == STATUS_OK &&
        (put.key.data == NULL || put.value.data == NULL || !make_room(records))) {
        status = no_memory(ret_error);
    }
    if (status == STATUS_OK) {
        records->puts[records->count++] = put;
    }
    return status;
}

/* Opening would make a new catalog where there is none. */
static enum status check_there_is_one(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, "catalog/data.mdb", ret_error);

    if (status == STATUS_OK && access(path, R_OK) != 0) {
        status = error_set(ret_error, STATUS_NOT_FOUND, "there is no catalog at %s", path);
    }
    return status;
}

static enum status gather(const struct master_settings *settings,
                          struct records *records,
                          struct error *ret_error)
{
    const struct coordinator_identity identity = {(uint64_t)settings->cluster, entropy_u64()};
    struct coordinator *embedded = NULL;
    enum status status = coordinator_open_embedded(settings->folder, &identity, &embedded,
                                                   ret_error);

    if (status == STATUS_OK) {
        status = coordinator_load(embedded, take, records, ret_error);
    }
    coordinator_close(embedded);
    return status;
}

/* --- bringing over ------------------------------------------------------------------------------ */

static enum status refuse_record(void *context,
                                 struct bytes key,
                                 struct bytes value,
                                 struct error *ret_error)
{
    (void)context;
    (void)key;
    (void)value;
    return error_set(ret_error, STATUS_ALREADY_EXISTS,
                     "etcd has a catalog of this cluster already: it is left as it is");
}

/* Both come in order of key. */
static enum status compare(void *context,
                           struct bytes key,
                           struct bytes value,
                           struct error *ret_error)
{
    struct records *records = context;
    size_t at = records->compared++;
    if (at >= records->count || !bytes_equal(records->puts[at].key, key) ||
        !bytes_equal(records->puts[at].value, value)) {
        return error_set(ret_error, STATUS_CORRUPT, "what is in etcd is not what was written");
    }
    return STATUS_OK;
}

static enum status read_back(struct coordinator *etcd,
                             struct records *records,
                             struct error *ret_error)
{
    enum status status = coordinator_load(etcd, compare, records, ret_error);
    if (status == STATUS_OK && records->compared != records->count) {
        status = error_set(ret_error, STATUS_CORRUPT, "not all that was written is in etcd");
    }
    return status;
}

/* Note in the old folder where the catalog goes: from then on it cannot be brought anywhere else. */
static enum status mark_moved(const struct master_settings *settings, struct error *ret_error)
{
    char where[WHERE_SIZE];
    (void)snprintf(where, sizeof where, "%s/%lld of %s", settings->etcd.prefix,
                   (long long)settings->cluster, settings->etcd.endpoints);
    return catalog_moved_mark(settings->folder, where, ret_error);
}

static enum status bring(struct coordinator *etcd,
                         const struct master_settings *settings,
                         struct records *records,
                         struct error *ret_error)
{
    struct error ignored = {.status = STATUS_OK};
    enum status status = coordinator_load(etcd, refuse_record, NULL, ret_error);

    if (status == STATUS_OK) {
        status = mark_moved(settings, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = coordinator_commit(etcd, records->puts, records->count, ret_error);
    if (coordinator_is_clean_failure(status)) {
        /* Nothing is in etcd.  A mark that stays is told of at the next start. */
        (void)catalog_moved_unmark(settings->folder, &ignored);
    }
    return status == STATUS_OK ? read_back(etcd, records, ret_error) : status;
}

/* --- leading ------------------------------------------------------------------------------------ */

static void on_change(void *context)
{
    (void)context; /* it is looked at now and then */
}

static enum status wait_for_lead(struct elector *elector,
                                 const struct etcd_settings *settings,
                                 uint64_t *ret_reign,
                                 struct error *ret_error)
{
    int64_t end_ns = clock_monotonic_ns() + LEAD_PATIENCE_NS;
    char leader[ETCD_LEADER_BYTES_MAX];

    for (*ret_reign = 0; *ret_reign == 0 && clock_monotonic_ns() < end_ns;) {
        clock_sleep_us(LEAD_PAUSE_US);
        *ret_reign = elector_reign(elector);
    }
    if (*ret_reign != 0) {
        return STATUS_OK;
    }
    elector_leader(elector, leader);
    return leader[0] != '\0'
               ? error_set(ret_error, STATUS_FAILED_PRECONDITION,
                           "%s leads this cluster in etcd: stop all masters first", leader)
               : error_set(ret_error, STATUS_UNAVAILABLE, "etcd at %s does not answer",
                           settings->endpoints);
}

static enum status bring_as_leader(const struct master_settings *settings,
                                   struct records *records,
                                   struct error *ret_error)
{
    struct etcd_settings etcd_settings = settings->etcd;
    const struct elector_options options = {
        .settings = &etcd_settings,
        .cluster = (uint64_t)settings->cluster,
        .address = IMPORTER,
        .on_change = on_change,
    };
    struct elector *elector = NULL;
    struct coordinator *etcd = NULL;
    uint64_t reign = 0;

    etcd_settings.lease_us = etcd_settings.lease_us < LEASE_US ? LEASE_US : etcd_settings.lease_us;
    enum status status = elector_open(&options, &elector, ret_error);
    if (status == STATUS_OK) {
        status = wait_for_lead(elector, &etcd_settings, &reign, ret_error);
    }
    if (status == STATUS_OK) {
        const struct coordinator_etcd_options coordinator = {
            .settings = &etcd_settings,
            .cluster = (uint64_t)settings->cluster,
            .reign = reign,
            .endpoint = elector_endpoint(elector),
        };
        status = coordinator_open_etcd(&coordinator, &etcd, ret_error);
    }
    if (status == STATUS_OK) {
        status = bring(etcd, settings, records, ret_error);
    }
    coordinator_close(etcd);
    elector_close(elector);
    return status;
}

enum status catalog_import(const struct master_settings *settings,
                           struct catalog_import *ret_import,
                           struct error *ret_error)
{
    struct records records = {0};
    int lock = -1;
    enum status status = check_there_is_one(settings->folder, ret_error);

    arena_init(&records.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (status == STATUS_OK) {
        status = daemon_lock_folder(settings->folder, &lock, ret_error);
    }
    if (status == STATUS_OK) {
        status = gather(settings, &records, ret_error);
    }
    if (status == STATUS_OK) {
        status = bring_as_leader(settings, &records, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_import = (struct catalog_import){records.count, records.generation};
    }
    if (lock != -1) {
        daemon_unlock_folder(lock);
    }
    memory_free(records.puts);
    arena_deinit(&records.arena);
    return status;
}
