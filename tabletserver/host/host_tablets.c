/*
 * A host's tablets: taken up as their stores have them, found, let go; what others may know of them.
 */
#include "tabletserver/host/host.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

#define TABLETS_FIRST 16

static enum replica_barrier barrier_of(uint8_t type)
{
    return type == RECORD_SPLIT    ? REPLICA_BARRIER_SPLIT
           : type == RECORD_FROZEN ? REPLICA_BARRIER_FROZEN
           : type == RECORD_ABSORB ? REPLICA_BARRIER_ABSORB
                                   : REPLICA_BARRIER_NONE;
}

struct replica_entry hosted_entry(const struct store_entry *entry)
{
    return (struct replica_entry){.sequence = entry->sequence,
                                  .version = entry->version,
                                  .stamp = entry->stamp,
                                  .type = entry->type,
                                  .barrier = barrier_of(entry->type),
                                  .lifts = entry->type == RECORD_SPLIT_ABORTED ||
                                           entry->type == RECORD_THAWED ||
                                           entry->type == RECORD_ABSORB_ABORTED,
                                  .payload = entry->payload};
}

/* The barrier that stands where the store's committed point is. */
static struct replica_standing standing_of(const struct store_tablet *tablet)
{
    struct store_entry barrier;
    if (!store_tablet_barrier(tablet, &barrier)) {
        return (struct replica_standing){.sequence = 0};
    }
    return (struct replica_standing){barrier.sequence, barrier.version, barrier_of(barrier.type)};
}

enum status hosted_create_replica(struct hosted *hosted, const struct replica_recovered *recovered)
{
    struct host *host = hosted->host;
    struct replica_settings settings = host->options.settings;
    settings.min_in_sync = hosted->min_in_sync;
    return replica_create(&settings, recovered, clock_monotonic_ns(), &hosted->replica,
                          &host->effects);
}

struct replica_recovered hosted_recovered(const struct host *host,
                                          const struct store_tablet *tablet)
{
    const struct store_configuration *configuration = store_tablet_configuration(tablet);
    bool half = host_counts_half_taught(tablet, configuration->role);
    if (half && !configuration->flags.damaged) { /* else its log was cut, or it says so itself */
        host_log_half_taught(tablet, configuration->members.version);
    }
    return (struct replica_recovered){.self = host->options.self,
                                      .incarnation = host->options.incarnation,
                                      .configuration = configuration->members,
                                      .role = (enum replica_role)configuration->role,
                                      .flags = {.opened = configuration->flags.opened,
                                                .doubt_noted = configuration->flags.doubt_noted,
                                                .bound = configuration->flags.bound,
                                                .damaged = configuration->flags.damaged || half,
                                                .doubtful = configuration->flags.doubtful}};
}

/* As its store has recovered it. */
static enum status recover_replica(struct hosted *hosted, const struct store_tablet *tablet)
{
    struct host *host = hosted->host;
    uint32_t count = store_tablet_window_count(tablet);
    struct replica_entry *window = memory_allocate((count + 1U) * sizeof *window);
    if (window == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct store_entry entry = store_tablet_window_at(tablet, i);
        window[i] = hosted_entry(&entry);
    }
    struct replica_recovered recovered = hosted_recovered(host, tablet);
    recovered.free_from_ns = host->options.free_from_ns;
    recovered.committed = store_tablet_committed(tablet);
    recovered.committed_version = store_tablet_committed_version(tablet);
    recovered.barrier = standing_of(tablet);
    recovered.window = window;
    recovered.window_count = count;
    enum status status = hosted_create_replica(hosted, &recovered);
    memory_free(window);
    return status;
}

enum status hosted_reserve(struct host *host, uint32_t count)
{
    if (host->tablet_count + count <= host->tablet_capacity) {
        return STATUS_OK;
    }
    uint32_t capacity = host->tablet_capacity == 0 ? TABLETS_FIRST : host->tablet_capacity * 2;
    struct hosted **tablets = memory_allocate(capacity * sizeof *tablets);
    if (tablets == NULL) {
        return STATUS_NO_MEMORY;
    }
    (void)pthread_mutex_lock(&host->mutex);
    struct hosted **before = host->tablets;
    if (host->tablet_count > 0) {
        memcpy(tablets, before, host->tablet_count * sizeof *tablets);
    }
    host->tablets = tablets;
    host->tablet_capacity = capacity;
    (void)pthread_mutex_unlock(&host->mutex);
    memory_free(before);
    return STATUS_OK;
}

static void insert(struct host *host, struct hosted *hosted)
{
    (void)pthread_mutex_lock(&host->mutex);
    uint32_t at = host->tablet_count++;
    while (at > 0 && host->tablets[at - 1]->number > hosted->number) {
        host->tablets[at] = host->tablets[at - 1];
        at--;
    }
    host->tablets[at] = hosted;
    (void)pthread_mutex_unlock(&host->mutex);
}

void hosted_destroy(struct hosted *hosted)
{
    if (hosted == NULL) {
        return;
    }
    hosted_forget_lessons(hosted);
    hosted_forget_digests(hosted);
    replica_destroy(hosted->replica);
    serving_unref(hosted->serving);
    if (hosted->tablet != NULL) {
        store_tablet_unref(hosted->tablet);
    }
    memory_free(hosted);
}

