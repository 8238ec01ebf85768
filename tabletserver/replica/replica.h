/*
 * A replica: one tablet's copy in one store, and its part in PacificA (docs/replication.md, whose
 * numbers of rules and invariants are quoted here).  Modelled in tests/model/replication.
 *
 *                 taught, added                 proposed itself, taken, inherited all
 *     LEARNER -----------------> SECONDARY ------------------------------> PRIMARY
 *        ^                          ^  |                                    |  |
 *        | opened as such           |  | proposed itself: turned away       |  | restarted, yielded:
 *        |                          |  | (grants nothing, takes nothing)    |  | serves no more
 *     OUTSIDER <--------------------+--+------ a version without it --------+--+
 *                                   '--------- a version led by another ----'
 *
 * A step takes one event and says what must be done: nothing else leaves or enters.  An entry goes
 *
 *     WRITE --> APPEND, SEND prepare --> SYNCED, RECEIVE prepared --> COMMIT (and, at the others, the
 *     committed point with the next prepare) --> COMMIT
 *
 * Invariants, checked by replica_check() after every step:
 *   (1) committed <= synced <= appended; the window holds exactly the entries in (committed, appended].
 *   (2) Versions of entries do not fall along the log; none is above the configuration's.
 *   (3) A primary's version was adopted by this process (I1); while a proposal is out nothing else is
 *       proposed (rule 9).
 *   (4) serving => primary, not yielded, committed >= start, every member of the union has been opened,
 *       and its own grants are over (rule 11).  (Whether leases hold is looked at where time is: serve.)
 *   (5) Nothing was sent that its store has not synced (I7): PREPARED <= synced, OPENED after
 *       CONFIGURED.
 *   (6) A member, or a learner whose addition is in doubt, never drops an entry at or below the start
 *       of the reign that it is opened under; any other learner drops down to committed (rules 4, 16).
 *
 * Messages may be lost, doubled, late, out of order.  A reign is a process and a version, and both are
 * in every message: a lone primary that restarts goes on under its version (rule 2), and what was meant
 * for the process before it must not be taken for its own.
 *
 * Entries' payloads are borrowed during the step in which they come; what is in the window is copied.
 * A lone primary sends its entries to nobody and copies none: who comes to need one (a learner) is fed
 * from the log (READ).  An entry that a step commits can be found until the next step.
 *
 * This module is pure: no clock (now_ns is handed in: CLOCK_BOOTTIME), no I/O, no randomness.  It
 * knows nothing of what entries mean but for barriers.  Thread rule: the loop of its store.
 */
#ifndef TABLETSERVER_REPLICA_REPLICA_H
#define TABLETSERVER_REPLICA_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/replica_configuration.h"
#include "common/base/stamp.h"
#include "common/base/status.h"

#define REPLICA_NEVER INT64_MAX /* as a deadline */

/* Effects of one step: two for each peer, each entry that one COMMIT frees is no effect of its own. */
#define REPLICA_EFFECTS_MAX (2 * REPLICA_PEERS_MAX + 8)
/* PREPAREs to one peer that it has not acknowledged.  A step sends one to a peer; while there are more
 * to send the deadline is now, so that TICKs send them. */
#define REPLICA_IN_FLIGHT_MAX 1024

struct replica;

struct replica_settings {
    int64_t resend_ns;          /* nothing heard for so long of what was sent: again */
    int64_t commit_idle_ns;     /* 20 ms: COMMITTED alone, when no PREPARE carried it */
    int64_t open_timeout_ns;    /* 0.5 s: a member that does not answer a new primary (rule 15) */
    int64_t prepare_timeout_ns; /* 3 s: a member that lives but does not prepare (rule 13) */
    /* 10 s: the last other member has so much longer where writes need it (rule 13). */
    int64_t last_ns;
    int64_t propose_ns; /* a proposal that is not settled is repeated after it */
    int64_t stagger_ns; /* the n-th secondary waits n times this before it proposes itself */
    /* A wish to hand over waits until the successor was opened for so long: one that has just
     * begun is bound by what lives before it have granted (rule 11). */
    int64_t settle_ns;
    /* One that has restarted, and that no other member has borne out, leaves them all behind
     * only after so long (rule 21). */
    int64_t alone_ns;
    uint64_t window_bytes_max; /* entries above committed; a primary refuses WRITE above it */
    uint32_t min_in_sync;      /* rule 6 */
};

/* --- what travels ------------------------------------------------------------------------------- */

