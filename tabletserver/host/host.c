/*
 * A host's life, what happens to its tablets, and rounds.
 */
#include "tabletserver/host/host.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/metrics.h"
#include "tabletserver/host/host_internal.h"

/* --- steps -------------------------------------------------------------------------------------- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void hosted_reschedule(struct hosted *hosted)
{
    struct host *host = hosted->host;
    int64_t due_ns = sooner(replica_deadline_ns(hosted->replica), hosted->retry_ns);
    due_ns = sooner(due_ns, hosted_lessons_due_ns(hosted));
    due_ns = sooner(due_ns, scrub_deadline_ns(&hosted->scrub));
    uint64_t key = due_ns > 0 ? (uint64_t)due_ns : 0;
    if (hosted->is_due && hosted->due.key == key && due_ns != REPLICA_NEVER) {
        return;
    }
    if (hosted->is_due) {
        pairing_heap_remove(&host->due, &hosted->due);
    }
    hosted->is_due = due_ns != REPLICA_NEVER;
    if (hosted->is_due) {
        pairing_heap_insert(&host->due, &hosted->due, key);
    }
}

/* What has been performed is forgotten, and what is left counts. */
static void trim_window(struct hosted *hosted)
{
    replica_trim(hosted->replica);
    struct replica_view view = replica_look(hosted->replica);
    uint64_t now_bytes = view.role == REPLICA_PRIMARY ? view.window_bytes : 0;
    hosted->host->window_bytes += now_bytes - hosted->window_bytes;
    hosted->window_bytes = now_bytes;
}

/* What a step has decided, as far as it can be done. */
static void finish_step(struct hosted *hosted)
{
    bool settled = hosted_settle(hosted);
    bool promised = hosted_promise(hosted);
    hosted_ask_reads(hosted);
    hosted_look_at_level(hosted);
    hosted_look_at_digest(hosted);
    trim_window(hosted);
    hosted->retry_ns = settled && promised ? REPLICA_NEVER : clock_monotonic_ns() + HOST_RETRY_NS;
    hosted_reschedule(hosted);
}

/* To whom OPEN was sent; each once. */
static void note_opened(const struct replica_effects *effects, struct replica_union *opened)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct replica_effect *effect = &effects->items[i];
        bool known = effect->type != REPLICA_EFFECT_SEND || effect->message.type != REPLICA_OPEN;
        for (uint32_t j = 0; j < opened->count; j++) {
            known = known || opened->members[j].store == effect->to.store;
        }
        if (!known && opened->count < REPLICA_PEERS_MAX) {
            opened->members[opened->count++] = effect->to;
        }
    }
}

static void step_once(struct hosted *hosted, struct replica_event *event)
{
    struct host *host = hosted->host;
    event->now_ns = clock_monotonic_ns();
    enum status status = replica_step(hosted->replica, event, &host->effects);
    ASSERT(status == STATUS_OK || event->type == REPLICA_EVENT_RECEIVE); /* lost: it comes again */
    hosted_perform(hosted, event);
}

/* Whoever is opened is asked for its lease, so whether it holds is told again. */
void hosted_step(struct hosted *hosted, struct replica_event *event)
{
    struct host *host = hosted->host;
    struct replica_union opened = {.count = 0};
    step_once(hosted, event);
    note_opened(&host->effects, &opened);
    for (uint32_t i = 0; i < opened.count; i++) {
        struct replica_event held = {.type = REPLICA_EVENT_HELD,
                                     .from = opened.members[i],
                                     .present = host_holds(host, opened.members[i].server)};
        step_once(hosted, &held);
        note_opened(&host->effects, &opened);
    }
    finish_step(hosted);
}

/* --- life --------------------------------------------------------------------------------------- */

enum status host_create(const struct host_options *options, struct host **ret_host)
{
    struct host *host = memory_allocate_zeroed(1, sizeof *host);
    if (host == NULL) {
        return STATUS_NO_MEMORY;
    }
    host->options = *options;
    host->look_at_leases_ns = REPLICA_NEVER;
    host->slices_sent = metric_counter("edubba_slices_sent_total", "",
                                       "Slices of tablets sent to copies that are taught.");
    ASSERT(pthread_mutex_init(&host->mutex, NULL) == 0);
    *ret_host = host;
    return STATUS_OK;
}

void host_destroy(struct host *host)
{
    if (host == NULL) {
        return;
    }
    while (host->tablet_count > 0) {
        host_remove(host, host->tablets[host->tablet_count - 1]->tablet);
    }
    host_forget_merges(host);
    memory_free(host->tablets);
    (void)pthread_mutex_destroy(&host->mutex);
    memory_free(host);
}

/* --- the store's callbacks ------------------------------------------------------------------------ */

void host_on_synced(struct host *host, struct store_tablet *tablet, uint64_t sequence)
{
    struct hosted *hosted = hosted_of(tablet);
    (void)host;
    if (hosted == NULL) {
        return;
    }
    struct replica_event event = {.type = REPLICA_EVENT_SYNCED, .sequence = sequence};
    hosted_step(hosted, &event);
    hosted_note_synced(hosted);
}

