/*
 * The world of one seed: one master or two, tablet servers, clients, and the time, network and disks
 * that join them.
 *
 *      heap --event--> step of a node --effects--> perform --future events--> heap
 *                           |                          |
 *                           +-------- checker ---------+
 *
 * Everything a run does follows from its seed: one process, one thread, one generator.  A node is
 * stepped with one event at a time and changes the world through its effects only, which are
 * performed in order; a kill may fall between any two of them.
 *
 * Nodes are numbered: 0 the first master, then the servers, the clients, the administrator, and last the
 * second master, if there is one.  A node's address is "sim://<number>".  A life is the time between a start and a kill; events carry the life they
 * belong to and are void in another.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/prng.h"
#include "common/wire/frame.h"
#include "common/wire/message.h"
#include "tests/sim/world/sim_buggify.h"
#include "tests/sim/world/sim_heap.h"
#include "tests/sim/world/sim_rules.h"

#define SIM_SERVERS_MAX 5
#define SIM_STORES_MAX  3 /* of a server */
#define SIM_CLIENTS_MAX 5
#define SIM_MASTERS_MAX 2
#define SIM_NODES_MAX   (SIM_MASTERS_MAX + SIM_SERVERS_MAX + SIM_CLIENTS_MAX + 1)
#define SIM_MASTER      0 /* the first */

#define SIM_MS INT64_C(1000000)
#define SIM_S  INT64_C(1000000000)

/* X(name as given on the command line, constant): bugs that can be switched on.  Each lives in the
 * simulator's own store, server or master, never in production code. */
