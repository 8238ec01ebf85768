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

/* GRANTs and EXCEPTs that wait for the beacons' mailbox, and EXCEPTs that it has not answered.  While
 * more than that less a step's wait, what could cause more is passed over: all of it comes again. */
#define HOST_PROMISES_MAX  16
#define HOST_STEP_PROMISES 4
#define HOST_EXCEPTED_MAX \
    (2 * HOST_PROMISES_MAX)     /* answers to a replica that was here before, too */
#define HOST_WALKS_MAX        4 /* learners that are given slices at once, */
#define HOST_QUICK_WALKS_MAX  4 /* and so many more that somebody waits for */
#define HOST_LEARN_RESEND_NS  INT64_C(500000000)
#define HOST_RETRY_NS         INT64_C(10000000)
#define HOST_LOOK_AT_LEASE_NS INT64_C(50000000)
#define HOST_STALL_NS         INT64_C(500000000) /* rule 14 */
#define HOST_TICKS_MAX        4096               /* of one round */

struct host_peer {
    struct serving_peer seen; /* incarnation: changed under [M] */
    uint64_t server;          /* [M] to add; then it stays */
    uint64_t told;            /* [L] incarnation that replicas have heard of */
    bool held;                /* [L] and whether its lease holds, when it was last looked at */
    bool told_else;           /* [L] a replica was told otherwise since: all are told again */
};

struct host_promise {
    bool except;
    uint64_t peer;
    uint64_t incarnation;
    uint64_t version;
};

struct host_exception {
    uint64_t server;
    uint64_t version;
    int64_t at_ns;
};

/* What the beacon thread has said of a tablet.  [M] */
struct host_news {
    struct hosted *next;
    bool listed;
    uint64_t silent_version;                           /* the highest; 0 = none */
    struct host_exception excepted[HOST_EXCEPTED_MAX]; /* EXCEPTED, in order */
    uint32_t excepted_count;
    struct host_exception by_peer[REPLICA_PEERS_MAX]; /* EXCEPTED_BY_PEER: each server's highest */
    uint32_t by_peer_count;
    bool by_peer_new;
};

/* Asked of the log. */
struct host_reading {
    struct replica_member to; /* store 0 = none */
    uint64_t sequence;
};

/* The tablet is to be converted.  [L] */
struct host_conversion {
    struct hosted *next; /* in the host's list */
    bool listed;
    struct replica_configuration told[2]; /* of the heirs, left and right; version 0 = not told */
    uint64_t merged; /* it is merged into this one, which is told[0]; 0 = split */
    uint64_t right;  /* together with this one */
};

/* A slice that is being read.  It has the reading end meanwhile: the lesson may end before. */
struct host_reading_slice {
    struct store_tablet *tablet; /* with a reference */
    struct replica_member member;
    uint64_t lesson;
    struct store_slices *slices;
    struct buffer out;
    enum status status;
    uint64_t sequence;
    bool last;
};

/* A learner that is taught here. */
struct host_teaching {
    struct host_teaching *next;
    struct host *host;
    struct host_pupil pupil;
    uint64_t lesson;
    bool offered_log; /* by the last offer: it goes on there */
    struct teach teach;
    uint64_t floor; /* of the first slice */
    bool walks;
    int64_t walks_since_ns;
    struct store_slices *slices;
    struct host_reading_slice *reading;
    struct buffer content; /* the slice that was given last */
};

/* What a primary wants digested. */
struct host_digest_asked {
    struct replica_member by;
    uint64_t version;
    uint64_t incarnation; /* of its process */
    uint64_t number;      /* 0 = nothing is asked */
    uint64_t sequence;
    struct replica_digest_range range; /* but for its row: */
    struct buffer after;
};

/* A tablet that has a replica. */
struct hosted {
    struct pairing_node due; /* first */
    bool is_due;             /* in the heap */
    struct host *host;
    struct store_tablet *tablet; /* with a reference */
    uint64_t number;
    struct replica *replica;
    struct serving *serving;
    struct host_news news;

    /* The word. */
    struct replica_union serving_peers; /* [M] */
    uint64_t serving_version;           /* [M] 0 = the replica does not serve */
    uint64_t serving_from; /* what the store must have committed before the word says so */
    bool serving_waits;    /* for that */

