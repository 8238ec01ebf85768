/*
 * Settings of the tablet server: conf/tabletserver.conf explains each key.
 */
#ifndef TABLETSERVER_SERVE_SETTINGS_H
#define TABLETSERVER_SERVE_SETTINGS_H

#include "common/io/config.h"
#include "common/io/logger_words.h"
#include "tabletserver/replica/lease.h"
#include "tabletserver/storage/store/store.h"

#define SERVER_STORES_MAX   16
#define SERVER_GRACE_US_MAX INT64_C(60000000)

struct server_settings {
    const char *address;
    const char *advertise; /* what others are told; empty = what was bound, which they can dial */
    const char *http_address;
    const char *masters; /* comma-separated */
    const char *folder;
    struct config_text_list stores; /* folders, at most SERVER_STORES_MAX; none = <folder>/store */
    const char *zone;
    bool insecure;
    bool replicate;       /* tablets may have copies on other servers */
    const char *reads;    /* "leased" or "confirmed" */
    bool reads_confirmed; /* what it says: the check's to set */
    int64_t beacon_us;    /* lease.h, and in which order these three are */
    int64_t lease_us;
    int64_t grace_us;
    int64_t worker_threads; /* 0 = one a core */
    int64_t connections_max;
    uint64_t request_bytes_max; /* all requests under way, and what evaluations hold */
    uint64_t answer_bytes_max;  /* all answers that wait to be taken; large ones wait above it */
    int64_t answer_stall_us;    /* who takes nothing for so long is dropped then */
    int64_t slow_operation_us;
    bool measure_load;
    int64_t compare_period_us; /* in which all copies of all tablets are compared; 0 = never */
    struct logger_words log_words;
    struct logger_settings log; /* what they mean: the check's to set */
    uint64_t log_segment_bytes;
    int64_t flush_pace_percent;
    struct store_settings store;
};

/* Every key's default but those of memtable_limit, request_bytes_max and answer_bytes_max, which follow
 * from memory_limit: server_settings_check() fills them in where they were not given. */
void server_settings_default(struct server_settings *settings);

#define SERVER_SETTINGS_KEYS_MAX 40

/* The table of keys, with targets inside settings. Returns how many. */
size_t server_settings_keys(struct server_settings *settings,
                            struct config_key keys[SERVER_SETTINGS_KEYS_MAX]);

/* As lease.h takes them; of processes before this one nothing is said. */
struct lease_settings server_settings_leases(const struct server_settings *settings);

/* How many files may be open at once: connections, and of each store its log and its base. */
uint64_t server_settings_files(const struct server_settings *settings);

/* What one key cannot tell about another, and addresses; defaults that follow from other keys.
 * context is the settings; each fault is refused in the reading. */
void server_settings_check(void *context, struct config_reading *reading);

#endif /* TABLETSERVER_SERVE_SETTINGS_H */
