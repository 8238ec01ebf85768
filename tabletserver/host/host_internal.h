/*
 * Inside a host:
 *
 *   host.c          life, tablets, events in, rounds
 *   host_perform.c  effects out
 *   host_settle.c   what a replica has and its store still owes: log, lead, commit
 *   host_convert.c  splits: barriers, and what comes of them
 *   host_merge.c    merges: barriers
 *   host_unite.c    and what comes of them
 *   host_teach.c    lessons: slices out,
 *   host_learn.c    slices in,
 *   host_walks.c    and what waits while they are read
 *   host_digest.c   comparing copies
 *   host_lease.c    what the beacon thread said; whose lease holds; serving words
 *
 * [L] the loop's  [M] under the mutex, which the beacon thread takes too
 */
#ifndef TABLETSERVER_HOST_HOST_INTERNAL_H
#define TABLETSERVER_HOST_HOST_INTERNAL_H

#include <pthread.h>

#include "common/base/pairing_heap.h"
#include "tabletserver/host/host.h"
#include "tabletserver/replica/learn.h"
#include "tabletserver/replica/merge.h"
#include "tabletserver/replica/scrub.h"
#include "tabletserver/storage/copies/store_slice.h"

/*
 * A step of a replica may promise something to other servers (GRANT) or take it back (EXCEPT).  What the
 * beacons' mailbox has no room for is kept here, and so is each EXCEPT until the beacon thread has answered
 * it.  A step makes at most HOST_STEP_PROMISES; where there is no room left for so many, events that could
 * make any are passed over, as all of them come again.
 */
#define HOST_PROMISES_MAX  16
#define HOST_STEP_PROMISES 4
/* Twice as many, as answers to a replica that was here before may come, too. */
#define HOST_EXCEPTED_MAX (2 * HOST_PROMISES_MAX)

/* A WALK is a learner's way through the tablet, slice by slice. */
#define HOST_WALKS_MAX       4 /* at once in a store, */
#define HOST_QUICK_WALKS_MAX 4 /* and so many more of tablets that somebody waits for */

#define HOST_LEARN_RESEND_NS  INT64_C(500000000)
#define HOST_RETRY_NS         INT64_C(10000000) /* until what could not be done is tried again */
#define HOST_LOOK_AT_LEASE_NS INT64_C(50000000) /* between two looks whose lease holds */
#define HOST_STALL_NS         INT64_C(500000000) /* a log that is not synced for so long stalls (rule 14) */
#define HOST_TICKS_MAX        4096               /* of one round */

/* Another server. */
struct host_peer {
    struct serving_peer seen; /* its process as the beacon thread knows it: changed under [M] */
    uint64_t server;          /* [M] to add; never changed then */
    uint64_t told;            /* [L] incarnation of its process that replicas have heard of */
    bool held;                /* [L] whether its lease held, as all replicas were told last */
    bool told_else;           /* [L] a single replica was told otherwise since: tell all again */
};

/* GRANT or EXCEPT, on its way to the beacon thread. */
struct host_promise {
    bool except;
    uint64_t peer;
    uint64_t incarnation; /* GRANT: of the peer's process */
    uint64_t version;
};

/* LEASE_EFFECT_EXCEPTED, or EXCEPTED_BY_PEER. */
struct host_exception {
    uint64_t server;
    uint64_t version;
    int64_t at_ns;
};

/* What the beacon thread has said of a tablet, and the replica has not heard yet.  [M] */
struct host_news {
    struct hosted *next; /* in host->news, while listed */
    bool listed;
    uint64_t silent_version; /* SILENT: the highest version that was said; 0 = it was not */
    struct host_exception excepted[HOST_EXCEPTED_MAX]; /* EXCEPTED: answers, in order */
    uint32_t excepted_count;
    /* EXCEPTED_BY_PEER: the highest version that each server has excepted.  Kept when the replica has
     * heard of them (by_peer_new is false then), as the serving word stays closed by them. */
    struct host_exception by_peer[REPLICA_PEERS_MAX];
    uint32_t by_peer_count;
    bool by_peer_new;
};

/* An entry that a peer lacks, to be read from the log once it is committed. */
struct host_reading {
    struct replica_member to; /* store 0 = there is none */
    uint64_t sequence;
};

/* The catalog has replaced the tablet by others, its heirs: it is to become them.  [L] */
struct host_conversion {
    struct hosted *next; /* in host->converting, while listed */
    bool listed;
    struct replica_configuration told[2]; /* of the heirs, left and right; version 0 = not told */
    uint64_t
        merged;     /* of a merge: the one heir, whose configuration is told[0]; 0 = it was split */
    uint64_t right; /* of a merge: the other tablet, which lies to the right of this one */
};

