/*
 * A host: the replicas of one store, performed.  Each tablet that has a configuration has a replica
 * (replica.h decides); this hands it what happens, and does what it says.
 *
 *   store's callbacks ---->                                  ----> store: log, commit, lead, follow
 *   lanes: batches ------->    [ replica of each tablet ]    ----> lanes, beacons
 *   beacons: host_hear --->         events, effects          ----> serving words: readers of any thread
 *   catalog, helpers ----->                                  ----> callbacks: propose, ask, read, slice
 *
 * What cannot be done now is kept and done later (host_round()): a store without room, a full mailbox.
 * Nothing is queued without a bound: what a store still owes is told by the replica's window, and what
 * the beacon thread has to say is kept as state, tablet by tablet, so none of it is lost.
 *
 * Invariants, checked by host_check() in tests:
 *   (1) What a replica has and its store has not is in the replica's window.
 *   (2) A serving word is open only while its replica serves, and no peer that it counts on has excepted
 *       the version (rule 10).
 *
 * Thread rule: the loop of the store, but for host_hear() (the beacon thread), serving words, and what says
 * otherwise.
 */
#ifndef TABLETSERVER_HOST_HOST_H
#define TABLETSERVER_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "tabletserver/host/serving.h"
#include "tabletserver/peer/beacons.h"
#include "tabletserver/peer/lanes.h"
#include "tabletserver/replica/replica.h"
#include "tabletserver/replica/scrub.h"
#include "tabletserver/replica/teach.h"
#include "tabletserver/storage/copies/store_replica.h"

struct host;
struct host_reading_slice;
struct host_digesting;

/* A learner, to be taught by a tablet's primary in this store (section 6). */
struct host_pupil {
    uint64_t tablet;
    struct replica_member member;
    uint64_t incarnation; /* of its process */
    uint64_t version;     /* of the reign that teaches it */
    uint64_t sequence;    /* it has everything up to here already */
};

/* What a replica proposes to the catalog; and, of a split or merge, what its barrier says.  Borrowed. */
struct host_proposal {
    const struct replica_proposal *replica;
    struct record_split split;   /* REPLICA_PROPOSE_SPLIT */
    struct record_absorb absorb; /* REPLICA_PROPOSE_MERGE */
};

/* Two neighbours, and what they are to become. */
struct host_merge_wish {
    uint64_t left;
    uint64_t right;
    uint64_t merged;
};

struct host_options {
    struct store *store;
    struct replica_member self;
    uint64_t incarnation; /* of this process */
    /* From then on no promise of an earlier process of this server binds (rule 8). */
    int64_t free_from_ns;
    struct replica_settings settings; /* min_in_sync: each tablet has its own */
    /* Given out and not committed, of all tablets led here: more is refused. */
    uint64_t windows_bytes_max;
    struct teach_settings teach;
    /* A learner's walk that holds something up for longer is broken off. */
    int64_t learn_timeout_ns;
    struct scrub_settings scrub;
    struct beacons *beacons; /* both outlive the host */
    struct lanes *lanes;

    /* None of them may call the host, or wait. */
    void *context;
    void (*wake)(void *context); /* any thread: call host_round() soon */
    /* Everything up to sequence is committed, and visible.  answers: whoever waits may be told that it
     * was done (rules 5 and 6); otherwise that it is not known. */
    void (*on_committed)(void *context,
                         struct store_tablet *tablet,
                         uint64_t sequence,
                         bool answers);
    /* The tablet's reign here is over: writes that wait are answered that it is not known whether they were done.
     * (May come inside a call of the store's that appends.) */
    void (*on_ceased)(void *context, struct store_tablet *tablet);
    /* What serving_look() says has changed to this. */
    void (*on_changed)(void *context, struct store_tablet *tablet, const struct serving_view *view);
    /* Send a proposal, or a question, to the master; its answer is host_told(), host_convert() or host_gone().
     * Either may be lost: replicas say it again. */
    void (*on_propose)(void *context,
                       uint64_t tablet,
                       struct replica_member self,
                       const struct host_proposal *proposal);
    void (*on_ask)(void *context, uint64_t tablet);
    /* The log's entry `sequence`, which is committed, for a peer: store_log_read() on a thread that may
     * wait; then host_read(), whatever came of it. */
    void (*on_read)(void *context,
                    struct store_tablet *tablet,
                    uint64_t sequence,
                    struct replica_member to);
    /* A split is done: the tablet, which was not served any more before, is gone, and its children are there, each
     * with a replica (host_serving() and host_look() may be asked of them).  Who waits for it goes on with them. */
    void (*on_converted)(void *context,
                         struct store_tablet *gone,
                         struct store_tablet *const children[2]);
    /* A merge is done, likewise. */
    void (*on_merged)(void *context,
                      struct store_tablet *const gone[2],
                      struct store_tablet *merged);
    /* A slice for a learner: host_slice_read() on a thread that may wait; then host_sliced().  False: it cannot be
     * had now, and comes again; the reading stays the host's. */
    bool (*on_slice)(void *context,
                     struct store_tablet *tablet,
                     struct host_reading_slice *reading);
    /* Digest rows, to be compared with other copies: host_digest_run() on a thread that may wait, when there is
     * time; then host_digested(). */
    void (*on_digest)(void *context, struct store_tablet *tablet, struct host_digesting *digesting);
    /* Copies differ (SCRUB_EFFECT_DIFFER, with what each of them has): people are to be told. */
    void (*on_differ)(void *context,
                      struct store_tablet *tablet,
                      const struct scrub *scrub,
                      const struct scrub_effect *effect);
    /* Is no master heard of, so that nobody should make way for this server as primary (rule 14)?  Asked with every
     * round.  NULL: one is always heard of. */
    bool (*is_cut_off)(void *context);
    int64_t (*now_us)(void *context); /* wall clock */
};