#define SIM_PLANTED_LIST(X)                                                                       \
    X("ack-before-sync", ACK_BEFORE_SYNC)       /* answers at the append */                       \
    X("forget-dedupe", FORGET_DEDUPE)           /* a restart loses the exactly-once records */    \
    X("split-loses-dedupe", SPLIT_LOSES_DEDUPE) /* children begin without them */                 \
    X("replay-drops-last", REPLAY_DROPS_LAST)   /* recovery passes over the last record */        \
    X("replay-ignores-map", REPLAY_IGNORES_MAP) /* and over what the applied map says */          \
    X("release-early", RELEASE_EARLY)           /* the log is let go when a flush begins */       \
    X("no-row-lock", NO_ROW_LOCK)               /* conditional writes do not lock their row */    \
    X("ack-pending", ACK_PENDING)               /* a duplicate is answered before its commit */   \
    X("read-prepared", READ_PREPARED)           /* reads see what may yet be lost */              \
    X("no-secure-end", NO_SECURE_END)           /* recovery trusts unsynced bytes */              \
    X("lose-commit", LOSE_COMMIT)               /* the coordinator loses what it acknowledged */  \
    X("scan-skips-resume", SCAN_SKIPS_RESUME)   /* a slice goes on one row too far */             \
    X("replica-synced-early", REPLICA_SYNCED_EARLY)       /* I7: told before it is durable */     \
    X("lease-not-looked-at", LEASE_NOT_LOOKED_AT)         /* rule 7 */                            \
    X("secondary-serves", SECONDARY_SERVES)               /* rule 7: reads of any copy */         \
    X("exception-unsaid", EXCEPTION_UNSAID)               /* rules 8 and 10 */                    \
    X("restarted-goes-on", RESTARTED_GOES_ON)             /* rule 2 */                            \
    X("no-renewal", NO_RENEWAL)                           /* rule 2: progress */                  \
    X("commit-alone", COMMIT_ALONE)                       /* rule 5: answered when synced here */ \
    X("deposed-answers", DEPOSED_ANSWERS)                 /* rule 5: whoever may serve or not */  \
    X("nobody-removed", NOBODY_REMOVED)                   /* rule 13: progress */                 \
    X("serves-after-yield", SERVES_AFTER_YIELD)           /* rule 14 */                           \
    X("taught-early", TAUGHT_EARLY)                       /* section 6: whole before it is */     \
    X("lead-without-window", LEAD_WITHOUT_WINDOW)         /* section 3: promotion prepares it */  \
    X("deposed-keeps-requests", DEPOSED_KEEPS_REQUESTS)   /* section 3: exactly-once, dropped */  \
    X("replay-keeps-dropped", REPLAY_KEEPS_DROPPED)       /* section 8: a drop is not replayed */ \
    X("lesson-without-requests", LESSON_WITHOUT_REQUESTS) /* section 6: RECORDS are empty */      \
    X("slice-not-passed-over", SLICE_NOT_PASSED_OVER)     /* section 6: applied twice */          \
    X("half-taught-counts", HALF_TAUGHT_COUNTS)           /* section 6: after a restart */        \
    X("conversion-not-logged", CONVERSION_NOT_LOGGED)     /* section 7 */                         \
    X("grants-forgotten", GRANTS_FORGOTTEN)               /* rule 11 */                           \
    X("full-disk-acknowledges", FULL_DISK_ACKNOWLEDGES)   /* written nowhere */                   \
    X("slices-of-the-beginning", SLICES_OF_THE_BEGINNING) /* section 6: of older rows */          \
    X("lesson-waits", LESSON_WAITS)                       /* section 6: progress */               \
    X("convert-at-commit", CONVERT_AT_COMMIT)             /* section 7: without a word */         \
    X("older-copy-found", OLDER_COPY_FOUND)               /* section 7: progress */               \
    X("restart-unheard", RESTART_UNHEARD)                 /* rule 8: another process */           \
    X("min-in-sync-ignored", MIN_IN_SYNC_IGNORED)         /* rule 6 */                            \
    X("drained-stays", DRAINED_STAYS)                     /* section 7: a drained member stays */ \
    X("rot-untold", ROT_UNTOLD)                           /* section 9: progress */               \
    X("digest-read-late", DIGEST_READ_LATE)               /* section 9: at another sequence */    \
    X("commit-unfenced", COMMIT_UNFENCED)                 /* a deposed master's commit counts */  \
    X("reign-not-loaded", REIGN_NOT_LOADED)               /* goes on with its former catalog */   \
    X("merge-at-absorb", MERGE_AT_ABSORB)                 /* section 7: without a word */         \
    X("merge-loses-dedupe", MERGE_LOSES_DEDUPE)           /* section 7: the right half's */       \
    X("merge-below-right", MERGE_BELOW_RIGHT)             /* section 7: sequences of the left */  \
    X("never-thawed", NEVER_THAWED)                       /* section 7: progress */               \
    X("never-lifted", NEVER_LIFTED)                       /* section 7: progress */               \
    X("rot-ends-log", ROT_ENDS_LOG)                       /* section 9: taken for a torn end */   \
    X("relearn-unnoted", RELEARN_UNNOTED)                 /* section 9: a cut is forgotten */     \
    X("loses-a-register-row", LOSES_A_REGISTER_ROW)       /* a restart loses one of the base */   \
    X("stands-by-alone", STANDS_BY_ALONE)                 /* a master waits for the other one */  \
    X("leaves-without-a-word", LEAVES_WITHOUT_A_WORD)     /* rule 14: progress */                 \
    X("reads-unconfirmed", READS_UNCONFIRMED)             /* rule 7: where clocks stand still */  \
    X("unfit-lease-given", UNFIT_LEASE_GIVEN)             /* rule 8: for all its length */        \
    X("horizon-outlives-rule", HORIZON_OUTLIVES_RULE)     /* section 9: one of a former rule */   \
    X("rules-unsaid", RULES_UNSAID)                       /* section 9: a newer schema counts */  \
    X("removed-from-first-store", REMOVED_FROM_FIRST_STORE) /* rule 17: whichever it names */     \
    X("reported-as-first-stores", REPORTED_AS_FIRST_STORES) /* rule 17: whoever has a copy */     \
    X("none-made-beside", NONE_MADE_BESIDE) /* rule 17: what was let go stands for it */

enum sim_planted {
    SIM_PLANTED_NONE,
#define SIM_PLANTED_ENUM(name, constant) SIM_PLANTED_##constant,
    SIM_PLANTED_LIST(SIM_PLANTED_ENUM)
#undef SIM_PLANTED_ENUM
};

enum sim_away { /* how somebody stays away while a quorum is healed */
    SIM_AWAY_NOT,
    SIM_AWAY_DOWN,
    SIM_AWAY_CUT,  /* it runs, and reaches nobody */
    SIM_AWAY_MUTE, /* it hears all, and nobody hears it */
};

/* What a seed draws: topology, workload, faults.  Chances are per million of their occasion. */
struct sim_settings {
    uint32_t server_count;
    uint32_t client_count;
    uint32_t operations_per_client;
    uint32_t window; /* operations a client has under way */
    int64_t think_ns;
    int64_t operation_deadline_ns;
    int64_t attempt_timeout_ns;
    uint32_t row_count;   /* of counters and claims */
    uint32_t weights[12]; /* of the kinds of operations */
    bool admin;           /* tables come, change and go */
    bool splits_by_hand;
    bool merges;
    uint64_t soft_limit_bytes;
    uint32_t initial_splits;

