/*
 * A store as the disk of replicas: what store.h offers to a tablet with one copy, taken apart.
 *
 *   alone        the only member, nothing in doubt, or no configuration known: what is synced is
 *                committed, the store says so itself (on_committed)
 *   with others  what is synced is only prepared here (on_synced); what is committed the caller
 *                says: store_tablet_commit()
 *   leads        what is appended is applied at once, as prepared: store_append_write() and the like
 *   follows      entries come with sequence, version and stamp (store_append_entry()).  They wait in
 *                the WINDOW, decoded, and are applied when they are committed; so what may have to be
 *                dropped is dropped by forgetting it
 *
 *      store_append_entry ---> log, window --- store_tablet_commit ---> memtable, visible
 *                                   '--------- store_tablet_lead -----> memtable, prepared
 *
 *   committed <= prepared (in the memtables) <= appended (in the log);  the window = (prepared,
 *   appended].  Who leads has no window; who follows has committed == prepared, but for what it
 *   applied while it led.
 *
 * A tablet that is opened again is alone, applied and leads, or it follows: entries up to the last
 * proven committed point are applied, those above wait in the window.
 *
 * The rules quoted are those of docs/replication.md.  Thread rule: the store's loop, but for
 * store_log_read().
 */
#ifndef TABLETSERVER_STORAGE_COPIES_STORE_REPLICA_H
#define TABLETSERVER_STORAGE_COPIES_STORE_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/replica_configuration.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/record/record.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store.h"

/* One entry of a tablet's replicated log. */
struct store_entry {
    uint64_t sequence;
    uint64_t version; /* under which it was first given out (rule 3) */
    struct stamp stamp;
    uint8_t type; /* enum record_type, below RECORD_CONFIGURATION */
    struct bytes payload;
};

struct store_configuration {
    struct replica_configuration members; /* version 0 = none is known */
    uint8_t role; /* enum replica_role: kept for the caller, not looked at */
    struct record_replica_flags flags;
};

/* --- entries -------------------------------------------------------------------------------------- */

/*
 * Requires: the tablet follows; the sequence is the next, store_tablet_appended() + 1.
 * Errors: STATUS_RESOURCE_EXHAUSTED (window, memtables or log backlog full: come again),
 * STATUS_NO_SPACE, STATUS_NO_MEMORY, STATUS_CLOSED, STATUS_NOT_OWNER (it is being dropped),
 * STATUS_CORRUPT with what is wrong (it does not decode, lies outside the tablet's range, or its
 * stamp is older than that of the entry before), STATUS_VERSION (a type of a newer program).
 * After an error nothing was taken.
 */
enum status store_append_entry(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               struct error *ret_error);

/* Requires: the tablet leads and has a configuration.  A barrier, or what lifts one (types 3 and 5 to
 * 9): an entry that does nothing here; what it means the catalog says (section 7).  Errors as
 * store_append_write(), and STATUS_UNAVAILABLE (the one before it is not committed: come again). */
enum status store_append_barrier(struct store_tablet *tablet,
                                 enum record_type type,
                                 struct bytes payload,
                                 uint64_t clock,
                                 uint64_t *ret_sequence);

/*
 * Everything up to sequence is committed: visible, and flushed in its time.  Requires: not above what
 * on_synced has told.  Less than is committed already is no error.  Not for a tablet that is alone.
 * Errors, only while it follows: STATUS_NO_MEMORY, STATUS_RESOURCE_EXHAUSTED (all layers are in use);
 * it is committed as far as store_tablet_committed() says, come again.
 */
enum status store_tablet_commit(struct store_tablet *tablet, uint64_t sequence);

/* Highest sequence in the log, synced or not. */
uint64_t store_tablet_appended(const struct store_tablet *tablet);

/* Version of the entry that is committed last; 0 = not known (it was given out by this process, or is in
 * the base only). */
uint64_t store_tablet_committed_version(const struct store_tablet *tablet);

/* The barrier that is committed and not lifted (section 7): SPLIT, FROZEN or ABSORB, its stamp not known.
 * False: there is none.  Its payload is good until the next call that changes the tablet. */
bool store_tablet_barrier(const struct store_tablet *tablet, struct store_entry *ret_barrier);

/* What is synced is committed, without a word. */
bool store_tablet_is_alone(const struct store_tablet *tablet);

/* The window: count entries, ascending, the last of them `appended`.  Good until the next call that
 * changes the tablet. */
uint32_t store_tablet_window_count(const struct store_tablet *tablet);
struct store_entry store_tablet_window_at(const struct store_tablet *tablet, uint32_t index);

/* --- roles ---------------------------------------------------------------------------------------- */

bool store_tablet_leads(const struct store_tablet *tablet);

/* From now on it leads: the window is applied as prepared.  Errors as store_tablet_commit(): come
 * again. */
enum status store_tablet_lead(struct store_tablet *tablet);

/* From now on it follows.  What it has applied and is not committed stays, as prepared: it goes with
 * store_tablet_configure(), or is committed after all. */
void store_tablet_follow(struct store_tablet *tablet);

