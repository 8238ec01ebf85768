#include "tabletserver/serve/write/write_parts.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/write/evaluate.h"
#include "tabletserver/storage/store/key_ring.h"

#define GATHER_BYTES_MAX  (4 * 1024 * 1024)
#define GATHER_SPARES_MAX 16

/* --- answers ---------------------------------------------------------------------------------- */

static void note_answered(struct write_order *order, struct part *part)
{
    ASSERT(order->waiting > 0);
    order->waiting -= 1;
    if (part->completed_count == 1) {
        part->next = order->answered;
        order->answered = part;
    }
}

void write_succeed(struct write_order *order, struct work *work)
{
    batch_complete(work);
    note_answered(order, work->part);
}

void write_fail(struct write_order *order, struct work *work, enum status status, const char *text)
{
    batch_fail(work, status, text);
    note_answered(order, work->part);
}

void write_redirect(struct write_order *order, struct work *work)
{
    batch_redirect(work);
    note_answered(order, work->part);
}

void write_order_answer(struct write_order *order)
{
    while (order->answered != NULL) {
        struct part *part = order->answered;
        order->answered = part->next;
        batch_send(part);
    }
}

void write_fail_unknown(struct write_order *order, struct work *work)
{
    write_fail(order, work, STATUS_UNAVAILABLE,
               "the tablet changed its primary: it is not known whether the write was done; retry");
}

/* Nothing that is set raises it: it is the requests that are too many. */
static void fail_records(struct write_order *order, struct work *work)
{
    write_fail(
        order, work, STATUS_UNAVAILABLE,
        "the tablet has as many exactly-once records as it may keep (100 000 clients, 1 000 000 "
        "requests): very many clients have come within 15 minutes, or one waits for an old request "
        "while it makes new ones, or a gateway is given more than 1 100 idempotency tokens a second; "
        "retry");
}

static void fail_pushed_back(struct write_order *order, struct work *work)
{
    write_fail(
        order, work, STATUS_UNAVAILABLE,
        store_lacks_descriptors(order->store)
            ? "the server has as many files open as it may (LimitNOFILE, ulimit -n), and its log wants "
              "another one: it needs more, or fewer connections; retry"
            : "writes come faster than they can be flushed, or than copies take them "
              "(memory_limit, or the log's room, is used up); retry");
}

void write_fail_append(struct write_order *order, struct work *work, enum status status)
{
    if (status == STATUS_NOT_OWNER) {
        write_redirect(order, work);
    } else if (status == STATUS_UNAVAILABLE) {
        write_fail(order, work, STATUS_UNAVAILABLE,
                   "the tablet takes no writes now: too few of its copies are in touch "
                   "(min_in_sync), or it is being moved or split; retry");
    } else if (status == STATUS_NO_SPACE) {
        write_fail(
            order, work, STATUS_RESOURCE_EXHAUSTED,
            "the tablet's store is full: writes are refused until rows are deleted (deletes still work) or "
            "its disk has room again; the server need not be restarted, unless a file system was made larger");
    } else if (status == STATUS_CORRUPT) {
        write_fail(
            order, work, STATUS_CORRUPT,
            "a row of the tablet that was written to is damaged in its store, and all that came after waits "
            "for it in memory: no more is taken until that row is deleted (deletes still work)");
    } else if (status == STATUS_RESOURCE_EXHAUSTED) {
        fail_pushed_back(order, work);
    } else if (status == STATUS_LIMIT) {
        fail_records(order, work);
    } else if (status == STATUS_NO_MEMORY) {
        write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    } else {
        write_fail(order, work, STATUS_UNAVAILABLE, "the tablet's store has failed");
    }
}

/* --- pending ---------------------------------------------------------------------------------- */

void work_list_append(struct work **first, struct work **last, struct work *work)
{
    work->next = NULL;
    if (*last == NULL) {
        *first = work;
    } else {
        (*last)->next = work;
    }
    *last = work;
}

void write_pend(struct tablet_order *tablet, struct work *work, uint64_t sequence)
{
    work->sequence = sequence;
    ASSERT(tablet->pending_last == NULL || tablet->pending_last->sequence <= sequence);
    work_list_append(&tablet->pending_first, &tablet->pending_last, work);
}

/* A duplicate waits at its first attempt's sequence, among those that came later. */
static void pend_duplicate(struct tablet_order *tablet, struct work *work, uint64_t sequence)
{
    struct work **link = &tablet->pending_first;
    while (*link != NULL && (*link)->sequence <= sequence) {
        link = &(*link)->next;
    }
    work->sequence = sequence;
    work->duplicate = true;
    work->next = *link;
    *link = work;
    if (work->next == NULL) {
        tablet->pending_last = work;
    }
}

/* --- exactly once ----------------------------------------------------------------------------- */

struct request_id write_identity(const struct work *work)
{
    const struct operations_request *request = &work->part->batch->request;
    return (struct request_id){
        .client = request->client,
        .sequence = work->operation->identity.sequence,
        .first_unfinished = request->first_unfinished,
        .first_attempt_us = work->operation->identity.first_attempt_us,
    };
}

