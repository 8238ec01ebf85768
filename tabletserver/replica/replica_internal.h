/*
 * Inside a replica.  Its step falls into parts, a file each:
 *
 *   replica.c          life, dispatch, looking
 *   replica_adopt.c    versions: which one, and what this store has promised under it
 *   replica_follow.c   secondary, learner, outsider: what a primary sends
 *   replica_refuse.c   disks that went back: who has less than another member does not lead it
 *   replica_reign.c    primary: peers, who serves, entries given out and committed
 *   replica_reign_send.c  what goes to the others, and when
 *   replica_reign_hear.c  what they answer, and what else is told of them
 *   replica_propose.c  what is wanted of the catalog: which change is next, and the one that is out
 *   replica_remove.c   who is no good any more
 *   replica_learner.c  who is taught, and joins
 *   replica_hand_over.c  whom the primary makes way for
 *   replica_check.c    the invariants
 *
 * A step first takes its event, then advances: everything that is due by state and time is done by
 * the same few functions, whatever the event was.  Each of them has a due time of its own, and the
 * smallest is the deadline; so a TICK at the deadline always finds something to do.
 */
#ifndef TABLETSERVER_REPLICA_REPLICA_INTERNAL_H
#define TABLETSERVER_REPLICA_REPLICA_INTERNAL_H

#include "tabletserver/replica/replica_window.h"

#define DUE_NOW   INT64_MIN
#define DUE_NEVER REPLICA_NEVER

/* One other replica, as its primary knows it. */
struct replica_peer {
    struct replica_member member;
    uint64_t incarnation; /* the newest known of its server's */
    bool is_member;       /* of the configuration; otherwise a learner */
    bool as_learner;      /* how it is opened */
    bool opened;          /* by this reign, that process */
    bool held;            /* its lease */
    bool excepted;        /* it grants nothing under this version any more (rule 10) */
    bool broken;          /* damaged, or it needs what the log has no more */
    bool refuses;         /* it has more, and is about to lead (rule 19) */
    /* learner */
    bool feeding; /* the log goes on where it stands */
    bool taught;
    bool joining; /* whole, and to be proposed: opened as a member, commits wait for it */
    /* entries */
    uint64_t prepared;
    uint64_t sent;
    uint64_t told; /* committed */
    /* So many may be under way: halved by a gap, grows with what is acknowledged. */
    uint64_t allowance;
    uint64_t gone_back; /* where it said that there was a gap; answered once */
    uint64_t reading;   /* asked of the log; 0 = nothing */
    bool greeted;       /* it was told that it counts as it is */
    bool probing;       /* nothing was heard of what was sent: its first one went out again */
    /* hand-over */
    bool question;          /* whether it would lead goes out with what it is told next, now */
    enum replica_will will; /* what it said last, */
    int64_t will_ns;        /* and when */
    int64_t asked_ns;       /* DUE_NOW: not yet */
    /* time */
    int64_t open_sent_ns; /* DUE_NOW: not yet */
    int64_t opened_ns;    /* since when it is opened */
    int64_t read_asked_ns;

    int64_t spoken_ns; /* when it was last sent an entry or the committed point */
    int64_t open_until_ns;
    int64_t held_until_ns; /* without lease until then is no reason to remove it */
};

/* How often a store had to be removed (rule 13). */
struct replica_patience {
    uint64_t store;
    int64_t wait_ns;
    int64_t until_ns;
    int64_t joined_ns;
    uint64_t counted_version; /* under which it was opened as a member, its addition being wanted */
};

struct replica {
    struct replica_settings settings;
    struct replica_member self;
    uint64_t incarnation;
    int64_t now_ns;
    struct replica_effects *effects; /* of the step that is under way */

    /* what its log says; on the way there while `configuring` */
    struct replica_configuration configuration; /* version 0: none yet */
    enum replica_role role;
    struct replica_flags flags;
    uint32_t configuring; /* CONFIGUREs that are not synced */
    bool adopted;         /* the configuration is synced: it may be acted upon */
    bool damaged;
    bool gone;

    /* entries */
    struct replica_window window;
    uint64_t committed;
    uint64_t committed_version; /* of the entry there; 0 = not known */
    uint64_t synced;
    struct replica_standing barrier;           /* of everything appended */
    struct replica_standing committed_barrier; /* of what is committed */

