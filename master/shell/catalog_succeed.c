#include "master/shell/catalog_succeed.h"

#include "common/io/entropy.h"
#include "common/io/logger.h"
#include "master/core/record/record.h"

/* More than any catalog gives in its life; and as often as any is lost. */
#define NUMBERS_AHEAD (UINT64_C(1) << 32)
#define NUMBERS_MAX   (UINT64_C(1) << 62)

struct found {
    struct identity_record identity;
    struct counters_record counters;
};

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    struct found *found = context;

    switch (key.data[0]) {
    case RECORD_KIND_IDENTITY:
        return identity_record_decode(value, &found->identity, ret_error);
    case RECORD_KIND_COUNTERS:
        return counters_record_decode(value, &found->counters, ret_error);
    default:
        return STATUS_OK;
    }
}

static enum status commit(struct coordinator *coordinator,
                          const struct found *found,
                          struct error *ret_error)
{
    struct record_key identity_key = record_key_of(RECORD_KIND_IDENTITY, 0);
    struct record_key counters_key = record_key_of(RECORD_KIND_COUNTERS, 0);
    struct buffer identity = BUFFER_INIT;
    struct buffer counters = BUFFER_INIT;
    enum status status = STATUS_OK;

    identity_record_encode(&found->identity, &identity);
    counters_record_encode(&found->counters, &counters);
    const struct catalog_put puts[] = {
        {record_key_bytes(&identity_key), buffer_bytes(&identity), false},
        {record_key_bytes(&counters_key), buffer_bytes(&counters), false},
    };
    if (identity.failed || counters.failed) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for the catalog's identity");
    } else {
        status = coordinator_commit(coordinator, puts, 2, ret_error);
    }
    buffer_deinit(&identity);
    buffer_deinit(&counters);
    return status;
}

static enum status move_ahead(struct counters_record *counters, struct error *ret_error)
{
    if (counters->table_next > NUMBERS_MAX || counters->tablet_next > NUMBERS_MAX ||
        counters->version > NUMBERS_MAX) {
        return error_set(ret_error, STATUS_OUT_OF_RANGE,
                         "catalog.succeeds: this catalog has no numbers left to go ahead to");
    }
    counters->table_next += NUMBERS_AHEAD;
    counters->tablet_next += NUMBERS_AHEAD;
    counters->version += NUMBERS_AHEAD;
    counters->tablet_first = counters->tablet_next;
    return STATUS_OK;
}

enum status catalog_succeed(struct coordinator *coordinator, uint64_t lost, struct error *ret_error)
{
    struct found found = {0};
    enum status status = coordinator_load(coordinator, take, &found, ret_error);

    if (status != STATUS_OK || found.identity.predecessor == lost) {
        return status;
    }
    if (found.identity.generation == lost) {
        found.identity.generation = entropy_u64();
    }
    found.identity.predecessor = lost;
    status = move_ahead(&found.counters, ret_error);
    if (status == STATUS_OK) {
        status = commit(coordinator, &found, ret_error);
    }
    if (status == STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "catalog_succeeds",
                  LOG_ID("generation", found.identity.generation), LOG_ID("predecessor", lost),
                  LOG_U64("tablet_next", found.counters.tablet_next));
    }
    return status;
}
