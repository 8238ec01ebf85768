#include <stdlib.h>

#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/loop/store_loop_state.h"

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

static void on_committed(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    struct store_loop *loop = context;
    if (store_tablet_replica(tablet) != NULL) {
        host_on_committed(store_loop_host(loop), tablet, sequence);
    } else {
        write_order_committed(&loop->order, tablet, sequence, true);
    }
}

static void on_synced(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    host_on_synced(store_loop_host(context), tablet, sequence);
}

static void on_taught(void *context, struct store_tablet *tablet, enum status status)
{
    host_on_taught(store_loop_host(context), tablet, status);
}

static void on_damaged(void *context, struct store_tablet *tablet)
{
    struct store_loop *loop = context;
    if (store_tablet_replica(tablet) != NULL) {
        host_damaged(store_loop_host(loop), tablet);
    }
}

static void on_configured(void *context, struct store_tablet *tablet)
{
    host_on_configured(store_loop_host(context), tablet);
}

static enum status on_append(void *context,
                             struct store_tablet *tablet,
                             const struct store_entry *entry)
{
    return host_on_append(store_loop_host(context), tablet, entry);
}

static void on_appended(void *context, struct store_tablet *tablet, const struct store_entry *entry)
{
    host_on_appended(store_loop_host(context), tablet, entry);
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

void store_loop_forget_creating(struct store_loop *loop, uint64_t tablet)
{
    struct creating **link = find_creating(loop, tablet);
    struct creating *found = *link;
    if (found != NULL) {
        *link = found->next;
        memory_free(found);
    }
}

bool store_loop_is_creating(struct store_loop *loop, uint64_t tablet)
{
    return *find_creating(loop, tablet) != NULL;
}

enum status store_loop_note_creating(struct store_loop *loop, uint64_t tablet)
{
    struct creating *creating = memory_allocate(sizeof *creating);
    if (creating == NULL) {
        return STATUS_NO_MEMORY;
    }
    *creating = (struct creating){loop->creating, tablet};
    loop->creating = creating;
    return STATUS_OK;
}

enum status store_loop_add_tablet(struct store_loop *loop, struct store_tablet *tablet)
{
    enum status status = STATUS_OK;
    if (loop->replicas != NULL && store_tablet_replica(tablet) == NULL) {
        if (store_tablet_was_merged(tablet)) {
            return STATUS_OK; /* the host takes it up, with what its halves have promised */
        }
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

    store_loop_forget_creating(loop, number);
    bool added = tablet != NULL && store_loop_add_tablet(loop, tablet) == STATUS_OK;
    served_map_expect_no_more(loop->server->served, number);
    if (!added) {
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

struct store_callbacks store_loop_callbacks(struct store_loop *loop)
{
    return (struct store_callbacks){
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
}
