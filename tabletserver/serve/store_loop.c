#include "tabletserver/serve/store_loop.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/entropy.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "common/io/thread.h"
#include "tabletserver/serve/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/write_order.h"
#include "tabletserver/storage/copies/store_slice.h"

#define LOOP_MAILBOX_PLACES   8192
#define LOOP_MAILBOX_RESERVED 4096 /* for what is bounded elsewhere: evaluations, peers' batches */
#define LOOP_TAKE_MAX         256
#define LOOP_FOLDER_BYTES_MAX 1024
#define LOOP_TICK_NS          (INT64_C(500) * 1000 * 1000) /* what failed for want of memory goes on */
#define STATISTICS_NS         (INT64_C(200) * 1000 * 1000)
#define STOP_PATIENCE_NS      (INT64_C(30) * 1000 * 1000 * 1000)

enum item_type {
    ITEM_PART,
    ITEM_EVALUATED,
    ITEM_COMMAND,
    ITEM_BATCH,
    ITEM_WORD,
    ITEM_READING,
};

struct item {
    enum item_type type;
    void *pointer;
};

/* Creating takes a transaction; meanwhile the master's wish is repeated with every sync. */
struct creating {
    struct creating *next;
    uint64_t tablet;
};

struct store_loop {
    struct server *server;
    struct store *store;
    struct store_catalog catalog; /* that it belongs to: the sync thread's */
    struct mailbox *mailbox;
    struct write_order order;
    struct replicas *replicas; /* NULL: the server does not replicate */
    pthread_mutex_t statistics_lock;
    struct store_statistics statistics; /* as of some moments ago, for other threads */
    int64_t statistics_due_ns;
    struct creating *creating;
    atomic_bool tables_changed;
    atomic_bool stopping;
    atomic_bool busy;
    atomic_bool leaving; /* asked */
    atomic_bool left;    /* and done */
    bool started;
    pthread_t thread;
    char folder[LOOP_FOLDER_BYTES_MAX];
};

/* --- what the store calls ----------------------------------------------------------------------- */

static void on_wake(void *context)
{
    mailbox_wake(((struct store_loop *)context)->mailbox);
}

static int64_t on_now_us(void *context)
{
    return server_clock_now_us(&((struct store_loop *)context)->server->clock);
}

static bool on_trusts_clock(void *context)
{
    return server_clock_is_trusted(&((struct store_loop *)context)->server->clock);
}

static struct host *host_of(const struct store_loop *loop)
{
    return replicas_host(loop->replicas);
}

static void on_committed(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    struct store_loop *loop = context;
    if (store_tablet_replica(tablet) != NULL) {
        host_on_committed(host_of(loop), tablet, sequence);
    } else {
        write_order_committed(&loop->order, tablet, sequence, true);
    }
}

static void on_synced(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    host_on_synced(host_of(context), tablet, sequence);
}

static void on_taught(void *context, struct store_tablet *tablet, enum status status)
{
    host_on_taught(host_of(context), tablet, status);
}

static void on_damaged(void *context, struct store_tablet *tablet)
{
    struct store_loop *loop = context;
    if (store_tablet_replica(tablet) != NULL) {
        host_damaged(host_of(loop), tablet);
    }
}

static void on_configured(void *context, struct store_tablet *tablet)
{
    host_on_configured(host_of(context), tablet);
}

static enum status on_append(void *context,
                             struct store_tablet *tablet,
                             const struct store_entry *entry)
{
    return host_on_append(host_of(context), tablet, entry);
}

static void on_appended(void *context, struct store_tablet *tablet, const struct store_entry *entry)
{
    host_on_appended(host_of(context), tablet, entry);
}

/* The link that points at it, or at the list's end. */
static struct creating **find_creating(struct store_loop *loop, uint64_t tablet)
{
    struct creating **link = &loop->creating;
    while (*link != NULL && (*link)->tablet != tablet) {
        link = &(*link)->next;
    }
    return link;
}

static void forget_creating(struct store_loop *loop, uint64_t tablet)
{
    struct creating **link = find_creating(loop, tablet);
    struct creating *found = *link;
    if (found != NULL) {
        *link = found->next;
        memory_free(found);
    }
}

static enum status add_tablet(struct store_loop *loop, struct store_tablet *tablet)
{
    enum status status = STATUS_OK;
    if (loop->replicas != NULL && store_tablet_replica(tablet) == NULL) {
        status = replicas_add(loop->replicas, tablet);
    }
    return status == STATUS_OK ? write_order_add(&loop->order, tablet) : status;
}

