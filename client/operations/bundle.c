#include "client/operations/bundle.h"

#include "client/operations/submission.h"
#include "common/base/assert.h"
#include "common/base/memory.h"

#define NS_PER_MS INT64_C(1000000)

/* --- the end ---------------------------------------------------------------------------------- */

struct bundle *bundle_make(size_t row_count)
{
    struct bundle *bundle = memory_allocate(sizeof *bundle + row_table_memory_bytes(row_count));
    if (bundle != NULL) {
        *bundle = (struct bundle){0};
        row_table_init(&bundle->rows, bundle->memory, row_count);
    }
    return bundle;
}

void bundle_free(struct bundle *bundle)
{
    for (struct bundle_part *part = bundle->parts; part != NULL;) {
        struct bundle_part *next = part->next;
        memory_free(part->trouble);
        if (part != &bundle->first_part) {
            memory_free(part);
        }
        part = next;
    }
    row_table_deinit(&bundle->rows);
    memory_free(bundle->processes);
    memory_free(bundle);
}

uint64_t bundle_process(const struct bundle *bundle, uint32_t row)
{
    return bundle->processes != NULL ? bundle->processes[row] : 0;
}

enum status bundle_set_process(struct bundle *bundle,
                               size_t capacity,
                               uint32_t row,
                               uint64_t process)
{
    if (bundle->processes == NULL) {
        bundle->processes = memory_allocate_zeroed(capacity, sizeof *bundle->processes);
        if (bundle->processes == NULL) {
            return STATUS_NO_MEMORY;
        }
    }
    bundle->processes[row] = process;
    return STATUS_OK;
}

uint8_t *bundle_encoded(struct bundle *bundle, uint32_t row, size_t *ret_key_end)
{
    const struct row_place *place = &bundle->rows.places[row];
    *ret_key_end = (size_t)place->key_offset + place->key_size;
    return bundle->rows.encoded.data + place->begin;
}

static void hold(struct bundle *bundle)
{
    bundle->holds++;
}

/* Complete it, if its last row has ended. */
static void conclude(struct bundle *bundle)
{
    struct edubba_client *client = bundle->client;
    if (bundle->holds > 0 || bundle->rows.left > 0) {
        return;
    }
    loop_clear_timer(&client->loop, &bundle->timer);
    struct admission admission = bundle->admission;
    admission_finish_identities(client, &admission);
    struct edubba_rows_result result = row_table_result(&bundle->rows);
    bundle->completion(bundle->context, &result);
    bundle_free(bundle);
    admission_leave(client, &admission);
}

static void let_go(struct bundle *bundle)
{
    bundle->holds--;
    conclude(bundle);
}

void bundle_end_row(struct bundle *bundle, uint32_t row, enum edubba_code code, struct bytes text)
{
    if (code == EDUBBA_OK) {
        row_table_succeed(&bundle->rows, row);
    } else {
        row_table_fail(&bundle->rows, row, code, text);
    }
    conclude(bundle);
}

/* --- alone ------------------------------------------------------------------------------------ */

/* From now on the row is a submission's.  NULL: it has ended for want of memory.  It may have been
 * done, so that is no clean failure. */
static struct submission *part_with(struct bundle *bundle,
                                    uint32_t row,
                                    bool was_sent,
                                    uint32_t address)
{
    struct submission *submission = submission_of_row(bundle, row, was_sent, address);
    if (submission == NULL) {
        bundle_end_row(bundle, row, was_sent ? EDUBBA_UNAVAILABLE : EDUBBA_RESOURCE_EXHAUSTED,
                       bytes_of_text("out of memory"));
    } else {
        bundle->rows.places[row].state = ROW_ALONE;
    }
    return submission;
}

/* --- parts ------------------------------------------------------------------------------------ */

static struct bundle_part *part_of(struct parcel *parcel)
{
    return LIST_ELEMENT(parcel, struct bundle_part, parcel);
}

