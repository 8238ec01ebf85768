/*
 * Messages about tables, servers and documents, which the master answers (where a row is, tablet servers too): part of message.h, which every user includes.
 */
#ifndef COMMON_WIRE_MESSAGE_CATALOG_H
#define COMMON_WIRE_MESSAGE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/model/schema.h"
#include "common/wire/message_replica.h"
#include "common/wire/message_rows.h"

struct locate_request {
    uint64_t table; /* number; 0 = by name */
    struct bytes name;
    struct bytes row;   /* from the tablet that holds this row on */
    uint32_t count_max; /* 0 = 100 */
    bool detailed;      /* what the master knows of replicas is wanted, too */
};

struct locate_response {
    struct table table;               /* schema as known */
    const struct location *locations; /* ascending by range */
    size_t location_count;
    /* One for each location; none where nobody has asked for them, or a tablet server answers,
     * which does not know them. */
    const struct located_replicas *replicas;
    size_t replicas_count;
};

struct create_table_request {
    struct table table; /* numbers and versions are given by the master */
    const struct bytes *splits;
    size_t split_count;
};

struct table_name_request {
    struct bytes name;
};

enum master_state {
    MASTER_ACTIVE = 1,
    MASTER_STANDBY = 2,
    MASTER_IN_DOUBT = 3, /* it led, and does not know whether it still does: it does nothing */
};

struct master_response {
    uint64_t cluster;
    uint32_t state;      /* enum master_state */
    uint64_t reign;      /* its own; 0 = it does not lead, or is the only master there can be */
    struct bytes active; /* where the active one is, as far as it knows */
};

enum alter_kind {
    ALTER_CREATE_FAMILY = 1, /* family */
    ALTER_UPDATE_GC = 2,     /* family.name, family.gc */
    ALTER_DROP_FAMILY = 3,   /* family.name */
    ALTER_PROTECT = 4,       /* flag = deletion protection */
    ALTER_REPLICATION = 5,   /* replicas, min_in_sync; 0 = as it is */
    ALTER_PINNED = 6,        /* flag = nothing is done about its load */
};

struct alteration {
    enum alter_kind kind;
    struct family family;
    bool flag;
    uint32_t replicas;
    uint32_t min_in_sync;
};

/* All or none, in order. */
struct alter_table_request {
    struct bytes name;
    const struct alteration *alterations;
    size_t alteration_count;
};

struct table_response {
    struct table table;
    uint32_t tablet_count;
};

struct tables_response {
    const struct table_response *tables;
    size_t table_count;
};

struct split_request {
    struct bytes table; /* name */
    struct bytes row;   /* first row of the new right tablet */
};

struct split_response {
    uint64_t left_tablet;
    uint64_t right_tablet;
};

struct store_information {
    uint64_t number;
    struct bytes folder;
    uint32_t condition; /* enum store_condition */
    uint64_t used_bytes;
    uint64_t free_bytes;
    uint32_t tablet_count;
    uint64_t catalog; /* generation of the catalog that it belongs to; 0 = was told none yet */
    uint64_t catalog_version; /* the highest that it was told of that */
};

struct server_information {
    uint64_t number;
    struct bytes address;      /* where clients reach it */
    struct bytes http_address; /* metrics and health */
    struct bytes zone;
    uint64_t incarnation; /* rises with every start */
    bool alive;
    int64_t last_heard_us;
    uint32_t tablet_count; /* that have a replica on it which counts */
    const struct store_information *stores;
    size_t store_count;
    bool draining;           /* its tablets are being moved away */
    uint32_t leading_count;  /* of its tablets: those whose primary it is */
    uint32_t unopened_count; /* stores that it should have, and could not open */
    uint32_t stuck_count;    /* draining: copies that no other server can take as things are */
};

struct servers_response {
    uint64_t cluster;    /* number, from the catalog */
    uint64_t generation; /* of the catalog */
    const struct server_information *servers;
    size_t server_count;
};

/* --- documents: named bytes that the master keeps for others ------------------------------------ */

struct document {
    struct bytes name;
    struct bytes content;
    uint64_t version; /* the catalog's when it was put: a name never has the same one twice */
};

/* All of them or none, in one transaction. */
struct put_documents_request {
    /* 1 to LIMIT_DOCUMENTS_PER_PUT, each of another name of 1 to LIMIT_DOCUMENT_NAME_BYTES; content
     * up to LIMIT_DOCUMENT_BYTES, empty = delete it; version: that it must have, 0 = there must be
     * none */
    const struct document *documents;
    size_t document_count;
};

struct put_documents_response {
    bool applied;     /* false: a version was another, and nothing has changed */
    uint64_t version; /* applied: of all that were put; else that one's; 0 = there is none */
    uint64_t index;   /* not applied: of the first document that has another version */
};

struct list_documents_request {
    struct bytes prefix; /* of the names */
    struct bytes start;  /* from this name on */
    uint32_t count_max;  /* 0 = as many as fit an answer */
};

struct list_documents_response {
    const struct document *documents; /* ascending by name */
    size_t document_count;
    bool more; /* others follow: ask again, from behind the last one's name */
};

#endif /* COMMON_WIRE_MESSAGE_CATALOG_H */