/* Errors: STATUS_NO_MEMORY. */
enum status host_create(const struct host_options *options, struct host **ret_host);

/* Requires: the beacon thread has ended, and no reader looks at a serving word any more.  NULL is fine. */
void host_destroy(struct host *host);

/* --- tablets ------------------------------------------------------------------------------------ */

/* From now on the tablet has a replica here: as the store has recovered it, or of none yet (it was just
 * made; the catalog or a primary will say).  Errors: STATUS_NO_MEMORY, STATUS_UNAVAILABLE (it has given out
 * what is not committed yet: come again). */
enum status host_add(struct host *host, struct store_tablet *tablet, uint32_t min_in_sync);

/* Was it said with this configuration in view that its copy may go?  False: it has heard of a newer one since, or was
 * opened as a member under this one; what was said is old.  version 0: there is no such tablet any more. */
bool host_may_remove(const struct store_tablet *tablet, uint64_t version);

/* The tablet has no replica here from now on.  Harmless when it has none. */
void host_remove(struct host *host, struct store_tablet *tablet);
/* The same of a tablet that is being dropped: what a member has promised for it is taken back, or beacons would renew
 * that for as long as the process lives. */
void host_drop(struct host *host, struct store_tablet *tablet);

/* Its table says now with how few members in sync it may be written to. */
void host_set_min_in_sync(struct store_tablet *tablet, uint32_t min_in_sync);

/* May a write be taken now, or one that was done before be answered (rules 5 to 7)?  STATUS_OK,
 * STATUS_NOT_OWNER (another leads, or nobody yet), STATUS_UNAVAILABLE (it leads, but without leases,
 * or with fewer members than min_in_sync: come again).  Requires: it has a replica here. */
enum status host_may_answer(const struct store_tablet *tablet, int64_t now_ns);

/* Is it being split, or its reign beginning or ending here, so that who is refused a write now may well
 * come through in some milliseconds?  Requires: it has a replica here. */
bool host_is_changing(const struct store_tablet *tablet);

/* Its serving word, for readers: they take a reference.  Requires: it has a replica here. */
struct serving *host_serving(const struct store_tablet *tablet);

/* Requires: it has a replica here. */
struct replica_view host_look(const struct store_tablet *tablet);

/* --- what happens ------------------------------------------------------------------------------- */

/* The store's callbacks of the same names; tablets without a replica are passed over.  For a tablet that
 * has one the caller's on_committed is told by the host, not by the store. */
void host_on_committed(struct host *host, struct store_tablet *tablet, uint64_t sequence);
void host_on_synced(struct host *host, struct store_tablet *tablet, uint64_t sequence);
void host_on_configured(struct host *host, struct store_tablet *tablet);
void host_on_taught(struct host *host, struct store_tablet *tablet, enum status status);
enum status host_on_append(struct host *host,
                           struct store_tablet *tablet,
                           const struct store_entry *entry);
void host_on_appended(struct host *host,
                      struct store_tablet *tablet,
                      const struct store_entry *entry);

/* A batch of a peer's, for this store. */
void host_receive(struct host *host, const struct replica_batch *batch);

/* What the beacon thread says (beacons_options.on_effect): every host of the server is told. */
void host_hear(struct host *host, const struct lease_effect *effect);

/* The catalog's newest.  founding: nobody else has anything of the tablet, so the replica may begin it under
 * this version (rule 18). */
void host_told(struct host *host,
               struct store_tablet *tablet,
               const struct replica_configuration *newest,
               bool founding);
/* The catalog's newest, too, but chosen by a person after a loss: what its only member has is what the tablet is
 * (rule 18). */
