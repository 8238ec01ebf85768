#include "tabletserver/serve/read/point_read.h"

#include "common/base/assert.h"
#include "common/io/clock.h"
#include "tabletserver/serve/read/row_read.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/storage/store/key_ring.h"

/* A worker answers after so many bytes, so that a batch of large rows does not pile up. */
#define ANSWER_BYTES (512 * 1024)

/* So few are read on the thread that brings them, if it may. */
#define READS_AT_ONCE_MAX 4

/* Who asks for more than it takes in is refused the rest. */
#define QUEUED_BYTES_MAX (64 * 1024 * 1024)

/* And who takes in nothing at all, much sooner. */
#define STALLED_BYTES_MAX (1024 * 1024)

/* What one read leaves for the next one of the same table and tablet. */
struct reading {
    struct part *part;
    struct schema *schema;
    struct served served;
    struct store_read *read;
    struct row_read_for who;
    struct load_read_counts counts; /* of the tablet */
    struct key_ring *ring;          /* wants one in `every` of the rows; NULL: none */
    uint32_t every;
    int64_t begun_ns; /* when its first row was asked for */
    bool awaits; /* the tablet of the next row is to be confirmed first: it is in the part's wait */
};

/* What the tablet has had to do for us: told once, and not row by row. */
static void count_read(struct reading *reading)
{
    if (!load_counters_are_wanted) {
        return;
    }
    int64_t now_ns = clock_monotonic_ns();
    int64_t received_ns = reading->part->batch->received_ns;
    reading->counts.busy_ns = (uint64_t)(now_ns - reading->begun_ns);
    reading->counts.wait_ns = reading->counts.reads * (uint64_t)(reading->begun_ns - received_ns);
    reading->counts.latency_max_ns = (uint64_t)(now_ns - received_ns);
    reading->counts.latency_ns = reading->counts.reads * reading->counts.latency_max_ns;
    load_counters_add_read(store_tablet_load(reading->served.tablet), &reading->counts);
    reading->counts = (struct load_read_counts){0};
}

static void end_read(struct reading *reading)
{
    if (reading->read != NULL) {
        store_read_end(reading->read);
        count_read(reading);
        served_release(&reading->served);
        reading->read = NULL;
    }
}

static void end_table(struct reading *reading)
{
    end_read(reading);
    schema_release(reading->schema);
    reading->schema = NULL;
}

/* True: it is to be confirmed first (read_confirm.h), and its references are the wait's. */
static bool awaits_confirmation(struct reading *reading, const struct served *served)
{
    struct read_wait *wait = &reading->part->wait;
    reading->awaits = wait->asked != 0 && !served_confirmed(served, wait->asked);
    if (reading->awaits) {
        wait->served = *served;
    }
    return reading->awaits;
}

/* Have a read of the row's tablet: a snapshot, between two looks whether it may be told (rule 7 of
 * docs/replication.md).  Returns STATUS_NOT_OWNER when the tablet is not served here, or awaited. */
static enum status begin_read(struct reading *reading,
                              const struct operation *operation,
                              int64_t now_ns)
{
    struct server *server = reading->part->batch->server;

    if (reading->schema != NULL && schema_table(reading->schema)->number != operation->table) {
        end_table(reading);
    }
    if (reading->read != NULL &&
        row_range_contains(&store_tablet_describe(reading->served.tablet)->range, operation->row)) {
        return STATUS_OK;
    }
    end_read(reading);
    struct served served;
    if (!served_map_find(server->served, operation->table, operation->row, &served)) {
        return STATUS_NOT_OWNER;
    }
    if (awaits_confirmation(reading, &served)) {
        return STATUS_NOT_OWNER;
    }
    if (reading->schema == NULL) {
        reading->schema = schema_cache_find(server->schemas, operation->table);
    }
    enum status status = STATUS_NOT_OWNER;
    uint64_t opening = served_opening(&served);
    if (reading->schema != NULL) {
        status = store_read_begin(served.tablet, schema_table(reading->schema),
                                  STORE_READ_COMMITTED, server_clock_now_us(&server->clock),
                                  &reading->read);
    }
    if (status == STATUS_OK && !served_held(&served, opening)) {
        store_read_end(reading->read);
        reading->read = NULL;
        status = STATUS_NOT_OWNER;
    }
    if (status != STATUS_OK) {
        served_release(&served);
        return status;
    }
    reading->who = (struct row_read_for){reading->part->batch->reply,
                                         reading->part->batch->deadline_ns};
    row_read_while_awaited(store_read_reader(reading->read), &reading->who);
    reading->served = served;
    reading->ring = load_counters_ring(store_tablet_load(served.tablet));
    reading->every = reading->ring != NULL ? key_ring_every(reading->ring, KEY_READ) : 0;
    reading->begun_ns = now_ns;
    return STATUS_OK;
}

