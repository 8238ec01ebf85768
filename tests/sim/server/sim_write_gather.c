/* What is new is resolved, gathered, and given out; what was there already is answered when that is committed. */
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/server/sim_write_parts.h"

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_from_result(struct sim_work *work, struct bytes result)
{
    if (work->operation->kind == OPERATION_CHECK_AND_MUTATE) {
        work->answer.matched = result.size_bytes == 1 && result.data[0] == 1;
    } else if (work->operation->kind == OPERATION_READ_MODIFY_WRITE) {
        work->answer.rows = arena_copy(&work->batch->arena, result);
    }
}

void sim_write_pend(struct sim_server *server,
                    struct sim_order *order,
                    struct sim_work *work,
                    uint64_t sequence)
{
    struct sim_work **link = &order->pending_first;
    work->sequence = sequence;
    if (server->sim->planted == SIM_PLANTED_ACK_BEFORE_SYNC && !work->duplicate) {
        sim_answer_complete(work);
        return;
    }
    while (*link != NULL && (*link)->sequence <= sequence) {
        link = &(*link)->next;
    }
    work->next = *link;
    *link = work;
}

struct request_id sim_write_identity(const struct sim_work *work)
{
    const struct operations_request *request = &work->batch->request;
    return (struct request_id){
        .client = request->client,
        .sequence = work->operation->identity.sequence,
        .first_unfinished = request->first_unfinished,
        .first_attempt_us = work->operation->identity.first_attempt_us,
    };
}

bool sim_write_is_new(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work)
{
    struct request_id identity = sim_write_identity(work);
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;

    work->tablet = tablet->tablet;
    work->loop = sim_loop_of(tablet);
    switch (dedupe_check(tablet->dedupe, &identity, work->loop->clock, &result, &sequence)) {
    case DEDUPE_NEW:
        return true;
    case DEDUPE_PENDING:
        server->sim->statistics.duplicates++;
        work->duplicate = true;
        if (server->sim->planted == SIM_PLANTED_ACK_PENDING) {
            sim_answer_complete(work);
        } else {
            sim_write_pend(server, sim_order_of(tablet), work, sequence);
        }
        return false;
    case DEDUPE_DONE:
        server->sim->statistics.duplicates++;
        answer_from_result(work, result);
        sim_answer_complete(work);
        return false;
    case DEDUPE_EXPIRED:
        sim_answer_fail(work, STATUS_FAILED_PRECONDITION, "too long ago");
        return false;
    case DEDUPE_FULL:
        sim_answer_fail(work, STATUS_UNAVAILABLE, "too many clients");
        return false;
    }
    return false;
}

/* --- gathering -------------------------------------------------------------------------------- */

/* With several copies: the replica says whether, and under which sequence. */
static void give_out(struct sim_server *server,
                     struct sim_tablet *tablet,
                     const struct record_write *write,
                     uint64_t clock)
{
    struct sim_order *order = sim_order_of(tablet);
    struct buffer payload = BUFFER_INIT;
    uint32_t count = order->gathered_count;
    uint64_t sequence = 0;
    uint64_t reign = tablet->reign; /* it may end with this very entry: nobody waits for it then */
    record_encode_write(write, &payload);
    order->gathered_count = 0;
    enum status status = sim_store_give_out(tablet->store, tablet, RECORD_WRITE,
                                            buffer_bytes(&payload), clock, &sequence);
    buffer_deinit(&payload);
    for (uint32_t i = 0; i < count; i++) {
        if (status == STATUS_OK && tablet->reign == reign) {
            sim_write_pend(server, order, order->gathered_works[i], sequence);
        } else if (status == STATUS_NO_SPACE &&
                   server->sim->planted == SIM_PLANTED_FULL_DISK_ACKNOWLEDGES) {
            sim_answer_complete(order->gathered_works[i]);
        } else {
            sim_answer_fail(order->gathered_works[i], STATUS_UNAVAILABLE, "not now");
        }
    }
}

void sim_write_flush(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    struct record_write write = {order->gathered, order->gathered_count};
    if (order->gathered_count == 0) {
        return;
    }
    uint64_t clock = sim_store_next_clock(tablet->store, sim_wall_us(server->sim, server->node));
    uint64_t sequence = 0;
    if (tablet->replicated) {
        give_out(server, tablet, &write, clock);
        return;
    }
    sequence = sim_store_append_write(tablet->store, tablet, &write, clock);
    for (uint32_t i = 0; i < order->gathered_count; i++) {
        sim_write_pend(server, order, order->gathered_works[i], sequence);
    }
    order->gathered_count = 0;
}

void sim_write_gather(struct sim_server *server,
                      struct sim_tablet *tablet,
                      struct sim_work *work,
                      const struct change *changes,
                      size_t change_count)
{
    struct sim_order *order = sim_order_of(tablet);
    uint32_t at = order->gathered_count++;
    order->gathered_works[at] = work;
    order->gathered[at] = (struct record_entry){
        .row = work->operation->row,
        .request = sim_write_identity(work),
        .result = work->result,
        .changes = changes,
        .change_count = change_count,
    };
    if (order->gathered_count == SIM_GATHER_MAX) {
        sim_write_flush(server, tablet);
    }
}

/* The checker is told by which schema a cell comes into the log. */
static void tell_versions(const struct sim_server *server,
                          const struct sim_work *work,
                          const struct table *schema,
                          const struct change *changes,
                          size_t change_count)
{
    for (size_t i = 0; i < change_count && work->operation->row.data[0] == 'g'; i++) {
        if (changes[i].kind == CHANGE_PUT) {
            sim_checker_on_version(server->sim->checker, changes[i].value, schema->version);
        }
    }
}

void sim_write_resolve(struct sim_server *server,
                       struct sim_tablet *tablet,
                       struct sim_work *work,
                       const struct mutation *mutations,
                       size_t mutation_count)
{
    const struct table *schema = sim_server_schema(server, tablet->table);
    struct error error = {.status = STATUS_OK};
    struct change *changes = NULL;
    size_t change_count = 0;
    enum status status = STATUS_OK;

    if (mutation_count > 0 || work->operation->kind == OPERATION_MUTATE) {
        status = mutation_resolve(schema, work->operation->row, mutations, mutation_count,
                                  hlc_to_us(work->loop->clock), &work->batch->arena, &changes,
                                  &change_count, &error);
    }
    if (status == STATUS_OK) {
        tell_versions(server, work, schema, changes, change_count);
        sim_write_gather(server, tablet, work, changes, change_count);
    } else {
        sim_answer_fail(work, status, error.text);
    }
}