/* Nothing may be given out behind it until it is lifted (section 7). */
enum replica_barrier {
    REPLICA_BARRIER_NONE,
    REPLICA_BARRIER_SPLIT,  /* committed: the primary proposes the split */
    REPLICA_BARRIER_FROZEN, /* committed: waits for its neighbour's merge */
    REPLICA_BARRIER_ABSORB, /* committed under the version that gave it out: proposes the merge */
};

/* A barrier that is not lifted; sequence 0 = none. */
struct replica_standing {
    uint64_t sequence;
    uint64_t version; /* of its entry */
    enum replica_barrier barrier;
};

/* One record of the tablet's log.  version: under which it was first given out (rule 3). */
struct replica_entry {
    uint64_t sequence;
    uint64_t version;
    struct stamp stamp;
    uint8_t type; /* enum record_type of storage; not looked at */
    enum replica_barrier barrier;
    bool lifts; /* lifts the barrier before it */
    struct bytes payload;
};

enum replica_role {
    REPLICA_OUTSIDER,
    REPLICA_LEARNER,
    REPLICA_SECONDARY,
    REPLICA_PRIMARY,
};

enum replica_message_type {
    REPLICA_OPEN = 1,
    REPLICA_OPENED = 2,
    REPLICA_PREPARE = 3,
    REPLICA_PREPARED = 4,
    REPLICA_COMMITTED = 5,
    REPLICA_BEHIND = 6,
    REPLICA_YIELD = 7,
    REPLICA_DAMAGED = 8, /* instead of OPENED or PREPARED: remove me */
    REPLICA_REFUSED =
        16, /* instead of OPENED: I have turned away, and have so much (rules 10, 19) */
    /* Section 6; not a replica's to look at, but teach.h's and learn.h's. */
    REPLICA_LESSON = 9,   /* primary -> learner: you may be taught */
    REPLICA_TEACH = 10,   /* back: this slice, please */
    REPLICA_SLICE = 11,   /* primary -> learner */
    REPLICA_LEARNED = 12, /* back: I have it all */
    /* Section 9; scrub.h's. */
    REPLICA_DIGEST =
        13, /* primary -> member: when you have committed sequence, what do you show? */
    REPLICA_DIGESTED = 14, /* back */
    REPLICA_DIFFERS = 15,  /* primary -> member: your copy is damaged */
};

/* Which rows, and how they are looked at. */
struct replica_digest_range {
    uint64_t schema_version; /* what the table's families and rules say */
    int64_t now_us;          /* what has expired then is not shown */
    uint64_t bytes_max;      /* about so much, to the end of a row */
    struct bytes after;      /* what follows on this row; empty: from the first one on */
};

struct replica_digest {
    bool missed; /* nothing is said: it was too late, or is of another schema */
    uint64_t halves[2];
    bool is_end;       /* there is nothing behind */
    struct bytes last; /* the last row of it */
};

/* Whether a member would lead, were it made way for now (rule 14). */
enum replica_will {
    REPLICA_WILL_UNKNOWN, /* a server of before, which does not say: as if it would */
    REPLICA_WILL_LEAD,
    REPLICA_WILL_NOT, /* it reaches no master, its disk stands still, it is about to end... */
};

/* docs/replication.md, section 4.  Fields that a type does not name are zero. */
struct replica_message {
    enum replica_message_type type;
    uint64_t version;     /* all: the sender's configuration */
    uint64_t incarnation; /* all: of the sender's process */
    /* OPEN: start; OPENED, PREPARED, REFUSED: prepared; COMMITTED, YIELD: committed. */
    uint64_t sequence;
    uint64_t committed; /* OPEN, OPENED, REFUSED, PREPARE */
    /* OPEN: of the entry at start; OPENED: at prepared; REFUSED: at committed; PREPARE: of the
     * entry before; 0 = not known any more (it is committed). */
    uint64_t previous_version;
    /* OPENED, PREPARED, DAMAGED, REFUSED: incarnation of the process that they answer; PREPARE,
     * COMMITTED, LESSON, SLICE: of the one that has been opened. */
    uint64_t opener;
    uint64_t appended; /* PREPARED, OPEN: its log goes up to here; UINT64_MAX: it does not say */
    bool gap;          /* PREPARED: the PREPARE does not follow on that.  REFUSED: that is more */
    bool as_learner;   /* OPEN, OPENED: not counted */
    bool asks;         /* COMMITTED: would you lead?  Answered by PREPARED */
    enum replica_will will;                     /* OPENED, PREPARED */
    struct replica_configuration configuration; /* OPEN */
    struct replica_entry entry;                 /* PREPARE */
    /* Section 6.  LESSON: sequence: what the log follows on.  TEACH: sequence: what the learner's log follows
     * on already, committed: that the slice is to be of at least.  SLICE: sequence: of it.  LEARNED: sequence:
     * what its log follows on. */
    uint64_t lesson; /* all four */
    uint64_t number; /* TEACH, SLICE: which slice; DIGEST, DIGESTED, DIFFERS: which comparison */
    bool last;       /* SLICE: there is none behind it */
    struct bytes content; /* SLICE; as payloads */
    /* Section 9.  DIGEST: sequence, number, range.  DIGESTED: number, opener, digest.  DIFFERS: number. */
    struct replica_digest_range range;
    struct replica_digest digest;
};

