/* The coordinator on etcd: keys (etcd_keys.h), commits (etcd_journal.h), reading (etcd_scan.h). */
#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"
#include "master/coordinator/etcd_journal.h"
#include "master/coordinator/etcd_scan.h"

struct etcd_coordinator {
    struct coordinator base;
    struct etcd_keys keys;
    struct etcd_client *client;
    struct etcd_journal *journal;
    uint64_t reign;
};

static struct etcd_coordinator *etcd_of(struct coordinator *coordinator)
{
    return (struct etcd_coordinator *)coordinator;
}

/* --- who leads ---------------------------------------------------------------------------------- */

static enum status take_leader(void *context,
                               const struct etcd_key_value *item,
                               struct error *ret_error)
{
    uint64_t *reign = context;
    (void)ret_error;
    *reign = (uint64_t)item->created;
    return STATUS_OK;
}

static enum status check_lead(const struct etcd_coordinator *etcd, struct error *ret_error)
{
    const struct etcd_span leader = {.key = bytes_of_text(etcd->keys.leader)};
    uint64_t reign = 0;
    enum status status = etcd_scan(etcd->client, &leader, take_leader, &reign, ret_error);

    return status == STATUS_OK && reign != etcd->reign
               ? error_set(ret_error, STATUS_ABORTED, "this master does not lead any more")
               : status;
}

static bool is_about_content(enum status status)
{
    return status == STATUS_OK || status == STATUS_CORRUPT || status == STATUS_VERSION ||
           status == STATUS_FAILED_PRECONDITION;
}

/* Records are read as they were at one moment: who leads still after it led then, and nobody else was writing.  Who does not
 * may have seen half of what another one wrote, and has nothing to say of it, least of all that it is damaged. */
static enum status believe(const struct etcd_coordinator *etcd,
                           enum status status,
                           struct error *ret_error)
{
    if (!is_about_content(status)) {
        return status;
    }
    struct error lead = {.status = STATUS_OK};
    enum status leads = check_lead(etcd, &lead);
    if (leads != STATUS_OK && ret_error != NULL) {
        *ret_error = lead;
    }
    return leads == STATUS_OK ? status : leads;
}

/* --- load --------------------------------------------------------------------------------------- */

struct taking {
    const struct etcd_keys *keys;
    coordinator_take take;
    void *context;
};

static enum status take_record(void *context,
                               const struct etcd_key_value *item,
                               struct error *ret_error)
{
    const struct taking *taking = context;
    struct bytes key = BYTES_EMPTY;

    if (!etcd_key_to_record(taking->keys, item->key, &key)) {
        char text[BYTES_PRINTABLE_SIZE_MAX];
        return error_set(ret_error, STATUS_CORRUPT, "%s in etcd is no record of a catalog",
                         bytes_printable(item->key, text));
    }
    return taking->take(taking->context, key, item->value, ret_error);
}

static struct etcd_span records_of(const struct etcd_coordinator *etcd)
{
    return (struct etcd_span){bytes_of_text(etcd->keys.record),
                              bytes_of_text(etcd->keys.record_end)};
}

static enum status etcd_load(struct coordinator *coordinator,
                             coordinator_take take,
                             void *context,
                             struct error *ret_error)
{
    struct etcd_coordinator *etcd = etcd_of(coordinator);
    struct taking taking = {&etcd->keys, take, context};
    const struct etcd_span span = records_of(etcd);
    enum status status = etcd_scan(etcd->client, &span, take_record, &taking, ret_error);
    return believe(etcd, status, ret_error);
}

/* --- the rest ----------------------------------------------------------------------------------- */

static enum status etcd_commit(struct coordinator *coordinator,
                               const struct catalog_put *puts,
                               size_t put_count,
                               struct error *ret_error)
{
    return etcd_journal_commit(etcd_of(coordinator)->journal, puts, put_count, ret_error);
}

static void etcd_cancel(struct coordinator *coordinator)
{
    etcd_client_cancel(etcd_of(coordinator)->client);
}

static void etcd_close(struct coordinator *coordinator)
{
    struct etcd_coordinator *etcd = etcd_of(coordinator);
    etcd_journal_close(etcd->journal);
    etcd_client_close(etcd->client);
    memory_free(etcd);
}

static const struct coordinator_methods etcd_methods = {
    .load = etcd_load,
    .commit = etcd_commit,
    .cancel = etcd_cancel,
    .close = etcd_close,
};

/* As coordinator_settle_identity(), which would read the whole catalog for it. */
static enum status settle_identity(struct etcd_coordinator *etcd,
                                   const struct coordinator_identity *identity,
                                   struct error *ret_error)
{
    struct record_key record = record_key_of(RECORD_KIND_IDENTITY, 0);
    struct etcd_key key = etcd_key_of_record(&etcd->keys, record_key_bytes(&record));
    const struct etcd_span one = {.key = etcd_key_bytes(&key)};
    const struct etcd_span all = records_of(etcd);
    struct buffer value = BUFFER_INIT;
    struct buffer other = BUFFER_INIT;
    bool found = false;
    bool any = false;
    enum status status = etcd_read_first(etcd->client, &one, &found, &value, ret_error);

    if (status == STATUS_OK) {
        status = etcd_read_first(etcd->client, &all, &any, &other, ret_error);
    }
    if (status == STATUS_OK) {
        status = coordinator_settle_found(&etcd->base, identity, buffer_bytes(&value), any,
                                          ret_error);
    }
    buffer_deinit(&value);
    buffer_deinit(&other);
    return status;
}

static enum status open_parts(struct etcd_coordinator *etcd,
                              const struct coordinator_etcd_options *options,
                              struct error *ret_error)
{
    const struct coordinator_identity identity = {options->cluster, options->generation};
    enum status status = etcd_keys_make(options->settings->prefix, options->cluster, &etcd->keys,
                                        ret_error);
    if (status == STATUS_OK) {
        status = etcd_client_open(options->settings, &etcd->client, ret_error);
    }
    if (status == STATUS_OK) {
        etcd_client_begin_at(etcd->client, options->endpoint);
        status = etcd_journal_open(etcd->client, &etcd->keys, options->reign, &etcd->journal,
                                   ret_error);
    }
    if (status == STATUS_OK && options->generation != 0) {
        status = settle_identity(etcd, &identity, ret_error);
    }
    return status == STATUS_OK || etcd->client == NULL ? status : believe(etcd, status, ret_error);
}

enum status coordinator_open_etcd(const struct coordinator_etcd_options *options,
                                  struct coordinator **ret_coordinator,
                                  struct error *ret_error)
{
    struct etcd_coordinator *etcd = memory_allocate_zeroed(1, sizeof *etcd);

    if (etcd == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to open the catalog in etcd");
    }
    etcd->base.methods = &etcd_methods;
    etcd->reign = options->reign;
    enum status status = open_parts(etcd, options, ret_error);
    if (status != STATUS_OK) {
        etcd_close(&etcd->base);
        return status;
    }
    *ret_coordinator = &etcd->base;
    return STATUS_OK;
}