    int64_t latency_min_ns;
    int64_t latency_mean_ns;
    uint32_t loss;
    uint32_t duplication;
    uint32_t slow; /* a message takes many times longer: reordering */
    uint32_t corruption;

    int64_t sync_mean_ns; /* of disks */
    int64_t base_mean_ns;
    int64_t commit_mean_ns; /* of the coordinator */
    uint32_t commit_failure;
    int64_t server_timeout_ns; /* the catalog's */
    int64_t place_timeout_ns;
    uint32_t splits_per_server;
    int64_t flush_interval_ns;
    uint32_t flush_pieces; /* about */
    int64_t evaluate_mean_ns;
    uint32_t scan_slice_rows;

    int64_t fault_interval_ns; /* between two turns of the fault maker; 0 = it does nothing */
    uint32_t kill_server;      /* per turn */
    uint32_t kill_master;
    uint32_t power_cut; /* of kills: the page cache is lost too */
    uint32_t kill_all;
    uint32_t kill_in_step; /* per step with effects */
    uint32_t masters;
    bool late_commits;     /* of masters that are gone: they may come when another has begun */
    uint32_t no_etcd;      /* per turn: a master does not reach the coordinator */
    uint32_t pause_master; /* per turn */
    uint32_t kill_again;   /* per restart: soon after it */
    uint32_t cut;          /* per turn */
    uint32_t clog;
    uint32_t clock_step;
    int64_t clock_skew_us;
    int64_t restart_mean_ns;
    int64_t faults_end_ns;

    uint32_t replicas; /* 1: the servers do not replicate at all */
    uint32_t min_in_sync;
    uint32_t part;           /* per turn: a server from the others, while clients still reach it */
    uint32_t pause;          /* per turn */
    uint32_t entries_kept;   /* committed ones that learners may be fed with */
    int64_t reading_mean_ns; /* of the log, or of a slice */
    uint32_t slice_bytes;
    uint32_t teach_bytes_a_second; /* 0 = as slices are asked for */
    int64_t teach_patience_ns;
    int64_t learn_timeout_ns;
    int64_t compare_period_ns; /* 0 = copies are not compared */
    uint32_t compare_range_bytes;
    int64_t last_ns;          /* replica.h */
    int64_t replace_after_ns; /* the catalog's */
    uint32_t wipe;            /* per turn: a disk is replaced by an empty one */
    uint32_t late;            /* per turn: a proposal that is taken late */
    uint32_t drained;         /* a server that is drained by hand, and taken back; 0 = none is */
    uint32_t stall;           /* per turn: a disk stands still */
    uint32_t full;            /* per turn: a disk has no room */
    uint32_t rot;             /* per turn: what a disk has of a tablet turns bad */
    uint32_t rot_log;         /* per turn, and per start of a server: a log turns bad */
    uint64_t window_bytes_max;
    int32_t rate_ppm[SIM_NODES_MAX];  /* of the clocks that measure leases: servers', masters' */
    bool clocks_apart;                /* those of masters more than elections allow for */
    uint32_t leave;                   /* per turn: a server is stopped on purpose */
    bool leave_in_the_end;            /* one is, when all is well */
    bool reads_confirmed;             /* rule 7: members are asked before each read */
    uint32_t freeze;                  /* per turn: a machine stands still, and its clock with it */
    uint32_t stores[SIM_SERVERS_MAX]; /* of each server, each on a disk of its own */
    int64_t keep_outsiders_ns;        /* the catalog's; 0 = as it comes */
    enum sim_away away_server;
    enum sim_away away_master;
};

/* --- what nodes want done ---------------------------------------------------------------------- */

enum sim_effect_kind {
    SIM_EFFECT_SEND,  /* message to node `to` */
    SIM_EFFECT_TIMER, /* an event with number after delay_ns */
    SIM_EFFECT_LOG, /* write and sync the gathered batch of the log of store number (of the server's) */
    SIM_EFFECT_BASE,   /* commit the first queued transaction of the base of that one */
    SIM_EFFECT_COMMIT, /* commit the catalog's transaction number */
    SIM_EFFECT_ASK,    /* the question number of the election */
};