static void on_created(void *context,
                       uint64_t number,
                       struct store_tablet *tablet,
                       const struct error *error)
{
    struct store_loop *loop = context;

    forget_creating(loop, number);
    if (tablet == NULL || add_tablet(loop, tablet) != STATUS_OK) {
        /* The next sync asks again. */
        LOG_EVENT(LOG_LEVEL_ERROR, "tablet_not_created", LOG_ID("tablet", number),
                  LOG_TEXT("store", loop->folder),
                  LOG_TEXT("error", tablet == NULL ? error->text : "out of memory"));
        return;
    }
    LOG_EVENT(LOG_LEVEL_INFO, "tablet_created", LOG_ID("tablet", number));
    sync_hurry(loop->server->sync);
}

static void on_dropped(void *context, uint64_t number)
{
    struct store_loop *loop = context;
    LOG_EVENT(LOG_LEVEL_INFO, "tablet_dropped", LOG_ID("tablet", number));
    sync_hurry(loop->server->sync);
}

static void on_split(void *context,
                     struct store_tablet *parent,
                     struct store_tablet *left,
                     struct store_tablet *right)
{
    struct store_loop *loop = context;
    write_order_was_split(&loop->order, parent, left, right);
    LOG_EVENT(LOG_LEVEL_INFO, "tablet_split",
              LOG_ID("tablet", store_tablet_describe(parent)->tablet),
              LOG_ID("left", store_tablet_describe(left)->tablet),
              LOG_ID("right", store_tablet_describe(right)->tablet),
              LOG_BYTES("row", store_tablet_describe(right)->range.start));
    sync_hurry(loop->server->sync);
}

/* What was promised cannot be kept any more: answer nothing, end, recover from the log. */
static void on_failed(void *context, const struct error *error)
{
    struct store_loop *loop = context;
    LOG_EVENT(LOG_LEVEL_ERROR, "store_failed", LOG_TEXT("store", loop->folder),
              LOG_TEXT("error", error->text));
    _Exit(1);
}

/* --- commands ----------------------------------------------------------------------------------- */

static enum status create(struct store_loop *loop, const struct store_tablet_descriptor *descriptor)
{
    if (*find_creating(loop, descriptor->tablet) != NULL) {
        return STATUS_OK;
    }
    struct creating *creating = memory_allocate(sizeof *creating);
    if (creating == NULL) {
        return STATUS_NO_MEMORY;
    }
    *creating = (struct creating){loop->creating, descriptor->tablet};
    loop->creating = creating;
    enum status status = store_tablet_create(loop->store, descriptor);
    if (status != STATUS_OK) {
        forget_creating(loop, descriptor->tablet);
    }
    return status;
}

static void run_command(struct store_loop *loop, struct store_command *command)
{
    struct store_tablet *tablet = store_tablet_find(loop->store, command->descriptor.tablet);
    enum status status = STATUS_OK;

    switch (command->kind) {
    case STORE_COMMAND_CREATE:
        /* It may have come of a split meanwhile, or not have been added for want of memory. */
        status = tablet == NULL ? create(loop, &command->descriptor) : add_tablet(loop, tablet);
        break;
    case STORE_COMMAND_DROP:
        if (tablet != NULL && host_may_remove(tablet, command->descriptor.configuration)) {
            write_order_drop(&loop->order, tablet);
        }
        break;
    case STORE_COMMAND_SPLIT:
        if (tablet != NULL) {
            write_order_split(&loop->order, tablet, command);
            command = NULL;
        }
        break;
    }
    if (status != STATUS_OK) {
        /* The next sync asks again. */
        LOG_EVENT(LOG_LEVEL_WARN, "command_failed", LOG_TEXT("store", loop->folder),
                  LOG_TEXT("status", status_name(status)));
    }
    memory_free(command);
}

/* --- tables ------------------------------------------------------------------------------------- */

struct table_hand_over {
    struct store *store;
    enum status status;
};

static void hand_table_over(void *context, const struct table *table)
{
    struct table_hand_over *hand_over = context;
    if (hand_over->status == STATUS_OK) {
        hand_over->status = store_set_table(hand_over->store, table);
    }
}

