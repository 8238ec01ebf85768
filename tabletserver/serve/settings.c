#include "tabletserver/serve/settings.h"

#include <string.h>

#include "common/base/limits.h"
#include "common/io/http.h"
#include "common/io/transport/transport_address.h"
#include "tabletserver/serve/sync/sync.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

#define READS_LEASED    "leased"
#define READS_CONFIRMED "confirmed"
#define NS_PER_US       1000
#define CLOCK_DRIFT_PPM 50000 /* what leases allow for */

/* 100 years: what is longer does not fit in 64 bits as nanoseconds, or where it is added to the time. */
#define DURATION_US_MAX (INT64_C(876000) * 3600 * 1000000)

/* Connections to other servers and masters, and what threads wake each other by. */
#define FILES_BESIDES 64

#define COMPARE_PERIOD_US            (INT64_C(3) * 24 * 3600 * 1000000)
#define MEMTABLE_LIMIT_BYTES_DEFAULT ((uint64_t)(128 * MIB))
#define BUDGET_BYTES_LEAST           ((uint64_t)(64 * MIB))
#define BUDGET_BYTES_MOST            ((uint64_t)(512 * MIB))

void server_settings_default(struct server_settings *settings)
{
    *settings = (struct server_settings){
        .address = "tcp://127.0.0.1:7401",
        .advertise = "",
        .http_address = "127.0.0.1:7481",
        .masters = "tcp://127.0.0.1:7400",
        .folder = "/var/lib/edubba/tabletserver",
        .zone = "",
        .reads = READS_LEASED,
        .beacon_us = 250000,
        .lease_us = LEASE_EARLIER_LEASE_NS / NS_PER_US,
        .grace_us = LEASE_EARLIER_GRACE_NS / NS_PER_US,
        .connections_max = 1024,
        .request_bytes_max = 0, /* these two: until it is known what memory_limit says */
        .answer_bytes_max = 0,
        .answer_stall_us = 30000000,
        .slow_operation_us = 1000000,
        .measure_load = true,
        .compare_period_us = COMPARE_PERIOD_US,
        .log_words = LOGGER_WORDS_DEFAULT,
    };
    store_settings_default(&settings->store);
    settings->store.memtable_limit_bytes = 0; /* until it is known what memory_limit says */
    settings->log_segment_bytes = settings->store.log_segment_bytes;
    settings->flush_pace_percent = settings->store.flush_pace_percent;
}

size_t server_settings_keys(struct server_settings *settings,
                            struct config_key keys[SERVER_SETTINGS_KEYS_MAX])
{
    struct store_settings *store = &settings->store;
    const struct config_key all[] = {
        {"address", CONFIG_TEXT, &settings->address, 0, 0, false},
        {"advertise", CONFIG_TEXT, &settings->advertise, 0, 0, false},
        {"http.address", CONFIG_TEXT, &settings->http_address, 0, 0, false},
        {"masters", CONFIG_TEXT_JOINED, &settings->masters, 0, 0, false},
        {"folder", CONFIG_TEXT, &settings->folder, 0, 0, false},
        {"stores", CONFIG_TEXT_LIST, &settings->stores, 0, 0, false},
        {"zone", CONFIG_TEXT, &settings->zone, 0, 0, false},
        {"insecure", CONFIG_BOOL, &settings->insecure, 0, 0, false},
        {"replicate", CONFIG_BOOL, &settings->replicate, 0, 0, false},
        {"reads", CONFIG_TEXT, &settings->reads, 0, 0, false},
        {"beacon", CONFIG_DURATION_US, &settings->beacon_us, 50000, 10000000, false},
        {"lease", CONFIG_DURATION_US, &settings->lease_us, 150000, 30000000, false},
        {"grace", CONFIG_DURATION_US, &settings->grace_us, 200000, SERVER_GRACE_US_MAX, false},
        {"worker_threads", CONFIG_NUMBER, &settings->worker_threads, 0, 256, false},
        {"connections_max", CONFIG_NUMBER, &settings->connections_max, 1, 65536, false},
        {"request_bytes_max", CONFIG_SIZE_BYTES, &settings->request_bytes_max, MIB, 1024 * GIB,
         false},
        {"answer_bytes_max", CONFIG_SIZE_BYTES, &settings->answer_bytes_max, MIB, 1024 * GIB,
         false},
        {"answer_stall", CONFIG_DURATION_US, &settings->answer_stall_us, 100000, 3600000000, false},
        {"slow_operation", CONFIG_DURATION_US, &settings->slow_operation_us, 0, DURATION_US_MAX,
         false},
        {"log.level", CONFIG_TEXT, &settings->log_words.level, 0, 0, false},
        {"log.format", CONFIG_TEXT, &settings->log_words.format, 0, 0, false},
        {"log.keep", CONFIG_DURATION_US, &store->log_keep_us, 0, INT64_C(86400000000), false},
        {"log.keep_bytes", CONFIG_SIZE_BYTES, &store->log_keep_bytes, 0, 1024 * GIB, false},
        {"memory_limit", CONFIG_SIZE_BYTES, &store->memory_limit_bytes, MIB, 1024 * GIB, false},
        {"memtable_limit", CONFIG_SIZE_BYTES, &store->memtable_limit_bytes, 65536, 1024 * GIB,
         false},
        {"log_limit", CONFIG_SIZE_BYTES, &store->log_limit_bytes, MIB, 1024 * GIB, false},
        {"log_segment", CONFIG_SIZE_BYTES, &settings->log_segment_bytes, 65536, GIB, false},
        {"flush_pace", CONFIG_NUMBER, &settings->flush_pace_percent, 1, 100, false},
        {"map_size", CONFIG_SIZE_BYTES, &store->map_size_bytes, 0, INT64_MAX, false},
        {"flush_transaction", CONFIG_SIZE_BYTES, &store->flush_transaction_bytes, 65536, 512 * MIB,
         false},
        {"ballast", CONFIG_SIZE_BYTES, &store->ballast_bytes, 0, GIB, false},
        {"scrub_rate", CONFIG_SIZE_BYTES, &store->scrub_bytes_per_second, 0, GIB, false},
        {"measure_load", CONFIG_BOOL, &settings->measure_load, 0, 0, false},
        {"compare_period", CONFIG_DURATION_US, &settings->compare_period_us, 0,
         INT64_C(31536000000000), false},
        {"gc_interval", CONFIG_DURATION_US, &store->gc_interval_us, 100000, DURATION_US_MAX, false},
    };
    _Static_assert(sizeof all / sizeof *all <= SERVER_SETTINGS_KEYS_MAX, "room for all keys");
    memcpy(keys, all, sizeof all);
    return sizeof all / sizeof *all;
}

