/*
 * The replication protocol of docs/replication.md, for Spin: one tablet, three servers, a catalog (tabletserver/replica, as it is
 * built: replica_reign.c, replica_follow.c, replica_refuse.c, replica_propose.c, replica_remove.c,
 * replica_learner.c, replica_hand_over.c, replica_adopt.c, lease.c).
 * Rules and invariants (rule 9, I4) are those of that page.  `run` beside this file checks it.
 *
 * WHAT A STATE IS.  Everything lies in global arrays, by server; one process picks any step that is
 * enabled and takes it whole.  So Spin goes through every order of steps, and a step that is never
 * taken is a lost message, a stopped process, a partition.  A crash keeps what is synced.
 *
 * WHAT IS A MESSAGE.  A proposal to the master lies in a slot of the network, and may be taken long
 * after its sender has died.  OPEN, PREPARE and BEACON with their answers are one step each: that
 * they arrive late is the same as that they are sent late, as both ends look at the version when they
 * arrive, and what a primary does with an answer (commit) is a step of its own.  Where the receiver
 * would have to tell old from new (BUG_STALE_PREPARE), the sender that has not heard of its end
 * stands for the message that it sent before.  A beacon whose answer comes after the next tick is
 * worth nothing to its sender, and leaves the grantor bound for longer, as if it acted later.
 *
 * TIME.  A tick is a time at which any lease may end.  A lease lasts LEASE ticks after the *sending*
 * of the beacon that was acknowledged, the grace GRACE ticks after its receipt.  A server that is
 * stopped takes no steps while others tick.
 *
 * WHAT IS LEFT FOR LATER, to keep states few, without losing any run: what of a log is synced is
 * decided when somebody relies on it, or at a crash; a client is answered as soon as that is allowed
 * (what must hold only grows by it); what can never matter again is set to zero.
 *
 * THE SPLIT is followed from one child: an entry BARRIER, behind which nothing is given out, and one
 * change of the catalog, after which versions are the child's.  Whatever is logged by the parent
 * behind the barrier is not the child's.
 *
 * A DISK THAT WENT BACK (OLD_DISK): one server's disk is noted, at any time, and when that server has died later
 * it may begin with it again.  What it has lost is not asked of it (I3, I9); what is served is.
 *
 * PLANTED BUGS: each -DBUG_... leaves out a rule; Spin must then find a trail.
 */
#ifndef WRITES
#define WRITES 2
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef CHANGES
#define CHANGES 3
#endif
#ifndef LEASE
#define LEASE 1
#endif
#ifndef GRACE
#define GRACE 2
#endif

#ifndef START_MEMBERS
#define START_MEMBERS 7 /* of the first configuration: a set, with server 0 */
#endif

#define N        3
#define ENTRIES  5 /* of a log: two writes, BARRIER, ABORT, and the last write of a healed run */
#define VERSIONS 8 /* 0 is none, 1 the first */

/* An entry: what it is in the lower five bits, and the version under which it was given out. */
#define WRITE_MASK 3
#define BARRIER    4
#define ABORT      8
#define LAST_WRITE 16
#define ENTRY(what, version) ((what) | ((version) << 5))

#define BIT(s)    (1 << (s))
#define AT(s, t)  ((s) * N + (t))
#define COUNT(m)  (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* --- the catalog --- */
byte newest = 1;
byte limit = CHANGES + 1; /* no version above it */
byte leader[VERSIONS];
byte members[VERSIONS];
bool child[VERSIONS];
byte start[VERSIONS]; /* of the reign of that version: what its OPENs say */

/* --- on a server's disk --- */
byte version[N];  /* the highest known */
bool clean[N];    /* it was opened under that version, or leads it */
byte entry[N * ENTRIES];
byte synced[N];    /* at least */
byte committed[N]; /* what can be proven */
bool noted[N];     /* rule 2: a lone primary has proposed, or opened one as a member */
bool counted[N];   /* rule 16: no member, but opened as one under that version */

#ifdef STORE_LAGS
byte shown[N]; /* what its store has committed: readers see that */
#endif
#ifdef OLD_DISK
bool doubtful[N]; /* rule 20 */
/* One server's disk as it was, to come back. */
byte victim = N; /* N = nobody's */
bool went_back;
byte old_version;
bool old_clean;
bool old_noted;
bool old_counted;
bool old_free;
byte old_entry[ENTRIES];
byte old_appended;
byte old_committed;
byte old_wait; /* ticks until it may come back */
#endif

/* --- in its memory --- */
bool up[N];
byte appended[N];
bool attached[N];  /* opened by the leader of its version, in this life */
bool away[N];      /* rule 10 */
bool reigns[N];
bool yielded[N];
bool waiting[N];   /* for its proposal to be settled */
bool split_proposed[N]; /* under its version */
byte opened[N];    /* members and learners that answered OPEN: a set */
byte joining[N];   /* learners that are opened as members, to be proposed: a set */
byte doubt[N];     /* proposed members beyond the configuration: a set */
byte has[N * N];   /* [primary, member]: prepared, as acknowledged */
byte held[N * N];  /* [holder, grantor]: ticks that the lease still lasts */
byte grace[N * N]; /* [grantor, holder]: ticks until the grantor is free */
#ifdef EXCEPTIONS
byte shut[N * N];  /* [holder, grantor]: excepted up to that version, as its server heard, but for its replica */
#endif
bool cached[N];    /* BUG_LEASE_LOOKED_AT_ONCE: that it could serve, once */

#ifdef OLD_DISK
bool borne[N]; /* rule 21: that it has no less than another */
bool asks[N];  /* alone, and not told yet that it still is */
#endif

/* --- in the network --- */
bool beacon[N * N]; /* [holder, grantor]: an acknowledgement; BUG_LEASE_FROM_RECEIPT only */
bool proposed[N];
byte base[N];
byte next_leader[N];
byte next_members[N];
bool next_child[N];
bool yield_sent;
byte yield_version;
byte yield_to;

/* --- what has happened --- */
byte given;   /* writes given out */
byte answered; /* acknowledged to a client: a set of bits */
byte crashes;
bool barrier_given;
bool abort_given;
bool yield_given;
bool healed; /* PROGRESS only */
byte dead;   /* a server that never comes back; N = none */
byte turn;   /* who comes first, */
byte way;    /* and whether the others come up or down */
#ifdef READER
bool read_begun;
bool reading;
bool read_taken;
byte reader; /* at whom */
byte read_must; /* answered before it began */
byte read_has;
#endif