/* What a primary or secondary wants of the catalog (rule 12). */
enum replica_proposal_kind {
    REPLICA_PROPOSE_MEMBERS, /* next: the configuration after */
    REPLICA_PROPOSE_SPLIT,   /* next: version + 1, for both children; barrier names them */
    REPLICA_PROPOSE_MERGE,
};

struct replica_proposal {
    enum replica_proposal_kind kind;
    uint64_t base; /* the version that it replaces */
    struct replica_configuration next;
    uint64_t barrier; /* sequence of the entry that says what is split or merged; 0 = none */
};

/* --- events --------------------------------------------------------------------------------------- */

enum replica_event_type {
    REPLICA_EVENT_TICK,       /* replica_deadline_ns() has passed; harmless at other times */
    REPLICA_EVENT_WRITE,      /* a primary's store has an entry to give out */
    REPLICA_EVENT_SYNCED,     /* sequence: the store's log has all up to it */
    REPLICA_EVENT_CONFIGURED, /* the effect CONFIGURE is synced: one for each, in the log's order with
                                 SYNCED */
    REPLICA_EVENT_RECEIVE,    /* message, from */
    REPLICA_EVENT_CATALOG, /* configuration: what the master told; the newest it has.  present: and
                                 the copy was made for it (rule 18): it may begin the tablet.
                                 recovered: a person chose it, whatever it has is what there is */
    REPLICA_EVENT_GONE, /* the catalog has the tablet no more: split, merged or dropped.  After it
                                  only EXCEPTED is heard */
    REPLICA_EVENT_HELD, /* the lease of server `from` (lease.h) holds / does not hold (!present): when
                           it changes, and after each OPEN that was sent there */
    REPLICA_EVENT_EXCEPTED_BY_PEER, /* from no longer grants version */
    REPLICA_EVENT_PEER_RESTARTED, /* what `from` opened as a process before `incarnation` is void */
    REPLICA_EVENT_EXCEPTED, /* the effect EXCEPT (from: to whom) is in force; free from at_ns on */
    REPLICA_EVENT_SILENT,   /* the leader of version is not heard (rule 10) */
    REPLICA_EVENT_GOAL,     /* goal_*: what the master wishes (section 10) */
    /* Of a reign's version, and of the incarnation of the other side's process; others are late. */
    REPLICA_EVENT_TEACHING, /* sequence: learner `from` has everything up to it, or is being taught it
                               (the first slice), so the log goes on behind it.  At the learner (from is
                               itself): so does this replica, and that is synced */
    REPLICA_EVENT_TAUGHT,   /* learner `from` is whole */
    REPLICA_EVENT_UNTAUGHT, /* nothing is heard of learner `from`: it is opened again, or let go */
    REPLICA_EVENT_READ,     /* entry for `from`, asked by the effect READ; the log has it no more if
                               !present (sequence says which) */
    REPLICA_EVENT_UNREAD, /* entry `sequence` for `from` could not be read now: it is asked again in a moment */
    REPLICA_EVENT_DAMAGED, /* a checksum failed here */
    REPLICA_EVENT_STALLED, /* the log has something to sync and makes no progress; !present: it moves
                               again (rule 14) */
    REPLICA_EVENT_CUT_OFF, /* no master is heard of; !present: one is again.  Nobody is to make way for it
                              meanwhile (rule 14) */
    REPLICA_EVENT_LEAVING, /* the process is about to end: reigns are handed over, none is begun again */
    REPLICA_EVENT_RENEW, /* what stands under `version` is to be lifted, which only a higher one may: its
                            primary proposes its renewal (section 7) */
    REPLICA_EVENT_VOID, /* the merge that the barrier `sequence` proposes can never be taken: the right
                            neighbour has another version than it names.  That settles it (section 7) */
};

