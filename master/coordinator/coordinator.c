#include "master/coordinator/coordinator.h"

#include "common/base/assert.h"
#include "common/base/buffer.h"
#include "master/core/record/record.h"

/* What a first look at the records finds. */
struct findings {
    struct buffer identity; /* the value of its record */
    bool has_other;
};

static enum status look(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    struct findings *findings = context;
    char kind = '\0';
    uint64_t number = 0;
    enum status status = record_key_decode(key, &kind, &number, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    if (kind != RECORD_KIND_IDENTITY) {
        findings->has_other = true;
        return STATUS_OK;
    }
    buffer_append_bytes(&findings->identity, value);
    return findings->identity.failed
               ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to look at the catalog")
               : STATUS_OK;
}

static enum status check_identity(const struct identity_record *found,
                                  const struct coordinator_identity *wanted,
                                  struct error *ret_error)
{
    if (found->format > CATALOG_FORMAT) {
        return error_set(ret_error, STATUS_VERSION,
                         "the catalog has format %u, this edubba-master reads up to %d: use the "
                         "newer version that wrote it",
                         (unsigned)found->format, CATALOG_FORMAT);
    }
    if (found->cluster != wanted->cluster) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "the catalog belongs to cluster %llu, the configuration says %llu",
                         (unsigned long long)found->cluster, (unsigned long long)wanted->cluster);
    }
    return STATUS_OK;
}

static enum status commit_first(struct coordinator *coordinator,
                                const struct coordinator_identity *identity,
                                struct error *ret_error)
{
    const struct identity_record first = {CATALOG_FORMAT, identity->cluster, identity->generation,
                                          0};
    const struct counters_record counters = {
        .table_next = 1, .tablet_next = 1, .version = 0, .tablet_first = 1};
    struct record_key identity_key = record_key_of(RECORD_KIND_IDENTITY, 0);
    struct record_key counters_key = record_key_of(RECORD_KIND_COUNTERS, 0);
    struct buffer identity_value = BUFFER_INIT;
    struct buffer counters_value = BUFFER_INIT;
    enum status status = STATUS_OK;

    ASSERT(identity->generation != 0);
    identity_record_encode(&first, &identity_value);
    counters_record_encode(&counters, &counters_value);
    const struct catalog_put puts[] = {
        {record_key_bytes(&identity_key), buffer_bytes(&identity_value), false},
        {record_key_bytes(&counters_key), buffer_bytes(&counters_value), false},
    };
    if (identity_value.failed || counters_value.failed) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for a new catalog");
    } else {
        status = coordinator_commit(coordinator, puts, 2, ret_error);
    }
    buffer_deinit(&identity_value);
    buffer_deinit(&counters_value);
    return status;
}

enum status coordinator_settle_found(struct coordinator *coordinator,
                                     const struct coordinator_identity *identity,
                                     struct bytes value,
                                     bool has_other,
                                     struct error *ret_error)
{
    struct identity_record found;

    if (value.size_bytes > 0) {
        enum status status = identity_record_decode(value, &found, ret_error);
        return status == STATUS_OK ? check_identity(&found, identity, ret_error) : status;
    }
    if (has_other) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog has records but no identity");
    }
    return commit_first(coordinator, identity, ret_error);
}

enum status coordinator_settle_identity(struct coordinator *coordinator,
                                        const struct coordinator_identity *identity,
                                        struct error *ret_error)
{
    struct findings findings = {.identity = BUFFER_INIT};
    enum status status = coordinator_load(coordinator, look, &findings, ret_error);

    if (status == STATUS_OK) {
        status = coordinator_settle_found(coordinator, identity, buffer_bytes(&findings.identity),
                                          findings.has_other, ret_error);
    }
    buffer_deinit(&findings.identity);
    return status;
}

void coordinator_cancel(struct coordinator *coordinator)
{
    if (coordinator->methods->cancel != NULL) {
        coordinator->methods->cancel(coordinator);
    }
}

void coordinator_close(struct coordinator *coordinator)
{
    if (coordinator != NULL) {
        coordinator->methods->close(coordinator);
    }
}

enum status coordinator_load(struct coordinator *coordinator,
                             coordinator_take take,
                             void *context,
                             struct error *ret_error)
{
    return coordinator->methods->load(coordinator, take, context, ret_error);
}

enum status coordinator_commit(struct coordinator *coordinator,
                               const struct catalog_put *puts,
                               size_t put_count,
                               struct error *ret_error)
{
    return coordinator->methods->commit(coordinator, puts, put_count, ret_error);
}

bool coordinator_is_clean_failure(enum status status)
{
    return status == STATUS_NO_SPACE || status == STATUS_NO_MEMORY || status == STATUS_LIMIT;
}
