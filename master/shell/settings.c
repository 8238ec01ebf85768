#include "master/shell/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/logger_words.h"
#include "common/io/transport/transport_address.h"
#include "master/coordinator/etcd_keys.h"
#include "master/heat/heat_map.h"

#define MICROSECOND_NS INT64_C(1000)
#define SECOND_US      INT64_C(1000000)
#define HOUR_US        (3600 * SECOND_US)
#define MIB            (INT64_C(1) << 20)

/* As written in the file; settings_check() turns them into what the core wants. */
static struct {
    struct master_settings settings;
    int64_t server_timeout_us;
    int64_t place_timeout_us;
    int64_t sync_hold_us;
    int64_t sync_interval_us;
    int64_t sync_interval_quick_us;
    int64_t request_timeout_us;
    int64_t splits_per_server;
    int64_t replicas;
    int64_t min_in_sync;
    int64_t replace_after_us;
    int64_t keep_outsiders_us;
    int64_t moves_per_server;
    int64_t requests_max;
    int64_t tables_max;
    int64_t tablets_max;
    struct {
        int64_t split_percent;
        int64_t split_rate;
        int64_t split_after_us;
        int64_t split_after_far_us;
        int64_t split_pause_us;
        int64_t pieces_max;
        int64_t observations_min;
        int64_t monotonic_percent;
        int64_t ahead_pause_us;
        int64_t merge_after_us;
        int64_t merge_after_split_us;
        int64_t merges_max;
        int64_t imbalance_percent;
        int64_t imbalance_after_us;
        int64_t imbalance_after_far_us;
        int64_t impact_permille;
        int64_t idle_percent;
        int64_t move_pause_us;
        int64_t far_times;
        int64_t piece_percent;
        int64_t uneven_percent;
        int64_t uneven_far_percent;
        int64_t crossing_percent;
        int64_t merge_percent;
        int64_t merge_size_percent;
        int64_t imbalance_far_times;
        int64_t refusal_pause_us;
        int64_t ahead_by_us;
        int64_t ahead_awaited_us;
    } balance;
    const char *coordinator;
    const char *succeeds;
    struct logger_words log;
} raw;