/* Of one that is alone: what is committed is synced. */
void host_on_committed(struct host *host, struct store_tablet *tablet, uint64_t sequence)
{
    host_on_synced(host, tablet, sequence);
}

void host_on_configured(struct host *host, struct store_tablet *tablet)
{
    struct hosted *hosted = hosted_of(tablet);
    (void)host;
    if (hosted == NULL) {
        return;
    }
    uint32_t count = hosted->configures_done;
    hosted->configures_done = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct replica_event event = {.type = REPLICA_EVENT_CONFIGURED};
        hosted_step(hosted, &event);
    }
    hosted_note_synced(hosted);
}

enum status host_on_append(struct host *host,
                           struct store_tablet *tablet,
                           const struct store_entry *entry)
{
    struct hosted *hosted = hosted_of(tablet);
    if (host->window_bytes >= host->options.windows_bytes_max) {
        return STATUS_RESOURCE_EXHAUSTED; /* of any tablet: it is the memory of one process */
    }
    if (hosted->stopped || hosted->spoilt || hosted->configure_due || hosted->lead_due) {
        return STATUS_UNAVAILABLE; /* it owes something that comes first */
    }
    struct replica_entry given = hosted_entry(entry);
    enum status status = replica_may_write(hosted->replica, &given);
    /* Last: whoever has waited long interrupts a learner on its walk, and must not do that in vain, or who has too
     * few members never gets one more (simulator, seed 2001531). */
    return status == STATUS_OK && !hosted_may_give_out(hosted, entry->type) ? STATUS_UNAVAILABLE
                                                                            : status;
}

void host_on_appended(struct host *host,
                      struct store_tablet *tablet,
                      const struct store_entry *entry)
{
    struct hosted *hosted = hosted_of(tablet);
    (void)host;
    struct replica_event event = {.type = REPLICA_EVENT_WRITE, .entry = hosted_entry(entry)};
    hosted_note_logged(hosted);
    hosted_note_given_out(hosted, entry);
    hosted_step(hosted, &event);
    ASSERT(replica_look(hosted->replica).appended == entry->sequence);
}

/* --- what else happens -------------------------------------------------------------------------- */

/* What could make promises for which there is no place is passed over: it comes again. */
static void take(struct store_tablet *tablet, struct replica_event *event)
{
    struct hosted *hosted = hosted_of(tablet);
    if (hosted != NULL && hosted_may_promise(hosted)) {
        hosted_step(hosted, event);
    }
}

/* Whoever opens what is not there knows of it from the catalog: it may be the heir of one that is. */
static void convert_for(struct host *host,
                        uint64_t heir,
                        const struct replica_configuration *configuration)
{
    if (!replica_configuration_has(configuration, host->options.self)) {
        return;
    }
    for (uint32_t i = 0; i < host->tablet_count; i++) {
        struct hosted *hosted = host->tablets[i];
        if (replica_look(hosted->replica).barrier != 0 &&
            host_convert(host, hosted->tablet, heir, configuration)) {
            return;
        }
    }
}

static bool may_take(const struct hosted *hosted, const struct replica_message *message)
{
    bool early = message->type == REPLICA_PREPARE && hosted_awaits_records(hosted);
    return !early && hosted_may_take(hosted, message);
}

void host_receive(struct host *host, const struct replica_batch *batch)
{
    if (batch->head.to_store != host->options.self.store) {
        return;
    }
    for (size_t i = 0; i < batch->item_count; i++) {
        const struct replica_item *item = &batch->items[i];
        struct hosted *hosted = host_find(host, item->tablet);
        struct replica_event event = {
            .type = REPLICA_EVENT_RECEIVE, .from = batch->head.from, .message = item->message};
        if (hosted != NULL && !hosted_hear_lesson(hosted, batch->head.from, &item->message) &&
            !hosted_hear_digest(hosted, batch->head.from, &item->message)) {
            if (may_take(hosted, &item->message)) {
                take(hosted->tablet, &event);
            }
        } else if (item->message.type == REPLICA_OPEN) {
            convert_for(host, item->tablet, &item->message.configuration);
        }
    }
}

void host_told(struct host *host,
               struct store_tablet *tablet,
               const struct replica_configuration *newest,
               bool founding)
{
    struct replica_event event = {
        .type = REPLICA_EVENT_CATALOG, .configuration = *newest, .present = founding};
    (void)host;
    take(tablet, &event);
}

void host_recovered(struct host *host,
                    struct store_tablet *tablet,
                    const struct replica_configuration *newest)
{
    struct replica_event event = {
        .type = REPLICA_EVENT_CATALOG, .configuration = *newest, .recovered = true};
    (void)host;
    take(tablet, &event);
}

void host_gone(struct host *host, struct store_tablet *tablet)
{
    struct replica_event event = {.type = REPLICA_EVENT_GONE};
    (void)host;
    take(tablet, &event);
}