/* Instead of a row, which is longer: there was no room to keep that. */
static const uint8_t RESULT_NOT_KEPT[] = {0xff};

static bool is_kept(struct bytes result)
{
    return !bytes_equal(result, bytes_of(RESULT_NOT_KEPT, sizeof RESULT_NOT_KEPT));
}

struct bytes write_result_to_keep(const struct write_order *order,
                                  const struct tablet_order *tablet,
                                  struct bytes rows)
{
    bool has_room = dedupe_has_room(store_tablet_dedupe(tablet->tablet), rows.size_bytes,
                                    order->clock);
    return has_room ? rows : bytes_of(RESULT_NOT_KEPT, sizeof RESULT_NOT_KEPT);
}

/* It was applied before: what was logged for duplicates becomes the answer. */
static void answer_again(struct write_order *order, struct work *work, struct bytes result)
{
    struct batch *batch = work->part->batch;
    if (work->operation->kind == OPERATION_CHECK_AND_MUTATE) {
        work->answer.matched = result.size_bytes == 1 && result.data[0] == 1;
    } else if (work->operation->kind == OPERATION_READ_MODIFY_WRITE && !is_kept(result)) {
        write_fail(order, work, STATUS_FAILED_PRECONDITION,
                   "this request was applied before, once; the row that it made was too large to "
                   "be kept for another answer: read it");
        return;
    } else if (work->operation->kind == OPERATION_READ_MODIFY_WRITE) {
        pthread_mutex_lock(&batch->lock);
        work->answer.rows = arena_copy(&batch->arena, result);
        pthread_mutex_unlock(&batch->lock);
        if (work->answer.rows.data == NULL) {
            write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
            return;
        }
    }
    write_succeed(order, work);
}

/* True: go on and apply it.  False: the work has been dealt with. */
bool write_is_new(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    struct request_id identity = write_identity(work);
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;

    switch (dedupe_check(store_tablet_dedupe(tablet->tablet), &identity, order->clock, &result,
                         &sequence)) {
    case DEDUPE_NEW:
        return true;
    case DEDUPE_PENDING:
        pend_duplicate(tablet, work, sequence);
        return false;
    case DEDUPE_DONE:
        answer_again(order, work, result);
        return false;
    case DEDUPE_EXPIRED:
        write_fail(
            order, work, STATUS_FAILED_PRECONDITION,
            "it cannot be told whether this request was applied: its first attempt is more than 15 minutes "
            "ago or ahead, or its client has given it up");
        return false;
    case DEDUPE_FULL:
        fail_records(order, work);
        return false;
    }
    return false;
}

/* --- gather and flush ------------------------------------------------------------------------- */

static struct gather *gather_take(struct write_order *order)
{
    struct gather *gather = order->spare;
    if (gather == NULL) {
        gather = memory_allocate(sizeof *gather);
        if (gather == NULL) {
            return NULL;
        }
    } else {
        order->spare = gather->next;
        order->spare_count -= 1;
    }
    gather->next = NULL;
    gather->count = 0;
    gather->size_bytes = 0;
    gather->cell_count = 0;
    gather->row_bytes = 0;
    gather->received_ns = 0;
    memset(gather->seen, 0, sizeof gather->seen);
    return gather;
}

static void gather_give_back(struct write_order *order, struct gather *gather)
{
    if (order->spare_count >= GATHER_SPARES_MAX) {
        memory_free(gather);
        return;
    }
    gather->next = order->spare;
    order->spare = gather;
    order->spare_count += 1;
}

void write_free_spares(struct write_order *order)
{
    while (order->spare != NULL) {
        struct gather *next = order->spare->next;
        memory_free(order->spare);
        order->spare = next;
    }
    order->spare_count = 0;
}

/* Puts alone are refused so. */
static bool takes_deletes(enum status status)
{
    return status == STATUS_NO_SPACE || status == STATUS_CORRUPT;
}

/* Append entries [first, first + count) as one record; where deletes may pass, it is for the caller to judge. */
static enum status append(struct write_order *order,
                          struct tablet_order *tablet,
                          const struct gather *gather,
                          uint32_t first,
                          uint32_t count)
{
    struct record_write write = {&gather->entries[first], count};
    uint64_t sequence = 0;
    uint64_t reigns_over = tablet->reigns_over;

    enum status status = store_append_write(tablet->tablet, &write, store_next_clock(order->store),
                                            &sequence);
    bool mixed = takes_deletes(status) && count > 1;
    for (uint32_t i = first; i < first + count && !mixed; i++) {
        if (status == STATUS_OK && reigns_over != tablet->reigns_over) {
            write_fail_unknown(order, gather->works[i]); /* nobody waits for it any more */
        } else if (status == STATUS_OK) {
            write_pend(tablet, gather->works[i], sequence);
        } else {
            write_fail_append(order, gather->works[i], status);
        }
        if (gather->works[i]->evaluation != NULL) {
            evaluation_forget_changes(gather->works[i]->evaluation);
        }
    }
    return status;
}

