/* Configurations, goals and proposals: what tablet servers and the master agree on. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

/* --- parts ------------------------------------------------------------------------------------ */

static void write_members(struct buffer *out, const struct replica_member *members, uint32_t count)
{
    wire_write_array(out, count);
    for (uint32_t i = 0; i < count; i++) {
        wire_write_array(out, 2);
        wire_write_u64(out, members[i].server);
        wire_write_u64(out, members[i].store);
    }
}

static uint32_t read_members(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field,
                             struct replica_member *members,
                             uint32_t count_max)
{
    struct wire_array list = wire_read_array(reader, fields, field);
    uint32_t count = list.left;
    if (count > count_max) {
        wire_reader_refuse(reader, field, "too many members");
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct wire_array parts = wire_read_array(reader, &list, field);
        members[i].server = wire_read_u64(reader, &parts, field);
        members[i].store = wire_read_u64(reader, &parts, field);
        wire_array_end(reader, &parts);
    }
    wire_array_end(reader, &list);
    return count;
}

void wire_write_configuration(struct buffer *out, const struct replica_configuration *configuration)
{
    wire_write_array(out, 3);
    wire_write_u64(out, configuration->version);
    wire_write_u64(out, configuration->leader);
    write_members(out, configuration->members, configuration->member_count);
}

void wire_read_configuration(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field,
                             struct replica_configuration *ret_configuration)
{
    struct replica_configuration configuration = {0};
    struct wire_array parts = wire_read_array(reader, fields, field);
    configuration.version = wire_read_u64(reader, &parts, field);
    configuration.leader = wire_read_u32(reader, &parts, field);
    configuration.member_count = read_members(reader, &parts, field, configuration.members,
                                              REPLICA_MEMBERS_MAX);
    wire_array_end(reader, &parts);
    bool none = configuration.version == 0 && configuration.leader == 0 &&
                configuration.member_count == 0;
    if (!none && !replica_configuration_is_sound(&configuration)) {
        wire_reader_refuse(reader, field, "a configuration that cannot be");
        configuration = (struct replica_configuration){0};
    }
    *ret_configuration = configuration;
}

/* [members, leader, wish, fields of that wish...] */
void wire_write_goal(struct buffer *out, const struct goal *goal)
{
    static const uint32_t field_counts[] = {[GOAL_STAY] = 3, [GOAL_SPLIT] = 6, [GOAL_MERGE] = 6};

    if (goal->member_count == 0) {
        wire_write_nil(out);
        return;
    }
    wire_write_array(out, field_counts[goal->wish]);
    write_members(out, goal->members, goal->member_count);
    wire_write_u64(out, goal->leader);
    wire_write_u64(out, goal->wish);
    if (goal->wish != GOAL_STAY) {
        wire_write_u64(out, goal->left);
        wire_write_u64(out, goal->right);
    }
    if (goal->wish == GOAL_SPLIT) {
        wire_write_bytes(out, goal->row);
    } else if (goal->wish == GOAL_MERGE) {
        wire_write_u64(out, goal->merged);
    }
}

void wire_read_goal(struct wire_reader *reader, struct wire_array *fields, struct goal *ret_goal)
{
    struct goal goal = {0};

    if (wire_read_nil(reader, fields)) {
        *ret_goal = goal;
        return;
    }
    struct wire_array parts = wire_read_array(reader, fields, "goal");
    goal.member_count = read_members(reader, &parts, "goal.members", goal.members, LIMIT_REPLICAS);
    goal.leader = wire_read_u64(reader, &parts, "goal.leader");
    goal.wish = (enum goal_wish)wire_read_choice(reader, &parts, "goal.wish", GOAL_STAY,
                                                 GOAL_MERGE);
    if (goal.wish != GOAL_STAY) {
        goal.left = wire_read_u64(reader, &parts, "goal.left");
        goal.right = wire_read_u64(reader, &parts, "goal.right");
    }
    if (goal.wish == GOAL_SPLIT) {
        goal.row = wire_read_bytes(reader, &parts, "goal.row");
    } else if (goal.wish == GOAL_MERGE) {
        goal.merged = wire_read_u64(reader, &parts, "goal.merged");
    }
    wire_array_end(reader, &parts);
    if (goal.member_count == 0) {
        wire_reader_refuse(reader, "goal.members", "a goal names at least one store");
    }
    *ret_goal = goal;
}