/* --- who may serve (rule 7) --- */
#define MEMBERS(s)   (members[version[s]])
#define LEADER(s)    (leader[version[s]])
#define IS_MEMBER(t, s) ((MEMBERS(s) & BIT(t)) != 0)
#ifdef BUG_OLD_MEMBERS_ONLY
#define NEEDED(s) (MEMBERS(s) & ~BIT(s))
#else
#ifdef BUG_NEW_MEMBERS_ONLY
#define NEEDED(s) (((waiting[s] -> next_members[s] : MEMBERS(s)) | doubt[s]) & ~BIT(s))
#else
#define NEEDED(s) ((MEMBERS(s) | doubt[s]) & ~BIT(s))
#endif
#endif
#define LEASED(s, t) ((NEEDED(s) & BIT(t)) == 0 || ((opened[s] & BIT(t)) != 0 && held[AT(s, t)] > 0))
#ifdef EXCEPTIONS
#define IS_SHUT(s, t) ((NEEDED(s) & BIT(t)) != 0 && shut[AT(s, t)] >= version[s])
#else
#define IS_SHUT(s, t) false
#endif
#define OPEN_WORD(s) (!IS_SHUT(s, 0) && !IS_SHUT(s, 1) && !IS_SHUT(s, 2))
#define ALL_LEASED(s) (LEASED(s, 0) && LEASED(s, 1) && LEASED(s, 2))
#define FREE(s) (grace[AT(s, 0)] == 0 && grace[AT(s, 1)] == 0 && grace[AT(s, 2)] == 0)
#ifdef BUG_SERVES_BEFORE_COMMITTING
#define INHERITED(s) true
#elif defined(BUG_SERVES_BEFORE_STORE)
#define INHERITED(s) (committed[s] >= start[version[s]])
#else
#define INHERITED(s) (SHOWN(s) >= start[version[s]])
#endif
#ifdef OLD_DISK
#define IS_DOUBTFUL(s) doubtful[s]
#define IS_BORNE(s)    borne[s]
#ifdef BUG_LONE_ASKS_NOBODY
#define ASKS(s) false
#else
#define ASKS(s) asks[s]
#endif
#define HAS_LOST(s)    (went_back && victim == (s))
#else
#define IS_DOUBTFUL(s) false
#define IS_BORNE(s)    true /* no disk went back: as good as after the wait */
#define ASKS(s)        false
#define HAS_LOST(s)    false
#endif
#ifdef BUG_NO_WAIT_FOR_OWN_GRANTS
#define MAY_SERVE(s) (up[s] && reigns[s] && !yielded[s] && !ASKS(s) && INHERITED(s) && ALL_LEASED(s))
#else
#define MAY_SERVE(s) (up[s] && reigns[s] && !yielded[s] && !ASKS(s) && INHERITED(s) && FREE(s) && ALL_LEASED(s) && OPEN_WORD(s))
#endif
#ifdef BUG_LEASE_LOOKED_AT_ONCE
#define SERVES(s) (up[s] && reigns[s] && !yielded[s] && cached[s])
#else
#define SERVES(s) MAY_SERVE(s)
#endif
#ifdef BUG_NO_MIN_IN_SYNC
#define IN_SYNC(s) true
#else
#define IN_SYNC(s) (COUNT(MEMBERS(s)) >= 2 && (!waiting[s] || COUNT(next_members[s]) >= 2))
#endif

/* --- logs --- */
#ifdef STORE_LAGS
#define SHOWN(s) shown[s]
#else
#define SHOWN(s) committed[s]
#endif
#define LOG(s, i)      entry[(s) * ENTRIES + (i)]
#define WHAT(s, i, n)  ((n) > (i) -> (LOG(s, i) & 31) : 0)
#define ALL(s, n)      (WHAT(s, 0, n) | WHAT(s, 1, n) | WHAT(s, 2, n) | WHAT(s, 3, n) | WHAT(s, 4, n))
#define VERSION_AT(s, n) ((n) > 0 -> LOG(s, (n) - 1) >> 5 : 0) /* of the n-th entry */
#define HAS_BARRIER(s) ((ALL(s, appended[s]) & BARRIER) != 0 && (ALL(s, appended[s]) & ABORT) == 0)
#ifdef BUG_SPLIT_AT_COMMIT
#define BARRED(s) (HAS_BARRIER(s) && !child[version[s]] && committed[s] < appended[s])
#else
#define BARRED(s) (HAS_BARRIER(s) && !child[version[s]])
#endif

/* --- what must hold, after every step --- */
#define SAME_AT(s, t, i) (committed[s] <= (i) || committed[t] <= (i) || LOG(s, i) == LOG(t, i))
#define SAME(s, t)       (SAME_AT(s, t, 0) && SAME_AT(s, t, 1) && SAME_AT(s, t, 2) && SAME_AT(s, t, 3) && SAME_AT(s, t, 4))
/* I3; but of a disk that went back, which has lost something whatever is done. */
#define KEEPS(t)         (HAS_LOST(t) || (members[newest] & BIT(t)) == 0 || (answered & ~ALL(t, synced[t])) == 0)
#define SHOWS(s)         (!SERVES(s) || (answered & ~ALL(s, SHOWN(s))) == 0)

/* Rules 5 and 6: answered at once, also what was inherited (the client came again); I9: what is
 * answered is in two logs. */
#define UNANSWERED(s) (ALL(s, SHOWN(s)) & (WRITE_MASK | LAST_WRITE) & ~answered)
#define IN_LOG_OF(t, s) ((HAS_LOST(t) || (UNANSWERED(s) & ~ALL(t, synced[t])) == 0) -> 1 : 0)
inline answer(s)
{
    if
    :: UNANSWERED(s) != 0 && SERVES(s) && IN_SYNC(s) ->
        assert(IN_LOG_OF(0, s) + IN_LOG_OF(1, s) + IN_LOG_OF(2, s) >= 2);
        answered = answered | UNANSWERED(s)
    :: else
    fi
}

inline check()
{
    assert(!(SERVES(0) && SERVES(1)) && !(SERVES(0) && SERVES(2)) && !(SERVES(1) && SERVES(2))); /* I4 */
    assert(SHOWS(0) && SHOWS(1) && SHOWS(2));                                                    /* I5 */
    answer(0);
    answer(1);
    answer(2);
    assert(KEEPS(0) && KEEPS(1) && KEEPS(2));         /* I3 */
    assert(SAME(0, 1) && SAME(0, 2) && SAME(1, 2));   /* I6 */
    assert(committed[0] <= synced[0] && committed[1] <= synced[1] && committed[2] <= synced[2]) /* I2 */
}

/* --- parts of steps --- */

inline drop_above(s, n)
{
    if
    :: appended[s] > (n) -> appended[s] = (n)
    :: else
    fi;
    if
    :: appended[s] < 1 -> LOG(s, 0) = 0
    :: else
    fi;
    if
    :: appended[s] < 2 -> LOG(s, 1) = 0
    :: else
    fi;
    if
    :: appended[s] < 3 -> LOG(s, 2) = 0
    :: else
    fi;
    if
    :: appended[s] < 4 -> LOG(s, 3) = 0
    :: else
    fi;
    if
    :: appended[s] < 5 -> LOG(s, 4) = 0
    :: else
    fi;
    synced[s] = appended[s]
}

