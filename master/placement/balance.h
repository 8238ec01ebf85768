/*
 * Balance: what should be done about load?  One round makes decisions of a snapshot.
 *
 *   servers, tablets, settings, now ──> balance_round() ──> SPLIT, MERGE, LEAD, MOVE, REFUSE
 *                                            │ ^
 *                                            v │
 *                      struct balance_tablet, struct balance_server: what is kept from round to round
 *
 * SPLIT   a tablet that takes more than a share of its server's time, at rows that part its load;
 *         or, where rows are only ever appended, at a row that will be written soon, so that the new
 *         right-hand tablet stands on another server before its load arrives
 * MERGE   two cold neighbours of a table
 * LEAD    another member becomes primary      } a server has more to do than the others: what is
 * MOVE    another server gets the replica     } cheap is tried first
 * REFUSE  a tablet is hot, and is not split: why not.  Said once, and again when the reason
 *         changes, each once a minute
 *
 * Rules, and where they come from: docs/hotspots.md, "Deciding".  What is promised:
 *   1. A split's rows ascend and lie strictly inside the tablet.
 *   2. LEAD and MOVE for balance: of the two servers the busier one is less busy after it than before,
 *      by settings.impact_permille of the mean at least; and the one that gains does not end above the band
 *      round the mean, nor above what is left to the other.  So the sum of squares falls with every
 *      step: steady load is balanced after finitely many, and nothing is decided from then on.
 *   3. What was decided counts as done: goals that are not reached yet are looked at as if they were.
 *   4. No tablet is decided about twice in a round, nor while something is under way with it.
 *   5. Nothing is decided about a tablet that is pinned.
 *
 * Load is CPU time: nanoseconds a second.  A primary costs what its reads and writes take, a
 * secondary BALANCE_SECONDARY_SHARE of the writes.
 *
 * Thread rule: one owner.  Pure: no clock, no I/O; memory is in the arena that is handed in.
 */
#ifndef MASTER_PLACEMENT_BALANCE_H
#define MASTER_PLACEMENT_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/replica_configuration.h"
#include "common/base/status.h"
#include "common/model/row_set.h"
#include "master/placement/balance_state.h"

#define BALANCE_SECONDARY_SHARE 0.5
#define BALANCE_DECISIONS_MAX   256 /* of a round; what is left over comes in the next */
#define BALANCE_TEXT_SIZE_MAX   280

/* --- the snapshot ------------------------------------------------------------------------------- */

struct balance_server_input {
    uint64_t server;
    struct balance_server *state;
    double capacity_ns; /* a second; 0 = it has not said so: nothing is expected of it */
    uint32_t zone;      /* equal numbers = the same zone */
    bool usable;        /* alive, and may get tablets and lead them */
    bool full;          /* has no store with room: it gets no replicas, and may lead what it has */
};

/* Servers, by their place in the snapshot.  Members whose servers are not in it are left out. */
struct balance_members {
    uint32_t servers[REPLICA_MEMBERS_MAX];
    uint32_t count;
    uint32_t leader; /* in servers */
};

/* Tablets stand in order of table, then of range: neighbours beside one another. */
struct balance_tablet_input {
    uint64_t tablet;
    uint64_t table;
    struct row_range range;
    uint64_t size_bytes;
    uint64_t soft_limit_bytes;
    struct balance_tablet *state;
    const struct balance_detail *detail; /* NULL = not known */
    struct balance_members now;
    struct balance_members wanted;
    bool start_by_hand; /* a person asked for its start */
    bool apart;         /* its copies lie so that it cannot be merged with the one before it */
    bool lost;          /* nobody has a copy: it is not settled, and nothing is under way with it */
    bool pinned;        /* its table is */
    bool settled;       /* serves, has what is wanted for it, and nothing is under way */
    bool may_split;     /* its server can do so; the same for the others */
    bool may_merge;
    bool may_move;
};

struct balance_snapshot {
    const struct balance_server_input *servers;
    size_t server_count;
    const struct balance_tablet_input *tablets;
    size_t tablet_count;
    size_t tablets_max; /* there may be */
    int64_t now_ns;     /* monotonic, above 0 */
};

/* --- decisions ---------------------------------------------------------------------------------- */

enum balance_kind {
    BALANCE_SPLIT = 1,
    BALANCE_MERGE,
    BALANCE_LEAD,
    BALANCE_MOVE,
    BALANCE_REFUSE,
};

struct balance_decision {
    enum balance_kind kind;
    enum balance_reason reason;
    uint64_t table;
    uint64_t tablet;
    uint64_t right; /* MERGE: the other one */
    uint64_t from;  /* LEAD, MOVE: servers; MOVE: the one whose replica goes */
    uint64_t to;
    const struct bytes *rows; /* SPLIT: ascending; in the arena, or the detail's */
    size_t row_count;
    struct bytes key; /* popular key; else empty */
    bool sampled;     /* key is no row that was seen to be popular, but begins a range that is */
    struct event_figures figures;
    char text[BALANCE_TEXT_SIZE_MAX]; /* all of it in a sentence */
};

struct balance_decisions {
    struct balance_decision *items;
    size_t count;
};

/* One round.  Errors: STATUS_NO_MEMORY: nothing was decided, what is kept may have been stepped. */
enum status balance_round(const struct balance_settings *settings,
                          const struct balance_snapshot *snapshot,
                          struct arena *arena,
                          struct balance_decisions *ret_decisions);

const char *balance_kind_name(enum balance_kind kind); /* "split" */

/* Say a decision in a sentence, by its figures; for those that no round makes, too. */
void balance_describe(struct balance_decision *decision);

#endif /* MASTER_PLACEMENT_BALANCE_H */