/* The store and the tablets take what the schema cache knows. */
static enum status take_tables(struct store_loop *loop)
{
    struct table_hand_over tables = {.store = loop->store, .status = STATUS_OK};
    schema_cache_visit(loop->server->schemas, hand_table_over, &tables);
    write_order_refresh(&loop->order);
    return tables.status;
}

/* --- the loop ----------------------------------------------------------------------------------- */

static void handle(struct store_loop *loop, const struct item *item)
{
    switch (item->type) {
    case ITEM_PART:
        write_order_take(&loop->order, item->pointer);
        break;
    case ITEM_EVALUATED:
        write_order_evaluated(&loop->order, item->pointer);
        break;
    case ITEM_COMMAND:
        run_command(loop, item->pointer);
        break;
    case ITEM_BATCH:
        replicas_receive(loop->replicas, item->pointer);
        break;
    case ITEM_WORD:
        replicas_take_word(loop->replicas, item->pointer);
        break;
    case ITEM_READING:
        replicas_take_reading(loop->replicas, item->pointer);
        break;
    }
}

/* The peers have been left: what needs them stays unknown. */
static void forget_pending(struct store_loop *loop)
{
    for (uint32_t i = 0; i < store_tablet_count(loop->store); i++) {
        struct store_tablet *tablet = store_tablet_at(loop->store, i);
        if (!store_tablet_is_alone(tablet)) {
            write_order_ceased(&loop->order, tablet);
        }
    }
}

static void look_whether_left(struct store_loop *loop)
{
    if (atomic_load_explicit(&loop->leaving, memory_order_relaxed)) {
        host_leave(host_of(loop));
        atomic_store(&loop->left, host_leads_count(host_of(loop)) == 0);
    }
}

static void one_round(struct store_loop *loop, const struct item *items, size_t count)
{
    bool stopping = atomic_load(&loop->stopping);
    write_order_begin(&loop->order);
    write_order_release(&loop->order, stopping);
    if (stopping && loop->replicas != NULL) {
        forget_pending(loop);
    }
    if (atomic_exchange(&loop->tables_changed, false) && take_tables(loop) != STATUS_OK) {
        atomic_store(&loop->tables_changed, true); /* out of memory: with the next round */
    }
    for (size_t i = 0; i < count; i++) {
        handle(loop, &items[i]);
    }
    store_poll(loop->store);
    write_order_flush(&loop->order);
    if (loop->replicas != NULL) {
        host_round(host_of(loop));
        look_whether_left(loop);
    } else {
        store_commit(loop->store);
    }
    write_order_answer(&loop->order);
    atomic_store_explicit(&loop->busy, loop->order.waiting > 0, memory_order_relaxed);
}

/* When the next round is due, whatever comes. */
static int64_t next_round_ns(const struct store_loop *loop, int64_t now_ns)
{
    int64_t tick_ns = now_ns + LOOP_TICK_NS;
    int64_t due_ns = loop->replicas != NULL ? host_deadline_ns(host_of(loop)) : tick_ns;
    int64_t held_ns = write_order_due_ns(&loop->order, now_ns);
    due_ns = due_ns < held_ns ? due_ns : held_ns;
    return due_ns < tick_ns ? due_ns : tick_ns;
}

/* Writes that are under way cannot be answered: a disk that hangs, most likely.  Their memory is in
 * use for ever, so there is no clean end; the log has what was promised. */
static void give_up(struct store_loop *loop)
{
    LOG_EVENT(LOG_LEVEL_ERROR, "store_not_stopped", LOG_TEXT("store", loop->folder),
              LOG_U64("waiting", loop->order.waiting));
    _Exit(1);
}

/* What an operator should see once, when it changes. */
static void tell_condition(const char *folder,
                           enum store_condition before,
                           const struct store_statistics *now)
{
    if (now->condition == STORE_FULL && before == STORE_HEALTHY) {
        LOG_EVENT(LOG_LEVEL_WARN, "store_full", LOG_TEXT("store", folder),
                  LOG_TEXT("trouble", now->trouble),
                  LOG_U64("disk_free_bytes", now->disk_free_bytes),
                  LOG_U64("base_reusable_bytes", now->base_reusable_bytes));
    } else if (now->condition == STORE_HEALTHY && before == STORE_FULL) {
        LOG_EVENT(LOG_LEVEL_INFO, "store_has_room_again", LOG_TEXT("store", folder),
                  LOG_U64("disk_free_bytes", now->disk_free_bytes),
                  LOG_U64("base_reusable_bytes", now->base_reusable_bytes));
    }
}