/* --- where replicas are -------------------------------------------------------------------------- */

/* [[[server, store, address, flags]...], wish, other, row, size_bytes] */
void wire_write_located_replicas(struct buffer *out, const struct located_replicas *located)
{
    wire_write_array(out, 5);
    wire_write_array(out, located->replica_count);
    for (size_t i = 0; i < located->replica_count; i++) {
        const struct located_replica *replica = &located->replicas[i];
        wire_write_array(out, 4);
        wire_write_u64(out, replica->server);
        wire_write_u64(out, replica->store);
        wire_write_bytes(out, replica->address);
        wire_write_u64(out, replica->flags);
    }
    wire_write_u64(out, located->wish);
    wire_write_u64(out, located->other);
    wire_write_bytes(out, located->row);
    wire_write_u64(out, located->size_bytes);
}

static void read_located_replica(struct wire_reader *reader,
                                 struct wire_array *fields,
                                 struct located_replica *ret_replica)
{
    struct wire_array parts = wire_read_array(reader, fields, "replica");
    ret_replica->server = wire_read_u64(reader, &parts, "replica.server");
    ret_replica->store = wire_read_u64(reader, &parts, "replica.store");
    ret_replica->address = wire_read_bytes(reader, &parts, "replica.address");
    ret_replica->flags = wire_read_u32(reader, &parts, "replica.flags");
    wire_array_end(reader, &parts);
}

void wire_read_located_replicas(struct wire_reader *reader,
                                struct wire_array *fields,
                                struct located_replicas *ret_located)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct located_replica),
        .wire_bytes_min = 2,
        .count_max = REPLICA_MEMBERS_MAX + LIMIT_REPLICAS,
    };
    struct wire_array parts = wire_read_array(reader, fields, "replicas");
    struct wire_array list = {0};
    struct located_replica *replicas = wire_read_list(reader, &parts, "replicas", shape, &list);
    ret_located->replicas = replicas;
    ret_located->replica_count = list.left;
    for (size_t i = 0; i < ret_located->replica_count && reader->status == STATUS_OK; i++) {
        read_located_replica(reader, &list, &replicas[i]);
    }
    wire_array_end(reader, &list);
    ret_located->wish = (enum goal_wish)wire_read_choice(reader, &parts, "replicas.wish", GOAL_STAY,
                                                         GOAL_MERGE);
    ret_located->other = wire_read_u64(reader, &parts, "replicas.other");
    ret_located->row = wire_read_bytes(reader, &parts, "replicas.row");
    ret_located->size_bytes = wire_read_u64(reader, &parts, "replicas.size_bytes");
    wire_array_end(reader, &parts);
}

/* --- proposals -------------------------------------------------------------------------------- */

/* [kind, tablet, base, proposer, next, fields of that kind...] */
static void write_proposal(struct buffer *out, const struct proposal *proposal)
{
    static const uint32_t field_counts[] = {
        [PROPOSAL_MEMBERS] = 5, [PROPOSAL_SPLIT] = 8, [PROPOSAL_MERGE] = 8};

    wire_write_array(out, field_counts[proposal->kind]);
    wire_write_u64(out, proposal->kind);
    wire_write_u64(out, proposal->tablet);
    wire_write_u64(out, proposal->base);
    wire_write_u64(out, proposal->proposer);
    wire_write_configuration(out, &proposal->next);
    if (proposal->kind == PROPOSAL_SPLIT) {
        wire_write_u64(out, proposal->left);
        wire_write_u64(out, proposal->right);
        wire_write_bytes(out, proposal->row);
    } else if (proposal->kind == PROPOSAL_MERGE) {
        wire_write_u64(out, proposal->right);
        wire_write_u64(out, proposal->right_base);
        wire_write_u64(out, proposal->merged);
    }
}