#ifdef READER
inline end_read(s)
{
    if
    :: reading && reader == s ->
        reading = false;
        read_taken = false;
        reader = 0;
        read_must = 0;
        read_has = 0
    :: else
    fi
}
#endif

inline forget_reign(s)
{
#ifdef READER
#ifndef BUG_READER_LOOKS_ONCE
    end_read(s);
#endif
#endif
#ifdef OLD_DISK
    asks[s] = false;
#endif
    reigns[s] = false;
    yielded[s] = false;
    waiting[s] = false;
    away[s] = false;
    attached[s] = false;
    split_proposed[s] = false;
    cached[s] = false;
    opened[s] = 0;
    joining[s] = 0;
    doubt[s] = 0;
    has[AT(s, 0)] = 0;
    has[AT(s, 1)] = 0;
    has[AT(s, 2)] = 0;
    held[AT(s, 0)] = 0;
    held[AT(s, 1)] = 0;
    held[AT(s, 2)] = 0
}

inline adopt(s, v)
{
    forget_reign(s);
    version[s] = v;
    clean[s] = false;
    noted[s] = false;
    counted[s] = false;
    synced[s] = appended[s];
#if defined(OLD_DISK) && !defined(BUG_BORNE_OUT_FOR_GOOD)
    borne[s] = false; /* who bore it out need not have heard of this version */
#endif
    if
    :: !proposed[s] -> next_members[s] = 0
    :: else
    fi
}

inline grant(s, l)
{
    if
    :: l != s && IS_MEMBER(s, s) -> grace[AT(s, l)] = GRACE
    :: else
    fi
}

/* A version that nobody is at any more. */
#ifdef OLD_DISK
#define IS_OLD(v) (victim != N && !went_back && old_version <= (v))
#else
#define IS_OLD(v) false
#endif
inline forget_version(v)
{
    if
    :: version[0] > v && version[1] > v && version[2] > v && newest > v && !IS_OLD(v) ->
        leader[v] = 0;
        members[v] = 0;
        child[v] = false;
        start[v] = 0
    :: else
    fi
}
inline forget_versions()
{
    forget_version(1);
    forget_version(2);
    forget_version(3);
    forget_version(4);
    forget_version(5);
    forget_version(6)
}

/* The range that is followed: what the parent logged behind the barrier is not in the child. */
inline convert(s)
{
    assert((ALL(s, appended[s]) & BARRIER) != 0);
    if
    :: (WHAT(s, 0, appended[s]) & BARRIER) != 0 -> drop_above(s, 1)
    :: (WHAT(s, 1, appended[s]) & BARRIER) != 0 -> drop_above(s, 2)
    :: (WHAT(s, 2, appended[s]) & BARRIER) != 0 -> drop_above(s, 3)
    :: (WHAT(s, 3, appended[s]) & BARRIER) != 0 -> drop_above(s, 4)
    :: else
    fi
}

inline append(s, what)
{
    LOG(s, appended[s]) = ENTRY(what, version[s]);
    appended[s]++
}

inline send_proposal(s, l, m, c)
{
    proposed[s] = true;
    base[s] = version[s];
    next_leader[s] = l;
    next_members[s] = m;
    next_child[s] = c;
    waiting[s] = true;
    noted[s] = true
}

inline forget_proposal(s)
{
    proposed[s] = false;
    base[s] = 0;
    next_leader[s] = 0;
    if
    :: !waiting[s] -> next_members[s] = 0
    :: else
    fi;
    next_child[s] = false
}

/* --- steps: CAN_x says when, x does --- */

#define CAN_WRITE(s) (SERVES(s) && !BARRED(s) && IN_SYNC(s) && given < WRITES && appended[s] < ENTRIES)
inline write(s)
{
    append(s, 1 << given);
    given++
}

#define CAN_COMMIT_TO(s, t) ((NEEDED(s) & BIT(t)) == 0 || \
                             ((opened[s] & BIT(t)) != 0 && has[AT(s, t)] > committed[s]))
#define CAN_COMMIT(s) (up[s] && reigns[s] && committed[s] < appended[s] && \
                       CAN_COMMIT_TO(s, 0) && CAN_COMMIT_TO(s, 1) && CAN_COMMIT_TO(s, 2))
inline commit(s)
{
    committed[s]++;
    if
    :: synced[s] < committed[s] -> synced[s] = committed[s]
    :: else
    fi
}

/*
 * Rules 4, 15, 16 and 19.  Both ends sync the configuration before they go on.  A member that has more than
 * who opens it may refuse: it must when it is certain that something was lost; one whose disk stands still, or
 * whose end of the log is not synced yet, does not otherwise.
 */
#define START(s)       (start[version[s]])
#define NEEDS_OPEN(s, t) ((opened[s] & BIT(t)) == 0 || !attached[t])
#define CAN_REACH(s, t) (up[s] && reigns[s] && up[t] && version[t] <= version[s] && \
                         (version[t] < version[s] || (!away[t] && NEEDS_OPEN(s, t))))
#ifdef BUG_LEARNER_DROPS_IN_DOUBT
#define COUNTS(s, t) IS_MEMBER(t, s)
#define IS_LATE(s, t) false
#else
#define COUNTS(s, t) (IS_MEMBER(t, s) || (joining[s] & BIT(t)) != 0)
#define IS_LATE(s, t) (counted[t] && version[t] == version[s] && !COUNTS(s, t))
#endif
#define WAS_OPENED(s, t) (clean[t] && version[t] == version[s])
#define AGE(t, n) (VERSION_AT(t, n))
#define IS_BELOW(s, t) (START(s) < committed[t] || \
                        (START(s) > 0 && committed[t] > 0 && AGE(s, START(s)) < AGE(t, committed[t])))
#define HAS_MORE(s, t, n) ((START(s) > 0 && (n) > 0 && AGE(s, START(s)) != AGE(t, n)) -> \
                           AGE(t, n) > AGE(s, START(s)) : (n) > START(s))
#ifdef BUG_NOBODY_REFUSES
#define MUST_REFUSE(s, t) false
#define MAY_REFUSE(s, t)  false
#else
#ifdef OLD_DISK
#define MOVES(t) (!IS_DOUBTFUL(t)) /* beside a disk that went back another that stands still is one too many */
#else
#define MOVES(t) false
#endif
#define MUST_REFUSE(s, t) (IS_MEMBER(t, s) && !WAS_OPENED(s, t) && \
                           (IS_BELOW(s, t) || (MOVES(t) && HAS_MORE(s, t, synced[t]))))
