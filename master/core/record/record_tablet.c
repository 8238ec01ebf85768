#include <string.h>

#include "common/base/assert.h"
#include "master/core/record/record_parts.h"

/*
 * A tablet's record.  Layout 2, after what layout 1 has too: the members, the primary first, and
 * the goal; and, of one that was recovered by hand, when and by whom.  Layout 1 knew one server and one store: a configuration of one member, who should stay.
 */

/* --- meaning ---------------------------------------------------------------------------------- */

void tablet_record_place(struct tablet_record *record,
                         uint64_t version,
                         struct replica_member member)
{
    record->configuration = (struct replica_configuration){
        .version = version, .member_count = 1, .members = {member}};
    record->goal = (struct tablet_goal){
        .store_count = 1, .stores = {member.store}, .leader = member.store};
}

void tablet_goal_add(struct tablet_goal *goal, uint64_t store)
{
    ASSERT(goal->store_count < LIMIT_REPLICAS);
    ASSERT(!tablet_goal_names(goal, store));
    uint32_t at = goal->store_count++;
    while (at > 0 && goal->stores[at - 1] > store) {
        goal->stores[at] = goal->stores[at - 1];
        at--;
    }
    goal->stores[at] = store;
}

void tablet_goal_remove(struct tablet_goal *goal, uint64_t store)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < goal->store_count; i++) {
        if (goal->stores[i] != store) {
            goal->stores[kept++] = goal->stores[i];
        }
    }
    goal->store_count = kept;
    goal->leader = goal->leader == store ? 0 : goal->leader;
}

void tablet_goal_wish_nothing(struct tablet_goal *goal)
{
    goal->wish = GOAL_STAY;
    goal->by_hand = false;
    goal->left = 0;
    goal->right = 0;
    goal->merged = 0;
    goal->row = BYTES_EMPTY;
}

void tablet_goal_wish_split(
    struct tablet_goal *goal, struct bytes row, uint64_t left, uint64_t right, bool by_hand)
{
    tablet_goal_wish_nothing(goal);
    goal->wish = GOAL_SPLIT;
    goal->by_hand = by_hand;
    goal->left = left;
    goal->right = right;
    goal->row = row;
}

bool tablet_goal_names(const struct tablet_goal *goal, uint64_t store)
{
    for (uint32_t i = 0; i < goal->store_count; i++) {
        if (goal->stores[i] == store) {
            return true;
        }
    }
    return false;
}

bool tablet_record_may_split_at(const struct tablet_record *record, struct bytes row)
{
    return row.size_bytes > 0 && row.size_bytes <= LIMIT_ROW_KEY_BYTES &&
           row_range_contains(&record->range, row) && !bytes_equal(record->range.start, row);
}

bool tablet_record_is_at_goal(const struct tablet_record *record)
{
    const struct replica_configuration *configuration = &record->configuration;
    const struct tablet_goal *goal = &record->goal;

    if (goal->wish != GOAL_STAY || configuration->member_count != goal->store_count) {
        return false;
    }
    for (uint32_t i = 0; i < goal->store_count; i++) {
        if (replica_configuration_find(configuration, goal->stores[i]) ==
            configuration->member_count) {
            return false;
        }
    }
    return goal->leader == 0 || replica_configuration_is_leader(configuration, goal->leader);
}

static bool goal_has_meaning(const struct tablet_record *record)
{
    const struct tablet_goal *goal = &record->goal;

    for (uint32_t i = 0; i < goal->store_count; i++) {
        if (goal->stores[i] == 0 || (i > 0 && goal->stores[i - 1] >= goal->stores[i])) {
            return false;
        }
    }
    if (goal->store_count == 0 || (goal->leader != 0 && !tablet_goal_names(goal, goal->leader))) {
        return false;
    }
    switch (goal->wish) {
    case GOAL_STAY:
        return true;
    case GOAL_SPLIT:
        return goal->left != 0 && goal->right != 0 && goal->left != goal->right &&
               tablet_record_may_split_at(record, goal->row);
    case GOAL_MERGE:
        return goal->left != goal->right && goal->merged != 0 && goal->merged != record->number &&
               (goal->left == record->number || goal->right == record->number);
    }
    return false;
}

