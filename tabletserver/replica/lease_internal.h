/*
 * What the files of the lease module share.
 *
 *   lease.c         peers, steps, time
 *   lease_grant.c   what was promised to a peer, and what is excepted from that
 *   lease_hold.c    beacons, and what their acknowledgements give
 *   lease_fit.c     servers whose leases and graces differ
 *
 * Pure.  Thread rule: that of lease.h.
 */
#ifndef TABLETSERVER_REPLICA_LEASE_INTERNAL_H
#define TABLETSERVER_REPLICA_LEASE_INTERNAL_H

#include <stddef.h>

#include "tabletserver/replica/lease.h"

#define SENT_MAX 16 /* beacons that are remembered until they are acknowledged */

/* (tablet, version) was promised to a peer, which leads it. */
struct grant {
    uint64_t tablet;
    uint64_t version;
    uint64_t incarnation; /* of the process that it was promised to */
    int64_t from_ns;
    bool told;  /* SILENT was */
    bool stale; /* that process is gone: no beacon renews it */
};

struct peer {
    uint64_t server;
    uint64_t incarnation; /* the newest known; 0 = none yet */
    bool present;
    /* holder */
    uint64_t number; /* of the last beacon sent */
    int64_t sent_ns[SENT_MAX];
    uint64_t sent_asked[SENT_MAX]; /* what had been asked then */
    uint64_t answered;             /* the last beacon that was acknowledged */
    uint64_t confirmed;            /* of what was asked */
    int64_t beacon_due_ns;
    int64_t held_until_ns; /* 0 = not */
    uint64_t exceptions_seen;
    int64_t counted_ns;     /* for so long its last answer was good; 0 = none yet */
    int64_t short_grace_ns; /* said last that it is too short; 0 = it is not */
    /* grantor */
    bool refused;     /* an earlier build, whose lease is too long; said */
    int64_t heard_ns; /* receipt of the last acknowledged beacon, or since when it may have been */
    struct grant *grants;
    uint32_t grant_count;
    uint32_t grant_capacity;
    struct lease_exception *exceptions;
    uint64_t *exception_numbers; /* of each; ascending */
    uint32_t exception_count;
    uint32_t exception_capacity;
    uint32_t number_capacity;
    uint64_t exceptions_number; /* of the last */
};

struct lease {
    struct lease_settings settings;
    uint64_t incarnation;
    int64_t begun_ns;
    int64_t forgotten_until_ns; /* what processes before this one have granted holds until then */
    int64_t now_ns;
    uint64_t asked; /* confirmations, so often */
    struct peer *peers;
    uint32_t peer_count;
    uint32_t peer_capacity;
    uint64_t grant_count; /* of all peers */
    struct lease_effect *effects;
    uint32_t effect_count;
    uint32_t effect_capacity;
};

/* --- lease.c ------------------------------------------------------------------------------------ */

/* Room for so many items; those that are there stay.  Errors: STATUS_NO_MEMORY. */
enum status lease_grow(void **array, uint32_t *capacity, uint32_t count, size_t item_size_bytes);
/* So that no step of one more peer, or one more grant, lacks room.  Errors: STATUS_NO_MEMORY. */
enum status lease_reserve_effects(struct lease *lease);
/* An effect of the step under way, for the caller to fill in. */
struct lease_effect *lease_emit(struct lease *lease, enum lease_effect_type type, uint64_t peer);
/* NULL: none. */
struct grant *lease_find_grant(struct peer *peer, uint64_t tablet);
int64_t lease_grace_end(const struct lease *lease,
                        const struct peer *peer,
                        const struct grant *grant);
/* False: the message is of a process that is gone. */
bool lease_note_incarnation(struct lease *lease, struct peer *peer, uint64_t incarnation);

/* --- lease_fit.c --------------------------------------------------------------------------------- */

/* For how long is an answer of that peer good?  Said once for each grace that is too short for our lease. */
int64_t lease_counted_ns(struct lease *lease, struct peer *peer, int64_t said_ns);
/* Between two beacons to it. */
int64_t lease_pace_ns(const struct lease *lease, const struct peer *peer);
/* Whoever says its lease looks at our grace, and counts for no longer than that allows.  An earlier build does not. */
bool lease_looks_at_grace(struct lease *lease,
                          struct peer *peer,
                          const struct lease_beacon *beacon);

/* --- lease_grant.c ------------------------------------------------------------------------------- */

void lease_on_beacon(struct lease *lease, struct peer *peer, const struct lease_beacon *beacon);
enum status lease_on_grant(struct lease *lease, struct peer *peer, const struct lease_event *event);
enum status lease_on_except(struct lease *lease,
                            struct peer *peer,
                            const struct lease_event *event);
/* Of one that is no peer, as there were too many. */
enum status lease_on_stranger(struct lease *lease, const struct lease_event *event);

/* --- lease_hold.c -------------------------------------------------------------------------------- */

void lease_on_acknowledgement(struct lease *lease,
                              struct peer *peer,
                              const struct lease_acknowledgement *acknowledgement);
void lease_send_beacon(struct lease *lease, struct peer *peer);
/* If something was asked since the last beacon, and none is under way. */
void lease_send_if_asked(struct lease *lease, struct peer *peer);

#endif /* TABLETSERVER_REPLICA_LEASE_INTERNAL_H */