static const struct config_key keys[] = {
    {"address", CONFIG_TEXT, &raw.settings.address, 0, 0, false},
    {"advertise", CONFIG_TEXT, &raw.settings.advertise, 0, 0, false},
    {"insecure", CONFIG_BOOL, &raw.settings.insecure, 0, 0, false},
    {"http.address", CONFIG_TEXT, &raw.settings.http_address, 0, 0, false},
    {"folder", CONFIG_TEXT, &raw.settings.folder, 0, 0, false},
    {"coordinator", CONFIG_TEXT, &raw.coordinator, 0, 0, false},
    {"etcd.endpoints", CONFIG_TEXT_JOINED, &raw.settings.etcd.endpoints, 0, 0, false},
    {"etcd.prefix", CONFIG_TEXT, &raw.settings.etcd.prefix, 0, 0, false},
    {"etcd.ca", CONFIG_TEXT, &raw.settings.etcd.ca, 0, 0, false},
    {"etcd.certificate", CONFIG_TEXT, &raw.settings.etcd.certificate, 0, 0, false},
    {"etcd.key", CONFIG_TEXT, &raw.settings.etcd.key, 0, 0, false},
    {"etcd.lease", CONFIG_DURATION_US, &raw.settings.etcd.lease_us, 2 * SECOND_US, 60 * SECOND_US,
     false},
    {"catalog.succeeds", CONFIG_TEXT, &raw.succeeds, 0, 0, false},
    {"cluster", CONFIG_NUMBER, &raw.settings.cluster, 1, UINT32_MAX, false},
    {"server.timeout", CONFIG_DURATION_US, &raw.server_timeout_us, SECOND_US / 10, HOUR_US, false},
    {"server.place_timeout", CONFIG_DURATION_US, &raw.place_timeout_us, SECOND_US / 10, HOUR_US,
     false},
    {"sync.hold", CONFIG_DURATION_US, &raw.sync_hold_us, 0, 60 * SECOND_US, false},
    {"sync.interval", CONFIG_DURATION_US, &raw.sync_interval_us, 1000, 60 * SECOND_US, false},
    {"sync.interval_quick", CONFIG_DURATION_US, &raw.sync_interval_quick_us, 1000, 60 * SECOND_US,
     false},
    {"tablet.soft_limit_start", CONFIG_SIZE_BYTES, &raw.settings.catalog.soft_limit_start_bytes,
     65536, MIB << 20, false},
    {"tablet.soft_limit_max", CONFIG_SIZE_BYTES, &raw.settings.catalog.soft_limit_max_bytes, 65536,
     MIB << 20, false},
    {"tablet.splits_per_server", CONFIG_NUMBER, &raw.splits_per_server, 1, 1000, false},
    {"replication.replicas", CONFIG_NUMBER, &raw.replicas, 1, LIMIT_REPLICAS, false},
    {"replication.min_in_sync", CONFIG_NUMBER, &raw.min_in_sync, 1, LIMIT_REPLICAS, false},
    {"replication.replace_after", CONFIG_DURATION_US, &raw.replace_after_us, SECOND_US,
     24 * HOUR_US, false},
    {"replication.keep_outsiders", CONFIG_DURATION_US, &raw.keep_outsiders_us, 0, 720 * HOUR_US,
     false},
    {"replication.moves_per_server", CONFIG_NUMBER, &raw.moves_per_server, 1, 1000, false},
    {"balance.enabled", CONFIG_BOOL, &raw.settings.catalog.balance.enabled, 0, 0, false},
    {"balance.split_percent", CONFIG_NUMBER, &raw.balance.split_percent, 1, 100, false},
    {"balance.split_rate", CONFIG_NUMBER, &raw.balance.split_rate, 0, INT64_MAX, false},
    {"balance.split_after", CONFIG_DURATION_US, &raw.balance.split_after_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.split_after_far", CONFIG_DURATION_US, &raw.balance.split_after_far_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.split_pause", CONFIG_DURATION_US, &raw.balance.split_pause_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.pieces_max", CONFIG_NUMBER, &raw.balance.pieces_max, 2, BALANCE_PIECES_MAX, false},
    {"balance.observations_min", CONFIG_NUMBER, &raw.balance.observations_min, 1, 1000000, false},
    {"balance.monotonic_percent", CONFIG_NUMBER, &raw.balance.monotonic_percent, 1, 100, false},
    {"balance.ahead_pause", CONFIG_DURATION_US, &raw.balance.ahead_pause_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.merge_after", CONFIG_DURATION_US, &raw.balance.merge_after_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.merge_after_split", CONFIG_DURATION_US, &raw.balance.merge_after_split_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.merges_max", CONFIG_NUMBER, &raw.balance.merges_max, 1, 1000, false},
    {"balance.imbalance_percent", CONFIG_NUMBER, &raw.balance.imbalance_percent, 1, 1000, false},
    {"balance.imbalance_after", CONFIG_DURATION_US, &raw.balance.imbalance_after_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.imbalance_after_far", CONFIG_DURATION_US, &raw.balance.imbalance_after_far_us,
     SECOND_US, 720 * HOUR_US, false},
    {"balance.impact_permille", CONFIG_NUMBER, &raw.balance.impact_permille, 1, 1000, false},
    {"balance.idle_percent", CONFIG_NUMBER, &raw.balance.idle_percent, 0, 100, false},
    {"balance.move_pause", CONFIG_DURATION_US, &raw.balance.move_pause_us, SECOND_US, 720 * HOUR_US,
     false},
    {"balance.far_times", CONFIG_NUMBER, &raw.balance.far_times, 2, 100, false},
    {"balance.piece_percent", CONFIG_NUMBER, &raw.balance.piece_percent, 10, 100, false},
    {"balance.uneven_percent", CONFIG_NUMBER, &raw.balance.uneven_percent, 1, 100, false},
    {"balance.uneven_far_percent", CONFIG_NUMBER, &raw.balance.uneven_far_percent, 1, 100, false},
    {"balance.crossing_percent", CONFIG_NUMBER, &raw.balance.crossing_percent, 1, 100, false},
    {"balance.merge_percent", CONFIG_NUMBER, &raw.balance.merge_percent, 0, 90, false},
    {"balance.merge_size_percent", CONFIG_NUMBER, &raw.balance.merge_size_percent, 1, 100, false},
    {"balance.imbalance_far_times", CONFIG_NUMBER, &raw.balance.imbalance_far_times, 1, 100, false},
    {"balance.refusal_pause", CONFIG_DURATION_US, &raw.balance.refusal_pause_us, SECOND_US,
     720 * HOUR_US, false},
    {"balance.ahead_by", CONFIG_DURATION_US, &raw.balance.ahead_by_us, SECOND_US, HOUR_US, false},
    {"balance.ahead_awaited", CONFIG_DURATION_US, &raw.balance.ahead_awaited_us, SECOND_US, HOUR_US,
     false},
    {"limits.connections_max", CONFIG_NUMBER, &raw.settings.connections_max, 8, 1000000, false},
    {"limits.answer_bytes_max", CONFIG_SIZE_BYTES, &raw.settings.answer_bytes_max, MIB, MIB << 20,
     false},
    {"limits.answer_stall", CONFIG_DURATION_US, &raw.settings.answer_stall_us, SECOND_US / 10,
     HOUR_US, false},
    {"limits.requests_max", CONFIG_NUMBER, &raw.requests_max, 1, 1000000, false},
    {"limits.tables_max", CONFIG_NUMBER, &raw.tables_max, 1, 10000000, false},
    {"limits.tablets_max", CONFIG_NUMBER, &raw.tablets_max, 1, 100000000, false},
    {"request.timeout", CONFIG_DURATION_US, &raw.request_timeout_us, SECOND_US / 10, HOUR_US,
     false},
    {"request.slow", CONFIG_DURATION_US, &raw.settings.slow_us, 0, HOUR_US, false},
    {"heat.bytes_max", CONFIG_SIZE_BYTES, &raw.settings.heat_bytes_max, MIB, MIB << 10, false},
    {"log.level", CONFIG_TEXT, &raw.log.level, 0, 0, false},
    {"log.format", CONFIG_TEXT, &raw.log.format, 0, 0, false},
};

/* Of balance, as the file has them. */
static void put_balance_defaults(const struct balance_settings *balance)
{
    raw.balance.split_percent = balance->split_percent;
    raw.balance.split_rate = (int64_t)balance->split_rate;
    raw.balance.split_after_us = balance->split_after_ns / MICROSECOND_NS;
    raw.balance.split_after_far_us = balance->split_after_far_ns / MICROSECOND_NS;
    raw.balance.split_pause_us = balance->split_pause_ns / MICROSECOND_NS;
    raw.balance.pieces_max = balance->pieces_max;
    raw.balance.observations_min = balance->observations_min;
    raw.balance.monotonic_percent = balance->monotonic_percent;
    raw.balance.ahead_pause_us = balance->ahead_pause_ns / MICROSECOND_NS;
    raw.balance.merge_after_us = balance->merge_after_ns / MICROSECOND_NS;
    raw.balance.merge_after_split_us = balance->merge_after_split_ns / MICROSECOND_NS;
    raw.balance.merges_max = balance->merges_max;
    raw.balance.imbalance_percent = balance->imbalance_percent;
    raw.balance.imbalance_after_us = balance->imbalance_after_ns / MICROSECOND_NS;
    raw.balance.imbalance_after_far_us = balance->imbalance_after_far_ns / MICROSECOND_NS;
    raw.balance.impact_permille = balance->impact_permille;
    raw.balance.idle_percent = balance->idle_percent;
    raw.balance.move_pause_us = balance->move_pause_ns / MICROSECOND_NS;
    raw.balance.far_times = balance->far_times;
    raw.balance.piece_percent = balance->piece_percent;
    raw.balance.uneven_percent = balance->uneven_percent;
    raw.balance.uneven_far_percent = balance->uneven_far_percent;
    raw.balance.crossing_percent = balance->crossing_percent;
    raw.balance.merge_percent = balance->merge_percent;
    raw.balance.merge_size_percent = balance->merge_size_percent;
    raw.balance.imbalance_far_times = balance->imbalance_far_times;
    raw.balance.refusal_pause_us = balance->refusal_pause_ns / MICROSECOND_NS;
    raw.balance.ahead_by_us = balance->ahead_by_ns / MICROSECOND_NS;
    raw.balance.ahead_awaited_us = balance->ahead_awaited_ns / MICROSECOND_NS;
}

struct master_settings *settings_with_defaults(void)
{
    struct catalog_settings *catalog = &raw.settings.catalog;

    catalog_settings_default(catalog);
    raw.settings.address = "tcp://127.0.0.1:7400";
    raw.settings.advertise = "";
    raw.coordinator = "embedded";
    raw.succeeds = "";
    raw.settings.etcd = (struct etcd_settings){
        .endpoints = "http://127.0.0.1:2379",
        .prefix = "/edubba",
        .ca = "",
        .certificate = "",
        .key = "",
        .lease_us = 2 * SECOND_US,
    };
    raw.settings.http_address = "127.0.0.1:7480";
    raw.settings.folder = "/var/lib/edubba/master";
    raw.settings.cluster = 1;
    raw.settings.connections_max = 4096;
    raw.settings.answer_bytes_max = (uint64_t)(512 * MIB);
    raw.settings.answer_stall_us = 30 * SECOND_US;
    raw.settings.slow_us = SECOND_US;
    raw.settings.heat_bytes_max = HEAT_BYTES_MAX;
    raw.server_timeout_us = catalog->server_timeout_ns / MICROSECOND_NS;
    raw.place_timeout_us = catalog->place_timeout_ns / MICROSECOND_NS;
    raw.sync_hold_us = catalog->sync_hold_ns / MICROSECOND_NS;
    raw.sync_interval_us = (int64_t)catalog->sync_interval_ms * 1000;
    raw.sync_interval_quick_us = (int64_t)catalog->sync_interval_quick_ms * 1000;
    raw.request_timeout_us = catalog->request_timeout_ns / MICROSECOND_NS;
    raw.splits_per_server = catalog->splits_per_server;
    raw.replicas = catalog->replicas;
    raw.min_in_sync = catalog->min_in_sync;
    raw.replace_after_us = catalog->replace_after_ns / MICROSECOND_NS;
    raw.keep_outsiders_us = catalog->keep_outsiders_ns / MICROSECOND_NS;
    raw.moves_per_server = catalog->moves_per_server;
    raw.requests_max = catalog->requests_max;
    raw.tables_max = (int64_t)catalog->tables_max;
    raw.tablets_max = (int64_t)catalog->tablets_max;
    put_balance_defaults(&catalog->balance);
    raw.log = LOGGER_WORDS_DEFAULT;
    return &raw.settings;
}

const struct config_key *settings_keys(size_t *ret_count)
{
    *ret_count = sizeof keys / sizeof *keys;
    return keys;
}

static void check_addresses(const struct master_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};
    if (transport_address_check_listen(settings->address, settings->insecure, &error) !=
        STATUS_OK) {
        config_refuse(reading, "address", "%s", error.text);
    }
    if (transport_address_check_http(settings->http_address, settings->insecure, &error) !=
        STATUS_OK) {
        config_refuse(reading, "http.address", "http.address: %s", error.text);
    }
}

static void check_etcd(const struct master_settings *settings, struct config_reading *reading)
{
    const struct etcd_settings *etcd = &settings->etcd;
    struct etcd_keys made;
    struct error error = {.status = STATUS_OK};

    if (etcd_endpoints_check(etcd->endpoints, settings->insecure, &error) != STATUS_OK) {
        config_refuse(reading, "etcd.endpoints", "etcd.endpoints: %s", error.text);
    }
    if (etcd_keys_make(etcd->prefix, 1, &made, &error) != STATUS_OK) {
        config_refuse(reading, "etcd.prefix", "%s", error.text);
    }
    config_refuse_unreadable(reading, "etcd.ca", etcd->ca);
    config_refuse_unreadable(reading, "etcd.certificate", etcd->certificate);
    config_refuse_unreadable(reading, "etcd.key", etcd->key);
    if ((etcd->certificate[0] == '\0') != (etcd->key[0] == '\0')) {
        config_refuse(reading, "etcd.key", "etcd.certificate and etcd.key go together");
    }
    if (etcd->lease_us % SECOND_US != 0) {
        config_refuse(reading, "etcd.lease", "etcd.lease: etcd counts in whole seconds");
    }
    /* Others must be able to dial what the active master writes into etcd. */
    if (settings->advertise[0] == '\0' && transport_address_is_any(settings->address)) {
        config_refuse(reading, "advertise",
                      "advertise: nobody can dial %s: say where others reach this master",
                      settings->address);
    }
}

static void check_coordinator(struct master_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};

    settings->on_etcd = strcmp(raw.coordinator, "etcd") == 0;
    if (!settings->on_etcd && strcmp(raw.coordinator, "embedded") != 0) {
        config_refuse(reading, "coordinator", "coordinator = \"%s\": must be embedded or etcd",
                      raw.coordinator);
    }
    if (settings->advertise[0] != '\0' &&
        transport_address_check_advertise(settings->advertise, &error) != STATUS_OK) {
        config_refuse(reading, "advertise", "advertise: %s", error.text);
    }
    if (settings->on_etcd) {
        check_etcd(settings, reading);
    }
}