/* A slice that is being read on another thread.  The store_slices are its own meanwhile, as the lesson may end
 * before the reading does. */
struct host_reading_slice {
    struct store_tablet *tablet;  /* with a reference */
    struct replica_member member; /* the learner */
    uint64_t lesson;
    struct store_slices *slices;
    struct buffer out; /* what was read */
    enum status status;
    uint64_t sequence; /* the slice is the tablet as of this one */
    bool last;
};

/* A learner that is taught here. */
struct host_teaching {
    struct host_teaching *next;
    struct host *host;
    struct host_pupil pupil;
    uint64_t lesson;  /* its number, which messages name */
    bool offered_log; /* the last offer said that the log follows on what the learner has */
    struct teach teach;
    uint64_t floor; /* the first slice shows the tablet as of this sequence, or a later one */
    bool walks;     /* it is being walked through the tablet */
    int64_t walks_since_ns;
    struct store_slices *slices;        /* of the walk; a reading's while it reads */
    struct host_reading_slice *reading; /* NULL = none is under way */
    struct buffer content; /* the slice that was sent last, to be sent again if it is lost */
};

/* What a primary has asked this copy to digest, so that copies can be compared. */
struct host_digest_asked {
    struct replica_member by;
    uint64_t version;
    uint64_t incarnation;              /* of the primary's process */
    uint64_t number;                   /* 0 = nothing is asked */
    uint64_t sequence;                 /* as of which the tablet is digested */
    struct replica_digest_range range; /* its row lies in: */
    struct buffer after;
};

/* A tablet that has a replica. */
struct hosted {
    struct pairing_node due; /* first: a node's address is its owner's */
    bool is_due;             /* it is in the heap of deadlines */
    struct host *host;
    struct store_tablet *tablet; /* with a reference */
    uint64_t number;             /* the tablet's */
    struct replica *replica;
    struct serving *serving; /* its serving word */
    struct host_news news;

    /* What the serving word is made of. */
    struct replica_union serving_peers; /* [M] those whose leases it counts on */
    uint64_t serving_version;           /* [M] 0 = the replica does not serve */
    uint64_t serving_from; /* the word is closed until the store has committed up to here */
    bool serving_waits;    /* it is closed for that reason */

    /* What the replica has decided and its store still owes.  [L] */
    bool configure_due; /* `configuration` is to be logged, with entries up to `kept` before it */
    struct store_configuration configuration;
    uint64_t kept;
    uint32_t configures_due;  /* decisions that this one stands for: each is answered */
    uint32_t configures_done; /* those that are in the log, and not durable yet */
    bool lead_due;            /* the store is to apply the window, and to lead */
    uint64_t commit_due;      /* the replica has committed up to here */
    uint64_t commit_told;     /* and whoever waits was told so up to here */
    bool unsynced;            /* something of it is in the log and not durable yet */
    bool stopped;             /* the store takes nothing of it any more */
    /* The store has refused an entry for what it says, so the replica is damaged.  Until it is taught anew
     * the store owes it configurations only. */
    bool spoilt;
    int64_t retry_ns; /* when what is owed is tried again; REPLICA_NEVER: nothing is */
    struct host_promise promises[HOST_PROMISES_MAX]; /* not handed over yet */
    uint32_t promise_count;
    struct host_promise excepts[HOST_PROMISES_MAX]; /* handed over, and not answered */
    uint32_t except_count;
    struct host_reading readings[REPLICA_PEERS_MAX]; /* asked for, and not committed yet */

    uint32_t min_in_sync;  /* [L] of its table */
    uint64_t window_bytes; /* [L] its part of the host's */
    struct host_conversion conversion;
    /* The log did not give this entry, so it may lack those before it, too: no offer counts on them. */
    uint64_t unread_sequence;

    /* Lessons.  [L]  Whoever is taught here: */
    struct host_teaching *teachings;
    struct host_pupil untaught; /* there was no memory for its lesson; store 0 = nobody */
    int64_t untaught_ns;        /* when that is tried again */
    bool hurried;               /* the master says that somebody waits for the tablet's goal */
    bool awaited;               /* an entry waits until no walk is under way (host_walks.c) */
    int64_t awaited_since_ns;
    uint32_t walks_broken; /* walks that were broken off for it, one after the other */
    uint64_t
        barred_sequence; /* the last entry that no walk may pass: the next one begins behind it */
    /* This copy is taught itself: */
    struct learn learn;
    struct replica_member teacher;

    /* Comparing copies.  [L] */
    struct scrub scrub;
    struct host_digest_asked asked;   /* as of a sequence that is not committed yet */
    struct host_digesting *digesting; /* NULL = nothing is being digested */
};

