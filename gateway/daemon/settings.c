#include "gateway/daemon/settings.h"

#include <stdio.h>
#include <string.h>

#include "client/include/edubba_masters.h"
#include "common/io/transport/transport_address.h"
#include "gateway/rpc/tls_files.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define MIB       (INT64_C(1) << 20)
#define GIB       (INT64_C(1) << 30)

#define MASTER_BYTES_MAX 256

void gateway_settings_default(struct gateway_settings *settings)
{
    *settings = (struct gateway_settings){
        .address = "127.0.0.1:8086",
        .http_address = "127.0.0.1:8087",
        .masters = "tcp://127.0.0.1:7400",
        .home = "edubba/edubba",
        .tls_certificate = "",
        .tls_key = "",
        .tls_client_ca = "",
        .threads = 0,
        .admin_threads = 8,
        .admin_queue_max = 1024,
        .request_memory_max_bytes = (uint64_t)GIB,
        .deadline_max_us = 60 * SECOND_US,
        .keepalive_min_us = 5 * SECOND_US,
        .drain_us = 10 * SECOND_US,
        .slow_call_us = SECOND_US,
        .client_in_flight_max = 16777216,
        .client_in_flight_bytes_max = (uint64_t)GIB,
        .client_messages_per_lane = 4,
        .client_connections = 1,
        .client_unreachable_us = 10 * SECOND_US,
        .log_words = LOGGER_WORDS_DEFAULT,
    };
}

