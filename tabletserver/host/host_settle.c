/*
 * What a replica has decided and its store still owes.  It is kept as state: the entries are in the
 * replica's window, the rest is a few fields; so it can be tried as often as it takes.
 *
 *   entries up to `kept` --> CONFIGURATION --> entries --> lead --> commit
 *
 * While a configuration is not durable a replica takes no entries from others, so those before it are the
 * ones that are there.  Of several configurations that the store had no room for only the last is logged:
 * nothing was done under the others.
 */
#include "common/base/assert.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "tabletserver/host/host_internal.h"

/* --- how the log moves (rule 14) ---------------------------------------------------------------- */

void hosted_note_logged(struct hosted *hosted)
{
    struct host *host = hosted->host;
    if (hosted->unsynced || store_tablet_is_alone(hosted->tablet)) {
        return; /* a lone member has nobody to give its reign to */
    }
    hosted->unsynced = true;
    if (host->unsynced_count++ == 0) {
        host->log_moved_ns = clock_monotonic_ns();
    }
}

void hosted_note_synced(struct hosted *hosted)
{
    struct host *host = hosted->host;
    host->log_moved_ns = clock_monotonic_ns();
    struct replica_view view = replica_look(hosted->replica);
    /* One that is gone hears nothing any more, of what is synced neither; of what is taught, which is not in the
     * log, an outsider hears nothing (simulator, seed 3014806); and of a log that was cut a replica may know less
     * than the store still has (seed 4221294). */
    uint64_t logged = store_tablet_appended(hosted->tablet);
    if (logged > view.appended || store_tablet_is_half_taught(hosted->tablet)) {
        logged = view.appended;
    }
    bool all = view.gone || (view.synced == logged && hosted->configures_done == 0);
    if (hosted->unsynced && all) {
        hosted->unsynced = false;
        host->unsynced_count--;
    }
    if (!all) {
        hosted_note_logged(hosted);
    }
}

void host_look_at_log(struct host *host, int64_t now_ns)
{
    bool stalled = host->unsynced_count > 0 && now_ns - host->log_moved_ns > HOST_STALL_NS;
    if (stalled != host->stalled) {
        host->stalled = stalled;
        host_tell_all(host,
                      (struct replica_event){.type = REPLICA_EVENT_STALLED, .present = stalled});
    }
}

/* --- the log ------------------------------------------------------------------------------------ */

/* What a store refuses and may take later; anything else ends what this host does for the tablet, or, if
 * it is the entry's fault, makes the replica a damaged one: which its primary removes, and then teaches anew. */
static bool is_for_later(enum status status)
{
    return status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_NO_SPACE ||
           status == STATUS_NO_MEMORY || status == STATUS_UNAVAILABLE;
}

static bool refused(struct hosted *hosted, enum status status)
{
    if (status == STATUS_CLOSED || status == STATUS_NOT_OWNER) {
        hosted->stopped = true;
    } else if (!is_for_later(status)) {
        struct replica_event event = {.type = REPLICA_EVENT_DAMAGED};
        hosted->spoilt = true; /* first: the step settles too */
        hosted_step(hosted, &event);
    }
    return false;
}

static bool append_up_to(struct hosted *hosted, uint64_t sequence)
{
    struct store_tablet *tablet = hosted->tablet;
    while (store_tablet_appended(tablet) < sequence) {
        const struct replica_entry *entry = replica_window_find(hosted->replica,
                                                                store_tablet_appended(tablet) + 1);
        ASSERT(entry != NULL);
        const struct store_entry given = {entry->sequence, entry->version, entry->stamp,
                                          entry->type, entry->payload};
        enum status status = store_append_entry(tablet, &given, NULL);
        if (status != STATUS_OK) {
            return refused(hosted, status);
        }
        hosted_note_logged(hosted);
    }
    return true;
}

bool host_counts_half_taught(const struct store_tablet *tablet, uint8_t role)
{
    return (role == REPLICA_PRIMARY || role == REPLICA_SECONDARY) &&
           store_tablet_is_half_taught(tablet);
}

void host_log_half_taught(const struct store_tablet *tablet, uint64_t version)
{
    LOG_EVENT(LOG_LEVEL_ERROR, "half_taught_counts",
              LOG_ID("tablet", store_tablet_describe(tablet)->tablet), LOG_U64("version", version));
}

/* Half taught is nothing (docs/replication.md, section 6), and nobody is to make it count.  If somebody does, it is
 * damaged before it has said that it adopts this: so it acknowledges and leads nothing, and is taught anew. */