/* The store counts on this thread; what others want to know is put where they may look. */
static void publish_statistics(struct store_loop *loop, int64_t now_ns)
{
    struct store_statistics statistics;
    if (now_ns < loop->statistics_due_ns &&
        store_condition_now(loop->store) == loop->statistics.condition) {
        return;
    }
    loop->statistics_due_ns = now_ns + STATISTICS_NS;
    store_statistics(loop->store, &statistics);
    tell_condition(loop->folder, loop->statistics.condition, &statistics);
    pthread_mutex_lock(&loop->statistics_lock);
    loop->statistics = statistics;
    pthread_mutex_unlock(&loop->statistics_lock);
}

static void *run_loop(void *argument)
{
    struct store_loop *loop = argument;
    struct item items[LOOP_TAKE_MAX];
    int64_t give_up_ns = INT64_MAX;

    thread_name_set("store");
    for (;;) {
        bool stopping = atomic_load(&loop->stopping);
        if (stopping && loop->order.waiting == 0 && mailbox_depth(loop->mailbox) == 0) {
            return NULL;
        }
        int64_t now_ns = clock_monotonic_ns();
        if (stopping && give_up_ns == INT64_MAX) {
            give_up_ns = now_ns + STOP_PATIENCE_NS;
        }
        if (now_ns > give_up_ns) {
            give_up(loop);
        }
        publish_statistics(loop, now_ns);
        size_t count = mailbox_take(loop->mailbox, items, LOOP_TAKE_MAX,
                                    next_round_ns(loop, now_ns));
        one_round(loop, items, count);
    }
}

int64_t store_loop_cpu_ns(const struct store_loop *loop)
{
    return clock_thread_cpu_ns(loop->thread);
}

static enum status add_recovered_tablets(struct store_loop *loop)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store_tablet_count(loop->store) && status == STATUS_OK; i++) {
        status = add_tablet(loop, store_tablet_at(loop->store, i));
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
        status = take_tables(loop);
    }
    if (status == STATUS_OK) {
        status = add_recovered_tablets(loop);
    }
    publish_statistics(loop, clock_monotonic_ns());
    if (status == STATUS_OK && pthread_create(&loop->thread, NULL, run_loop, loop) != 0) {
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
    const struct store_callbacks callbacks = {
        .context = loop,
        .wake = on_wake,
        .now_us = on_now_us,
        .trusts_clock = on_trusts_clock,
        .on_committed = on_committed,
        .on_created = on_created,
        .on_dropped = on_dropped,
        .on_split = on_split,
        .on_synced = on_synced,
        .on_configured = on_configured,
        .on_damaged = on_damaged,
        .on_taught = on_taught,
        .on_append = on_append,
        .on_appended = on_appended,
        .on_failed = on_failed,
    };
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
        .item_bytes = sizeof(struct item),
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
        publish_statistics(loop, clock_monotonic_ns());
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
    struct item item;
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
        forget_creating(loop, loop->creating->tablet);
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

struct store *store_loop_store(const struct store_loop *loop)
{
    return loop->store;
}

void store_loop_statistics(struct store_loop *loop, struct store_statistics *ret_statistics)
{
    pthread_mutex_lock(&loop->statistics_lock);
    *ret_statistics = loop->statistics;
    pthread_mutex_unlock(&loop->statistics_lock);
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
    struct item item = {ITEM_PART, part};
    return mailbox_push(loop->mailbox, &item);
}

void store_loop_evaluated(struct store_loop *loop, struct work *work)
{
    struct item item = {ITEM_EVALUATED, work};
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
    struct item item = {ITEM_COMMAND, command};
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
    host_hear(host_of(loop), effect);
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
    struct item item = {ITEM_BATCH, batch};
    return mailbox_push_reserved(loop->mailbox, &item);
}

bool store_loop_word(struct store_loop *loop, struct catalog_word *word)
{
    struct item item = {ITEM_WORD, word};
    return mailbox_push(loop->mailbox, &item);
}

void store_loop_read_back(struct store_loop *loop, struct log_reading *reading)
{
    struct item item = {ITEM_READING, reading};
    while (!mailbox_push_reserved(loop->mailbox, &item)) {
        sched_yield(); /* as for evaluations */
    }
}
