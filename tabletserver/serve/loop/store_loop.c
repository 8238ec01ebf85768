#include "tabletserver/serve/loop/store_loop.h"

#include <sched.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/entropy.h"
#include "tabletserver/serve/loop/store_loop_state.h"
#include "tabletserver/storage/copies/store_slice.h"

#define LOOP_MAILBOX_PLACES   8192
#define LOOP_MAILBOX_RESERVED 4096 /* for what is bounded elsewhere: evaluations, peers' batches */

static enum status add_recovered_tablets(struct store_loop *loop)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store_tablet_count(loop->store) && status == STATUS_OK; i++) {
        status = store_loop_add_tablet(loop, store_tablet_at(loop->store, i));
    }
    return status;
}

/* A copy of a tablet that others may have, too, asks them before it answers.  Who does not replicate asks nobody, and
 * would read out what is long overwritten elsewhere. */
static enum status refuse_copies(const struct store_loop *loop, struct error *ret_error)
{
    for (uint32_t i = 0; i < store_tablet_count(loop->store); i++) {
        const struct store_tablet *tablet = store_tablet_at(loop->store, i);
        bool is_learner = store_tablet_describe(tablet)->configuration == 0 ||
                          store_tablet_is_half_taught(tablet);
        if (is_learner || store_tablet_configuration(tablet)->members.version != 0) {
            return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                             "%s: tablet %llu has had copies on other servers, or could have: set "
                             "`replicate = true` again",
                             loop->folder,
                             (unsigned long long)store_tablet_describe(tablet)->tablet);
        }
    }
    return STATUS_OK;
}

static enum status start(struct store_loop *loop,
                         const struct store_settings *settings,
                         struct error *ret_error)
{
    enum status status = write_order_init(&loop->order, loop->server, loop, loop->store);
    if (status == STATUS_OK && loop->server->peers != NULL) {
        status = replicas_create(loop, &loop->order, settings, &loop->replicas);
        loop->order.replicas = loop->replicas;
    }
    if (status == STATUS_OK) {
        status = store_loop_take_tables(loop);
    }
    if (status == STATUS_OK) {
        status = add_recovered_tablets(loop);
    }
    store_loop_publish_statistics(loop, clock_monotonic_ns());
    if (status == STATUS_OK && pthread_create(&loop->thread, NULL, store_loop_run, loop) != 0) {
        status = STATUS_NO_MEMORY;
    }
    loop->started = status == STATUS_OK;
    return status == STATUS_OK
               ? STATUS_OK
               : error_set(ret_error, status, "%s: %s", loop->folder, status_text(status));
}

static enum status open_store(struct store_loop *loop,
                              const struct store_settings *settings,
                              struct error *ret_error)
{
    const struct store_callbacks callbacks = store_loop_callbacks(loop);
    enum status status = store_open(loop->folder, 0, settings, &callbacks, &loop->store, ret_error);
    if (status == STATUS_NOT_FOUND) {
        status = store_open(loop->folder, entropy_u64(), settings, &callbacks, &loop->store,
                            ret_error);
    }
    return status == STATUS_OK ? store_catalog_open(loop->folder, &loop->catalog, ret_error)
                               : status;
}

enum status store_loop_open(struct server *server,
                            const char *folder,
                            const struct store_settings *settings,
                            struct store_loop **ret_loop,
                            struct error *ret_error)
{
    const struct mailbox_settings mailbox = {
        .item_bytes = sizeof(struct loop_item),
        .capacity = LOOP_MAILBOX_PLACES,
        .reserved = LOOP_MAILBOX_RESERVED,
    };
    struct store_loop *loop = memory_allocate_zeroed(1, sizeof *loop);
    if (loop == NULL || mailbox_create(&mailbox, &loop->mailbox) != STATUS_OK) {
        memory_free(loop);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the store in %s", folder);
    }
    pthread_mutex_init(&loop->statistics_lock, NULL);
    loop->server = server;
    (void)snprintf(loop->folder, sizeof loop->folder, "%s", folder);
    enum status status = open_store(loop, settings, ret_error);
    if (status == STATUS_OK && loop->server->peers == NULL) {
        status = refuse_copies(loop, ret_error);
    }
    if (status == STATUS_OK) {
        store_loop_publish_statistics(loop, clock_monotonic_ns());
        status = start(loop, settings, ret_error);
    }
    if (status != STATUS_OK) {
        store_loop_close(loop);
        return status;
    }
    *ret_loop = loop;
    return STATUS_OK;
}