/* As of a submission: in the clock of the server to which they go. */
static void tell_times(struct bundle_part *part)
{
    struct bundle *bundle = part->bundle;
    int64_t begun_ns = bundle->deadline_ns - bundle->deadline_ms * NS_PER_MS;
    int64_t first_attempt_us = submission_first_attempt_us(bundle->client, begun_ns);
    for (uint32_t i = 0; i < part->slice.count; i++) {
        size_t key_end = 0;
        uint8_t *encoded = bundle_encoded(bundle, row_slice_row(&bundle->rows, &part->slice, i),
                                          &key_end);
        operation_set_first_attempt(encoded, key_end, first_attempt_us);
    }
    part->is_timed = true;
}

static void part_write(struct parcel *parcel, struct buffer *out)
{
    struct bundle_part *part = part_of(parcel);
    if (!part->is_timed) {
        tell_times(part);
    }
    row_table_write(&part->bundle->rows, &part->slice, out);
}

static bool is_waiting(const struct bundle *bundle, uint32_t row)
{
    return bundle->rows.places[row].state == ROW_TOGETHER;
}

/* The server has too much to do: the row waits for the others, to go with those that wait too. */
static void put_off(struct bundle_part *part, uint32_t row, struct bytes text)
{
    part->bundle->rows.places[row].state = ROW_AGAIN;
    if (part->again == 0) {
        memory_free(part->trouble);
        part->trouble = memory_copy_text(text);
    }
    part->again++;
}

static void answer_row(struct bundle_part *part,
                       uint32_t row,
                       const struct operation_result *result)
{
    struct bundle *bundle = part->bundle;
    enum status status = client_status_of_number(result->status);
    if (status == STATUS_OK) {
        retry_on_success_of_one(&part->retry, &bundle->client->budget);
        bundle_end_row(bundle, row, EDUBBA_OK, BYTES_EMPTY);
    } else if (status == STATUS_UNAVAILABLE) {
        put_off(part, row, result->text);
    } else if (!retry_is_transient(status)) {
        bundle_end_row(bundle, row, client_code(status), result->text);
    } else {
        struct submission *submission = part_with(bundle, row, true, part->slice.address);
        if (submission != NULL) {
            submission_on_result(submission, result);
        }
    }
}

static void settle(struct bundle_part *part);

/* What is left of the part is sent row by row, each as a submission of its own. */
static void send_alone(struct bundle_part *part, struct bytes text)
{
    struct bundle *bundle = part->bundle;
    hold(bundle);
    for (uint32_t i = 0; i < part->slice.count; i++) {
        uint32_t row = row_slice_row(&bundle->rows, &part->slice, i);
        struct submission *submission = NULL;
        if (is_waiting(bundle, row)) {
            submission = part_with(bundle, row, part->parcel.was_sent, part->slice.address);
        }
        if (submission != NULL) {
            submission_on_closed(submission, text);
        }
    }
    part->left = 0;
    settle(part);
    let_go(bundle);
}

/* The deadline is the bundle's to watch. */
static void pause_for(struct bundle_part *part, int64_t pause_ns)
{
    struct loop *loop = &part->bundle->client->loop;
    if (pause_ns < part->bundle->deadline_ns - loop->now_ns) {
        loop_set_timer(loop, &part->timer, loop->now_ns + pause_ns);
    }
}

static struct bytes key_of_first(const struct bundle_part *part)
{
    const struct row_table *rows = &part->bundle->rows;
    return row_table_key(rows, row_slice_row(rows, &part->slice, 0));
}

/* Is any of its rows known to be elsewhere meanwhile? */
static bool has_moved(const struct bundle_part *part)
{
    const struct bundle *bundle = part->bundle;
    for (uint32_t i = 0; i < part->slice.count; i++) {
        struct bytes key = row_table_key(&bundle->rows,
                                         row_slice_row(&bundle->rows, &part->slice, i));
        const struct location_entry *entry = location_cache_find(&bundle->client->locations,
                                                                 bundle->table, key);
        if (entry == NULL || entry->address != part->slice.address) {
            return true;
        }
    }
    return false;
}