/* As text: generations have all 64 bits, numbers of the file 63. */
static void check_succeeds(struct master_settings *settings, struct config_reading *reading)
{
    char *end = NULL;

    errno = 0;
    settings->succeeds = raw.succeeds[0] == '\0' ? 0 : strtoull(raw.succeeds, &end, 10);
    if (raw.succeeds[0] != '\0' && (settings->succeeds == 0 || errno != 0 || *end != '\0' ||
                                    raw.succeeds[0] < '0' || raw.succeeds[0] > '9')) {
        config_refuse(reading, "catalog.succeeds",
                      "catalog.succeeds = \"%s\": must be the number of the catalog that is lost, "
                      "as tablet servers name it",
                      raw.succeeds);
    }
}

/* Between a held sync and the next a server is not heard of for the hold and the quick pause: half
 * of the timeout and a quarter of it leave a quarter for what is late. */
static void check_quick(struct config_reading *reading)
{
    int64_t most_us = raw.server_timeout_us / 4;
    const struct config_key most = {.type = CONFIG_DURATION_US, .target = &most_us};
    char text[CONFIG_VALUE_SIZE_MAX];

    if (raw.sync_interval_quick_us > most_us && !config_is_refused(reading, "server.timeout")) {
        config_format_value(&most, text);
        config_refuse(reading, "sync.interval_quick",
                      "sync.interval_quick: allowed are up to %s, a quarter of server.timeout: "
                      "servers would not be heard of for too long",
                      text);
    }
}