void host_goal(struct host *host,
               struct store_tablet *tablet,
               const struct replica_union *members,
               uint64_t leader_store)
{
    struct replica_event event = {
        .type = REPLICA_EVENT_GOAL, .goal_members = *members, .goal_leader = leader_store};
    (void)host;
    take(tablet, &event);
}

void host_leave(struct host *host)
{
    host_tell_all(host, (struct replica_event){.type = REPLICA_EVENT_LEAVING});
}

uint32_t host_leads_count(const struct host *host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < host->tablet_count; i++) {
        const struct hosted *hosted = host->tablets[i];
        struct replica_view view = replica_look(hosted->replica);
        bool leads = view.role == REPLICA_PRIMARY && !store_tablet_is_alone(hosted->tablet);
        count += leads || view.claims ? 1 : 0;
    }
    return count;
}

void host_damaged(struct host *host, struct store_tablet *tablet)
{
    struct replica_event event = {.type = REPLICA_EVENT_DAMAGED};
    (void)host;
    if (hosted_of(tablet) != NULL) {
        hosted_step(hosted_of(tablet), &event);
    }
}

void host_read(struct host *host,
               struct store_tablet *tablet,
               struct replica_member to,
               uint64_t sequence,
               const struct store_entry *entry)
{
    struct replica_event event = {
        .type = REPLICA_EVENT_READ, .from = to, .sequence = sequence, .present = entry != NULL};
    (void)host;
    if (entry != NULL) {
        event.entry = hosted_entry(entry);
    } else if (hosted_of(tablet) != NULL) {
        hosted_of(tablet)->unread_sequence = sequence;
    }
    if (hosted_of(tablet) != NULL) {
        hosted_step(hosted_of(tablet), &event);
    }
}

void host_unread(struct host *host,
                 struct store_tablet *tablet,
                 struct replica_member to,
                 uint64_t sequence)
{
    struct replica_event event = {.type = REPLICA_EVENT_UNREAD, .from = to, .sequence = sequence};
    (void)host;
    if (hosted_of(tablet) != NULL) {
        hosted_step(hosted_of(tablet), &event);
    }
}

/* --- rounds ------------------------------------------------------------------------------------- */

static void tick_due(struct host *host, int64_t now_ns)
{
    for (uint32_t i = 0; i < HOST_TICKS_MAX; i++) {
        struct pairing_node *lowest = host->due.lowest;
        if (lowest == NULL || lowest->key > (uint64_t)now_ns) {
            return;
        }
        struct replica_event event = {.type = REPLICA_EVENT_TICK};
        hosted_step((struct hosted *)lowest, &event);
        hosted_tick_lessons((struct hosted *)lowest);
        hosted_tick_scrub((struct hosted *)lowest);
        hosted_reschedule((struct hosted *)lowest);
    }
}

static void look_at_masters(struct host *host)
{
    const struct host_options *options = &host->options;
    bool cut_off = options->is_cut_off != NULL && options->is_cut_off(options->context);
    if (cut_off != host->cut_off) {
        host->cut_off = cut_off;
        host_tell_all(host,
                      (struct replica_event){.type = REPLICA_EVENT_CUT_OFF, .present = cut_off});
    }
}

void host_round(struct host *host)
{
    int64_t now_ns = clock_monotonic_ns();
    host_take_news(host);
    host_look_at_conversions(host, now_ns);
    host_look_at_merges(host, now_ns);
    host_look_at_leases(host, now_ns);
    host_look_at_log(host, now_ns);
    look_at_masters(host);
    tick_due(host, now_ns);
    store_commit(host->options.store);
    lanes_flush(host->options.lanes);
}

int64_t host_deadline_ns(struct host *host)
{
    int64_t due_ns = host->look_at_leases_ns;
    if (host->due.lowest != NULL) {
        due_ns = sooner(due_ns, (int64_t)host->due.lowest->key);
    }
    if (host->converting != NULL) {
        due_ns = sooner(due_ns, host->convert_ns);
    }
    if (host->merges != NULL) {
        due_ns = sooner(due_ns, host->merge_ns);
    }
    if (host->unsynced_count > 0 && !host->stalled) {
        due_ns = sooner(due_ns, host->log_moved_ns + HOST_STALL_NS + 1);
    }
    return due_ns;
}

void host_check(struct host *host)
{
    for (uint32_t i = 0; i < host->tablet_count; i++) {
        const struct hosted *hosted = host->tablets[i];
        struct replica_view view = replica_look(hosted->replica);
        replica_check(hosted->replica);
        ASSERT(i == 0 || host->tablets[i - 1]->number < hosted->number);
        for (uint64_t at = store_tablet_appended(hosted->tablet) + 1; /* (1) */
             !hosted->stopped && !hosted->spoilt && at <= view.appended; at++) {
            ASSERT(replica_window_find(hosted->replica, at) != NULL);
        }
        ASSERT((hosted->serving_version != 0) == view.serving); /* (2) */
        ASSERT(IMPLIES(view.serving, hosted->serving_version == view.configuration.version));
        ASSERT(hosted->commit_told <= store_tablet_committed(hosted->tablet));
    }
}