void host_recovered(struct host *host,
                    struct store_tablet *tablet,
                    const struct replica_configuration *newest);
/* The catalog has the tablet no more. */
void host_gone(struct host *host, struct store_tablet *tablet);
/* The master's wish: these members (none: there is no wish), led by that store (0: by whichever). */
void host_goal(struct host *host,
               struct store_tablet *tablet,
               const struct replica_union *members,
               uint64_t leader_store);
/* Does somebody wait for the tablet's goal?  Then its lessons are quick; else requests come first (section 6). */
void host_hurry(struct host *host, struct store_tablet *tablet, bool hurried);

/*
 * The master wishes that the tablet be split (section 7): its primary here gives out the barrier, and
 * proposes when that is committed.  To be called again while it is wished.  From the barrier on its writes
 * are refused as UNAVAILABLE, reads go on; whoever calls had better hold them for a moment, for the children
 * will be here.
 * Errors: STATUS_NOT_OWNER (not this one's to do), STATUS_UNAVAILABLE (something else is under way),
 * and as of store_append_barrier(): come again.  STATUS_INVALID_ARGUMENT: no row inside the tablet.
 */
enum status host_split(struct host *host,
                       struct store_tablet *tablet,
                       const struct record_split *wish);

/*
 * The master wishes that the tablet be merged with its neighbour; NULL: it does not.  Told to every member of
 * both: whoever leads both does it in its own time, step by step (merge.h), the others prepare for it.  From
 * the barriers on writes are refused as UNAVAILABLE, reads go on; what begun and is not wished any more, or
 * takes too long, is taken back.
 */
void host_merge(struct host *host, struct store_tablet *tablet, const struct host_merge_wish *wish);

/* The catalog's answer to the proposed merge of `left`: which version its right neighbour has. */
void host_told_right(struct host *host, uint64_t left, uint64_t right_version);

/*
 * The catalog has replaced the tablet, and `heir` came of it, which has (or had) a copy here; newest is its
 * configuration, as far as it is known (else NULL).  The tablet serves no more; it is converted in one of
 * the next rounds (if it was merged, together with the other one), then on_converted or on_merged comes and the
 * heir hears of its configuration.  Harmless, and false, for a tablet that has no replica or whose log does
 * not say so; and for one whose SPLIT is not committed here, unless newest names this store.  To be called
 * again while both are told of.
 */
bool host_convert(struct host *host,
                  struct store_tablet *tablet,
                  uint64_t heir,
                  const struct replica_configuration *newest);

/* The answer to on_read: the entry; or NULL: the log does not have it any more. */
void host_read(struct host *host,
               struct store_tablet *tablet,
               struct replica_member to,
               uint64_t sequence,
               const struct store_entry *entry);
/* The answer to on_read, too: it could not be read now, for want of memory, and is asked for again in a moment. */
void host_unread(struct host *host,
                 struct store_tablet *tablet,
                 struct replica_member to,
                 uint64_t sequence);

/* Read what on_slice has asked for.  Any thread that may wait; no two of one learner are under way at once. */
void host_slice_read(struct host_reading_slice *reading);
/* The slice will not come back to the host: frees it.  Any thread. */
void host_slice_discard(struct host_reading_slice *reading);
/* The slice is read, and goes to the learner.  Frees the reading.  On the loop. */
void host_sliced(struct host *host, struct host_reading_slice *reading);

/* Digest what on_digest has asked for.  Any thread that may wait. */
void host_digest_run(struct host_digesting *digesting);
/* The digest will not come back to the host: frees it.  Any thread. */
void host_digest_discard(struct host_digesting *digesting);
/* The digest is made, and goes to whoever compares.  Frees it.  On the loop. */
void host_digested(struct host *host, struct host_digesting *digesting);
/* How far the comparing of the tablet's copies has come.  Requires: it has a replica here.  For tests. */
const struct scrub *host_scrub(const struct store_tablet *tablet);

/* The process is about to end: what can be led by another is handed over (rule 14).  How many tablets
 * with others this store leads, or has proposed to: so many are not handed over yet. */
void host_leave(struct host *host);
uint32_t host_leads_count(const struct host *host);

/* A checksum has failed in what the store has of the tablet. */
void host_damaged(struct host *host, struct store_tablet *tablet);

/* --- rounds --------------------------------------------------------------------------------------- */

/* The end of each round of the loop: what the beacon thread said, what is due, what was put off; then
 * the log and the lanes are let go. */
void host_round(struct host *host);

/* When it wants a round at the latest, of clock_monotonic_ns(); REPLICA_NEVER if it does not. */
int64_t host_deadline_ns(struct host *host);

/* Abort unless the invariants hold.  Tests. */
void host_check(struct host *host);

#endif /* TABLETSERVER_HOST_HOST_H */