/* What one says of the other: `key` is refused, unless the other one was. */
static void refuse_balance(
    struct config_reading *reading, bool wrong, const char *key, const char *other, const char *why)
{
    if (wrong && !config_is_refused(reading, other)) {
        config_refuse(reading, key, "%s must not be above %s: %s", key, other, why);
    }
}

/* A decision that would be taken back by the next one, or never be made, is a mistake. */
static void check_balance(struct config_reading *reading)
{
    refuse_balance(reading, raw.balance.split_after_far_us > raw.balance.split_after_us,
                   "balance.split_after_far", "balance.split_after",
                   "what is far above the limit is split sooner, not later");
    refuse_balance(reading, raw.balance.imbalance_after_far_us > raw.balance.imbalance_after_us,
                   "balance.imbalance_after_far", "balance.imbalance_after",
                   "a server that is far above the mean is relieved sooner, not later");
    refuse_balance(reading, raw.balance.uneven_percent > raw.balance.uneven_far_percent,
                   "balance.uneven_percent", "balance.uneven_far_percent",
                   "what is far above the limit takes the worse cut, not the better one");
    refuse_balance(reading, raw.balance.merge_percent > raw.balance.piece_percent,
                   "balance.merge_percent", "balance.piece_percent",
                   "pieces of a split would be merged again");
}

