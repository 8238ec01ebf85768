/*
 * Settings of the gateway: conf/gateway.conf explains each key.
 */
#ifndef GATEWAY_DAEMON_SETTINGS_H
#define GATEWAY_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/config.h"
#include "common/io/logger_words.h"
#include "gateway/core/resource_name.h"

struct gateway_settings {
    const char *address;      /* HOST:PORT */
    const char *http_address; /* empty = none */
    const char *masters;      /* comma-separated, at most EDUBBA_MASTERS_MAX */
    const char *home;         /* PROJECT/INSTANCE */
    struct resource_home home_parts;
    bool insecure;
    const char *tls_certificate; /* files; empty = plaintext */
    const char *tls_key;
    const char *tls_client_ca; /* empty = clients need no certificate */

    int64_t threads; /* 0 = one for two cores */
    int64_t admin_threads;
    int64_t admin_queue_max;
    uint64_t request_memory_max_bytes;
    int64_t deadline_max_us;
    int64_t keepalive_min_us;
    int64_t drain_us;
    int64_t slow_call_us; /* 0 = none is logged */

    int64_t client_in_flight_max;
    uint64_t client_in_flight_bytes_max;
    int64_t client_messages_per_lane;
    int64_t client_connections;
    int64_t client_unreachable_us;

    struct logger_words log_words;
    struct logger_settings log; /* what they mean: the check's to set */
};

/* Every key's default. */
void gateway_settings_default(struct gateway_settings *settings);

#define GATEWAY_SETTINGS_KEYS_MAX 32

/* The table of keys, with targets inside settings. Returns how many. */
size_t gateway_settings_keys(struct gateway_settings *settings,
                             struct config_key keys[GATEWAY_SETTINGS_KEYS_MAX]);

/* What one key cannot tell about another, and addresses; fills in home_parts, which borrows from
 * home.  context is the settings; each fault is refused in the reading. */
void gateway_settings_check(void *context, struct config_reading *reading);

#endif /* GATEWAY_DAEMON_SETTINGS_H */
