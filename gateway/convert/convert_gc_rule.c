#include "gateway/convert/convert_schema.h"

typedef Google__Bigtable__Admin__V2__GcRule GcRule;

#define CASE(name) GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_##name

#define DEPTH_MAX       20                    /* the master's limit; bounds recursion here */
#define AGE_SECONDS_MAX INT64_C(315576000000) /* what a Duration may say: 10 000 years */
#define NANOS_MAX       999999999
#define US_PER_SECOND   INT64_C(1000000)
#define NANOS_PER_US    1000

/* --- to edubba.h ------------------------------------------------------------------------------ */

static enum status convert_at(const GcRule *rule,
                              int depth,
                              struct arena *arena,
                              struct edubba_gc_rule *ret_rule,
                              struct error *ret_error);

static enum status convert_versions(int32_t versions,
                                    struct edubba_gc_rule *ret_rule,
                                    struct error *ret_error)
{
    if (versions < 1) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'max_num_versions' : must be at least 1");
    }
    *ret_rule = (struct edubba_gc_rule){.kind = EDUBBA_GC_VERSIONS, .versions = (uint32_t)versions};
    return STATUS_OK;
}

/* Cut to microseconds, as Bigtable does. */
static enum status convert_age(const Google__Protobuf__Duration *age,
                               struct edubba_gc_rule *ret_rule,
                               struct error *ret_error)
{
    if (age->seconds < 0 || age->seconds > AGE_SECONDS_MAX || age->nanos < 0 ||
        age->nanos > NANOS_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'max_age' : must be at least 1 millisecond, and a valid "
                         "duration");
    }
    *ret_rule = (struct edubba_gc_rule){
        .kind = EDUBBA_GC_AGE,
        .age_us = age->seconds * US_PER_SECOND + age->nanos / NANOS_PER_US,
    };
    return STATUS_OK;
}

