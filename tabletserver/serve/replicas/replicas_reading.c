/*
 * What workers read for the replicas: the log, for a peer that lacks entries; slices of lessons; digests.
 */
#include "common/base/arena.h"
#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/replicas/replicas_parts.h"

#define READING_ARENA_BLOCK_BYTES 65536
#define READING_BYTES_MAX         ((size_t)512 << 20) /* one entry at most */
#define READ_AHEAD_BYTES          (256 * 1024)        /* the next ones will be asked for, too */

struct log_reading {
    struct job job;
    struct store_loop *loop;
    struct store_tablet *tablet; /* a reference */
    uint64_t sequence;
    struct host_reading_slice *lesson; /* what is read instead of the log; both NULL = the log */
    struct host_digesting *digesting;
    struct replica_member to;
    uint64_t wanted; /* the entry that is asked for next; 0 = none */
    struct arena arena;
    enum status status; /* of reading the log */
    struct store_log_slice slice;
};

void log_reading_discard(struct log_reading *reading)
{
    if (reading->lesson != NULL) {
        host_slice_discard(reading->lesson);
    }
    if (reading->digesting != NULL) {
        host_digest_discard(reading->digesting);
    }
    store_tablet_unref(reading->tablet);
    arena_deinit(&reading->arena);
    memory_free(reading);
}

static void read_log(struct job *job)
{
    struct log_reading *reading = (struct log_reading *)job;
    if (reading->lesson != NULL) {
        host_slice_read(reading->lesson);
        store_loop_read_back(reading->loop, reading);
        return;
    }
    if (reading->digesting != NULL) {
        host_digest_run(reading->digesting);
        store_loop_read_back(reading->loop, reading);
        return;
    }
    reading->status = store_log_read(reading->tablet, reading->sequence, READ_AHEAD_BYTES,
                                     &reading->arena, &reading->slice);
    if (reading->status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_INFO, "log_not_read_back",
                  LOG_ID("tablet", store_tablet_describe(reading->tablet)->tablet),
                  LOG_U64("sequence", reading->sequence),
                  LOG_TEXT("status", status_name(reading->status)));
        reading->slice.count = 0;
    }
    store_loop_read_back(reading->loop, reading);
}

static struct log_reading *start_reading(struct replicas *replicas,
                                         struct store_tablet *tablet,
                                         uint64_t sequence)
{
    struct log_reading *reading = memory_allocate_zeroed(1, sizeof *reading);
    if (reading != NULL) {
        reading->job.run = read_log;
        reading->loop = replicas->loop;
        reading->tablet = tablet;
        reading->sequence = sequence;
        store_tablet_ref(tablet);
        arena_init(&reading->arena, READING_ARENA_BLOCK_BYTES, READING_BYTES_MAX);
    }
    return reading;
}

/* Without memory: the peer asks again. */
void replicas_on_read(void *context,
                      struct store_tablet *tablet,
                      uint64_t sequence,
                      struct replica_member to)
{
    struct replicas *replicas = context;
    struct log_reading *ahead = replicas->handed_out;
    if (ahead != NULL && ahead->tablet == tablet && ahead->to.store == to.store &&
        ahead->wanted == 0 && sequence == ahead->sequence + 1) {
        ahead->wanted = sequence; /* it is here already, perhaps */
        return;
    }
    struct log_reading *reading = start_reading(replicas, tablet, sequence);
    if (reading != NULL) {
        reading->to = to;
        worker_pool_submit(replicas->server->workers, &reading->job, JOB_URGENT);
    }
}

bool replicas_on_slice(void *context, struct store_tablet *tablet, struct host_reading_slice *slice)
{
    struct replicas *replicas = context;
    struct log_reading *reading = start_reading(replicas, tablet, 0);
    if (reading == NULL) {
        return false; /* it goes on asking, so nothing else would tell that this one is lost */
    }
    reading->lesson = slice;
    worker_pool_submit(replicas->server->workers, &reading->job, JOB_URGENT);
    return true;
}

/* Without memory: it is lost, and asked for again. */
void replicas_on_digest(void *context,
                        struct store_tablet *tablet,
                        struct host_digesting *digesting)
{
    struct replicas *replicas = context;
    struct log_reading *reading = start_reading(replicas, tablet, 0);
    if (reading == NULL) {
        host_digest_discard(digesting);
        return;
    }
    reading->digesting = digesting;
    worker_pool_submit(replicas->server->workers, &reading->job, JOB_PATIENT);
}

/* As many of those that were read ahead as the replica goes on to ask for, one after the other. */
static void hand_out(struct replicas *replicas, struct log_reading *reading)
{
    uint64_t first = reading->sequence;
    reading->wanted = first;
    replicas->handed_out = reading;
    while (reading->wanted != 0) {
        uint64_t at = reading->wanted - first;
        bool is_read = at < reading->slice.count;
        if (!is_read && at > 0) {
            break; /* it is asked for anew, below */
        }
        reading->sequence = reading->wanted;
        reading->wanted = 0;
        host_read(replicas->host, reading->tablet, reading->to, reading->sequence,
                  is_read ? &reading->slice.entries[at] : NULL);
    }
    replicas->handed_out = NULL;
    if (reading->wanted != 0) {
        replicas_on_read(replicas, reading->tablet, reading->wanted, reading->to);
    }
}

void replicas_take_reading(struct replicas *replicas, struct log_reading *reading)
{
    if (reading->lesson != NULL) {
        host_sliced(replicas->host, reading->lesson);
        reading->lesson = NULL;
    } else if (reading->digesting != NULL) {
        host_digested(replicas->host, reading->digesting);
        reading->digesting = NULL;
    } else if (reading->status == STATUS_NO_MEMORY) {
        host_unread(replicas->host, reading->tablet, reading->to, reading->sequence);
    } else {
        hand_out(replicas, reading);
    }
    log_reading_discard(reading);
}
