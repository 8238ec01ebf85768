/*
 * A tablet server's heartbeat, and what it should do: part of message.h, which every user includes.
 *
 * Level-triggered: the server says what it has; the master answers with everything that changed in
 * the catalog since the version the server knows (tablets of all servers, so that any server can
 * answer "where is"), and the server makes its own state match: create, split, drop.  Lost or
 * repeated syncs do no harm.
 */
#ifndef COMMON_WIRE_MESSAGE_SYNC_H
#define COMMON_WIRE_MESSAGE_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/replica_configuration.h"
#include "common/wire/message_catalog.h"
#include "common/wire/message_load.h"
#include "common/wire/message_replica.h"

/* How a tablet stands on the server that reports it. */
enum held_state {
    HELD_SERVING = 1,
    HELD_CREATED = 2, /* durable and empty, first report */
    HELD_FAILED = 3,  /* its store is down: taken, and said by no server of today */
};

struct held_tablet {
    uint64_t tablet;
    uint64_t store;
    enum held_state state;
    uint64_t size_bytes;
    bool wants_split; /* over its soft limit, cut found: */
    struct bytes split_row;
    uint64_t version; /* of the configuration that it has; 0 = a server that does not replicate */
    enum held_role role; /* under that version */
    uint64_t committed;  /* sequence */
    bool damaged;        /* what it has counts for nothing, until it is taught anew */
};

struct sync_request {
    struct server_information server;
    uint64_t known_version; /* of the catalog; 0 = nothing known */
    uint64_t known_generation;
    bool full; /* held lists everything; else only what changed */
    const struct held_tablet *held;
    size_t held_count;
    struct load_report load;
    bool replicates; /* it proposes, and looks at goals; else the master decides alone */
    bool leaving;    /* the process is about to end, and to lead nothing more */
};

struct assigned_tablet {
    struct location location;
    uint64_t store;  /* on that server */
    uint64_t parent; /* it came from splitting this one; 0 = none */
    uint64_t soft_limit_bytes;
    bool removed; /* gone from the catalog; with a store: the copy in that store alone may go */
    struct replica_configuration configuration; /* version 0 when removed */
    struct goal goal;                           /* told to members and to those who should be */
    uint64_t absorbed; /* it came from merging this one into parent; 0 = none */
    /* A person has chosen this configuration after a loss: what its one member has is what the
     * tablet is. */
    bool recovered;
    bool hurried; /* somebody waits for its goal: who has to be taught is taught quickly */
};

/* Where a server is to be found by the others. */
struct server_address {
    uint64_t server;
    struct bytes address;
};

struct sync_response {
    uint64_t generation;
    uint64_t version; /* after this response */
    bool reset;       /* the server knew another generation: forget the map first */
    bool more;        /* sync again at once for the rest */
    const struct assigned_tablet *tablets;
    size_t tablet_count;
    const struct table *tables; /* changed schemas */
    size_t table_count;
    const uint64_t *dropped_tables;
    size_t dropped_table_count;
    uint32_t interval_ms;                 /* sync again after */
    const struct server_address *servers; /* those that are new or changed */
    size_t server_count;
    /* Of the catalog now, which may be more than this response tells of; 0 = an older master, which
     * does not say. */
    uint64_t newest_version;
    uint64_t predecessor; /* generation of the one that it was ordered to succeed; 0 = none */
};

#endif /* COMMON_WIRE_MESSAGE_SYNC_H */