#define MAY_REFUSE(s, t)  (IS_MEMBER(t, s) && !WAS_OPENED(s, t) && \
                           (IS_BELOW(s, t) || HAS_MORE(s, t, appended[t])))
#endif
#define CAN_OPEN(s, t) (CAN_REACH(s, t) && !MUST_REFUSE(s, t) && !IS_LATE(s, t))
#ifdef BUG_LATE_OPEN_DROPS
#define DROPS(s, t) true
#else
#define DROPS(s, t) (!clean[t])
#endif
/* What its OPENED says must agree with what its primary has (rule 3, rule 19): it lost something otherwise. */
#define AGREES(s, t) (appended[t] <= appended[s] && \
                      (((MEMBERS(s) | doubt[s]) & BIT(t)) == 0 || \
                       (appended[t] >= committed[s] && AGE(t, appended[t]) == AGE(s, appended[t]))))
inline learn_anew(s, t)
{
#ifdef OLD_DISK
    if
    :: START(s) < committed[t] -> committed[t] = 0 /* damaged: it is taught by slices, from nothing */
    :: else
    fi;
    doubtful[t] = false;
#endif
    drop_above(t, committed[t])
}

#ifdef OLD_DISK
inline hear_opened(s, t)
{
    if
    :: IS_MEMBER(t, s) && appended[t] <= appended[s] -> borne[s] = true /* not who joins: s has taught it */
    :: else
    fi
}

/* Rule 20. */
inline hear_refused(s, t)
{
    if
    :: committed[t] > appended[s] ||
       (appended[s] > 0 && committed[t] > 0 && AGE(s, appended[s]) < AGE(t, committed[t])) ->
#ifndef BUG_NOBODY_DOUBTS
        forget_reign(s);
        doubtful[s] = true
#else
        borne[s] = true /* the wait is over by now */
#endif
    :: else
    fi
}
#endif

inline open(s, t)
{
    if
    :: version[t] < version[s] -> adopt(t, version[s])
    :: else
    fi;
    if
#ifdef BUG_MEMBER_DROPS_TO_COMMITTED
    :: COUNTS(s, t) && DROPS(s, t) -> drop_above(t, committed[t])
#else
    :: COUNTS(s, t) && DROPS(s, t) -> drop_above(t, START(s))
#endif
#ifndef BUG_LEARNER_KEEPS_ITS_TAIL
    :: !COUNTS(s, t) && (!clean[t] || !attached[t]) -> learn_anew(s, t)
#endif
    :: else
    fi;
    clean[t] = true;
    counted[t] = COUNTS(s, t) && !IS_MEMBER(t, s);
    synced[t] = appended[t];
    attached[t] = true;
    grace[AT(t, s)] = GRACE;
    if
    :: AGREES(s, t) ->
        opened[s] = opened[s] | BIT(t);
        has[AT(s, t)] = appended[t]
    :: else ->
#ifndef OLD_DISK
        assert(false); /* no disk went back: nobody is condemned */
#endif
        opened[s] = opened[s] & ~BIT(t);
        has[AT(s, t)] = 0
    fi;
#ifdef OLD_DISK
    hear_opened(s, t);
#endif
    forget_versions()
}

/* It leads instead.  Its sender serves under no version before, and under this one not without it: no grant to
 * it need be waited for.  Who is certain leaves it out. */
#define CAN_REFUSE(s, t) (CAN_REACH(s, t) && MAY_REFUSE(s, t) && version[s] < limit && !IS_DOUBTFUL(t))
inline refuse(s, t)
{
    if
    :: version[t] < version[s] -> adopt(t, version[s])
    :: else
    fi;
    grace[AT(t, s)] = 0;
    away[t] = true;
    send_proposal(t, t, MEMBERS(t), child[version[t]]);
    if
    :: IS_BELOW(s, t) -> next_members[t] = next_members[t] & ~BIT(s)
    :: else
    fi;
#ifdef OLD_DISK
    hear_refused(s, t);
#endif
    forget_versions()
}

/* PREPARE and PREPARED (rule 3). */
#ifdef BUG_STALE_PREPARE
#define TAKES(t, s) (version[t] >= version[s])
#else
#define TAKES(t, s) (version[t] == version[s] && clean[t] && attached[t] && !away[t])
#endif
#define CAN_PREPARE(s, t) (up[s] && reigns[s] && (opened[s] & BIT(t)) != 0 && up[t] && TAKES(t, s) && \
                           appended[t] < appended[s])
inline prepare(s, t)
{
    LOG(t, appended[t]) = LOG(s, appended[t]);
    appended[t]++;
#ifndef BUG_ACKNOWLEDGED_BEFORE_SYNCED
    synced[t] = appended[t];
#endif
    has[AT(s, t)] = appended[t]
}

#define CAN_TELL(s, t) (up[s] && reigns[s] && (opened[s] & BIT(t)) != 0 && up[t] && TAKES(t, s) && \
                        committed[t] < committed[s] && committed[t] < appended[t])
inline tell(s, t)
{
    committed[t] = MIN(committed[s], appended[t]);
    if
    :: synced[t] < committed[t] -> synced[t] = committed[t]
    :: else
    fi
}

/* --- beacons (rule 8) --- */

#define GRANTS(t, s) (attached[t] && version[t] == version[s] && !away[t])
#define CAN_BEACON(s, t) (up[s] && reigns[s] && (opened[s] & BIT(t)) != 0 && held[AT(s, t)] < LEASE && \
                          up[t] && GRANTS(t, s))
inline send_beacon(s, t)
{
    grace[AT(t, s)] = GRACE;
#ifdef BUG_LEASE_FROM_RECEIPT
    beacon[AT(s, t)] = true
#else
    held[AT(s, t)] = LEASE
#endif
}

#define CAN_HOLD(s, t) (up[s] && reigns[s] && beacon[AT(s, t)])
inline hold(s, t)
{
    held[AT(s, t)] = LEASE;
    beacon[AT(s, t)] = false
}

#define PASS(a) a = ((a) > 0 -> (a) - 1 : 0)
#define ANY(a) (a[1] + a[2] + a[3] + a[5] + a[6] + a[7] > 0)
#ifdef OLD_DISK
#define IS_AWAITED (old_wait > 0)
#define PASS_WAIT  PASS(old_wait)
#else
#define IS_AWAITED false
#define PASS_WAIT  skip
#endif
#define CAN_TICK (ANY(held) || ANY(grace) || IS_AWAITED)
inline tick()
{
    PASS(held[1]); PASS(held[2]); PASS(held[3]); PASS(held[5]); PASS(held[6]); PASS(held[7]);
    PASS(grace[1]); PASS(grace[2]); PASS(grace[3]); PASS(grace[5]); PASS(grace[6]); PASS(grace[7]);
    PASS_WAIT
}

