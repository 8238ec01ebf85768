/*
 * Garbage-collection rules: their shape, their size, and what they drop.
 */
#include "common/model/schema.h"

#include "common/base/assert.h"
#include "common/base/endian.h"

/* Bounds recursion here and in gc_rule_text.c.  Ours: Bigtable only bounds the size. */
#define GC_RULE_DEPTH_MAX 20

#define US_PER_SECOND 1000000
#define AGE_US_MIN    1000

/* Tag, length and content, as protobuf writes a nested message. */
static size_t nested_size(size_t content_bytes)
{
    return 1 + varint_size(content_bytes) + content_bytes;
}

/* The size that Bigtable limits: that of google.bigtable.admin.v2.GcRule on the wire. */
static size_t encoded_size(const struct gc_rule *rule)
{
    size_t content = 0;
    switch (rule->kind) {
    case GC_NONE:
        return 0;
    case GC_VERSIONS:
        return 1 + varint_size(rule->versions);
    case GC_AGE: {
        uint64_t seconds = (uint64_t)rule->age_us / US_PER_SECOND;
        uint64_t nanos = (uint64_t)rule->age_us % US_PER_SECOND * 1000;
        content += seconds > 0 ? 1 + varint_size(seconds) : 0;
        content += nanos > 0 ? 1 + varint_size(nanos) : 0;
        return nested_size(content);
    }
    case GC_UNION:
    case GC_INTERSECTION:
        for (uint32_t i = 0; i < rule->child_count; i++) {
            content += nested_size(encoded_size(&rule->children[i]));
        }
        return nested_size(content);
    }
    return 0;
}

static enum status check_shape(const struct gc_rule *rule, int depth, struct error *ret_error)
{
    if (depth > GC_RULE_DEPTH_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'gc_rule' : nested deeper than %d", GC_RULE_DEPTH_MAX);
    }
    switch (rule->kind) {
    case GC_NONE:
        /* Fine as the whole rule (keep everything); inside another one it says nothing. */
        return depth == 1 ? STATUS_OK
                          : error_set(ret_error, STATUS_INVALID_ARGUMENT,
                                      "Error in field 'gc_rule' : a nested rule is empty");
    case GC_VERSIONS:
        return rule->versions >= 1
                   ? STATUS_OK
                   : error_set(ret_error, STATUS_INVALID_ARGUMENT,
                               "Error in field 'max_num_versions' : must be at least 1");
    case GC_AGE:
        return rule->age_us >= AGE_US_MIN
                   ? STATUS_OK
                   : error_set(ret_error, STATUS_INVALID_ARGUMENT,
                               "Error in field 'max_age' : must be at least 1 millisecond");
    case GC_UNION:
    case GC_INTERSECTION:
        break;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'gc_rule' : unknown kind %d", (int)rule->kind);
    }
    if (rule->child_count == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field '%s' : must contain at least one rule",
                         rule->kind == GC_UNION ? "union" : "intersection");
    }
    for (uint32_t i = 0; i < rule->child_count; i++) {
        enum status status = check_shape(&rule->children[i], depth + 1, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status gc_rule_check(const struct gc_rule *rule, struct error *ret_error)
{
    enum status status = check_shape(rule, 1, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    size_t size = encoded_size(rule);
    if (size > LIMIT_GC_RULE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'gc_rule' : %zu bytes serialized, the limit is %d", size,
                         LIMIT_GC_RULE_BYTES);
    }
    return STATUS_OK;
}

enum status gc_rule_copy(struct arena *arena, const struct gc_rule *rule, struct gc_rule *ret_copy)
{
    struct gc_rule copy = *rule;
    copy.children = NULL;
    if (rule->child_count > 0) {
        struct gc_rule *children = arena_allocate_array(arena, rule->child_count, sizeof *children);
        if (children == NULL) {
            return STATUS_NO_MEMORY;
        }
        for (uint32_t i = 0; i < rule->child_count; i++) {
            enum status status = gc_rule_copy(arena, &rule->children[i], &children[i]);
            if (status != STATUS_OK) {
                return status;
            }
        }
        copy.children = children;
    }
    *ret_copy = copy;
    return STATUS_OK;
}

bool gc_rule_drops(const struct gc_rule *rule, uint64_t index, int64_t timestamp_us, int64_t now_us)
{
    ASSERT(now_us >= 0); /* so that now_us - age_us cannot overflow */
    switch (rule->kind) {
    case GC_NONE:
        return false;
    case GC_VERSIONS:
        return index >= rule->versions;
    case GC_AGE:
        return timestamp_us < now_us - rule->age_us;
    case GC_UNION:
        for (uint32_t i = 0; i < rule->child_count; i++) {
            if (gc_rule_drops(&rule->children[i], index, timestamp_us, now_us)) {
                return true;
            }
        }
        return false;
    case GC_INTERSECTION:
        for (uint32_t i = 0; i < rule->child_count; i++) {
            if (!gc_rule_drops(&rule->children[i], index, timestamp_us, now_us)) {
                return false;
            }
        }
        return true;
    }
    UNREACHABLE();
}
