#include <stdio.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/thread.h"
#include "tabletserver/serve/loop/store_loop_state.h"

#define LOOP_TAKE_MAX    256
#define LOOP_TICK_NS     (INT64_C(500) * 1000 * 1000) /* what failed for want of memory goes on */
#define STATISTICS_NS    (INT64_C(200) * 1000 * 1000)
#define STOP_PATIENCE_NS (INT64_C(30) * 1000 * 1000 * 1000)
#define NS_PER_SECOND    (INT64_C(1000) * 1000 * 1000)

/* --- commands ----------------------------------------------------------------------------------- */

static enum status create(struct store_loop *loop, const struct store_tablet_descriptor *descriptor)
{
    if (store_loop_is_creating(loop, descriptor->tablet)) {
        return STATUS_OK;
    }
    /* Placed again meanwhile, in another store of this server: the first one that was made stays (simulator, seed 860). */
    if (loop->replicas == NULL && !served_map_expect(loop->server->served, descriptor)) {
        return STATUS_OK;
    }
    enum status status = store_loop_note_creating(loop, descriptor->tablet);
    if (status == STATUS_OK) {
        status = store_tablet_create(loop->store, descriptor);
    }
    if (status != STATUS_OK) {
        store_loop_forget_creating(loop, descriptor->tablet);
        served_map_expect_no_more(loop->server->served, descriptor->tablet);
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
        status = tablet == NULL ? create(loop, &command->descriptor)
                                : store_loop_add_tablet(loop, tablet);
        break;
    case STORE_COMMAND_DROP:
        if (tablet != NULL) {
            write_order_drop(&loop->order, tablet, command->descriptor.configuration);
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

static bool is_table_known(void *context, uint64_t table)
{
    struct schema *schema = schema_cache_find(context, table);
    schema_release(schema);
    return schema != NULL;
}

/* The store and the tablets take what the schema cache knows. */
enum status store_loop_take_tables(struct store_loop *loop)
{
    struct table_hand_over tables = {.store = loop->store, .status = STATUS_OK};
    schema_cache_visit(loop->server->schemas, hand_table_over, &tables);
    store_forget_tables(loop->store, is_table_known, loop->server->schemas);
    write_order_refresh(&loop->order);
    return tables.status;
}

/* --- the loop ----------------------------------------------------------------------------------- */

static void handle(struct store_loop *loop, const struct loop_item *item)
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
        host_leave(store_loop_host(loop));
        atomic_store(&loop->left, host_leads_count(store_loop_host(loop)) == 0);
    }
}

static void one_round(struct store_loop *loop, const struct loop_item *items, size_t count)
{
    bool stopping = atomic_load(&loop->stopping);
    write_order_begin(&loop->order);
    write_order_release(&loop->order, stopping);
    if (stopping && loop->replicas != NULL) {
        forget_pending(loop);
    }
    if (atomic_exchange(&loop->tables_changed, false) &&
        store_loop_take_tables(loop) != STATUS_OK) {
        atomic_store(&loop->tables_changed, true); /* out of memory: with the next round */
    }
    for (size_t i = 0; i < count; i++) {
        handle(loop, &items[i]);
    }
    store_poll(loop->store);
    write_order_flush(&loop->order);
    if (loop->replicas != NULL) {
        host_round(store_loop_host(loop));
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
    int64_t due_ns = loop->replicas != NULL ? host_deadline_ns(store_loop_host(loop)) : tick_ns;
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
static void tell_descriptors(const char *folder, bool lacked, bool lacks)
{
    if (lacks && !lacked) {
        LOG_EVENT(LOG_LEVEL_WARN, "descriptors_lacking", LOG_TEXT("store", folder),
                  LOG_TEXT("wait", "writes, as the log wants another file"),
                  LOG_TEXT("need", "a larger LimitNOFILE (ulimit -n), or fewer connections"));
    } else if (lacked && !lacks) {
        LOG_EVENT(LOG_LEVEL_INFO, "descriptors_there_again", LOG_TEXT("store", folder));
    }
}

static void tell_condition(const struct store_loop *loop, const struct store_statistics *now)
{
    const char *folder = loop->folder;
    enum store_condition before = loop->statistics.condition;
    bool stalled = now->condition == STORE_FAILED && loop->condition == STORE_HEALTHY;
    tell_descriptors(folder, loop->statistics.lacks_descriptors, now->lacks_descriptors);
    if (now->condition == STORE_FULL && before == STORE_HEALTHY) {
        LOG_EVENT(LOG_LEVEL_WARN, "store_full", LOG_TEXT("store", folder),
                  LOG_TEXT("trouble", now->trouble),
                  LOG_U64("disk_free_bytes", now->disk_free_bytes),
                  LOG_U64("base_reusable_bytes", now->base_reusable_bytes));
    } else if (now->condition == STORE_HEALTHY && before == STORE_FULL) {
        LOG_EVENT(LOG_LEVEL_INFO, "store_has_room_again", LOG_TEXT("store", folder),
                  LOG_U64("disk_free_bytes", now->disk_free_bytes),
                  LOG_U64("base_reusable_bytes", now->base_reusable_bytes));
    } else if (stalled && before != STORE_FAILED) {
        LOG_EVENT(LOG_LEVEL_ERROR, "store_stands_still", LOG_TEXT("store", folder),
                  LOG_TEXT("trouble", now->trouble));
    } else if (now->condition != STORE_FAILED && before == STORE_FAILED) {
        LOG_EVENT(LOG_LEVEL_INFO, "store_answers_again", LOG_TEXT("store", folder));
    }
}

void store_loop_set_stalled(const struct store_loop *loop, struct store_statistics *statistics)
{
    if (statistics->condition == STORE_HEALTHY) {
        statistics->condition = STORE_FAILED;
        (void)snprintf(statistics->trouble, sizeof statistics->trouble,
                       "%.150s: the disk stands still: for %d s it has not done what waits for it",
                       loop->folder, (int)(LOOP_STALLED_NS / NS_PER_SECOND));
    }
}

/* A disk that hangs says nothing: all that can be seen is that what waits for it goes on waiting. */
static void look_at_log(struct store_loop *loop, struct store_statistics *now, int64_t now_ns)
{
    bool moves = now->log_unsynced_bytes == 0 || now->log_syncs != loop->log_syncs;
    if (moves || loop->log_moved_ns == 0) {
        loop->log_syncs = now->log_syncs;
        loop->log_moved_ns = now_ns;
    } else if (now_ns - loop->log_moved_ns > LOOP_STALLED_NS) {
        store_loop_set_stalled(loop, now);
    }
}

/* The store counts on this thread; what others want to know is put where they may look. */
void store_loop_publish_statistics(struct store_loop *loop, int64_t now_ns)
{
    struct store_statistics statistics;
    if (now_ns < loop->statistics_due_ns && store_condition_now(loop->store) == loop->condition) {
        return;
    }
    loop->statistics_due_ns = now_ns + STATISTICS_NS;
    store_statistics(loop->store, &statistics);
    loop->condition = statistics.condition;
    look_at_log(loop, &statistics, now_ns);
    tell_condition(loop, &statistics);
    pthread_mutex_lock(&loop->statistics_lock);
    loop->statistics = statistics;
    pthread_mutex_unlock(&loop->statistics_lock);
}

void *store_loop_run(void *argument)
{
    struct store_loop *loop = argument;
    struct loop_item items[LOOP_TAKE_MAX];
    int64_t give_up_ns = INT64_MAX;

    thread_name_set("store");
    for (;;) {
        bool stopping = atomic_load(&loop->stopping);
        if (stopping && loop->order.waiting == 0 && mailbox_depth(loop->mailbox) == 0) {
            atomic_store(&loop->round_ns, 0);
            return NULL;
        }
        int64_t now_ns = clock_monotonic_ns();
        atomic_store(&loop->round_ns, now_ns);
        if (stopping && give_up_ns == INT64_MAX) {
            give_up_ns = now_ns + STOP_PATIENCE_NS;
        }
        if (now_ns > give_up_ns) {
            give_up(loop);
        }
        store_loop_publish_statistics(loop, now_ns);
        size_t count = mailbox_take(loop->mailbox, items, LOOP_TAKE_MAX,
                                    next_round_ns(loop, now_ns));
        one_round(loop, items, count);
    }
}