static bool has_meaning(const struct tablet_record *record)
{
    return record->state >= TABLET_CREATING && record->state <= TABLET_SPLITTING &&
           record->table != 0 && record->soft_limit_bytes != 0 &&
           replica_configuration_is_sound(&record->configuration) &&
           (record->state != TABLET_SPLITTING || record->parent != 0) &&
           (record->absorbed == 0 || record->parent != 0) && record->parent != record->number &&
           record->absorbed != record->number && goal_has_meaning(record);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_members(struct buffer *out, const struct replica_configuration *configuration)
{
    record_put_number(out, configuration->member_count);
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        /* the primary, then the others in order of server */
        uint32_t at = i == 0 ? configuration->leader : i - (i <= configuration->leader ? 1 : 0);
        record_put_number(out, configuration->members[at].server);
        record_put_number(out, configuration->members[at].store);
    }
}

static void put_goal(struct buffer *out, const struct tablet_goal *goal)
{
    record_put_number(out, goal->store_count);
    for (uint32_t i = 0; i < goal->store_count; i++) {
        record_put_number(out, goal->stores[i]);
    }
    record_put_number(out, goal->leader);
    record_put_number(out, goal->wish);
    if (goal->wish != GOAL_STAY) {
        record_put_number(out, goal->left);
        record_put_number(out, goal->right);
    }
    if (goal->wish == GOAL_SPLIT) {
        record_put_number(out, goal->by_hand);
        record_put_bytes(out, goal->row);
    } else if (goal->wish == GOAL_MERGE) {
        record_put_number(out, goal->merged);
    }
}

/* A goal has no room for another field behind it; and an older master passes over what it does not know of flags. */
static uint32_t flags_of(const struct tablet_record *record)
{
    bool by_load = record->goal.wish == GOAL_MERGE && !record->goal.by_hand;
    return record->flags | (by_load ? TABLET_FLAG_MERGE_BY_LOAD : 0U);
}

