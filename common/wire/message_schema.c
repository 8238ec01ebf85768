/* Tables, families, garbage-collection rules, ranges and locations on the wire. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

void wire_write_range(struct buffer *out, const struct row_range *range)
{
    wire_write_array(out, 2);
    wire_write_bytes(out, range->start);
    wire_write_bytes(out, range->end);
}

struct row_range wire_read_range(struct wire_reader *reader,
                                 struct wire_array *fields,
                                 const char *field)
{
    struct wire_array parts = wire_read_array(reader, fields, field);
    struct row_range range = {0};
    range.start = wire_read_bytes(reader, &parts, field);
    range.end = wire_read_bytes(reader, &parts, field);
    wire_array_end(reader, &parts);
    return range;
}

void wire_write_location(struct buffer *out, const struct location *location)
{
    wire_write_array(out, location->other_count > 0 ? 8 : 7);
    wire_write_u64(out, location->tablet);
    wire_write_u64(out, location->table);
    wire_write_u64(out, location->configuration);
    wire_write_range(out, &location->range);
    wire_write_u64(out, location->server);
    wire_write_bytes(out, location->address);
    wire_write_u64(out, location->state);
    if (location->other_count > 0) {
        wire_write_array(out, location->other_count);
        for (size_t i = 0; i < location->other_count; i++) {
            wire_write_bytes(out, location->others[i]);
        }
    }
}

/* Passed over where there is no arena to put them: an answer to a scan is read without one. */
static void read_others(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct location *location)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct bytes),
        .wire_bytes_min = 1,
        .count_max = REPLICA_MEMBERS_MAX,
    };
    struct wire_array list = {0};
    if (reader->arena == NULL) {
        return;
    }
    struct bytes *others = wire_read_list(reader, fields, "location.others", shape, &list);
    location->others = others;
    location->other_count = list.left;
    for (size_t i = 0; i < location->other_count && reader->status == STATUS_OK; i++) {
        others[i] = wire_read_bytes(reader, &list, "location.others");
    }
    wire_array_end(reader, &list);
}

void wire_read_location(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct location *ret_location)
{
    struct wire_array parts = wire_read_array(reader, fields, "location");
    ret_location->tablet = wire_read_u64(reader, &parts, "location.tablet");
    ret_location->table = wire_read_u64(reader, &parts, "location.table");
    ret_location->configuration = wire_read_u64(reader, &parts, "location.configuration");
    ret_location->range = wire_read_range(reader, &parts, "location.range");
    ret_location->server = wire_read_u64(reader, &parts, "location.server");
    ret_location->address = wire_read_bytes(reader, &parts, "location.address");
    ret_location->state = wire_read_u32(reader, &parts, "location.state");
    read_others(reader, &parts, ret_location);
    wire_array_end(reader, &parts);
}

void wire_write_location_if(struct buffer *out, bool has, const struct location *location)
{
    if (has) {
        wire_write_location(out, location);
    } else {
        wire_write_nil(out);
    }
}

bool wire_read_location_if(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct location *ret_location)
{
    if (wire_read_nil(reader, fields)) {
        return false;
    }
    wire_read_location(reader, fields, ret_location);
    return true;
}

/* [kind, fields of that kind...].  Recursion is bounded by MESSAGE_DEPTH_MAX. */
static void write_gc_rule(struct buffer *out, const struct gc_rule *rule, uint32_t depth)
{
    if (depth > MESSAGE_DEPTH_MAX) {
        wire_write_nil(out); /* readers refuse the message by its depth before they get here */
        return;
    }
    switch (rule->kind) {
    case GC_VERSIONS:
        wire_write_array(out, 2);
        wire_write_u64(out, rule->kind);
        wire_write_u64(out, rule->versions);
        return;
    case GC_AGE:
        wire_write_array(out, 2);
        wire_write_u64(out, rule->kind);
        wire_write_i64(out, rule->age_us);
        return;
    case GC_UNION:
    case GC_INTERSECTION:
        wire_write_array(out, 1 + (size_t)rule->child_count);
        wire_write_u64(out, rule->kind);
        for (uint32_t i = 0; i < rule->child_count; i++) {
            write_gc_rule(out, &rule->children[i], depth + 1);
        }
        return;
    case GC_NONE:
        break;
    }
    wire_write_array(out, 1);
    wire_write_u64(out, rule->kind);
}

static void read_gc_rule(struct wire_reader *reader,
                         struct wire_array *fields,
                         struct gc_rule *ret_rule);