    /* what was promised */
    bool granted;
    struct replica_member granted_to;
    uint64_t granted_version;
    uint32_t excepting; /* EXCEPTs that are not in force yet */
    /* Rules 11 and 14: until when grants bind this replica, those of the server that was excepted last
     * apart: when that one gives its word, none of its own need be waited for. */
    uint64_t word_version; /* the leader of this one has given it */
    uint64_t word_server;
    int64_t free_from_ns;
    uint64_t excepted_server;
    int64_t excepted_until_ns;

    /* secondary, learner */
    uint64_t opener; /* incarnation of the process that opened it in this life; 0 = waits */
    bool answering;  /* OPENED is to be sent when the configuration is synced */
    bool open_as_learner;
    int64_t complained_ns; /* when it last said that it is damaged */
    uint64_t told_committed;
    bool away; /* rule 10 */
    int64_t propose_from_ns;
    bool propose_yield;    /* by word: no grant is waited for, and the old leader stays a member */
    bool refuses;          /* rule 19: it has more than who opened it */
    bool ousts;            /* and that one has less than is committed: it does not stay */
    uint64_t opened_start; /* what the reign that opened it began with */
    bool accepted;         /* which counts on what this very process has */

    /* what a life before has left (rule 21) */
    int64_t alone_from_ns;  /* nothing is proposed before that leaves it the only member */
    int64_t young_until_ns; /* what alone_from_ns is until somebody has borne it out */
    bool asks_catalog;      /* lone: it does not serve before the catalog says that it still is */

    /* primary */
    bool leads; /* LEAD was told, FOLLOW not yet */
    int64_t leads_since_ns;
    bool serving;
    bool stalled;
    bool cut_off; /* no master is heard of */
    bool leaving;
    int64_t leaving_ns; /* since when */
    struct replica_union served_peers;
    uint64_t start;
    uint64_t unkept_end; /* the last entry that was given out without a copy: others may count when
                                it is committed */
    int64_t oldest_since_ns; /* when the oldest uncommitted entry became that */
    struct replica_peer peers[REPLICA_PEERS_MAX];
    uint32_t peer_count;
    struct replica_patience patience[REPLICA_PEERS_MAX];

    /* proposals */
    bool proposing;
    struct replica_proposal proposal;
    int64_t propose_due_ns;
    uint64_t renew_version; /* this version is to be renewed */
    uint64_t void_barrier;  /* nothing can come of this one: it is not proposed again */

    /* hand-over */
    uint64_t handing_to; /* store; 0 = nobody */
    int64_t handing_until_ns;
    int64_t handing_after_ns; /* none before */
    bool yielded;
    int64_t yield_due_ns; /* to say it again */
    int64_t renew_at_ns;  /* nothing came of it */

    struct replica_union goal_members;
    uint64_t goal_leader;
};

/* --- effects (replica.c) -------------------------------------------------------------------------- */

struct replica_effect *replica_emit(struct replica *replica, enum replica_effect_type type);
struct replica_message *replica_send(struct replica *replica,
                                     struct replica_member to,
                                     enum replica_message_type type);

/* --- what is where -------------------------------------------------------------------------------- */

static inline uint64_t replica_appended(const struct replica *replica)
{
    return replica->window.next - 1;
}

static inline uint64_t replica_version(const struct replica *replica)
{
    return replica->configuration.version;
}

static inline bool replica_is_member(const struct replica *replica)
{
    return replica_version(replica) != 0 &&
           replica_configuration_find(&replica->configuration, replica->self.store) <
               replica->configuration.member_count;
}

static inline bool replica_is_named_leader(const struct replica *replica)
{
    return replica_configuration_is_leader(&replica->configuration, replica->self.store);
}

static inline struct replica_member replica_leader(const struct replica *replica)
{
    return replica->configuration.members[replica->configuration.leader];
}

static inline bool replica_is_lone(const struct replica *replica)
{
    return replica->configuration.member_count == 1;
}

static inline int64_t replica_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline bool replica_same_member(struct replica_member a, struct replica_member b)
{
    return a.server == b.server && a.store == b.store;
}

static inline int64_t replica_sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Version of the entry at `sequence`, which is in the window or the last committed; 0 = not known. */
uint64_t replica_version_at(const struct replica *replica, uint64_t sequence);

/* Append to the window and emit APPEND; barriers are noted.  Errors: STATUS_NO_MEMORY. */
enum status replica_append(struct replica *replica, const struct replica_entry *entry, bool keep);

