/*
 * Random messages of every kind, in an arena.  For round trips: whatever comes out must survive
 * encoding and decoding.
 */
#ifndef TESTS_UNIT_WIRE_MESSAGE_RANDOM_H
#define TESTS_UNIT_WIRE_MESSAGE_RANDOM_H

#include "common/base/prng.h"
#include "common/wire/message.h"

struct random_source {
    struct prng prng;
    struct arena *arena;
};

static inline uint64_t any_below(struct random_source *source, uint64_t bound)
{
    return prng_below(&source->prng, bound);
}

/* Of any magnitude, with the borders of encodings hit often. */
static inline uint64_t any_u64(struct random_source *source)
{
    unsigned shift = (unsigned)any_below(source, 65);
    uint64_t value = shift == 64 ? 0 : prng_next(&source->prng) >> shift;
    return any_below(source, 4) == 0 && shift < 64 ? (UINT64_MAX >> shift) + any_below(source, 2)
                                                   : value;
}

static inline uint32_t any_u32(struct random_source *source)
{
    return (uint32_t)any_u64(source);
}

static inline int64_t any_i64(struct random_source *source)
{
    return (int64_t)any_u64(source);
}

static inline bool any_bool(struct random_source *source)
{
    return any_below(source, 2) == 0;
}

static inline struct bytes any_bytes(struct random_source *source)
{
    static const size_t sizes[] = {0, 1, 5, 31, 32, 255, 256, 300};
    size_t size_bytes = sizes[any_below(source, 8)];
    uint8_t *data = arena_allocate(source->arena, size_bytes + 1);
    for (size_t i = 0; i < size_bytes; i++) {
        data[i] = (uint8_t)prng_next(&source->prng);
    }
    return bytes_of(data, size_bytes);
}

/* Zeroed room for up to five; NULL for none. */
static inline void *any_list(struct random_source *source, size_t element_bytes, size_t *ret_count)
{
    size_t count = any_below(source, 6);
    *ret_count = count;
    if (count == 0) {
        return NULL;
    }
    return memset(arena_allocate_array(source->arena, count, element_bytes), 0,
                  count * element_bytes);
}

static inline struct row_range any_range(struct random_source *source)
{
    return (struct row_range){any_bytes(source), any_bytes(source)};
}

static inline struct location any_location(struct random_source *source)
{
    struct location location = {.tablet = any_u64(source),
                                .table = any_u64(source),
                                .configuration = any_u64(source),
                                .range = any_range(source),
                                .server = any_u64(source),
                                .address = any_bytes(source),
                                .state = any_u32(source)};
    struct bytes *others = any_list(source, sizeof *others, &location.other_count);
    for (size_t i = 0; i < location.other_count; i++) {
        others[i] = any_bytes(source);
    }
    location.others = others;
    return location;
}

static inline struct filter_bound any_bound(struct random_source *source)
{
    struct filter_bound bound = {.present = any_bool(source)};
    if (bound.present) {
        bound.closed = any_bool(source);
        bound.bytes = any_bytes(source);
    }
    return bound;
}

static inline void fill_filter(struct random_source *source, struct filter *filter, int depth)
{
    enum filter_kind kind = (enum filter_kind)(1 + any_below(source, FILTER_VALUE_BITMASK));
    bool nested = kind == FILTER_CHAIN || kind == FILTER_INTERLEAVE || kind == FILTER_CONDITION;
    if (nested && depth == 0) {
        kind = FILTER_SINK;
        nested = false;
    }
    *filter = (struct filter){.kind = kind};
    if (nested) {
        filter->child_count = kind == FILTER_CONDITION ? 3 : 2 + any_below(source, 3);
        filter->has_true = kind == FILTER_CONDITION && any_bool(source);
        filter->has_false = kind == FILTER_CONDITION && any_bool(source);
        struct filter *children = arena_allocate_array(source->arena, filter->child_count,
                                                       sizeof *children);
        for (size_t i = 0; i < filter->child_count; i++) {
            fill_filter(source, &children[i], depth - 1);
        }
        filter->children = children;
    }
    filter->flag = any_bool(source);
    filter->probability = (double)any_below(source, 1000) / 1000;
    filter->count = any_i64(source);
    filter->start_us = any_i64(source);
    filter->end_us = any_i64(source);
    filter->bytes = any_bytes(source);
    filter->start = any_bound(source);
    filter->end = any_bound(source);
}

static inline const struct filter *any_filter(struct random_source *source)
{
    if (any_below(source, 4) == 0) {
        return NULL;
    }
    struct filter *filter = arena_allocate(source->arena, sizeof *filter);
    fill_filter(source, filter, 4);
    return filter;
}

static inline const struct mutation *any_mutations(struct random_source *source, size_t *ret_count)
{
    struct mutation *mutations = any_list(source, sizeof *mutations, ret_count);
    for (size_t i = 0; i < *ret_count; i++) {
        mutations[i] = (struct mutation){
            .kind = (enum mutation_kind)(1 + any_below(source, MUTATION_DELETE_FROM_ROW)),
            .family = any_bytes(source),
            .qualifier = any_bytes(source),
            .timestamp_us = any_i64(source),
            .start_us = any_i64(source),
            .end_us = any_i64(source),
            .input = (enum input_kind)any_below(source, 4),
            .integer = any_i64(source),
            .value = any_bytes(source),
        };
    }
    return mutations;
}

