/*
 * Leases: what this server may count on from each other server, and what it has promised to it
 * (rules 8, 10, 11; modelled in tests/model/replication).  One lease for each ordered pair of
 * servers covers every tablet that was opened between them, but for exceptions.
 *
 *      holder                                            grantor
 *   BEACON n, sent at t        ------------------>   received at u: grace until u + grace, for what
 *                                                    is granted and not excepted
 *   may count until t + lease  <------------------   BEACON_ACK n, exceptions
 *
 *   lease * 1.05 < grace * 0.95, so the holder has stopped counting before the grantor is free.  Servers may differ
 *   in both: an acknowledgement says the grantor's grace, and a holder whose lease does not fit that counts
 *   for the longest that does.  Earlier builds say nothing, and look at nothing: their grace is 2.0 s, and
 *   they are given a lease where 1.4 s fit.
 *
 * Invariants, checked by lease_check():
 *   (1) holder's end <= (time of sending of an acknowledged beacon) + lease, of the peer's newest
 *       incarnation known.
 *   (2) A (tablet, version) that was excepted is in every acknowledgement until the peer has said
 *       that it saw it, and is never granted again: not by the store that excepted it.  Another one of this server may
 *       be slower, and promise under a version that is history; that binds, and tells the peer nothing
 *       (lease_check_promises()).  What it saw of the process before, whose exceptions had the same numbers, is no
 *       such word.
 *   (3) What is granted and not excepted is not free before (receipt of the last acknowledged
 *       beacon, or the granting itself, whichever is later) + grace, nor before this module's beginning + the
 *       grace that processes before it had.
 *   (4) What a peer has confirmed was asked before the beacon went out by whose acknowledgement it is known.
 *
 * **Confirmations** are for who does not trust its clock (rule 7): asks are counted; a beacon confirms what had been
 * asked when it was sent, once it is acknowledged, by the numbers of both and no clock.  Who asks does not wait for
 * the next beacon to be due: one goes out at once, unless one is under way, and then when that is acknowledged.  So
 * there is a round trip at a time, for all who have asked meanwhile.
 *
 * What is granted, to whom and under which version, is told by the replicas (LEASE_EVENT_GRANT,
 * _EXCEPT); they hear when an exception binds and from when on they are free of the promise.
 *
 * Performing: HELD_UNTIL and CONFIRMED are stored where readers look at them *after* all EXCEPTED_BY_PEER of the same
 * step were taken from their tablets.  Beacons go out on a connection and thread of their own.
 *
 * Pure: no clock (now_ns is CLOCK_BOOTTIME), no I/O, no randomness.  Thread rule: the beacon thread.
 */
#ifndef TABLETSERVER_REPLICA_LEASE_H
#define TABLETSERVER_REPLICA_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

#define LEASE_PEERS_MAX 1024
#define LEASE_EXCEPTIONS_MAX \
    4096 /* named in one acknowledgement; more: the whole lease is not given */
#define LEASE_NEVER INT64_MAX

struct lease_settings {
    int64_t beacon_ns;       /* 250 ms between two beacons to a peer */
    int64_t lease_ns;        /* 1.4 s, from sending */
    int64_t grace_ns;        /* 2.0 s, from receipt */
    int64_t former_grace_ns; /* the longest of processes before this one; 0 = as grace_ns */
    uint32_t drift_ppm;      /* by how much clocks may differ in rate: 50 000 */
};

/* Of who does not say them. */
#define LEASE_EARLIER_LEASE_NS INT64_C(1400000000)
#define LEASE_EARLIER_GRACE_NS INT64_C(2000000000)

/* Errors: STATUS_INVALID_ARGUMENT with the order that must hold, and how to mend it: 2 beacons < lease, and
 * lease and grace as above. */
enum status lease_settings_check(const struct lease_settings *settings, struct error *ret_error);

struct lease_exception {
    uint64_t tablet;
    uint64_t version;
};

struct lease_beacon {
    uint64_t number; /* rises by one per peer */
    uint64_t incarnation;
    uint64_t exceptions_seen; /* of the peer's, up to this number, */
    uint64_t seen_of;         /* of its process of this incarnation; 0 = of none */
    int64_t lease_ns;         /* of who sends it; 0 = not said */
};