/* Raise the committed point, emit COMMIT.  Requires: sequence <= synced. */
void replica_commit(struct replica *replica, uint64_t sequence);

/* --- replica_adopt.c ------------------------------------------------------------------------------ */

struct replica_adoption {
    const struct replica_configuration *configuration; /* of a higher version */
    bool opened;                                       /* by its primary's OPEN */
    bool as_learner;
    bool chosen;          /* by a person, to be the tablet with what it has (rule 18) */
    bool refused;         /* it has more than who opens it: nothing is promised (rule 19) */
    uint64_t incarnation; /* of the process that opened it; 0 = the master told */
    uint64_t kept;        /* sequence above which is dropped */
};

void replica_adopt(struct replica *replica, const struct replica_adoption *adoption);
void replica_emit_configure(struct replica *replica, uint64_t kept);
void replica_drop_above(struct replica *replica, uint64_t sequence);
/* Section 9: what it has counts for nothing from now on, after a restart too. */
void replica_note_damage(struct replica *replica);
/* Promise the leader; what it had been promised under this version stands. */
void replica_grant(struct replica *replica, uint64_t incarnation);
void replica_except(struct replica *replica);
/* From when on nothing that it has granted, and that was excepted since, binds it. */
int64_t replica_free_from_ns(const struct replica *replica);
/* The leader serves no more, under this version or one before. */
void replica_take_word(struct replica *replica);
void replica_on_catalog(struct replica *replica, const struct replica_event *event);
void replica_on_gone(struct replica *replica);
void replica_on_configured(struct replica *replica);
/* Rule 20: it has less than is committed, and has just heard so. */
void replica_doubt(struct replica *replica);
void replica_on_excepted(struct replica *replica, const struct replica_event *event);

/* --- replica_refuse.c ----------------------------------------------------------------------------- */

/* Whether a member that is opened refuses that (rule 19). */
bool replica_refuses(const struct replica *replica, const struct replica_message *open);
/* The same, under a version that it has already. */
bool replica_refuses_again(const struct replica *replica, const struct replica_message *open);
/* It does: the version is its own from now on, and it is about to lead under the next. */
void replica_refuse(struct replica *replica, const struct replica_message *open);
/* It has turned away from this primary before, and says so. */
void replica_stay_away(struct replica *replica, const struct replica_message *open);
void replica_answer_refused(struct replica *replica, struct replica_message *message);
/* The other side of it: a member has more than this primary. */
void replica_on_refused(struct replica *replica,
                        struct replica_peer *peer,
                        const struct replica_message *refused);
/* Rule 20: what it lacked it has been taught. */
void replica_end_doubt(struct replica *replica);
/* Rule 21: another member has no more than it. */
void replica_bear_out(struct replica *replica);

/* --- replica_follow.c ----------------------------------------------------------------------------- */

enum status replica_follow_receive(struct replica *replica,
                                   struct replica_member from,
                                   const struct replica_message *message);
/* The configuration of an OPEN is synced: answer. */
void replica_follow_answer(struct replica *replica);
void replica_follow_synced(struct replica *replica);
void replica_follow_silent(struct replica *replica, uint64_t version);
void replica_follow_taught(struct replica *replica, const struct replica_event *event);
void replica_follow_damaged(struct replica *replica);
void replica_follow_advance(struct replica *replica);
int64_t replica_follow_due_ns(const struct replica *replica);

/* --- replica_reign*.c ----------------------------------------------------------------------------- */

void replica_reign_begin(struct replica *replica);
void replica_reign_end(struct replica *replica);
enum status replica_reign_may_write(struct replica *replica, const struct replica_entry *entry);
enum status replica_reign_write(struct replica *replica, const struct replica_entry *entry);
void replica_reign_receive(struct replica *replica,
                           struct replica_member from,
                           const struct replica_message *message);
void replica_reign_peer_event(struct replica *replica, const struct replica_event *event);
void replica_reign_read(struct replica *replica, const struct replica_event *event);
void replica_reign_unread(struct replica *replica, const struct replica_event *event);
/* Commit, serve or cease, send. */
void replica_reign_commit(struct replica *replica);
void replica_reign_serve(struct replica *replica);
void replica_reign_send(struct replica *replica);
/* It has its time to answer again. */
void replica_reign_open_anew(const struct replica *replica,
                             struct replica_peer *peer,
                             int64_t sent_ns);