#define CAN_LOOK(s) (!cached[s] && MAY_SERVE(s))
inline look(s)
{
    cached[s] = true
}

/* --- proposals (rules 9, 10, 12 to 15) --- */

#define IDLE(s) (up[s] && !waiting[s] && version[s] < limit)

/* Rule 21. */
#ifdef BUG_ALONE_AT_ONCE
#define MAY_BE_ALONE(s) true
#else
#define MAY_BE_ALONE(s) (COUNT(MEMBERS(s)) > 2 || IS_BORNE(s))
#endif
#ifdef BUG_NOBODY_IS_REMOVED
#define CAN_REMOVE(s, t) (!healed && IDLE(s) && reigns[s] && !yielded[s] && IS_MEMBER(t, s) && held[AT(s, t)] == 0)
#else
#define CAN_REMOVE(s, t) (IDLE(s) && reigns[s] && !yielded[s] && IS_MEMBER(t, s) && held[AT(s, t)] == 0 && \
                          MAY_BE_ALONE(s))
#endif
inline remove(s, t)
{
    send_proposal(s, s, MEMBERS(s) & ~BIT(t), child[version[s]])
}

/* Rule 16: whole, it is opened as a member, and only then proposed as one. */
#define CAN_JOIN(s, t) (IDLE(s) && reigns[s] && !yielded[s] && !IS_MEMBER(t, s) && (joining[s] & BIT(t)) == 0 && \
                        (opened[s] & BIT(t)) != 0 && held[AT(s, t)] > 0)
inline join(s, t)
{
    joining[s] = joining[s] | BIT(t);
#ifndef BUG_LONE_NOTES_LATE
    noted[s] = true;
#endif
#ifndef BUG_LEARNER_DROPS_IN_DOUBT
    opened[s] = opened[s] & ~BIT(t);
#endif
    has[AT(s, t)] = 0
}

#ifdef BUG_LEARNER_ADDED_EARLY
#define CAUGHT_UP(s, t) true
#else
#define CAUGHT_UP(s, t) (has[AT(s, t)] >= committed[s])
#endif
#define HAS_OPENED_ALL(s) ((MEMBERS(s) & ~BIT(s) & ~opened[s]) == 0)
#define CAN_ADD(s, t) (IDLE(s) && reigns[s] && !yielded[s] && committed[s] >= START(s) && HAS_OPENED_ALL(s) && \
                       (joining[s] & BIT(t)) != 0 && (opened[s] & BIT(t)) != 0 && CAUGHT_UP(s, t) && \
                       held[AT(s, t)] > 0)
inline add(s, t)
{
    doubt[s] = BIT(t);
    send_proposal(s, s, MEMBERS(s) | BIT(t), child[version[s]])
}

/* Rule 2; rule 14 for one that yielded in vain. */
#ifdef BUG_YIELDED_FOR_GOOD
#define CAN_RENEW(s) (IDLE(s) && LEADER(s) == s && !IS_DOUBTFUL(s) && !reigns[s])
#elif defined(BUG_NO_RENEWAL)
#define CAN_RENEW(s) false
#else
#define CAN_RENEW(s) (IDLE(s) && LEADER(s) == s && !IS_DOUBTFUL(s) && (!reigns[s] || yielded[s]))
#endif
inline renew(s)
{
    send_proposal(s, s, MEMBERS(s), child[version[s]])
}

#ifdef BUG_OUTSIDER_LEADS
#define MAY_LEAD(t) (LEADER(t) != t)
#else
#define MAY_LEAD(t) (LEADER(t) != t && IS_MEMBER(t, t))
#endif
#define CAN_REPLACE(t) (IDLE(t) && MAY_LEAD(t) && !away[t] && !IS_DOUBTFUL(t) && MAY_BE_ALONE(t) && grace[AT(t, LEADER(t))] == 0)
inline replace(t)
{
    send_proposal(t, t, (MEMBERS(t) | BIT(t)) & ~BIT(LEADER(t)), child[version[t]]);
#ifdef EXCEPTIONS
    shut[AT(LEADER(t), t)] = version[t];
#endif
    away[t] = true
}

/* Also with entries that are not committed: a primary whose disk stands still. */
#define CAN_YIELD(s, t) (IDLE(s) && SERVES(s) && IS_MEMBER(t, s) && !yield_given)
inline yield(s, t)
{
#ifndef BUG_SERVES_AFTER_YIELDING
    yielded[s] = true;
#endif
    yield_given = true;
    yield_sent = true;
    yield_version = version[s];
    yield_to = t
}

#define CAN_FOLLOW_YIELD(t) (yield_sent && yield_to == t && up[t])
inline follow_yield(t)
{
    if
    :: yield_version == version[t] && IDLE(t) && !away[t] && attached[t] && !IS_DOUBTFUL(t) ->
        grace[AT(t, LEADER(t))] = 0;
        send_proposal(t, t, MEMBERS(t), child[version[t]]);
        away[t] = true
    :: else
    fi;
    yield_sent = false;
    yield_version = 0;
    yield_to = 0
}

/* --- the split --- */

#define CAN_BAR(s) (SERVES(s) && !barrier_given && !child[version[s]] && appended[s] < ENTRIES - 1)
inline bar(s)
{
    barrier_given = true;
#ifdef BUG_SPLIT_AT_COMMIT
    split_proposed[s] = true; /* who lets the children begin does not abort; a successor may */
#endif
    append(s, BARRIER)
}

#define CAN_SPLIT(s) (IDLE(s) && reigns[s] && !yielded[s] && HAS_BARRIER(s) && !child[version[s]] && \
                      committed[s] == appended[s])
inline split(s)
{
    split_proposed[s] = true;
    send_proposal(s, s, MEMBERS(s), true)
}

#ifdef BUG_ABORT_IN_DOUBT
#define MAY_ABORT(s) true
#else
#define MAY_ABORT(s) (!split_proposed[s])
#endif
#define CAN_ABORT(s) (up[s] && reigns[s] && !yielded[s] && !ASKS(s) && INHERITED(s) && !abort_given && HAS_BARRIER(s) && \
                      !child[version[s]] && MAY_ABORT(s) && appended[s] < ENTRIES)
inline abort(s)
{
    abort_given = true;
#ifdef BUG_SPLIT_AT_COMMIT
    convert(s); /* what the children logged is not the parent's */
    committed[s] = MIN(committed[s], appended[s]);
#endif
    append(s, ABORT)
}

/* --- master and catalog --- */