static inline struct operation any_operation(struct random_source *source)
{
    struct operation operation = {
        .kind = (enum operation_kind)(1 + any_below(source, OPERATION_DROP_RANGE)),
        .table = any_u64(source),
        .row = any_bytes(source),
        .identity = {any_u64(source), any_i64(source)},
        .filter = any_filter(source),
        .range = any_range(source),
    };
    operation.mutations = any_mutations(source, &operation.mutation_count);
    operation.otherwise = any_mutations(source, &operation.otherwise_count);
    struct rmw_rule *rules = any_list(source, sizeof *rules, &operation.rule_count);
    for (size_t i = 0; i < operation.rule_count; i++) {
        rules[i] = (struct rmw_rule){.kind = (enum rmw_kind)(1 + any_below(source, 2)),
                                     .family = any_bytes(source),
                                     .qualifier = any_bytes(source),
                                     .append = any_bytes(source),
                                     .increment = any_i64(source)};
    }
    operation.rules = rules;
    return operation;
}

static inline struct gc_rule any_gc_rule(struct random_source *source, int depth)
{
    struct gc_rule rule = {.kind = (enum gc_kind)any_below(source, depth > 0 ? 5 : 3),
                           .versions = any_u32(source),
                           .age_us = any_i64(source)};
    if (rule.kind == GC_UNION || rule.kind == GC_INTERSECTION) {
        size_t count = 0;
        struct gc_rule *children = any_list(source, sizeof *children, &count);
        for (size_t i = 0; i < count; i++) {
            children[i] = any_gc_rule(source, depth - 1);
        }
        rule.children = children;
        rule.child_count = (uint32_t)count;
    }
    return rule;
}

static inline struct family any_family(struct random_source *source)
{
    return (struct family){.number = any_u32(source),
                           .name = any_bytes(source),
                           .aggregate = (enum aggregate_kind)any_below(source, 6),
                           .gc = any_gc_rule(source, 3)};
}

static inline struct table any_table(struct random_source *source)
{
    struct table table = {.number = any_u64(source),
                          .version = any_u64(source),
                          .id = any_bytes(source),
                          .granularity = (enum granularity)any_below(source, 2),
                          .deletion_protection = any_bool(source),
                          .family_number_next = any_u32(source)};
    size_t count = 0;
    table.families = any_list(source, sizeof *table.families, &count);
    table.family_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        table.families[i] = any_family(source);
    }
    table.replicas = any_u32(source);
    table.min_in_sync = any_u32(source);
    table.pinned = any_bool(source);
    return table;
}

/* One that can be. */
static inline struct replica_configuration any_configuration(struct random_source *source)
{
    struct replica_configuration configuration = {
        .version = 1 + any_below(source, 1000),
        .member_count = 1 + (uint32_t)any_below(source, REPLICA_MEMBERS_MAX),
    };
    for (uint32_t i = 0; i < configuration.member_count; i++) {
        configuration.members[i] = (struct replica_member){
            3 * i + 1 + any_below(source, 3), (any_u32(source) & ~UINT64_C(7)) + i + 1};
    }
    configuration.leader = (uint32_t)any_below(source, configuration.member_count);
    return configuration;
}

static inline struct goal any_goal(struct random_source *source)
{
    struct goal goal = {.member_count = (uint32_t)any_below(source, LIMIT_REPLICAS + 1)};
    if (goal.member_count == 0) {
        return goal;
    }
    for (uint32_t i = 0; i < goal.member_count; i++) {
        goal.members[i] = (struct replica_member){any_u64(source), any_u64(source)};
    }
    goal.leader = any_u64(source);
    goal.wish = (enum goal_wish)any_below(source, 3);
    goal.left = any_u64(source);
    goal.right = any_u64(source);
    goal.merged = any_u64(source);
    goal.row = any_bytes(source);
    return goal;
}

static inline struct server_information any_server(struct random_source *source)
{
    struct server_information server = {.number = any_u64(source),
                                        .address = any_bytes(source),
                                        .http_address = any_bytes(source),
                                        .zone = any_bytes(source),
                                        .incarnation = any_u64(source),
                                        .alive = any_bool(source),
                                        .last_heard_us = any_i64(source),
                                        .tablet_count = any_u32(source)};
    struct store_information *stores = any_list(source, sizeof *stores, &server.store_count);
    for (size_t i = 0; i < server.store_count; i++) {
        stores[i] = (struct store_information){any_u64(source), any_bytes(source), any_u32(source),
                                               any_u64(source), any_u64(source),   any_u32(source)};
    }
    server.stores = stores;
    server.draining = any_bool(source);
    server.leading_count = any_u32(source);
    server.stuck_count = any_u32(source);
    return server;
}

#endif /* TESTS_UNIT_WIRE_MESSAGE_RANDOM_H */