uint64_t replica_reign_told(const struct replica *replica);
int64_t replica_reign_due_ns(const struct replica *replica);

struct replica_peer *replica_find_peer(struct replica *replica, uint64_t store);
/* Its acknowledgements and lease are needed (rule 9): a member, or proposed as one. */
bool replica_counts(const struct replica *replica, const struct replica_peer *peer);
bool replica_is_inherited(const struct replica *replica);
/* A version that a former life has reigned under, and the disk has forgotten, is begun anew: members that have more do not
 * open it (rule 19).  So nothing that can wait is proposed before all have. */
bool replica_has_opened_all(const struct replica *replica);
bool replica_has_enough(const struct replica *replica); /* min_in_sync */
/* It is opened, and its log goes on from where it stands. */
static inline bool replica_takes_entries(const struct replica_peer *peer)
{
    return peer->opened && peer->feeding && !peer->broken;
}

/* --- replica_propose.c ---------------------------------------------------------------------------- */

/* Begin what is due, unless something is out already; say again what is out. */
void replica_propose_choose(struct replica *replica);
void replica_propose_send(struct replica *replica);
void replica_propose_begin(struct replica *replica, const struct replica_proposal *proposal);
void replica_propose_members(struct replica *replica, struct replica_configuration next);
/* The same members under the next version. */
void replica_propose_renewal(struct replica *replica);
void replica_propose_reset(struct replica *replica);
/* Nothing can come of the merge that this barrier proposes. */
void replica_propose_void(struct replica *replica, uint64_t barrier);
/* Stores of one tablet lie on different servers: the member in whose place the goal names another store of the same server.
 * It is removed before that one is taught, if two members are left and as many as writes need.  0 = there is none; its own
 * store is the last one. */
uint64_t replica_in_the_way(const struct replica *replica);
/* It has what is wished, and neither leaves nor makes way. */
bool replica_is_settled(const struct replica *replica);
int64_t replica_propose_due_ns(const struct replica *replica);
/* Rule 2: a lone primary notes that it may be in doubt, before it is. */
void replica_note_doubt(struct replica *replica);

/* --- replica_remove.c ----------------------------------------------------------------------------- */

/* True: something was proposed.  Learners are let go without. */
bool replica_remove_failed(struct replica *replica);
int64_t replica_remove_due_ns(const struct replica *replica);
void replica_let_go(struct replica *replica, struct replica_peer *peer);

/* NULL: it was never removed, nor made to join, as far as is remembered. */
struct replica_patience *replica_patience_with(struct replica *replica, uint64_t store);
struct replica_patience *replica_have_patience_with(struct replica *replica, uint64_t store);
/* It is no learner before. */
int64_t replica_patience_end_ns(const struct replica *replica,
                                const struct replica_patience *patience);

/* --- replica_learner.c ---------------------------------------------------------------------------- */

/* Whether there is one: then nobody is made way for, and nobody removed that is not wished for. */
bool replica_learner_advance(struct replica *replica);
int64_t replica_learner_due_ns(const struct replica *replica);

/* --- replica_hand_over.c -------------------------------------------------------------------------- */

/* It is about to end, and has waited for whom it hands over to, or for who joins, as long as it may. */
bool replica_has_no_time(const struct replica *replica);
/* Whom the primary should make way for, as its server is no good, or by its goal; *ret_wanted 0: whoever can. */
bool replica_wants_to_hand_over(const struct replica *replica, uint64_t *ret_wanted);
bool replica_has_all_wanted(const struct replica *replica);
void replica_hand_over_begin(struct replica *replica, uint64_t wanted);
/* handing_to is set, or it has yielded. */
void replica_hand_over_advance(struct replica *replica);
int64_t replica_hand_over_due_ns(const struct replica *replica);

static inline bool replica_wishes_for(const struct replica *replica, uint64_t store)
{
    bool found = false;
    for (uint32_t i = 0; i < replica->goal_members.count; i++) {
        found = found || replica->goal_members.members[i].store == store;
    }
    return found;
}

static inline bool replica_has_member(const struct replica *replica, uint64_t store)
{
    return replica_configuration_find(&replica->configuration, store) <
           replica->configuration.member_count;
}

#endif /* TABLETSERVER_REPLICA_REPLICA_INTERNAL_H */