struct lease_acknowledgement {
    uint64_t number;                          /* of the beacon */
    uint64_t beacon_incarnation;              /* of it */
    uint64_t incarnation;                     /* of who acknowledges */
    bool gives_lease;                         /* all exceptions are named, and see NOT_GIVEN */
    uint64_t exceptions_number;               /* rises with each exception */
    const struct lease_exception *exceptions; /* borrowed during the step */
    uint32_t exception_count;
    int64_t grace_ns; /* of who acknowledges; 0 = not said */
};

enum lease_event_type {
    LEASE_EVENT_TICK,
    LEASE_EVENT_ASK,    /* confirmations were asked for, `asked` times so far */
    LEASE_EVENT_PEER,   /* peer is one that shares tablets; again: no longer, if !present */
    LEASE_EVENT_BEACON, /* received */
    LEASE_EVENT_ACKNOWLEDGEMENT, /* received */
    LEASE_EVENT_GRANT,           /* tablet, version: opened for peer, which leads it */
    LEASE_EVENT_EXCEPT,          /* tablet, version: no more */
};

struct lease_event {
    enum lease_event_type type;
    int64_t now_ns; /* never goes back */
    uint64_t peer;  /* server */
    uint64_t tablet;
    uint64_t version;
    uint64_t incarnation; /* GRANT: of the peer's process that opened it */
    uint64_t asked;       /* ASK: never fewer than before */
    bool present;
    struct lease_beacon beacon;
    struct lease_acknowledgement acknowledgement;
};

enum lease_effect_type {
    LEASE_EFFECT_BEACON,      /* send to peer */
    LEASE_EFFECT_ACKNOWLEDGE, /* send to peer; exceptions are the module's until the next step */
    LEASE_EFFECT_HELD_UNTIL,  /* this server may count on peer until at_ns */
    LEASE_EFFECT_EXCEPTED_BY_PEER, /* ... but not for (tablet, version) */
    LEASE_EFFECT_CONFIRMED,        /* all that was asked up to `asked` */
    LEASE_EFFECT_PEER_RESTARTED,   /* its newest process is `incarnation`: what an older one opened,
                                    counts no more.  Also when it is the first one heard of */
    LEASE_EFFECT_EXCEPTED,         /* EXCEPT is in force; free of the promise from at_ns on */
    LEASE_EFFECT_SILENT, /* grace for (tablet, version) is over: its leader is not heard */
    /* Said once, until it changes: */
    LEASE_EFFECT_SHORTENED, /* our lease does not fit grace_ns, the peer's: answers are good for lease_ns */
    LEASE_EFFECT_NOT_GIVEN, /* lease_ns, that of an earlier build, does not fit grace_ns, ours */
};

struct lease_effect {
    enum lease_effect_type type;
    uint64_t peer;
    uint64_t incarnation; /* PEER_RESTARTED */
    uint64_t tablet;
    uint64_t version;
    int64_t at_ns;
    uint64_t asked;   /* CONFIRMED */
    int64_t lease_ns; /* SHORTENED, NOT_GIVEN; so is grace_ns */
    int64_t grace_ns;
    struct lease_beacon beacon;
    struct lease_acknowledgement acknowledgement;
};

/* Perform in order.  The module's until the next step. */
struct lease_effects {
    const struct lease_effect *items;
    uint32_t count;
};

struct lease;

/* now_ns counts as the receipt of a beacon from everyone, under the former grace: what was granted before is
 * forgotten, and holds.  Errors: STATUS_NO_MEMORY. */
enum status lease_create(const struct lease_settings *settings,
                         uint64_t incarnation,
                         int64_t now_ns,
                         struct lease **ret_lease);
void lease_destroy(struct lease *lease); /* NULL is fine */

/* Advance by one event.  Messages of older incarnations, of peers not told of, doubled and late
 * ones are dropped.  Errors, of PEER, GRANT and EXCEPT, which then have changed nothing:
 * STATUS_NO_MEMORY, STATUS_LIMIT.
 *
 * STATUS_LIMIT: the PEER would be one more than LEASE_PEERS_MAX; or the GRANT is to one that was refused so.  No
 * beacon of it is acknowledged, so it counts on nothing from here, and an EXCEPT is answered at once. */
enum status lease_step(struct lease *lease,
                       const struct lease_event *event,
                       struct lease_effects *ret_effects);

/* When it wants a TICK next. */
int64_t lease_deadline_ns(const struct lease *lease);

/* Abort unless the invariants hold. */
void lease_check(const struct lease *lease);
/* And unless nothing is granted that is excepted: of a server with one store. */
void lease_check_promises(const struct lease *lease);

#endif /* TABLETSERVER_REPLICA_LEASE_H */