struct hosted *hosted_create(struct host *host, uint32_t min_in_sync)
{
    struct hosted *hosted = memory_allocate_zeroed(1, sizeof *hosted);
    if (hosted == NULL) {
        return NULL;
    }
    hosted->host = host;
    hosted->min_in_sync = min_in_sync;
    learn_begin(&hosted->learn, HOST_LEARN_RESEND_NS);
    scrub_begin(&hosted->scrub, &host->options.scrub, host->tablet_count);
    if (serving_create(&hosted->serving) != STATUS_OK) {
        hosted_destroy(hosted);
        return NULL;
    }
    return hosted;
}

void hosted_install(struct hosted *hosted, struct store_tablet *tablet)
{
    store_tablet_ref(tablet);
    hosted->tablet = tablet;
    hosted->number = store_tablet_describe(tablet)->tablet;
    hosted->commit_told = store_tablet_committed(tablet);
    insert(hosted->host, hosted);
    store_tablet_set_replica(tablet, hosted);
    hosted_perform(hosted, &(struct replica_event){.type = REPLICA_EVENT_TICK});
    struct replica_event cut_off = {.type = REPLICA_EVENT_CUT_OFF,
                                    .present = hosted->host->cut_off};
    struct replica_event stalled = {.type = REPLICA_EVENT_STALLED,
                                    .present = hosted->host->stalled};
    hosted_step(hosted, &cut_off);
    hosted_step(hosted, &stalled);
}

enum status host_add(struct host *host, struct store_tablet *tablet, uint32_t min_in_sync)
{
    ASSERT(hosted_of(tablet) == NULL);
    if (store_tablet_leads(tablet) &&
        store_tablet_committed(tablet) < store_tablet_prepared(tablet)) {
        return STATUS_UNAVAILABLE;
    }
    struct hosted *hosted = hosted_create(host, min_in_sync);
    enum status status = hosted == NULL ? STATUS_NO_MEMORY : hosted_reserve(host, 1);
    if (status == STATUS_OK) {
        status = recover_replica(hosted, tablet);
    }
    if (status != STATUS_OK) {
        hosted_destroy(hosted);
        return status;
    }
    hosted_install(hosted, tablet);
    return STATUS_OK;
}

/* The beacon thread knows it no more. */
static void take_out(struct host *host, struct hosted *hosted)
{
    (void)pthread_mutex_lock(&host->mutex);
    uint32_t at = 0;
    while (host->tablets[at] != hosted) {
        at++;
    }
    host->tablet_count--;
    memmove(&host->tablets[at], &host->tablets[at + 1],
            (host->tablet_count - at) * sizeof(struct hosted *));
    for (struct hosted **link = &host->news; *link != NULL; link = &(*link)->news.next) {
        if (*link == hosted) {
            *link = hosted->news.next;
            break;
        }
    }
    serving_close(hosted->serving);
    (void)pthread_mutex_unlock(&host->mutex);
}

bool host_may_remove(const struct store_tablet *tablet, uint64_t version)
{
    if (version == 0 || hosted_of(tablet) == NULL) {
        return true;
    }
    struct replica_view view = host_look(tablet);
    bool counts = view.role == REPLICA_PRIMARY || view.role == REPLICA_SECONDARY;
    return view.configuration.version < version ||
           (view.configuration.version == version && !counts);
}

void host_remove(struct host *host, struct store_tablet *tablet)
{
    struct hosted *hosted = hosted_of(tablet);
    if (hosted == NULL) {
        return;
    }
    take_out(host, hosted);
    hosted_forget_conversion(hosted);
    if (hosted->is_due) {
        pairing_heap_remove(&host->due, &hosted->due);
    }
    host->unsynced_count -= hosted->unsynced ? 1 : 0;
    host->window_bytes -= hosted->window_bytes;
    store_tablet_set_replica(tablet, NULL);
    hosted_destroy(hosted);
}

/* A learner's promise stays: its copy may be made again under this very version, and what is excepted is never
 * granted again. */
void host_drop(struct host *host, struct store_tablet *tablet)
{
    struct hosted *hosted = hosted_of(tablet);
    if (hosted != NULL && replica_look(hosted->replica).role == REPLICA_SECONDARY) {
        (void)hosted_let_go(hosted);
    }
    host_remove(host, tablet);
}

void host_set_min_in_sync(struct store_tablet *tablet, uint32_t min_in_sync)
{
    if (hosted_of(tablet) != NULL) {
        hosted_of(tablet)->min_in_sync = min_in_sync;
        replica_set_min_in_sync(hosted_of(tablet)->replica, min_in_sync);
    }
}

enum status host_may_answer(const struct store_tablet *tablet, int64_t now_ns)
{
    const struct hosted *hosted = hosted_of(tablet);
    if (hosted->serving_version == 0) {
        return STATUS_NOT_OWNER;
    }
    bool answers = replica_look(hosted->replica).acknowledges &&
                   serving_holds(hosted->serving, now_ns);
    return answers ? STATUS_OK : STATUS_UNAVAILABLE;
}

bool host_is_changing(const struct store_tablet *tablet)
{
    const struct hosted *hosted = hosted_of(tablet);
    struct replica_view view = replica_look(hosted->replica);
    bool owes = hosted->configure_due || hosted->lead_due;
    return view.changing || hosted->conversion.listed || (view.role == REPLICA_PRIMARY && owes);
}

struct serving *host_serving(const struct store_tablet *tablet)
{
    return hosted_of(tablet)->serving;
}

struct replica_view host_look(const struct store_tablet *tablet)
{
    return replica_look(hosted_of(tablet)->replica);
}