/* Read one row into the part's buffer; the answer gets offsets for now, because it may move. */
static enum status read_row(struct reading *reading, struct work *work, struct error *ret_error)
{
    const struct operation *operation = work->operation;
    struct filter_program *program = NULL;
    struct row_read_statistics statistics = {0};
    struct row_block_writer writer;
    bool found = false;

    enum status status = row_key_check(operation->row, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (operation->filter != NULL) {
        status = filter_compile(operation->filter, operation->filter_bytes,
                                schema_table(reading->schema), (uint64_t)clock_monotonic_ns(),
                                &program, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    row_block_writer_init(&writer, &reading->part->rows);
    struct row_reader *reader = store_read_reader(reading->read);
    status = row_read_seek(reader, operation->row, &found);
    if (status != STATUS_OK) {
        (void)error_set(ret_error, status, "cannot read the row: %s", status_text(status));
    } else if (found) {
        status = row_read_filtered(reader, operation->row, schema_table(reading->schema), program,
                                   &writer, &statistics, ret_error);
    }
    status = store_read_explain(reading->read, status, ret_error);
    filter_destroy(program);
    return status;
}

/* Does who asks take in too little for any more answers? */
static bool has_too_much_queued(const struct batch *batch)
{
    return transport_reply_queued_bytes(batch->reply) > QUEUED_BYTES_MAX ||
           transport_reply_is_stalled(batch->reply, STALLED_BYTES_MAX) ||
           transport_reply_must_wait(batch->reply, 0);
}

/* False: it has to wait, and was not answered. */
static bool answer(struct reading *reading, struct work *work)
{
    struct error error = {.status = STATUS_OK};
    struct buffer *rows = &reading->part->rows;
    size_t start = rows->size_bytes;

    struct batch *batch = work->part->batch;
    int64_t now_ns = clock_monotonic_ns();

    if (now_ns > batch->deadline_ns) {
        batch_fail(work, STATUS_DEADLINE_EXCEEDED, "the deadline passed before the row was read");
        return true;
    }
    if (has_too_much_queued(batch)) {
        batch_fail(work, STATUS_UNAVAILABLE, TOO_MUCH_QUEUED);
        return true;
    }
    enum status status = begin_read(reading, work->operation, now_ns);
    if (reading->awaits) {
        return false;
    }
    if (status == STATUS_NOT_OWNER) {
        batch_redirect(work);
        return true;
    }
    if (status != STATUS_OK) {
        batch_fail(work, STATUS_UNAVAILABLE, "cannot begin to read; retry");
        return true;
    }
    status = read_row(reading, work, &error);
    reading->counts.reads += 1;
    reading->counts.rows += 1;
    reading->counts.bytes += rows->size_bytes - start;
    if (reading->ring != NULL && key_ring_wants(reading->every, (uint64_t)now_ns)) {
        key_ring_put(reading->ring, store_tablet_load(reading->served.tablet), KEY_READ,
                     work->operation->row, BYTES_EMPTY);
    }
    if (status == STATUS_OK && transport_reply_must_wait(batch->reply, rows->size_bytes - start)) {
        status = error_set(&error, STATUS_UNAVAILABLE, "%s", TOO_MUCH_QUEUED);
    }
    if (status != STATUS_OK) {
        rows->size_bytes = start;
        rows->failed = false;
        batch_fail(work, error.status == STATUS_NO_MEMORY ? STATUS_UNAVAILABLE : error.status,
                   error.text);
        return true;
    }
    /* The pointer is put right when the buffer has stopped growing: see send(). */
    work->answer.rows = bytes_of(NULL, rows->size_bytes - start);
    batch_complete(work);
    return true;
}

/* Answers were completed newest first; their rows lie oldest first. */
static void send(struct part *part)
{
    size_t end = part->rows.size_bytes;
    for (struct work *work = part->completed; work != NULL; work = work->next) {
        size_t size = work->answer.rows.size_bytes;
        end -= size;
        work->answer.rows.data = part->rows.data + end;
    }
    ASSERT(end == 0);
    struct buffer rows = part->rows;
    part->rows = BUFFER_INIT;
    batch_send(part);
    buffer_deinit(&rows);
}

/* A request of many reads that would all be refused: in one word, not one for each, or refusing
 * would hold more memory than the requests that are refused. */
static bool refuse_all(struct part *part)
{
    if (part->work_count < part->batch->request.operation_count ||
        !has_too_much_queued(part->batch)) {
        return false;
    }
    batch_refuse(part, STATUS_UNAVAILABLE, TOO_MUCH_QUEUED);
    return true;
}

/* False: from part->first on it has to wait.  True: all is answered, and the part may be gone. */
static bool read_on(struct part *part)
{
    struct reading reading = {.part = part};
    struct work *work = part->first;

    while (work != NULL) {
        struct work *next = work->next;
        if (!answer(&reading, work)) {
            break;
        }
        if (next != NULL && part->rows.size_bytes >= ANSWER_BYTES) {
            end_read(&reading); /* the next row is read as of then */
            send(part);
        }
        work = next;
    }
    bool done = work == NULL;
    part->first = work;
    end_table(&reading);
    send(part);
    return done;
}

static void fail_rest(struct part *part, enum status status, const char *text)
{
    struct work *work = part->first;
    while (work != NULL) {
        struct work *next = work->next;
        batch_fail(work, status, text);
        work = next;
    }
    send(part);
}

static void redirect_first(struct part *part)
{
    struct work *work = part->first;
    part->first = work->next;
    batch_redirect(work);
}

static void run(struct job *job)
{
    struct part *part = (struct part *)job;
    struct read_confirm *confirm = part->batch->server->confirm;

    while (!read_on(part)) {
        switch (read_confirm_wait(confirm, &part->wait)) {
        case READ_CONFIRM_WAITS:
            return; /* from here on the part is another thread's */
        case READ_CONFIRM_CONFIRMED:
            break;
        case READ_CONFIRM_NOT_SERVED:
            redirect_first(part);
            break;
        case READ_CONFIRM_LATE:
            fail_rest(part, STATUS_DEADLINE_EXCEEDED,
                      "the deadline passed before the lease was confirmed");
            return;
        case READ_CONFIRM_STOPPED:
            fail_rest(part, STATUS_UNAVAILABLE, "the server is stopping");
            return;
        }
    }
}

/* Once for all of its reads: what is acknowledged while some of them wait, they need not see. */
static void ask(struct part *part)
{
    const struct batch *batch = part->batch;
    part->wait = (struct read_wait){.job = &part->job,
                                    .priority = JOB_URGENT,
                                    .deadline_ns = batch->deadline_ns,
                                    .asked = beacons_ask(peers_beacons(batch->server->peers))};
}

static void start(struct job *job)
{
    struct part *part = (struct part *)job;
    if (refuse_all(part)) {
        return;
    }
    if (part->batch->server->confirm != NULL) {
        ask(part);
    }
    job->run = run;
    run(job);
}

void point_read_submit(struct part *part)
{
    struct worker_pool *workers = part->batch->server->workers;
    part->job.run = start;
    if (part->work_count <= READS_AT_ONCE_MAX) {
        worker_pool_run_or_submit(workers, &part->job);
    } else {
        worker_pool_submit(workers, &part->job, JOB_URGENT);
    }
}