static void read_proposal(struct wire_reader *reader,
                          struct wire_array *fields,
                          struct proposal *proposal)
{
    struct wire_array parts = wire_read_array(reader, fields, "proposal");
    proposal->kind = (enum proposal_kind)wire_read_choice(reader, &parts, "proposal.kind",
                                                          PROPOSAL_MEMBERS, PROPOSAL_MERGE);
    proposal->tablet = wire_read_u64(reader, &parts, "proposal.tablet");
    proposal->base = wire_read_u64(reader, &parts, "proposal.base");
    proposal->proposer = wire_read_u64(reader, &parts, "proposal.proposer");
    wire_read_configuration(reader, &parts, "proposal.next", &proposal->next);
    if (proposal->kind == PROPOSAL_SPLIT) {
        proposal->left = wire_read_u64(reader, &parts, "proposal.left");
        proposal->right = wire_read_u64(reader, &parts, "proposal.right");
        proposal->row = wire_read_bytes(reader, &parts, "proposal.row");
    } else if (proposal->kind == PROPOSAL_MERGE) {
        proposal->right = wire_read_u64(reader, &parts, "proposal.right");
        proposal->right_base = wire_read_u64(reader, &parts, "proposal.right_base");
        proposal->merged = wire_read_u64(reader, &parts, "proposal.merged");
    }
    wire_array_end(reader, &parts);
}

void propose_request_encode(const struct propose_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_u64(out, message->server);
    wire_write_array(out, message->proposal_count);
    for (size_t i = 0; i < message->proposal_count; i++) {
        write_proposal(out, &message->proposals[i]);
    }
    wire_write_u64(out, message->incarnation);
}

enum status propose_request_decode(struct bytes in,
                                   struct arena *arena,
                                   struct propose_request *ret_message,
                                   struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct proposal),
        .wire_bytes_min = 2,
        .count_max = LIMIT_PROPOSALS_PER_MESSAGE,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "propose_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct propose_request message = {0};
    message.server = wire_read_u64(&reader, &fields, "server");
    struct proposal *proposals = wire_read_list(&reader, &fields, "proposals", shape, &list);
    message.proposals = proposals;
    message.proposal_count = list.left;
    for (size_t i = 0; i < message.proposal_count && reader.status == STATUS_OK; i++) {
        read_proposal(&reader, &list, &proposals[i]);
    }
    wire_array_end(&reader, &list);
    message.incarnation = wire_read_u64(&reader, &fields, "incarnation");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

/* [outcome, tablet, fields of that outcome...] */
static void write_proposed(struct buffer *out, const struct proposed *proposed)
{
    static const uint32_t field_counts[] = {[PROPOSED_CONFIGURATION] = 4,
                                            [PROPOSED_SPLIT] = 4,
                                            [PROPOSED_MERGED] = 3,
                                            [PROPOSED_DROPPED] = 2,
                                            [PROPOSED_UNKNOWN] = 2};

    wire_write_array(out, field_counts[proposed->outcome]);
    wire_write_u64(out, proposed->outcome);
    wire_write_u64(out, proposed->tablet);
    if (proposed->outcome == PROPOSED_CONFIGURATION) {
        wire_write_configuration(out, &proposed->configuration);
        wire_write_u64(out, proposed->right_version);
    } else if (proposed->outcome == PROPOSED_SPLIT) {
        wire_write_u64(out, proposed->left);
        wire_write_u64(out, proposed->right);
    } else if (proposed->outcome == PROPOSED_MERGED) {
        wire_write_u64(out, proposed->merged);
    }
}