static void read_gc_children(struct wire_reader *reader,
                             struct wire_array *parts,
                             struct gc_rule *rule)
{
    size_t count = parts->left;
    if (count == 0 || reader->status != STATUS_OK) {
        return;
    }
    if (count > LIMIT_GC_RULE_BYTES) {
        wire_reader_refuse(reader, "gc", "has too many members");
        return;
    }
    struct gc_rule *children = arena_allocate_array(reader->arena, count, sizeof *children);
    if (children == NULL) {
        reader->status = error_set(reader->error, STATUS_NO_MEMORY,
                                   "%s.gc: no memory for %zu rules", reader->message, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        children[i] = (struct gc_rule){0};
        read_gc_rule(reader, parts, &children[i]);
    }
    rule->children = children;
    rule->child_count = (uint32_t)count;
}

/* Recursion is bounded by the reader's depth. */
static void read_gc_rule(struct wire_reader *reader,
                         struct wire_array *fields,
                         struct gc_rule *ret_rule)
{
    struct wire_array parts = wire_read_array(reader, fields, "gc");
    ret_rule->kind = (enum gc_kind)wire_read_choice(reader, &parts, "gc.kind", GC_NONE,
                                                    GC_INTERSECTION);
    if (ret_rule->kind == GC_VERSIONS) {
        ret_rule->versions = wire_read_u32(reader, &parts, "gc.versions");
    } else if (ret_rule->kind == GC_AGE) {
        ret_rule->age_us = wire_read_i64(reader, &parts, "gc.age_us");
    } else if (ret_rule->kind != GC_NONE) {
        read_gc_children(reader, &parts, ret_rule);
    }
    wire_array_end(reader, &parts);
}

void wire_write_family(struct buffer *out, const struct family *family)
{
    wire_write_array(out, 4);
    wire_write_u64(out, family->number);
    wire_write_bytes(out, family->name);
    wire_write_u64(out, family->aggregate);
    write_gc_rule(out, &family->gc, 0);
}

void wire_read_family(struct wire_reader *reader,
                      struct wire_array *fields,
                      struct family *ret_family)
{
    struct wire_array parts = wire_read_array(reader, fields, "family");
    ret_family->number = wire_read_u32(reader, &parts, "family.number");
    ret_family->name = wire_read_bytes(reader, &parts, "family.name");
    ret_family->aggregate = (enum aggregate_kind)wire_read_choice(
        reader, &parts, "family.aggregate", AGGREGATE_NONE, AGGREGATE_BYTESHLL);
    read_gc_rule(reader, &parts, &ret_family->gc);
    wire_array_end(reader, &parts);
}

void wire_write_table(struct buffer *out, const struct table *table)
{
    wire_write_array(out, 10);
    wire_write_u64(out, table->number);
    wire_write_u64(out, table->version);
    wire_write_bytes(out, table->id);
    wire_write_u64(out, table->granularity);
    wire_write_bool(out, table->deletion_protection);
    wire_write_u64(out, table->family_number_next);
    wire_write_array(out, table->family_count);
    for (uint32_t i = 0; i < table->family_count; i++) {
        wire_write_family(out, &table->families[i]);
    }
    wire_write_u64(out, table->replicas);
    wire_write_u64(out, table->min_in_sync);
    wire_write_bool(out, table->pinned);
}

void wire_read_table(struct wire_reader *reader,
                     struct wire_array *fields,
                     const char *field,
                     struct table *ret_table)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct family),
        .wire_bytes_min = 1,
        .count_max = LIMIT_FAMILIES_PER_TABLE,
    };
    struct wire_array parts = wire_read_array(reader, fields, field);
    struct wire_array list = {0};
    ret_table->number = wire_read_u64(reader, &parts, "table.number");
    ret_table->version = wire_read_u64(reader, &parts, "table.version");
    ret_table->id = wire_read_bytes(reader, &parts, "table.id");
    ret_table->granularity = (enum granularity)wire_read_choice(
        reader, &parts, "table.granularity", GRANULARITY_MILLIS, GRANULARITY_MICROS);
    ret_table->deletion_protection = wire_read_bool(reader, &parts, "table.deletion_protection");
    ret_table->family_number_next = wire_read_u32(reader, &parts, "table.family_number_next");
    ret_table->families = wire_read_list(reader, &parts, "table.families", shape, &list);
    ret_table->family_count = list.left;
    for (uint32_t i = 0; i < ret_table->family_count && reader->status == STATUS_OK; i++) {
        wire_read_family(reader, &list, &ret_table->families[i]);
    }
    wire_array_end(reader, &list);
    ret_table->replicas = wire_read_u32(reader, &parts, "table.replicas");
    ret_table->min_in_sync = wire_read_u32(reader, &parts, "table.min_in_sync");
    ret_table->pinned = wire_read_bool(reader, &parts, "table.pinned");
    wire_array_end(reader, &parts);
}

void table_encode(const struct table *table, struct buffer *out)
{
    wire_write_table(out, table);
}

enum status table_decode(struct bytes in,
                         struct arena *arena,
                         struct table *ret_table,
                         struct error *ret_error)
{
    struct wire_reader reader = wire_reader_open(in, arena, "table", ret_error);
    struct wire_array whole = {.left = 1};
    struct table table = {0};
    wire_read_table(&reader, &whole, "table", &table);
    enum status status = wire_reader_close(&reader);
    if (status == STATUS_OK) {
        *ret_table = table;
    }
    return status;
}
