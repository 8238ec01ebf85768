#include "master/shell/elector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "common/io/thread.h"
#include "master/shell/complaint.h"

#define NOT_YET INT64_MIN

struct elector {
    struct elector_options options;
    struct etcd_keys keys;
    struct etcd_candidate candidate; /* the thread's, like election */
    struct election election;
    struct mailbox *waker; /* carries nothing: only to wait and be woken */
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    atomic_uint_fast64_t unwanted; /* a reign to be given up; 0 = none */
    atomic_uint_fast64_t reign;    /* what the others see */
    atomic_int_fast64_t until_ns;
    atomic_uint_fast32_t endpoint;
    pthread_mutex_t mutex; /* of leader */
    char leader[ETCD_LEADER_BYTES_MAX];
    struct complaint unreached; /* the thread's */
    bool suspended;
};

/* --- what the others see ------------------------------------------------------------------------ */

/* One that is to be given up is none any more, also before the thread has come to it. */
uint64_t elector_reign(const struct elector *elector)
{
    uint64_t reign = atomic_load(&elector->reign);
    return reign == atomic_load(&elector->unwanted) ? 0 : reign;
}

/* The reign is looked at on both sides of its end, so that the end is that reign's. */
bool elector_may_act(const struct elector *elector, uint64_t reign)
{
    bool sure = atomic_load(&elector->reign) == reign &&
                clock_monotonic_ns() < atomic_load(&elector->until_ns);
    return reign != 0 && sure && atomic_load(&elector->reign) == reign;
}

uint32_t elector_endpoint(const struct elector *elector)
{
    return (uint32_t)atomic_load(&elector->endpoint);
}

void elector_leader(struct elector *elector, char *ret_text)
{
    (void)pthread_mutex_lock(&elector->mutex);
    memcpy(ret_text, elector->leader, sizeof elector->leader);
    (void)pthread_mutex_unlock(&elector->mutex);
}

void elector_resign(struct elector *elector, uint64_t reign)
{
    atomic_store(&elector->unwanted, reign);
    mailbox_wake(elector->waker);
}

static void publish(struct elector *elector)
{
    const struct election *election = &elector->election;
    bool changed = election->reign != atomic_load(&elector->reign);

    atomic_store(&elector->endpoint, etcd_client_endpoint(elector->candidate.client));
    if (changed) {
        atomic_store(&elector->until_ns, NOT_YET);
        atomic_store(&elector->reign, election->reign);
    }
    atomic_store(&elector->until_ns, election->until_ns);
    (void)pthread_mutex_lock(&elector->mutex);
    memcpy(elector->leader, elector->candidate.leader, sizeof elector->leader);
    (void)pthread_mutex_unlock(&elector->mutex);
    if (changed) {
        LOG_EVENT(LOG_LEVEL_INFO, election->reign != 0 ? "leading" : "standing_by",
                  LOG_ID("reign", election->reign), LOG_TEXT("leader", elector->candidate.leader));
        elector->options.on_change(elector->options.context);
    }
}

/* --- the thread --------------------------------------------------------------------------------- */

static void complain(struct elector *elector, const struct error *error)
{
    if (error->status != STATUS_OK && complaint_is_due(&elector->unreached, clock_monotonic_ns())) {
        LOG_EVENT(LOG_LEVEL_WARN, "etcd_not_reached", LOG_TEXT("error", error->text));
    }
}

static void note_suspension(struct elector *elector)
{
    bool leads = elector->election.reign != 0;
    bool suspended = leads && !election_may_act(&elector->election, clock_monotonic_ns());
    if (leads && suspended != elector->suspended) {
        LOG_EVENT(suspended ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
                  suspended ? "leadership_suspended" : "leadership_sure",
                  LOG_ID("reign", elector->election.reign));
    }
    elector->suspended = suspended;
}

static void give_up_unwanted(struct elector *elector)
{
    uint_fast64_t unwanted = atomic_load(&elector->unwanted);
    if (unwanted != 0 && unwanted == elector->election.reign) {
        election_resign(&elector->election, clock_monotonic_ns());
        publish(elector);
    }
    /* Forgotten when it is over, and before the next one begins: where etcd was restarted without its data that
     * has the same number again. */
    if (unwanted != 0) {
        (void)atomic_compare_exchange_strong(&elector->unwanted, &unwanted, 0);
    }
}

static void ask(struct elector *elector, const struct election_question *question)
{
    struct error error = {.status = STATUS_OK};
    struct election_answer answer = etcd_election_ask(&elector->candidate, question, &error);
    election_answer(&elector->election, clock_monotonic_ns(), &answer);
    election_check(&elector->election);
    complain(elector, &error);
    publish(elector);
}

static void *run(void *context)
{
    struct elector *elector = context;
    struct election_question question;
    char nothing;

    thread_name_set("elector");
    while (!atomic_load(&elector->stopping)) {
        give_up_unwanted(elector);
        note_suspension(elector);
        election_next(&elector->election, clock_monotonic_ns(), &question);
        if (question.type == ELECTION_WAIT) {
            (void)mailbox_take(elector->waker, &nothing, 1, question.until_ns);
        } else {
            ask(elector, &question);
        }
    }
    if (elector->election.reign != 0) {
        election_resign(&elector->election, clock_monotonic_ns());
        publish(elector);
        election_next(&elector->election, clock_monotonic_ns(), &question);
        ask(elector, &question);
    }
    return NULL;
}

/* --- opening and closing ------------------------------------------------------------------------ */

static enum status open_parts(struct elector *elector, struct error *ret_error)
{
    const struct mailbox_settings waker = {.item_bytes = 1, .capacity = 1};
    const struct elector_options *options = &elector->options;
    enum status status = etcd_keys_make(options->settings->prefix, options->cluster, &elector->keys,
                                        ret_error);
    if (status == STATUS_OK) {
        status = etcd_client_open(options->settings, &elector->candidate.client, ret_error);
    }
    if (status == STATUS_OK && mailbox_create(&waker, &elector->waker) != STATUS_OK) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for the elector");
    }
    if (status != STATUS_OK) {
        return status;
    }
    int result = pthread_create(&elector->thread, NULL, run, elector);
    elector->started = result == 0;
    return result == 0
               ? STATUS_OK
               : error_set(ret_error, STATUS_IO, "cannot start the elector: %s", strerror(result));
}

enum status elector_open(const struct elector_options *options,
                         struct elector **ret_elector,
                         struct error *ret_error)
{
    struct election_settings settings;
    struct elector *elector = memory_allocate_zeroed(1, sizeof *elector);

    if (elector == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the elector");
    }
    election_settings_default(&settings);
    settings.lease_ns = options->settings->lease_us * 1000;
    elector->options = *options;
    elector->candidate.keys = &elector->keys;
    elector->candidate.address = options->address;
    elector->candidate.lease_ns = settings.lease_ns;
    election_init(&elector->election, &settings);
    atomic_store(&elector->until_ns, NOT_YET);
    (void)pthread_mutex_init(&elector->mutex, NULL);
    enum status status = open_parts(elector, ret_error);
    if (status != STATUS_OK) {
        elector_close(elector);
        return status;
    }
    *ret_elector = elector;
    return STATUS_OK;
}

void elector_close(struct elector *elector)
{
    if (elector == NULL) {
        return;
    }
    if (elector->started) {
        atomic_store(&elector->stopping, true);
        mailbox_wake(elector->waker);
        (void)pthread_join(elector->thread, NULL);
    }
    mailbox_destroy(elector->waker);
    etcd_client_close(elector->candidate.client);
    (void)pthread_mutex_destroy(&elector->mutex);
    memory_free(elector);
}