struct host {
    struct host_options options;
    pthread_mutex_t mutex;
    struct hosted **tablets; /* [L], [M] to change; ascending by number */
    uint32_t tablet_count;
    uint32_t tablet_capacity;
    struct host_peer peers[LEASE_PEERS_MAX];
    uint32_t peer_count; /* [M] */
    bool peers_new;      /* [M] a peer has another process, which replicas have not heard of */
    struct hosted *news; /* [M] those of which the beacon thread has said something */
    struct hosted *converting; /* [L] */
    int64_t convert_ns;        /* [L] when these are tried again */
    struct host_merge *merges; /* [L] wished, or under way */
    uint32_t merge_count;
    int64_t merge_ns;        /* [L] when these are looked at again */
    struct pairing_heap due; /* tablets by deadline */
    int64_t look_at_leases_ns;
    uint32_t unsynced_count; /* tablets that are `unsynced` */
    int64_t log_moved_ns;    /* when the log was synced last, or had nothing to sync */
    bool stalled;            /* as replicas were told last: the log stands still */
    bool cut_off;            /* as replicas were told last: no master is heard of */
    uint64_t window_bytes;   /* [L] given out and not committed, of all tablets that are led here */
    uint64_t lessons;        /* the number of the last lesson */
    uint32_t walks;          /* under way */
    int64_t slices_free_ns;  /* when the next slice may be read, for whichever learner */
    struct metric *slices_sent;     /* one for the process: all its stores count in it */
    struct replica_effects effects; /* of the step that is being performed */
};

/* One step of the replica: what it decides is performed, as is what follows from that. */
void hosted_step(struct hosted *hosted, struct replica_event *event);

static inline struct hosted *hosted_of(const struct store_tablet *tablet)
{
    return store_tablet_replica(tablet);
}

/* What a replica is told of an entry; the payload is borrowed. */
struct replica_entry hosted_entry(const struct store_entry *entry);

/* A new one, for a tablet that is yet to come (hosted_install()): its word is closed, it is in no list.  NULL
 * without memory. */
struct hosted *hosted_create(struct host *host, uint32_t min_in_sync);
/* What a replica begins with: which member it is, and what the tablet's configuration record says.  For tablets
 * that the store has recovered, and for those that were just made by a split or a merge. */
struct replica_recovered hosted_recovered(const struct host *host,
                                          const struct store_tablet *tablet);
/* Make its replica.  What that has to do at once is in host->effects, to be performed when it is installed. */
enum status hosted_create_replica(struct hosted *hosted, const struct replica_recovered *recovered);
void hosted_destroy(struct hosted *hosted);
/* Room for so many more, so that installing cannot fail. */
enum status hosted_reserve(struct host *host, uint32_t count);
/* From now on it is the tablet's. */
void hosted_install(struct hosted *hosted, struct store_tablet *tablet);

/* host_convert.c */
void host_look_at_conversions(struct host *host, int64_t now_ns);
void hosted_forget_conversion(struct hosted *hosted);
/*
 * Has the tablet been left behind: is there one here already that came of its heirs?  ranges: those of the heirs;
 * last: the highest number among them.  Numbers rise from parents to heirs, so what overlaps with an heir came of
 * it if its number is higher, and is older if it is lower.
 *
 * Such a store was no member any more when the heir was made; others taught it later what the heir had become.
 * What it still has of the parent is of before that, and must not become the heir a second time.
 *
 * False where this store was told that it is a member of the other heir, of which nothing came yet: then it has
 * what that heir has (I3).
 */
bool hosted_is_left_behind(const struct hosted *hosted,
                           const struct row_range *ranges,
                           int range_count,
                           uint64_t last);
/* It serves no more, and takes back what it has promised.  True: nobody can count on any of that now. */
bool hosted_let_go(struct hosted *hosted);
/* Take proposals out of the effects: they are about what is no more, or come again. */
void hosted_drop_proposals(struct replica_effects *effects);

/* host_merge.c */
void host_look_at_merges(struct host *host, int64_t now_ns);
void host_forget_merges(struct host *host);
/* The replica stands at the barrier of a merge: from now on that merge is looked after here. */
void hosted_note_barrier(struct hosted *hosted, const struct replica_standing *standing);
/* May the replica hear this message now?  False: it is passed over, and comes again. */
bool hosted_may_take(const struct hosted *hosted, const struct replica_message *message);

/* host_unite.c.  `hosted` is one of two tablets that were merged into `heir`: the left one of them.  NULL: the
 * logs here do not say so; or they say it by entries that are not committed here, which counts only where this
 * store is a member of the heir (is_member). */
