/* Tablets whose members are all lost: what there is of them, and choosing. */
#include "client/admin/tablets.h"
#include "client/include/edubba_replicas.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"

static struct edubba_copy write_copy(struct block *block, const struct found_copy *from)
{
    return (struct edubba_copy){
        .server = from->server,
        .store = from->store,
        .address = block_text(block, from->address),
        .version = from->version,
        .committed = from->committed,
        .heard_us = from->heard_us,
        .is_member = (from->flags & FOUND_MEMBER) != 0,
        .is_held = (from->flags & FOUND_HELD) != 0,
        .is_alive = (from->flags & FOUND_ALIVE) != 0,
        .is_damaged = (from->flags & FOUND_DAMAGED) != 0,
        .is_empty = (from->flags & FOUND_EMPTY) != 0,
    };
}

static struct edubba_lost_tablet write_tablet(struct block *block, const struct lost_tablet *from)
{
    struct edubba_copy *copies = block_take(block, from->copy_count * sizeof *copies);
    for (size_t i = 0; i < from->copy_count; i++) {
        struct edubba_copy to = write_copy(block, &from->copies[i]);
        if (copies != NULL) {
            copies[i] = to;
        }
    }
    return (struct edubba_lost_tablet){
        .number = from->tablet,
        .table = block_text(block, from->table),
        .start = block_bytes(block, from->start),
        .end = block_bytes(block, from->end),
        .state = tablet_state_text(from->state),
        .version = from->version,
        .why = block_text(block, from->why),
        .copies = copies,
        .copy_count = from->copy_count,
        .recovered_us = from->recovered_us,
        .recovered_by = block_text(block, from->recovered_by),
    };
}

static struct edubba_lost_tablet *write_tablets(struct block *block,
                                                const struct recover_response *response)
{
    struct edubba_lost_tablet *tablets = block_take(block,
                                                    response->tablet_count * sizeof *tablets);
    for (size_t i = 0; i < response->tablet_count; i++) {
        struct edubba_lost_tablet to = write_tablet(block, &response->tablets[i]);
        if (tablets != NULL) {
            tablets[i] = to;
        }
    }
    return tablets;
}

static enum status ask(struct edubba_client *client,
                       struct master_call *call,
                       const struct recover_request *request,
                       struct recover_response *ret_response)
{
    recover_request_encode(request, &call->body);
    enum status status = master_call_ask(client, call, METHOD_RECOVER, !request->accept_loss);
    return status != STATUS_OK ? status
                               : recover_response_decode(buffer_bytes(&call->answer), &call->arena,
                                                         ret_response, &call->error);
}

enum edubba_code edubba_list_lost(struct edubba_client *client,
                                  const char *table,
                                  uint64_t tablet,
                                  struct edubba_lost_tablet **tablets,
                                  size_t *count,
                                  bool *more,
                                  struct edubba_error *error)
{
    const struct recover_request request = {.table = bytes_of_text(table), .tablet = tablet};
    struct recover_response response = {0};
    struct block block = BLOCK_MEASURING;
    struct master_call call;

    master_call_init(&call);
    enum status status = ask(client, &call, &request, &response);
    if (status == STATUS_OK) {
        (void)write_tablets(&block, &response);
        status = block_allocate(&block) ? STATUS_OK : client_status_no_memory(&call.error);
    }
    if (status == STATUS_OK) {
        *tablets = write_tablets(&block, &response);
        *count = response.tablet_count;
        *more = response.more;
    }
    return master_call_conclude(&call, status, error);
}

enum edubba_code edubba_recover_tablet(struct edubba_client *client,
                                       uint64_t tablet,
                                       uint64_t store,
                                       const char *who,
                                       uint64_t *chosen_store,
                                       struct edubba_error *error)
{
    const struct recover_request request = {
        .tablet = tablet, .accept_loss = true, .store = store, .who = bytes_of_text(who)};
    struct recover_response response = {0};
    struct master_call call;

    master_call_init(&call);
    enum status status = ask(client, &call, &request, &response);
    if (status == STATUS_OK) {
        *chosen_store = response.chosen_store;
    }
    return master_call_conclude(&call, status, error);
}