/* What the tablet has to do: told once a record; and some of its rows. */
static void count_gathered(const struct tablet_order *tablet, const struct gather *gather)
{
    struct load_counters *load = store_tablet_load(tablet->tablet);
    if (!load_counters_are_wanted) {
        return;
    }
    uint64_t now_ns = (uint64_t)clock_monotonic_ns();
    const struct load_write_counts counts = {
        .writes = gather->count,
        .cells = gather->cell_count,
        .bytes = gather->size_bytes + gather->row_bytes,
        .wait_ns = gather->count * now_ns - gather->received_ns,
    };
    struct key_ring *ring = load_counters_ring(load);

    load_counters_add_write(load, &counts);
    if (ring != NULL) {
        uint32_t every = key_ring_every(ring, KEY_WRITTEN);
        for (uint32_t i = key_ring_first(every, now_ns); i < gather->count; i += every) {
            key_ring_put(ring, load, KEY_WRITTEN, gather->entries[i].row, BYTES_EMPTY);
        }
    }
}

void write_flush(struct write_order *order, struct tablet_order *tablet)
{
    struct gather *gather = tablet->gather;
    if (gather == NULL) {
        return;
    }
    tablet->gather = NULL;
    count_gathered(tablet, gather);
    enum status status = append(order, tablet, gather, 0, gather->count);
    if (takes_deletes(status) && gather->count > 1) {
        /* On a full disk, or a damaged one, deletes still pass, but not in one record with what does not. */
        for (uint32_t i = 0; i < gather->count; i++) {
            (void)append(order, tablet, gather, i, 1); /* answered one by one */
        }
    }
    gather_give_back(order, gather);
}

static uint32_t seen_bit(const struct request_id *identity)
{
    uint64_t mixed = (identity->client + identity->sequence) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) % GATHER_SEEN_BITS;
}

static void put_entry(struct gather *gather,
                      struct work *work,
                      const struct change *changes,
                      size_t change_count)
{
    uint32_t at = gather->count++;
    gather->works[at] = work;
    gather->entries[at] = (struct record_entry){
        .row = work->operation->row,
        .request = write_identity(work),
        .result = work->result,
        .changes = changes,
        .change_count = change_count,
    };
    uint32_t bit = seen_bit(&gather->entries[at].request);
    gather->seen[bit / 64] |= UINT64_C(1) << bit % 64;
    gather->cell_count += change_count;
    gather->row_bytes += work->operation->row.size_bytes;
    gather->received_ns += (uint64_t)work->part->batch->received_ns;
    for (size_t i = 0; i < change_count; i++) {
        gather->size_bytes += changes[i].value.size_bytes + changes[i].qualifier.size_bytes;
    }
}

void write_gather(struct write_order *order,
                  struct tablet_order *tablet,
                  struct work *work,
                  const struct change *changes,
                  size_t change_count)
{
    if (tablet->gather == NULL) {
        tablet->gather = gather_take(order);
    }
    if (tablet->gather == NULL) {
        write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
        return;
    }
    put_entry(tablet->gather, work, changes, change_count);
    if (!tablet->dirty) {
        tablet->dirty = true;
        tablet->dirty_next = order->dirty;
        order->dirty = tablet;
    }
    if (tablet->gather->count == GATHER_ENTRIES_MAX ||
        tablet->gather->size_bytes > GATHER_BYTES_MAX) {
        write_flush(order, tablet);
    }
}

/* Is the same request among those gathered?  They are not on record yet. */
bool write_repeats_gathered(const struct tablet_order *tablet, const struct work *work)
{
    const struct gather *gather = tablet->gather;
    struct request_id identity = write_identity(work);

    if (gather == NULL || identity.client == 0) {
        return false;
    }
    uint32_t bit = seen_bit(&identity);
    if ((gather->seen[bit / 64] >> bit % 64 & 1) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < gather->count; i++) {
        const struct request_id *other = &gather->entries[i].request;
        if (other->client == identity.client && other->sequence == identity.sequence) {
            return true;
        }
    }
    return false;
}

void write_resolve_and_gather(struct write_order *order,
                              struct tablet_order *tablet,
                              struct work *work,
                              const struct mutation *mutations,
                              size_t mutation_count)
{
    struct error error = {.status = STATUS_OK};
    struct change *changes = NULL;
    size_t change_count = 0;

    enum status status = STATUS_OK;
    if (mutation_count > 0 || work->operation->kind == OPERATION_MUTATE) {
        status = mutation_resolve(schema_table(tablet->schema), work->operation->row, mutations,
                                  mutation_count, hlc_to_us(order->clock), &order->arena, &changes,
                                  &change_count, &error);
    }
    if (status == STATUS_OK) {
        write_gather(order, tablet, work, changes, change_count);
    } else if (status == STATUS_NO_MEMORY) {
        write_fail(order, work, STATUS_UNAVAILABLE, "the server is out of memory; retry");
    } else {
        write_fail(order, work, status, error.text);
    }
}