/* Every row is answered.  What was put off is tried again. */
static void settle(struct bundle_part *part)
{
    struct bundle *bundle = part->bundle;
    int64_t pause_ns = 0;
    if (part->again > 0) {
        row_table_keep_again(&bundle->rows, &part->slice);
        part->again = 0;
        (void)retry_on_failure(&part->retry, STATUS_UNAVAILABLE, false, &bundle->client->prng,
                               &pause_ns);
        if (retry_looks_again(&part->retry)) {
            route_refresh(bundle->client, bundle->table, key_of_first(part));
        }
        client_tell_trouble(bundle->client, bundle->deadline_ns - bundle->deadline_ms * NS_PER_MS,
                            part->trouble);
        pause_for(part, pause_ns);
    }
}

static void on_part_timer(void *context, struct timer *timer)
{
    struct edubba_client *client = context;
    struct bundle_part *part = LIST_ELEMENT(timer, struct bundle_part, timer);
    int64_t pause_ns = 0;
    if (!retry_may_start(&part->retry, part->slice.count, &client->budget, &client->prng,
                         client->loop.now_ns, &pause_ns)) {
        pause_for(part, pause_ns);
        return;
    }
    if (has_moved(part)) {
        send_alone(part, bytes_of_text("the rows are served elsewhere now"));
        return;
    }
    /* The one before may be gone, with its address. */
    part->lane = lane_choose(client, part->slice.address, LANE_SMALL);
    if (part->lane == NULL) {
        pause_for(part, RETRY_PAUSE_CAP_NS);
        return;
    }
    part->left = part->slice.count;
    part->parcel.count = part->slice.count;
    part->parcel.size_bytes = part->slice.size_bytes;
    lane_enqueue(part->lane, &part->parcel);
}

static void part_on_result(struct parcel *parcel,
                           uint32_t index,
                           const struct operation_result *result)
{
    struct bundle_part *part = part_of(parcel);
    struct bundle *bundle = part->bundle;
    uint32_t row = row_slice_row(&bundle->rows, &part->slice, index);
    if (!is_waiting(bundle, row)) {
        return; /* answered twice */
    }
    hold(bundle);
    answer_row(part, row, result);
    part->left--;
    if (part->left == 0) {
        batch_leave(parcel);
        settle(part);
    }
    let_go(bundle);
}

static void part_on_end(struct parcel *parcel, const struct operation_result *result)
{
    struct bundle_part *part = part_of(parcel);
    struct bundle *bundle = part->bundle;
    hold(bundle);
    for (uint32_t i = 0; i < part->slice.count; i++) {
        uint32_t row = row_slice_row(&bundle->rows, &part->slice, i);
        if (is_waiting(bundle, row)) {
            answer_row(part, row, result);
        }
    }
    part->left = 0;
    settle(part);
    let_go(bundle);
}

static void part_on_closed(struct parcel *parcel, struct bytes text)
{
    send_alone(part_of(parcel), text);
}

static const struct parcel_kind PART = {
    .write = part_write,
    .on_result = part_on_result,
    .on_end = part_on_end,
    .on_closed = part_on_closed,
};

/* --- the way ---------------------------------------------------------------------------------- */

static struct bundle_part *make_part(struct bundle *bundle)
{
    struct bundle_part *part = bundle->parts == NULL ? &bundle->first_part
                                                     : memory_allocate(sizeof *part);
    if (part != NULL) {
        *part = (struct bundle_part){.bundle = bundle, .next = bundle->parts};
        part->parcel.kind = &PART;
        part->timer.run = on_part_timer;
        list_init(&part->parcel.link);
        bundle->parts = part;
    }
    return part;
}

/* One for all rows of a server, so that they keep their order. */
static struct server_lane *choose_lane(struct bundle *bundle, uint32_t address)
{
    for (const struct bundle_part *part = bundle->parts; part != NULL; part = part->next) {
        if (part->slice.address == address) {
            return part->lane;
        }
    }
    return lane_choose(bundle->client, address, LANE_SMALL);
}