static enum status convert_list(enum edubba_gc_kind kind,
                                GcRule *const *rules,
                                size_t count,
                                int depth,
                                struct arena *arena,
                                struct edubba_gc_rule *ret_rule,
                                struct error *ret_error)
{
    struct edubba_gc_rule *children = arena_allocate_array(arena, count, sizeof *children);
    if (children == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "No memory for a GC rule");
    }
    for (size_t i = 0; i < count; i++) {
        enum status status = convert_at(rules[i], depth + 1, arena, &children[i], ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_rule = (struct edubba_gc_rule){.kind = kind, .children = children, .child_count = count};
    return STATUS_OK;
}

static enum status convert_at(const GcRule *rule,
                              int depth,
                              struct arena *arena,
                              struct edubba_gc_rule *ret_rule,
                              struct error *ret_error)
{
    if (depth > DEPTH_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'gc_rule' : nested deeper than %d", DEPTH_MAX);
    }
    switch ((int)rule->rule_case) {
    case CASE(MAX_NUM_VERSIONS):
        return convert_versions(rule->max_num_versions, ret_rule, ret_error);
    case CASE(MAX_AGE):
        return convert_age(rule->max_age, ret_rule, ret_error);
    case CASE(UNION):
        return convert_list(EDUBBA_GC_UNION, rule->union_->rules, rule->union_->n_rules, depth,
                            arena, ret_rule, ret_error);
    case CASE(INTERSECTION):
        return convert_list(EDUBBA_GC_INTERSECTION, rule->intersection->rules,
                            rule->intersection->n_rules, depth, arena, ret_rule, ret_error);
    default:
        *ret_rule = (struct edubba_gc_rule){.kind = EDUBBA_GC_NONE};
        return STATUS_OK;
    }
}

enum status convert_gc_rule(const GcRule *rule,
                            struct arena *arena,
                            struct edubba_gc_rule *ret_rule,
                            struct error *ret_error)
{
    if (rule == NULL) {
        *ret_rule = (struct edubba_gc_rule){.kind = EDUBBA_GC_NONE};
        return STATUS_OK;
    }
    struct edubba_gc_rule converted;
    enum status status = convert_at(rule, 1, arena, &converted, ret_error);
    if (status == STATUS_OK) {
        *ret_rule = converted;
    }
    return status;
}

/* --- and back --------------------------------------------------------------------------------- */

static enum status back_at(const struct edubba_gc_rule *rule,
                           struct arena *arena,
                           GcRule *ret_rule);

static enum status age_back(int64_t age_us, struct arena *arena, GcRule *rule)
{
    Google__Protobuf__Duration *age = arena_allocate(arena, sizeof *age);
    if (age == NULL) {
        return STATUS_NO_MEMORY;
    }
    google__protobuf__duration__init(age);
    age->seconds = age_us / US_PER_SECOND;
    age->nanos = (int32_t)(age_us % US_PER_SECOND * NANOS_PER_US);
    rule->rule_case = CASE(MAX_AGE);
    rule->max_age = age;
    return STATUS_OK;
}

/* The children of a rule; NULL without memory. */
static GcRule **children_back(const struct edubba_gc_rule *rule, struct arena *arena)
{
    GcRule *rules = arena_allocate_array(arena, rule->child_count, sizeof *rules);
    GcRule **list = arena_allocate_array(arena, rule->child_count, sizeof *list);
    if (rules == NULL || list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < rule->child_count; i++) {
        list[i] = &rules[i];
        if (back_at(&rule->children[i], arena, &rules[i]) != STATUS_OK) {
            return NULL;
        }
    }
    return list;
}

static enum status union_back(const struct edubba_gc_rule *rule, struct arena *arena, GcRule *out)
{
    Google__Bigtable__Admin__V2__GcRule__Union *made = arena_allocate(arena, sizeof *made);
    GcRule **children = children_back(rule, arena);
    if (made == NULL || children == NULL) {
        return STATUS_NO_MEMORY;
    }
    google__bigtable__admin__v2__gc_rule__union__init(made);
    made->rules = children;
    made->n_rules = rule->child_count;
    out->rule_case = CASE(UNION);
    out->union_ = made;
    return STATUS_OK;
}

static enum status intersection_back(const struct edubba_gc_rule *rule,
                                     struct arena *arena,
                                     GcRule *out)
{
    Google__Bigtable__Admin__V2__GcRule__Intersection *made = arena_allocate(arena, sizeof *made);
    GcRule **children = children_back(rule, arena);
    if (made == NULL || children == NULL) {
        return STATUS_NO_MEMORY;
    }
    google__bigtable__admin__v2__gc_rule__intersection__init(made);
    made->rules = children;
    made->n_rules = rule->child_count;
    out->rule_case = CASE(INTERSECTION);
    out->intersection = made;
    return STATUS_OK;
}

/* Recursion is bounded: what the master keeps was checked. */
static enum status back_at(const struct edubba_gc_rule *rule, struct arena *arena, GcRule *ret_rule)
{
    google__bigtable__admin__v2__gc_rule__init(ret_rule);
    switch (rule->kind) {
    case EDUBBA_GC_NONE:
        return STATUS_OK;
    case EDUBBA_GC_VERSIONS:
        ret_rule->rule_case = CASE(MAX_NUM_VERSIONS);
        ret_rule->max_num_versions = (int32_t)rule->versions;
        return STATUS_OK;
    case EDUBBA_GC_AGE:
        return age_back(rule->age_us, arena, ret_rule);
    case EDUBBA_GC_UNION:
        return union_back(rule, arena, ret_rule);
    case EDUBBA_GC_INTERSECTION:
        return intersection_back(rule, arena, ret_rule);
    }
    return STATUS_OK;
}

enum status convert_gc_rule_back(const struct edubba_gc_rule *rule,
                                 struct arena *arena,
                                 GcRule **ret_rule)
{
    GcRule *made = NULL;
    if (rule->kind != EDUBBA_GC_NONE) {
        made = arena_allocate(arena, sizeof *made);
        if (made == NULL || back_at(rule, arena, made) != STATUS_OK) {
            return STATUS_NO_MEMORY;
        }
    }
    *ret_rule = made;
    return STATUS_OK;
}