/* Of keys whose values were refused nothing is said: their targets hold others. */
static void check_together(const struct catalog_settings *catalog, struct config_reading *reading)
{
    if ((raw.sync_hold_us * 2 > raw.server_timeout_us ||
         raw.sync_interval_us * 2 > raw.server_timeout_us) &&
        !config_is_refused(reading, "sync.hold") && !config_is_refused(reading, "sync.interval")) {
        config_refuse(reading, "server.timeout",
                      "server.timeout must be at least twice sync.hold and sync.interval");
    }
    check_quick(reading);
    check_balance(reading);
    if (raw.min_in_sync > raw.replicas && !config_is_refused(reading, "replication.replicas")) {
        config_refuse(reading, "replication.min_in_sync",
                      "replication.min_in_sync must not be above replication.replicas");
    }
    if (catalog->soft_limit_start_bytes > catalog->soft_limit_max_bytes &&
        !config_is_refused(reading, "tablet.soft_limit_max")) {
        config_refuse(reading, "tablet.soft_limit_start",
                      "tablet.soft_limit_start must not be above tablet.soft_limit_max");
    }
}

static void take_balance(struct balance_settings *balance)
{
    balance->split_percent = (uint32_t)raw.balance.split_percent;
    balance->split_rate = (uint64_t)raw.balance.split_rate;
    balance->split_after_ns = raw.balance.split_after_us * MICROSECOND_NS;
    balance->split_after_far_ns = raw.balance.split_after_far_us * MICROSECOND_NS;
    balance->split_pause_ns = raw.balance.split_pause_us * MICROSECOND_NS;
    balance->pieces_max = (uint32_t)raw.balance.pieces_max;
    balance->observations_min = (uint32_t)raw.balance.observations_min;
    balance->monotonic_percent = (uint32_t)raw.balance.monotonic_percent;
    balance->ahead_pause_ns = raw.balance.ahead_pause_us * MICROSECOND_NS;
    balance->merge_after_ns = raw.balance.merge_after_us * MICROSECOND_NS;
    balance->merge_after_split_ns = raw.balance.merge_after_split_us * MICROSECOND_NS;
    balance->merges_max = (uint32_t)raw.balance.merges_max;
    balance->imbalance_percent = (uint32_t)raw.balance.imbalance_percent;
    balance->imbalance_after_ns = raw.balance.imbalance_after_us * MICROSECOND_NS;
    balance->imbalance_after_far_ns = raw.balance.imbalance_after_far_us * MICROSECOND_NS;
    balance->impact_permille = (uint32_t)raw.balance.impact_permille;
    balance->idle_percent = (uint32_t)raw.balance.idle_percent;
    balance->move_pause_ns = raw.balance.move_pause_us * MICROSECOND_NS;
    balance->far_times = (uint32_t)raw.balance.far_times;
    balance->piece_percent = (uint32_t)raw.balance.piece_percent;
    balance->uneven_percent = (uint32_t)raw.balance.uneven_percent;
    balance->uneven_far_percent = (uint32_t)raw.balance.uneven_far_percent;
    balance->crossing_percent = (uint32_t)raw.balance.crossing_percent;
    balance->merge_percent = (uint32_t)raw.balance.merge_percent;
    balance->merge_size_percent = (uint32_t)raw.balance.merge_size_percent;
    balance->imbalance_far_times = (uint32_t)raw.balance.imbalance_far_times;
    balance->refusal_pause_ns = raw.balance.refusal_pause_us * MICROSECOND_NS;
    balance->ahead_by_ns = raw.balance.ahead_by_us * MICROSECOND_NS;
    balance->ahead_awaited_ns = raw.balance.ahead_awaited_us * MICROSECOND_NS;
    balance->moves_per_server = (uint32_t)raw.moves_per_server;
}

