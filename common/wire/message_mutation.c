/* Mutations and read-modify-write rules on the wire: [kind, fields of that kind...]. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define MUTATION_WIRE_BYTES_MIN 2 /* array and kind */

/* Array, kind, family, qualifier: how all but DELETE_FROM_ROW and _FAMILY begin. */
static void write_column(struct buffer *out, const struct mutation *mutation, size_t fields)
{
    wire_write_array(out, fields);
    wire_write_u64(out, mutation->kind);
    wire_write_bytes(out, mutation->family);
    wire_write_bytes(out, mutation->qualifier);
}

static void write_add_or_merge(struct buffer *out, const struct mutation *mutation)
{
    write_column(out, mutation, mutation->input == INPUT_NULL ? 5 : 6);
    wire_write_i64(out, mutation->timestamp_us);
    wire_write_u64(out, mutation->input);
    if (mutation->input == INPUT_INT64) {
        wire_write_i64(out, mutation->integer);
    } else if (mutation->input != INPUT_NULL) {
        wire_write_bytes(out, mutation->value);
    }
}

static void write_mutation(struct buffer *out, const struct mutation *mutation)
{
    switch (mutation->kind) {
    case MUTATION_SET_CELL:
        write_column(out, mutation, 5);
        wire_write_i64(out, mutation->timestamp_us);
        wire_write_bytes(out, mutation->value);
        return;
    case MUTATION_ADD_TO_CELL:
    case MUTATION_MERGE_TO_CELL:
        write_add_or_merge(out, mutation);
        return;
    case MUTATION_DELETE_FROM_COLUMN:
        write_column(out, mutation, 5);
        wire_write_i64(out, mutation->start_us);
        wire_write_i64(out, mutation->end_us);
        return;
    case MUTATION_DELETE_FROM_FAMILY:
        wire_write_array(out, 2);
        wire_write_u64(out, mutation->kind);
        wire_write_bytes(out, mutation->family);
        return;
    case MUTATION_DELETE_FROM_ROW:
        break;
    }
    wire_write_array(out, 1);
    wire_write_u64(out, mutation->kind);
}

void wire_write_mutations(struct buffer *out, const struct mutation *mutations, size_t count)
{
    wire_write_array(out, count);
    for (size_t i = 0; i < count; i++) {
        write_mutation(out, &mutations[i]);
    }
}

static void read_add_or_merge(struct wire_reader *reader,
                              struct wire_array *parts,
                              struct mutation *mutation)
{
    mutation->timestamp_us = wire_read_i64(reader, parts, "mutation.timestamp_us");
    mutation->input = (enum input_kind)wire_read_choice(reader, parts, "mutation.input", INPUT_NULL,
                                                        INPUT_RAW);
    if (mutation->input == INPUT_INT64) {
        mutation->integer = wire_read_i64(reader, parts, "mutation.integer");
    } else if (mutation->input != INPUT_NULL) {
        mutation->value = wire_read_bytes(reader, parts, "mutation.value");
    }
}

static void read_mutation(struct wire_reader *reader,
                          struct wire_array *fields,
                          struct mutation *mutation)
{
    struct wire_array parts = wire_read_array(reader, fields, "mutation");
    uint32_t kind = wire_read_choice(reader, &parts, "mutation.kind", MUTATION_SET_CELL,
                                     MUTATION_DELETE_FROM_ROW);
    mutation->kind = (enum mutation_kind)kind;
    if (kind <= MUTATION_DELETE_FROM_FAMILY) {
        mutation->family = wire_read_bytes(reader, &parts, "mutation.family");
    }
    if (kind <= MUTATION_DELETE_FROM_COLUMN) {
        mutation->qualifier = wire_read_bytes(reader, &parts, "mutation.qualifier");
    }
    if (kind == MUTATION_SET_CELL) {
        mutation->timestamp_us = wire_read_i64(reader, &parts, "mutation.timestamp_us");
        mutation->value = wire_read_bytes(reader, &parts, "mutation.value");
    } else if (kind == MUTATION_ADD_TO_CELL || kind == MUTATION_MERGE_TO_CELL) {
        read_add_or_merge(reader, &parts, mutation);
    } else if (kind == MUTATION_DELETE_FROM_COLUMN) {
        mutation->start_us = wire_read_i64(reader, &parts, "mutation.start_us");
        mutation->end_us = wire_read_i64(reader, &parts, "mutation.end_us");
    }
    wire_array_end(reader, &parts);
}