/*
 * Adopt a configuration, and drop what lies above kept_sequence, in the log, the window and the
 * memtables: cells, range deletes, adds, exactly-once records, rows.  (A GC horizon above it goes too,
 * and what it replaced with it: less is erased until the next.)  It is durable when on_configured
 * comes: nothing may be done under it before (I7).  Where memtables have something to drop this looks
 * at every cell of one of them.
 *
 * Requires: a sound configuration; kept_sequence at or above committed; above appended it means that.
 * Errors: STATUS_NO_MEMORY, STATUS_NO_SPACE, STATUS_RESOURCE_EXHAUSTED, STATUS_CLOSED,
 * STATUS_NOT_OWNER, STATUS_UNAVAILABLE (its first configuration, and not all of what it has given out
 * before is committed: come again).  Nothing has changed then.
 */
enum status store_tablet_configure(struct store_tablet *tablet,
                                   const struct store_configuration *configuration,
                                   uint64_t kept_sequence);

/*
 * The catalog has replaced the tablet by the two that its SPLIT names: they begin where it stands, with
 * its configuration, rows, exactly-once records, stamps, horizons; sequences go on from the barrier.  What
 * the log has behind the barrier is dropped: it was never committed.  The tablet is gone when this returns
 * (reads that are open go on), and the children are there, in the store's list; durable when on_configured
 * has come of either.  They follow, but for a lone member, which leads.
 *
 * Errors: STATUS_FAILED_PRECONDITION (no SPLIT stands at the end of its log, or a child is here already),
 * STATUS_UNAVAILABLE (the barrier is not durable here, or a child that was dropped is still in the
 * base: come again), STATUS_RESOURCE_EXHAUSTED (all layers are in use, or too many
 * ancestors are not in the base: come again), STATUS_NO_MEMORY, STATUS_NO_SPACE, STATUS_CLOSED,
 * STATUS_NOT_OWNER.  It is there as before then, but that it may have committed more, and dropped what
 * lay behind the barrier.
 */
enum status store_tablet_convert(struct store_tablet *tablet, struct store_tablet *ret_children[2]);

/*
 * Sequences that a merged tablet has ahead of the higher of its halves: for range deletes of the right one that are
 * still to be erased, which get new ones.  (The sum of both would do as well, but it doubles with every split and
 * merge of a range: some forty of them would use all sequences up.)
 */
#define STORE_MERGE_ROOM (UINT64_C(1) << 20)

/*
 * The catalog has replaced the two by the one that the left one's ABSORB names: with rows and
 * exactly-once records of both, sequences from STORE_MERGE_ROOM above the higher of theirs on, stamps above
 * both, and the newer of the configurations that were known here, with the flags of both.  It is in the
 * store's list when it is done, durable, and the two are not; until then they are read, and it takes as long
 * as their flush and a transaction.
 *
 * To be called until then.  STATUS_OK: the base is being told.  Errors: STATUS_UNAVAILABLE (they are being
 * flushed, or a barrier is not durable here: come again), STATUS_FAILED_PRECONDITION (their logs do not say
 * so, they are no neighbours, or the store has one of that number already), and as of
 * store_tablet_convert().
 */
enum status store_tablet_merge(struct store_tablet *left, struct store_tablet *right);

/* The base is being told that it is part of another: until that is done it must not be dropped. */
bool store_tablet_is_merging(const struct store_tablet *tablet);

/* Did it come of a merge since the store was opened?  Whoever asked for that takes it up, and nobody else. */
bool store_tablet_was_merged(const struct store_tablet *tablet);

/* Bring what it has committed to the base soon, as before a merge, which waits for that. */
void store_tablet_flush(struct store_tablet *tablet);
/* Nothing of it is left to be flushed. */
bool store_tablet_is_flushed(struct store_tablet *tablet);

/* The ABSORB that store_tablet_merge() would take, and what it says.  False: there is none. */
bool store_tablet_last_absorb(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_absorb *ret_absorb);

/* The last FROZEN, committed or not, and what it says.  False: there is none. */
bool store_tablet_last_frozen(const struct store_tablet *tablet,
                              struct store_entry *ret_entry,
                              struct record_frozen *ret_frozen);

/* The SPLIT that store_tablet_convert() would take, and what it says.  False: there is none.  Good until
 * the next call that changes the tablet. */
bool store_tablet_last_split(const struct store_tablet *tablet,
                             struct store_entry *ret_entry,
                             struct record_split *ret_split);

/* The one that was adopted last, durable or not.  Good until the next. */
const struct store_configuration *store_tablet_configuration(const struct store_tablet *tablet);

/* --- reading the log back ------------------------------------------------------------------------- */

struct store_log_slice {
    const struct store_entry *entries; /* of consecutive sequences */
    uint32_t count;
};

/*
 * Committed entries from from_sequence (at least 1) on, about bytes_max of them and at least one; none
 * if it is above committed.  All in the arena.  What the log has let go of is kept for a time
 * (store_settings), of tablets that have, or have had, others.  Any thread that may wait for the disk.
 * Errors: STATUS_NOT_FOUND (it is not there any more, or damaged: there are other ways to catch up),
 * STATUS_NO_MEMORY.
 */
enum status store_log_read(struct store_tablet *tablet,
                           uint64_t from_sequence,
                           uint64_t bytes_max,
                           struct arena *arena,
                           struct store_log_slice *ret_slice);

#endif /* TABLETSERVER_STORAGE_COPIES_STORE_REPLICA_H */