struct lease_settings server_settings_leases(const struct server_settings *settings)
{
    return (struct lease_settings){
        .beacon_ns = settings->beacon_us * NS_PER_US,
        .lease_ns = settings->lease_us * NS_PER_US,
        .grace_ns = settings->grace_us * NS_PER_US,
        .drift_ppm = CLOCK_DRIFT_PPM,
    };
}

/* The log of tablets that are not flushed yet, what is kept after that, and one that is made ready; the anchor, LMDB's two
 * and the lock. */
static uint64_t files_of_store(const struct store_settings *store)
{
    return (store->log_limit_bytes + store->log_keep_bytes) / store->log_segment_bytes + 2 + 4;
}

uint64_t server_settings_files(const struct server_settings *settings)
{
    uint64_t stores = settings->stores.count > 0 ? settings->stores.count : 1;
    return (uint64_t)settings->connections_max + stores * files_of_store(&settings->store) +
           HTTP_CONNECTIONS_MAX + FILES_BESIDES;
}

static void check_leases(const struct server_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};
    const struct lease_settings leases = server_settings_leases(settings);
    bool is_refused = config_is_refused(reading, "beacon") || config_is_refused(reading, "lease") ||
                      config_is_refused(reading, "grace");
    if (!is_refused && lease_settings_check(&leases, &error) != STATUS_OK) {
        config_refuse(reading, "lease", "%s", error.text);
    }
}

static void check_addresses(const struct server_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};
    struct sync_masters masters;
    if (transport_address_check_listen(settings->address, settings->insecure, &error) !=
        STATUS_OK) {
        config_refuse(reading, "address", "%s", error.text);
    }
    if (settings->http_address[0] != '\0' &&
        transport_address_check_http(settings->http_address, settings->insecure, &error) !=
            STATUS_OK) {
        config_refuse(reading, "http.address", "http.address: %s", error.text);
    }
    if (settings->advertise[0] != '\0' &&
        transport_address_check_advertise(settings->advertise, &error) != STATUS_OK) {
        config_refuse(reading, "advertise", "advertise: %s", error.text);
    }
    /* Clients and other servers dial what they are told: without that nothing would work. */
    if (settings->advertise[0] == '\0' && transport_address_is_any(settings->address)) {
        config_refuse(reading, "advertise",
                      "advertise: nobody can dial %s: say where others reach this server, as in "
                      "advertise = \"tcp://server-7:7401\"",
                      settings->address);
    }
    if (sync_masters_parse(settings->masters, &masters, &error) != STATUS_OK) {
        config_refuse(reading, "masters", "%s", error.text);
    }
}