static void discard_items(struct store_loop *loop)
{
    struct loop_item item;
    while (mailbox_take(loop->mailbox, &item, 1, 0) == 1) {
        if (item.type == ITEM_COMMAND || item.type == ITEM_WORD) {
            memory_free(item.pointer);
        } else if (item.type == ITEM_BATCH) {
            lanes_batch_done(item.pointer);
        } else if (item.type == ITEM_READING) {
            log_reading_discard(item.pointer);
        }
    }
}

void store_loop_stop(struct store_loop *loop)
{
    if (loop->started) {
        atomic_store(&loop->stopping, true);
        mailbox_wake(loop->mailbox);
        pthread_join(loop->thread, NULL);
        loop->started = false;
    }
}

void store_loop_close(struct store_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    store_loop_stop(loop);
    discard_items(loop);
    while (loop->creating != NULL) {
        store_loop_forget_creating(loop, loop->creating->tablet);
    }
    if (loop->order.store != NULL) {
        write_order_deinit(&loop->order);
    }
    replicas_destroy(loop->replicas);
    if (loop->store != NULL) {
        store_close(loop->store);
    }
    store_catalog_close(&loop->catalog);
    mailbox_destroy(loop->mailbox);
    pthread_mutex_destroy(&loop->statistics_lock);
    memory_free(loop);
}

int64_t store_loop_cpu_ns(const struct store_loop *loop)
{
    return clock_thread_cpu_ns(loop->thread);
}

struct store *store_loop_store(const struct store_loop *loop)
{
    return loop->store;
}

void store_loop_statistics(struct store_loop *loop, struct store_statistics *ret_statistics)
{
    pthread_mutex_lock(&loop->statistics_lock);
    *ret_statistics = loop->statistics;
    pthread_mutex_unlock(&loop->statistics_lock);
    if (store_loop_is_stuck(loop)) {
        store_loop_set_stalled(loop, ret_statistics);
    }
}

bool store_loop_is_stuck(const struct store_loop *loop)
{
    int64_t round_ns = atomic_load(&loop->round_ns);
    return round_ns != 0 && clock_monotonic_ns() - round_ns > LOOP_STALLED_NS;
}

struct store_catalog *store_loop_catalog(struct store_loop *loop)
{
    return &loop->catalog;
}

const char *store_loop_folder(const struct store_loop *loop)
{
    return loop->folder;
}

bool store_loop_submit(struct store_loop *loop, struct part *part)
{
    struct loop_item item = {ITEM_PART, part};
    return mailbox_push(loop->mailbox, &item);
}

void store_loop_evaluated(struct store_loop *loop, struct work *work)
{
    struct loop_item item = {ITEM_EVALUATED, work};
    while (!mailbox_push_reserved(loop->mailbox, &item)) {
        sched_yield(); /* the loop never waits for a worker, so a place comes free */
    }
}

void store_loop_tables_changed(struct store_loop *loop)
{
    atomic_store(&loop->tables_changed, true);
    mailbox_wake(loop->mailbox);
}

bool store_loop_command(struct store_loop *loop, struct store_command *command)
{
    struct loop_item item = {ITEM_COMMAND, command};
    if (!mailbox_push(loop->mailbox, &item)) {
        memory_free(command);
        return false;
    }
    return true;
}

void store_loop_wake(struct store_loop *loop)
{
    mailbox_wake(loop->mailbox);
}

bool store_loop_is_busy(const struct store_loop *loop)
{
    return atomic_load_explicit(&loop->busy, memory_order_relaxed) ||
           mailbox_depth(loop->mailbox) > 0;
}

/* --- of a server that replicates ---------------------------------------------------------------- */

void store_loop_hear(struct store_loop *loop, const struct lease_effect *effect)
{
    host_hear(store_loop_host(loop), effect);
}

void store_loop_leave(struct store_loop *loop)
{
    atomic_store(&loop->leaving, true);
    mailbox_wake(loop->mailbox);
}

bool store_loop_has_left(const struct store_loop *loop)
{
    return atomic_load(&loop->left);
}

bool store_loop_batch(struct store_loop *loop, struct lanes_batch *batch)
{
    struct loop_item item = {ITEM_BATCH, batch};
    return mailbox_push_reserved(loop->mailbox, &item);
}

bool store_loop_word(struct store_loop *loop, struct catalog_word *word)
{
    struct loop_item item = {ITEM_WORD, word};
    return mailbox_push(loop->mailbox, &item);
}

void store_loop_read_back(struct store_loop *loop, struct log_reading *reading)
{
    struct loop_item item = {ITEM_READING, reading};
    while (!mailbox_push_reserved(loop->mailbox, &item)) {
        sched_yield(); /* as for evaluations */
    }
}