/*
 * A list longer than any request may have is stepped over: the model refuses it for its number and
 * names the row, and looks at nothing else.  True: *ret_count is that number.
 */
static bool step_over_excess(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field,
                             size_t *ret_count)
{
    struct wire_reader ahead = *reader;
    struct wire_array ahead_fields = *fields;
    struct wire_array list = wire_read_array(&ahead, &ahead_fields, field);
    if (ahead.status != STATUS_OK || list.left <= LIMIT_MUTATIONS_PER_REQUEST) {
        return false;
    }
    *ret_count = list.left;
    wire_skip(reader, fields);
    return true;
}

const struct mutation *wire_read_mutations(struct wire_reader *reader,
                                           struct wire_array *fields,
                                           const char *field,
                                           size_t *ret_count)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct mutation),
        .wire_bytes_min = MUTATION_WIRE_BYTES_MIN,
        .count_max = LIMIT_MUTATIONS_PER_REQUEST,
    };
    struct wire_array list = {0};
    if (step_over_excess(reader, fields, field, ret_count)) {
        return NULL;
    }
    struct mutation *mutations = wire_read_list(reader, fields, field, shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader->status == STATUS_OK; i++) {
        read_mutation(reader, &list, &mutations[i]);
    }
    wire_array_end(reader, &list);
    *ret_count = count;
    return mutations;
}

void wire_write_rmw_rules(struct buffer *out, const struct rmw_rule *rules, size_t count)
{
    wire_write_array(out, count);
    for (size_t i = 0; i < count; i++) {
        wire_write_array(out, 4);
        wire_write_u64(out, rules[i].kind);
        wire_write_bytes(out, rules[i].family);
        wire_write_bytes(out, rules[i].qualifier);
        if (rules[i].kind == RMW_INCREMENT) {
            wire_write_i64(out, rules[i].increment);
        } else {
            wire_write_bytes(out, rules[i].append);
        }
    }
}

static void read_rmw_rule(struct wire_reader *reader,
                          struct wire_array *fields,
                          struct rmw_rule *rule)
{
    struct wire_array parts = wire_read_array(reader, fields, "rule");
    rule->kind = (enum rmw_kind)wire_read_choice(reader, &parts, "rule.kind", RMW_APPEND,
                                                 RMW_INCREMENT);
    rule->family = wire_read_bytes(reader, &parts, "rule.family");
    rule->qualifier = wire_read_bytes(reader, &parts, "rule.qualifier");
    if (rule->kind == RMW_INCREMENT) {
        rule->increment = wire_read_i64(reader, &parts, "rule.increment");
    } else {
        rule->append = wire_read_bytes(reader, &parts, "rule.append");
    }
    wire_array_end(reader, &parts);
}

const struct rmw_rule *wire_read_rmw_rules(struct wire_reader *reader,
                                           struct wire_array *fields,
                                           size_t *ret_count)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct rmw_rule),
        .wire_bytes_min = MUTATION_WIRE_BYTES_MIN,
        .count_max = LIMIT_MUTATIONS_PER_REQUEST,
    };
    struct wire_array list = {0};
    if (step_over_excess(reader, fields, "rules", ret_count)) {
        return NULL;
    }
    struct rmw_rule *rules = wire_read_list(reader, fields, "rules", shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader->status == STATUS_OK; i++) {
        read_rmw_rule(reader, &list, &rules[i]);
    }
    wire_array_end(reader, &list);
    *ret_count = count;
    return rules;
}