#ifdef BUG_NO_COMPARE
#define IS_CURRENT(s) true
#else
#define IS_CURRENT(s) (base[s] == newest)
#endif
/* It will be refused. */
inline forget_stale(s)
{
    if
    :: proposed[s] && !IS_CURRENT(s) -> forget_proposal(s)
    :: else
    fi
}
#define CAN_TAKE(s) (proposed[s] && (!IS_CURRENT(s) || newest < limit))
inline take(s)
{
    if
    :: IS_CURRENT(s) ->
        newest++;
        leader[newest] = next_leader[s];
        members[newest] = next_members[s];
        child[newest] = next_child[s];
        forget_stale(0);
        forget_stale(1);
        forget_stale(2)
    :: else
    fi;
    forget_proposal(s)
}

#define CAN_LEARN(s) (up[s] && version[s] < newest)
inline learn(s)
{
    if
#ifndef BUG_SPLIT_AT_COMMIT
    :: child[newest] && !child[version[s]] && (members[newest] & BIT(s)) != 0 -> convert(s)
#endif
    :: else
    fi;
    adopt(s, newest);
    grant(s, leader[newest]);
    if
    :: LEADER(s) == s && !IS_DOUBTFUL(s) ->
        reigns[s] = true;
        clean[s] = true;
        start[newest] = appended[s]
    :: else
    fi;
    forget_versions()
}

/* --- trouble --- */

inline forget_grants(s)
{
    grace[AT(s, 0)] = 0;
    grace[AT(s, 1)] = 0;
    grace[AT(s, 2)] = 0
}

/* It keeps the first n entries: at least what somebody relied on.  What it has granted it is held to. */
#define CAN_CRASH_KEEPING(s, n) (up[s] && crashes < CRASHES && synced[s] <= (n) && (n) <= appended[s])
inline crash(s, n)
{
    crashes++;
    up[s] = false;
    drop_above(s, n);
    forget_reign(s);
#ifdef READER
    end_read(s);
#endif
#ifdef OLD_DISK
    borne[s] = false;
    if
    :: victim == s && !went_back -> old_wait = LEASE
    :: else
    fi;
#endif
#ifdef BUG_RESTART_FORGETS_GRANTS
    forget_grants(s);
#endif
#ifdef BUG_LONE_FORGETS_GRANTS
    if
    :: LEADER(s) == s -> forget_grants(s)
    :: else
    fi;
#endif
#ifdef EXCEPTIONS
    forget_proposal(s); /* no master heard it */
#ifndef BUG_EXCEPTION_OUTLIVES_PROCESS
    shut[AT(0, s)] = 0;
    shut[AT(1, s)] = 0;
    shut[AT(2, s)] = 0;
#endif
    shut[AT(s, 0)] = 0;
    shut[AT(s, 1)] = 0;
    shut[AT(s, 2)] = 0;
#endif
    beacon[AT(s, 0)] = false;
    beacon[AT(s, 1)] = false;
    beacon[AT(s, 2)] = false;
    if
    :: !proposed[s] -> next_members[s] = 0
    :: else
    fi
}
/* That its last committed entry is that, no later entry says; a lone one needs no word. */
#define CAN_FORGET(s) (!up[s] && committed[s] > 0 && committed[s] == appended[s] && MEMBERS(s) != BIT(s))
inline forget(s)
{
    committed[s]--
}

#ifdef OLD_DISK
#define CAN_SAVE(s) (up[s] && victim == N)
inline save(s)
{
    victim = s;
    old_version = version[s];
    old_clean = clean[s];
    old_noted = noted[s];
    old_counted = counted[s];
    old_free = LEADER(s) == s && FREE(s);
    old_appended = appended[s];
    old_committed = committed[s];
    old_entry[0] = LOG(s, 0);
    old_entry[1] = LOG(s, 1);
    old_entry[2] = LOG(s, 2)
}

/* What cannot be known (rules 19 to 21) is left out: it is the only member by then; or what its former life has proposed is taken yet, and leaves
 * it alone, or was to end that it is.  And it takes longer than a lease: else a primary of before could have one that was promised under its
 * version still, and the one that has been forgotten once more. */
#define CAN_GO_BACK(s) (!up[s] && victim == s && !went_back && old_wait == 0 && members[newest] != BIT(s) && \
                        !(proposed[s] && (next_members[s] == BIT(s) || MEMBERS(s) == BIT(s))))
inline go_back(s)
{
    version[s] = old_version;
    clean[s] = old_clean;
    noted[s] = old_noted;
    counted[s] = old_counted;
    drop_above(s, 0);
    LOG(s, 0) = old_entry[0];
    LOG(s, 1) = old_entry[1];
    LOG(s, 2) = old_entry[2];
    appended[s] = old_appended;
    synced[s] = old_appended;
    committed[s] = old_committed;
    doubtful[s] = false;
    if
    :: old_free -> forget_grants(s)
    :: else
    fi;
    went_back = true;
    old_version = 0;
    old_clean = false;
    old_noted = false;
    old_counted = false;
    old_free = false;
    old_entry[0] = 0;
    old_entry[1] = 0;
    old_entry[2] = 0;
    old_appended = 0;
    old_committed = 0;
    forget_versions()
}

/* Rule 21, and the end of a doubt (rule 20): it has what the reign began with, and its primary counts on this
 * very process. */
#ifdef BUG_COUNTS_ON_LIFE_BEFORE
#define COUNTED_ON(t) true
#else
#define COUNTED_ON(t) ((opened[LEADER(t)] & BIT(t)) != 0)
#endif
#define CAN_TRUST(t) (up[t] && (!borne[t] || doubtful[t]) && attached[t] && !away[t] && IS_MEMBER(t, t) && \
                      version[LEADER(t)] == version[t] && reigns[LEADER(t)] && COUNTED_ON(t) && \
                      synced[t] >= START(t))
inline trust(t)
{
    borne[t] = true;
    doubtful[t] = false
}

#define CAN_CONFIRM(s) (up[s] && asks[s] && version[s] == newest)
inline confirm(s)
{
    asks[s] = false
}
#endif

#ifdef STORE_LAGS
#define CAN_MAKE_VISIBLE(s) (up[s] && shown[s] < committed[s])
inline make_visible(s)
{
    shown[s] = committed[s]
}
#endif

#ifdef READER
#ifdef BUG_READER_LOOKS_ONCE
#define LOOKS_FIRST(s) true
#else
#define LOOKS_FIRST(s) SERVES(s)
#endif
#define CAN_BEGIN_READ(s) (up[s] && !read_begun && LOOKS_FIRST(s))
inline begin_read(s)
{
    read_begun = true;
    reading = true;
    reader = s;
    read_must = answered
}

#define CAN_TAKE_SNAPSHOT(s) (reading && reader == s && !read_taken)
inline take_snapshot(s)
{
    read_taken = true;
    read_has = ALL(s, SHOWN(s))
}