struct replica_event {
    enum replica_event_type type;
    int64_t now_ns; /* never goes back */
    struct replica_member from;
    uint64_t sequence;
    uint64_t version;
    uint64_t incarnation;
    int64_t at_ns;
    bool present;
    bool recovered;                             /* CATALOG */
    struct replica_message message;             /* RECEIVE */
    struct replica_configuration configuration; /* CATALOG */
    struct replica_entry entry;        /* WRITE: sequence and version are given by the step; READ */
    struct replica_union goal_members; /* GOAL; none: there is no wish */
    uint64_t goal_leader;              /* GOAL: store; 0 = whoever */
};

/* --- effects -------------------------------------------------------------------------------------- */

/* What a CONFIGURATION record says beside configuration and role; replay hands in the last one. */
struct replica_flags {
    bool opened;      /* under this version: nothing is dropped under it any more (rule 4) */
    bool doubt_noted; /* a lone primary is about to propose (rule 2) */
    bool bound;   /* grants of this store's may be out: a later process waits for them (rule 11) */
    bool damaged; /* section 9: what it has counts for nothing until it is taught anew */
    /* It has lost what it had promised: it leads nobody until another has taught it that (rule
     * 20). */
    bool doubtful;
};

enum replica_effect_type {
    REPLICA_EFFECT_SEND,   /* message, to */
    REPLICA_EFFECT_APPEND, /* log entry; then SYNCED.  Its payload is the event's or the window's */
    REPLICA_EFFECT_CONFIGURE, /* log configuration, role, flags, and sequence: what is above it is
                                 dropped, in the log and in memory; then CONFIGURED */
    REPLICA_EFFECT_COMMIT, /* up to sequence: make it visible; answer, if replica_look() says that it
                                 acknowledges, and leases hold; "unknown" otherwise (rules 5, 6) */
    REPLICA_EFFECT_LEAD,   /* from now on primary: apply the window as prepared */
    REPLICA_EFFECT_FOLLOW, /* no longer: take what is above sequence out of the memtable */
    REPLICA_EFFECT_SERVE,  /* peers: serve while each of them's lease holds */
    REPLICA_EFFECT_CEASE,  /* serve no more, from this step on */
    REPLICA_EFFECT_GRANT,  /* to: lease.h, LEASE_EVENT_GRANT under version to incarnation (0: to one
                                 that has not opened this replica yet, so that SILENT comes if it never
                                 does) */
    REPLICA_EFFECT_EXCEPT, /* to: LEASE_EVENT_EXCEPT under version; then EXCEPTED */
    REPLICA_EFFECT_PROPOSE, /* proposal, to the master; CATALOG is its answer */
    REPLICA_EFFECT_ASK,     /* the master has a newer version: CATALOG, please */
    REPLICA_EFFECT_READ,    /* the log's entry `sequence` for peer `to`; then READ */
    REPLICA_EFFECT_TEACH, /* begin to teach `to` (teach.h), which has everything up to sequence; then
                               TEACHING, and TAUGHT.  Told again when it begins anew */
};

struct replica_effect {
    enum replica_effect_type type;
    struct replica_member to;
    uint64_t sequence;
    uint64_t version;
    uint64_t incarnation;       /* GRANT */
    enum replica_role role;     /* CONFIGURE */
    struct replica_flags flags; /* CONFIGURE */
    struct replica_message message;
    struct replica_entry entry;
    struct replica_configuration configuration;
    struct replica_proposal proposal;
    struct replica_union peers;
};

/* Perform in order.  Bytes are the replica's, or the event's, until the next step. */
struct replica_effects {
    struct replica_effect items[REPLICA_EFFECTS_MAX];
    uint32_t count;
};

/* --- life ----------------------------------------------------------------------------------------- */

/* What the store found, synced.  A replica that is just being made (of a new tablet, or to be taught)
 * has version 0 and nothing: CATALOG (version 1) or OPEN brings its first configuration. */
struct replica_recovered {
    struct replica_member self;
    uint64_t incarnation;
    struct replica_configuration configuration;
    /* OUTSIDER or LEARNER when it is no member, or SECONDARY when it was opened as a member
     * because its addition is in doubt (rule 16). */
    enum replica_role role;
    struct replica_flags flags;
    bool adopted; /* by this very process, which has logged it (rule 2) */
    /* From when on nothing binds that processes before have granted: beginning of the lease
     * module + grace (lease.h). */
    int64_t free_from_ns;
    uint64_t committed;                 /* what the store can prove */
    uint64_t committed_version;         /* of the entry there; 0 = not known */
    struct replica_standing barrier;    /* one that is committed and not lifted */
    const struct replica_entry *window; /* those above committed, ascending without gaps; copied */
    uint32_t window_count;
};