void tablet_record_encode(const struct tablet_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    ASSERT(has_meaning(record));
    buffer_append_u8(out, RECORD_LAYOUT_TABLET);
    record_put_number(out, record->changed_version);
    record_put_number(out, record->table);
    record_put_number(out, record->configuration.version);
    record_put_number(out, record->state);
    record_put_number(out, flags_of(record));
    put_members(out, &record->configuration);
    record_put_number(out, record->parent);
    record_put_number(out, record->absorbed);
    record_put_number(out, record->soft_limit_bytes);
    record_put_bytes(out, record->range.start);
    record_put_bytes(out, record->range.end);
    put_goal(out, &record->goal);
    if (record->recovered_version != 0) {
        record_put_number(out, record->recovered_version);
        record_put_number(out, record->recovered_us);
        record_put_bytes(out, bytes_of_text(record->recovered_by));
    }
    record_put_checksum(out, start, RECORD_KIND_TABLET, record->number);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* As many as a count says; a bad reader says none. */
static uint32_t take_count(struct record_reader *reader, uint32_t count_max)
{
    uint32_t count = record_take_number32(reader);
    reader->bad = reader->bad || count > count_max;
    return reader->bad ? 0 : count;
}

static void take_members(struct record_reader *reader, struct replica_configuration *configuration)
{
    uint32_t count = take_count(reader, REPLICA_MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct replica_member member = {record_take_number(reader), 0};
        member.store = record_take_number(reader);
        uint32_t at = configuration->member_count++;
        while (at > 0 && configuration->members[at - 1].server > member.server) {
            configuration->members[at] = configuration->members[at - 1];
            at--;
        }
        configuration->members[at] = member;
        /* the first leads, wherever it comes to stand */
        configuration->leader += i > 0 && at <= configuration->leader ? 1 : 0;
    }
}

static void take_goal(struct record_reader *reader, struct tablet_goal *goal)
{
    goal->store_count = take_count(reader, LIMIT_REPLICAS);
    for (uint32_t i = 0; i < goal->store_count; i++) {
        goal->stores[i] = record_take_number(reader);
    }
    goal->leader = record_take_number(reader);
    uint32_t wish = record_take_number32(reader);
    reader->bad = reader->bad || wish > GOAL_MERGE;
    goal->wish = reader->bad ? GOAL_STAY : (enum goal_wish)wish;
    if (goal->wish != GOAL_STAY) {
        goal->left = record_take_number(reader);
        goal->right = record_take_number(reader);
    }
    if (goal->wish == GOAL_SPLIT) {
        goal->by_hand = record_take_number(reader) != 0;
        goal->row = record_take_bytes(reader);
    } else if (goal->wish == GOAL_MERGE) {
        goal->merged = record_take_number(reader);
    }
}

/* Layout 1: what follows the flags. */
static void take_fields_1(struct record_reader *reader, struct tablet_record *record)
{
    uint64_t version = record->configuration.version;
    struct replica_member member = {record_take_number(reader), 0};
    member.store = record_take_number(reader);
    tablet_record_place(record, version, member);
    record->parent = record_take_number(reader);
    record->soft_limit_bytes = record_take_number(reader);
    record->range.start = record_take_bytes(reader);
    record->range.end = record_take_bytes(reader);
}

static void take_recovery(struct record_reader *reader, struct tablet_record *record)
{
    record->recovered_version = record_take_number(reader);
    record->recovered_us = record_take_number(reader);
    struct bytes who = record_take_bytes(reader);
    reader->bad = reader->bad || who.size_bytes >= sizeof record->recovered_by ||
                  record->recovered_version == 0;
    if (!reader->bad && who.size_bytes > 0) {
        memcpy(record->recovered_by, who.data, who.size_bytes);
    }
}

static void take_fields_2(struct record_reader *reader, struct tablet_record *record)
{
    take_members(reader, &record->configuration);
    record->parent = record_take_number(reader);
    record->absorbed = record_take_number(reader);
    record->soft_limit_bytes = record_take_number(reader);
    record->range.start = record_take_bytes(reader);
    record->range.end = record_take_bytes(reader);
    take_goal(reader, &record->goal);
    if (!reader->bad && reader->at < reader->end) {
        take_recovery(reader, record);
    }
}

static void take_flags(struct tablet_record *record)
{
    if (record->goal.wish == GOAL_MERGE) {
        record->goal.by_hand = (record->flags & TABLET_FLAG_MERGE_BY_LOAD) == 0;
    }
    record->flags &= ~(uint32_t)TABLET_FLAG_MERGE_BY_LOAD;
}

enum status tablet_record_decode(uint64_t number,
                                 struct bytes value,
                                 struct tablet_record *ret_record,
                                 struct error *ret_error)
{
    struct record_reader reader;
    struct tablet_record record = {.number = number};
    enum status status = record_open_layout(RECORD_KIND_TABLET, number, value, RECORD_LAYOUT_TABLET,
                                            &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.changed_version = record_take_number(&reader);
    record.table = record_take_number(&reader);
    record.configuration.version = record_take_number(&reader);
    record.state = record_take_number32(&reader);
    record.flags = record_take_number32(&reader);
    if (value.data[0] < RECORD_LAYOUT_TABLET) {
        take_fields_1(&reader, &record);
    } else {
        take_fields_2(&reader, &record);
    }
    take_flags(&record);
    if (reader.bad) {
        return record_corrupt(RECORD_KIND_TABLET, number, "its fields do not fit", ret_error);
    }
    if (!has_meaning(&record)) {
        return record_corrupt(RECORD_KIND_TABLET, number, "a field has no meaning", ret_error);
    }
    *ret_record = record;
    return STATUS_OK;
}
