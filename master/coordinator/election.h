/*
 * The election: which of any number of masters is the active one.  One machine a master.
 *
 * Who creates the key `leader` in etcd, bound to a lease of its own, leads, for as long as the key is
 * there.  The revision at which it was created is the number of its REIGN.
 *
 *                     nobody leads            granted               created, by us
 *      +-> LOOKING ----------------> GRANTING --------> CAMPAIGNING ----------------> LEADING
 *      |    ^   somebody does: again    | no answer        | by another, no answer      |
 *      |    +---------------------------+------------------+                            |
 *      +--------- the key or the lease is gone, or it was resigned ---------------------+
 *
 *      LEADING:  RENEWING (keep the lease alive) --> PROVING (is the key still ours?) --> until + wait
 *
 * Invariants:
 *   (1) election_may_act() of at most one machine is true at any moment, as long as nobody deletes the
 *       key by hand and clocks differ in rate by no more than rate_error_permille from etcd's.  A
 *       lease of t seconds, asked for at our time s, is over at etcd no earlier than t after s; we count
 *       it as over at s + t * (1 - rate error).  A leader whose time is over before a renewal was
 *       proven keeps its reign, but may not act: it is SUSPENDED, and goes on asking.
 *   (2) A reign that was once lost never comes back: the number of the next one is higher, as long as
 *       etcd has its data.  (Without, a number may come again, for another reign.)
 *   (3) Nothing rests on (1) but that no two masters are asked at once: what is written is fenced by
 *       the reign (etcd_journal.h).
 *
 * Renewing alone would not do: a member of etcd that has lost its own leadership without knowing may
 * still say yes (etcd 3.4 answers keep-alives without asking the others).  The proof is read
 * through a majority, after it.
 *
 * A deterministic state machine: time is handed in, questions come out, answers go in; no answer is an
 * answer too.  Thread rule: one owner.  Pure.
 */
#ifndef MASTER_COORDINATOR_ELECTION_H
#define MASTER_COORDINATOR_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct election_settings {
    int64_t lease_ns;             /* what is asked of etcd: whole seconds */
    int64_t look_ns;              /* between two looks at who leads */
    int64_t retry_ns;             /* after a question without an answer */
    uint32_t rate_error_permille; /* by which clocks may differ in rate */
};

/* Leases of 2 s, and pauses that go with so short ones. */
void election_settings_default(struct election_settings *settings);

enum election_question_type {
    ELECTION_WAIT,     /* until until_ns: there is nothing to ask */
    ELECTION_LOOK,     /* who leads? */
    ELECTION_GRANT,    /* a new lease */
    ELECTION_CAMPAIGN, /* create the key, bound to lease, unless it is there; who leads now? */
    ELECTION_RENEW,    /* keep lease alive */
    ELECTION_REVOKE,   /* lease, and with it the key */
};

struct election_question {
    enum election_question_type type;
    int64_t lease;
    int64_t until_ns; /* WAIT */
};

struct election_answer {
    bool answered;        /* false: none came, and whether it was carried out is unknown */
    int64_t lease;        /* GRANT */
    int64_t ttl_ns;       /* GRANT, RENEW; 0 = there is no such lease */
    uint64_t leader;      /* LOOK, CAMPAIGN: the reign, 0 = nobody leads */
    int64_t leader_lease; /* LOOK, CAMPAIGN: the lease that the key is bound to */
};

enum election_phase {
    ELECTION_LOOKING,
    ELECTION_GRANTING,
    ELECTION_CAMPAIGNING,
    ELECTION_RENEWING,
    ELECTION_PROVING,
    ELECTION_RESIGNING,
};

struct election {
    struct election_settings settings;
    enum election_phase phase;
    bool asking;            /* a question is out */
    int64_t asked_ns;       /* when it, or the last one, was sent */
    int64_t next_ns;        /* not to be asked before */
    int64_t lease;          /* ours; 0 = none */
    int64_t lease_until_ns; /* surely good until then, by our clock */
    uint64_t reign;         /* ours; 0 = we do not lead */
    int64_t until_ns;       /* we may act until then */
};

void election_init(struct election *election, const struct election_settings *settings);

/* What is to be asked now.  Requires: the question before, unless it was WAIT, is answered. */
void election_next(struct election *election,
                   int64_t now_ns,
                   struct election_question *ret_question);

/* The answer to the last question, or that there is none. */
void election_answer(struct election *election,
                     int64_t now_ns,
                     const struct election_answer *answer);

/* Give up the reign, if we have one, so that another may begin; then look again.  Requires: no
 * question is out. */
void election_resign(struct election *election, int64_t now_ns);

/* Do we lead, and is it sure? */
bool election_may_act(const struct election *election, int64_t now_ns);

/* Abort unless what must hold within one machine does. */
void election_check(const struct election *election);

#endif /* MASTER_COORDINATOR_ELECTION_H */