void settings_check(void *context, struct config_reading *reading)
{
    struct master_settings *settings = context;
    struct catalog_settings *catalog = &settings->catalog;

    check_together(catalog, reading);
    catalog->server_timeout_ns = raw.server_timeout_us * MICROSECOND_NS;
    catalog->place_timeout_ns = raw.place_timeout_us * MICROSECOND_NS;
    catalog->sync_hold_ns = raw.sync_hold_us * MICROSECOND_NS;
    catalog->sync_interval_ms = (uint32_t)(raw.sync_interval_us / 1000);
    catalog->sync_interval_quick_ms = (uint32_t)(raw.sync_interval_quick_us / 1000);
    catalog->request_timeout_ns = raw.request_timeout_us * MICROSECOND_NS;
    catalog->splits_per_server = (uint32_t)raw.splits_per_server;
    catalog->replicas = (uint32_t)raw.replicas;
    catalog->min_in_sync = (uint32_t)raw.min_in_sync;
    catalog->replace_after_ns = raw.replace_after_us * MICROSECOND_NS;
    catalog->keep_outsiders_ns = raw.keep_outsiders_us * MICROSECOND_NS;
    catalog->moves_per_server = (uint32_t)raw.moves_per_server;
    take_balance(&catalog->balance);
    catalog->requests_max = (uint32_t)raw.requests_max;
    catalog->tables_max = (uint64_t)raw.tables_max;
    catalog->tablets_max = (uint64_t)raw.tablets_max;
    catalog->shows_load = true;
    settings->log = logger_words_take(&raw.log, reading);
    check_addresses(settings, reading);
    if (settings->folder[0] == '\0') { /* it would be the root of the file system */
        config_refuse(reading, "folder", "folder must name a folder");
    }
    check_coordinator(settings, reading);
    check_succeeds(settings, reading);
}