    /* What its store owes.  [L] */
    bool configure_due;
    struct store_configuration configuration;
    uint64_t kept;
    uint32_t configures_due;  /* merged into that one */
    uint32_t configures_done; /* in the log, not durable */
    bool lead_due;
    uint64_t commit_due;
    uint64_t commit_told;
    bool unsynced; /* the log has something of it that is not durable */
    bool stopped;  /* the store takes nothing of it any more */
    bool
        spoilt; /* damaged, as the store refuses an entry for what it is: it owes configurations only, until it is
                      taught anew */
    int64_t retry_ns;
    struct host_promise promises[HOST_PROMISES_MAX];
    uint32_t promise_count;
    struct host_promise excepts[HOST_PROMISES_MAX]; /* handed over, not answered */
    uint32_t except_count;
    struct host_reading readings[REPLICA_PEERS_MAX]; /* asked, and not committed yet */

    uint32_t min_in_sync;  /* [L] */
    uint64_t window_bytes; /* [L] its part of the host's */
    struct host_conversion conversion;
    uint64_t unread_sequence; /* the log did not give this entry, nor those before it, perhaps */

    /* Lessons.  [L] */
    struct host_teaching *teachings;
    struct host_pupil untaught; /* there was no memory for its lesson; store 0 = nobody */
    int64_t untaught_ns;        /* then that is tried again */
    bool hurried;               /* by the master */
    bool awaited;               /* a barrier waits for the end of a walk */
    int64_t awaited_since_ns;
    uint32_t
        walks_broken; /* for what waits, one after the other; 0 again when it could be given out */
    uint64_t
        barred_sequence; /* the last given out that a walk may not pass: walks begin behind it */
    struct learn learn;
    struct replica_member teacher;

    /* Comparing.  [L] */
    struct scrub scrub;
    struct host_digest_asked asked; /* and not committed yet */
    struct host_digesting *digesting;
};

struct host {
    struct host_options options;
    pthread_mutex_t mutex;
    struct hosted **tablets; /* [L], [M] to change; ascending by number */
    uint32_t tablet_count;
    uint32_t tablet_capacity;
    struct host_peer peers[LEASE_PEERS_MAX];
    uint32_t peer_count;       /* [M] */
    bool peers_new;            /* [M] a peer has another process */
    struct hosted *news;       /* [M] */
    struct hosted *converting; /* [L] */
    int64_t convert_ns;        /* [L] then they are tried again */
    struct host_merge *merges; /* [L] wished, or under way */
    uint32_t merge_count;
    int64_t merge_ns;        /* [L] then they are looked at again */
    struct pairing_heap due; /* by deadline */
    int64_t look_at_leases_ns;
    uint32_t unsynced_count;
    int64_t log_moved_ns;
    bool stalled;
    bool cut_off;
    uint64_t window_bytes; /* [L] of all tablets that are led here: given out, not committed */
    uint64_t lessons;      /* the number given last */
    uint32_t walks;
    int64_t slices_free_ns;         /* from then on more may be read, for whichever learner */
    struct metric *slices_sent;     /* of the process: all its stores count together */
    struct replica_effects effects; /* of the step that is being performed */
};

/* Step, and perform; again for what that has caused. */
void hosted_step(struct hosted *hosted, struct replica_event *event);

static inline struct hosted *hosted_of(const struct store_tablet *tablet)
{
    return store_tablet_replica(tablet);
}

/* What a replica is told of an entry; the payload is borrowed. */
struct replica_entry hosted_entry(const struct store_entry *entry);

/* One in the making: closed, without a tablet, in no list.  NULL without memory. */
struct hosted *hosted_create(struct host *host, uint32_t min_in_sync);
/* Who it is, and what the tablet's configuration record says: the same for what its store has recovered,
 * and for what is made of it by a split or a merge. */
struct replica_recovered hosted_recovered(const struct host *host,
                                          const struct store_tablet *tablet);
/* Its replica; the effects are the host's, to be performed when it is installed. */
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
 * Is something that came of an heir here already, in the range of one of them?  last: the highest number among the
 * heirs.  (Numbers rise from parents to heirs; what else overlaps is older.)  This store counted no more when that
 * heir was made, was taught it, or what it became, by others, and has let it go since; what is here of its parents
 * is of before, and must not become it a second time.  False where this store was told that it counts among the
 * members of the other heir: then it has what that has (I3).  Of the heir itself such a word is an old one.
 */