#define CAN_TELL_READ(s) (reading && reader == s && read_taken && SERVES(s))
inline tell_read(s)
{
    assert((read_must & ~read_has) == 0);
    end_read(s)
}
#endif

/* Learners of a lone primary that goes on under its version begin anew. */
inline detach(s, t)
{
    if
    :: t != s && version[t] == version[s] -> attached[t] = false
    :: else
    fi
}

#ifdef BUG_LONE_FORGETS_DOUBT
#define GOES_ON(s) (LEADER(s) == s && MEMBERS(s) == BIT(s))
#else
#ifdef BUG_RESTARTED_PRIMARY_GOES_ON
#define GOES_ON(s) (LEADER(s) == s)
#else
#define GOES_ON(s) (LEADER(s) == s && MEMBERS(s) == BIT(s) && !noted[s] && !IS_DOUBTFUL(s))
#endif
#endif
#define CAN_RESTART(s) (!up[s])
inline restart(s)
{
    up[s] = true;
#ifdef STORE_LAGS
    shown[s] = committed[s];
#endif
    if
    :: GOES_ON(s) ->
        reigns[s] = true;
#ifdef OLD_DISK
        asks[s] = true;
#endif
        if
        :: MEMBERS(s) == BIT(s) ->
            start[version[s]] = appended[s];
            detach(s, 0);
            detach(s, 1);
            detach(s, 2)
        :: else
        fi
    :: LEADER(s) != s ->
#ifndef BUG_RESTART_FORGETS_GRANTS
        grace[AT(s, LEADER(s))] = GRACE
#else
        skip
#endif
    :: else
    fi
}

/*
 * PROGRESS: from any state, nothing fails any more, but one server may stay dead, and all that can
 * happen happens before time goes on: messages first, then, when all is quiet, what waits for a
 * silence.  Within TICKS a new write must be acknowledged.  One step, whose order `turn` rotates.
 */
#ifdef PROGRESS
#ifndef TICKS
#define TICKS 8
#endif
byte ticks;
byte who;
byte other;
byte i;
byte j;
byte moved;

#define CAN_WRITE_LAST(s) (SERVES(s) && !BARRED(s) && IN_SYNC(s) && (ALL(s, appended[s]) & LAST_WRITE) == 0)
inline write_last(s)
{
    append(s, LAST_WRITE)
}

#define TRY(can, do_it) \
    if \
    :: can(who) -> do_it(who); moved = 1 \
    :: else \
    fi
#define TRY_PAIR(can, do_it) \
    if \
    :: can(who, other) -> do_it(who, other); moved = 1 \
    :: else \
    fi
/* Who does not agree is opened again and again until it is removed: that moves nothing. */
#define TRY_OPEN \
    if \
    :: CAN_OPEN(who, other) -> \
        open(who, other); \
        if \
        :: (opened[who] & BIT(other)) != 0 -> moved = 1 \
        :: else \
        fi \
    :: else \
    fi
#define IF_QUIET(can, do_it) \
    if \
    :: moved == 0 && can(who) -> do_it(who); moved = 1 \
    :: else \
    fi
#define IF_QUIET_PAIR(can, do_it) \
    if \
    :: moved == 0 && can(who, other) -> do_it(who, other); moved = 1 \
    :: else \
    fi
#define EACH_SERVER for (i : 0 .. 2) { who = (turn + i * way) % N;
#define EACH_OTHER  for (j : 1 .. 2) { other = (who + j * way) % N;
#define END         }

inline exchange_messages()
{
    EACH_SERVER
        TRY(CAN_LEARN, learn);
        TRY(CAN_TAKE, take);
        EACH_OTHER
            TRY_PAIR(CAN_REFUSE, refuse);
            TRY_OPEN;
            TRY_PAIR(CAN_PREPARE, prepare);
            TRY_PAIR(CAN_BEACON, send_beacon);
            TRY_PAIR(CAN_TELL, tell);
        END
        TRY(CAN_COMMIT, commit);
#ifdef OLD_DISK
        TRY(CAN_TRUST, trust);
        TRY(CAN_CONFIRM, confirm);
#endif
#ifdef STORE_LAGS
        TRY(CAN_MAKE_VISIBLE, make_visible);
#endif
    END
}

inline end_silences()
{
    EACH_SERVER
        IF_QUIET(CAN_WRITE_LAST, write_last);
        IF_QUIET(CAN_FOLLOW_YIELD, follow_yield);
        IF_QUIET(CAN_SPLIT, split);
        IF_QUIET(CAN_RENEW, renew);
        IF_QUIET(CAN_REPLACE, replace);
        EACH_OTHER
            IF_QUIET_PAIR(CAN_REMOVE, remove);
            IF_QUIET_PAIR(CAN_JOIN, join);
            IF_QUIET_PAIR(CAN_ADD, add);
        END
    END
}

inline run_healed()
{
    limit = VERSIONS - 1;
    EACH_SERVER
        if
        :: who == dead && up[who] -> crash(who, synced[who])
        :: who != dead && !up[who] -> restart(who)
        :: else
        fi
    END;
    ticks = 0;
    do
    :: (answered & LAST_WRITE) != 0 || ticks == TICKS -> break
    :: else ->
        moved = 1;
        do
        :: moved == 1 ->
            moved = 0;
            exchange_messages();
            if
            :: moved == 0 -> end_silences()
            :: else
            fi;
            check()
        :: else -> break
        od;
        tick();
        ticks++
    od;
    assert((answered & LAST_WRITE) != 0)
}

/* Whoever else is in the newest configuration, or in one that may yet be taken, can go on. */
#define LEAVES(x, s) (!(proposed[x] && IS_CURRENT(x)) || (next_members[x] & ~BIT(s)) != 0)
#define CAN_LOSE(s)  ((members[newest] & ~BIT(s)) != 0 && LEAVES(0, s) && LEAVES(1, s) && LEAVES(2, s))

