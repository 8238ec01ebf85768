/* Where replicas are, and what is ordered of them. */
#include "client/include/edubba_replicas.h"

#include "client/admin/tablets.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"

/* --- listing ---------------------------------------------------------------------------------- */

static struct edubba_replica to_public(struct block *block, const struct located_replica *from)
{
    return (struct edubba_replica){
        .server = from->server,
        .store = from->store,
        .address = block_text(block, from->address),
        .is_member = (from->flags & LOCATED_MEMBER) != 0,
        .is_primary = (from->flags & LOCATED_PRIMARY) != 0,
        .in_sync = (from->flags & LOCATED_IN_SYNC) != 0,
        .is_wanted = (from->flags & LOCATED_WANTED) != 0,
        .should_lead = (from->flags & LOCATED_SHOULD_LEAD) != 0,
    };
}

/* All that a tablet server tells. */
static struct located_replica primary_of(const struct location *location)
{
    return (struct located_replica){
        .server = location->server,
        .address = location->address,
        .flags = LOCATED_MEMBER | LOCATED_PRIMARY | LOCATED_WANTED | LOCATED_SHOULD_LEAD,
    };
}

static const struct edubba_replica *write_replicas(struct block *block,
                                                   const struct located_replica *from,
                                                   size_t count)
{
    struct edubba_replica *replicas = block_take(block, count * sizeof *replicas);
    for (size_t i = 0; i < count; i++) {
        struct edubba_replica to = to_public(block, &from[i]);
        if (replicas != NULL) {
            replicas[i] = to;
        }
    }
    return replicas;
}

static const char *wish_text(enum goal_wish wish)
{
    return wish == GOAL_SPLIT ? "split" : wish == GOAL_MERGE ? "merge" : "";
}

static struct edubba_tablet_replicas write_tablet(struct block *block,
                                                  const struct location *from,
                                                  const struct located_replicas *located)
{
    struct located_replica primary = primary_of(from);
    struct located_replicas known = located != NULL ? *located : (struct located_replicas){0};
    if (located == NULL && from->server != 0) {
        known.replicas = &primary;
        known.replica_count = 1;
    }
    return (struct edubba_tablet_replicas){
        .number = from->tablet,
        .start = block_bytes(block, from->range.start),
        .end = block_bytes(block, from->range.end),
        .state = tablet_state_text(from->state),
        .version = from->configuration,
        .size_bytes = known.size_bytes,
        .is_known = located != NULL,
        .replicas = write_replicas(block, known.replicas, known.replica_count),
        .replica_count = known.replica_count,
        .wish = wish_text(known.wish),
        .split_row = block_bytes(block, known.row),
        .merge_with = known.other,
    };
}

static void *write_tablets(struct block *block, const struct tablet_list *list)
{
    struct edubba_tablet_replicas *tablets = block_take(block, list->count * sizeof *tablets);
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_tablet *from = &list->tablets[i];
        struct edubba_tablet_replicas to = write_tablet(
            block, &from->location, from->has_replicas ? &from->replicas : NULL);
        if (tablets != NULL) {
            tablets[i] = to;
        }
    }
    return tablets;
}

enum edubba_code edubba_list_replicas(struct edubba_client *client,
                                      const char *table,
                                      struct edubba_tablet_replicas **tablets,
                                      size_t *count,
                                      struct edubba_error *error)
{
    const struct locate_request by_name = {.name = bytes_of_text(table), .detailed = true};
    void *list = NULL;
    enum edubba_code code = tablet_list_answer(client, &by_name, write_tablets, &list, count,
                                               error);
    if (code == EDUBBA_OK) {
        *tablets = list;
    }
    return code;
}

/* --- orders ----------------------------------------------------------------------------------- */

enum edubba_code edubba_drain_server(struct edubba_client *client,
                                     uint64_t server,
                                     bool draining,
                                     struct edubba_drain_progress *progress,
                                     struct edubba_error *error)
{
    struct master_call state;
    struct drain_server_response response;
    const struct drain_server_request request = {server, draining};

    master_call_init(&state);
    drain_server_request_encode(&request, &state.body);
    enum status status = master_call_ask(client, &state, METHOD_DRAIN_SERVER, true);
    if (status == STATUS_OK) {
        status = drain_server_response_decode(buffer_bytes(&state.answer), &state.arena, &response,
                                              &state.error);
    }
    if (status == STATUS_OK) {
        *progress = (struct edubba_drain_progress){response.draining, response.member_count,
                                                   response.goal_count, response.stuck_count};
    }
    return master_call_conclude(&state, status, error);
}

enum edubba_code edubba_merge_tablets(struct edubba_client *client,
                                      const char *table,
                                      struct edubba_bytes row,
                                      struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    const struct merge_request request = {bytes_of_text(table), client_bytes(row), false};
    merge_request_encode(&request, &state.body);
    return master_call_conclude(
        &state, master_call_ask(client, &state, METHOD_MERGE_TABLETS, false), error);
}

enum edubba_code edubba_withdraw_merge(struct edubba_client *client,
                                       const char *table,
                                       struct edubba_bytes row,
                                       struct edubba_error *error)
{
    struct master_call state;
    master_call_init(&state);
    const struct merge_request request = {bytes_of_text(table), client_bytes(row), true};
    merge_request_encode(&request, &state.body);
    return master_call_conclude(
        &state, master_call_ask(client, &state, METHOD_MERGE_TABLETS, false), error);
}