static void read_proposed(struct wire_reader *reader,
                          struct wire_array *fields,
                          struct proposed *proposed)
{
    struct wire_array parts = wire_read_array(reader, fields, "answer");
    proposed->outcome = (enum proposed_outcome)wire_read_choice(
        reader, &parts, "answer.outcome", PROPOSED_CONFIGURATION, PROPOSED_UNKNOWN);
    proposed->tablet = wire_read_u64(reader, &parts, "answer.tablet");
    if (proposed->outcome == PROPOSED_CONFIGURATION) {
        wire_read_configuration(reader, &parts, "answer.configuration", &proposed->configuration);
        proposed->right_version = wire_read_u64(reader, &parts, "answer.right_version");
    } else if (proposed->outcome == PROPOSED_SPLIT) {
        proposed->left = wire_read_u64(reader, &parts, "answer.left");
        proposed->right = wire_read_u64(reader, &parts, "answer.right");
    } else if (proposed->outcome == PROPOSED_MERGED) {
        proposed->merged = wire_read_u64(reader, &parts, "answer.merged");
    }
    wire_array_end(reader, &parts);
}

void propose_response_encode(const struct propose_response *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_array(out, message->answer_count);
    for (size_t i = 0; i < message->answer_count; i++) {
        write_proposed(out, &message->answers[i]);
    }
}

enum status propose_response_decode(struct bytes in,
                                    struct arena *arena,
                                    struct propose_response *ret_message,
                                    struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct proposed),
        .wire_bytes_min = 2,
        .count_max = LIMIT_PROPOSALS_PER_MESSAGE,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "propose_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct proposed *answers = wire_read_list(&reader, &fields, "answers", shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader.status == STATUS_OK; i++) {
        read_proposed(&reader, &list, &answers[i]);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = (struct propose_response){answers, count};
    }
    return status;
}

/* --- what people ask for ---------------------------------------------------------------------- */

void drain_server_request_encode(const struct drain_server_request *message, struct buffer *out)
{
    wire_write_array(out, 2);
    wire_write_u64(out, message->server);
    wire_write_bool(out, message->draining);
}

enum status drain_server_request_decode(struct bytes in,
                                        struct arena *arena,
                                        struct drain_server_request *ret_message,
                                        struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "drain_server_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct drain_server_request message = {0};
    message.server = wire_read_u64(&reader, &fields, "server");
    message.draining = wire_read_bool(&reader, &fields, "draining");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void drain_server_response_encode(const struct drain_server_response *message, struct buffer *out)
{
    wire_write_array(out, 4);
    wire_write_bool(out, message->draining);
    wire_write_u64(out, message->member_count);
    wire_write_u64(out, message->goal_count);
    wire_write_u64(out, message->stuck_count);
}

enum status drain_server_response_decode(struct bytes in,
                                         struct arena *arena,
                                         struct drain_server_response *ret_message,
                                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "drain_server_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct drain_server_response message = {0};
    message.draining = wire_read_bool(&reader, &fields, "draining");
    message.member_count = wire_read_u32(&reader, &fields, "member_count");
    message.goal_count = wire_read_u32(&reader, &fields, "goal_count");
    message.stuck_count = wire_read_u32(&reader, &fields, "stuck_count");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void merge_request_encode(const struct merge_request *message, struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_bytes(out, message->table);
    wire_write_bytes(out, message->row);
    wire_write_bool(out, message->withdrawn);
}

enum status merge_request_decode(struct bytes in,
                                 struct arena *arena,
                                 struct merge_request *ret_message,
                                 struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "merge_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct merge_request message = {0};
    message.table = wire_read_bytes(&reader, &fields, "table");
    message.row = wire_read_bytes(&reader, &fields, "row");
    message.withdrawn = wire_read_bool(&reader, &fields, "withdrawn");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}

void merge_response_encode(const struct merge_response *message, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_u64(out, message->merged_tablet);
}

enum status merge_response_decode(struct bytes in,
                                  struct arena *arena,
                                  struct merge_response *ret_message,
                                  struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "merge_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct merge_response message = {0};
    message.merged_tablet = wire_read_u64(&reader, &fields, "merged_tablet");
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_message = message;
    }
    return status;
}