struct sim_effect {
    enum sim_effect_kind kind;
    uint32_t to;
    uint64_t number;
    int64_t delay_ns;
    struct frame_header frame; /* SEND: type, method and request */
    struct buffer message;     /* SEND: owned */
};

struct sim_effects {
    struct sim_effect *items;
    uint32_t count;
    uint32_t capacity;
};

void sim_effects_add(struct sim_effects *effects, const struct sim_effect *effect);
void sim_effects_send(struct sim_effects *effects,
                      uint32_t to,
                      enum frame_type type,
                      enum method method,
                      uint64_t request,
                      struct buffer *message);
void sim_effects_timer(struct sim_effects *effects, uint64_t number, int64_t delay_ns);

/* A message as it arrives. */
struct sim_message {
    uint32_t from;
    enum frame_type type;
    enum method method;
    uint64_t request;
    struct bytes payload;
};

/* --- the world --------------------------------------------------------------------------------- */

struct sim_node {
    bool alive;
    uint32_t life;
    int64_t wall_offset_us;
    int64_t paused_until_ns; /* a process that is stopped: what comes for it waits */
    int64_t frozen_from_ns;  /* it, and its clock with it (sim_freeze.h); 0 = never */
    int64_t frozen_until_ns;
    int64_t frozen_ns;                        /* by so much its clock is behind, of earlier times */
    int64_t stalled_until_ns[SIM_STORES_MAX]; /* that disk syncs nothing */
    int64_t full_until_ns[SIM_STORES_MAX];    /* and takes nothing */
    int64_t no_etcd_until_ns;                 /* a master that does not reach the coordinator */
};

struct sim_link {
    bool cut;
    int64_t clogged_until_ns;
    int64_t parted_until_ns;
};

/* Of the fault that sim_late.h tells. */
struct sim_late {
    bool running;
    uint32_t leader; /* who is cut off */
    uint32_t heir;   /* whose proposal comes late */
};

/* Who stays away while all others are healed (sim_quorum.h). */
struct sim_absence {
    bool now;
    uint32_t server; /* 0 = none */
    bool lacks_master;
    uint32_t master;
};

/* Who leads a tablet that others could lead, and since when. */
struct sim_lead {
    uint64_t tablet; /* 0 = none */
    uint64_t version;
};

/* Who is stopped on purpose (sim_leave.h). */
struct sim_leaving {
    struct prng prng;
    uint32_t last;        /* the one that was when all was well; 0 = none yet */
    struct sim_lead lead; /* its own still, when it was looked at */
};

/* What servers are set to (sim_leases.h). */
struct sim_leases {
    struct prng prng;
    const struct lease_settings *stays;
    const struct lease_settings *other;        /* in some lives; the same: in none */
    int64_t set_grace_ns[SIM_SERVERS_MAX + 1]; /* by node, of its life */
    int64_t outlived_ns[SIM_SERVERS_MAX +
                        1]; /* by its clock: what lives before it have promised is over */
};

struct lease_settings;
struct sim_master;
struct sim_server;
struct sim_client;
struct sim_admin;
struct sim_checker;
struct coordinator;
struct sim_server_disk;
struct sim_replica_truth;
struct sim_etcd;