bool hosted_is_left_behind(const struct hosted *hosted,
                           const struct row_range *ranges,
                           int range_count,
                           uint64_t last);
/* It serves no more.  True: nobody may count any more on what it had promised. */
bool hosted_let_go(struct hosted *hosted);
/* What is proposed is left out: what is next will be heard soon, or it comes again. */
void hosted_drop_proposals(struct replica_effects *effects);

/* host_merge.c */
void host_look_at_merges(struct host *host, int64_t now_ns);
void host_forget_merges(struct host *host);
/* It is a barrier of a merge: that is looked after from now on. */
void hosted_note_barrier(struct hosted *hosted, const struct replica_standing *standing);
/* False: the message is passed over; it comes again. */
bool hosted_may_take(const struct hosted *hosted, const struct replica_message *message);

/* host_unite.c: the left one of the two that became heir, as the logs here say; NULL: they do not, or only by
 * entries that are not committed here, and this store does not count among heir's members. */
struct hosted *hosted_find_to_unite(struct hosted *hosted, uint64_t heir, bool is_member);
/* A step on the way there.  It is gone after the last one. */
void hosted_unite(struct hosted *left);

/* host_perform.c */
/* Its incarnation is given here.  What is lost comes again. */
void hosted_send(struct hosted *hosted, struct replica_member to, struct replica_message *message);
void hosted_perform(struct hosted *hosted, const struct replica_event *event);
/* What others may know of it: version, role, whether it leads, is damaged, or empty.  Noted after each step; by hand where
 * the store has changed. */
void hosted_note_view(struct hosted *hosted);
/* Hand over what was promised.  False: later. */
bool hosted_promise(struct hosted *hosted);
bool hosted_may_promise(const struct hosted *hosted);
void hosted_ask_reads(struct hosted *hosted);

/* host_teach.c */
void hosted_teach(struct hosted *hosted, const struct host_pupil *pupil);
/* The lesson is over: another is offered as long as the replica wants it taught. */
void hosted_teach_anew(struct hosted *hosted, struct host_teaching *teaching);
/* False: the message is none of a lesson's. */
bool hosted_hear_lesson(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message);
void hosted_tick_lessons(struct hosted *hosted);
int64_t hosted_lessons_due_ns(const struct hosted *hosted);
void hosted_forget_lessons(struct hosted *hosted);

/* host_learn.c */
void hosted_hear_teacher(struct hosted *hosted,
                         struct replica_member from,
                         const struct replica_message *message);
void hosted_tick_learning(struct hosted *hosted);
/* Then PREPAREs are passed over; they come again. */
bool hosted_awaits_records(const struct hosted *hosted);
void hosted_look_at_level(struct hosted *hosted);

/* host_walks.c */
bool hosted_walks(const struct hosted *hosted);
/* Does somebody wait for its walks? */
bool hosted_is_quick(const struct hosted *hosted);
bool hosted_may_give_out(struct hosted *hosted, uint8_t type);
void hosted_note_given_out(struct hosted *hosted, const struct store_entry *entry);

/* host_digest.c */
/* False: the message is none of a comparison's. */
bool hosted_hear_digest(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message);
void hosted_take_digest(struct hosted *hosted,
                        uint64_t store,
                        uint64_t number,
                        const struct replica_digest *digest);
void hosted_tick_scrub(struct hosted *hosted);
/* Nothing above it is committed before hosted_look_at_digest() has seen that. */
uint64_t hosted_commit_stop(const struct hosted *hosted);
void hosted_look_at_digest(struct hosted *hosted);
void hosted_forget_digests(struct hosted *hosted);

/* host.c: its deadline may have changed. */
void hosted_reschedule(struct hosted *hosted);

/* host_settle.c.  False: something is left for later. */
bool hosted_settle(struct hosted *hosted);
/* In that role: a part of a tablet would be taken for it. */
bool host_counts_half_taught(const struct store_tablet *tablet, uint8_t role);
void host_log_half_taught(const struct store_tablet *tablet, uint64_t version);
/* The log has something new of it; it is durable as far as the replica knows. */
void hosted_note_logged(struct hosted *hosted);
void hosted_note_synced(struct hosted *hosted);
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