size_t gateway_settings_keys(struct gateway_settings *settings,
                             struct config_key keys[GATEWAY_SETTINGS_KEYS_MAX])
{
    const struct config_key all[] = {
        {"address", CONFIG_TEXT, &settings->address, 0, 0, false},
        {"http.address", CONFIG_TEXT, &settings->http_address, 0, 0, false},
        {"masters", CONFIG_TEXT_JOINED, &settings->masters, 0, 0, false},
        {"home", CONFIG_TEXT, &settings->home, 0, 0, false},
        {"insecure", CONFIG_BOOL, &settings->insecure, 0, 0, false},
        {"tls.certificate", CONFIG_TEXT, &settings->tls_certificate, 0, 0, false},
        {"tls.key", CONFIG_TEXT, &settings->tls_key, 0, 0, false},
        {"tls.client_ca", CONFIG_TEXT, &settings->tls_client_ca, 0, 0, false},
        {"threads", CONFIG_NUMBER, &settings->threads, 0, 256, false},
        {"admin_threads", CONFIG_NUMBER, &settings->admin_threads, 1, 256, false},
        {"admin_queue_max", CONFIG_NUMBER, &settings->admin_queue_max, 1, 1000000, false},
        {"request_memory_max", CONFIG_SIZE_BYTES, &settings->request_memory_max_bytes, MIB,
         1024 * GIB, false},
        {"deadline_max", CONFIG_DURATION_US, &settings->deadline_max_us, SECOND_US / 10,
         24 * HOUR_US, false},
        {"keepalive_min", CONFIG_DURATION_US, &settings->keepalive_min_us, SECOND_US / 10, HOUR_US,
         false},
        {"drain", CONFIG_DURATION_US, &settings->drain_us, 0, HOUR_US, false},
        {"slow_call", CONFIG_DURATION_US, &settings->slow_call_us, 0, 24 * HOUR_US, false},
        {"client.in_flight_max", CONFIG_NUMBER, &settings->client_in_flight_max, 1024, 1073741824,
         false},
        {"client.in_flight_bytes_max", CONFIG_SIZE_BYTES, &settings->client_in_flight_bytes_max,
         MIB, 1024 * GIB, false},
        {"client.messages_per_lane", CONFIG_NUMBER, &settings->client_messages_per_lane, 1, 1024,
         false},
        {"client.connections", CONFIG_NUMBER, &settings->client_connections, 1, 1024, false},
        {"client.unreachable", CONFIG_DURATION_US, &settings->client_unreachable_us, SECOND_US / 10,
         HOUR_US, false},
        {"log.level", CONFIG_TEXT, &settings->log_words.level, 0, 0, false},
        {"log.format", CONFIG_TEXT, &settings->log_words.format, 0, 0, false},
    };
    _Static_assert(sizeof all / sizeof *all <= GATEWAY_SETTINGS_KEYS_MAX, "room for all keys");
    memcpy(keys, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_among(const struct bytes *addresses, size_t count, struct bytes address)
{
    size_t i = 0;
    while (i < count && !bytes_equal(addresses[i], address)) {
        i++;
    }
    return i < count;
}

/* Addresses with commas or blanks between, as libedubba takes them apart: one that stands twice counts
 * once. */
static void check_masters(const struct gateway_settings *settings, struct config_reading *reading)
{
    static const char between[] = ", \t";
    struct bytes known[EDUBBA_MASTERS_MAX];
    struct error error = {.status = STATUS_OK};
    const char *at = settings->masters + strspn(settings->masters, between);
    size_t count = 0;
    if (*at == '\0') {
        config_refuse(reading, "masters", "masters: no address in \"%s\"", settings->masters);
    }
    while (*at != '\0') {
        char address[MASTER_BYTES_MAX];
        size_t size = strcspn(at, between);
        (void)snprintf(address, sizeof address, "%.*s", (int)size, at);
        if (size >= sizeof address) {
            config_refuse(reading, "masters",
                          "masters: address %.64s... is too long: at most %d bytes are allowed",
                          address, MASTER_BYTES_MAX - 1);
            return;
        }
        if (transport_address_check_dial(address, &error) != STATUS_OK) {
            config_refuse(reading, "masters", "masters: %s", error.text);
            return;
        }
        if (!is_among(known, count, bytes_of(at, size))) {
            if (count == EDUBBA_MASTERS_MAX) {
                config_refuse(reading, "masters",
                              "masters: with %s there are more than the %d that are allowed: leave "
                              "tablet servers out",
                              address, EDUBBA_MASTERS_MAX);
                return;
            }
            known[count++] = bytes_of(at, size);
        }
        at += size;
        at += strspn(at, between);
    }
}

/* Who comes with TLS may be told apart, so that its address may be reached by others. */
static void check_addresses(const struct gateway_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};
    bool is_open = settings->insecure || settings->tls_certificate[0] != '\0';
    if (transport_address_check_http(settings->address, is_open, &error) != STATUS_OK) {
        config_refuse(reading, "address", "address: %s", error.text);
    }
    if (settings->http_address[0] != '\0' &&
        transport_address_check_http(settings->http_address, settings->insecure, &error) !=
            STATUS_OK) {
        config_refuse(reading, "http.address", "http.address: %s", error.text);
    }
}

/* In files that are there, and can be read. */
static void check_tls_files(const struct gateway_settings *settings, struct config_reading *reading)
{
    struct error error = {.status = STATUS_OK};
    if (tls_files_check_certificates(settings->tls_certificate, &error) != STATUS_OK) {
        config_refuse(reading, "tls.certificate", "tls.certificate: %s", error.text);
    } else if (tls_files_check_key(settings->tls_key, settings->tls_certificate, &error) !=
               STATUS_OK) {
        config_refuse(reading, "tls.key", "tls.key: %s", error.text);
    }
    if (settings->tls_client_ca[0] != '\0' &&
        tls_files_check_certificates(settings->tls_client_ca, &error) != STATUS_OK) {
        config_refuse(reading, "tls.client_ca", "tls.client_ca: %s", error.text);
    }
}

static bool is_tls_refused(const struct config_reading *reading)
{
    return config_is_refused(reading, "tls.certificate") || config_is_refused(reading, "tls.key") ||
           config_is_refused(reading, "tls.client_ca");
}

/* What is wrong with TLS is told at the start, before the gateway waits for its cluster. */
static void check_tls(const struct gateway_settings *settings, struct config_reading *reading)
{
    config_refuse_unreadable(reading, "tls.certificate", settings->tls_certificate);
    config_refuse_unreadable(reading, "tls.key", settings->tls_key);
    config_refuse_unreadable(reading, "tls.client_ca", settings->tls_client_ca);
    bool has_certificate = settings->tls_certificate[0] != '\0';
    bool has_key = settings->tls_key[0] != '\0';
    if (has_certificate != has_key) {
        config_refuse(reading, has_certificate ? "tls.certificate" : "tls.key",
                      "tls.certificate and tls.key must be given together");
    }
    if (settings->tls_client_ca[0] != '\0' && !has_certificate) {
        config_refuse(reading, "tls.client_ca",
                      "tls.client_ca has a meaning only with tls.certificate and tls.key");
    }
    if (has_certificate && !is_tls_refused(reading)) {
        check_tls_files(settings, reading);
    }
}

static void check_home(struct gateway_settings *settings, struct config_reading *reading)
{
    const char *slash = strchr(settings->home, '/');
    struct resource_name name;
    char text[256];
    struct error error = {.status = STATUS_OK};
    if (slash == NULL || strlen(settings->home) > sizeof text / 2) {
        config_refuse(reading, "home", "home = \"%s\": must be PROJECT/INSTANCE", settings->home);
        return;
    }
    int project_bytes = (int)(slash - settings->home);
    (void)snprintf(text, sizeof text, "projects/%.*s/instances/%s", project_bytes, settings->home,
                   slash + 1);
    if (resource_name_parse(bytes_of_text(text), RESOURCE_INSTANCE, &name, &error) != STATUS_OK) {
        config_refuse(reading, "home", "home = \"%s\": must be PROJECT/INSTANCE: %s",
                      settings->home, error.text);
        return;
    }
    settings->home_parts = (struct resource_home){
        .project = bytes_of(settings->home, (size_t)project_bytes),
        .instance = bytes_of_text(slash + 1),
    };
}

/* Submitting would wait, on a thread that takes calls. */
static void check_memory(const struct gateway_settings *settings, struct config_reading *reading)
{
    if (settings->client_in_flight_bytes_max < settings->request_memory_max_bytes &&
        !config_is_refused(reading, "request_memory_max")) {
        config_refuse(reading, "client.in_flight_bytes_max",
                      "client.in_flight_bytes_max must not be below request_memory_max");
    }
}

void gateway_settings_check(void *context, struct config_reading *reading)
{
    struct gateway_settings *settings = context;
    settings->log = logger_words_take(&settings->log_words, reading);
    check_addresses(settings, reading);
    check_masters(settings, reading);
    check_tls(settings, reading);
    check_home(settings, reading);
    check_memory(settings, reading);
}