static bool is_to_be_damaged(const struct hosted *hosted)
{
    return host_counts_half_taught(hosted->tablet, hosted->configuration.role) &&
           replica_look(hosted->replica).trouble != REPLICA_IS_DAMAGED;
}

static void declare_damaged(struct hosted *hosted)
{
    struct replica_event event = {.type = REPLICA_EVENT_DAMAGED};
    host_log_half_taught(hosted->tablet, hosted->configuration.members.version);
    hosted_step(hosted, &event); /* which settles, too */
}

static bool configure(struct hosted *hosted)
{
    if (is_to_be_damaged(hosted)) {
        declare_damaged(hosted);
        return !hosted->configure_due;
    }
    if (hosted->spoilt) {
        uint64_t appended = store_tablet_appended(hosted->tablet);
        hosted->kept = hosted->kept < appended ? hosted->kept : appended;
    } else if (!append_up_to(hosted, hosted->kept)) {
        return false;
    }
    if (hosted->configuration.role != REPLICA_PRIMARY && store_tablet_leads(hosted->tablet)) {
        store_tablet_follow(hosted->tablet); /* it was just made: nobody has led */
    }
    if (store_tablet_is_half_taught(hosted->tablet) &&
        hosted->kept < store_tablet_committed(hosted->tablet)) {
        hosted->kept = store_tablet_committed(hosted->tablet); /* of what counts for nothing */
    }
    enum status status = store_tablet_configure(hosted->tablet, &hosted->configuration,
                                                hosted->kept);
    if (status != STATUS_OK) {
        return refused(hosted, status);
    }
    hosted->configure_due = false;
    hosted->configures_done += hosted->configures_due;
    hosted->configures_due = 0;
    hosted_note_logged(hosted);
    return true;
}

static bool settle_log(struct hosted *hosted)
{
    if (hosted->configure_due && !configure(hosted)) {
        return false;
    }
    return hosted->spoilt || append_up_to(hosted, replica_look(hosted->replica).appended);
}

/* Of one that is spoilt nothing is to be done but that: what it has counts for nothing. */
static bool look_whether_spoilt(struct hosted *hosted)
{
    bool heals = replica_look(hosted->replica).trouble != REPLICA_IS_DAMAGED;
    hosted->spoilt = hosted->spoilt && !heals;
    return hosted->spoilt;
}

/* --- lead, commit ------------------------------------------------------------------------------- */

static bool settle_lead(struct hosted *hosted)
{
    if (!hosted->lead_due) {
        return true;
    }
    enum status status = store_tablet_lead(hosted->tablet);
    if (status != STATUS_OK) {
        return refused(hosted, status);
    }
    hosted->lead_due = false;
    return true;
}

/* Who is answered is decided when it is told, not when it was committed (rule 5). */
static void tell_committed(struct hosted *hosted)
{
    const struct host_options *options = &hosted->host->options;
    uint64_t committed = store_tablet_committed(hosted->tablet);
    uint64_t sequence = committed < hosted->commit_due ? committed : hosted->commit_due;
    if (sequence <= hosted->commit_told) {
        return;
    }
    hosted->commit_told = sequence;
    bool answers = replica_look(hosted->replica).acknowledges &&
                   serving_holds(hosted->serving, clock_monotonic_ns());
    options->on_committed(options->context, hosted->tablet, sequence, answers);
}

static bool settle_commit(struct hosted *hosted)
{
    enum status status = STATUS_OK;
    uint64_t stop = hosted_commit_stop(hosted);
    if (hosted->commit_due > store_tablet_committed(hosted->tablet) &&
        !store_tablet_is_alone(hosted->tablet)) {
        status = store_tablet_commit(hosted->tablet,
                                     stop < hosted->commit_due ? stop : hosted->commit_due);
        if (status == STATUS_OK && stop < hosted->commit_due) {
            hosted_look_at_digest(hosted); /* the read is open: on */
            status = store_tablet_commit(hosted->tablet, hosted->commit_due);
        }
    }
    hosted_look_at_word(hosted); /* before what was committed with it is told */
    tell_committed(hosted);
    return status == STATUS_OK ? true : refused(hosted, status);
}

bool hosted_settle(struct hosted *hosted)
{
    if (hosted->stopped) {
        return true;
    }
    bool is_spoilt = look_whether_spoilt(hosted);
    bool logged = settle_log(hosted);
    if (is_spoilt) {
        return logged;
    }
    bool led = logged && settle_lead(hosted);
    bool committed = !hosted->stopped && settle_commit(hosted);
    return (logged && led && committed) || hosted->stopped;
}