struct sim {
    uint64_t seed;
    enum sim_planted planted;
    bool trace;
    struct sim_settings settings;
    struct sim_rules rules;
    struct prng prng;
    struct sim_buggify buggify;
    struct prng rot_prng; /* of logs that turn bad: other draws do not depend on it */
    int64_t now_ns;
    uint64_t event_count;
    uint64_t hash; /* of every event so far */
    bool healed;   /* nothing fails any more; but somebody may be away */
    struct sim_absence away;
    struct sim_leaving leaving;
    struct prng freezing; /* sim_freeze.h */
    struct sim_leases leases;
    struct prng stores; /* sim_stores.h */
    bool failed;
    char failure[512];
    struct sim_heap heap;
    struct sim_effects effects; /* of the step under way */
    uint32_t node_count;
    struct sim_node nodes[SIM_NODES_MAX];
    struct sim_late late;
    struct sim_link links[SIM_NODES_MAX][SIM_NODES_MAX];
    struct coordinator *coordinator; /* outlives masters, as disks outlive servers */
    struct sim_etcd *etcd;           /* so does what they had on their way to it */
    struct sim_server_disk *disks[SIM_SERVERS_MAX];
    struct sim_master *masters[SIM_MASTERS_MAX]; /* NULL = down; servers too */
    struct sim_server *servers[SIM_SERVERS_MAX]; /* node 1 + index */
    struct sim_client *clients[SIM_CLIENTS_MAX];
    struct sim_admin *admin;
    struct sim_checker *checker;
    struct sim_replica_truth *truth;
    bool quiet;           /* there are no faults yet */
    int64_t quiet_ns;     /* how long there were none */
    int64_t phase_ns;     /* healed: when this phase of it began */
    int64_t slice_ns;     /* when a learner or a scan was given the last slice */
    uint64_t slices_seen; /* until then */
    uint32_t final_count; /* scans begun at its end */
    bool done;
    struct sim_statistics {
        uint64_t operations;
        uint64_t unknown;
        uint64_t retries;
        uint64_t scans;
        uint64_t kills;
        uint64_t power_cuts;
        uint64_t splits;
        uint64_t merges; /* in each store */
        uint64_t flushes;
        uint64_t replays;
        uint64_t duplicates;
        uint64_t messages;
        uint64_t lost;
        uint64_t tables;
        uint64_t promotions;
        uint64_t removals;
        uint64_t lessons;
        uint64_t slices; /* that learners took */
        uint64_t scan_slices;
        uint64_t wipes;
        uint64_t rots;
        uint64_t log_rots;
        uint64_t log_rots_undone; /* where nobody else would have had what is lost */
        uint64_t log_cuts;
        uint64_t log_refusals; /* not cut, as the base knows of no other copy */
        uint64_t log_not_read; /* back, for a learner */
        uint64_t digests;
        uint64_t refused; /* by full disks */
        uint64_t yields;
        uint64_t leaves;
        uint64_t freezes;
        uint64_t awaited; /* reads, until they were confirmed */
        uint64_t fenced;  /* commits of masters that lead no more, refused */
        uint64_t reigns;
        uint64_t quorums; /* healed while somebody stayed away */
        uint64_t horizons;
        uint64_t erased; /* cells below one, in each store */
        uint64_t doomed; /* cells that other rules drop, deleted through the log */
        uint64_t rule_changes;
        uint64_t differences; /* between copies, found by comparing them */
    } statistics;
};

/* The run of a seed, from nothing to its end; look at failed and failure then. */
void sim_run(struct sim *sim, uint64_t seed, enum sim_planted planted, bool trace);

/* The first failure stands. */
void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_trace(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True with the given chance per million. */
bool sim_chance(struct sim *sim, uint32_t per_million);
/* About mean, never below a tenth of it, now and then several times as much. */
int64_t sim_about_ns(struct sim *sim, int64_t mean_ns);
/* What the node takes for the wall clock. */
int64_t sim_wall_us(const struct sim *sim, uint32_t node);
/* What it would show if it were right, and how wrong it may be. */
int64_t sim_true_us(const struct sim *sim);
int64_t sim_wall_error_us(const struct sim *sim);
/* A server's CLOCK_BOOTTIME, or what a master's election goes by: never set, but at a rate of its own. */
int64_t sim_boot_ns(const struct sim *sim, uint32_t node);
/* How long until that clock shows it. */
int64_t sim_boot_delay_ns(const struct sim *sim, uint32_t node, int64_t boot_ns);

bool sim_is_server(const struct sim *sim, uint32_t node);
bool sim_is_master(const struct sim *sim, uint32_t node);
/* Masters by number, from 0 to settings.masters - 1. */
uint32_t sim_master_node(const struct sim *sim, uint32_t master);
/* NULL = down. */
const struct sim_master *sim_master_of(const struct sim *sim, uint32_t node);
/* Whom to ask when that one is silent or stands by: itself, where there is no other. */
uint32_t sim_other_master(const struct sim *sim, uint32_t node);
uint32_t sim_admin_node(const struct sim *sim);
uint32_t sim_node_of_address(struct bytes address);

/* Perform what the step that is over wants done. */
void sim_perform(struct sim *sim, uint32_t node);

/* Only masters and servers die; it starts again by itself, in time. */
void sim_kill(struct sim *sim, uint32_t node, bool power_cut);
/* The disk of that store of a server that is down is replaced by an empty one. */
void sim_wipe(struct sim *sim, uint32_t node, uint32_t store);
/* One that is down. */
void sim_start(struct sim *sim, uint32_t node);

#endif /* TESTS_SIM_SIM_H */