/* All ends look the same. */
inline wipe()
{
    newest = 0; limit = 0; given = 0; answered = 0; crashes = 0; turn = 0;
    barrier_given = false; abort_given = false; yield_given = false;
    yield_sent = false; yield_version = 0; yield_to = 0;
    for (i : 0 .. VERSIONS - 1) {
        leader[i] = 0; members[i] = 0; child[i] = false; start[i] = 0
    }
    for (i : 0 .. N * ENTRIES - 1) {
        entry[i] = 0
    }
    for (i : 0 .. N * N - 1) {
#ifdef EXCEPTIONS
        shut[i] = 0;
#endif
        has[i] = 0; held[i] = 0; grace[i] = 0; beacon[i] = false
    }
    for (i : 0 .. N - 1) {
        version[i] = 0; clean[i] = false; synced[i] = 0; committed[i] = 0; noted[i] = false; up[i] = false;
        appended[i] = 0; attached[i] = false; away[i] = false; reigns[i] = false; yielded[i] = false;
        counted[i] = false; joining[i] = 0;
        waiting[i] = false; split_proposed[i] = false; opened[i] = 0; doubt[i] = 0; cached[i] = false;
        proposed[i] = false; base[i] = 0; next_leader[i] = 0; next_members[i] = 0; next_child[i] = false
    }
#ifdef OLD_DISK
    victim = 0; went_back = false; old_version = 0; old_clean = false; old_noted = false; old_counted = false;
    old_free = false; old_appended = 0; old_committed = 0; old_wait = 0;
    for (i : 0 .. ENTRIES - 1) {
        old_entry[i] = 0
    }
    for (i : 0 .. N - 1) {
        doubtful[i] = false; borne[i] = false; asks[i] = false
    }
#endif
#ifdef STORE_LAGS
    shown[0] = 0; shown[1] = 0; shown[2] = 0;
#endif
    ticks = 0; who = 0; other = 0; moved = 0; i = 0; j = 0; dead = 0; way = 0
}
#endif

/* A trail that Spin replays (`run --show BUG`) names its steps. */
#define TELL1(name, s)    printf(#name); printf(" %d\n", s)
#define TELL2(name, s, t) printf(#name); printf(" %d %d\n", s, t)

#define STEPS(can, do_it) \
    :: d_step { can(0) -> TELL1(do_it, 0); do_it(0) } \
    :: d_step { can(1) -> TELL1(do_it, 1); do_it(1) } \
    :: d_step { can(2) -> TELL1(do_it, 2); do_it(2) }
#define PAIRS(can, do_it) \
    :: d_step { can(0, 1) -> TELL2(do_it, 0, 1); do_it(0, 1) } \
    :: d_step { can(0, 2) -> TELL2(do_it, 0, 2); do_it(0, 2) } \
    :: d_step { can(1, 0) -> TELL2(do_it, 1, 0); do_it(1, 0) } \
    :: d_step { can(1, 2) -> TELL2(do_it, 1, 2); do_it(1, 2) } \
    :: d_step { can(2, 0) -> TELL2(do_it, 2, 0); do_it(2, 0) } \
    :: d_step { can(2, 1) -> TELL2(do_it, 2, 1); do_it(2, 1) }

#define CRASH(s) \
    :: d_step { CAN_CRASH_KEEPING(s, 0) -> TELL2(crash, s, 0); crash(s, 0) } \
    :: d_step { CAN_CRASH_KEEPING(s, 1) -> TELL2(crash, s, 1); crash(s, 1) } \
    :: d_step { CAN_CRASH_KEEPING(s, 2) -> TELL2(crash, s, 2); crash(s, 2) } \
    :: d_step { CAN_CRASH_KEEPING(s, 3) -> TELL2(crash, s, 3); crash(s, 3) } \
    :: d_step { CAN_CRASH_KEEPING(s, 4) -> TELL2(crash, s, 4); crash(s, 4) }

/*
 * Servers are alike: with SYMMETRY a state stands for all that come of it by naming them otherwise.  They are
 * put in the order of what can be said of them without their numbers; where two are alike in that, any order
 * will do.
 */
#ifdef SYMMETRY
c_code {
#include "symmetry.h"
}
#define CANONICAL c_code { canonical(); }
#else
#define CANONICAL skip
#endif

init
{
    d_step {
        leader[1] = 0;
        members[1] = START_MEMBERS;
        up[0] = true; up[1] = true; up[2] = true;
        version[0] = 1; version[1] = 1; version[2] = 1;
        clean[0] = true; clean[1] = IS_MEMBER(1, 1); clean[2] = IS_MEMBER(2, 2);
        reigns[0] = true;
#ifdef OLD_DISK
        borne[0] = true; borne[1] = true; borne[2] = true;
#endif
    }
end:
    do
    :: atomic {
    if
    STEPS(CAN_WRITE, write)
    STEPS(CAN_COMMIT, commit)
    PAIRS(CAN_OPEN, open)
    PAIRS(CAN_REFUSE, refuse)
    PAIRS(CAN_PREPARE, prepare)
    PAIRS(CAN_TELL, tell)
    PAIRS(CAN_BEACON, send_beacon)
#ifdef BUG_LEASE_FROM_RECEIPT
    PAIRS(CAN_HOLD, hold)
#endif
    :: d_step { CAN_TICK -> printf("tick\n"); tick() }
#ifdef BUG_LEASE_LOOKED_AT_ONCE
    STEPS(CAN_LOOK, look)
#endif
    PAIRS(CAN_REMOVE, remove)
    PAIRS(CAN_JOIN, join)
    PAIRS(CAN_ADD, add)
    STEPS(CAN_RENEW, renew)
    STEPS(CAN_REPLACE, replace)
#ifdef YIELD
    PAIRS(CAN_YIELD, yield)
    STEPS(CAN_FOLLOW_YIELD, follow_yield)
#endif
#ifdef SPLIT
    STEPS(CAN_BAR, bar)
    STEPS(CAN_SPLIT, split)
    STEPS(CAN_ABORT, abort)
#endif
    STEPS(CAN_TAKE, take)
    STEPS(CAN_LEARN, learn)
    CRASH(0)
    CRASH(1)
    CRASH(2)
    STEPS(CAN_FORGET, forget)
#ifdef STORE_LAGS
    STEPS(CAN_MAKE_VISIBLE, make_visible)
#endif
#ifdef READER
    STEPS(CAN_BEGIN_READ, begin_read)
    STEPS(CAN_TAKE_SNAPSHOT, take_snapshot)
    STEPS(CAN_TELL_READ, tell_read)
#endif
#ifdef OLD_DISK
    STEPS(CAN_SAVE, save)
    STEPS(CAN_GO_BACK, go_back)
    STEPS(CAN_TRUST, trust)
    STEPS(CAN_CONFIRM, confirm)
#endif
    STEPS(CAN_RESTART, restart)
    fi;
    d_step { check(); CANONICAL }
    }
#ifdef PROGRESS
    :: atomic {
        healed = true;
        if
#ifndef OLD_DISK
        :: CAN_LOSE(0) -> dead = 0
        :: CAN_LOSE(1) -> dead = 1
        :: CAN_LOSE(2) -> dead = 2
#endif
        :: dead = N
        fi;
        if
        :: turn = 0
        :: turn = 1
        :: turn = 2
        fi;
        if
        :: way = 1
#ifdef ALL_ORDERS
        :: way = 2
#endif
        fi;
        d_step {
            printf("healed, without %d, from %d on, by %d\n", dead, turn, way);
            run_healed();
            wipe()
        }
    };
    break
#endif
    od
}