/* People are shown it, among others and in JSON; the master takes no longer one. */
static void check_zone(const struct server_settings *settings, struct config_reading *reading)
{
    size_t good_bytes = 0;
    while (settings->zone[good_bytes] >= ' ' && settings->zone[good_bytes] <= '~') {
        good_bytes++;
    }
    if (settings->zone[good_bytes] != '\0' || good_bytes > LIMIT_ZONE_BYTES) {
        config_refuse(reading, "zone",
                      "zone: letters, digits, signs and spaces of ASCII, %d at most",
                      LIMIT_ZONE_BYTES);
    }
}

/* An empty name would be the root of the file system. */
static void check_stores(const struct server_settings *settings, struct config_reading *reading)
{
    const struct config_text_list *stores = &settings->stores;
    if (settings->folder[0] == '\0') {
        config_refuse(reading, "folder", "folder must name a folder");
    }
    if (stores->count > SERVER_STORES_MAX) {
        config_refuse(
            reading, "stores",
            "stores: %zu folders, at most %d are allowed: another tablet server takes more",
            stores->count, SERVER_STORES_MAX);
        return;
    }
    for (size_t i = 0; i < stores->count; i++) {
        if (stores->items[i][0] == '\0') {
            config_refuse(reading, "stores", "stores: each must name a folder");
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(stores->items[i], stores->items[j]) == 0) {
                config_refuse(reading, "stores", "stores: %s is named twice", stores->items[i]);
            }
        }
    }
}

/* Six memtables at least: while some are flushed, others fill, and what one gives back is not so
 * much that writers wait long for it. */
static uint64_t default_memtable_limit_bytes(uint64_t memory_limit_bytes)
{
    uint64_t share_bytes = memory_limit_bytes / 6;
    return share_bytes < MEMTABLE_LIMIT_BYTES_DEFAULT ? share_bytes : MEMTABLE_LIMIT_BYTES_DEFAULT;
}

/* Requests and answers a quarter of memory_limit each: with what the rest of the server takes, all
 * of its memory stays below twice memory_limit, where that is not tiny. */
static uint64_t default_budget_bytes(uint64_t memory_limit_bytes)
{
    uint64_t quarter_bytes = memory_limit_bytes / 4;
    quarter_bytes = quarter_bytes > BUDGET_BYTES_LEAST ? quarter_bytes : BUDGET_BYTES_LEAST;
    return quarter_bytes < BUDGET_BYTES_MOST ? quarter_bytes : BUDGET_BYTES_MOST;
}

/* A tablet without copies is nobody else's: there is no one to ask. */
static void check_reads(struct server_settings *settings, struct config_reading *reading)
{
    settings->reads_confirmed = strcmp(settings->reads, READS_CONFIRMED) == 0;
    if (!settings->reads_confirmed && strcmp(settings->reads, READS_LEASED) != 0) {
        config_refuse(reading, "reads",
                      "reads must be \"" READS_LEASED "\" or \"" READS_CONFIRMED "\"");
    } else if (settings->reads_confirmed && !settings->replicate &&
               !config_is_refused(reading, "replicate")) {
        config_refuse(reading, "reads",
                      "reads = \"" READS_CONFIRMED "\" asks the servers of other copies: it needs "
                      "replicate = true");
    }
}

void server_settings_check(void *context, struct config_reading *reading)
{
    struct server_settings *settings = context;
    struct store_settings *store = &settings->store;

    store->relearns = settings->replicate;
    check_reads(settings, reading);

    /* The file's numbers are wide; these two are not. */
    store->log_segment_bytes = (uint32_t)(settings->log_segment_bytes / 4096 * 4096);
    store->flush_pace_percent = (uint32_t)settings->flush_pace_percent;

    settings->log = logger_words_take(&settings->log_words, reading);
    if (settings->request_bytes_max == 0) {
        settings->request_bytes_max = default_budget_bytes(store->memory_limit_bytes);
    }
    if (settings->answer_bytes_max == 0) {
        settings->answer_bytes_max = default_budget_bytes(store->memory_limit_bytes);
    }
    if (store->memtable_limit_bytes == 0) {
        store->memtable_limit_bytes = default_memtable_limit_bytes(store->memory_limit_bytes);
    }
    if (store->memtable_limit_bytes > store->memory_limit_bytes &&
        !config_is_refused(reading, "memory_limit")) {
        config_refuse(reading, "memtable_limit",
                      "memtable_limit must not be larger than memory_limit");
    }
    check_stores(settings, reading);
    check_zone(settings, reading);
    check_leases(settings, reading);
    check_addresses(settings, reading);
}