/* A lone primary without a noted doubt leads at once, under its version; a leader among others
 * proposes its renewal (rule 2); everyone else waits to be opened.  Effects as of a step.  Errors:
 * STATUS_NO_MEMORY. */
enum status replica_create(const struct replica_settings *settings,
                           const struct replica_recovered *recovered,
                           int64_t now_ns,
                           struct replica **ret_replica,
                           struct replica_effects *ret_effects);
void replica_destroy(struct replica *replica); /* NULL is fine */

/*
 * Advance by one event.  On an error nothing has changed and there are no effects.  What comes from
 * others is never an error: it is dropped, or answered.
 *
 * Errors:
 *   WRITE  STATUS_NOT_OWNER (not primary, or not yet, or no longer serving), STATUS_UNAVAILABLE (fewer
 *          members than min_in_sync, a barrier, a hand-over is under way, or what lifts a barrier comes
 *          while its split or merge is proposed, or under the version in which it was frozen: come again),
 *          STATUS_RESOURCE_EXHAUSTED (the window is full)
 *   all    STATUS_NO_MEMORY
 */
enum status replica_step(struct replica *replica,
                         const struct replica_event *event,
                         struct replica_effects *ret_effects);

/* What a WRITE of this entry would say now.  Its memory is set aside, so a WRITE that follows at once
 * does not fail, and a store may take the entry into its log in between. */
enum status replica_may_write(struct replica *replica, const struct replica_entry *entry);

/* The table says otherwise than when it was created (rule 6). */
void replica_set_min_in_sync(struct replica *replica, uint32_t min_in_sync);

/* When it wants a TICK next; REPLICA_NEVER if it does not. */
int64_t replica_deadline_ns(const struct replica *replica);

/* --- looking -------------------------------------------------------------------------------------- */

enum replica_trouble {
    REPLICA_FINE,
    REPLICA_FEW_MEMBERS, /* fewer than min_in_sync: writes are refused */
    REPLICA_IN_DOUBT,    /* a proposal is not settled */
    REPLICA_INHERITING,  /* primary, with entries of its predecessor to commit */
    REPLICA_TURNED_AWAY, /* proposed itself */
    REPLICA_WAITING,     /* to be opened by its primary */
    REPLICA_IS_DAMAGED,
    REPLICA_IS_DOUBTFUL, /* rule 20 */
};

struct replica_view {
    enum replica_role role;
    struct replica_configuration configuration;
    enum replica_trouble trouble;
    bool serving;      /* as far as this module can tell: leases are looked at by the clock */
    bool acknowledges; /* serving, with members enough: what commits may be answered (rules 5, 6) */
    bool claims;       /* not PRIMARY, and has proposed to be */
    /* PRIMARY, and takes no writes, most likely for a moment only: its reign is about to begin,
     * or has ended by word, it hands over, or a barrier stands. */
    bool changing;
    uint64_t committed;
    uint64_t synced;
    uint64_t appended;
    uint64_t start; /* PRIMARY: of its reign */
    uint64_t window_bytes;
    uint64_t barrier;                 /* sequence of one that is not lifted; 0 = none */
    struct replica_standing standing; /* the same */
    bool standing_void;               /* REPLICA_EVENT_VOID has said so of it */
    uint32_t learners;                /* PRIMARY: being taught, or joining */
    bool settled; /* PRIMARY: it has what is wished, and neither leaves nor makes way for another */
    uint64_t told; /* PRIMARY: all who count were told that everything up to it is committed */
    bool gone;
    bool bound;           /* EXCEPTED is awaited: it is not known from when on it is free */
    int64_t free_from_ns; /* else: from then on no grant of this store's is out (rule 11) */
};

/* Is that store's replica a learner of this primary's? */
bool replica_teaches(const struct replica *replica, uint64_t store);

struct replica_view replica_look(const struct replica *replica);

/* Let go of what is committed now rather than with the next step, which may be long in coming: an idle
 * tablet would keep what it was given last in memory.  The last effects have been performed. */
void replica_trim(struct replica *replica);

/* An entry of the window; NULL when it is not in it.  Good until the next step, or replica_trim(). */
const struct replica_entry *replica_window_find(const struct replica *replica, uint64_t sequence);

/* Abort unless the invariants hold. */
void replica_check(const struct replica *replica);

#endif /* TABLETSERVER_REPLICA_REPLICA_H */