static void fail_slice(struct bundle *bundle, const struct row_slice *slice)
{
    for (uint32_t i = 0; i < slice->count; i++) {
        bundle_end_row(bundle, row_slice_row(&bundle->rows, slice, i), EDUBBA_RESOURCE_EXHAUSTED,
                       bytes_of_text("out of memory"));
    }
}

static void send_slice(struct bundle *bundle, const struct row_slice *slice)
{
    struct server_lane *lane = choose_lane(bundle, slice->address);
    struct bundle_part *part = lane != NULL ? make_part(bundle) : NULL;
    if (part == NULL) {
        fail_slice(bundle, slice);
        return;
    }
    part->lane = lane;
    part->slice = *slice;
    part->left = slice->count;
    part->parcel.count = slice->count;
    part->parcel.size_bytes = slice->size_bytes;
    part->parcel.deadline_ns = bundle->deadline_ns;
    lane_enqueue(lane, &part->parcel);
}

/* Where every row is, as far as that is known. */
static void locate(struct bundle *bundle)
{
    const struct location_cache *locations = &bundle->client->locations;
    const struct location_entry *last = NULL;
    for (uint32_t row = 0; row < bundle->rows.count; row++) {
        struct row_place *place = &bundle->rows.places[row];
        struct bytes key = row_table_key(&bundle->rows, row);
        if (last == NULL || !row_range_contains(&last->range, key)) {
            last = location_cache_find(locations, bundle->table, key);
        }
        bool alone = bundle_process(bundle, row) != 0;
        place->address = last != NULL && !alone ? last->address : LOCATION_NOT_SERVED;
    }
}

static void run_start(void *context, struct task *task)
{
    struct edubba_client *client = context;
    struct bundle *bundle = LIST_ELEMENT(task, struct bundle, task);
    struct row_slice slice;
    hold(bundle);
    loop_set_timer(&client->loop, &bundle->timer, bundle->deadline_ns);
    locate(bundle);
    while (row_table_slice(&bundle->rows, BUNDLE_PART_ROWS, BUNDLE_PART_BYTES, &slice)) {
        if (slice.address != LOCATION_NOT_SERVED) {
            send_slice(bundle, &slice);
            continue;
        }
        for (uint32_t i = 0; i < slice.count; i++) {
            struct submission *submission = part_with(
                bundle, row_slice_row(&bundle->rows, &slice, i), false, LOCATION_NOT_SERVED);
            if (submission != NULL) {
                submission_route(submission);
            }
        }
    }
    let_go(bundle);
}

static void expire_part(struct bundle_part *part)
{
    struct bundle *bundle = part->bundle;
    struct error error = {0};
    submission_say_expired(bundle->client, bundle->deadline_ms, part->slice.address,
                           part->trouble != NULL ? part->trouble : "", &error);
    loop_clear_timer(&bundle->client->loop, &part->timer);
    list_remove(&part->parcel.link);
    batch_leave(&part->parcel);
    for (uint32_t i = 0; i < part->slice.count; i++) {
        uint32_t row = row_slice_row(&bundle->rows, &part->slice, i);
        if (is_waiting(bundle, row) || bundle->rows.places[row].state == ROW_AGAIN) {
            bundle_end_row(bundle, row, client_code(error.status), bytes_of_text(error.text));
        }
    }
}

/* Those that travel alone have the same deadline, and timers of their own. */
static void on_timer(void *context, struct timer *timer)
{
    struct bundle *bundle = LIST_ELEMENT(timer, struct bundle, timer);
    (void)context;
    hold(bundle);
    for (struct bundle_part *part = bundle->parts; part != NULL; part = part->next) {
        expire_part(part);
    }
    let_go(bundle);
}

void bundle_start(struct bundle *bundle)
{
    bundle->task.run = run_start;
    bundle->timer.run = on_timer;
    loop_post(&bundle->client->loop, &bundle->task);
}