struct hosted *hosted_find_to_unite(struct hosted *hosted, uint64_t heir, bool is_member);
/* The next step of uniting it with the one to its right.  After the last one `left` is gone. */
void hosted_unite(struct hosted *left);

/* host_perform.c */
/* Send the message; its incarnation is filled in.  If it is lost, what it says is said again. */
void hosted_send(struct hosted *hosted, struct replica_member to, struct replica_message *message);
void hosted_perform(struct hosted *hosted, const struct replica_event *event);
/* What others may know of it: version, role, whether it leads, is damaged, or empty.  Noted after each step; by hand where
 * the store has changed. */
void hosted_note_view(struct hosted *hosted);
/* Hand promises to the beacon thread.  False: it could not take all of them, the rest is for later. */
bool hosted_promise(struct hosted *hosted);
/* Is there room for what one more step could promise? */
bool hosted_may_promise(const struct hosted *hosted);
/* Have those entries read from the log that were asked for, as far as they are committed. */
void hosted_ask_reads(struct hosted *hosted);

/* host_teach.c */
void hosted_teach(struct hosted *hosted, const struct host_pupil *pupil);
/* The lesson is over: another is offered as long as the replica wants it taught. */
void hosted_teach_anew(struct hosted *hosted, struct host_teaching *teaching);
/* Take a message of a lesson, from learner or teacher.  False: it is none. */
bool hosted_hear_lesson(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message);
void hosted_tick_lessons(struct hosted *hosted);
int64_t hosted_lessons_due_ns(const struct hosted *hosted);
void hosted_forget_lessons(struct hosted *hosted);

/* host_learn.c */
/* The learner's side of that. */
void hosted_hear_teacher(struct hosted *hosted,
                         struct replica_member from,
                         const struct replica_message *message);
void hosted_tick_learning(struct hosted *hosted);
/* While it does, PREPAREs are passed over; they come again. */
bool hosted_awaits_records(const struct hosted *hosted);
void hosted_look_at_level(struct hosted *hosted);

/* host_walks.c */
/* Is any learner on a walk? */
bool hosted_walks(const struct hosted *hosted);
/* Does somebody wait for that, so that slices should come without rests? */
bool hosted_is_quick(const struct hosted *hosted);
/* May an entry of this type be given out now, or does it wait for walks?  Whoever has waited for too long gets
 * them broken off. */
bool hosted_may_give_out(struct hosted *hosted, uint8_t type);
void hosted_note_given_out(struct hosted *hosted, const struct store_entry *entry);

/* host_digest.c */
/* Take a message about comparing copies.  False: it is none. */
bool hosted_hear_digest(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message);
void hosted_take_digest(struct hosted *hosted,
                        uint64_t store,
                        uint64_t number,
                        const struct replica_digest *digest);
void hosted_tick_scrub(struct hosted *hosted);
/* Commits stop at this sequence, for a digest shows the tablet as of it: once it is committed,
 * hosted_look_at_digest() begins to read, and they go on.  UINT64_MAX: nothing stops them. */
uint64_t hosted_commit_stop(const struct hosted *hosted);
void hosted_look_at_digest(struct hosted *hosted);
void hosted_forget_digests(struct hosted *hosted);

/* host.c: its deadline may have changed. */
void hosted_reschedule(struct hosted *hosted);

/* host_settle.c.  Have the store do what it owes.  False: something is left for later. */
bool hosted_settle(struct hosted *hosted);
/* Is the copy half taught, and would it count as a whole one in this role?  Then something is wrong. */
bool host_counts_half_taught(const struct store_tablet *tablet, uint8_t role);
void host_log_half_taught(const struct store_tablet *tablet, uint64_t version);
/* Something of it went into the log; the replica has heard of more that is durable. */
void hosted_note_logged(struct hosted *hosted);
void hosted_note_synced(struct hosted *hosted);
/* Does the log stand still (HOST_STALL_NS)?  Replicas are told where that has changed. */
void host_look_at_log(struct host *host, int64_t now_ns);

/* host_lease.c */
struct host_peer *host_peer_of(struct host *host, uint64_t server);
/* Does its lease hold now?  For a replica that is told so between two looks. */
bool host_holds(struct host *host, uint64_t server);
void host_take_news(struct host *host);
void host_look_at_leases(struct host *host, int64_t now_ns);
void hosted_serve(struct hosted *hosted, const struct replica_union *peers);
void hosted_look_at_word(struct hosted *hosted); /* the store has committed more */
void hosted_cease(struct hosted *hosted);
void host_tell_all(struct host *host, struct replica_event event);
struct hosted *host_find(struct host *host, uint64_t tablet);

#endif /* TABLETSERVER_HOST_HOST_INTERNAL_H */
